"""Who may speak for a worker: the checks before a socket is accepted (X-1) and of its ``hello`` (F-1). Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

import msgspec
from starlette.datastructures import Headers

from codefy_control_plane.access import TOKEN_HEADER, Access, HostPolicy
from codefy_control_plane.workers.connection import Peer
from codefy_protocol.frames import Frame, Hello, Reject
from codefy_protocol.names import BadName, check_worker_name
from codefy_protocol.reasons import (
    BAD_WORKER_NAME,
    HELLO_EXPECTED,
    HOST_NOT_ALLOWED,
    NAME_IN_USE,
    NOT_LOOPBACK,
    ORIGIN_NOT_ALLOWED,
    PROTOCOL_MISMATCH,
    TOKEN_REQUIRED,
    TOKEN_WRONG,
    Reason,
    reason,
)
from codefy_protocol.version import PROTOCOL_VERSION, __version__

FORBIDDEN = 4003
UNAUTHENTICATED = 4401


class Denied(msgspec.Struct, frozen=True, kw_only=True):
    """The socket is not accepted."""

    code: int
    """4003 for Host and Origin, 4401 for the credential."""
    why: Reason


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """``hello`` is fine. ``outdated``: another product version, it delivers what it has and gets nothing new."""

    hello: Hello
    outdated: bool


class Rejected(msgspec.Struct, frozen=True, kw_only=True):
    """``hello`` is not fine."""

    why: Reason
    fatal: bool

    @property
    def frame(self) -> Reject:
        """What the agent is told."""
        return Reject(code=self.why.code, text=self.why.message, params=self.why.params, fatal=self.fatal)


def is_loopback(address: str) -> bool:
    """Whether a peer address is of this machine."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return bool((mapped or parsed).is_loopback)


def authorise(
    headers: Headers,
    query_token: str | None,
    address: str,
    local_address: str | None,
    access: Access,
    hosts: HostPolicy,
) -> Peer | Denied:
    """Check Host, Origin and credential of a request for ``/ws/worker`` before it is accepted (X-1).

    A request that came through a proxy is not from this machine, whatever its peer address says.
    """
    host = headers.get("host", "")
    if not hosts.host_allowed(host, local_address):
        return Denied(code=FORBIDDEN, why=reason(HOST_NOT_ALLOWED, host=host))
    origin = headers.get("origin")
    if origin is not None:
        return Denied(code=FORBIDDEN, why=reason(ORIGIN_NOT_ALLOWED, origin=origin))
    token = headers.get(TOKEN_HEADER) or query_token
    if not token:
        return Denied(code=UNAUTHENTICATED, why=reason(TOKEN_REQUIRED))
    if not access.token_matches(token):
        return Denied(code=UNAUTHENTICATED, why=reason(TOKEN_WRONG))
    forwarded = any(name in headers for name in ("forwarded", "x-forwarded-for", "x-real-ip"))
    if forwarded or not is_loopback(address):
        return Denied(code=UNAUTHENTICATED, why=reason(NOT_LOOPBACK, address=address))
    return Peer(address=address, loopback=True, authenticated_by="session-token")


def check_hello(
    frame: Frame | None, connected: Callable[[str], Hello | None], timeout_s: float
) -> Accepted | Rejected:
    """Check the first frame (F-1).

    Args:
        frame: what came first; ``None`` when nothing came in time.
        connected: the hello of the connection that a name has now, if any (F-4).
    """
    if not isinstance(frame, Hello):
        return Rejected(why=reason(HELLO_EXPECTED, seconds=round(timeout_s)), fatal=False)
    if frame.protocol_version != PROTOCOL_VERSION:
        side = "the agent" if frame.protocol_version < PROTOCOL_VERSION else "the control plane"
        why = reason(
            PROTOCOL_MISMATCH, worker=frame.protocol_version, control_plane=PROTOCOL_VERSION, side=side
        )
        return Rejected(why=why, fatal=True)
    try:
        check_worker_name(frame.name)
    except BadName as error:
        return Rejected(why=reason(BAD_WORKER_NAME, detail=str(error)), fatal=True)
    present = connected(frame.name)
    if present is not None and present.machine_id != frame.machine_id:
        return Rejected(why=reason(NAME_IN_USE, worker=frame.name), fatal=True)
    return Accepted(hello=frame, outdated=frame.product_version != __version__)

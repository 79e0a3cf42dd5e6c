"""The pipe between an agent and its run child: length-prefixed MessagePack, a preamble first (A-5).

A chunk is a big-endian ``u32`` length and that many bytes: one MessagePack array of messages. The child's first
message is :class:`Preamble`, a standby child's second is :class:`Warm`; its last is a record of ``run_finished``. The
child does not number its records: ``seq`` is given by the agent when it appends them to the spool.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from codefy_protocol.frames import DeviceIdentity

MAX_CHUNK_BYTES = 64 * 1024 * 1024


class Preamble(msgspec.Struct, frozen=True, kw_only=True, tag="preamble"):
    protocol_version: int
    engine_version: str
    pid: int


class ChildRecord(msgspec.Struct, frozen=True, kw_only=True, tag="record", omit_defaults=True):
    """One record on its way to the spool."""

    frame: str
    """Tag of the run record: ``run_started``, ``event``, ``metrics``, ``artifact``, ``warning``, ``run_facts`` or
    ``run_finished``."""
    ts: float
    kind: str = ""
    body: bytes


class NodeFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of single nodes, for this run only."""

    name: str
    sha256: str
    content: bytes


class StartRun(msgspec.Struct, frozen=True, kw_only=True, tag="start", omit_defaults=True):
    run_id: str
    attempt: int
    graph: bytes
    options: bytes
    payload_cap: int
    device: str
    """As the run sees it: ``cpu``, ``cuda:0``, ``mps:0``."""
    devices: tuple[DeviceIdentity, ...]
    """As the machine names them."""
    run_dir: str
    files_dir: str
    secrets: dict[str, str] = {}
    memory_budgets: dict[str, int] = {}
    node_files: tuple[NodeFile, ...] = ()
    node_packages: dict[str, str] = {}
    """Node types of the graph that come from packages → the package."""


class StopRun(msgspec.Struct, frozen=True, kw_only=True, tag="stop"):
    """Stop cooperatively, as an in-process stop would."""


class WarmUp(msgspec.Struct, frozen=True, kw_only=True, tag="warm_up"):
    """To a standby child, before anything else: import what a first training step needs, answer :class:`Warm`, and
    wait for :class:`StartRun` (P-8)."""


class Warm(msgspec.Struct, frozen=True, kw_only=True, tag="warm", omit_defaults=True):
    """A standby child can take a run."""

    files: dict[str, int] = {}
    """What it was made from and may change under it: path → modification time in nanoseconds, 0 for one that is not
    there. The interpreter's package folders, the engine's own files and those of installed node packages."""
    card_free: bool = True
    """Whether the process has no context on any card."""


ChildMessage = Preamble | ChildRecord | Warm
AgentMessage = StartRun | StopRun | WarmUp

_encoder = msgspec.msgpack.Encoder()


class MalformedPipe(ValueError):
    """The other end wrote something that is not this protocol."""


def encode_chunk(messages: Sequence[ChildMessage] | Sequence[AgentMessage]) -> bytes:
    """Encode messages as one chunk."""
    body = _encoder.encode(messages)
    if len(body) > MAX_CHUNK_BYTES:
        raise MalformedPipe(f"a chunk has at most {MAX_CHUNK_BYTES} bytes, got {len(body)}")
    return len(body).to_bytes(4, "big") + body


class ChunkReader:
    """Splits a byte stream into chunks; feed it whatever was read."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Return the bodies of the chunks completed by ``data``.

        Raises:
            MalformedPipe: a length over the limit, most often because something printed into the pipe.
        """
        self._buffer += data
        bodies: list[bytes] = []
        start = 0
        while len(self._buffer) - start >= 4:
            length = int.from_bytes(self._buffer[start : start + 4], "big")
            if length > MAX_CHUNK_BYTES:
                raise MalformedPipe(f"a chunk of {length} bytes; the limit is {MAX_CHUNK_BYTES}")
            if len(self._buffer) - start - 4 < length:
                break
            bodies.append(bytes(self._buffer[start + 4 : start + 4 + length]))
            start += 4 + length
        del self._buffer[:start]
        return bodies


_child_decoder = msgspec.msgpack.Decoder(list[ChildMessage])
_agent_decoder = msgspec.msgpack.Decoder(list[AgentMessage])


def decode_child_messages(chunk: bytes) -> list[ChildMessage]:
    """What the child said, for the agent.

    Raises:
        MalformedPipe: the chunk is not this protocol.
    """
    try:
        return _child_decoder.decode(chunk)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedPipe(str(error)) from error


def decode_agent_messages(chunk: bytes) -> list[AgentMessage]:
    """What the agent said, for the child.

    Raises:
        MalformedPipe: the chunk is not this protocol.
    """
    try:
        return _agent_decoder.decode(chunk)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedPipe(str(error)) from error

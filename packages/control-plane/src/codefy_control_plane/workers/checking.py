"""The trust boundary of what a worker reports (V-5, V-7): a record passes, or is refused with its detail.

A body is stored and sent on without being decoded, so what is no JSON has to be found here: one syntax scan per
record, about a microsecond for a typical one.
"""

from __future__ import annotations

import re

import msgspec

from codefy_protocol.bodies import RunFinishedBody, WarningBody
from codefy_protocol.frames import Artifact, Event, Metrics, RunFacts, RunRecord, RunStarted, RunWarning

MAX_SEQ = 2**63 - 1
"""The largest number that the database holds."""
MAX_DEPTH = 128
"""How deeply the arrays and objects of a body may be nested. SQLite and browsers take more, recursion does not."""
LATEST_TS = 1e11
"""Unix seconds no clock shows; what is beyond it, or no number, is replaced by the time of receipt."""
REPORTED_STATUSES = frozenset(("succeeded", "failed", "cancelled"))

_NODE_LEVEL = re.compile(r"(inner_)?node_[a-z0-9_]{1,48}", re.ASCII)
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
_NESTED = (Event, RunWarning, RunFacts, RunStarted, Artifact)
_OBJECTS = (*_NESTED, Metrics)

_scan = msgspec.json.Decoder(msgspec.Raw).decode
_decode_warning = msgspec.json.Decoder(WarningBody).decode
_decode_finished = msgspec.json.Decoder(RunFinishedBody).decode


class MalformedRecord(ValueError):
    """A record may not be kept; the message says why."""


def check_body(body: bytes, *, nested: bool = True) -> None:
    """Check that ``body`` is JSON in UTF-8, and with ``nested`` that it is not nested too deeply.

    Raises:
        MalformedRecord: it is not.
    """
    try:
        _scan(body)
        if not body.isascii():
            body.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedRecord(str(error)) from error
    if nested and body.count(b"[") + body.count(b"{") > MAX_DEPTH and _depth(body) > MAX_DEPTH:
        raise MalformedRecord(f"it is nested more than {MAX_DEPTH} levels deep")


def checked(record: RunRecord, now: float) -> RunRecord:
    """The record as it may be kept: the same one, or with ``now`` (Unix seconds) for a time that is none.

    Raises:
        MalformedRecord: it may not be kept.
    """
    if isinstance(record, Event) and _NODE_LEVEL.fullmatch(record.kind) is None:
        raise MalformedRecord(f"a worker reports no event of kind {record.kind[:64]!r}")
    check_body(record.body, nested=isinstance(record, _NESTED))
    if isinstance(record, _OBJECTS) and record.body.lstrip()[:1] != b"{":
        raise MalformedRecord("its body is no object")
    if isinstance(record, RunWarning):
        try:
            _decode_warning(record.body)
        except msgspec.DecodeError as error:
            raise MalformedRecord(str(error)) from error
    if not 0 <= record.ts < LATEST_TS:
        return msgspec.structs.replace(record, ts=now)
    return record


def checked_report(body: bytes) -> RunFinishedBody:
    """Decode the body of ``run_finished``.

    Raises:
        MalformedRecord: it cannot be read, or tells of a status that no worker decides.
    """
    check_body(body)
    try:
        finished = _decode_finished(body)
    except msgspec.DecodeError as error:
        raise MalformedRecord(str(error)) from error
    if finished.status not in REPORTED_STATUSES:
        raise MalformedRecord(f"{finished.status[:64]!r} is no status that a run ends with")
    return finished


def _depth(body: bytes) -> int:
    deepest = depth = 0
    for token in _TOKENS.finditer(body):
        first = body[token.start()]
        if first in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif first in b"]}":
            depth -= 1
    return deepest

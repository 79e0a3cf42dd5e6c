"""The way from the engine's callbacks to the sinks (V-1): one place that stamps the time and caps payloads."""

from __future__ import annotations

import time

import msgspec

from codefy_engine.execution import events
from codefy_engine.execution.secrets import Redactor
from codefy_engine.execution.sinks import RunSinks
from codefy_protocol.envelope import cap_body


class RunCallbacks:
    """What the execution of one run calls; may be called from any thread.

    The bodies come from ``execution.events``. ``node_status``, ``progress`` and ``inner`` are callbacks of their own; ``metrics``,
    ``artifact`` and ``warning`` are the node signals.
    """

    __slots__ = ("_payload_cap", "_redactor", "_sinks")

    def __init__(self, sinks: RunSinks, payload_cap: int, redactor: Redactor | None = None) -> None:
        self._sinks = sinks
        self._payload_cap = payload_cap
        self._redactor = redactor or None

    def node_status(self, body: bytes) -> None:
        self._emit(events.NODE_STATUS, body)

    def progress(self, body: bytes) -> None:
        self._emit(events.NODE_PROGRESS, body)

    def inner(self, body: bytes) -> None:
        self._emit(events.INNER_NODE_STATUS, body)

    def metrics(self, body: bytes, ts: float) -> None:
        self._sinks.record_metrics(ts, self._redacted(body))

    def artifact(self, body: bytes) -> None:
        self._sinks.record_artifact(time.time(), self._redacted(body))

    def warning(self, body: bytes) -> None:
        self._sinks.warn(time.time(), self._redacted(body))

    def console(self, body: bytes) -> None:
        """Write a text, as a JSON string, to the console of the run."""
        text: str = msgspec.json.decode(body)
        print(text if self._redactor is None else self._redactor.text(text), flush=True)

    def facts(self, body: bytes) -> None:
        if self._sinks.facts is not None:
            self._sinks.facts(time.time(), self._redacted(body))

    def _emit(self, kind: str, body: bytes) -> None:
        if self._redactor is not None:
            body = self._redactor.body(body)
        if len(body) > self._payload_cap:
            body = cap_body(body, self._payload_cap)
        self._sinks.emit(kind, time.time(), body)

    def _redacted(self, body: bytes) -> bytes:
        return body if self._redactor is None else self._redactor.body(body)

"""What goes into an attempt's spool and what does not fit (D-2, D-8): numbering, limits, and the word about what was dropped."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

import msgspec

from codefy_agent.session import AgentSession, Decision
from codefy_agent.spool import Spool, SpoolRecord
from codefy_protocol import reasons
from codefy_protocol.bodies import MetricsBody, WarningBody
from codefy_protocol.envelope import cap_body, encode_body
from codefy_protocol.frames import RECORD_BY_TAG
from codefy_protocol.pipe import ChildRecord
from codefy_protocol.reasons import reason

logger = logging.getLogger(__name__)

SPOOL_BYTES = 256 * 1024 * 1024
MAX_BODY_BYTES = 768 * 1024
"""So that a frame with its head fits a message."""
_UNWRITTEN_BYTES = 8 * 1024 * 1024
_THIN = 10

_encoder = msgspec.msgpack.Encoder()
_metrics_decoder = msgspec.json.Decoder(MetricsBody)


class AttemptRecords:
    """The way of one attempt's records to disk: seq from the session, frame made once, one write per batch.

    A full spool gives up console first (half of the limit), then thins step metrics (three quarters: every tenth record;
    nine tenths: none). Node events have the rest, and ``run_finished`` is always written. What is dropped is told by one
    warning per kind. A disk that refuses is tried again; until then a bounded amount waits in memory.
    """

    def __init__(
        self,
        run_id: str,
        attempt: int,
        *,
        spool: Spool,
        session: AgentSession,
        payload_cap: int,
        decided: Callable[[Sequence[Decision]], None],
        limit_bytes: int = SPOOL_BYTES,
    ) -> None:
        self.spool = spool
        self._key = (run_id, attempt)
        self._session = session
        self._payload_cap = payload_cap
        self._decided = decided
        self._limit = limit_bytes
        self._dropped: dict[str, int] = {}
        self._thinned = 0
        self._unwritten: list[SpoolRecord] = []
        self._unwritten_bytes = 0
        self._unwritten_first = 0

    def add(self, records: Sequence[ChildRecord]) -> None:
        """Number and write records of the running attempt."""
        fitting: list[ChildRecord] = []
        for record in records:
            capped = self._capped(record)
            if capped is not None and self._admits(capped):
                fitting.append(capped)
            else:
                self._count_dropped(record.frame, fitting)
        self._write([(record, False) for record in fitting])

    def finish(self, body: bytes, *, ts: float | None = None) -> None:
        """Write ``run_finished``; nothing comes after it."""
        record = ChildRecord(frame="run_finished", ts=time.time() if ts is None else ts, body=body)
        self._write([(record, True)])

    @property
    def unwritten(self) -> bool:
        """Whether something waits for the disk."""
        return bool(self._unwritten)

    def retry(self) -> None:
        """Try to write again what the disk refused."""
        if self._unwritten:
            self._flush()

    # -------------------------------------------------------------- limits
    def _admits(self, record: ChildRecord) -> bool:
        used = (self.spool.bytes_on_disk + self._unwritten_bytes) / self._limit
        if self._unwritten_bytes > _UNWRITTEN_BYTES / 2:
            used = max(used, 0.95)  # the disk refuses: keep what matters
        if record.frame == "console":
            return used < 0.5
        if record.frame == "metrics" and used >= 0.75 and not _per_epoch(record.body):
            self._thinned += 1
            return used < 0.9 and self._thinned % _THIN == 0
        return used < 1.0 and self._unwritten_bytes < _UNWRITTEN_BYTES

    def _capped(self, record: ChildRecord) -> ChildRecord | None:
        """The record with a body that fits a message; ``None`` when it has none without becoming something else."""
        if len(record.body) <= MAX_BODY_BYTES:
            return record
        if record.frame != "event":
            return None
        return msgspec.structs.replace(record, body=cap_body(record.body, self._payload_cap))

    def _count_dropped(self, frame: str, fitting: list[ChildRecord]) -> None:
        first = frame not in self._dropped
        self._dropped[frame] = self._dropped.get(frame, 0) + 1
        if first:
            why = reason(reasons.RECORDS_DROPPED, worker=self._session.worker_id, what=frame)
            body = WarningBody(code=why.code, message=why.message, params=why.params)
            logger.warning("run %s: %s", self._key[0], why.message)
            fitting.append(ChildRecord(frame="warning", ts=time.time(), body=encode_body(body)))

    # -------------------------------------------------------------- to disk
    def _write(self, records: Sequence[tuple[ChildRecord, bool]]) -> None:
        if not records:
            return
        run_id, attempt = self._key
        first = self._session.reserve(run_id, attempt, len(records))
        if not self._unwritten:
            self._unwritten_first = first
        for seq, (record, final) in enumerate(records, first):
            frame = RECORD_BY_TAG[record.frame](
                run_id=run_id, attempt=attempt, seq=seq, ts=record.ts, kind=record.kind, body=record.body
            )
            encoded = _encoder.encode(frame)
            self._unwritten.append(SpoolRecord(encoded, final))
            self._unwritten_bytes += len(encoded)
        self._flush()

    def _flush(self) -> None:
        run_id, attempt = self._key
        batch, first = self._unwritten, self._unwritten_first
        try:
            sizes = self.spool.append(first, batch)
        except OSError as error:
            logger.warning("run %s: the spool cannot be written: %s", run_id, error)
            return
        self._unwritten = []
        self._unwritten_bytes = 0
        now = time.monotonic()
        self._decided(
            self._session.records_appended(run_id, attempt, first, sizes, now, final=batch[-1].final)
        )


def _per_epoch(body: bytes) -> bool:
    """Whether a metrics record holds a point that is taken once per epoch."""
    try:
        return any(point.scope == "epoch" for point in _metrics_decoder.decode(body).points)
    except (msgspec.DecodeError, RecursionError):
        return False

"""Why a run waits, when it is expected to start, and where else it could go (S-14, S-15)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence

from codefy_control_plane.api.schemas import Preflight, ProspectView, ReasonText, Waiting
from codefy_control_plane.runs.live import LiveRun
from codefy_control_plane.scheduling.forecast import forecast
from codefy_control_plane.scheduling.model import QueuedRun
from codefy_control_plane.scheduling.prospects import NEVER, Prospect, prospects
from codefy_control_plane.scheduling.scheduler import Scheduler
from codefy_control_plane.storage.database import Database
from codefy_control_plane.storage.runs import read_run, usual_duration
from codefy_protocol.reasons import Reason

MAX_NAMED = 20
"""Runs that are named as being in the way."""
FRESH_S = 3.0
"""How long a forecast is used again."""


class Lookahead:
    """Answers from the scheduler's facts and the durations of earlier runs."""

    def __init__(self, scheduler: Scheduler, database: Database, live: Mapping[str, LiveRun]) -> None:
        self._scheduler = scheduler
        self._database = database
        self._live = live
        self._forecast: dict[str, float] = {}
        """Unix seconds of expected starts."""
        self._forecast_at = 0.0

    async def waiting(self, run_id: str) -> Waiting:
        """Why a waiting run waits. It may have started when this returns."""
        expected = (await self.expected_starts()).get(run_id)
        scheduler = self._scheduler
        live, position = self._live.get(run_id), scheduler.position(run_id)
        why, blockers = scheduler.reason(run_id), scheduler.blockers(run_id)
        elsewhere: list[ProspectView] = []
        if live is not None:
            own = live.request.worker
            found = [item for item in prospects(scheduler, live.request) if item.worker_id != own]
            elsewhere = [_view(item) for item in found if item.verdict != NEVER]
        return Waiting(
            run_id=run_id,
            position=position or 1,
            priority=0 if live is None else live.options.priority,
            sentence=self._sentence(why, blockers.ahead, blockers.running, blockers.reserved_for, expected),
            reason=_text(why),
            ahead=list(blockers.ahead[:MAX_NAMED]),
            blocked_by=list(blockers.running[:MAX_NAMED]),
            reserved_for=list(blockers.reserved_for[:MAX_NAMED]),
            expected_start_at=expected,
            elsewhere=elsewhere,
        )

    async def preflight(self, run: QueuedRun, graph_hash: str) -> Preflight:
        """Where a run that is not queued could go."""
        usual = await self._database.read(lambda connection: usual_duration(connection, graph_hash))
        found = prospects(self._scheduler, run)
        return Preflight(providers=[_view(item) for item in found], usual_duration_s=usual)

    async def expected_starts(self) -> Mapping[str, float]:
        """When waiting runs are expected to start, in Unix seconds; absent where nothing tells."""
        now = time.time()
        if now - self._forecast_at > FRESH_S:
            self._forecast_at = now
            hashes = {live.graph_hash for live in list(self._live.values())}
            usual = await self._usual(hashes)
            remaining = await self._remaining(now, usual)
            ahead = self._scheduler.copy()

            def duration(run: QueuedRun) -> float | None:
                live = self._live.get(run.run_id)
                return None if live is None else usual.get(live.graph_hash)

            found = await asyncio.to_thread(forecast, ahead, remaining, duration)
            self._forecast = {run_id: now + seconds for run_id, seconds in found.items()}
        return self._forecast

    async def _usual(self, hashes: Iterable[str]) -> dict[str, float]:
        found: dict[str, float] = {}
        for graph_hash in hashes:
            seconds = await self._database.read(
                lambda connection, graph_hash=graph_hash: usual_duration(connection, graph_hash)
            )
            if seconds is not None:
                found[graph_hash] = seconds
        return found

    async def _remaining(self, now: float, usual: Mapping[str, float]) -> dict[str, float | None]:
        remaining: dict[str, float | None] = {}
        for run_id in list(self._scheduler.placed):
            live = self._live.get(run_id)
            row = await self._database.read(lambda connection, run_id=run_id: read_run(connection, run_id))
            if live is None or row is None or row.started_at is None or live.graph_hash not in usual:
                continue
            remaining[run_id] = row.started_at + usual[live.graph_hash] - now
        return remaining

    def _sentence(
        self,
        why: Reason | None,
        ahead: Sequence[str],
        running: Sequence[str],
        reserved_for: Sequence[str],
        expected: float | None,
    ) -> str:
        if why is not None:
            sentence = why.message
        elif ahead:
            sentence = f"{_count(len(ahead), 'run')} before it in its queue"
        elif reserved_for:
            sentence = f"its devices are kept for {self._names(reserved_for)}, which came before it"
        elif running:
            sentence = f"waiting for {self._names(running)} to end"
        else:
            sentence = "it is about to start"
        if expected is None:
            return sentence[0].upper() + sentence[1:] + "."
        minutes = max(0.0, expected - time.time()) / 60
        when = "in less than a minute" if minutes < 1 else f"in about {_count(round(minutes), 'minute')}"
        return f"{sentence[0].upper()}{sentence[1:]}; expected to start {when}."

    def _names(self, run_ids: Sequence[str]) -> str:
        shown = [self._name(run_id) for run_id in run_ids[:3]]
        more = len(run_ids) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more else "")

    def _name(self, run_id: str) -> str:
        live = self._live.get(run_id)
        return run_id if live is None else f"#{live.request.sequence} {live.name}".strip()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _text(why: Reason | None) -> ReasonText | None:
    return None if why is None else ReasonText(code=why.code, message=why.message, params=dict(why.params))


def _view(prospect: Prospect) -> ProspectView:
    return ProspectView(
        worker_id=prospect.worker_id,
        verdict=prospect.verdict,
        devices=list(prospect.devices),
        reason=_text(prospect.reason),
        ahead=prospect.ahead,
    )

"""Who is on the cards: what a run left there (P-9), and what programs outside Codefy hold (S-16). Without I/O.

The driver lists the processes of a card. A process is *of a run* when it carries the run's mark, or did when it was seen
on the card before; *of Codefy* when it, or one that started it, is a Codefy program; else it is *foreign*. A dying
process has no mark any more and may stay on the list until the driver has its memory back: so what was seen counts.

Where the driver numbers processes otherwise than this agent does, as in a container, neither can be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from codefy_protocol.frames import Device, ForeignUse, UncleanSlot
from codefy_protocol.machine import CardProcess

RunKey = tuple[str, int]

Listing = Mapping[str, Sequence[CardProcess] | None]
"""Processes by name of the card; ``None`` where they are not listed."""


class ProcessFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the system tells of a process."""

    name: str = ""
    mark: str = ""
    """The mark of the run it belongs to (``process.MARK`` in its environment)."""
    codefy: bool = False
    """Whether it, or a process above it, is a Codefy program."""


class _Run(msgspec.Struct):
    cards: tuple[str, ...]
    mark: str
    pids: set[int]
    """Its processes, as far as they were seen."""
    ended: bool = False


class CardWatch:
    """Follows the runs of one agent on its cards.

    Args:
        same_numbers: whether the driver's process ids are ours.
    """

    def __init__(self, *, same_numbers: bool) -> None:
        self._same_numbers = same_numbers
        self._runs: dict[RunKey, _Run] = {}

    def run_started(self, key: RunKey, cards: Iterable[str], *, pid: int, mark: str) -> None:
        """A run has its main process. Again, when it got another one."""
        self._runs[key] = _Run(tuple(cards), mark, {pid})

    def run_ended(self, key: RunKey, stuck: Iterable[int]) -> None:
        """Its processes are gone but for those that could not be killed; it is followed until its cards are clean."""
        run = self._runs.get(key)
        if run is not None:
            run.pids.update(stuck)
            run.ended = True

    @property
    def waiting(self) -> bool:
        """Whether a run that ended is not known to have left its cards."""
        return any(run.ended for run in self._runs.values())

    def judged(
        self, devices: Iterable[Device], listing: Listing, facts: Mapping[int, ProcessFacts], alive: set[int]
    ) -> tuple[Device, ...]:
        """The devices, with what is on them.

        Args:
            facts: of every listed process that exists.
            alive: which of :meth:`followed` exist.
        """
        if not self._same_numbers:
            listing = {}
        self._see(listing, facts)
        unclean = self._unclean(listing, facts, alive)
        return tuple(self._told(device, listing, facts, unclean) for device in devices)

    def followed(self) -> set[int]:
        """Processes of runs that ended."""
        return {pid for run in self._runs.values() if run.ended for pid in run.pids}

    def is_clean(self, key: RunKey) -> bool:
        """Whether nothing of the run is on its cards, by the last :meth:`judged`."""
        return key not in self._runs

    # -------------------------------------------------------------- judging
    def _see(self, listing: Listing, facts: Mapping[int, ProcessFacts]) -> None:
        for run in self._runs.values():
            for card in run.cards:
                for process in listing.get(card) or ():
                    known = facts.get(process.pid)
                    if known is not None and known.mark and known.mark == run.mark:
                        run.pids.add(process.pid)

    def _unclean(
        self, listing: Listing, facts: Mapping[int, ProcessFacts], alive: set[int]
    ) -> dict[str, UncleanSlot]:
        found: dict[str, UncleanSlot] = {}
        for key, run in list(self._runs.items()):
            if not run.ended:
                continue
            listed = {process.pid for card in run.cards for process in listing.get(card) or ()}
            left = sorted(run.pids & (listed | alive))
            if not left:
                del self._runs[key]
                continue
            for card in run.cards:
                on_card = [process.pid for process in listing.get(card) or () if process.pid in run.pids]
                # One that only lives may hold what is not listed: it keeps all cards of the run.
                pids = sorted({*on_card, *(run.pids & alive)})
                if pids:
                    known = facts.get(pids[0], ProcessFacts())
                    found[card] = UncleanSlot(
                        run_id=key[0], attempt=key[1], pid=pids[0], process=known.name, pids=tuple(pids)
                    )
        return found

    def _told(
        self,
        device: Device,
        listing: Listing,
        facts: Mapping[int, ProcessFacts],
        unclean: Mapping[str, UncleanSlot],
    ) -> Device:
        if device.kind != "cuda":
            return device
        processes = listing.get(device.name)
        return msgspec.structs.replace(
            device,
            unclean=unclean.get(device.name),
            foreign=None if processes is None else self._foreign(processes, facts),
            cleanliness_unverifiable=processes is None,
        )

    def _foreign(
        self, processes: Sequence[CardProcess], facts: Mapping[int, ProcessFacts]
    ) -> ForeignUse | None:
        ours = {pid for run in self._runs.values() for pid in run.pids}
        foreign = [
            process
            for process in processes
            if process.pid not in ours and not _codefys(facts.get(process.pid, ProcessFacts()))
        ]
        if not foreign:
            return None
        largest = max(foreign, key=lambda process: process.memory)
        return ForeignUse(
            memory=sum(process.memory for process in foreign),
            pid=largest.pid,
            process=facts.get(largest.pid, ProcessFacts()).name,
        )


def _codefys(facts: ProcessFacts) -> bool:
    return facts.codefy or bool(facts.mark)

"""Where runs for ``any`` may still find room: what makes looking for it cheap.

Which providers have the devices of a wish free is the same for every run that wants those devices; which of them also
have the node types is the same for every run with the same graph. Both are kept as lists of providers worth trying, in
the order in which they are tried. A provider that turns out not to do is dropped, and comes back when something about
it changes: a look costs the providers that changed, not all of them.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable, Iterable
from enum import Enum

from codefy_control_plane.scheduling.model import QueuedRun
from codefy_protocol.names import LOCAL

Wish = tuple[tuple[str, ...], frozenset[str], frozenset[str]]
"""Devices, node types, and those of them that travel with the run."""
_Key = tuple[bool, str]

MAX_WANTS = 128
"""Combinations of devices that are remembered while nobody waits for them."""


class Answer(Enum):
    """What a provider is to a run."""

    FITS = "fits"
    KEPT = "kept"
    """It has room, which an earlier head keeps from this run."""
    UNFIT = "unfit"
    """It has room, but not for runs with these node types."""
    FULL = "full"
    """It has no room for these devices, or takes no new runs."""


class Candidates:
    """Providers worth trying; workers in name order, the server last."""

    def __init__(self, providers: Iterable[str]) -> None:
        self._heap: list[_Key] = [_turn(name) for name in providers]
        self._names = {name for _, name in self._heap}
        heapq.heapify(self._heap)

    def __bool__(self) -> bool:
        return bool(self._names)

    @property
    def names(self) -> Iterable[str]:
        """In no order."""
        return self._names

    def add(self, provider: str) -> None:
        """Something about it changed."""
        if provider not in self._names:
            self._names.add(provider)
            heapq.heappush(self._heap, _turn(provider))

    def discard(self, provider: str) -> None:
        """It is not worth trying until something about it changes."""
        self._names.discard(provider)
        if len(self._heap) > 2 * len(self._names) + 16:
            self._heap = [_turn(name) for name in self._names]
            heapq.heapify(self._heap)

    def pop(self) -> str | None:
        """Take out the first."""
        while self._heap:
            name = heapq.heappop(self._heap)[1]
            if name in self._names:
                self._names.discard(name)
                return name
        return None


class Anywhere:
    """The lists of all wishes of waiting runs."""

    def __init__(self) -> None:
        self._with_room: OrderedDict[tuple[str, ...], Candidates] = OrderedDict()
        self._by_wish: dict[Wish, Candidates] = {}
        self._waiting: dict[Wish, int] = {}

    def enter(self, run: QueuedRun, providers: Iterable[str]) -> None:
        """A run for ``any`` waits from now on."""
        wish = _wish(run)
        self._waiting[wish] = self._waiting.get(wish, 0) + 1
        if wish in self._by_wish:
            return
        room = self._with_room.get(run.wanted)
        if room is None:
            self._forget_some()
            room = self._with_room[run.wanted] = Candidates(providers)
        self._with_room.move_to_end(run.wanted)
        self._by_wish[wish] = Candidates(room.names)

    def _forget_some(self) -> None:
        if len(self._with_room) >= MAX_WANTS:
            in_use = {wish[0] for wish in self._by_wish}
            for wanted in [wanted for wanted in self._with_room if wanted not in in_use][: MAX_WANTS // 2]:
                del self._with_room[wanted]

    def leave(self, run: QueuedRun) -> None:
        """It waits no more."""
        wish = _wish(run)
        self._waiting[wish] -= 1
        if self._waiting[wish] == 0:
            del self._waiting[wish], self._by_wish[wish]

    def changed(self, provider: str) -> None:
        """Something about a provider changed: it is worth trying again."""
        for candidates in self._with_room.values():
            candidates.add(provider)
        for candidates in self._by_wish.values():
            candidates.add(provider)

    def worth_a_look(self, run: QueuedRun) -> bool:
        """Whether any provider is worth trying for a waiting run."""
        return bool(self._by_wish[_wish(run)])

    def first(self, run: QueuedRun, ask: Callable[[str], Answer]) -> str | None:
        """The first provider that fits a waiting run."""
        candidates = self._by_wish[_wish(run)]
        with_room = self._with_room[run.wanted]
        stays: list[str] = []
        found: str | None = None
        while found is None and (provider := candidates.pop()) is not None:
            if provider not in with_room.names:
                continue
            answer = ask(provider)
            if answer is Answer.FITS:
                found = provider
            if answer in (Answer.FITS, Answer.KEPT):
                stays.append(provider)
            elif answer is Answer.FULL:
                with_room.discard(provider)
        for provider in stays:
            candidates.add(provider)
        return found


def _wish(run: QueuedRun) -> Wish:
    return (run.wanted, run.node_types, run.file_types)


def _turn(provider: str) -> _Key:
    """Workers in name order, the server last (S-7)."""
    return (provider == LOCAL, provider)

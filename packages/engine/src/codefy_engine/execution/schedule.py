"""Work through a graph of numbered steps in dependency order on a bounded number of threads."""

from __future__ import annotations

import contextvars
import heapq
import threading
from collections.abc import Callable, Sequence


class Schedule:
    """Steps ``0..n-1``; of several that are ready the lowest goes first.

    The calling thread works too, and a further thread starts only when a step is ready that nobody is free to take:
    a chain of steps never leaves the calling thread. Threads take their next step themselves, so that no step waits
    for a hand-over.
    """

    def __init__(
        self, needs: Sequence[int], targets: Sequence[Sequence[int]], work: Callable[[int], None]
    ) -> None:
        """``needs[i]`` counts the edges into step ``i``, ``targets[i]`` lists the steps behind its edges.

        ``work(i)`` does a step. When it raises, no further step is started and :meth:`run` raises the same.
        """
        self._needs = list(needs)
        self._targets = targets
        self._work = work
        # Ascending numbers are a heap.
        self._ready = [index for index, count in enumerate(self._needs) if count == 0]
        self._left = len(self._needs)
        self._idle = 0
        # Entered by itself: a Condition's own entry is a call in Python for every step.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._helpers: list[threading.Thread] = []
        self._failure: BaseException | None = None
        self._limit = 1

    def run(self, limit: int, name: str) -> None:
        """Do all steps on at most ``limit`` threads, called ``name``; returns when no thread works any more.

        Raises:
            BaseException: what a step raised.
        """
        self._limit = limit
        self._name = name
        try:
            self._take_steps()
        except BaseException as error:  # KeyboardInterrupt, while this thread waits
            self._fail(error)
        for helper in self._helpers:
            helper.join()
        if self._failure is not None:
            raise self._failure

    def _take_steps(self) -> None:
        changed, lock, work = self._changed, self._lock, self._work
        needs, targets, ready = self._needs, self._targets, self._ready
        done = -1
        while True:
            with lock:
                if done >= 0:
                    self._left -= 1
                    for target in targets[done]:
                        needs[target] -= 1
                        if needs[target] == 0:
                            heapq.heappush(ready, target)
                    if not self._left:
                        changed.notify_all()
                while not self._ready and self._left and self._failure is None:
                    self._idle += 1
                    try:
                        changed.wait()
                    finally:
                        self._idle -= 1
                if not self._left or self._failure is not None:
                    return
                step = heapq.heappop(ready)
                if ready:
                    self._wake()
            try:
                work(step)
            except BaseException as error:  # handed to the caller of run
                self._fail(error)
                return
            done = step

    def _wake(self) -> None:
        """Get somebody for the steps that are ready; called with the lock held."""
        if self._idle:
            self._changed.notify(min(self._idle, len(self._ready)))
        elif len(self._helpers) + 1 < self._limit:
            # Daemons: a step that ignores a stop must not keep the interpreter from ending.
            helper = threading.Thread(
                target=contextvars.copy_context().run,
                args=(self._take_steps,),
                name=f"{self._name}-{len(self._helpers) + 1}",
                daemon=True,
            )
            self._helpers.append(helper)
            helper.start()

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            if self._failure is None:
                self._failure = error
            self._changed.notify_all()

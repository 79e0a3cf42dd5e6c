"""What one start costs the scheduler in a large cluster, against the same with a tenth of the runs waiting.

1,000 workers with 8 cards each are full; 500 queues hold the waiting runs: for named workers, for device sets, and for
any. Runs end one after another, and each end is followed by a look.
"""

from __future__ import annotations

import gc
import random
import time

from bench.measure import Figure, alternate
from codefy_control_plane.scheduling.limits import Limits
from codefy_control_plane.scheduling.model import ONLINE, DeviceView, QueuedRun, WorkerView
from codefy_control_plane.scheduling.scheduler import Scheduler

WORKERS = 1000
CARDS = 8
QUEUES = 500
WAITING = 10_000
ENDS = 1500
ROUNDS = 5

CPU = DeviceView(name="cpu", kind="cpu")
TYPES = [f"T{index}" for index in range(60)]


def cluster(waiting: int, dice: random.Random) -> Scheduler:
    """A full cluster with this many runs waiting, everything looked at once."""
    scheduler = Scheduler(Limits(), (CPU,))
    names = [f"worker-{index:04}" for index in range(WORKERS)]
    types = frozenset(TYPES)
    scheduler.set_workers(
        WorkerView(
            name=name,
            state=ONLINE,
            node_types=types,
            machine_id=name,
            devices=(
                CPU,
                *(
                    DeviceView(name=f"cuda:{card}", kind="cuda", uuid=f"{name}-{card}")
                    for card in range(CARDS)
                ),
            ),
        )
        for name in names
    )
    count = 0

    def submit(
        worker: str, device: str, devices: tuple[str, ...] = (), types: frozenset[str] = frozenset()
    ) -> None:
        nonlocal count
        count += 1
        scheduler.enqueue(
            QueuedRun(
                run_id=f"r{count}",
                sequence=count,
                submitted_at=float(count),
                queue_key=f"{worker}/{device}",
                worker=worker,
                device=device,
                devices=devices,
                node_types=types,
            )
        )

    for name in names:
        for card in range(CARDS):
            submit(name, f"cuda:{card}")
    scheduler.starts()
    graphs = [frozenset(dice.sample(TYPES, 12)) for _ in range(40)]
    queues = [_queue(index, names, dice) for index in range(QUEUES)]
    for index in range(waiting):
        worker, device, devices = queues[index % QUEUES]
        submit(worker, device, devices, dice.choice(graphs))
    scheduler.starts()
    return scheduler


def _queue(index: int, names: list[str], dice: random.Random) -> tuple[str, str, tuple[str, ...]]:
    kind = index % 10
    if kind == 0:
        return ("any", ("cuda", "cuda:0", "cuda:3")[index // 10 % 3], ())
    if kind <= 2:
        return (dice.choice(names), "cuda:0", ("cuda:0", "cuda:1"))
    if kind <= 5:
        return (dice.choice(names), "cuda", ())
    return (dice.choice(names), f"cuda:{dice.randrange(CARDS)}", ())


def milliseconds_per_start(waiting: int) -> float:
    """Of processor time, over ends that come in random order."""
    dice = random.Random(7)
    scheduler = cluster(waiting, dice)
    running = sorted(scheduler.placed)
    gc.collect()
    starts = 0
    began = time.process_time()
    for _ in range(ENDS):
        index = dice.randrange(len(running))
        ended, running[index] = running[index], running[-1]
        running.pop()
        scheduler.release(ended)
        started = scheduler.starts()
        running += [start.run_id for start in started]
        starts += len(started)
    return (time.process_time() - began) * 1000 / starts


def measure() -> list[Figure]:
    return [
        Figure(
            "scheduling_start",
            f"a start with {WAITING:,} runs waiting for {WORKERS:,} workers",
            f"with {WAITING // 10:,} waiting",
            "ms",
            alternate(
                ROUNDS,
                lambda: milliseconds_per_start(WAITING),
                lambda: milliseconds_per_start(WAITING // 10),
            ),
        )
    ]

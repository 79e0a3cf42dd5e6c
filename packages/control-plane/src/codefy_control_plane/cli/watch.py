"""What ``codefy run`` shows while a run goes on: a live view on a terminal, plain lines elsewhere, or JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column
from rich.text import Text

from codefy_control_plane.api.schemas import RunDetail, StoredEvent, StoredMetric
from codefy_control_plane.client import WatchedEvents, WatchedMetrics
from codefy_protocol.bodies import RunError
from codefy_protocol.envelope import JsonNumber

GLYPHS = {"succeeded": "✓", "reused": "✓", "failed": "✗", "skipped": "-", "cancelled": "-"}
STATUS_STYLES = {"succeeded": "green", "failed": "red", "cancelled": "yellow", "interrupted": "yellow"}


class NodeProgress(msgspec.Struct):
    """The fields of a ``node_progress`` event that are shown."""

    node_id: str = ""
    fraction: float | None = None
    text: str | None = None
    epoch: float | None = None
    epochs: float | None = None
    eta_s: JsonNumber | None = None


class NodeStatus(msgspec.Struct):
    """The fields of a ``node_status`` event that are shown."""

    node_id: str = ""
    status: str = ""
    duration_s: float | None = None
    error: RunError | None = None


class RunWarning(msgspec.Struct):
    message: str = ""


def duration(seconds: float) -> str:
    """``0.4 s``, ``12 s``, ``3:07``, ``1:02:03``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def metric_text(value: JsonNumber) -> str:
    """A metric in four significant digits; NaN and infinities by name."""
    return value if isinstance(value, str) else f"{value:.4g}"


def progress_text(progress: NodeProgress) -> str:
    """``epoch 3 of 10``, or what the node says itself."""
    if progress.epoch is not None and progress.epochs is not None:
        return f"epoch {progress.epoch:.0f} of {progress.epochs:.0f}"
    return progress.text or "working"


def eta_text(progress: NodeProgress) -> str:
    """``0:39 left``, or nothing while it is not known."""
    return f"{duration(progress.eta_s)} left" if isinstance(progress.eta_s, int | float) else ""


class Watcher(Protocol):
    """Shows one run."""

    def queued(self, run: RunDetail) -> None: ...

    def show(self, message: WatchedEvents | WatchedMetrics) -> None: ...

    def close(self) -> None: ...

    def result(self, run: RunDetail) -> None: ...


class JsonWatcher:
    """One JSON object per line, as the server sent them."""

    def queued(self, run: RunDetail) -> None:
        self._line(
            {
                "type": "queued",
                "run_id": run.run_id,
                "number": run.number,
                "status": run.status,
                "queue_key": run.queue_key,
                "queue_position": run.queue_position,
            }
        )

    def show(self, message: WatchedEvents | WatchedMetrics) -> None:
        if isinstance(message, WatchedEvents):
            for event in message.events:
                self._line({"run_id": message.run_id, **msgspec.structs.asdict(event)})
        else:
            self._line({"type": "metrics", "run_id": message.run_id, "points": message.points})

    def close(self) -> None:
        pass

    def result(self, run: RunDetail) -> None:
        self._line(
            {
                "type": "result",
                "run_id": run.run_id,
                "number": run.number,
                "status": run.status,
                "error": run.error,
                "metrics": run.latest_metrics,
            }
        )

    def _line(self, value: dict[str, Any]) -> None:
        click.echo(msgspec.json.encode(value).decode())


class TextWatcher:
    """Decides what is worth saying; where the words go is its subclasses' matter."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._metrics: dict[str, dict[str, JsonNumber]] = {}
        """Latest values by node and name."""
        self._handlers: dict[str, Callable[[StoredEvent], None]] = {
            "execution_start": lambda _: self._say("started; the first node follows when torch is loaded"),
            "node_status": self._node_status,
            "node_progress": self._node_progress,
            "run_warning": self._warning,
        }

    def queued(self, run: RunDetail) -> None:
        where = run.worker_id or (run.queue_key.partition("/")[0] if "/" in run.queue_key else "this server")
        text = f"run {run.number} ({run.run_id}) on {where}, {run.device}"
        if run.status == "queued":
            text += f": {place(run.queue_position)}"
            text += f", {run.queue_reason}" if run.queue_reason else ""
        self._say(text)

    def show(self, message: WatchedEvents | WatchedMetrics) -> None:
        if isinstance(message, WatchedMetrics):
            self._new_metrics(message.points)
            return
        for event in message.events:
            handler = self._handlers.get(event.type)
            if handler is not None:
                handler(event)

    def close(self) -> None:
        pass

    def result(self, run: RunDetail) -> None:
        took = duration(run.ended_at - run.started_at) if run.ended_at and run.started_at else "no time"
        self._say(f"{run.status} after {took}", STATUS_STYLES.get(run.status, ""))
        if run.error is not None:
            self._say(run.error.message, "red")
            if run.error.traceback:
                self._say(run.error.traceback.rstrip(), "dim")
            if run.error.output_tail:
                self._say("last output:", "dim")
                self._say(run.error.output_tail.rstrip(), "dim")
        results = {name: value for name, value in run.latest_metrics.items() if name not in HIDDEN_RESULTS}
        if results:
            self._say(", ".join(f"{name} {metric_text(value)}" for name, value in results.items()))

    def _new_metrics(self, points: list[StoredMetric]) -> None:
        for point in points:
            self._metrics.setdefault(point.node_id, {})[point.name] = point.value

    def _node_status(self, event: StoredEvent) -> None:
        status = msgspec.json.decode(event.payload, type=NodeStatus)
        if status.status == "running":
            self._node_runs(status.node_id)
        elif status.status in GLYPHS:
            self._node_ended(status)
            took = f"  {duration(status.duration_s)}" if status.duration_s is not None else ""
            self._say(
                f"{GLYPHS[status.status]} {status.node_id}  {status.status}{took}", _node_style(status.status)
            )

    def _node_runs(self, node_id: str) -> None:
        pass

    def _node_ended(self, status: NodeStatus) -> None:
        pass

    def _node_progress(self, event: StoredEvent) -> None:
        raise NotImplementedError

    def _warning(self, event: StoredEvent) -> None:
        self._say("warning: " + msgspec.json.decode(event.payload, type=RunWarning).message, "yellow")

    def _latest(self, node_id: str) -> str:
        values = self._metrics.get(node_id, {})
        shown = [name for name in PREFERRED_METRICS if name in values]
        return "  ".join(f"{name} {metric_text(values[name])}" for name in shown[:3])

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style=style), soft_wrap=True)


HIDDEN_RESULTS = frozenset(("lr", "samples_per_second", "grad_norm", "loss"))
PREFERRED_METRICS = ("loss", "val_loss", "val_accuracy", "train_accuracy", "accuracy", "test_accuracy")


class LineWatcher(TextWatcher):
    """Plain lines: each node once, and the training once per epoch."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._said: dict[str, object] = {}

    def _node_runs(self, node_id: str) -> None:
        self._say(f"  {node_id}  running")

    def _node_progress(self, event: StoredEvent) -> None:
        progress = msgspec.json.decode(event.payload, type=NodeProgress)
        # A line per epoch, or per tenth where there are no epochs: a log stays readable.
        mark = progress.epoch if progress.epoch is not None else int((progress.fraction or 0) * 10)
        if self._said.get(progress.node_id) == mark:
            return
        self._said[progress.node_id] = mark
        percent = "" if progress.fraction is None else f"{progress.fraction * 100:.0f} %"
        parts = [
            f"  {progress.node_id}",
            progress_text(progress),
            percent,
            self._latest(progress.node_id),
            eta_text(progress),
        ]
        self._say("  ".join(part for part in parts if part))


class LiveWatcher(TextWatcher):
    """A bar per running node at the foot of the terminal, finished nodes above it."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._bars: dict[str, TaskID] = {}
        # On a narrow terminal the metrics are cut first; the name, the bar and the time left stay.
        whole = Column(no_wrap=True, min_width=10)
        self._progress = Progress(
            TextColumn("  {task.description}", table_column=whole),
            BarColumn(bar_width=20),
            TextColumn("{task.percentage:>3.0f} %", table_column=Column(no_wrap=True, min_width=5)),
            TextColumn(
                "{task.fields[detail]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)
            ),
            console=console,
            transient=True,
            expand=True,
        )
        self._progress.start()

    def close(self) -> None:
        self._progress.stop()

    def _node_runs(self, node_id: str) -> None:
        if node_id not in self._bars:
            self._bars[node_id] = self._progress.add_task(node_id, total=1.0, detail="")

    def _node_ended(self, status: NodeStatus) -> None:
        bar = self._bars.pop(status.node_id, None)
        if bar is not None:
            self._progress.remove_task(bar)

    def _node_progress(self, event: StoredEvent) -> None:
        progress = msgspec.json.decode(event.payload, type=NodeProgress)
        self._node_runs(progress.node_id)
        parts = (progress_text(progress), eta_text(progress), self._latest(progress.node_id))
        self._progress.update(
            self._bars[progress.node_id],
            completed=progress.fraction or 0.0,
            detail="  ".join(part for part in parts if part),
            refresh=True,
        )


def _node_style(status: str) -> str:
    return {"failed": "red", "succeeded": "", "reused": ""}.get(status, "dim")


def place(position: int | None) -> str:
    """``next in the queue``, ``3rd in the queue``."""
    if position is None:
        return "in the queue"
    if position == 1:
        return "next in the queue"
    ending = "th" if 10 <= position % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(position % 10, "th")
    return f"{position}{ending} in the queue"


def make_watcher(*, as_json: bool) -> Watcher:
    """The watcher that fits where the output goes."""
    if as_json:
        return JsonWatcher()
    console = Console(file=sys.stdout, highlight=False)
    return LiveWatcher(console) if console.is_terminal else LineWatcher(console)

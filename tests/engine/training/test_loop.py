import math
from typing import Any

import pytest
import torch
from torch import nn

from codefy_engine.training.loop import NonFiniteLoss, evaluate


def by_hand(setup: Any, epochs: int) -> tuple[list[float], list[tuple[float, float]]]:
    """The same training written out in plain torch: losses by step, validation loss and accuracy by epoch."""
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    with torch.no_grad():
        for mine, theirs in zip(model.parameters(), setup.model.parameters(), strict=True):
            mine.copy_(theirs)
    optimizer = torch.optim.AdamW(model.parameters(), lr=setup.lr)
    losses, validated = [], []
    for epoch in range(epochs):
        model.train()
        for inputs, targets in setup.batches.epoch(epoch):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            outputs = model(setup.validation_data.inputs)
        loss = nn.functional.cross_entropy(outputs, setup.validation_data.targets).item()
        right = (outputs.argmax(1) == setup.validation_data.targets).float().mean().item()
        validated.append((loss, right))
    return losses, validated


def test_the_loop_gives_the_numbers_of_plain_torch(training: Any) -> None:
    setup = training()
    losses, validated = by_hand(setup, 3)
    result = setup.loop.run()
    assert [value for _, value in setup.reporter.series("loss")] == pytest.approx(losses, rel=1e-5)
    assert [step for step, _ in setup.reporter.series("loss")] == list(range(1, 16))
    assert [value for _, value in setup.reporter.series("val_loss")] == pytest.approx(
        [loss for loss, _ in validated], rel=1e-5
    )
    assert [value for _, value in setup.reporter.series("val_accuracy")] == pytest.approx(
        [right for _, right in validated]
    )
    sizes = [10, 10, 10, 10, 8]
    for epoch, (step, value) in enumerate(setup.reporter.series("train_loss")):
        of_epoch = losses[epoch * 5 : epoch * 5 + 5]
        mean = sum(loss * size for loss, size in zip(of_epoch, sizes, strict=True)) / 48
        assert (step, value) == (epoch * 5 + 5, pytest.approx(mean, rel=1e-5))
    assert (result.epoch, result.step, result.stopped) == (3, 15, False)


def test_metrics_have_their_scope_and_epoch(training: Any) -> None:
    setup = training()
    setup.loop.run()
    for point in setup.reporter.points:
        if point.name == "loss":
            assert (point.scope, point.epoch) == ("step", None)
        else:
            assert (point.scope, point.epoch, point.step) == ("epoch", point.step / 5, point.step)
    names = {point.name for point in setup.reporter.points}
    assert names == {
        "loss",
        "train_loss",
        "train_accuracy",
        "val_loss",
        "val_accuracy",
        "lr",
        "samples_per_second",
        "grad_norm",
        "memory_mib",
    }
    assert setup.reporter.series("lr") == [(5, 0.05), (10, 0.05), (15, 0.05)]
    assert all(value > 0 for _, value in setup.reporter.series("samples_per_second"))


def test_the_same_seed_gives_the_same_numbers_whatever_else_draws(training: Any) -> None:
    first, second, other = training(dropout=0.4), training(dropout=0.4), training(dropout=0.4, seed=1)
    first.loop.run()
    torch.manual_seed(99)
    torch.rand(7)
    second.loop.run()
    other.loop.run()
    assert first.reporter.series("loss") == second.reporter.series("loss")
    assert first.reporter.series("loss") != other.reporter.series("loss")


def test_a_step_in_ten_is_recorded_and_all_count(training: Any) -> None:
    setup, full = training(settings={"epochs": 3, "log_every": 10}), training()
    setup.loop.run()
    full.loop.run()
    assert [step for step, _ in setup.reporter.series("loss")] == [10]
    assert setup.reporter.series("train_loss") == full.reporter.series("train_loss")


def test_progress_tells_epoch_total_and_time_left(training: Any) -> None:
    setup = training(settings={"epochs": 3, "interval_s": 0.0})
    setup.loop.run()
    progresses = setup.reporter.progresses
    assert progresses[0].eta_s is None
    assert progresses[-1].eta_s == 0
    assert (progresses[-1].step, progresses[-1].total_steps) == (15, 15)
    assert (progresses[-1].epoch, progresses[-1].epochs) == (3, 3)
    assert [item.step for item in progresses] == sorted(item.step for item in progresses)
    middle = next(item for item in progresses if item.step == 7)
    assert middle.epoch == 2
    assert middle.eta_s is not None
    assert middle.eta_s > 0
    assert {"loss", "val_loss", "val_accuracy"} <= middle.metrics.keys()


def test_time_left_is_the_mean_speed_so_far(training: Any) -> None:
    setup = training(settings={"epochs": 3, "interval_s": 0.0}, validate=False)
    now = 0.0

    def clock() -> float:
        return now

    setup.loop.clock = clock
    inner = setup.loop.loss

    def slow(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        nonlocal now
        now += 2.0
        return inner(outputs, targets)

    setup.loop.loss = slow
    setup.loop.run()
    tenth = [item for item in setup.reporter.progresses if item.step == 10]
    assert tenth[-1].eta_s == pytest.approx(10.0)
    assert setup.reporter.series("samples_per_second")[0][1] == pytest.approx(4.8)


def test_a_stop_takes_effect_between_two_batches(training: Any) -> None:
    setup = training(settings={"epochs": 3, "keep_last": True}, stop_after=2)
    result = setup.loop.run()
    assert (result.stopped, result.step, result.epoch) == (True, 2, 0)
    assert [step for step, _ in setup.reporter.series("loss")] == [1, 2]
    assert setup.reporter.series("train_loss") == []
    ((name, checkpoint),) = setup.kept
    assert (name, checkpoint.progress.batch, checkpoint.progress.step) == ("last", 2, 2)


@pytest.mark.parametrize("stop_after", [1, 3, 5, 6, 8, 11])
def test_going_on_from_a_checkpoint_gives_the_uninterrupted_curve(training: Any, stop_after: int) -> None:
    whole = training(dropout=0.3)
    whole.loop.run()
    first = training(dropout=0.3, settings={"epochs": 3, "keep_last": True}, stop_after=stop_after)
    assert first.loop.run().stopped
    second = training(dropout=0.3)
    second.loop.run(resume=first.kept[-1][1])
    for name in ("loss", "train_loss", "train_accuracy", "val_loss", "val_accuracy"):
        parts = first.reporter.series(name) + second.reporter.series(name)
        assert parts == whole.reporter.series(name), name


def test_best_is_the_epoch_that_validates_best_and_last_is_the_last(training: Any) -> None:
    setup = training(settings={"epochs": 8, "keep_last": True, "keep_best": True})
    result = setup.loop.run()
    ranks = [(-row["val_accuracy"], row["val_loss"]) for row in result.history]
    best = ranks.index(min(ranks)) + 1
    assert result.best_epoch == best
    assert [c.progress.epoch for name, c in setup.kept if name == "best"][-1] == best
    assert [c.progress.epoch for name, c in setup.kept if name == "last"] == list(range(1, 9))
    kept = next(c for name, c in reversed(setup.kept) if name == "best")
    setup.model.load_state_dict(kept.model)
    mean = evaluate(
        setup.model,
        setup.loop.validation,
        setup.loss,
        classification=True,
        stopped=lambda: False,
    )
    assert mean is not None
    assert mean.loss == pytest.approx(result.history[best - 1]["val_loss"])
    assert mean.accuracy == result.history[best - 1]["val_accuracy"] == result.best_value


def test_best_by_loss(training: Any) -> None:
    setup = training(settings={"epochs": 8, "keep_best": True, "monitor": "loss"}, validate=False)
    result = setup.loop.run()
    assert result.best_value == min(row["train_loss"] for row in result.history)


def test_last_is_written_every_so_many_epochs_and_at_the_end(training: Any) -> None:
    setup = training(settings={"epochs": 5, "keep_last": True, "checkpoint_every": 2})
    setup.loop.run()
    assert [c.progress.epoch for _, c in setup.kept] == [2, 4, 5]


class _Diverging(nn.CrossEntropyLoss):
    """NaN from its n-th call in training on."""

    def __init__(self, at: int, value: float = math.nan) -> None:
        super().__init__()
        self.at = at
        self.value = value
        self.calls = 0

    def forward(self, input: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        loss = super().forward(input, target)
        if torch.is_grad_enabled():
            self.calls += 1
            if self.calls >= self.at:
                return loss * self.value
        return loss


def test_a_nan_is_recorded_named_once_and_keeps_the_last_good_checkpoint(training: Any) -> None:
    setup = training(settings={"epochs": 3, "keep_last": True, "keep_best": True}, loss=_Diverging(7))
    result = setup.loop.run()
    assert [step for step, _ in setup.reporter.nonfinite] == [7]
    assert math.isnan(setup.reporter.nonfinite[0][1])
    assert result.nonfinite_step == 7
    series = dict(setup.reporter.series("loss"))
    assert [series[step] for step in range(7, 16)] == ["NaN"] * 9
    assert all(isinstance(series[step], float) for step in range(1, 7))
    assert [value for _, value in setup.reporter.series("train_loss")][1:] == ["NaN", "NaN"]
    assert {c.progress.epoch for _, c in setup.kept} == {1}
    assert all(bool(tensor.isfinite().all()) for _, c in setup.kept for tensor in c.model.values())


def test_an_infinite_loss_is_told_apart(training: Any) -> None:
    setup = training(settings={"epochs": 1}, loss=_Diverging(2, math.inf))
    setup.loop.run()
    assert setup.reporter.nonfinite == [(2, math.inf)]
    assert dict(setup.reporter.series("loss"))[2] == "Infinity"


def test_the_nan_step_is_recorded_although_few_steps_are(training: Any) -> None:
    setup = training(settings={"epochs": 1, "log_every": 100}, loss=_Diverging(3))
    setup.loop.run()
    assert setup.reporter.series("loss")[0] == (3, "NaN")


def test_stopping_at_nan_raises_with_the_step_after_recording_it(training: Any) -> None:
    setup = training(settings={"epochs": 3, "stop_on_nonfinite": True}, loss=_Diverging(4))
    with pytest.raises(NonFiniteLoss, match="nan at step 4"):
        setup.loop.run()
    assert dict(setup.reporter.series("loss"))[4] == "NaN"


def test_gradients_are_clipped(training: Any) -> None:
    setup = training(settings={"epochs": 1, "clip_norm": 1e-3})
    norms: list[float] = []

    def look(*_: Any) -> None:
        norms.append(
            math.sqrt(
                sum(float(p.grad.square().sum()) for p in setup.model.parameters() if p.grad is not None)
            )
        )

    setup.optimizer.register_step_pre_hook(look)
    setup.loop.run()
    assert len(norms) == 5
    assert max(norms) <= 1e-3 * 1.001


def test_evaluation_leaves_the_mode_and_takes_no_gradient(training: Any) -> None:
    setup = training(dropout=0.9)
    setup.model.train()
    seen: list[torch.Tensor] = []
    for _ in range(2):
        evaluate(
            setup.model,
            setup.loop.validation,
            setup.loss,
            classification=True,
            stopped=lambda: False,
            on_batch=lambda outputs, targets: seen.append(outputs),
        )
    assert setup.model.training
    assert not any(outputs.requires_grad for outputs in seen)
    assert torch.equal(torch.cat(seen[:3]), torch.cat(seen[3:]))


def test_evaluation_stops_between_batches(training: Any) -> None:
    setup = training(stop_after=1)
    seen: list[int] = []
    mean = evaluate(
        setup.model,
        setup.loop.validation,
        setup.loss,
        classification=True,
        stopped=setup.reporter.stopped,
        on_batch=lambda outputs, targets: seen.append(len(targets)),
    )
    assert mean is None
    assert seen == [5]

"""Accumulation, clipping, mixed precision, schedules, early stopping, and going on with all of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from codefy_engine.training.checkpoints import CheckpointError
from codefy_engine.training.data import Batches, Batching
from codefy_engine.training.loop import LoopSettings, TrainingLoop
from codefy_engine.training.schedules import ScheduleRecipe, Schedules
from codefy_engine.training.stepping import Stepper, gradient_norm, usable_precision

CPU = torch.device("cpu")

STEP = ScheduleRecipe(name="StepLR", options={"step_size": 1, "gamma": 0.5})
WARM = ScheduleRecipe(
    name="LinearLR", options={"start_factor": 0.1, "end_factor": 1.0, "total_iters": 6}, per="step"
)
CYCLE = ScheduleRecipe(
    name="OneCycleLR",
    options={"max_lr": 0.1, "total_steps": None},
    per="step",
    span="total_steps",
    chains=False,
)
PLATEAU = ScheduleRecipe(name="ReduceLROnPlateau", options={"patience": 0, "factor": 0.5}, chains=False)


def loop_of(training: Any, schedules: tuple[ScheduleRecipe, ...] = (), **setup: Any) -> Any:
    """A training with schedules; the rest as the fixture makes it."""
    made = training(**setup)
    settings = LoopSettings(**made.settings)
    bound = Schedules(
        schedules,
        made.optimizer,
        epochs=settings.epochs,
        steps_per_epoch=-(-len(made.batches) // settings.accumulate),
    )
    made.loop = TrainingLoop(
        made.model,
        made.batches,
        made.loop.validation,
        made.optimizer,
        made.loss,
        classification=True,
        settings=settings,
        reporter=made.reporter,
        checkpoints=made.loop.checkpoints,
        schedules=bound,
    )
    return made


def twin_of(setup: Any) -> nn.Sequential:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    with torch.no_grad():
        for mine, theirs in zip(model.parameters(), setup.model.parameters(), strict=True):
            mine.copy_(theirs)
    return model


def weights(model: nn.Module) -> torch.Tensor:
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def test_accumulation_is_the_mean_gradient_of_a_group_and_of_what_is_left(training: Any) -> None:
    setup = training(settings={"epochs": 2, "accumulate": 2})
    model = twin_of(setup)
    optimizer = torch.optim.AdamW(model.parameters(), lr=setup.lr)
    for epoch in range(2):
        batches = list(setup.batches.epoch(epoch))
        for group in (batches[0:2], batches[2:4], batches[4:5]):
            optimizer.zero_grad()
            for inputs, targets in group:
                (nn.functional.cross_entropy(model(inputs), targets) / len(group)).backward()
            optimizer.step()
    result = setup.loop.run()
    assert torch.allclose(weights(setup.model), weights(model), atol=1e-6)
    assert result.step == 10


@pytest.mark.parametrize("settings", [{"clip_norm": 0.1}, {"clip_value": 0.01}])
def test_clipping_gives_the_weights_of_plain_torch(training: Any, settings: dict[str, Any]) -> None:
    setup = training(settings={"epochs": 2, **settings})
    model = twin_of(setup)
    optimizer = torch.optim.AdamW(model.parameters(), lr=setup.lr)
    norms = []
    for epoch in range(2):
        for inputs, targets in setup.batches.epoch(epoch):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            if "clip_norm" in settings:
                norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), 0.1)))
            else:
                nn.utils.clip_grad_value_(model.parameters(), 0.01)
            optimizer.step()
    setup.loop.run()
    assert torch.allclose(weights(setup.model), weights(model), atol=1e-6)
    if norms:
        assert [value for _, value in setup.reporter.series("grad_norm")] == pytest.approx(norms, rel=1e-5)


def test_the_gradient_norm_of_an_epoch_is_that_of_its_last_batch(training: Any) -> None:
    every, last = training(settings={"epochs": 2, "log_gradients": True}), training(settings={"epochs": 2})
    every.loop.run()
    last.loop.run()
    steps = dict(every.reporter.series("grad_norm"))
    assert list(steps) == list(range(1, 11))
    assert last.reporter.series("grad_norm") == [(5, steps[5]), (10, steps[10])]
    model = nn.Linear(2, 1)
    model(torch.ones(3, 2)).sum().backward()
    assert gradient_norm(model.parameters()) == pytest.approx((9 + 9 + 9) ** 0.5)


def test_bfloat16_computes_in_16_bits_and_still_learns(training: Any) -> None:
    seen: list[torch.dtype] = []
    setup = training(settings={"epochs": 4, "precision": "bf16"})
    setup.model.register_forward_hook(lambda module, args, output: seen.append(output.dtype))
    setup.loop.run()
    assert set(seen) == {torch.bfloat16}
    assert all(parameter.dtype == torch.float32 for parameter in setup.model.parameters())
    losses = [value for _, value in setup.reporter.series("train_loss")]
    assert losses[-1] < losses[0]


def test_float16_needs_an_accelerator() -> None:
    assert usable_precision("fp16", CPU) == "bf16"
    assert usable_precision("fp16", torch.device("cuda:0")) == "fp16"
    assert usable_precision("bf16", CPU) == "bf16"


@pytest.mark.parametrize("recipes", [(STEP,), (WARM, STEP), (CYCLE,), (PLATEAU,)])
def test_a_schedule_gives_the_rates_of_plain_torch(training: Any, recipes: Any) -> None:
    setup = loop_of(training, recipes, settings={"epochs": 3})
    model = nn.Linear(1, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=setup.lr)
    schedulers = [recipe.bind(optimizer, epochs=3, steps_per_epoch=5) for recipe in recipes]
    setup.loop.run()
    by_step, by_epoch = [], []
    losses = [value for _, value in setup.reporter.series("val_loss")]
    for epoch in range(3):
        for _ in range(5):
            by_step.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            for recipe, scheduler in zip(recipes, schedulers, strict=True):
                if recipe.per == "step":
                    scheduler.step()
        by_epoch.append(optimizer.param_groups[0]["lr"])
        for recipe, scheduler in zip(recipes, schedulers, strict=True):
            if recipe is PLATEAU:
                scheduler.step(losses[epoch])
            elif recipe.per == "epoch":
                scheduler.step()
    points = [point for point in setup.reporter.points if point.name == "lr"]
    assert [p.value for p in points if p.scope == "epoch"] == pytest.approx(by_epoch)
    steps = [p.value for p in points if p.scope == "step"]
    assert steps == (pytest.approx(by_step) if any(r.per == "step" for r in recipes) else [])


def test_a_schedule_that_sets_the_rate_stands_alone(training: Any) -> None:
    with pytest.raises(ValueError, match="OneCycleLR sets the learning rate by itself"):
        loop_of(training, (WARM, CYCLE))


@pytest.mark.parametrize("stop_after", [2, 5, 7, 9])
@pytest.mark.parametrize(
    ("settings", "recipes"),
    [
        ({"accumulate": 2, "clip_norm": 0.5}, (WARM, STEP)),
        ({"accumulate": 3}, (CYCLE,)),
        ({"precision": "bf16"}, (PLATEAU,)),
    ],
)
def test_going_on_gives_the_uninterrupted_curve(
    training: Any, settings: dict[str, Any], recipes: Any, stop_after: int
) -> None:
    common = {"epochs": 3, "keep_last": True, **settings}
    whole = loop_of(training, recipes, dropout=0.3, settings=common)
    expected = whole.loop.run()
    first = loop_of(training, recipes, dropout=0.3, settings=common, stop_after=stop_after)
    assert first.loop.run().stopped
    second = loop_of(training, recipes, dropout=0.3, settings=common)
    result = second.loop.run(resume=first.kept[-1][1])
    for name in ("loss", "train_loss", "val_loss", "lr", "grad_norm"):
        assert first.reporter.series(name) + second.reporter.series(name) == whole.reporter.series(name), name
    assert torch.equal(weights(second.model), weights(whole.model))
    assert (result.best_epoch, result.best_value) == (expected.best_epoch, expected.best_value)
    assert [row["val_loss"] for row in result.history] == [row["val_loss"] for row in expected.history]


def test_a_longer_training_may_go_on_from_a_finished_one(training: Any) -> None:
    short = loop_of(training, (STEP,), settings={"epochs": 2, "keep_last": True})
    short.loop.run()
    longer = loop_of(training, (STEP,), settings={"epochs": 4})
    longer.loop.run(resume=short.kept[-1][1])
    whole = loop_of(training, (STEP,), settings={"epochs": 4})
    whole.loop.run()
    assert short.reporter.series("loss") + longer.reporter.series("loss") == whole.reporter.series("loss")


def test_a_checkpoint_of_something_else_is_refused_in_words(training: Any) -> None:
    first = loop_of(training, (STEP,), settings={"epochs": 1, "keep_last": True})
    first.loop.run()
    other = training()
    other.loop.model = nn.Linear(4, 3)
    with pytest.raises(CheckpointError, match="does not fit the model"):
        other.loop.run(resume=first.kept[-1][1])
    without = loop_of(training, (PLATEAU,))
    with pytest.raises(CheckpointError, match="written with StepLR, this training has ReduceLROnPlateau"):
        without.loop.run(resume=first.kept[-1][1])


def test_patience_ends_the_training_and_the_best_epoch_stays(training: Any) -> None:
    setup = training(
        settings={"epochs": 50, "patience": 2, "min_delta": 10.0, "monitor": "loss", "keep_last": True}
    )
    result = setup.loop.run()
    # The first epoch beats nothing at all; none gains 10 after it.
    assert (result.epoch, result.stopped_early, result.stopped) == (3, True, False)
    assert setup.kept[-1][1].progress.epoch == 3
    assert result.best_value == min(row["val_loss"] for row in result.history)


def test_lbfgs_steps_like_plain_torch_and_says_what_it_cannot(training: Any) -> None:
    setup = training(settings={"epochs": 3}, validate=False)
    data = setup.train_data
    batches = Batches(data, Batching(batch_size=48), device=CPU)
    model = twin_of(setup)
    theirs = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=3)

    def closure() -> torch.Tensor:
        theirs.zero_grad()
        loss = nn.functional.cross_entropy(model(data.inputs), data.targets)
        loss.backward()
        return loss

    losses = [theirs.step(closure).item() for _ in range(3)]
    loop = TrainingLoop(
        setup.model,
        batches,
        None,
        torch.optim.LBFGS(setup.model.parameters(), lr=0.5, max_iter=3),
        setup.loss,
        classification=True,
        settings=LoopSettings(epochs=3),
        reporter=setup.reporter,
    )
    loop.run()
    assert [value for _, value in setup.reporter.series("loss")] == pytest.approx(losses, rel=1e-4)
    with pytest.raises(ValueError, match="LBFGS cannot be joined"):
        Stepper(setup.model, theirs, setup.loss, None, batches=1, accumulate=2)


def test_progress_tells_the_throughput_and_epochs_their_memory(training: Any) -> None:
    setup = training(settings={"epochs": 2, "interval_s": 0.0})
    setup.loop.run()
    assert setup.reporter.progresses[-1].metrics["samples_per_second"] > 0
    assert [value > 1 for _, value in setup.reporter.series("memory_mib")] == [True, True]

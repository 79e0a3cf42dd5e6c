"""Optimizers, schedules and losses give what torch's own give."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from codefy_engine.graph import Builder
from codefy_engine.nodes.builtin import losses, optimizers, schedulers
from codefy_engine.nodes.registry import node_classes
from codefy_engine.training.metrics import answer_counter
from codefy_engine.training.recipes import OptimizerRecipe
from codefy_engine.training.schedules import Schedules


def one(cls: Any, params: dict[str, Any] | None = None, /, **inputs: Any) -> Any:
    return cls.create(params, **inputs).run(None)


OPTIMIZERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "AdamW": ({"lr": 0.1, "beta1": 0.8}, {"lr": 0.1, "betas": (0.8, 0.999)}),
    "Adam": ({"lr": 0.1, "amsgrad": True}, {"lr": 0.1, "amsgrad": True}),
    "SGD": ({"lr": 0.1, "nesterov": True}, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "RMSprop": (
        {"lr": 0.1, "alpha": 0.9, "centered": True},
        {"lr": 0.1, "alpha": 0.9, "centered": True},
    ),
    "Adagrad": ({"lr": 0.1, "lr_decay": 0.1}, {"lr": 0.1, "lr_decay": 0.1}),
    "Adadelta": ({"lr": 0.5, "rho": 0.8}, {"lr": 0.5, "rho": 0.8}),
    "Adamax": ({"lr": 0.1}, {"lr": 0.1}),
    "NAdam": ({"lr": 0.1, "momentum_decay": 0.01}, {"lr": 0.1, "momentum_decay": 0.01}),
    "RAdam": ({"lr": 0.1, "beta2": 0.9}, {"lr": 0.1, "betas": (0.9, 0.9)}),
    "Rprop": ({"lr": 0.1, "grow": 1.5}, {"lr": 0.1, "etas": (0.5, 1.5)}),
    "Adafactor": ({"lr": 0.1, "weight_decay": 0.1}, {"lr": 0.1, "weight_decay": 0.1}),
    "LBFGS": ({"lr": 0.1, "max_iter": 2}, {"lr": 0.1, "max_iter": 2, "history_size": 10}),
}


def test_every_optimizer_is_tried() -> None:
    assert {cls.spec.definition.type for cls in node_classes(optimizers)} == set(OPTIMIZERS)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_steps_like_torch(name: str) -> None:
    params, options = OPTIMIZERS[name]
    recipe = one(getattr(optimizers, name), params)
    start = torch.tensor([[1.0, -2.0], [3.0, 0.5]])
    mine, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    a = recipe.bind([mine])
    b = getattr(torch.optim, name)([theirs], **options)
    for optimizer, weight in ((a, mine), (b, theirs)):

        def closure(optimizer: Any = optimizer, weight: Any = weight) -> Any:
            optimizer.zero_grad()
            loss = (weight**2).sum() + weight.sum()
            loss.backward()
            return loss

        for _ in range(4):
            closure()
            optimizer.step(closure)
    assert torch.equal(mine, theirs)
    assert not torch.equal(mine.detach(), start)
    assert recipe.codefy_summary().startswith(f"{name}, lr ")


SCHEDULES: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "StepLR": ({"step_size": 2, "gamma": 0.5}, "StepLR", {"step_size": 2, "gamma": 0.5}),
    "MultiStepLR": ({"milestones": [4, 2]}, "MultiStepLR", {"milestones": [2, 4], "gamma": 0.1}),
    "ExponentialLR": ({"gamma": 0.8}, "ExponentialLR", {"gamma": 0.8}),
    "PolynomialLR": ({"power": 2.0}, "PolynomialLR", {"total_iters": 6, "power": 2.0}),
    "CosineAnnealingLR": ({"min_lr": 0.01}, "CosineAnnealingLR", {"T_max": 6, "eta_min": 0.01}),
    "CosineWarmRestarts": (
        {"period": 2, "factor": 2},
        "CosineAnnealingWarmRestarts",
        {"T_0": 2, "T_mult": 2},
    ),
    "OneCycleLR": ({"max_lr": 0.5}, "OneCycleLR", {"max_lr": 0.5, "total_steps": 12}),
    "CyclicLR": (
        {"base_lr": 0.1, "max_lr": 0.5, "rise": 3},
        "CyclicLR",
        {"base_lr": 0.1, "max_lr": 0.5, "step_size_up": 3, "cycle_momentum": False},
    ),
    "ReduceLROnPlateau": (
        {"patience": 1, "factor": 0.5},
        "ReduceLROnPlateau",
        {"patience": 1, "factor": 0.5},
    ),
    "LinearWarmup": ({"length": 4, "start": 0.1}, "LinearLR", {"start_factor": 0.1, "total_iters": 4}),
}


def test_every_schedule_is_tried() -> None:
    assert {cls.spec.definition.type for cls in node_classes(schedulers)} == set(SCHEDULES)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_gives_the_rates_of_torch(name: str) -> None:
    params, theirs, options = SCHEDULES[name]
    recipe = one(
        getattr(schedulers, name), params, optimizer=OptimizerRecipe(name="SGD", options={"lr": 0.2})
    )
    (schedule,) = recipe.schedules
    a = recipe.bind([nn.Parameter(torch.ones(1))])
    b = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.2)
    bound = Schedules(recipe.schedules, a, epochs=6, steps_per_epoch=2)
    scheduler = getattr(torch.optim.lr_scheduler, theirs)(b, **options)
    for epoch in range(6):
        for _ in range(2):
            assert a.param_groups[0]["lr"] == b.param_groups[0]["lr"], epoch
            a.step()
            b.step()
            bound.after_step()
            if schedule.per == "step":
                scheduler.step()
        bound.after_epoch(1.0)
        if schedule.per == "epoch":
            scheduler.step(*([1.0] if theirs == "ReduceLROnPlateau" else []))
    assert recipe.codefy_summary() == f"SGD, lr 0.2, {theirs}"


def test_a_cycle_whose_bounds_are_swapped_is_refused() -> None:
    recipe = OptimizerRecipe(name="SGD", options={"lr": 0.2})
    with pytest.raises(ValueError, match="above the peak"):
        one(schedulers.CyclicLR, {"base_lr": 2.0, "max_lr": 1.0}, optimizer=recipe)


SCORES = torch.tensor([[2.0, -1.0, 0.5], [0.1, 0.2, 0.3], [-2.0, 1.0, 3.0], [0.5, 1.5, -1.0]])
CLASSES = torch.tensor([0, 2, 1, 1])
NUMBERS = torch.tensor([[0.2, 0.9, 0.4], [1.0, 0.0, 0.5], [0.3, 0.3, 0.4], [0.8, 0.1, 0.7]])
SHARES = SCORES.softmax(1)
WEIGHTS = torch.tensor([1.0, 2.0, 0.5])


def by_hand_triplet(vectors: torch.Tensor, classes: torch.Tensor, margin: float) -> float:
    losses = []
    for i in range(len(vectors)):
        far = [
            float((vectors[i] - v).norm())
            for j, v in enumerate(vectors)
            if classes[j] == classes[i] and j != i
        ]
        near = [float((vectors[i] - v).norm()) for j, v in enumerate(vectors) if classes[j] != classes[i]]
        if far and near:
            losses.append(max(0.0, max(far) - min(near) + margin))
    return sum(losses) / len(losses)


LOSSES: dict[str, tuple[dict[str, Any], torch.Tensor, torch.Tensor, Any]] = {
    "CrossEntropyLoss": (
        {"label_smoothing": 0.1},
        SCORES,
        CLASSES,
        lambda: functional.cross_entropy(SCORES, CLASSES, label_smoothing=0.1),
    ),
    "NLLLoss": ({}, SCORES.log_softmax(1), CLASSES, lambda: functional.cross_entropy(SCORES, CLASSES)),
    "MultiMarginLoss": (
        {"margin": 0.5},
        SCORES,
        CLASSES,
        lambda: functional.multi_margin_loss(SCORES, CLASSES, margin=0.5),
    ),
    "FocalLoss": (
        {"gamma": 2.0},
        SCORES,
        CLASSES,
        lambda: (
            sum((1 - SHARES[i, c]) ** 2 * -SHARES[i, c].log() for i, c in enumerate(CLASSES.tolist())) / 4
        ),
    ),
    "BCEWithLogitsLoss": (
        {"positive_weight": 2.0},
        SCORES,
        NUMBERS,
        lambda: functional.binary_cross_entropy_with_logits(SCORES, NUMBERS, pos_weight=torch.tensor(2.0)),
    ),
    "BCELoss": ({}, SHARES, NUMBERS, lambda: functional.binary_cross_entropy(SHARES, NUMBERS)),
    "MSELoss": ({}, SCORES, NUMBERS, lambda: functional.mse_loss(SCORES, NUMBERS)),
    "L1Loss": ({}, SCORES, NUMBERS, lambda: functional.l1_loss(SCORES, NUMBERS)),
    "SmoothL1Loss": (
        {"beta": 0.5},
        SCORES,
        NUMBERS,
        lambda: functional.smooth_l1_loss(SCORES, NUMBERS, beta=0.5),
    ),
    "HuberLoss": ({"delta": 0.7}, SCORES, NUMBERS, lambda: functional.huber_loss(SCORES, NUMBERS, delta=0.7)),
    "PoissonNLLLoss": ({}, SCORES, NUMBERS, lambda: functional.poisson_nll_loss(SCORES, NUMBERS)),
    "KLDivLoss": (
        {},
        SCORES.log_softmax(1),
        NUMBERS,
        lambda: functional.kl_div(SCORES.log_softmax(1), NUMBERS, reduction="batchmean"),
    ),
    "CosineEmbeddingLoss": (
        {},
        SCORES,
        NUMBERS,
        lambda: functional.cosine_embedding_loss(SCORES, NUMBERS, torch.ones(4)),
    ),
    "TripletLoss": (
        {"margin": 0.5},
        SCORES,
        torch.tensor([0, 1, 1, 0]),
        lambda: by_hand_triplet(SCORES, torch.tensor([0, 1, 1, 0]), 0.5),
    ),
}


def test_every_loss_is_tried() -> None:
    assert {cls.spec.definition.type for cls in node_classes(losses)} == {*LOSSES, "ComputeLoss"}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_has_the_value_of_torch(name: str) -> None:
    params, outputs, targets, expected = LOSSES[name]
    loss = one(getattr(losses, name), params)
    value = one(losses.ComputeLoss, None, loss=loss, outputs=outputs, targets=targets)
    assert value == pytest.approx(float(expected()), rel=1e-5)
    grown = outputs.clone().requires_grad_()
    loss(grown, targets).backward()
    assert grown.grad is not None and bool(grown.grad.isfinite().all())


@pytest.mark.parametrize("name", ["CrossEntropyLoss", "NLLLoss"])
def test_classes_can_have_weights(name: str) -> None:
    loss = one(getattr(losses, name), None, weights=WEIGHTS)
    outputs = SCORES if name == "CrossEntropyLoss" else SCORES.log_softmax(1)
    expected = functional.cross_entropy(SCORES, CLASSES, weight=WEIGHTS)
    assert loss(outputs, CLASSES) == pytest.approx(float(expected))


def test_classes_may_stand_last_and_some_targets_may_not_count() -> None:
    loss = one(losses.CrossEntropyLoss, {"class_last": True, "ignore_index": 0})
    scores, targets = torch.randn(2, 5, 3), torch.tensor([[0, 1, 2, 0, 1], [2, 2, 0, 1, 0]])
    expected = functional.cross_entropy(scores.transpose(1, 2), targets, ignore_index=0)
    assert loss(scores, targets) == pytest.approx(float(expected))
    count = answer_counter(loss)
    assert count is not None
    assert int(count(scores, targets)) == int((scores.argmax(2) == targets).sum())


@pytest.mark.parametrize(("name", "threshold"), [("BCEWithLogitsLoss", 0.0), ("BCELoss", 0.5)])
def test_two_classes_may_be_targets_of_a_binary_loss(name: str, threshold: float) -> None:
    loss = one(getattr(losses, name))
    outputs, targets = torch.tensor([[0.9], [0.2], [0.6]]), torch.tensor([1, 0, 0])
    base = functional.binary_cross_entropy_with_logits if threshold == 0 else functional.binary_cross_entropy
    assert loss(outputs, targets) == pytest.approx(float(base(outputs, targets.float().unsqueeze(1))))
    count = answer_counter(loss)
    assert count is not None
    assert int(count(outputs, targets)) == int(((outputs.squeeze(1) >= threshold).long() == targets).sum())


def test_vectors_are_no_answers() -> None:
    assert answer_counter(one(losses.TripletLoss)) is None


def iris(**train: Any) -> Builder:
    """Iris with the parts under test; ``train`` are parameters of the loop."""
    graph = Builder("parts", seed=1)
    net = graph.subgraph("net")
    x = net.add("Linear", "hidden", x=net.add("ModuleInput", "input"), out_features=8)
    net.add("ModuleOutput", "output", x=net.add("Linear", "scores", x=net.add("Tanh", x=x), out_features=3))
    split = graph.add("TrainTestSplit", "split", dataset=graph.add("SklearnDataset", name="iris"))
    optimizer = graph.add("LinearWarmup", "warm", optimizer=graph.add("AdamW", "adam", lr=0.02), length=5)
    graph.add(
        "TrainingLoop",
        "train",
        train=split["train"],
        validation=split["validation"],
        model=graph.add("Module", "model", subgraph="net"),
        optimizer=graph.add("CosineAnnealingLR", "cosine", optimizer=optimizer),
        loss=graph.add("CrossEntropyLoss", "loss", label_smoothing=0.1),
        **train,
    )
    return graph


def test_parts_are_wired_into_a_training(harness: Any) -> None:
    outcome, kept = harness.execute(iris(epochs=4, precision="fp16", accumulate=2).build())
    assert outcome.status == "succeeded", outcome.error
    (warning,) = kept.warnings
    assert (warning["code"], warning["node_id"]) == ("precision_fallback", "train")
    points = [p for body in kept.metrics for p in body["points"] if p["name"] == "lr"]
    assert len([p for p in points if p.get("scope", "step") == "step"]) == 8
    assert points[0]["value"] == pytest.approx(0.0002)
    facts = {p["node_id"]: p["outputs"] for p in kept.payloads("node_status") if p["status"] == "succeeded"}
    assert facts["cosine"]["optimizer"]["summary"] == "AdamW, lr 0.02, LinearLR, CosineAnnealingLR"


def test_a_training_goes_on_from_a_file_of_another(harness: Any) -> None:
    graph = iris(epochs=4, checkpoint="last")
    parts = {edge.target_handle: edge for edge in graph.build().edges if edge.target == "train"}
    from codefy_engine.graph.builder import OutputRef

    wires: dict[str, Any] = {port: OutputRef(edge.source, edge.source_handle) for port, edge in parts.items()}
    half = graph.add("TrainingLoop", "half", epochs=2, checkpoint="last", **wires)
    graph.add("TrainingLoop", "rest", epochs=4, checkpoint="none", resume=half["checkpoint"], **wires)
    outcome, kept = harness.execute(graph.build())
    assert outcome.status == "succeeded", outcome.error
    curves: dict[str, list[tuple[int, Any]]] = {"train": [], "half": [], "rest": []}
    for body in kept.metrics:
        for p in body["points"]:
            if p["name"] == "loss":
                curves[p["node_id"]].append((p["step"], p["value"]))
    # A cosine over 2 epochs is another one than over 4: only the steps are the same in number.
    assert [step for step, _ in curves["half"] + curves["rest"]] == [step for step, _ in curves["train"]]


def test_a_missing_checkpoint_is_named(harness: Any) -> None:
    outcome, _ = harness.execute(iris(resume_from="runs/none.pt").build())
    assert outcome.error.node_id == "train"
    assert "there is no runs/none.pt among your files" in outcome.error.message
    outcome, _ = harness.execute(iris(resume_from="../secret.pt").build())
    assert "leads out of the folder" in outcome.error.message

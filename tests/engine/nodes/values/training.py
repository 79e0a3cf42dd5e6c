"""Optimizers, schedules, losses and the loop: torch used by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.optim import lr_scheduler

from codefy_engine.training.data import Batching, TensorDataset
from codefy_engine.training.recipes import OptimizerRecipe
from codefy_engine.training.schedules import Schedules

from .case import Case, Place

START = torch.tensor([[1.0, -2.0], [3.0, 0.5]])


def stepped(bind: Callable[[list[nn.Parameter]], torch.optim.Optimizer]) -> torch.Tensor:
    """What four steps make of some weights."""
    weight = nn.Parameter(START.clone())
    optimizer = bind([weight])

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = (weight**2).sum() + weight.sum()
        loss.backward()
        return loss

    for _ in range(4):
        closure()
        optimizer.step(closure)
    return weight.detach()


def optimizer(name: str, params: dict[str, Any], **options: Any) -> Case:
    """``options`` are those of torch where they are called differently."""
    theirs = {"lr": params["lr"], **options}
    return Case(
        name,
        lambda place: stepped(lambda weights: getattr(torch.optim, name)(weights, **theirs)),
        params,
        see=lambda outputs: stepped(outputs["optimizer"].bind),
    )


OPTIMIZERS = [
    optimizer("Adam", {"lr": 0.1, "amsgrad": True}, amsgrad=True),
    optimizer("AdamW", {"lr": 0.1, "beta1": 0.8}, betas=(0.8, 0.999)),
    optimizer("SGD", {"lr": 0.1, "nesterov": True}, momentum=0.9, nesterov=True),
    optimizer("RMSprop", {"lr": 0.1, "alpha": 0.9, "centered": True}, alpha=0.9, centered=True),
    optimizer("Adagrad", {"lr": 0.1, "lr_decay": 0.1}, lr_decay=0.1),
    optimizer("Adadelta", {"lr": 0.5, "rho": 0.8}, rho=0.8),
    optimizer("Adamax", {"lr": 0.1, "weight_decay": 0.2}, weight_decay=0.2),
    optimizer("NAdam", {"lr": 0.1, "momentum_decay": 0.01}, momentum_decay=0.01),
    optimizer("RAdam", {"lr": 0.1, "beta2": 0.9}, betas=(0.9, 0.9)),
    optimizer("Rprop", {"lr": 0.1, "grow": 1.5}, etas=(0.5, 1.5)),
    optimizer("Adafactor", {"lr": 0.1, "weight_decay": 0.1}, weight_decay=0.1),
    optimizer("LBFGS", {"lr": 0.1, "max_iter": 2}, max_iter=2, history_size=10),
]

EPOCHS, STEPS = 6, 2


def rates(recipe: OptimizerRecipe) -> list[float]:
    """The rate before every step of a training."""
    bound = recipe.bind([nn.Parameter(torch.ones(1))])
    schedules = Schedules(recipe.schedules, bound, epochs=EPOCHS, steps_per_epoch=STEPS)
    found: list[float] = []
    for _ in range(EPOCHS):
        for _ in range(STEPS):
            found.append(bound.param_groups[0]["lr"])
            bound.step()
            schedules.after_step()
        schedules.after_epoch(1.0)
    return found


def schedule(name: str, theirs: str, params: dict[str, Any], each: str = "epoch", **options: Any) -> Case:
    def expected(place: Place) -> list[float]:
        bound = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.2)
        scheduler = getattr(lr_scheduler, theirs)(bound, **options)
        found: list[float] = []
        for _ in range(EPOCHS):
            for _ in range(STEPS):
                found.append(bound.param_groups[0]["lr"])
                bound.step()
                if each == "step":
                    scheduler.step()
            if each == "epoch":
                scheduler.step(*([1.0] if theirs == "ReduceLROnPlateau" else []))
        assert len(set(found)) > 1, "the rate does not move"
        return found

    return Case(
        name,
        expected,
        params,
        {"optimizer": OptimizerRecipe(name="SGD", options={"lr": 0.2})},
        see=lambda outputs: rates(outputs["optimizer"]),
    )


SCHEDULES = [
    schedule("StepLR", "StepLR", {"step_size": 2, "gamma": 0.5}, step_size=2, gamma=0.5),
    schedule("MultiStepLR", "MultiStepLR", {"milestones": [4, 2]}, milestones=[2, 4], gamma=0.1),
    schedule("ExponentialLR", "ExponentialLR", {"gamma": 0.8, "per": "step"}, "step", gamma=0.8),
    schedule("PolynomialLR", "PolynomialLR", {"power": 2.0}, total_iters=6, power=2.0),
    schedule("CosineAnnealingLR", "CosineAnnealingLR", {"min_lr": 0.01}, T_max=6, eta_min=0.01),
    schedule(
        "CosineWarmRestarts", "CosineAnnealingWarmRestarts", {"period": 2, "factor": 2}, T_0=2, T_mult=2
    ),
    schedule("OneCycleLR", "OneCycleLR", {"max_lr": 0.5}, "step", max_lr=0.5, total_steps=12),
    schedule(
        "CyclicLR",
        "CyclicLR",
        {"base_lr": 0.1, "max_lr": 0.5, "rise": 3},
        "step",
        base_lr=0.1,
        max_lr=0.5,
        step_size_up=3,
        cycle_momentum=False,
    ),
    schedule(
        "ReduceLROnPlateau", "ReduceLROnPlateau", {"patience": 1, "factor": 0.5}, patience=1, factor=0.5
    ),
    schedule(
        "LinearWarmup", "LinearLR", {"length": 4, "start": 0.1}, "step", start_factor=0.1, total_iters=4
    ),
]

SCORES = torch.tensor([[2.0, -1.0, 0.5], [0.1, 0.2, 0.3], [-2.0, 1.0, 3.0], [0.5, 1.5, -1.0]])
CLASSES = torch.tensor([0, 2, 1, 1])
NUMBERS = torch.tensor([[0.2, 0.9, 0.4], [1.0, 0.0, 0.5], [0.3, 0.3, 0.4], [0.8, 0.1, 0.7]])
SHARES = SCORES.softmax(1)
LOGS = SCORES.log_softmax(1)
WEIGHTS = torch.tensor([1.0, 2.0, 0.5])


def loss(type: str, outputs: Any, targets: torch.Tensor, expected: torch.Tensor, /, **params: Any) -> Case:
    return Case(
        type, float(expected), params, see=lambda found: float(found["loss"](outputs, targets)), close=1e-5
    )


def focal() -> torch.Tensor:
    right = SHARES[range(4), CLASSES]
    return ((1 - right) ** 1.5 * -right.log()).mean()


def triplet() -> torch.Tensor:
    """The farthest of the same class must be nearer than the nearest of another, by the margin; for each sample."""
    far = torch.cdist(SCORES, SCORES)
    same = CLASSES[:, None] == CLASSES
    losses = [
        (far[i][same[i]].max() - far[i][~same[i]].min() + 0.5).clamp(min=0)
        for i in range(4)
        if int(same[i].sum()) > 1
    ]
    return torch.stack(losses).mean()


def bound() -> torch.Tensor:
    """The negative evidence bound with half the weight on the divergence from normal noise."""
    mean, log_variance = NUMBERS, LOGS
    q = torch.distributions.Normal(mean, (log_variance / 2).exp())
    p = torch.distributions.Normal(torch.zeros(4, 3), torch.ones(4, 3))
    divergence = torch.distributions.kl_divergence(q, p).sum() / 4
    return (SCORES - NUMBERS).square().sum() / 4 + 0.5 * divergence


LOSSES = [
    loss(
        "CrossEntropyLoss",
        SCORES,
        CLASSES,
        functional.cross_entropy(SCORES, CLASSES, label_smoothing=0.1),
        label_smoothing=0.1,
    ),
    loss("NLLLoss", LOGS, CLASSES, functional.cross_entropy(SCORES, CLASSES)),
    Case(
        "NLLLoss",
        float(functional.nll_loss(LOGS, CLASSES, WEIGHTS)),
        {},
        {"weights": WEIGHTS},
        see=lambda found: float(found["loss"](LOGS, CLASSES)),
        close=1e-6,
    ),
    loss(
        "MultiMarginLoss",
        SCORES,
        CLASSES,
        functional.multi_margin_loss(SCORES, CLASSES, margin=0.5),
        margin=0.5,
    ),
    loss("FocalLoss", SCORES, CLASSES, focal(), gamma=1.5),
    loss(
        "BCEWithLogitsLoss",
        SCORES,
        NUMBERS,
        functional.binary_cross_entropy_with_logits(SCORES, NUMBERS, pos_weight=torch.tensor(2.0)),
        positive_weight=2.0,
    ),
    loss("BCELoss", SHARES, NUMBERS, functional.binary_cross_entropy(SHARES, NUMBERS)),
    loss("MSELoss", SCORES, NUMBERS, functional.mse_loss(SCORES, NUMBERS)),
    loss("L1Loss", SCORES, NUMBERS, functional.l1_loss(SCORES, NUMBERS)),
    loss("SmoothL1Loss", SCORES, NUMBERS, functional.smooth_l1_loss(SCORES, NUMBERS, beta=0.5), beta=0.5),
    loss("HuberLoss", SCORES, NUMBERS, functional.huber_loss(SCORES, NUMBERS, delta=0.7), delta=0.7),
    loss("PoissonNLLLoss", SCORES, NUMBERS, functional.poisson_nll_loss(SCORES, NUMBERS)),
    loss("KLDivLoss", LOGS, NUMBERS, functional.kl_div(LOGS, NUMBERS, reduction="batchmean")),
    loss(
        "CosineEmbeddingLoss",
        SCORES,
        NUMBERS,
        functional.cosine_embedding_loss(SCORES, NUMBERS, torch.ones(4)),
    ),
    loss("TripletLoss", SCORES, CLASSES, triplet(), margin=0.5),
    loss("VAELoss", (SCORES, NUMBERS, LOGS), NUMBERS, bound(), beta=0.5),
    loss("DiffusionLoss", (SCORES, NUMBERS), CLASSES, functional.mse_loss(SCORES, NUMBERS)),
    Case(
        "ComputeLoss",
        float(functional.l1_loss(SCORES, NUMBERS)),
        {},
        {"loss": nn.L1Loss(), "outputs": SCORES, "targets": NUMBERS},
        close=1e-6,
    ),
]

SAMPLES = torch.randn(20, 3, generator=torch.Generator().manual_seed(0))
DATA = TensorDataset(
    inputs=SAMPLES, targets=SAMPLES @ torch.tensor([[1.0], [-2.0], [0.5]]), batching=Batching(batch_size=8)
)


def linear() -> nn.Linear:
    model = nn.Linear(3, 1)
    nn.init.constant_(model.weight, 0.1)
    nn.init.zeros_(model.bias)
    return model


def trained(place: Place) -> dict[str, Any]:
    """The loop by hand: batches in order, momentum, gradients clipped to length 1."""
    model = linear()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses: list[float] = []
    for _ in range(3):
        total = 0.0
        for first in range(0, 20, 8):
            inputs, targets = DATA.inputs[first : first + 8], DATA.targets[first : first + 8]
            optimizer.zero_grad()
            value = functional.mse_loss(model(inputs), targets)
            value.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += float(value.detach()) * len(inputs)
        losses.append(total / 20)
    return {"weight": model.weight.detach(), "bias": model.bias.detach(), "train_loss": losses}


def after_training(outputs: dict[str, Any]) -> dict[str, Any]:
    model = outputs["model"]
    return {
        "weight": model.weight.detach(),
        "bias": model.bias.detach(),
        "train_loss": [entry["train_loss"] for entry in outputs["metrics"]["history"]],
    }


LOOP = [
    Case(
        "TrainingLoop",
        trained,
        {"epochs": 3, "clip_norm": 1.0, "checkpoint": "last"},
        {
            "train": DATA,
            "model": linear(),
            "optimizer": OptimizerRecipe(name="SGD", options={"lr": 0.1, "momentum": 0.9}),
        },
        see=after_training,
        close=1e-6,
    )
]

CASES = [*OPTIMIZERS, *SCHEDULES, *LOSSES, *LOOP]

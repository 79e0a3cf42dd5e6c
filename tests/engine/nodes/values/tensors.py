"""Operations on tensors: what torch gives when it is called directly."""

from __future__ import annotations

from typing import Any

import torch

from codefy_engine.training.data import TensorDataset

from .case import NODE, SEED, Case

X = torch.tensor([[3.0, -1.0, 2.0], [0.5, 4.0, -2.0]])
Y = torch.tensor([[1.0, 2.0, -3.0], [4.0, 0.5, 2.0]])
DATA = TensorDataset(inputs=X, targets=torch.tensor([1, 0]), class_names=("a", "b"))


def parts(dataset: Any) -> list[Any]:
    """What a data set holds."""
    return [dataset.inputs, dataset.targets, list(dataset.class_names), dataset.name]


def of(type: str, expected: Any, /, *values: torch.Tensor, **params: Any) -> Case:
    """A type whose inputs are called x, or a and b."""
    names = ("x",) if len(values) == 1 else ("a", "b")
    return Case(type, expected, params, dict(zip(names, values, strict=False)))


ARITHMETIC = [
    Case("TensorArithmetic", X**2, {"operation": "pow", "number": 2}, {"a": X}),
    Case("TensorArithmetic", torch.maximum(X, Y), {"operation": "maximum"}, {"a": X, "b": Y}),
    of("TensorFunction", X.sin(), X, function="sin"),
    of("ScaleShift", X * 2 - 1, X, scale=2, shift=-1),
    of("Clamp", X.clamp(-1, 2), X, low=-1, high=2),
    Case("MatMul", X @ Y.T, {"transpose_b": True}, {"a": X, "b": Y}),
    Case("Einsum", (X * Y).sum(1), {"equation": "ij,ij->i"}, {"x1": X, "x2": Y}),
    of("Normalise", torch.nn.functional.normalize(X), X, method="length", dimension=1),
    Case("Compare", X > Y, {}, {"a": X, "b": Y}),
    Case("Where", torch.where(X > 0, X, Y), {}, {"condition": X > 0, "a": X, "b": Y}),
]

REDUCTIONS = [
    of("ArgMax", torch.tensor([1, 0, 1]), X, dimension=0, smallest=True),
    of("CountValues", torch.tensor([1, 0, 2, 0]), torch.tensor([0, 2, 2, 9]), size=4),
    of("CumulativeSum", X.cumsum(-1), X),
    of("ReduceTensor", X.var(0, correction=0, keepdim=True), X, operation="var", dimensions=[0], keep=True),
    of("SortTensor", dict(zip(("y", "indices"), X.sort(descending=True), strict=True)), X, descending=True),
    of("TopK", dict(zip(("y", "indices"), X.topk(2), strict=True)), X, k=2),
]

SHAPES = [
    of("AddDimension", X[:, None], X, dimension=1),
    of("DropDimension", X, X[:, None], dimension=1),
    of("ConvertTensor", X.long(), X, type="int64"),
    of("FlipTensor", X.flip(-1), X),
    of("OneHot", torch.tensor([[0.0, 0, 1], [1, 0, 0]]), torch.tensor([2, 0]), classes=3),
    of("ReshapeTensor", X.reshape(3, 2), X, shape=[3, -1]),
    of("SliceTensor", X[:, -2:], X, dimension=1, start=-2),
    of("SlidingWindows", torch.tensor([[0.0, 1, 2], [2, 3, 4]]), torch.arange(5.0), length=3, step=2),
    of("SplitTensor", {f"y{i + 1}": X[:, i : i + 1] for i in range(3)}, X, parts=3),
    of("Transpose", X.T, X),
    Case("JoinTensors", torch.cat([X, Y], 1), {"dimension": 1}, {"x1": X, "x2": Y}),
    Case(
        "StackTensors", torch.stack([X, Y, X], 1), {"count": 3, "dimension": 1}, {"x1": X, "x2": Y, "x3": X}
    ),
    Case("TakeRows", X[[1, 1, 0]], {}, {"x": X, "indices": torch.tensor([1, 1, 0])}),
]


def drawn() -> torch.Tensor:
    from codefy_engine.training.seeding import derive_seed

    generator = torch.Generator().manual_seed(derive_seed(SEED, NODE))
    return torch.empty(3, 2).normal_(2, 3, generator=generator)


SOURCES = [
    Case("Arange", torch.arange(1, 2, 0.25), {"start": 1, "stop": 2, "step": 0.25}),
    Case("FilledTensor", torch.full((2, 3), 1.5), {"shape": [2, 3], "number": 1.5}),
    Case("Linspace", torch.linspace(0, 2, 5), {"stop": 2, "count": 5}),
    Case("RandomTensor", drawn(), {"shape": [3, 2], "mean": 2, "deviation": 3}, close=1e-6),
]

DATA_SETS = [
    Case(
        "DatasetToTensors", {"inputs": X[:1], "targets": torch.tensor([1])}, {"limit": 1}, {"dataset": DATA}
    ),
    Case(
        "TensorsToDataset",
        [X, torch.tensor([[1.0], [2.0]]), [], "mine"],
        {"name": "mine"},
        {"inputs": X, "targets": torch.tensor([1.0, 2.0])},
        see=lambda outputs: parts(outputs["dataset"]),
    ),
    Case(
        "InputsAsTargets",
        [X, X, [], ""],
        {},
        {"dataset": DATA},
        see=lambda outputs: parts(outputs["dataset"]),
    ),
]

CASES = [*ARITHMETIC, *REDUCTIONS, *SHAPES, *SOURCES, *DATA_SETS]

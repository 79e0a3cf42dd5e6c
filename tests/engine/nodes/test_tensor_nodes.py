"""Tensor operations against torch used directly."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from codefy_engine.graph import Builder
from codefy_engine.nodes.base import Node, NodeContext, NodeError, input, node
from codefy_engine.nodes.registry import default_registry
from codefy_engine.training.data import TensorDataset

X = torch.tensor([[3.0, -1.0, 2.0], [0.5, 4.0, -2.0]])
Y = torch.tensor([[1.0, 2.0, -3.0], [4.0, 0.5, 2.0]])


class Quiet:
    """As much of a context as these nodes ask for."""

    device = "cpu"
    node_id = "here"

    def __init__(self, seed: int | None = 1) -> None:
        self.seed = seed


def run(type: str, /, *values: Any, seed: int | None = 1, **params: Any) -> Any:
    cls = default_registry().get(type)
    ports = cls.spec.input_ports(cls.create(params).__dict__)
    made = cls.create(params, **dict(zip(ports, values, strict=False)))
    return made.run(Quiet(seed))  # type: ignore[arg-type]  # enough of a context


CASES: list[tuple[str, tuple[torch.Tensor, ...], dict[str, Any], torch.Tensor]] = [
    ("TensorArithmetic", (X, Y), {}, X + Y),
    ("TensorArithmetic", (X,), {"operation": "pow", "number": 2}, X**2),
    (
        "TensorArithmetic",
        (torch.tensor([7, 8]),),
        {"operation": "floor_divide", "number": 2},
        torch.tensor([3, 4]),
    ),
    ("ScaleShift", (X,), {"scale": 2, "shift": -1}, X * 2 - 1),
    ("Clamp", (X,), {"high": None}, X.clamp(min=0)),
    ("Clamp", (X,), {"low": None, "high": None}, X),
    ("MatMul", (X, Y), {"transpose_b": True}, X @ Y.T),
    ("MatMul", (X.T, Y), {}, X.T @ Y),
    ("Einsum", (X, Y), {"equation": "ij,ij->i"}, (X * Y).sum(1)),
    ("Einsum", (X,), {"count": 1, "equation": "ij->j"}, X.sum(0)),
    ("Normalise", (X,), {}, (X - X.mean(0)) / X.std(0, correction=0)),
    ("Normalise", (torch.ones(3, 2),), {}, torch.zeros(3, 2)),
    ("Normalise", (X,), {"method": "length", "dimension": 1}, torch.nn.functional.normalize(X)),
    ("Compare", (X, Y), {}, X > Y),
    ("Compare", (X,), {"relation": "le", "number": 2}, X <= 2),
    ("Where", (X > 0, X, Y), {}, torch.where(X > 0, X, Y)),
    ("ArgMax", (X,), {}, torch.tensor([0, 1])),
    ("ArgMax", (X,), {"dimension": 0, "smallest": True}, torch.tensor([1, 0, 1])),
    ("CumulativeSum", (X,), {}, X.cumsum(-1)),
    ("CountValues", (torch.tensor([0, 2, 2, 9]),), {"size": 4}, torch.tensor([1, 0, 2, 0])),
    ("StackTensors", (X, Y, X), {"count": 3, "dimension": 1}, torch.stack([X, Y, X], 1)),
    ("JoinTensors", (X, Y), {}, torch.cat([X, Y])),
    ("SliceTensor", (X,), {"dimension": 1, "start": -2}, X[:, -2:]),
    ("SliceTensor", (X,), {"stop": 2, "step": 2}, X[0:2:2]),
    ("TakeRows", (X, torch.tensor([1, 1, 0])), {}, X[[1, 1, 0]]),
    ("ReshapeTensor", (X,), {"shape": [3, -1]}, X.reshape(3, 2)),
    ("Transpose", (X,), {}, X.T),
    ("AddDimension", (X,), {"dimension": 1}, X[:, None]),
    ("DropDimension", (X[:, None],), {"dimension": 1}, X),
    (
        "SlidingWindows",
        (torch.arange(5.0),),
        {"length": 3, "step": 2},
        torch.tensor([[0.0, 1, 2], [2, 3, 4]]),
    ),
    ("FlipTensor", (X,), {}, X.flip(-1)),
    ("ConvertTensor", (X,), {"type": "int64"}, X.long()),
    ("OneHot", (torch.tensor([2, 0]),), {"classes": 3}, torch.tensor([[0.0, 0, 1], [1, 0, 0]])),
]


@pytest.mark.parametrize(("type", "values", "params", "wanted"), CASES)
def test_a_tensor_operation(
    type: str, values: tuple[torch.Tensor, ...], params: dict[str, Any], wanted: torch.Tensor
) -> None:
    result = run(type, *values, **params)
    assert result.dtype == wanted.dtype
    assert torch.allclose(result.double(), wanted.double())
    if type != "SlidingWindows":  # it cuts the first dimension, which a module keeps
        built = default_registry().get(type).create(params).build(*(value.shape[1:] for value in values))  # type: ignore[attr-defined]
        unwired = [None] * (len(default_registry().spec(type).input_ports(params)) - len(values))
        assert torch.equal(built(*values, *unwired), result)


@pytest.mark.parametrize("name", ["abs", "neg", "exp", "log", "sqrt", "square", "reciprocal", "sin", "cos", "tan",
                                  "tanh", "sigmoid", "sign", "floor", "ceil", "round", "isnan"])  # fmt: skip
def test_a_function_of_every_number(name: str) -> None:
    assert torch.equal(
        run("TensorFunction", X, function=name).nan_to_num(), getattr(torch, name)(X).nan_to_num()
    )


@pytest.mark.parametrize("name", ["subtract", "multiply", "divide", "remainder", "maximum", "minimum"])
def test_arithmetic(name: str) -> None:
    assert torch.equal(run("TensorArithmetic", X, Y, operation=name), getattr(torch, name)(X, Y))


def test_reductions() -> None:
    x = torch.randn(2, 3, 4)
    assert torch.allclose(run("ReduceTensor", x), x.mean())
    assert torch.allclose(run("ReduceTensor", x, dimensions=[0, -1]), x.mean((0, 2)))
    assert torch.allclose(
        run("ReduceTensor", x, operation="sum", dimensions=[1], keep=True), x.sum(1, keepdim=True)
    )
    assert torch.equal(run("ReduceTensor", x, operation="max", dimensions=[0, 1]), x.amax((0, 1)))
    assert torch.equal(run("ReduceTensor", x, operation="min"), x.min())
    assert torch.allclose(run("ReduceTensor", x, operation="std"), x.std(correction=0))
    assert torch.allclose(run("ReduceTensor", x, operation="var", dimensions=[0]), x.var(0, correction=0))
    assert torch.allclose(run("ReduceTensor", x, operation="prod", dimensions=[0, 2]), x.prod(2).prod(0))
    assert torch.allclose(run("ReduceTensor", x, operation="norm"), x.norm())
    assert bool(run("ReduceTensor", x > 9, operation="any")) is False
    assert run("ReduceTensor", x < 9, operation="all", dimensions=[0]).shape == (3, 4)


def test_several_results() -> None:
    top = run("TopK", X, k=2)
    assert torch.equal(top["y"], X.topk(2).values)
    assert torch.equal(top["indices"], X.topk(2).indices)
    ordered = run("SortTensor", X, descending=True)
    assert torch.equal(ordered["y"], X.sort(descending=True).values)
    assert torch.equal(torch.gather(X, 1, ordered["indices"]), ordered["y"])
    parts = run("SplitTensor", X, parts=3)
    assert [value.tolist() for value in parts.values()] == [[[3], [0.5]], [[-1], [4]], [[2], [-2]]]
    with pytest.raises(ValueError, match="3 cannot be cut into 2"):
        run("SplitTensor", X)


def test_tensors_from_nothing() -> None:
    assert run("FilledTensor", shape=[2, 3], number=1.5).tolist() == [[1.5] * 3] * 2
    assert torch.equal(run("Arange", start=1, stop=2, step=0.25), torch.arange(1, 2, 0.25))
    assert torch.equal(run("Arange", stop=4, whole=True), torch.arange(4))
    assert torch.equal(run("Linspace", stop=2, count=5), torch.linspace(0, 2, 5))
    with pytest.raises(NodeError, match="lead from start to stop"):
        run("Arange", step=-1)


def test_random_numbers_follow_the_seed() -> None:
    normal = run("RandomTensor", shape=[4000], mean=2, deviation=3)
    assert torch.equal(normal, run("RandomTensor", shape=[4000], mean=2, deviation=3))
    assert not torch.equal(normal, run("RandomTensor", shape=[4000], mean=2, deviation=3, seed=2))
    assert float(normal.mean()) == pytest.approx(2, abs=0.2)
    assert float(normal.std()) == pytest.approx(3, rel=0.05)
    uniform = run("RandomTensor", shape=[1000], distribution="uniform", low=-1, high=3, seed=None)
    assert -1 <= float(uniform.min()) < -0.9
    assert 2.9 < float(uniform.max()) < 3
    whole = run("RandomTensor", shape=[500], distribution="integers", low=2, high=5)
    assert whole.unique().tolist() == [2, 3, 4]
    with pytest.raises(NodeError, match="low must be below high"):
        run("RandomTensor", distribution="uniform", low=1, high=1)


def test_tensors_become_data_and_back() -> None:
    data = run("TensorsToDataset", X, torch.tensor([1.0, 2.0]), name="mine")
    assert (data.classification, data.targets.shape, data.name) == (False, (2, 1), "mine")
    classes = run("TensorsToDataset", X, torch.tensor([1, 0], dtype=torch.int32))
    assert (classes.classification, classes.class_count) == (True, 2)
    assert torch.equal(run("TensorsToDataset", X).targets, X)
    assert run("DatasetToTensors", classes, limit=1)["inputs"].tolist() == X[:1].tolist()
    assert run("DatasetToTensors", classes)["targets"].tolist() == [1, 0]
    named = TensorDataset(inputs=X, targets=torch.tensor([1, 0]), class_names=("a", "b"))
    copied = run("InputsAsTargets", named)
    assert (copied.classification, copied.class_names) == (False, ())
    assert torch.equal(copied.targets, X)


@pytest.mark.parametrize(
    ("type", "value", "params", "words"),
    [
        ("SliceTensor", X, {"dimension": 3}, "dimension 3 is not one of 2"),
        ("DropDimension", X, {"dimension": 1}, "has size 3, not 1"),
        ("SlidingWindows", X, {"length": 9}, "does not fit in a series of 2"),
        ("ScaleShift", "text", {}, "x takes a tensor, got a str"),
    ],
)
def test_what_does_not_fit_is_told(type: str, value: Any, params: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        run(type, value, **params)


def test_they_run_in_a_graph_and_in_a_module(harness: Any) -> None:
    seen: list[torch.Tensor] = []

    @node(type="Keep", title="Keep", category="views", icon="eye")
    class Keep(Node):
        """Keep what comes in."""

        x: Any = input("tensor")

        def run(self, ctx: NodeContext) -> None:
            seen.append(self.x)

    graph = Builder("tensors", seed=3)
    net = graph.subgraph("net")
    x = net.add("ModuleInput", "input")
    parts = net.add("SplitTensor", "parts", x=x, parts=2)
    scores = net.add("MatMul", "scores", a=parts["y1"], b=parts["y2"], transpose_b=True)
    net.add("ModuleOutput", "output", x=net.add("Softmax", "softmax", x=scores))
    random = graph.add("RandomTensor", shape=[2, 5, 6])
    model = graph.add("Module", "model", subgraph="net")
    graph.add("Keep", x=random)
    graph.add("Keep", x=graph.add("ApplyModel", model=model, x=random)["y"])
    outcome, _ = harness.execute(graph.build(), nodes=[Keep])
    assert outcome.status == "succeeded", outcome.error
    random_x = next(x for x in seen if x.shape == (2, 5, 6))
    result = next(x for x in seen if x.shape == (2, 5, 5))
    a, b = random_x.chunk(2, -1)
    assert torch.allclose(result, (a @ b.transpose(1, 2)).softmax(-1), atol=1e-6)

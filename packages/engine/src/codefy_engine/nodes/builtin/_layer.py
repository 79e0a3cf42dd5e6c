"""What all layer nodes share: they act on a tensor, or become part of a module (G-5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from codefy_engine.nodes.base import Node, NodeContext, input, output

if TYPE_CHECKING:
    from torch import Tensor, nn

Shape = tuple[int, ...]
"""Shape of one sample, without the batch dimension."""


class JoiningLayer(Node):
    """Base of layer nodes with inputs of their own. A subclass declares them and has ``build``.

    A layer with several outputs is a module that returns a tuple in the order of its ports.
    """

    y: Tensor = output("tensor", doc="The batch that goes out.")

    def build(self, *shapes: Any) -> nn.Module:
        """The layer for inputs of these shapes, one per input port, without the batch dimension.

        ``None`` stands for an optional port without a wire; the layer is then called with ``None`` there.

        Raises:
            ValueError: the layer does not take such a shape.
        """
        raise NotImplementedError

    def run(self, ctx: NodeContext) -> Any:
        """Outside a module: make the layer for the tensors at hand and apply it.

        The run's seed decides the weights. Without one they are random, and stay the same for the runs of a session.
        """
        import torch

        values = input_tensors(self, ctx)
        shapes = [None if value is None else tuple(value.shape[1:]) for value in values]
        if ctx.seed is None:
            layer = ctx.persistent(f"layer {shapes}", lambda: self._made(shapes, None))
        else:
            layer = self._made(shapes, derived_seed(ctx))
        with torch.no_grad():
            result = layer.to(ctx.device)(*values)
        return by_output(self, result)

    def _made(self, shapes: list[Shape | None], seed: int | None) -> nn.Module:
        from codefy_engine.modules.randomness import seed_generators
        from codefy_engine.training.seeding import seeded_initialisation

        with seeded_initialisation(seed):
            layer = self.build(*shapes)
        seed_generators(layer, seed)
        return layer


class Layer(JoiningLayer):
    """Base of layer nodes with one input."""

    x: Tensor = input("tensor", doc="The batch that comes in.")


class TensorOperation(JoiningLayer):
    """Base of nodes without weights: a function of tensors, which stands in a module as well.

    A subclass declares its inputs and has ``compute``.
    """

    def compute(self, *values: Any) -> Any:
        """The result for the inputs in the order of their ports, ``None`` for one without a wire."""
        raise NotImplementedError

    def build(self, *shapes: Any) -> nn.Module:
        from codefy_engine.modules.functions import FunctionModule

        return FunctionModule(self.compute)

    def run(self, ctx: NodeContext) -> Any:
        result = self.compute(*input_tensors(self, ctx))
        return result if len(self.spec.outputs) == 1 and not self.spec.dynamic else by_output(self, result)


def derived_seed(ctx: NodeContext) -> int | None:
    """The seed of this node: other nodes' numbers do not depend on it."""
    from codefy_engine.training.seeding import derive_seed

    return None if ctx.seed is None else derive_seed(ctx.seed, ctx.node_id)


def input_tensors(node: Node, ctx: NodeContext) -> list[Tensor | None]:
    """The node's inputs on the run's device in the order of their ports, ``None`` for one without a wire.

    Raises:
        ValueError: something else than a tensor came over a wire.
    """
    import torch

    device = ctx.device
    on_cpu = device == "cpu"
    values: list[Tensor | None] = []
    for name, port in node.spec.inputs.items():
        field: Any = getattr(node, name)
        for value in cast("list[object]", field if port.repeat else (field,)):
            if value is None:
                values.append(None)
            elif isinstance(value, torch.Tensor):
                # Asking where it is costs a tenth of ``to``, which matters in a chain of small operations.
                values.append(value if on_cpu and value.is_cpu else value.to(device))
            else:
                raise ValueError(f"{name} takes a tensor, got a {type(value).__name__}")
    return values


def by_output(node: Node, result: Any) -> Any:
    """What a node returns for the result of its layer: the value, or a dict when it has several outputs.

    Raises:
        ValueError: there are not as many values as outputs.
    """
    ports = node.spec.output_ports(vars(node))
    return dict(zip(ports, result, strict=True)) if len(ports) > 1 else result


_SPATIAL = {1: "channels x length", 2: "channels x height x width", 3: "channels x depth x height x width"}


def channels_of(shape: Shape, *, spatial: int) -> int:
    """The number of channels of a sample ``channels x …`` with ``spatial`` further dimensions.

    Raises:
        ValueError: the shape has another number of dimensions.
    """
    if len(shape) != spatial + 1:
        words = _SPATIAL.get(spatial, "channels x ...")
        raise ValueError(f"it expects {words}, which are {spatial + 1} dimensions, got {len(shape)}")
    return shape[0]


def last_of(shape: Shape) -> int:
    """The size of a sample's last dimension.

    Raises:
        ValueError: the sample is a single number.
    """
    if not shape:
        raise ValueError("it expects at least one dimension beside the batch")
    return shape[-1]


def sequence_of(shape: Shape) -> tuple[int, int]:
    """Length and width of a sample that is a sequence, ``length x features``.

    Raises:
        ValueError: the shape has another number of dimensions.
    """
    if len(shape) != 2:
        raise ValueError(f"it expects length x features, which are 2 dimensions, got {len(shape)}")
    return shape[0], shape[1]


def check_heads(width: int, heads: int) -> None:
    """Refuse a number of heads that does not divide the width.

    Raises:
        ValueError: they do not fit.
    """
    if width % heads:
        raise ValueError(f"{width} features cannot be divided among {heads} heads")

"""Nodes that decide what happens: values, formulas, choices, and repetition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from codefy_engine.nodes.base import Node, NodeContext, NodeError, input, node, output, param

if TYPE_CHECKING:
    from collections.abc import Sequence


@node(type="ConstantValue", title="Constant", category="flow", icon="hash")
class ConstantValue(Node):
    """A value that is typed in: a number, a text, yes or no, or a list of numbers."""

    kind: Literal["number", "text", "bool", "list"] = param(
        "number",
        choices=[("number", "Number"), ("text", "Text"), ("bool", "Yes or no"), ("list", "Numbers")],
        label="Type",
        doc="What the value is.",
    )
    number: float = param(1.0, doc="The value: any number.", visible_if={"kind": "number"})
    whole: bool = param(False, doc="Give a whole number.", visible_if={"kind": "number"}, advanced=True)
    text: str = param("", doc="The value.", visible_if={"kind": "text"})
    yes: bool = param(True, doc="The value.", visible_if={"kind": "bool"})
    numbers: Any = param([1, 2, 3], kind="tensor", doc="The value.", visible_if={"kind": "list"})
    value: Any = output("value", doc="The value.")

    def run(self, ctx: NodeContext) -> Any:
        if self.kind == "number":
            return round(self.number) if self.whole else self.number
        return {"text": self.text, "bool": self.yes, "list": self.numbers}[self.kind]


@node(type="Expression", title="Expression", category="flow", icon="function-square")
class Expression(Node):
    """Compute a formula of its inputs, such as `a * 2 + sqrt(b)`.

    Numbers, texts, lists, tensors `[…]` and metrics may be inputs. There are `+ - * / // % ** @`, comparisons, `and`,
    `or`, `not`, `x if y else z`, elements `a[0]`, and the functions `sqrt exp log log2 log10 sin cos tan tanh floor
    ceil abs round min max sum mean len int float str bool range sorted`. It is no Python: nothing else can be reached.
    """

    values: list[Any] = input("any", required=False, repeat="names", doc="A value of the formula.")
    names: str = param("a, b", doc="Names of the inputs, with commas; each is a port.")
    formula: str = param("a + b", doc="What to compute.")
    result: Any = output("any", doc="The value of the formula.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.nodes.builtin._expressions import BadExpression, evaluate

        ports = self.spec.repeated(self.spec.inputs["values"], {"names": self.names})
        given = {name: value for name, value in zip(ports, self.values, strict=True) if value is not None}
        try:
            return evaluate(self.formula, given)
        except BadExpression as error:
            raise NodeError(str(error)) from error


@node(type="PythonScript", title="Python script", category="flow", icon="code", deterministic=False)
class PythonScript(Node):
    """Run Python of your own, with everything that is installed where the run executes.

    The inputs are variables of their names (`None` when not wired), `torch` is imported, and `ctx` is the node's
    context: `ctx.check_stop()`, `ctx.progress(0.5)`, `ctx.metric("name", 1.0, step)`, `ctx.device`, `ctx.seed`. What
    the variable of an output's name holds at the end goes out. It can do whatever Python can: run scripts of people
    you trust.
    """

    values: list[Any] = input("any", required=False, repeat="inputs", doc="A variable of the script.")
    inputs: str = param("x", doc="Names of the inputs, with commas; each is a port.")
    outputs: str = param("y", doc="Names of the outputs, with commas; each is a port.")
    code: str = param("y = x\n", kind="code", doc="The script.")
    results: Any = output("any", repeat="outputs", doc="A variable of the script.")

    def run(self, ctx: NodeContext) -> Any:
        import linecache

        import torch

        ports = self.spec.repeated(self.spec.inputs["values"], {"inputs": self.inputs})
        wanted = self.spec.repeated(self.spec.outputs["results"], {"outputs": self.outputs})
        name = f"<script {ctx.node_id}>"
        # So that a traceback shows the line.
        linecache.cache[name] = (len(self.code), None, self.code.splitlines(keepends=True), name)
        try:
            compiled = compile(self.code, name, "exec")
        except SyntaxError as error:
            raise NodeError(f"the script is no Python at line {error.lineno}: {error.msg}") from error
        space: dict[str, Any] = {"__name__": "codefy_script", "torch": torch, "ctx": ctx}
        space.update(zip(ports, self.values, strict=True))
        exec(compiled, space)  # noqa: S102  # it is what the node is for
        missing = [port for port in wanted if port not in space]
        if missing:
            raise NodeError(f"the script sets no variable {', '.join(missing)}, which the node gives out")
        return {port: space[port] for port in wanted}


@node(type="Switch", title="Switch", category="flow", icon="git-branch")
class Switch(Node):
    """Give on one of two inputs.

    The condition is a value (a number is yes when it is not 0, a tensor `[]` likewise); without one the parameter
    decides. Both sides are computed before: it chooses, it does not keep nodes from running.
    """

    condition: Any = input("any", required=False, doc="Yes or no; else the parameter.")
    yes: Any = input("any", required=False, doc="Given on for yes.")
    no: Any = input("any", required=False, doc="Given on for no.")
    choose: bool = param(True, label="Yes", doc="Used when no condition is wired.")
    value: Any = output("any", doc="The chosen input.")

    def run(self, ctx: NodeContext) -> Any:
        chosen = bool(self.choose if self.condition is None else self.condition)
        value = self.yes if chosen else self.no
        if value is None:
            raise NodeError(
                f"the condition is {'yes' if chosen else 'no'}, and nothing is wired to that input"
            )
        return value


@node(type="PickEntry", title="Pick entry", category="flow", icon="crosshair")
class PickEntry(Node):
    """Take one entry out of metrics, a dict, or a list; of a tensor `[n, …]` one row `[…]`.

    A path such as `history.-1.val_loss` goes down several levels. Numbers count from 0, or from the end when negative.
    """

    value: Any = input("any", doc="Metrics, a dict, a list or a tensor.")
    entry: str = param("accuracy", doc="Name or number, or several with dots between.")
    picked: Any = output("any", name="value", doc="The entry.")

    def run(self, ctx: NodeContext) -> Any:
        current: Any = self.value
        for part in self.entry.split("."):
            try:
                if isinstance(current, Mapping):
                    current = cast("Mapping[str, Any]", current)[part]
                else:
                    current = current[int(part)]
            except (KeyError, IndexError, ValueError, TypeError):
                raise NodeError(
                    f"there is no entry {part!r} of {self.entry!r}; {_entries(current)}"
                ) from None
        return current


@node(type="MakeList", title="Make list", category="flow", icon="list")
class MakeList(Node):
    """Put values into a list, in the order of the ports."""

    values: list[Any] = input("any", required=False, repeat="count", doc="One value of the list.")
    count: int = param(2, ge=1, le=64, doc="How many ports there are.")
    items: list[Any] = output("value", name="list", doc="All values that are wired.")

    def run(self, ctx: NodeContext) -> Any:
        return [value for value in self.values if value is not None]


@node(type="MapPreset", title="Map", category="flow", icon="repeat")
class MapPreset(Node):
    """Execute a preset once for each item of a list, one after the other.

    Items come from a list, or are the rows of a tensor `[n, …]`. Each goes to the preset's input, or to one of its
    parameters (such as a learning rate), named in *Item*. The results are a list in the same order. The states of
    nodes within are shown as `item 1/…`.
    """

    items: Any = input("any", doc="A list, or a tensor whose rows are the items.")
    shared: Any = input("any", required=False, doc="Goes to another input of the preset, each time the same.")
    preset: str = param("", kind="preset", doc="What to execute.")
    goes_to: Literal["input", "param"] = param(
        "input",
        choices=[("input", "An input"), ("param", "A parameter")],
        label="Item goes to",
        doc="What of the preset gets each item.",
    )
    item: str = param("item", doc="Name of the preset's input or parameter that gets the item.")
    shared_input: str = param("shared", label="Shared", doc="The preset's input that gets the shared value.")
    result: str = param("result", doc="The preset's output that is collected.")
    results: list[Any] = output("value", doc="One result per item.")

    def run(self, ctx: NodeContext) -> Any:
        items = _items(self.items)
        results: list[Any] = []
        trace = ctx.trace("items")
        for index, item in enumerate(items):
            ctx.check_stop()
            inputs: dict[str, Any] = {}
            params: dict[str, Any] = {}
            (params if self.goes_to == "param" else inputs)[self.item] = item
            if self.shared is not None:
                inputs[self.shared_input] = self.shared
            found = ctx.call(self.preset, inputs, params, label=f"item {index + 1}")
            if self.result not in found:
                raise NodeError(
                    f"the preset {self.preset!r} has no output {self.result!r}; it has {', '.join(found) or 'none'}"
                )
            results.append(found[self.result])
            if trace is not None and trace.wanted(index + 1, end=index + 1 == len(items)):
                trace.add(index + 1, _tensors_of(self.result, found[self.result]))
            ctx.progress(current=index + 1, total=len(items), unit="items")
        return results


@node(type="ReduceList", title="Reduce list", category="flow", icon="sigma")
class ReduceList(Node):
    """Make one value of a list of numbers, tensors or metrics.

    Numbers and tensors of one shape `[…]` are added, averaged, compared or stacked to `[n, …]`. With *Entry*, that
    entry of each metrics is taken first. *Best* gives the number of the best item, counted from 0.
    """

    items: Any = input("any", doc="A list, or a tensor whose rows are the items.")
    how: Literal["mean", "sum", "min", "max", "std", "last", "stack", "concat", "argmax", "argmin"] = param(
        "mean",
        choices=[
            ("mean", "Mean"),
            ("sum", "Sum"),
            ("min", "Smallest"),
            ("max", "Largest"),
            ("std", "Deviation"),
            ("last", "Last"),
            ("stack", "Stack"),
            ("concat", "Join"),
            ("argmax", "Best: largest"),
            ("argmin", "Best: smallest"),
        ],
        label="Way",
        doc="What becomes of the items.",
    )
    entry: str = param("", doc="Entry of each item to take first, such as accuracy. Empty: the items.")
    value: Any = output("any", doc="The result.")

    def run(self, ctx: NodeContext) -> Any:
        items = _items(self.items)
        if self.entry:
            items = [PickEntry.create({"entry": self.entry}, value=item).run(ctx) for item in items]
        if not items:
            raise NodeError("there is nothing to reduce: the list is empty")
        if self.how == "last":
            return items[-1]
        return _reduced(items, self.how)


def _tensors_of(name: str, value: Any) -> dict[str, Any]:
    """What of a result has statistics: a tensor, a number, or the numbers of metrics, by name."""
    import torch

    entries = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {name: value}
    found: dict[str, Any] = {}
    for key, entry in entries.items():
        if isinstance(entry, torch.Tensor) and not entry.is_complex():
            found[str(key)] = entry
        elif isinstance(entry, int | float):
            found[str(key)] = torch.tensor(float(entry))
    return found


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, list | tuple):
        return cast("Sequence[Any]", value)
    if hasattr(value, "dtype") and getattr(value, "ndim", 0) > 0:
        rows: list[Any] = list(value)
        return [row.item() if row.ndim == 0 else row for row in rows]
    raise NodeError(f"a list is needed, or a tensor with rows, got a {type(value).__name__}")


def _reduced(items: Sequence[Any], how: str) -> Any:
    import torch

    whole = all(isinstance(item, int) and not isinstance(item, bool) for item in items)
    plain = all(isinstance(item, int | float) for item in items)
    if not plain and not all(isinstance(item, torch.Tensor) for item in items):
        kinds = ", ".join(sorted({type(item).__name__ for item in items}))
        raise NodeError(f"numbers or tensors are needed, got {kinds}")
    tensors = [torch.as_tensor(item, dtype=torch.float64) if plain else item for item in items]
    if how == "concat":
        return torch.cat([tensor.reshape(1) if tensor.ndim == 0 else tensor for tensor in tensors])
    if len({tuple(tensor.shape) for tensor in tensors}) > 1:
        raise NodeError("the tensors differ in shape")
    stacked = torch.stack(tensors)
    if how == "stack":
        return stacked.float() if plain else stacked
    numbers = stacked if stacked.is_floating_point() or how not in ("mean", "std") else stacked.float()
    if how in ("argmax", "argmin"):
        found = stacked.argmax(0) if how == "argmax" else stacked.argmin(0)
        return int(found) if found.ndim == 0 else found
    if how == "std":
        result = numbers.std(0, correction=0)
    elif how == "mean":
        result = numbers.mean(0)
    elif how == "sum":
        result = numbers.sum(0)
    else:
        result = numbers.amin(0) if how == "min" else numbers.amax(0)
    if not plain:
        return result
    return int(result) if whole and how in ("sum", "min", "max") else float(result)


def _entries(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"there are {', '.join(map(str, list(cast('Mapping[Any, Any]', value))[:20])) or 'none'}"
    try:
        return f"there are {len(value)}"
    except TypeError:
        return f"a {type(value).__name__} has none"

"""How a node is written: a decorator, typed fields that are its ports and parameters, and one method (G-2).

::

    @node(type="Scale", title="Scale", category="data", icon="ruler")
    class Scale(Node):
        \"\"\"Multiply a tensor by a factor.\"\"\"

        x: torch.Tensor = input("tensor", doc="Any shape.")
        factor: float = param(1.0, ge=0, doc="What to multiply by.")
        y: torch.Tensor = output("tensor", doc="The shape of x.")

        def run(self, ctx: NodeContext) -> Any:
            return self.x * self.factor

On an instance the input fields hold the values that came over the wires (``None`` when an optional input has no
wire) and the parameter fields hold decoded values. This module never imports torch: a node imports it in ``run``.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeVar, cast

import msgspec

from codefy_engine.nodes.definition import Choice, NodeDefinition, PortDefinition, VisibleIf
from codefy_engine.nodes.parameters import NodeDefinitionError, ParamField, ParamSpec, Secret, resolve_param
from codefy_protocol.bodies import MetricPoint
from codefy_protocol.reasons import Reason

if TYPE_CHECKING:
    from codefy_engine.execution.traces import StepTrace
    from codefy_engine.graph.plan import Plan

__all__ = [
    "PORT_TYPES",
    "Node",
    "NodeContext",
    "NodeDefinitionError",
    "NodeError",
    "NodeSpec",
    "PortType",
    "RunStopped",
    "Secret",
    "input",
    "node",
    "output",
    "param",
]

PortType = Literal["tensor", "dataset", "model", "optimizer", "loss", "metrics", "value", "any"]

PORT_TYPES: tuple[PortType, ...] = (
    "tensor",
    "dataset",
    "model",
    "optimizer",
    "loss",
    "metrics",
    "value",
    "any",
)


_Kept = TypeVar("_Kept")


class RunStopped(Exception):
    """Raised by :meth:`NodeContext.check_stop` when the run is to stop. A node lets it pass."""


class NodeError(Exception):
    """Raised by a node for something that its user can put right; only the message is shown, without a traceback."""


class NodeContext(Protocol):
    """What a node may ask and tell while it runs. Every method may be called from any thread."""

    @property
    def node_id(self) -> str: ...

    @property
    def device(self) -> str:
        """The run's device as torch names it: ``cpu``, ``cuda:0``, ``mps:0``."""
        ...

    @property
    def seed(self) -> int | None:
        """The run's seed, or ``None`` when it has none."""
        ...

    @property
    def deterministic(self) -> bool:
        """Whether the run asked for deterministic algorithms."""
        ...

    @property
    def run_dir(self) -> Path:
        """Folder of the run; artifacts lie in it."""
        ...

    @property
    def files_dir(self) -> Path:
        """Folder of the user's files."""
        ...

    @property
    def stopped(self) -> bool:
        """Whether the run is to stop. Cheap: look at it once per batch."""
        ...

    def check_stop(self) -> None:
        """Leave the node when the run is to stop.

        Raises:
            RunStopped: the run is to stop.
        """
        ...

    def progress(
        self,
        fraction: float | None = None,
        *,
        current: float | None = None,
        total: float | None = None,
        unit: str = "",
        text: str = "",
        eta_s: float | None = None,
        epoch: float | None = None,
        epochs: int | None = None,
        metrics: Mapping[str, float] | None = None,
    ) -> None:
        """Tell how far the node is. At most five a second are sent; the first and the last always are.

        ``fraction`` (0..1) is ``current / total`` when left out.
        """
        ...

    def metric(
        self, name: str, value: float, step: int, epoch: float | None = None, scope: str = "step"
    ) -> None:
        """Record one metric point; ``scope`` is ``step`` or ``epoch``."""
        ...

    def metrics(self, points: Sequence[MetricPoint]) -> None:
        """Record several points at once. Points without ``node_id`` or ``ts`` get this node and now."""
        ...

    def artifact_path(self, name: str) -> Path:
        """Where in the run's folder this node may write the file ``name``; its folder exists.

        Raises:
            ValueError: ``name`` is not a plain file name.
        """
        ...

    def artifact(
        self,
        kind: str,
        name: str,
        path: Path,
        media_type: str = "application/octet-stream",
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        """Record a file that was written below the run's folder, with its size and SHA-256.

        ``kind`` is ``checkpoint``, ``image``, ``table``, ``text``, ``model`` or ``file``.

        Raises:
            ValueError: ``path`` lies outside the run's folder.
        """
        ...

    def warn(self, reason: Reason) -> None:
        """Record a warning (see ``codefy_protocol.reasons.reason``)."""
        ...

    def inner(self, path: str | Sequence[str], status: str, **facts: Any) -> None:
        """Tell the state of something inside the node, such as a layer: ``inner(["net", "conv1"], "built")``."""
        ...

    def show(self, text: str) -> None:
        """Write a line or several to the run's console.

        As ``print`` does, but a run that reuses the node writes it again.
        """
        ...

    def reading(self, path: Path) -> None:
        """Tell, before it is read, that the node reads a file or folder.

        The node is then not reused once it has changed. Those that a parameter of kind ``file`` names are known.
        """
        ...

    def trace(self, kind: str) -> StepTrace | None:
        """Where to tell the steps of a node that repeats itself, for the inspector.

        ``None`` when nothing is recorded: then nothing is to be worked out. ``kind`` is ``training``, ``sampling`` or
        ``items``.
        """
        ...

    def subgraph(self, name: str) -> Plan:
        """The plan of one of the document's subgraphs: its nodes in order, their parameters decoded.

        Raises:
            KeyError: the document has no such subgraph.
        """
        ...

    def call(
        self,
        preset: str,
        inputs: Mapping[str, Any],
        params: Mapping[str, Any] | None = None,
        *,
        label: str = "",
    ) -> dict[str, Any]:
        """Execute a preset of the document once, in this thread, and give its outputs by port.

        ``inputs`` go to its exposed inputs, ``params`` (as a graph file holds them) to its exposed parameters. The
        states of its nodes are reported below this node, behind ``label`` (such as ``item 3``) when there is one.

        Raises:
            KeyError: the document has no such preset.
            NodeError: it has no such input or parameter, or an input is missing.
            RunStopped: the run is to stop; looked at before each of its nodes.
        """
        ...

    def secret(self, reference: Secret | None) -> str:
        """The value behind a parameter of kind ``secret``.

        A node that asked for one is not reused in later runs. The value must go nowhere but to its purpose.

        Raises:
            NodeError: nothing is referred to, or the run was not given this secret.
        """
        ...

    def persistent(self, name: str, make: Callable[[], _Kept]) -> _Kept:
        """An object of this node that outlives the run where the editor keeps a session, such as trained weights.

        ``make`` is called when there is none, or when the node's parameters have changed since; outside a session it
        is called in every run.
        """
        ...


class _PortField:
    def __init__(
        self,
        direction: str,
        type: str,
        doc: str,
        required: bool,
        label: str,
        name: str = "",
        repeat: str = "",
    ) -> None:
        if type not in PORT_TYPES:
            raise NodeDefinitionError(f"{type!r} is no port type; there are {', '.join(PORT_TYPES)}")
        self.direction = direction
        self.type = type
        self.doc = doc
        self.required = required
        self.label = label
        self.name = name
        self.repeat = repeat

    def definition(self, name: str) -> PortDefinition:
        return PortDefinition(
            name=name,
            label=self.label or _label(name),
            type=self.type,
            required=self.required,
            doc=self.doc,
            repeat=self.repeat,
        )


def input(type: PortType, *, doc: str = "", required: bool = True, label: str = "", repeat: str = "") -> Any:
    """A field that takes one wire.

    ``repeat`` names a parameter that decides how many ports there are: with a whole number n, ``x`` becomes
    ``x1 … xn``; with a text such as ``a, b`` it becomes ``a`` and ``b``. The field then holds a list.
    """
    return _PortField("input", type, doc, required, label, "", repeat)


def output(type: PortType, *, doc: str = "", label: str = "", name: str = "", repeat: str = "") -> Any:
    """A field that names what ``run`` returns: the value itself, or a dict by port when there are several.

    ``name`` is the port's name where the field cannot have it, because an input or a parameter is called so.
    ``repeat`` is as for inputs; ``run`` then returns a dict by port.
    """
    return _PortField("output", type, doc, True, label, name, repeat)


def param(
    default: Any,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    choices: Sequence[Any] | None = None,
    kind: str | None = None,
    unit: str = "",
    label: str = "",
    doc: str = "",
    advanced: bool = False,
    visible_if: VisibleIf | Mapping[str, Any] | None = None,
) -> Any:
    """A parameter field. Its annotation gives the type; ``X | None`` makes it optional.

    ``int``, ``float``, ``bool``, ``str``, ``Literal[...]`` and ``list[int]`` are understood. ``choices`` are values
    or ``(value, label)`` pairs. ``kind`` overrides how it is edited (``subgraph``, ``code``, ``file``, ``secret``,
    ``colour``, ``ints``, ``tensor``, ``preset``). ``visible_if`` is ``{"other_param": value_or_values}``.
    """
    if ge is not None and gt is not None:
        raise NodeDefinitionError("a parameter has ge or gt, not both")
    if le is not None and lt is not None:
        raise NodeDefinitionError("a parameter has le or lt, not both")
    return ParamField(
        default=default,
        minimum=ge if ge is not None else gt,
        exclusive_min=gt is not None,
        maximum=le if le is not None else lt,
        exclusive_max=lt is not None,
        choices=None if choices is None else [_choice(item) for item in choices],
        kind=kind,
        unit=unit,
        label=label,
        doc=doc,
        advanced=advanced,
        visible_if=_visible_if(visible_if),
    )


def _choice(item: Any) -> Choice:
    if isinstance(item, Choice):
        return item
    if isinstance(item, tuple):
        value, label = cast("tuple[Any, str]", item)
        return Choice(value=value, label=label)
    return Choice(value=item, label=str(item))


def _visible_if(condition: VisibleIf | Mapping[str, Any] | None) -> VisibleIf | None:
    if condition is None or isinstance(condition, VisibleIf):
        return condition
    if len(condition) != 1:
        raise NodeDefinitionError("visible_if names one parameter")
    ((name, wanted),) = condition.items()
    equals: list[Any] = list(cast("list[Any]", wanted)) if isinstance(wanted, list | tuple) else [wanted]
    return VisibleIf(param=name, equals=equals)


Migration = Callable[[dict[str, Any]], dict[str, Any]]
"""Parameters as an older version of the node had them, to those of the next version."""

MAX_REPEATED = 64
"""Ports that one field may become."""


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What validation and execution need of a node class, by name."""

    definition: NodeDefinition
    inputs: dict[str, PortDefinition]
    outputs: dict[str, PortDefinition]
    params: dict[str, ParamSpec]
    defaults: dict[str, Any]
    """Decoded default of every parameter."""
    migrations: dict[int, Migration] = {}
    """By the version that they lead away from."""
    dynamic: bool = False
    """Whether parameters decide which ports there are."""
    naming: tuple[tuple[str, str], ...] = ()
    """Parameters that name a part of the document, with their kind: ``subgraph`` or ``preset``."""

    def input_ports(self, params: Mapping[str, Any]) -> dict[str, PortDefinition]:
        """The inputs of a node with these parameters, decoded or not; left-out ones have their default."""
        return self._ports(self.inputs, params) if self.dynamic else self.inputs

    def output_ports(self, params: Mapping[str, Any]) -> dict[str, PortDefinition]:
        """The outputs of a node with these parameters."""
        return self._ports(self.outputs, params) if self.dynamic else self.outputs

    def _ports(
        self, declared: Mapping[str, PortDefinition], params: Mapping[str, Any]
    ) -> dict[str, PortDefinition]:
        found: dict[str, PortDefinition] = {}
        for name, port in declared.items():
            if not port.repeat:
                found[name] = port
                continue
            for repeated in self.repeated(port, params):
                found[repeated] = msgspec.structs.replace(port, name=repeated, label=repeated, repeat="")
        return found

    def repeated(self, port: PortDefinition, params: Mapping[str, Any]) -> list[str]:
        """The names of a repeated port."""
        value = params.get(port.repeat, self.defaults.get(port.repeat))
        if isinstance(value, str):
            names = (part.strip() for part in value.split(","))
            return list(dict.fromkeys(name for name in names if name))
        count = value if isinstance(value, int) and not isinstance(value, bool) else 0
        return [f"{port.name}{number}" for number in range(1, min(max(count, 0), MAX_REPEATED) + 1)]


class Node:
    """Base of every node class; see the module's example."""

    spec: ClassVar[NodeSpec]

    def run(self, ctx: NodeContext) -> Any:
        """Do the work.

        Returns:
            The value of the only output, a dict by output port when there are several, ``None`` without outputs.
        """
        raise NotImplementedError

    @classmethod
    def create(cls, params: Mapping[str, Any] | None = None, /, **inputs: Any) -> Self:
        """An instance with ``params`` as a graph file holds them, and inputs by port.

        Raises:
            codefy_engine.nodes.parameters.BadParam: a value does not fit its parameter.
            TypeError: an unknown parameter or port.
        """
        spec = cls.spec
        values = spec_defaults(spec)
        for name, value in (params or {}).items():
            if name not in spec.params:
                raise TypeError(f"{spec.definition.type} has no parameter {name!r}")
            values[name] = spec.params[name].decode(value)
        ports = spec.input_ports(values)
        for port in inputs:
            if port not in ports:
                raise TypeError(f"{spec.definition.type} has no input {port!r}")
        return cls.assemble(values, inputs)

    @classmethod
    def assemble(cls, values: Mapping[str, Any], inputs: Mapping[str, Any]) -> Self:
        """An instance with decoded parameters (all of them) and inputs by port; nothing is checked."""
        instance = cls()
        fields = instance.__dict__
        spec = cls.spec
        get = inputs.get
        for name in spec.inputs:
            fields[name] = get(name)
        if spec.dynamic:
            for name, port in spec.inputs.items():
                if port.repeat:
                    fields[name] = [inputs.get(item) for item in spec.repeated(port, values)]
        fields.update(values)
        return instance


def spec_defaults(spec: NodeSpec) -> dict[str, Any]:
    """A fresh copy of the decoded defaults."""
    return {
        name: copy.deepcopy(cast("Any", value)) if isinstance(value, list | dict) else value
        for name, value in spec.defaults.items()
    }


_NodeClass = TypeVar("_NodeClass", bound=type[Node])


def node(
    *,
    type: str,
    title: str,
    category: str,
    icon: str,
    version: int = 1,
    layer: bool | None = None,
    deterministic: bool = True,
    writes: bool = False,
    migrations: Mapping[int, Migration] | None = None,
) -> Callable[[_NodeClass], _NodeClass]:
    """Make a node class of a :class:`Node` subclass.

    The docstring is the node's documentation in Markdown, its first line the summary. ``layer`` says whether the node
    may stand in a Module's subgraph; left out, it may when the class has a ``build`` method.

    A node that is not ``deterministic`` runs anew in every run, even when nothing it depends on has changed. One that
    asks for the seed of a run without one is taken for that by itself. ``writes`` says that it writes into the user's
    folder. ``migrations`` lead the parameters of an older version to the next one: ``{1: from_1_to_2}``; a version
    without one took its parameters over as they were.

    Raises:
        NodeDefinitionError: the class does not describe a node.
    """

    def decorate(cls: _NodeClass) -> _NodeClass:
        doc = inspect.cleandoc(cls.__doc__ or "")
        if not doc or "__doc__" not in vars(cls):
            raise NodeDefinitionError(f"{cls.__name__} needs a docstring: it is the node's documentation")
        if not type.isidentifier() or not type[0].isupper():
            raise NodeDefinitionError(f"{type!r} is no node type: write it in PascalCase")
        if cls.run is Node.run:
            raise NodeDefinitionError(f"{cls.__name__} needs a run method")
        ports: dict[str, _PortField] = {}
        params: dict[str, ParamSpec] = {}
        # Bases first, so that a subclass adds its fields after theirs and may replace one.
        for base in reversed(cls.__mro__):
            own = cast("dict[str, Any]", vars(base).get("__codefy_fields__") or vars(base))
            for name, field in own.items():
                if isinstance(field, _PortField):
                    ports[name] = field
                elif isinstance(field, ParamField):
                    params[name] = resolve_param(base, name, field, field.label or _label(name))
        fields = {
            name: value for name, value in vars(cls).items() if isinstance(value, _PortField | ParamField)
        }
        cls.__codefy_fields__ = fields  # type: ignore[attr-defined]  # read above by subclasses
        for name in fields:
            # Without this a field that nothing set would read as its own description.
            delattr(cls, name)
        inputs = {n: f.definition(n) for n, f in ports.items() if f.direction == "input"}
        outputs = {
            f.name or n: f.definition(f.name or n) for n, f in ports.items() if f.direction == "output"
        }
        older = dict(migrations or {})
        if not older.keys() <= set(range(1, version)):
            raise NodeDefinitionError(
                f"{cls.__name__} has version {version}: its migrations lead away from versions below that"
            )
        definition = NodeDefinition(
            type=type,
            title=title,
            category=category,
            version=version,
            summary=doc.splitlines()[0],
            doc=doc,
            icon=icon,
            inputs=list(inputs.values()),
            outputs=list(outputs.values()),
            params=[spec.definition for spec in params.values()],
            layer=callable(getattr(cls, "build", None)) if layer is None else layer,
            deterministic=deterministic,
            writes=writes,
        )
        _check_visible_if(definition)
        _check_repeats(definition)
        cls.spec = NodeSpec(
            definition=definition,
            inputs=inputs,
            outputs=outputs,
            params=params,
            defaults={name: spec.decode(spec.definition.default) for name, spec in params.items()},
            migrations=older,
            naming=tuple(
                (name, spec.definition.kind)
                for name, spec in params.items()
                if spec.definition.kind in ("subgraph", "preset")
            ),
            dynamic=any(port.repeat for port in (*inputs.values(), *outputs.values())),
        )
        return cls

    return decorate


def _check_visible_if(definition: NodeDefinition) -> None:
    names = {item.name for item in definition.params}
    for item in definition.params:
        if item.visible_if is not None and item.visible_if.param not in names:
            raise NodeDefinitionError(
                f"{definition.type}.{item.name} is shown by {item.visible_if.param!r}, which is no parameter"
            )


def _check_repeats(definition: NodeDefinition) -> None:
    kinds = {item.name: item.kind for item in definition.params}
    for port in (*definition.inputs, *definition.outputs):
        if port.repeat and kinds.get(port.repeat) not in ("int", "text"):
            raise NodeDefinitionError(
                f"{definition.type}.{port.name} is repeated by {port.repeat!r}, which is no whole number or text"
            )


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()

"""The graph file (G-1): reading it with a clear answer to anything else, and writing it in one canonical form.

Keys and node types that this version does not know survive: each struct keeps them in ``extra`` and they are written
back. View state of the canvas (selection, measured sizes, viewport) is the exception: it is dropped.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta, Struct, field

from codefy_engine.graph.problems import GraphProblem
from codefy_protocol import reasons

FORMAT_VERSION = 1
"""The newest format that is read, and the one that is written."""

MAX_DEPTH = 100
"""How deep objects and lists may be nested."""


class GraphInvalid(ValueError):
    """The bytes are no graph document, or the graph has problems: all of them are in ``problems``."""

    def __init__(self, problems: list[GraphProblem]) -> None:
        super().__init__("\n".join(problem.message for problem in problems))
        self.problems = problems


class Position(Struct, kw_only=True):
    x: float = 0
    y: float = 0
    extra: dict[str, Any] = {}


class NodeData(Struct, kw_only=True):
    params: dict[str, Any] = {}
    """As in the file; decoded one by one when the graph is validated or run."""
    label: str | None = None
    """What the author called the node."""
    extra: dict[str, Any] = {}


class GraphNode(Struct, kw_only=True):
    id: str
    type: str
    position: Position = field(default_factory=Position)
    data: NodeData = field(default_factory=NodeData)
    extra: dict[str, Any] = {}


class GraphEdge(Struct, kw_only=True):
    source: str
    source_handle: str
    """Output port of ``source``."""
    target: str
    target_handle: str
    """Input port of ``target``."""
    id: str | None = None
    extra: dict[str, Any] = {}


class Subgraph(Struct, kw_only=True):
    nodes: list[GraphNode] = []
    edges: list[GraphEdge] = []
    extra: dict[str, Any] = {}


class GraphSettings(Struct, kw_only=True):
    device: str | None = None
    seed: int | None = None
    extra: dict[str, Any] = {}


class GraphDocument(Struct, kw_only=True):
    format_version: int = FORMAT_VERSION
    name: str = ""
    description: str = ""
    nodes: list[GraphNode] = []
    edges: list[GraphEdge] = []
    presets: dict[str, Any] = {}
    subgraphs: dict[str, Subgraph] = {}
    settings: GraphSettings = field(default_factory=GraphSettings)
    extra: dict[str, Any] = {}


# ------------------------------------------------------------------ reading


# What the file must look like. msgspec checks it in one pass and names the place; the public structs, which also keep
# unknown keys, are then made from the same built-ins.
_Text = Annotated[str, Meta(min_length=1, max_length=200)]


_Coordinate = Annotated[float, Meta(ge=-1e9, le=1e9)]


class _PositionShape(Struct):
    x: _Coordinate = 0
    y: _Coordinate = 0


class _DataShape(Struct):
    params: dict[str, Any] = {}
    label: str | None = None


class _NodeShape(Struct):
    id: _Text
    type: _Text
    position: _PositionShape = field(default_factory=_PositionShape)
    data: _DataShape = field(default_factory=_DataShape)


class _EdgeShape(Struct, rename={"source_handle": "sourceHandle", "target_handle": "targetHandle"}):
    source: str
    source_handle: str
    target: str
    target_handle: str
    id: str | None = None


class _SubgraphShape(Struct):
    nodes: list[_NodeShape] = []
    edges: list[_EdgeShape] = []


class _SettingsShape(Struct):
    device: str | None = None
    seed: int | None = None


class _DocumentShape(Struct):
    nodes: list[_NodeShape]
    edges: list[_EdgeShape] = []
    format_version: Annotated[int, Meta(ge=1)] = FORMAT_VERSION
    name: str = ""
    description: str = ""
    presets: dict[str, Any] = {}
    subgraphs: dict[str, Any] = {}
    settings: _SettingsShape = field(default_factory=_SettingsShape)


_NODE_VIEW_STATE = frozenset(("selected", "dragging", "resizing", "measured", "positionAbsolute"))
_EDGE_VIEW_STATE = frozenset(("selected",))
_DOCUMENT_VIEW_STATE = frozenset(("viewport",))
_UTF8_BOM = b"\xef\xbb\xbf"
_BYTE_POSITION = re.compile(r"\(byte (\d+)\)")
_ERROR_PATH = re.compile(r" - at `(?:key in )?(\$[^`]*)`$")


def parse_graph(data: bytes) -> GraphDocument:
    """Read a graph file.

    Raises:
        GraphInvalid: not JSON, not a graph, or of a newer format.
    """
    data = data.removeprefix(_UTF8_BOM)
    try:
        raw: Any = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise GraphInvalid([_not_json(data, str(error))]) from None
    except RecursionError:
        raise GraphInvalid([_not_a_graph("$", "its parts are nested too deep")]) from None
    return graph_from_builtins(raw)


def graph_from_builtins(raw: Any) -> GraphDocument:
    """Read a graph document that was decoded already.

    Raises:
        GraphInvalid: not a graph, or of a newer format.
    """
    if isinstance(raw, Mapping):
        # Before anything else: a newer format may have another shape.
        version = cast("Mapping[str, Any]", raw).get("format_version")
        if isinstance(version, int) and version > FORMAT_VERSION:
            raise GraphInvalid([_problem(reasons.GRAPH_TOO_NEW, found=version, supported=FORMAT_VERSION)])
    if _deeper_than(raw, MAX_DEPTH):
        raise GraphInvalid([_not_a_graph("$", f"its parts are nested more than {MAX_DEPTH} levels deep")])
    _check_shape(raw, _DocumentShape, "$")
    document = cast("dict[str, Any]", raw)
    subgraphs: dict[str, Any] = document.get("subgraphs", {})
    for name, subgraph in subgraphs.items():
        _check_shape(subgraph, _SubgraphShape, f"$.subgraphs.{name}")
    return _document(document)


def subgraph_from_builtins(raw: Any, where: str) -> Subgraph:
    """Read a subgraph, or a preset, that was decoded already; ``where`` is its path in the document.

    Raises:
        GraphInvalid: it is none.
    """
    _check_shape(raw, _SubgraphShape, where)
    return _subgraph(raw)


def not_a_graph(where: str, detail: str) -> GraphInvalid:
    """What to raise when a part of a document is of another shape."""
    return GraphInvalid([_not_a_graph(where, detail[:1].lower() + detail[1:])])


def _check_shape(raw: Any, shape: type[Struct], where: str) -> None:
    try:
        msgspec.convert(raw, shape)
    except msgspec.ValidationError as error:
        text = str(error)
        found = _ERROR_PATH.search(text)
        path = where + found[1][1:] if found else where
        detail = text[: found.start()] if found else text
        raise GraphInvalid([_not_a_graph(path, detail[:1].lower() + detail[1:])]) from None


def _document(raw: dict[str, Any]) -> GraphDocument:
    rest = _rest(raw, GraphDocument, _DOCUMENT_VIEW_STATE)
    settings = cast("dict[str, Any]", raw.get("settings", {}))
    return GraphDocument(
        format_version=raw.get("format_version", FORMAT_VERSION),
        name=raw.get("name", ""),
        description=raw.get("description", ""),
        nodes=[_node(item) for item in raw["nodes"]],
        edges=[_edge(item) for item in raw.get("edges", [])],
        presets=raw.get("presets", {}),
        subgraphs={name: _subgraph(item) for name, item in raw.get("subgraphs", {}).items()},
        settings=GraphSettings(
            device=settings.get("device"), seed=settings.get("seed"), extra=_rest(settings, GraphSettings)
        ),
        extra=rest,
    )


def _subgraph(raw: dict[str, Any]) -> Subgraph:
    return Subgraph(
        nodes=[_node(item) for item in raw.get("nodes", [])],
        edges=[_edge(item) for item in raw.get("edges", [])],
        extra=_rest(raw, Subgraph, _DOCUMENT_VIEW_STATE),
    )


def _node(raw: dict[str, Any]) -> GraphNode:
    position = cast("dict[str, Any]", raw.get("position", {}))
    data = cast("dict[str, Any]", raw.get("data", {}))
    return GraphNode(
        id=raw["id"],
        type=raw["type"],
        position=Position(x=position.get("x", 0), y=position.get("y", 0), extra=_rest(position, Position)),
        data=NodeData(params=data.get("params", {}), label=data.get("label"), extra=_rest(data, NodeData)),
        extra=_rest(raw, GraphNode, _NODE_VIEW_STATE),
    )


def _edge(raw: dict[str, Any]) -> GraphEdge:
    return GraphEdge(
        source=raw["source"],
        source_handle=raw["sourceHandle"],
        target=raw["target"],
        target_handle=raw["targetHandle"],
        id=raw.get("id"),
        extra=_rest(raw, GraphEdge, _EDGE_VIEW_STATE),
    )


_KNOWN: dict[type[Struct], frozenset[str]] = {
    struct: frozenset(struct.__struct_fields__) - {"extra"}
    for struct in (Position, NodeData, GraphNode, Subgraph, GraphSettings, GraphDocument)
}
_KNOWN[GraphEdge] = frozenset(("source", "sourceHandle", "target", "targetHandle", "id"))


def _rest(raw: dict[str, Any], struct: type[Struct], dropped: frozenset[str] = frozenset()) -> dict[str, Any]:
    known = _KNOWN[struct]
    if raw.keys() <= known:
        return {}
    return {key: value for key, value in raw.items() if key not in known and key not in dropped}


def _deeper_than(value: Any, limit: int) -> bool:
    level: list[Any] = [value]
    for _ in range(limit):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner += cast("dict[str, Any]", item).values()
            elif isinstance(item, list):
                inner += cast("list[Any]", item)
        level = [item for item in inner if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def _not_json(data: bytes, text: str) -> GraphProblem:
    found = _BYTE_POSITION.search(text)
    offset = int(found[1]) if found else len(data)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        # msgspec does not say where.
        offset = min(offset, error.start)
    before = data[:offset]
    line = before.count(b"\n") + 1
    column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
    detail = text[: found.start()].strip() if found else text
    detail = detail.removeprefix("JSON is malformed: ").partition(" - at `")[0]
    if found is None and "truncated" in text:
        detail = "it ends too early"
    if not data.strip():
        detail = "it is empty"
    return _problem(reasons.GRAPH_NOT_JSON, detail=detail, line=line, column=column)


def _not_a_graph(path: str, detail: str) -> GraphProblem:
    return _problem(reasons.GRAPH_NOT_A_GRAPH, path=path, detail=detail)


def _problem(code: str, **params: Any) -> GraphProblem:
    made = reasons.reason(code, **params)
    return GraphProblem(message=made.message, code=code, node_id=None, params=made.params)


# ------------------------------------------------------------------ writing


def graph_to_builtins(document: GraphDocument) -> dict[str, Any]:
    """The document in canonical form: known keys in a fixed order, then the others sorted; integer positions."""
    settings: dict[str, Any] = {}
    if document.settings.device is not None:
        settings["device"] = document.settings.device
    if document.settings.seed is not None:
        settings["seed"] = document.settings.seed
    settings |= _sorted(document.settings.extra)
    built: dict[str, Any] = {"format_version": document.format_version, "name": document.name}
    if document.description:
        built["description"] = document.description
    built["nodes"] = [_node_to_builtins(node) for node in document.nodes]
    built["edges"] = [_edge_to_builtins(edge) for edge in document.edges]
    if document.presets:
        built["presets"] = _sorted(document.presets)
    if document.subgraphs:
        built["subgraphs"] = {
            name: {
                "nodes": [_node_to_builtins(node) for node in subgraph.nodes],
                "edges": [_edge_to_builtins(edge) for edge in subgraph.edges],
                **_sorted(subgraph.extra),
            }
            for name, subgraph in sorted(document.subgraphs.items())
        }
    if settings:
        built["settings"] = settings
    return built | _sorted(document.extra)


def _node_to_builtins(node: GraphNode) -> dict[str, Any]:
    data: dict[str, Any] = {"params": _sorted(node.data.params)}
    if node.data.label is not None:
        data["label"] = node.data.label
    return {
        "id": node.id,
        "type": node.type,
        "position": {
            "x": round(node.position.x),
            "y": round(node.position.y),
            **_sorted(node.position.extra),
        },
        "data": data | _sorted(node.data.extra),
        **_sorted(node.extra),
    }


def _edge_to_builtins(edge: GraphEdge) -> dict[str, Any]:
    built: dict[str, Any] = {} if edge.id is None else {"id": edge.id}
    built |= {
        "source": edge.source,
        "sourceHandle": edge.source_handle,
        "target": edge.target,
        "targetHandle": edge.target_handle,
    }
    return built | _sorted(edge.extra)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value)
        return {key: _sorted(items[key]) for key in sorted(items)}
    if isinstance(value, list | tuple):
        return [_sorted(item) for item in cast("list[Any]", value)]
    return value


_encoder = msgspec.json.Encoder()


def canonical_bytes(document: GraphDocument) -> bytes:
    """The one byte form of a document, without spaces: what is stored, sent and hashed."""
    return _encoder.encode(graph_to_builtins(document))


def pretty_bytes(document: GraphDocument) -> bytes:
    """The canonical form for files that people read and compare: indented, with a newline at the end."""
    return msgspec.json.format(canonical_bytes(document), indent=2) + b"\n"


def graph_hash(document: GraphDocument) -> str:
    """SHA-256 of the canonical bytes, in hex."""
    return hashlib.sha256(canonical_bytes(document)).hexdigest()

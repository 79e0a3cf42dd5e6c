"""A graph as a Python script that runs with codefy-engine alone (I-2).

Presets are written out, so what the script does is what it says. It makes the same document with
:class:`~codefy_engine.graph.builder.Builder` and executes it with the same engine, so the same seed gives the same
metrics.
"""

from __future__ import annotations

import ast
import keyword
import pprint
from collections.abc import Sequence
from typing import Any

from codefy_engine import __version__
from codefy_engine.graph.document import GraphDocument, GraphEdge, GraphInvalid, GraphNode
from codefy_engine.graph.needs import graph_needs
from codefy_engine.graph.plan import topological_order
from codefy_engine.graph.prepare import prepare_graph
from codefy_engine.graph.validation import validate_prepared
from codefy_engine.nodes.registry import Registry

_WIDTH = 100


def graph_script(document: GraphDocument, registry: Registry) -> str:
    """The script's text.

    Raises:
        GraphInvalid: the graph has problems.
    """
    prepared = prepare_graph(document, registry)
    problems = validate_prepared(prepared, registry)
    if problems:
        raise GraphInvalid(problems)
    flat = prepared.document
    needs = graph_needs(document, registry)
    called = _called_presets(flat, registry)
    lines = [*_head(document, needs.sources, sorted({use.name for use in needs.secrets})), ""]
    lines += ["", "def build() -> GraphDocument:", f'    """{_one_line(document)}"""']
    settings = [f"{name}={value!r}" for name, value in _settings(document) if value is not None]
    lines.append(f"    graph = Builder({', '.join([repr(document.name), *settings])})")
    for name, subgraph in flat.subgraphs.items():
        if name in _used_subgraphs(flat, registry):
            lines += ["", f"    inside = graph.subgraph({name!r})"]
            lines += _level(subgraph.nodes, subgraph.edges, "inside")
    lines.append("")
    lines += _level(flat.nodes, flat.edges, "graph")
    lines += ["", "    document = graph.build()"]
    for name in called:
        lines += _assigned(f"document.presets[{name!r}]", document.presets[name])
    lines += [*_extras(flat.nodes), "    return document", "", ""]
    lines += ['if __name__ == "__main__":', "    raise SystemExit(run_script(build(), __file__))", ""]
    return "\n".join(lines)


def _head(document: GraphDocument, sources: dict[str, str], secrets: Sequence[str]) -> list[str]:
    about = [f'"""{_one_line(document)}', ""]
    about.append(f"Made of a Codefy graph; it needs codefy-engine {__version__} and nothing else of Codefy.")
    for source in sorted(set(sources.values())):
        types = ", ".join(sorted(name for name, found in sources.items() if found == source))
        about.append(f"It also needs {source}, for {types}.")
    if secrets:
        about.append(f"Secrets are read from the environment: {', '.join(secrets)}.")
    about += ["Run it with --help to see its options.", '"""']
    return [
        *about,
        "",
        "from codefy_engine.execution.script import run_script",
        "from codefy_engine.graph import Builder, GraphDocument",
    ]


def _one_line(document: GraphDocument) -> str:
    text = document.description or document.name or "A Codefy graph."
    text = " ".join(text.split()).replace("\\", "\\\\").replace('"', "'")
    return text if len(text) < 2 * _WIDTH else text[: 2 * _WIDTH - 1] + "…"


def _settings(document: GraphDocument) -> list[tuple[str, Any]]:
    return [
        ("description", document.description or None),
        ("device", document.settings.device),
        ("seed", document.settings.seed),
    ]


def _level(nodes: Sequence[GraphNode], edges: Sequence[GraphEdge], owner: str) -> list[str]:
    """Nodes in an order in which each comes after what it needs, as calls of ``owner.add``."""
    names = _variables(nodes)
    position = {node.id: index for index, node in enumerate(nodes)}
    order = topological_order(len(nodes), [(position[e.source], position[e.target]) for e in edges])
    wires: dict[str, list[GraphEdge]] = {}
    for edge in edges:
        wires.setdefault(edge.target, []).append(edge)
    read = {edge.source for edge in edges}
    lines: list[str] = []
    for index in order:
        node = nodes[index]
        fields = {
            edge.target_handle: f"{names[edge.source]}[{edge.source_handle!r}]"
            for edge in wires.get(node.id, ())
        }
        fields |= {name: _literal(value) for name, value in node.data.params.items() if name not in fields}
        call = _call(f"{owner}.add", [repr(node.type), repr(node.id)], fields)
        if node.data.label is not None:
            call[-1] += f".labelled({node.data.label!r})"
        target = f"{names[node.id]} = " if node.id in read else ""
        call[0] = f"    {target}{call[0]}"
        lines += call
    return lines


def _call(function: str, arguments: list[str], fields: dict[str, str]) -> list[str]:
    """A call on one line, or on several when it is long."""
    plain = {name: value for name, value in fields.items() if _is_name(name)}
    odd = {name: value for name, value in fields.items() if name not in plain}
    parts = [*arguments, *(f"{name}={value}" for name, value in plain.items())]
    if odd:
        parts.append("**{" + ", ".join(f"{name!r}: {value}" for name, value in odd.items()) + "}")
    line = f"{function}({', '.join(parts)})"
    if len(line) <= _WIDTH and "\n" not in line:
        return [line]
    return [f"{function}(", *(f"        {part}," for part in parts), "    )"]


def _is_name(text: str) -> bool:
    # The builder's own positional parameters may be ports too: those are positional only.
    return text.isidentifier() and not keyword.iskeyword(text)


def _literal(value: Any) -> str:
    text = repr(value)
    if text in ("inf", "-inf", "nan"):
        return f"float({text!r})"
    # JSON values are Python's, but for the odd numbers above.
    ast.literal_eval(text)
    return text


def _variables(nodes: Sequence[GraphNode]) -> dict[str, str]:
    """A Python name for each node, close to its id."""
    taken = {"graph", "inside", "document", "build", "Builder", "GraphDocument", "run_script"}
    names: dict[str, str] = {}
    for node in nodes:
        base = "".join(c if c.isalnum() or c == "_" else "_" for c in node.id) or "node"
        if not _is_name(base):
            base = f"node_{base}"
        name, number = base, 2
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        taken.add(name)
        names[node.id] = name
    return names


def _assigned(target: str, value: Any) -> list[str]:
    lines = pprint.pformat(value, width=_WIDTH, sort_dicts=True).splitlines()
    return [f"    {target} = {lines[0]}", *(f"    {line}" for line in lines[1:])]


def _extras(nodes: Sequence[GraphNode]) -> list[str]:
    """What the builder does not write: a node's own device, the version of its parameters."""
    extras = {node.id: node.data.extra for node in nodes if node.data.extra}
    if not extras:
        return []
    return [
        *_assigned("extras", extras),
        "    for node in document.nodes:",
        "        node.data.extra.update(extras.get(node.id, {}))",
    ]


def _used_subgraphs(document: GraphDocument, registry: Registry) -> set[str]:
    used: set[str] = set()
    waiting = list(document.nodes)
    while waiting:
        node = waiting.pop()
        found = registry.find(node.type)
        for name, kind in () if found is None else found.spec.naming:
            value = node.data.params.get(name)
            if kind == "subgraph" and isinstance(value, str) and value not in used:
                used.add(value)
                waiting += document.subgraphs[value].nodes if value in document.subgraphs else []
    return used | (set(document.subgraphs) if document.presets else set())


def _called_presets(document: GraphDocument, registry: Registry) -> list[str]:
    """Presets that must stay presets: nodes execute them by themselves, or such presets contain them."""
    calls = any(
        kind == "preset"
        for node in document.nodes
        if (found := registry.find(node.type)) is not None
        for _, kind in found.spec.naming
    )
    return sorted(document.presets) if calls else []

"""The graph file: what is read, what is refused with which words, and the one canonical form (G-1)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefy_engine.graph import GraphInvalid, canonical_bytes, graph_hash, parse_graph, pretty_bytes

EVERYTHING = {
    "settings": {"seed": 3, "device": "cpu", "theme": {"b": 1, "a": [1.5, None]}},
    "format_version": 1,
    "name": "everything",
    "description": "with keys of the future",
    "nodes": [
        {
            "type": "NotInstalledHere",
            "id": "a",
            "position": {"y": 20.4, "x": 9.6, "z": 7},
            "data": {"params": {"z": 1, "a": {"y": 2, "b": 1}}, "label": "A", "colour": "red"},
            "group": "g1",
            "selected": True,
            "measured": {"width": 120},
        },
        {"id": "b", "type": "Print"},
    ],
    "edges": [
        {
            "id": "e1",
            "source": "a",
            "sourceHandle": "out",
            "target": "b",
            "targetHandle": "value",
            "animated": True,
            "selected": False,
        }
    ],
    "presets": {"p": {"b": 2, "a": 1}},
    "subgraphs": {"net": {"nodes": [{"id": "in", "type": "ModuleInput"}], "edges": [], "note": "hello"}},
    "viewport": {"zoom": 2},
    "author": {"name": "somebody"},
}


def _problem(data: bytes) -> Any:
    with pytest.raises(GraphInvalid) as caught:
        parse_graph(data)
    (problem,) = caught.value.problems
    assert str(caught.value) == problem.message
    return problem


def test_unknown_keys_and_types_survive_and_view_state_does_not() -> None:
    saved = json.loads(canonical_bytes(parse_graph(json.dumps(EVERYTHING).encode())))
    assert saved["author"] == {"name": "somebody"}
    assert saved["settings"] == EVERYTHING["settings"]
    assert saved["presets"] == EVERYTHING["presets"]
    assert saved["subgraphs"]["net"]["note"] == "hello"
    assert saved["edges"][0]["animated"] is True
    node = saved["nodes"][0]
    assert node["type"] == "NotInstalledHere" and node["group"] == "g1"
    assert node["data"] == {"params": {"a": {"b": 1, "y": 2}, "z": 1}, "label": "A", "colour": "red"}
    assert node["position"] == {"x": 10, "y": 20, "z": 7}
    assert "selected" not in node and "measured" not in node
    assert "viewport" not in saved and "selected" not in saved["edges"][0]


def test_the_canonical_form_does_not_depend_on_how_the_file_was_written() -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(item) for item in value] if isinstance(value, list) else value

    one = canonical_bytes(parse_graph(json.dumps(EVERYTHING).encode()))
    two = canonical_bytes(parse_graph(json.dumps(turned(EVERYTHING), indent=3).encode()))
    assert one == two
    assert canonical_bytes(parse_graph(one)) == one
    assert graph_hash(parse_graph(one)) == graph_hash(parse_graph(pretty_bytes(parse_graph(two))))


def test_the_hash_tells_documents_apart() -> None:
    changed = json.loads(json.dumps(EVERYTHING))
    changed["nodes"][0]["data"]["params"]["z"] = 2
    assert graph_hash(parse_graph(json.dumps(changed).encode())) != graph_hash(
        parse_graph(json.dumps(EVERYTHING).encode())
    )


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
_extra = st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=6).map(lambda key: "x-" + key), _json)


@given(_extra, _extra, _extra, st.dictionaries(st.text(max_size=6), _json))
def test_any_unknown_content_survives_byte_for_byte(
    top: dict[str, Any], node: dict[str, Any], data: dict[str, Any], params: dict[str, Any]
) -> None:
    document = {
        "nodes": [{"id": "a", "type": "T", "data": {"params": params, **data}, **node}],
        **top,
    }
    first = canonical_bytes(parse_graph(json.dumps(document).encode()))
    assert canonical_bytes(parse_graph(first)) == first
    read = json.loads(first)
    assert {key: read[key] for key in top} == top
    assert {key: read["nodes"][0][key] for key in node} == node
    assert read["nodes"][0]["data"]["params"] == params


def test_pretty_bytes_are_for_people() -> None:
    text = pretty_bytes(parse_graph(json.dumps(EVERYTHING).encode())).decode()
    assert text.endswith("}\n") and '\n  "name": "everything"' in text


@pytest.mark.parametrize(
    ("data", "line", "column", "words"),
    [
        (b"", 1, 1, "it is empty"),
        (b" \n ", 2, 2, "it is empty"),
        (b'{"nodes": [', 1, 12, "it ends too early"),
        (b'{\n  "nodes": [],\n}', 3, 1, "trailing comma in object"),
        ('{"name": "é",\n "x": "ü" !}'.encode(), 2, 11, ""),
        (b"this is a text", 1, 5, "invalid character"),
        (b'{"name": "\xc3\x28"}', 1, 11, ""),
    ],
)
def test_what_is_not_json_says_where(data: bytes, line: int, column: int, words: str) -> None:
    problem = _problem(data)
    assert problem.code == "graph_not_json"
    assert (problem.params["line"], problem.params["column"]) == (line, column)
    assert words in problem.params["detail"]
    assert f"line {line}, column {column}" in problem.message


@pytest.mark.parametrize(
    ("document", "path", "detail"),
    [
        ([], "$", "expected `object`, got `array`"),
        ({}, "$", "object missing required field `nodes`"),
        ({"nodes": {}}, "$.nodes", "expected `array`, got `object`"),
        ({"nodes": [{"id": 1}]}, "$.nodes[0].id", "expected `str`, got `int`"),
        ({"nodes": [{"id": "", "type": "T"}]}, "$.nodes[0].id", "expected `str` of length >= 1"),
        ({"nodes": [{"id": "a"}]}, "$.nodes[0]", "object missing required field `type`"),
        (
            {"nodes": [], "edges": [{"source": "a", "target": "b", "targetHandle": "x"}]},
            "$.edges[0]",
            "object missing required field `sourceHandle`",
        ),
        (
            {"nodes": [], "subgraphs": {"net": {"nodes": [3]}}},
            "$.subgraphs.net.nodes[0]",
            "expected `object`",
        ),
        ({"nodes": [], "settings": {"seed": "x"}}, "$.settings.seed", "expected `int | null`, got `str`"),
        ({"nodes": [], "format_version": 0}, "$.format_version", "expected `int` >= 1"),
        ({"nodes": [{"id": "a", "type": "T", "data": {"params": []}}]}, "$.nodes[0].data.params", "expected"),
    ],
)
def test_what_is_no_graph_says_at_which_path(document: Any, path: str, detail: str) -> None:
    problem = _problem(json.dumps(document).encode())
    assert problem.code == "graph_not_a_graph"
    assert problem.params["path"] == path
    assert problem.params["detail"].startswith(detail)


def test_a_newer_format_is_refused_before_anything_else() -> None:
    problem = _problem(b'{"format_version": 7, "shapes": "unlike any of today"}')
    assert problem.code == "graph_too_new"
    assert problem.params == {"found": 7, "supported": 1}


@pytest.mark.parametrize("depth", [150, 100_000])
def test_nesting_without_end_is_refused(depth: int) -> None:
    problem = _problem(b'{"nodes": [], "x": ' + b"[" * depth + b"]" * depth + b"}")
    assert problem.code == "graph_not_a_graph"
    assert "deep" in problem.message


def test_a_byte_order_mark_is_no_mistake() -> None:
    assert parse_graph(b'\xef\xbb\xbf{"nodes": []}').nodes == []

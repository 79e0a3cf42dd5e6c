"""Values of secrets reach the node that asks and nothing else (X-5)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codefy_engine.execution.executor import execute_graph
from codefy_engine.execution.outputs import OutputStore
from codefy_engine.execution.secrets import Redactor
from codefy_engine.execution.state import ExecutionState
from codefy_engine.graph import Builder, canonical_bytes, parse_graph, validate_graph
from codefy_engine.nodes.base import Node, NodeContext, Secret, input, node, output, param
from codefy_engine.nodes.registry import Registry
from codefy_protocol.bodies import RunError
from codefy_protocol.names import RunOptions

VALUE = 's3cr3t/"väl ue"'
SEEN: list[str] = []


@node(type="Login", title="Log in", category="tests", icon="key")
class Login(Node):
    """Use a token, and tell everybody."""

    token: Secret | None = param(None, kind="secret")
    fail: bool = param(False)
    x: Any = input("any", required=False)
    text: str = output("value")
    facts: dict[str, Any] = output("metrics")

    def run(self, ctx: NodeContext) -> Any:
        value = ctx.secret(self.token)
        SEEN.append(value)
        ctx.progress(0.5, text=f"with {value}")
        ctx.inner(["part", value], "built", about={"key": value})
        path = ctx.artifact_path("note.txt")
        path.write_text("x")
        ctx.artifact("text", value, path, meta={value: [value]})
        if self.fail:
            raise ValueError(f"the server did not like https://host/?k={value}")
        return {"text": f"<{value}>", "facts": {value: 1.0}}


def login(harness: Any, **params: Any) -> Any:
    graph = Builder("g", registry=harness.registry(Login))
    graph.add("Login", "login", token={"secret": "KEY"}, **params)
    return graph.build()


def everything(kept: Any, outcome: Any) -> str:
    return b"\n".join(kept.bodies).decode() + repr(outcome)


@pytest.mark.parametrize("fail", [False, True])
def test_a_secret_is_in_no_event_and_no_error(harness: Any, fail: bool) -> None:
    SEEN.clear()
    outcome, kept = harness.execute(login(harness, fail=fail), nodes=[Login], secrets={"KEY": VALUE})
    assert SEEN == [VALUE]
    assert outcome.status == ("failed" if fail else "succeeded")
    told = everything(kept, outcome)
    assert "s3cr3t" not in told and "väl ue" not in told
    assert "[secret KEY]" in told
    assert kept.payloads("node_progress")[0]["text"] == "with [secret KEY]"
    if fail:
        assert "[secret KEY]" in outcome.error.traceback
        assert "https://host/?k=[secret KEY]" in outcome.error.message


def test_a_secret_is_in_no_key_hash_or_provenance(harness: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from codefy_engine.execution import cache, provenance

    hashed: list[bytes] = []
    real = cache.blake2b

    def watched(data: bytes = b"", **options: Any) -> Any:
        digest = real(data, **options)

        class Watched:
            def update(self, data: bytes) -> None:
                hashed.append(bytes(data))
                digest.update(data)

            def digest(self) -> bytes:
                return digest.digest()

        hashed.append(bytes(data))
        return Watched()

    monkeypatch.setattr(cache, "blake2b", watched)
    facts: list[bytes] = []
    state = ExecutionState()
    results: list[str] = []
    for value in (VALUE, "another-value"):
        request = harness.request(
            login(harness),
            (kept := _kept(harness)),
            nodes=[Login],
            secrets={"KEY": value},
            state=state,
            options=RunOptions(provenance=True),
        )
        import dataclasses

        sinks = dataclasses.replace(request.sinks, facts=lambda ts, body: facts.append(body))
        execute_graph(dataclasses.replace(request, sinks=sinks))
        results.append(kept.last_status()["login"])
    assert results == ["succeeded", "succeeded"]
    assert len(hashed) > 1 and not any(b"s3cr3t" in item for item in hashed)
    assert not any(b"s3cr3t" in item for item in facts)
    records = [json.loads(item)["provenance"][0] for item in facts if b"provenance" in item]
    assert len(records) == 2
    assert records[0]["params_hash"] == records[1]["params_hash"]
    assert records[0]["volatile"] is True
    assert provenance.params_hash({"token": Secret("KEY")}) == provenance.params_hash(
        {"token": Secret("KEY")}
    )


def _kept(harness: Any) -> Any:
    from tests.engine.conftest import Kept

    return Kept()


def test_a_run_without_the_secret_says_which(harness: Any) -> None:
    outcome, _ = harness.execute(login(harness), nodes=[Login])
    assert (outcome.error.code, outcome.error.params["secret"]) == ("secret_missing", "KEY")
    assert outcome.error.traceback is None


def test_a_value_instead_of_a_reference_is_refused_and_not_shown(harness: Any) -> None:
    graph = login(harness)
    for wrong in (VALUE, {"secret": VALUE, "more": 1}, {"value": VALUE}, 5):
        graph.nodes[0].data.params["token"] = wrong
        (problem,) = validate_graph(graph, harness.registry(Login))
        assert (problem.code, problem.params["value"]) == ("param_invalid", "…")
        assert "s3cr3t" not in problem.message + repr(problem.params)


def test_a_document_keeps_references_only(harness: Any) -> None:
    graph = login(harness)
    assert b'"token":{"secret":"KEY"}' in canonical_bytes(graph)
    assert canonical_bytes(parse_graph(canonical_bytes(graph))) == canonical_bytes(graph)


def test_a_preset_exposes_a_secret_under_another_name(harness: Any) -> None:
    SEEN.clear()
    registry: Registry = harness.registry(Login)
    inner = {
        "nodes": [{"id": "login", "type": "Login", "data": {"params": {"token": None}}}],
        "params": [{"name": "password", "node": "login", "param": "token"}],
    }
    outer = {
        "nodes": [{"id": "in", "type": "Preset", "data": {"params": {"preset": "inner"}}}],
        "params": [{"name": "api_key", "node": "in", "param": "password"}],
    }
    raw = {
        "nodes": [
            {
                "id": "p",
                "type": "Preset",
                "data": {"params": {"preset": "outer", "api_key": {"secret": "KEY"}}},
            }
        ],
        "presets": {"inner": inner, "outer": outer},
    }
    document = parse_graph(json.dumps(raw).encode())
    assert validate_graph(document, registry) == []
    outcome, kept = harness.execute(document, nodes=[Login], secrets={"KEY": VALUE})
    assert SEEN == [VALUE]
    assert kept.last_status() == {"p/in/login": "succeeded"}
    assert "s3cr3t" not in everything(kept, outcome)


def test_texts_of_captured_outputs_are_read_without_secrets(harness: Any) -> None:
    store = OutputStore()
    harness.execute(
        login(harness),
        nodes=[Login],
        secrets={"KEY": VALUE},
        outputs=store,
        options=RunOptions(record_outputs=True),
    )
    assert store.slice("run-1", "login", "text").text == "<[secret KEY]>"
    assert "s3cr3t" not in repr(store.index("run-1"))


def test_the_request_does_not_show_secrets(harness: Any) -> None:
    request = harness.request(login(harness), _kept(harness), nodes=[Login], secrets={"KEY": VALUE})
    assert "s3cr3t" not in repr(request)


def test_redaction_of_forms_and_overlaps() -> None:
    redactor = Redactor({"A": "pass word", "LONG": "pass word!x", "TINY": "a", "PIN": "12345"})
    assert redactor.text("pass word!x and pass word, pass%20word") == (
        "[secret LONG] and [secret A], [secret A]"
    )
    assert redactor.body(b'{"a":"a","n":12345,"m":123456}') == b'{"a":"a","n":"[secret PIN]","m":123456}'
    body = b'{"x":1}'
    assert redactor.body(body) is body
    assert not Redactor({})


@node(type="Long", title="Long", category="tests", icon="key")
class Long(Node):
    """Tell a secret where texts are cut."""

    token: Secret | None = param(None, kind="secret")
    before: int = param(0)
    fail: bool = param(False)
    text: str = output("value")

    def run(self, ctx: NodeContext) -> Any:
        told = "-" * self.before + ctx.secret(self.token)
        if self.fail:
            raise ValueError(told)
        return told


@pytest.mark.parametrize("fail", [False, True])
@pytest.mark.parametrize("cut", [200, 1000])
def test_no_half_of_a_secret_is_left_where_a_text_is_cut(harness: Any, fail: bool, cut: int) -> None:
    for before in range(cut - 30, cut):
        graph = Builder("g", registry=harness.registry(Long))
        graph.add("Long", "long", token={"secret": "KEY"}, before=before, fail=fail)
        outcome, kept = harness.execute(
            graph.build(), nodes=[Long], secrets={"KEY": "abcdefghijklmnopqrstuvwxyz"}
        )
        assert "-abc" not in everything(kept, outcome)


@pytest.mark.parametrize(
    "secret",
    ["node", "status", "succeeded", "type", "value", "text", "points", "loss_step", "summary", "code"],
)
def test_a_secret_that_is_a_word_of_the_protocol_leaves_events_readable(secret: str) -> None:
    redactor = Redactor({"WORD": secret})
    told = f"<{secret}>"
    hidden = "<[secret WORD]>"
    status: dict[str, Any] = {
        "node_id": "node",
        "status": "succeeded",
        "outputs": {"text": {"type": "value", "summary": told, "values": {told: 1.0}}},
    }
    shown = json.loads(redactor.body(json.dumps(status).encode()))
    assert shown == {
        "node_id": "node",
        "status": "succeeded",
        "outputs": {"text": {"type": "value", "summary": hidden, "values": {hidden: 1.0}}},
    }
    points = {"points": [{"name": told, "value": 1.0, "step": 3, "scope": "step", "node_id": "node"}]}
    shown = json.loads(redactor.body(json.dumps(points).encode()))
    assert shown == {
        "points": [{"name": hidden, "value": 1.0, "step": 3, "scope": "step", "node_id": "node"}]
    }
    inner = {"node_id": "node", "path": [told], "status": "running", "progress": {"text": told}, told: told}
    shown = json.loads(redactor.body(json.dumps(inner).encode()))
    assert shown == {
        "node_id": "node",
        "path": [hidden],
        "status": "running",
        "progress": {"text": hidden},
        hidden: hidden,
    }
    error = RunError(code="node_failed", message=told, params={"detail": told}, node_id="node")
    assert redactor.error(error) == RunError(
        code="node_failed", message=hidden, params={"detail": hidden}, node_id="node"
    )


def test_numbers_that_the_engine_counts_stay_numbers() -> None:
    redactor = Redactor({"PIN": "12345"})
    body = b'{"points":[{"name":"pin","value":12345,"step":12345}]}'
    assert redactor.body(body) == b'{"points":[{"name":"pin","value":"[secret PIN]","step":12345}]}'


def test_what_only_looks_like_a_word_of_the_protocol_is_taken_out() -> None:
    redactor = Redactor({"KEY": "hunter2"})
    body = b'{"status":"hunter2","kind":"hunter2","outputs":{"x":{"type":"hunter2"}},"meta":{"hunter2":1}}'
    assert b"hunter2" not in redactor.body(body)


def test_a_secret_written_as_json_or_bytes_is_in_no_body() -> None:
    redactor = Redactor({"KEY": VALUE})
    for told in (json.dumps(VALUE), json.dumps(VALUE, ensure_ascii=False), repr(VALUE.encode()), repr(VALUE)):
        shown = json.loads(redactor.body(json.dumps({"text": told}, ensure_ascii=False).encode()))
        assert shown["text"].removeprefix("b")[1:-1] == "[secret KEY]"

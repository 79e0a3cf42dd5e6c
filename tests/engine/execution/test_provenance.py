"""Fingerprint of the environment, and where each result comes from (X-8)."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from typing import Any

import msgspec
import torch

from codefy_engine.execution.executor import execute_graph
from codefy_engine.execution.fingerprint import environment_fingerprint, fingerprint_digest
from codefy_engine.execution.state import ExecutionState
from codefy_engine.graph import Builder
from codefy_protocol.names import RunOptions


def _facts(harness: Any, new_kept: Any, number: float = 2, **fields: Any) -> list[dict[str, Any]]:
    graph = Builder(registry=harness.registry())
    graph.add("Sum", "s", a=graph.add("Constant", "c", number=number))
    told: list[dict[str, Any]] = []
    request = harness.request(graph.build(), new_kept(), **fields)
    sinks = dataclasses.replace(request.sinks, facts=lambda ts, body: told.append(json.loads(body)))
    execute_graph(dataclasses.replace(request, sinks=sinks))
    assert [list(body) for body in told[:-1]] == [["provenance"]] * (len(told) - 1)
    records = [record for body in told[:-1] for record in body["provenance"]]
    return [{**told[-1], "provenance": records}]


def test_each_node_has_a_record_when_asked_for(harness: Any, new_kept: Any) -> None:
    (without,) = _facts(harness, new_kept)
    assert without["provenance"] == [] and without["fingerprint"]["python"]
    state = ExecutionState()
    options = RunOptions(provenance=True, seed=3)
    (facts,) = _facts(harness, new_kept, state=state, options=options)
    c, s = facts["provenance"]
    assert (c["node_id"], c["type"], c["version"], c["seed"], c["status"]) == (
        "c",
        "Constant",
        1,
        3,
        "succeeded",
    )
    assert s["inputs"] == {"a": "c.value"} and len(s["input_hashes"]["a"]) == 32
    assert c["ended_at"] > 1.7e9 and len(c["params_hash"]) == 64
    (again,) = _facts(harness, new_kept, state=state, options=options)
    assert [item["status"] for item in again["provenance"]] == ["reused", "reused"]
    (other,) = _facts(harness, new_kept, number=5, options=options)
    assert other["provenance"][0]["params_hash"] != c["params_hash"]
    assert other["provenance"][1]["input_hashes"] != s["input_hashes"]
    assert other["provenance"][1]["params_hash"] == s["params_hash"]


def test_the_fingerprint_says_what_computes(harness: Any, new_kept: Any) -> None:
    (facts,) = _facts(harness, new_kept, options=RunOptions(provenance=True))
    found = facts["fingerprint"]
    assert found["torch"] == torch.__version__
    assert found["python"] == sys.version.split()[0]
    assert {"torch", "numpy", "scikit-learn", "codefy-engine"} <= set(found["packages"])
    assert found["numerics"]["deterministic"] is False
    assert facts["fingerprint_digest"] == fingerprint_digest(environment_fingerprint())


def test_the_settings_of_the_run_are_in_it(harness: Any, new_kept: Any) -> None:
    (plain,) = _facts(harness, new_kept)
    (strict,) = _facts(harness, new_kept, options=RunOptions(deterministic=True))
    assert strict["fingerprint"]["numerics"]["deterministic"] is True
    assert strict["fingerprint_digest"] != plain["fingerprint_digest"]


def test_the_digest_follows_what_matters() -> None:
    fingerprint = environment_fingerprint()
    digest = fingerprint_digest(fingerprint)
    assert len(digest) == 64
    changed = msgspec.structs.replace(
        fingerprint, numerics={**fingerprint.numerics, "float32_matmul": "high"}
    )
    assert fingerprint_digest(changed) != digest


def test_without_torch_nothing_is_imported_for_it() -> None:
    code = (
        "import sys; from codefy_engine.execution.fingerprint import environment_fingerprint as f; "
        "found = f(load_torch=False); assert found.torch and 'torch' not in sys.modules, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_file_whose_path_came_over_a_wire_is_in_the_hash_of_what_follows(
    harness: Any, new_kept: Any
) -> None:
    folder = harness.folder / "files"
    folder.mkdir()

    def told(text: str) -> dict[str, Any]:
        (folder / "a.txt").write_text(text)
        graph = Builder(registry=harness.registry())
        path = graph.add("ConstantValue", "path", kind="text", text="a.txt")
        read = graph.add("TextFile", "read", path=path)
        graph.add("TextStatistics", "count", text=read)
        facts: list[dict[str, Any]] = []
        request = harness.request(graph.build(), new_kept(), options=RunOptions(provenance=True, seed=1))
        sinks = dataclasses.replace(request.sinks, facts=lambda ts, body: facts.append(json.loads(body)))
        execute_graph(dataclasses.replace(request, sinks=sinks))
        records = [item for body in facts for item in body.get("provenance", ())]
        return {item["node_id"]: item["input_hashes"] for item in records}

    one, other = told("one"), told("three")
    assert one["read"] == other["read"]
    assert one["count"]["text"] != other["count"]["text"]

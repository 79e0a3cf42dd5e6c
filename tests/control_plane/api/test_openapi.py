"""The API's description is complete and true."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import msgspec
import pytest

from codefy_control_plane.api import socket_messages
from codefy_control_plane.api.openapi import openapi_document, plain_path
from codefy_control_plane.api.routing import ApiRoute
from codefy_control_plane.app import API_ROUTES


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return openapi_document(API_ROUTES)


def test_every_route_is_described(document: dict[str, Any]) -> None:
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == {(route.method, plain_path(route.path)) for route in API_ROUTES}
    names: list[str] = []
    for path, methods in document["paths"].items():
        for operation in methods.values():
            names.append(operation["operationId"])
            assert operation["summary"], path
            answers = operation["responses"]
            good = next(status for status in answers if status.startswith("2"))
            assert good == "204" or answers[good]["content"], path
            assert "500" in answers
    assert len(names) == len(set(names))


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for name in re.findall(r"'#/components/schemas/([^']+)'", repr(document)):
        assert name in schemas
    for name in ("RunDetail", "Problem", "GraphProblem", "NodeDefinition", "SubmitRun", "RunOptions"):
        assert name in schemas


def test_parameters(document: dict[str, Any]) -> None:
    parameters = {
        item["name"]: item for item in document["paths"]["/api/runs/{run_id}/events"]["get"]["parameters"]
    }
    assert parameters["run_id"]["in"] == "path"
    assert parameters["wait"]["schema"]["maximum"] == 60
    log = document["paths"]["/api/runs/{run_id}/log"]["get"]["parameters"]
    assert [item["name"] for item in log] == ["run_id", "from"]
    assert document["paths"]["/api/health"]["get"]["security"] == []


def test_messages_of_the_socket_are_described(document: dict[str, Any]) -> None:
    described = document["x-codefy-sockets"]["/ws/execution"]
    assert len(described["client"]) == len(socket_messages.CLIENT_MESSAGES)
    assert {"$ref": "#/components/schemas/Attach"} in described["client"]
    attach = document["components"]["schemas"]["Attach"]
    assert attach["properties"]["type"] == {"enum": ["attach"]}


async def test_it_is_served(client: httpx.AsyncClient, document: dict[str, Any]) -> None:
    # As JSON knows it: a default of a struct may be a tuple.
    assert (await client.get("/openapi.json")).json() == json.loads(msgspec.json.encode(document))


def test_a_handler_that_does_not_fit_its_path_is_refused() -> None:
    async def show(run_id: str) -> None: ...

    with pytest.raises(TypeError, match="run_id"):
        ApiRoute("GET", "/api/things/{thing}", show)

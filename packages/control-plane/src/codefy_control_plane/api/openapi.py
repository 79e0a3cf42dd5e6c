"""``/openapi.json`` (OpenAPI 3.1), made from the route table and the structs that its handlers name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from codefy_control_plane.api import socket_messages
from codefy_control_plane.api.problems import MEDIA_TYPE as PROBLEM_TYPE
from codefy_control_plane.api.routing import ApiRoute, Signature
from codefy_control_plane.api.schemas import Problem
from codefy_protocol import __version__

REF = "#/components/schemas/{name}"
EVERYWHERE = (400, 403, 500)
_MEANING = {
    400: "The request cannot be read, or its graph has problems.",
    401: "The session token is missing or wrong.",
    403: "The Host or Origin is not served.",
    404: "There is no such thing.",
    409: "It is not in a state for this.",
    410: "Its file is not there any more.",
    413: "The body is over the limit.",
    500: "Something went wrong; the log has the error_id.",
    503: "The server is stopping, or has no room.",
    507: "The disk is full.",
}


def openapi_document(routes: Sequence[ApiRoute]) -> dict[str, Any]:
    """The document for ``routes``; ``x-codefy-sockets`` lists the messages of ``/ws/execution``."""
    sockets = (*socket_messages.CLIENT_MESSAGES, *socket_messages.SERVER_MESSAGES)
    structs: list[Any] = [Problem, *sockets]
    for route in routes:
        structs += [part for part in (route.signature.body, route.signature.answer) if part is not None]
    unique = list(dict.fromkeys(structs))
    schemas, components = msgspec.json.schema_components(unique, ref_template=REF)
    refs = dict(zip(unique, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(plain_path(route.path), {})[route.method.lower()] = _operation(route, refs)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Codefy", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "header", "name": "X-Codefy-Token"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "codefy_session"},
            },
        },
        "security": [{"token": []}, {"cookie": []}],
        "x-codefy-sockets": {
            "/ws/execution": {
                "client": [refs[message] for message in socket_messages.CLIENT_MESSAGES],
                "server": [refs[message] for message in socket_messages.SERVER_MESSAGES],
            }
        },
    }


def plain_path(path: str) -> str:
    """Starlette's ``{id:int}`` as OpenAPI's ``{id}``."""
    return re.sub(r"{(\w+):\w+}", r"{\1}", path)


def _operation(route: ApiRoute, refs: dict[Any, Any]) -> dict[str, Any]:
    signature = route.signature
    operation: dict[str, Any] = {
        "operationId": route.handler.__name__,
        "summary": signature.summary,
        "tags": [route.path.split("/")[2] if route.path.startswith("/api/") else "about"],
        "parameters": [*_path_parameters(signature), *_query_parameters(signature.query)],
        "responses": _responses(route, refs),
    }
    if signature.description:
        operation["description"] = signature.description
    if signature.body is not None:
        operation["requestBody"] = {"required": True, "content": _json(refs[signature.body])}
    if route.public:
        operation["security"] = []
    return operation


def _path_parameters(signature: Signature) -> Iterable[dict[str, Any]]:
    for name, kind in signature.path_params.items():
        yield {"name": name, "in": "path", "required": True, "schema": msgspec.json.schema(kind)}


def _query_parameters(query: type[Any] | None) -> Iterable[dict[str, Any]]:
    if query is None:
        return
    schema = msgspec.json.schema(query)
    # schema() gives a reference to its one definition.
    definition = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    required = set(definition.get("required", ()))
    for name, described in definition["properties"].items():
        yield {"name": name, "in": "query", "required": name in required, "schema": described}


def _responses(route: ApiRoute, refs: dict[Any, Any]) -> dict[str, Any]:
    answer = route.signature.answer
    good: dict[str, Any] = {"description": route.signature.summary}
    status = route.status
    if answer is not None:
        good["content"] = _json(refs[answer])
    elif route.produces is not None:
        good["content"] = {route.produces: {}}
    else:
        status = 204
    statuses = {*EVERYWHERE, *route.errors}
    if not route.public:
        statuses.add(401)
    if route.signature.body is not None:
        statuses.add(413)
    problems = {
        str(code): {"description": _MEANING[code], "content": {PROBLEM_TYPE: {"schema": refs[Problem]}}}
        for code in sorted(statuses)
    }
    return {str(status): good, **problems}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}

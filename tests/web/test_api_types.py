"""The page's types of the API are made from the server's own description, and may not lag behind it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from codefy_control_plane.api.openapi import openapi_document
from codefy_control_plane.app import API_ROUTES

SCRIPT = Path(__file__).parents[2] / "web" / "scripts" / "api_types.py"


@pytest.fixture(scope="module")
def api_types() -> ModuleType:
    spec = importlib.util.spec_from_file_location("api_types", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_types_are_those_of_the_server(api_types: ModuleType) -> None:
    fresh = api_types.render(openapi_document(API_ROUTES))
    assert api_types.TARGET.read_text("utf-8") == fresh, "run `npm run api-types` in web/"


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({}, "unknown"),
        ({"$ref": "#/components/schemas/Device"}, "Device"),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}, {"type": "null"}]}, "number | null"),
        ({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "(string | null)[]"),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, "Record<string, boolean>"),
        ({"type": "object"}, "Record<string, unknown>"),
        ({"enum": ["a", 1]}, '"a" | 1'),
    ],
)
def test_json_schema_as_typescript(api_types: ModuleType, schema: dict[str, object], written: str) -> None:
    assert api_types.type_of(schema) == written


def test_fields_with_a_default_are_optional(api_types: ModuleType) -> None:
    schema = {
        "properties": {"a": {"type": "string"}, "b-c": {"type": "string", "default": ""}},
        "required": ["a"],
    }
    assert (
        api_types.interface("Thing", schema) == 'export interface Thing {\n  a: string;\n  "b-c"?: string;\n}'
    )


def test_an_unknown_schema_is_refused(api_types: ModuleType) -> None:
    with pytest.raises(ValueError, match="tuple"):
        api_types.type_of({"type": "tuple"})

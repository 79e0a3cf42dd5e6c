"""Write ``web/src/api/schema.ts``: the shapes of ``/openapi.json`` as TypeScript.

``npm run api-types`` writes the file; ``tests/web/test_api_types.py`` fails when it is stale. A field with a default is
optional in TypeScript, because the description cannot say whether the server leaves it out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from codefy_control_plane.api.openapi import openapi_document
from codefy_control_plane.app import API_ROUTES

TARGET = Path(__file__).parents[1] / "src" / "api" / "schema.ts"

Schema = Mapping[str, Any]

_SIMPLE = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
_NAME = re.compile(r"[A-Za-z_$][\w$]*")


def type_of(schema: Schema) -> str:
    """The TypeScript type of a JSON Schema as msgspec writes them.

    Raises:
        ValueError: the schema uses something this does not know.
    """
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        parts = [type_of(part) for part in schema["anyOf"]]
        return " | ".join(dict.fromkeys(parts))
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    kind = schema.get("type")
    if kind is None:
        return "unknown"
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind == "array":
        item = type_of(schema.get("items", {}))
        return f"({item})[]" if "|" in item else f"{item}[]"
    if kind == "object":
        return f"Record<string, {type_of(schema.get('additionalProperties') or {})}>"
    raise ValueError(f"no TypeScript type for {dict(schema)}")


def interface(name: str, schema: Schema) -> str:
    """One object schema as an exported interface."""
    required = set(cast("list[str]", schema.get("required", [])))
    lines = [f"export interface {name} {{"]
    for field, described in cast("dict[str, Schema]", schema.get("properties", {})).items():
        key = field if _NAME.fullmatch(field) else json.dumps(field)
        lines.append(f"  {key}{'' if field in required else '?'}: {type_of(described)};")
    lines.append("}")
    return "\n".join(lines)


def render(document: Schema) -> str:
    """The whole file."""
    schemas = cast("dict[str, Schema]", document["components"]["schemas"])
    parts = [
        "// Made from /openapi.json by `npm run api-types`. Do not edit: change the server's structs instead.",
        *(interface(name, schemas[name]) for name in sorted(schemas)),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    TARGET.write_text(render(openapi_document(API_ROUTES)), encoding="utf-8")

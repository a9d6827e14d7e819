"""Generate the JSON Schemas in `symphony9_env/schemas` from the types of the package.

    python -m tools.schemas           # write the files
    python -m tools.schemas --check   # exit with status 1 if a file is not current

A schema describes a TypedDict or a dataclass: docstrings become descriptions, and so do the comments behind the
fields. `Annotated[str, VALUES]` lists the allowed values. Further keys are allowed everywhere, so that a format can
grow.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import re
import sys
import types
from collections.abc import Mapping, Sequence
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from symphony9_env.arguments import Parser
from symphony9_env.files import write_text
from symphony9_env.schemas import FOLDER, path_of

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

# The formats and the types that describe them; types after a comma go into the definitions only.
FORMATS: Final = {
    "symphony9-agent/1": "symphony9_env.agents.message:AgentMessage",
    "symphony9-coalition/1": "evaluation.coalition_results:CoalitionResults",
    "symphony9-event/1": "symphony9_env.events:EventJson",
    "symphony9-exploit/1": "evaluation.exploit:ExploitResults",
    "symphony9-policy/1": "symphony9_env.agents.policy:PolicyDescription",
    "symphony9-record/1": "symphony9_env.records:RecordJson",
    "symphony9-results/1": "symphony9_env.arena.results:Results",
    "symphony9-table/1": "symphony9_env.web.messages:TableMessage,SeatMessage,CreateTableRequest,MoveRequest,"
    "RenameRequest,AgentsMessage,TablesMessage,TableSummary,ErrorMessage",
    "symphony9-view/1": "symphony9_env.views.seat_json:ViewJson",
}

_SIMPLE: Final = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_FIELD: Final = re.compile(r"^    (\w+): [^#\n]*(?:#\s*(.*))?$", re.MULTILINE)

Schema = dict[str, Any]


def make_schema(name: str) -> Schema:
    """Return the JSON Schema of a format."""
    module, _, attributes = FORMATS[name].partition(":")
    root, *others = (getattr(importlib.import_module(module), attribute) for attribute in attributes.split(","))
    definitions: dict[str, Schema] = {}
    body = _describe_class(root, definitions)
    for other in others:
        _describe(other, definitions)
    schema = {"$schema": DIALECT, "$id": f"urn:{name.replace('/', ':')}", "title": name, **body}
    return {**schema, "$defs": dict(sorted(definitions.items()))} if definitions else schema


def _describe_class(kind: Any, definitions: dict[str, Schema]) -> Schema:
    """Return the schema of a TypedDict or a dataclass; classes that its fields refer to go into the definitions."""
    comments = _read_comments(kind)
    properties, required = {}, []
    for field, hint in get_type_hints(kind, include_extras=True).items():
        is_optional = get_origin(hint) is NotRequired
        about = {"description": comments[field]} if comments.get(field) else {}
        properties[field] = {**_describe(get_args(hint)[0] if is_optional else hint, definitions), **about}
        if not is_optional and field not in getattr(kind, "__optional_keys__", ()):
            required.append(field)
    for name, described in FORMATS.items():
        if described.partition(",")[0] == f"{kind.__module__}:{kind.__name__}" and "format" in properties:
            properties["format"] = {"const": name}
    about = {"description": inspect.cleandoc(kind.__doc__)} if kind.__doc__ else {}
    return {"type": "object", **about, "properties": properties, "required": required}


def _read_comments(kind: Any) -> dict[str, str]:
    """Return the comments behind the fields of a class, those of its bases included."""
    comments: dict[str, str] = {}
    for base in getattr(kind, "__orig_bases__", kind.__bases__):
        if is_typeddict(base) or dataclasses.is_dataclass(base):
            comments |= _read_comments(base)
    try:
        source = inspect.getsource(kind)
    except OSError:  # a TypedDict made by a call
        return comments
    return comments | dict(_FIELD.findall(source))


def _describe(hint: Any, definitions: dict[str, Schema]) -> Schema:
    if hint is Any:
        return {}
    if hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    if is_typeddict(hint) or dataclasses.is_dataclass(hint):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}  # so that a class may contain itself
            definitions[hint.__name__] = _describe_class(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    return _describe_generic(get_origin(hint), get_args(hint), definitions)


def _describe_generic(origin: Any, arguments: tuple[Any, ...], definitions: dict[str, Schema]) -> Schema:
    if origin is Annotated:
        return {**_describe(arguments[0], definitions), "enum": list(arguments[1])}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_describe(argument, definitions) for argument in arguments]}
    if origin in (dict, Mapping):
        names = _describe(arguments[0], definitions)
        about = {"propertyNames": {"enum": names["enum"]}} if "enum" in names else {}
        return {"type": "object", **about, "additionalProperties": _describe(arguments[1], definitions)}
    if origin in (list, Sequence) or (origin is tuple and arguments[-1] is ...):
        return {"type": "array", "items": _describe(arguments[0], definitions)}
    if origin is tuple:
        items = [_describe(argument, definitions) for argument in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    raise TypeError(f"no schema for {origin or arguments!r}; add the type to tools/schemas.py")


def format_schema(name: str) -> str:
    """Return the text of a format's schema file."""
    return json.dumps(make_schema(name), indent=2) + "\n"


def find_outdated() -> list[str]:
    """Return the names of the files that differ from what would be generated, and of those that should not exist."""
    wanted = {path_of(name).name: format_schema(name) for name in FORMATS}
    found = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    return sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = Parser(prog="python -m tools.schemas", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; name the files that are not current")
    if parser.parse_args(arguments).check:
        outdated = find_outdated()
        for name in outdated:
            print(f"{name} is not current; run python -m tools.schemas", file=sys.stderr)
        return 1 if outdated else 0
    for name in FORMATS:
        write_text(path_of(name), format_schema(name))
        print(path_of(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())

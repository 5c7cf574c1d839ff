"""The types of payloads: a TypedDict for each event and each definition that events share."""

import json
import keyword
import re
import textwrap
from collections.abc import Iterable
from typing import Any

Schema = dict[str, Any] | bool

WIDTH = 100

# Names that mean something else in Python.
_RENAMED = {"Error": "EventError"}

_PLAIN = {
    "string": "str",
    "boolean": "bool",
    "integer": "int",
    "null": "None",
}

_BEGINNING = '''
"""The payloads of all events, as they are on the wire.

Numbers of documents are `int` or `Decimal`, so that they keep their digits. The `id` of a request
is added when it is sent. The members of an answer are those of one that succeeded: a failure is
raised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, NotRequired, TypedDict

'''


class Payloads:
    """The types of all events, by their names."""

    def __init__(self) -> None:
        self._declared: dict[str, str] = {}
        self._meanings: dict[str, str] = {}

    def add_event(self, schema: dict[str, Any], *, is_sent: bool) -> None:
        """Add the type of an event and the definitions it refers to."""
        name = schema["title"]
        file = _File(self, name, schema.get("$defs", {}), is_sent=is_sent)
        if "properties" in schema:
            required = {*schema.get("required", ()), *schema.get("then", {}).get("required", ())}
            properties = dict(schema["properties"])
            if is_sent:
                required.discard("id")
            else:
                properties.pop("error", None)
            schema = {**schema, "properties": properties, "required": required}
        self.declare(name, file.declaration(name, schema))

    def take(self, names: Iterable[str], meaning: str) -> tuple[str, bool]:
        """Return the first name that is free or means the same, and whether it was free."""
        for name in names:
            is_new = name not in self._meanings
            if self._meanings.setdefault(name, meaning) == meaning:
                return name, is_new
        raise ValueError(f"no name is left for {meaning}")

    def declare(self, name: str, text: str) -> None:
        """Add a declaration."""
        self._declared[name] = text

    def module(self) -> str:
        """Return the module with the types."""
        # An alias may name a class, and classes name aliases only as texts.
        texts = [text for _, text in sorted(self._declared.items())]
        texts.sort(key=lambda text: " = " in text.partition("\n")[0])
        return _BEGINNING + "\n\n".join(texts)


class _File:
    """One schema file: its references are names of its own definitions."""

    def __init__(
        self, payloads: Payloads, event: str, definitions: dict[str, Schema], *, is_sent: bool
    ) -> None:
        self._payloads = payloads
        self._event = event
        self._definitions = definitions
        self._is_sent = is_sent
        self._names: dict[str, str] = {}

    def declaration(self, name: str, schema: Schema) -> str:
        """Declare the type of a schema under a name."""
        if isinstance(schema, bool) or "properties" not in schema:
            description = "" if isinstance(schema, bool) else schema.get("description", "")
            return f"{name} = {self._type(schema, name)}\n" + documented(description, "")
        required = schema.get("required", ())
        members = [
            (member, self._member(member, inner, name, is_required=member in required), inner)
            for member, inner in sorted(schema["properties"].items())
        ]
        if all(member.isidentifier() and not keyword.iskeyword(member) for member, _, _ in members):
            return _class(name, schema, members)
        return _function(name, schema, members)

    def _member(self, member: str, schema: Schema, owner: str, *, is_required: bool) -> str:
        type_ = self._type(schema, owner + member[0].upper() + member[1:])
        return type_ if is_required else f"NotRequired[{type_}]"

    def _type(self, schema: Schema, name: str) -> str:
        """Return the type of a schema; one with members is declared under the name."""
        if isinstance(schema, bool):
            return "Any"
        if "$ref" in schema:
            return self._named(schema["$ref"].rpartition("/")[2])
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            return f"Literal[{', '.join(map(repr, schema['enum']))}]"
        if branches := schema.get("oneOf") or schema.get("anyOf"):
            return _union(self._type(branch, _branch(branch, name)) for branch in branches)
        types = schema.get("type")
        if types is None:
            return "Any"
        types = types if isinstance(types, list) else [types]
        return _union(self._plain(type_, schema, name) for type_ in types)

    def _plain(self, type_: str, schema: dict[str, Any], name: str) -> str:
        if type_ == "array":
            item = self._type(schema.get("items", True), name)
            return f"Sequence[{item}]" if self._is_sent else f"list[{item}]"
        if type_ == "number":
            return "float | Decimal" if self._is_sent else "int | Decimal"
        if type_ != "object":
            return _PLAIN[type_]
        if "properties" in schema:
            name, _ = self._payloads.take((name, f"{name}Too"), json.dumps(schema))
            self._payloads.declare(name, self.declaration(name, schema))
            return name
        member = self._type(schema.get("additionalProperties", True), name)
        return f"Mapping[str, {member}]" if self._is_sent else f"dict[str, {member}]"

    def _named(self, name: str) -> str:
        """Return the name of a definition's type, which is declared if it is not yet."""
        if name not in self._names:
            plain = _RENAMED.get(name, name)
            names = (plain, f"{plain}Input") if self._is_sent else (plain,)
            names = (*names, f"{self._event}{plain}")
            taken, is_new = self._payloads.take(names, self._meaning(name))
            # Before its members are declared, because they may refer to it.
            self._names[name] = taken
            if is_new:
                self._payloads.declare(taken, self.declaration(taken, self._definitions[name]))
        return self._names[name]

    def _meaning(self, name: str) -> str:
        """Return what is the same for definitions that may share a type."""
        found: dict[str, Any] = {}
        waiting = [name]
        while waiting:
            if (one := waiting.pop()) not in found:
                found[one] = _without_descriptions(self._definitions[one])
                waiting += re.findall(r'"#/\$defs/(\w+)"', json.dumps(found[one]))
        text = json.dumps(found, sort_keys=True)
        # Lists, maps and numbers are accepted in more forms than they are answered in.
        depends = re.search(r'"(array|number|additionalProperties)"', text)
        return text + (f" sent: {self._is_sent}" if depends else "")


def _class(name: str, schema: dict[str, Any], members: list[tuple[str, str, Schema]]) -> str:
    lines = [f"class {name}(TypedDict):\n", documented(_sentence(name, schema), "    ")]
    for member, type_, inner in members:
        lines.append(f"    {member}: {type_}\n")
        lines.append(documented("" if isinstance(inner, bool) else inner.get("description", "")))
    return "".join(lines)


def _function(name: str, schema: dict[str, Any], members: list[tuple[str, str, Schema]]) -> str:
    """Declare a type with a member whose name Python cannot write as such."""
    lines = [f'{name} = TypedDict("{name}", {{\n']
    for member, type_, inner in members:
        text = "" if isinstance(inner, bool) else inner.get("description", "")
        lines.extend(f"    # {line}\n" for line in _wrapped(text, WIDTH - 6))
        lines.append(f'    "{member}": "{type_}",\n')
    return "".join([*lines, "})\n", documented(_sentence(name, schema), "")])


def _without_descriptions(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_descriptions(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    texts = isinstance(schema.get("description"), str)
    return {
        name: _without_descriptions(inner)
        for name, inner in schema.items()
        if not (texts and name == "description")
    }


def _branch(schema: Schema, name: str) -> str:
    """Name one of several types after what tells it from the others."""
    if isinstance(schema, bool) or "properties" not in schema:
        return name
    members = [inner for inner in schema["properties"].values() if isinstance(inner, dict)]
    constants = [inner["const"] for inner in members if "const" in inner]
    telling = str((constants or [one for one in schema["required"] if one != "id"])[0])
    return name + telling[0].upper() + telling[1:]


def _sentence(name: str, schema: dict[str, Any]) -> str:
    return str(schema.get("description") or f"The members of `{name}`.")


def documented(text: str, indent: str = "    ") -> str:
    """Write a docstring."""
    if not text:
        return ""
    lines = _wrapped(text, WIDTH - len(indent) - 6)
    quote = 'r"""' if "\\" in text else '"""'
    body = f"\n{indent}".join(lines)
    end = f"\n{indent}" if len(lines) > 1 else ""
    return f'{indent}{quote}{body}{end}"""\n'


def _wrapped(text: str, width: int) -> list[str]:
    return [
        line
        for paragraph in text.splitlines()
        for line in (textwrap.wrap(paragraph, width, break_long_words=False) or [""])
    ]


def _union(types: Any) -> str:
    distinct = list(dict.fromkeys(part for type_ in types for part in _parts(type_)))
    if "Any" in distinct:
        return "Any"
    literals = [one for one in distinct if one.startswith("Literal[")]
    if len(literals) > 1:
        values = ", ".join(one.removeprefix("Literal[")[:-1] for one in literals)
        distinct = [f"Literal[{values}]", *(one for one in distinct if one not in literals)]
    return " | ".join(distinct)


def _parts(type_: str) -> list[str]:
    """Divide a union, unless its parts are within brackets."""
    return type_.split(" | ") if "[" not in type_ else [type_]

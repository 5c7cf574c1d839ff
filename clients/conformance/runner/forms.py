"""Forms: what a scenario expects of an answer or an event, and the variables it remembers."""

import re
from typing import Any

from .documents import Number, encode

Variables = dict[str, Any]

_VARIABLE = re.compile(r"\$[a-z][A-Za-z0-9]*")
_OF_THE_PROGRAM = "$entityId"
_SHOWN = 300


class FormError(Exception):
    """A form cannot be used; the scenario is wrong."""


def filled(form: Any, variables: Variables) -> Any:
    """Replace every variable, and every text that is only described, by its value.

    Raises:
        FormError: nothing was remembered under such a name.

    """
    match form:
        case dict() if "$text" in form:
            return "x" * int(form["$text"].digits)
        case dict():
            return {name: filled(member, variables) for name, member in form.items()}
        case list():
            return [filled(item, variables) for item in form]
        case str() if _VARIABLE.fullmatch(form) and form != _OF_THE_PROGRAM:
            if form[1:] not in variables:
                raise FormError(f"nothing was remembered as {form}")
            return variables[form[1:]]
    return form


def difference(form: Any, seen: Any, variables: Variables, path: str = "") -> str | None:
    """Compare, and return the first difference; None if there is none.

    What the form saves is added to the variables.
    """
    where = path or "all of it"
    match form:
        case {"$save": name}:
            if seen is None:
                return f"{where}: expected a value, found nothing"
            variables[name] = seen
            return None
        case {"$any": True}:
            return None
        case {"$missing": True}:
            return None if seen is None else f"{where}: expected nothing, found {shown(seen)}"
        case {"$matches": pattern}:
            if isinstance(seen, str) and re.search(pattern, seen):
                return None
            return f"{where}: expected a text like {pattern!r}, found {shown(seen)}"
        case {"$not": other}:
            is_it = difference(other, seen, dict(variables), path) is None
            return f"{where}: expected anything but {shown(seen)}" if is_it else None
        case {"$one-of": forms}:
            if any(difference(one, seen, variables, path) is None for one in forms):
                return None
            return f"{where}: expected one of {shown(forms)}, found {shown(seen)}"
        case {"$text": _}:
            form = filled(form, variables)
        case dict():
            if not isinstance(seen, dict):
                return f"{where}: expected an object, found {shown(seen)}"
            members = (
                difference(member, seen.get(name), variables, f"{path}.{name}")
                for name, member in form.items()
            )
            return next((found for found in members if found), None)
        case list():
            if not isinstance(seen, list) or len(seen) != len(form):
                return f"{where}: expected a list of {len(form)}, found {shown(seen)}"
            items = (
                difference(one, other, variables, f"{path}[{place}]")
                for place, (one, other) in enumerate(zip(form, seen, strict=True))
            )
            return next((found for found in items if found), None)
        case str():
            form = filled(form, variables)
    if _same(form, seen):
        return None
    return f"{where}: expected {shown(form)}, found {shown(seen)}"


def _same(form: Any, seen: Any) -> bool:
    # `True == 1` is no concern: numbers are of a class of their own.
    return type(form) is type(seen) and bool(form == seen)


def shown(value: Any) -> str:
    """Write a value for people, shortened."""
    text = value.digits if isinstance(value, Number) else encode(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"

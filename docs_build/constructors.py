"""What the code says of a constructor's arguments: type, allowed values, meaning."""

from __future__ import annotations

import inspect
import re
import textwrap
import typing
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any

from triptych.config.types import WORDS, import_target, types_of
from triptych.ranges import Range

LIKEWISE = re.compile(r"[;,](?: see [^;]*;)? ((?:``\w+``(?:, | and )?)+) likewise")
SECTION = re.compile(r"^(\w[\w ]*):$")


@cache
def summary(target: str) -> str:
    """Return the first sentence of a class's docstring, as one line."""
    first = (inspect.getdoc(import_target(target)) or "").partition("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=\.)\s(?=[A-Z])", first)[0]


@cache
def argument_types(target: str) -> dict[str, str]:
    """Return the type of each argument of a constructor in words; empty where the annotation names a class."""
    try:
        parameters = inspect.signature(import_target(target), eval_str=True).parameters.values()
    except (NameError, TypeError, ValueError):  # a library's own way of writing them
        return {}
    return {one.name: in_words(one.annotation) for one in parameters}


@cache
def argument_ranges(target: str) -> dict[str, str]:
    """Return the range of each argument of a constructor whose annotation names one, in words."""
    try:
        parameters = inspect.signature(import_target(target), eval_str=True).parameters.values()
    except (NameError, TypeError, ValueError):
        return {}
    return {one.name: words for one in parameters if (words := range_in_words(one.annotation))}


def range_in_words(annotation: Any) -> str:
    """Return the range that an annotation names, such as ``at least 1``; empty if it names none."""
    ranges = [one for _, one in types_of(annotation) if isinstance(one, Range)]
    return str(ranges[0]).removeprefix("of ").replace("at least 0 and below 1", "0 to below 1") if ranges else ""


def in_words(annotation: Any) -> str:
    """Return a type as words, such as ``a number or null``; empty for one that is no plain value."""
    parts = [one for one, _ in types_of(annotation)]
    words = [WORDS.get(part, _container(part)) for part in parts]
    return " or ".join(words) if all(words) else ""


def _container(annotation: Any) -> str:
    origin = typing.get_origin(annotation) or annotation
    if not isinstance(origin, type) or origin is inspect.Parameter.empty:
        return ""
    if issubclass(origin, dict):
        return "keys with values"
    return "a list" if issubclass(origin, list | tuple) or origin is Sequence else ""


@cache
def argument_meanings(target: str) -> dict[str, str]:
    """Return what the docstrings say of each argument: the class's own, and those of what it is made of."""
    found: dict[str, str] = {}
    for part in parts_of(import_target(target)):
        for name, meaning in described(inspect.getdoc(part) or "").items():
            found.setdefault(name, meaning)
    return {name: meaning for name, meaning in found.items() if not meaning.startswith(("see ", "as in "))}


def parts_of(constructor: Any) -> list[Any]:
    """Return a class with its bases, and the dataclass of settings that its ``config`` is, with its bases."""
    if not inspect.isclass(constructor):
        return [constructor]
    parts = [one for one in constructor.__mro__ if one is not object]
    original = getattr(constructor.__init__, "__wrapped__", None)
    if original is not None and "config" in (hints := typing.get_type_hints(original)):
        parts += [one for one in hints["config"].__mro__ if one is not object]
    return parts


def described(docstring: str) -> dict[str, str]:
    """Return the entries of a docstring's sections ``Args`` and ``Attributes``, by the name of each entry.

    ``a: number of pairs; ``b`` likewise.`` describes both.
    """
    found: dict[str, str] = {}
    section = ""
    names: list[str] = []
    for line in docstring.splitlines():
        if heading := SECTION.match(line):
            section = heading[1]
        elif section not in ("Args", "Attributes"):
            continue
        elif entry := re.match(r"^ {4}(\w[\w, ]*?)(?: \([^)]*\))?: (.*)", line):
            names = entry[1].split(", ")
            found |= dict.fromkeys(names, entry[2].strip())
        elif line.startswith(" " * 8):
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
        elif line.strip():
            names = []
    for meaning in [*found.values()]:
        if shared := LIKEWISE.search(meaning):
            text = meaning[: shared.start()] + "."
            found = dict.fromkeys(re.findall(r"\w+", shared[1].replace(" and ", " ")), text) | found
    return found


def schema_fields(schema: type, prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Give dotted key, type, default and meaning of each field of a schema's dataclass, and of dataclasses in it.

    The keys of the entries of a list follow its key and ``[]``.
    """
    meanings = described(inspect.getdoc(schema) or "")
    hints = typing.get_type_hints(schema, include_extras=True)
    for one in fields(schema):  # type: ignore[arg-type]
        name, hint = f"{prefix}{one.name}", hints[one.name]
        meaning = meanings.get(one.name, summary_of(schema) if prefix else "")
        inner = typing.get_args(hint)[0] if typing.get_origin(hint) is list else hint
        if inner is hint and is_dataclass(hint):
            yield from schema_fields(hint, f"{name}.")
            continue
        yield name, in_words(hint), _default(one.default, one.default_factory), meaning
        if is_dataclass(inner):
            yield from schema_fields(inner, f"{name}[].")  # type: ignore[arg-type]


def summary_of(schema: type) -> str:
    return " ".join(textwrap.dedent(inspect.getdoc(schema) or "").partition("\n\n")[0].split())


def _default(value: Any, factory: Any) -> str:
    if value is MISSING:
        value = "" if factory is MISSING else factory()
    if isinstance(value, str):
        return "must be given" if value == "???" else value
    return "null" if value is None else str(value)

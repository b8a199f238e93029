"""Allowed values of configuration keys, read from the checks that refuse all others (``triptych.errors``)."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from typing import Any

from docs_build.constructors import argument_ranges, parts_of, range_in_words
from triptych.config import schema, validation
from triptych.config.types import import_target, types_of

CHECKS = ("require_one_of", "require_at_least", "require_probability", "_require")


@cache
def of_arguments(target: str) -> dict[str, str]:
    """Return the allowed values of a constructor's arguments, in words, by the argument's name."""
    checked = {key.rpartition(".")[2]: allowed for key, allowed in _checks(import_target(target), set())}
    return argument_ranges(target) | checked


@cache
def of_keys() -> dict[str, str]:
    """Return the allowed values of keys that no constructor takes, by the dotted key."""
    found = dict(_ranges(schema.Train))
    for _, function in inspect.getmembers(validation, inspect.isfunction):
        if function.__module__ == validation.__name__:
            found |= dict(_calls(function))
    return found


def _ranges(keys: type, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Give the dotted key and the range of each key of a dataclass, and of the sections below it."""
    for name, annotation in typing.get_type_hints(keys, include_extras=True).items():
        for kind, said in types_of(annotation):
            section = said if is_dataclass(said) else kind
            if is_dataclass(section):
                yield from _ranges(section, f"{prefix}{name}.")  # type: ignore[arg-type]
        if words := range_in_words(annotation):
            yield f"{prefix}{name}", words


def _checks(constructor: Any, seen: set[Any]) -> Iterator[tuple[str, str]]:
    """Give the checks of a constructor, and of the parts of triptych that it builds or calls."""
    for part in parts_of(constructor):
        if part in seen or not part.__module__.startswith("triptych"):
            continue
        seen.add(part)
        functions = (
            [vars(part).get(name) for name in ("__init__", "__post_init__")] if inspect.isclass(part) else [part]
        )
        for function in filter(inspect.isfunction, map(inspect.unwrap, filter(None, functions))):
            yield from _calls(function)
            for name in _called(function):
                inner = getattr(sys.modules[function.__module__], name, None)
                if inspect.isclass(inner) or inspect.isfunction(inner):
                    yield from _checks(inner, seen)


def _calls(function: Any) -> Iterator[tuple[str, str]]:
    """Give the dotted key and the allowed values of each check that a function makes."""
    module = vars(sys.modules[function.__module__])
    for call in _tree(function):
        kind = call.func.id if isinstance(call.func, ast.Name) else ""
        if kind not in CHECKS:
            continue
        arguments = [_value(node, module) for node in call.args]
        if kind == "require_one_of":
            section, allowed = arguments[1], ", ".join(map(str, arguments[0] or ()))
        elif kind == "require_at_least":
            section, allowed = arguments[1], f"at least {arguments[0]}"
        elif kind == "require_probability":
            section, allowed = arguments[0], "0 to below 1"
        else:
            yield str(arguments[0]), str(arguments[-1] or "")
            continue
        for keyword in call.keywords:
            yield ".".join(filter(None, [section, keyword.arg])), allowed


def _called(function: Any) -> list[str]:
    return [call.func.id for call in _tree(function) if isinstance(call.func, ast.Name)]


def _tree(function: Any) -> list[ast.Call]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except OSError:  # made by `dataclass`
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _value(node: ast.expr, module: dict[str, Any]) -> Any:
    """Return the value of an expression of names of a module; None where it needs a function's variables."""
    try:
        return eval(compile(ast.Expression(node), "", "eval"), module)
    except (NameError, AttributeError, TypeError):
        return None

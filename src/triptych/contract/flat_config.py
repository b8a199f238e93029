"""Constructors whose many settings are written once, as a dataclass, and arrive as the flat keys of a YAML."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar, get_type_hints

Constructor = TypeVar("Constructor", bound=Callable[..., None])


def flat_config(constructor: Constructor) -> Constructor:
    """Let a constructor ``__init__(self, config, …)`` also take the fields of its ``config`` as keywords.

    ``Model(config=Config(d_model=8), vocabulary=…)`` and ``Model(d_model=8, vocabulary=…)`` are then the same. The
    signature names the fields with their types, so that a configuration is checked against them.

    Raises:
        TypeError: a keyword that is neither a field nor a parameter, or one that is missing.
    """
    config = get_type_hints(constructor)["config"]
    signature = inspect.signature(constructor, eval_str=True)
    types = get_type_hints(config, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    of_fields = [inspect.Parameter(field.name, keyword, annotation=types[field.name]) for field in fields(config)]
    first, *others = (one for one in signature.parameters.values() if one.name != "config")
    flat = signature.replace(parameters=[first, *of_fields, *(one.replace(kind=keyword) for one in others)])

    @functools.wraps(constructor)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if not args and "config" not in kwargs:
            flat.bind(self, **kwargs)
            kwargs["config"] = config(**{field.name: kwargs.pop(field.name) for field in fields(config)})
        constructor(self, *args, **kwargs)

    init.__signature__ = flat  # type: ignore[attr-defined]
    return init  # type: ignore[return-value]

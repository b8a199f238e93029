"""Check the types of a configuration against the annotations of the constructors that it names."""

from __future__ import annotations

import inspect
import logging
import types
import typing
from typing import Any

from hydra.utils import get_object
from omegaconf import DictConfig, ListConfig, OmegaConf

from triptych.errors import UserError

WORDS: dict[Any, str] = {int: "an integer", float: "a number", bool: "true or false", str: "text", type(None): "null"}


def check_types(config: DictConfig, prefix: str = "") -> None:
    """Check that each ``_target_`` can be imported, and every value below it against its parameter's annotation.

    Parameters of other types than those in ``WORDS`` are left to their constructors.

    Raises:
        UserError: the first ``_target_`` that cannot be imported, or value of another type.
    """
    hints = _hints(config["_target_"], prefix) if "_target_" in config else {}
    for name in map(str, config):
        if OmegaConf.is_missing(config, name):
            continue
        value, key = config[name], f"{prefix}{name}"
        if isinstance(value, DictConfig):
            check_types(value, f"{key}.")
            continue
        hint = hints.get(name, inspect.Parameter.empty)
        admitted = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
        if all(one in WORDS for one in admitted) and not any(_fits(value, one) for one in admitted):
            shown = OmegaConf.to_yaml(value).strip() if isinstance(value, ListConfig) else value
            raise UserError(f"{key}={shown} must be {' or '.join(WORDS[one] for one in admitted)}.")


def _hints(target: str, prefix: str) -> dict[str, Any]:
    """Return the annotations of a constructor's parameters, by their names."""
    try:
        constructor = import_target(target)
    except Exception as error:  # whatever the module raises
        reason = str(error.__cause__ or error).splitlines()[0].rstrip(".:")
        raise UserError(f"{prefix}_target_={target} cannot be imported ({reason}).") from error
    try:
        parameters = inspect.signature(constructor, eval_str=True).parameters.values()
    except (NameError, TypeError, ValueError):  # a library's own way of writing them
        return {}
    return {parameter.name: parameter.annotation for parameter in parameters}


def import_target(target: str) -> Any:
    """Return what a ``_target_`` names, without the line that Hydra logs if there is no such thing."""
    log = logging.getLogger("hydra.utils")
    before, log.disabled = log.disabled, True
    try:
        return get_object(target)
    finally:
        log.disabled = before


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type. An integer is also a number; a truth value is neither."""
    if isinstance(value, bool) or hint is bool:
        return isinstance(value, bool) and hint is bool
    return isinstance(value, int | float if hint is float else hint)

"""What Hydra and OmegaConf say of a mistake in a configuration, as sentences for a user: one table of rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from triptych.config import schema
from triptych.config.hints import not_left_out, word_alone
from triptych.config.key_groups import LISTS
from triptych.config.search_path import config_folders
from triptych.config.suggestions import options_without_file, suggestion, unknown_option

TYPES = {
    "could not be converted to Integer": "an integer",
    "could not be converted to Float": "a number",
    "not a valid bool": "true or false",
    "is not Optional": "a value, and not null",
    "is not a ListConfig": "a list",
    "Cannot convert '.*' to string": "text",
    r"Cannot assign .* to Dict|not a subclass of|type hint 'typing.Dict": "a section with keys of its own",
}
"""What a value must be, by what OmegaConf says when it refuses one."""


@dataclass(frozen=True)
class ConfigError:
    """An error of Hydra or OmegaConf.

    Attributes:
        text: its message.
        cause: message of the error that it was raised from.
        command: whose configuration was composed, such as ``train``.
        overrides: that were given to it.
    """

    text: str
    cause: str
    command: str
    overrides: Sequence[str]


Found = re.Match[str]
Rule = tuple[str, Callable[[Found, ConfigError], str | None]]
"""A pattern of messages, and a function of its match that returns the sentence, or None for errors of another kind."""


def explain_config(error: BaseException, command: str, overrides: Sequence[str]) -> str:
    """Return an error of Hydra or OmegaConf as one sentence.

    Args:
        error: the error.
        command: whose configuration was composed, such as ``train``.
        overrides: that were given to it.
    """
    if any(not one.strip() for one in overrides):
        return "an argument is empty, as an unset variable of the shell leaves it; give key=value, or take it away."
    met = ConfigError(str(error), str(error.__cause__), command, overrides)
    for pattern, sentence in RULES:
        if (found := re.search(pattern, met.text)) and (said := sentence(found, met)):
            return said
    lines = [line.strip() for line in met.text.splitlines() if line.strip()]
    return "; ".join(lines[:2]).replace(":;", ":").rstrip(".") + "."


def _nothing_to_leave_out(found: Found, met: ConfigError) -> str:
    key = found[1]
    if key in LISTS:
        return f"~{key}: {key} is a list; give what shall be in it, {key}=[…]."
    instead = suggestion(key, met.command, met.overrides)
    if key in schema.COMMANDS[met.command].__dataclass_fields__ or f" {key}?" in instead:
        return f"~{key}: {key} has nothing that could be left out; take ~{key} away."
    return f"{key} is no configuration key{instead or '.'}"


def _needed(found: Found, met: ConfigError) -> str | None:
    return not_left_out(found[1], found[2]) if "does not support deletion" in met.cause else None


def _unreadable(found: Found, met: ConfigError) -> str:
    said = found[0].splitlines()[0]
    named = [one for one in met.overrides if said.endswith(f": {one}")]  # Hydra does not always name it
    odd = [one for one in met.overrides if not one.isascii() or set(one) & set("'\"()[]{}")]
    given = next(iter([*named, *odd]), "the command line")
    key, equals, _ = given.partition("=")
    if named and not equals:
        return _without_equals(given, met)
    return f"{given} cannot be read; put a value with such characters into two pairs of quotes: '{key}=\"…\"'."


def _without_equals(word: str, met: ConfigError) -> str:
    return f"{word} has no =; {word_alone(word, met.command, config_folders())}"


def _unknown_key(found: Found, met: ConfigError) -> str:
    return f"{found[1]} is no configuration key{suggestion(found[1], met.command, met.overrides) or '.'}"


def _unknown_option(found: Found, _: ConfigError) -> str:
    group, option = found[1].rsplit("/", 1)
    return f"{group}={option} is unknown; choose one of {', '.join(found[2].split())}."


def _wrong_value(found: Found, met: ConfigError) -> str:
    if section := re.search(r"is not a subclass of (\w+)", met.cause):
        key = found[1].partition("=")[0]
        inner = ", ".join(f"{key}.{name}" for name in getattr(schema, section[1]).__dataclass_fields__)
        return f"{found[1]} is no value, since {key} has keys of its own; give one of {inner}."
    if must := _what_it_must_be(met.cause):
        return f"{found[1]} must be {must}."
    return f"{found[1]}: {met.cause.splitlines()[0].rstrip('.')}."


def _number_for_option(_: Found, met: ConfigError) -> str:
    """The option of a group was a number, and options are names of files."""
    return f"{', '.join(options_without_file(met.overrides)) or met.text}: there is no such file in conf/."


def _wrong_type(found: Found, met: ConfigError) -> str | None:
    return f"{found[1]} must be {must}." if (must := _what_it_must_be(met.text)) else None


def _what_it_must_be(text: str) -> str | None:
    """Return which type OmegaConf asks for when it refuses a value, as ``config.types`` names it; None for no type."""
    return next((words for pattern, words in TYPES.items() if re.search(pattern, text)), None)


RULES: Sequence[Rule] = (
    (r"Could not delete (?:from config\. )?'~?([^'=]+)[^']*'\.? (?:No match|does not)", _nothing_to_leave_out),
    (r"Error merging override (~?(\S+))", _needed),
    (r"(?s)\AMissing key.*?full_key: (\S+)", lambda found, _: not_left_out(f"~{found[1]}", found[1])),
    (
        r"(?s)missing (?:a|1) required (?:keyword-only |positional )?argument: '(\w+)'.*full_key: (\S+)",
        lambda found, _: f"{found[2]}.{found[1]}=… must be given.",
    ),
    (r"Error parsing override '([^'=]+)'", lambda found, met: _without_equals(found[1], met)),
    (
        r"(?:token recognition error|no viable alternative|LexerNoViableAlt|mismatched input|extraneous input).*",
        _unreadable,
    ),
    (r"Could not override '([^']+)'", _unknown_key),
    (
        r"Could not (?:find|load) 'hydra/launcher/([^']+)'",
        lambda found, _: (
            f"the launcher {found[1]} is not installed; pip install -e '.[cluster]' for Slurm, or "
            "'.[parallel]' for joblib."
        ),
    ),
    (
        r"(?s)Could not find '([^']+)'.*?Available options in '[^']+':\s*(.*?)\n(?:Config|$|\n)",
        _unknown_option,
    ),
    (r"Could not (?:find|load) '([^']+)'", lambda found, _: unknown_option(*found[1].split("/", 1))),
    (r"Error merging override (.*)", _wrong_value),
    (
        r"(?m)Ambiguous value for argument '(.+)'$",
        lambda found, _: f"{found[1]} names several values; add -m to run each of them.",
    ),
    (r"Config group override", _number_for_option),
    (
        r"Interpolation key '([^']+)' not found\s+full_key: (\S+)",
        lambda found, _: f"{found[2]}=${{{found[1]}}} refers to {found[1]}, which is no key; give a value.",
    ),
    (r"full_key: (\S+)", _wrong_type),
)
"""The first rule that has a sentence counts."""

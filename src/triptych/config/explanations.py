"""Errors that a user can mend, each in one sentence."""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from omegaconf import DictConfig, OmegaConf

from triptych.config import schema
from triptych.config.hints import hint, not_left_out, options_with_key, word_alone
from triptych.config.key_groups import LISTS
from triptych.config.search_path import config_folders
from triptych.config.types import OF_HYDRA
from triptych.errors import UserError, is_shortage_of_memory, one_line

ALIKE = 0.75
"""Minimum ``difflib`` similarity for suggesting a key."""

TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE)
"""What the system says when a process, or all of them, may open no more files."""
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


@contextmanager
def explained(command: str, overrides: Sequence[str]) -> Iterator[None]:
    """Raise a ``UserError`` in place of an error that Hydra or the system raises for a user's mistake.

    Args:
        command: whose configuration is composed, such as ``train``.
        overrides: that were given to it, for suggestions.
    """
    try:
        yield
    except (UserError, BrokenPipeError):  # the latter is no mistake: nobody reads the output any more
        raise
    except Exception as error:
        if (sentence := explain(error, command, overrides)) is None:
            raise
        raise UserError(sentence) from error


def explain(error: BaseException, command: str = "train", overrides: Sequence[str] = ()) -> str | None:
    """Return a user's mistake as one sentence, or None for an error that is not the user's."""
    causes = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    for cause in causes:
        if isinstance(cause, UserError):
            return str(cause)
    from_hydra = type(error).__module__.split(".")[0] in ("hydra", "omegaconf")
    for cause in causes if from_hydra else [error]:
        if isinstance(cause, OSError) and cause.strerror and cause.errno not in TOO_MANY_FILES:
            full = cause.errno in (errno.ENOSPC, errno.EDQUOT)
            file = (cause.filename2 if full else None) or cause.filename  # of a copy, the second is written
            place = f"{file}: " if file else ""
            remedy = "make room there, or give another place" if full else "give a place that can be used"
            return f"{place}{cause.strerror[0].lower()}{cause.strerror[1:]}; {remedy}."
    for cause in causes:
        if sentence := _explain_machine(cause):
            return sentence
    if from_hydra or (isinstance(error, ValueError) and "Config group override" in str(error)):
        return _explain_config(error, command, overrides)
    return None


def _explain_machine(error: BaseException) -> str | None:
    """Return what this machine lacks, a package or memory, as one sentence; None for any other error."""
    if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("triptych"):
        return f"{one_line(error)}: install that package, or leave out what needs it."
    if isinstance(error, OSError) and error.errno in TOO_MANY_FILES:
        return "too many files are open; allow more (ulimit -n 4096), or lower strategy.workers and jobs."
    if is_shortage_of_memory(error):
        return (
            f"memory was short ({one_line(error) or 'no more can be had'}); lower batch.tokens, search_tokens, "
            "search.beam_size or the sizes of the model."
        )
    return None


def _explain_config(error: BaseException, command: str, overrides: Sequence[str]) -> str:
    """Return Hydra's complaint about a configuration as one sentence."""
    text = str(error)
    if any(not one.strip() for one in overrides):
        return "an argument is empty, as an unset variable of the shell leaves it; give key=value, or take it away."
    if sentence := _explain_left_out(text, str(error.__cause__), command, overrides):
        return sentence
    if found := re.search(r"Error parsing override '([^'=]+)'", text):
        return f"{found[1]} has no =; {word_alone(found[1], command, config_folders())}"
    if found := re.search(
        r"(?:token recognition error|no viable alternative|LexerNoViableAlt|mismatched input|extraneous input).*", text
    ):
        said = found[0].splitlines()[0]
        named = [one for one in overrides if said.endswith(f": {one}")]  # Hydra does not always name it
        odd = [one for one in overrides if not one.isascii() or set(one) & set("'\"()[]{}")]
        given = next(iter([*named, *odd]), "the command line")
        key, equals, _ = given.partition("=")
        if named and not equals:
            return f"{given} has no =; {word_alone(given, command, config_folders())}"
        return f"{given} cannot be read; put a value with such characters into two pairs of quotes: '{key}=\"…\"'."
    if found := re.search(r"Could not override '([^']+)'", text):
        return f"{found[1]} is no configuration key{_suggestion(found[1], command, overrides) or '.'}"
    if found := re.search(r"Could not (?:find|load) 'hydra/launcher/([^']+)'", text):
        return (
            f"the launcher {found[1]} is not installed; pip install 'triptych[cluster]' for Slurm, or "
            "'triptych[parallel]' for joblib."
        )
    if found := re.search(
        r"Could not find '([^']+)'.*?Available options in '([^']+)':\s*(.*?)\n(?:Config|$|\n)", text, re.S
    ):
        group, _, option = found[1].rpartition("/")
        return f"{group}={option} is unknown; choose one of {', '.join(found[3].split())}."
    if found := re.search(r"Could not (?:find|load) '([^']+)'", text):
        return _unknown_option(*found[1].split("/", 1))
    if found := re.search(r"Error merging override (.*)", text):
        if section := re.search(r"is not a subclass of (\w+)", str(error.__cause__)):
            key = found[1].partition("=")[0]
            inner = ", ".join(f"{key}.{name}" for name in getattr(schema, section[1]).__dataclass_fields__)
            return f"{found[1]} is no value, since {key} has keys of its own; give one of {inner}."
        if must := _what_it_must_be(str(error.__cause__)):
            return f"{found[1]} must be {must}."
        return f"{found[1]}: {str(error.__cause__).splitlines()[0].rstrip('.')}."
    if found := re.search(r"Ambiguous value for argument '(.+)'$", text, re.M):
        return f"{found[1]} names several values; add -m to run each of them."
    if "Config group override" in text:  # the option was a number, and options are files' names
        return f"{', '.join(_options_without_file(overrides)) or text}: there is no such file in conf/."
    if found := re.search(r"Interpolation key '([^']+)' not found\s+full_key: (\S+)", text):
        return f"{found[2]}=${{{found[1]}}} refers to {found[1]}, which is no key; give a value."
    if (whole := re.search(r"full_key: (\S+)", text)) and (must := _what_it_must_be(text)):
        return f"{whole[1]} must be {must}."
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(lines[:2]).replace(":;", ":").rstrip(".") + "."


def _explain_left_out(text: str, cause: str, command: str, overrides: Sequence[str]) -> str | None:
    """Return what is said of a key that is needed and not there; None if the error is of another kind."""
    if found := re.search(r"Could not delete (?:from config\. )?'(~?([^'=]+))[^']*'\.? (?:No match|does not)", text):
        key = found[2]
        if key in LISTS:
            return f"~{key}: {key} is a list; give what shall be in it, {key}=[…]."
        suggestion = _suggestion(key, command, overrides)
        if key in schema.COMMANDS[command].__dataclass_fields__ or f" {key}?" in suggestion:
            return f"~{key}: {key} has nothing that could be left out; take ~{key} away."
        return f"{key} is no configuration key{suggestion or '.'}"
    if "does not support deletion" in cause and (found := re.search(r"Error merging override (~?(\S+))", text)):
        return not_left_out(found[1], found[2])
    where = re.search(r"full_key: (\S+)", text)
    if where and text.startswith("Missing key"):
        return not_left_out(f"~{where[1]}", where[1])
    missing = re.search(r"missing (?:a|1) required (?:keyword-only |positional )?argument: '(\w+)'", text)
    return f"{where[1]}.{missing[1]}=… must be given." if where and missing else None


def _what_it_must_be(text: str) -> str | None:
    """Return which type OmegaConf asks for when it refuses a value, as ``config.types`` names it; None for no type."""
    return next((words for pattern, words in TYPES.items() if re.search(pattern, text)), None)


def _unknown_option(group: str, option: str = "") -> str:
    """Name the options of a group that Hydra does not name: of a list, or in folders such as ``arm=table3/base``."""
    there = sorted(
        path.relative_to(folder / group).with_suffix("")
        for folder in config_folders()
        for path in (folder / group).rglob("*.yaml")
    )
    alike = [one.as_posix() for one in there if option in (one.name, one.parent.name)]
    listed = alike or sorted({f"{one.parts[0]}/…" if len(one.parts) > 1 else one.name for one in there})
    return f"{group}={option} is unknown; choose one of {', '.join(listed)}."


def _options_without_file(overrides: Sequence[str]) -> list[str]:
    """Return the overrides that choose an option that their group does not have."""
    wrong = []
    for override in overrides:
        key, _, values = override.partition("=")
        groups = [folder / key.lstrip("+~").partition("@")[0] for folder in config_folders()]
        if any(group.is_dir() for group in groups) and not all(
            any((group / f"{value}.yaml").exists() for group in groups) for value in values.split(",")
        ):
            wrong.append(override)
    return wrong


def _suggestion(key: str, command: str, overrides: Sequence[str]) -> str:
    """Return ``; `` and what to do instead of giving a key that does not exist; nothing if no key resembles it."""
    from hydra import compose

    from triptych.config.composition import separate_hydra

    others = [o for o in overrides if "=" in o and not o.lstrip("+~").startswith((key, "hydra"))]
    try:
        with separate_hydra():
            config = compose(command, overrides=others)
    except Exception:
        return ""
    keys = _keys(config)
    if found := hint(key, keys, command):
        return f"; {found}"
    last_parts = sorted((one for one in keys if one.rpartition(".")[2] == key), key=len)
    if not last_parts and command == "train" and (found := options_with_key(key, config_folders(), others)):
        return f"; {found}"
    section, _, name = key.rpartition(".")
    siblings = [one.rpartition(".")[2] for one in keys if section and one.rpartition(".")[0] == section]
    siblings = [one for one in siblings if one not in OF_HYDRA]
    if siblings:
        below = {one: one.rpartition(".")[2] for one in keys if one.startswith(f"{section}.")}
        alike = difflib.get_close_matches(name, below.values(), n=1)
        meant = next((one for one, last in below.items() if last in alike), None)
        return f"; did you mean {meant}?" if meant else f"; {section} has {', '.join(siblings)}."
    close = last_parts or difflib.get_close_matches(key, keys, n=1, cutoff=ALIKE)
    return f"; did you mean {close[0]}?" if close else ""


def _keys(config: DictConfig, prefix: str = "") -> list[str]:
    keys = []
    for name in map(str, config):
        keys.append(f"{prefix}{name}")
        inner = config._get_node(name)
        if isinstance(inner, DictConfig) and not OmegaConf.is_missing(config, name):
            keys += _keys(inner, f"{prefix}{name}.")
    return keys

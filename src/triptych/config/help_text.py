"""``triptych COMMAND --help``: the groups and keys that a command takes, with their values and what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from triptych.config.catalog import KINDS, first_sentence, options_of
from triptych.config.composition import compose_unchecked, compose_unchecked_command
from triptych.config.conf_folder import installed_folders
from triptych.config.keys import Group, Key, config_file, groups_of, keys_of, keys_of_group
from triptych.config.search_path import config_folders
from triptych.config.text_columns import in_two_columns, wrapped

MANY = ("experiment", "arm")
"""Groups whose options are too many to be shown here."""
MULTIRUN = "With -m, several values of a key, such as {}, run one after the other."
OWN = "run"
"""Option of a group that stands for what the run was scored with."""


def help_lines(command: str, overrides: Sequence[str]) -> list[str]:
    """Return the help of a command that Hydra configures.

    Args:
        command: such as ``translate``.
        overrides: whose values and options are shown; ``run=…`` shows those of the run.

    Raises:
        Exception: Hydra's own, for overrides that cannot be composed.
    """
    folders = [*config_folders(), *installed_folders()]
    if command == "train":
        composed = compose_unchecked(overrides)
        config, chosen = composed.config, dict(composed.choices)
    else:
        config, chosen = compose_unchecked_command(command, overrides), {}
    lines = [*wrapped(f"usage: triptych {command} [key=value ...] [-m] [--config-dir=FOLDER]"), ""]
    lines += [*wrapped(first_sentence(config_file(command))), *wrapped(MULTIRUN.format(_several(command)))]
    with_run = any(one.startswith("run=") for one in overrides)
    for group in groups_of(command):
        lines += ["", *_group(group, chosen, folders)]
    lines += ["", "Keys:", *in_two_columns(_rows(keys_of(command), config))]
    for group in groups_of(command):
        known = _of_run(group, folders) if OWN in group.options else _chosen(group, chosen, config)
        keys = keys_of_group(known, folders)
        if keys:
            own = OWN in group.options and not with_run
            said = f"{group.key}: without a value here, as the run's test sets were scored" if own else group.key
            if own and group.folder == "search":
                said += ", with the length penalty that was tuned for it"
            lines += ["", *wrapped(f"{said}:"), *in_two_columns(_rows(keys, None if own else config))]
    return lines


def _several(command: str) -> str:
    """Return several values of a key that a command has."""
    if command == "train":
        return "seed=1,2"
    return "search.beam_size=1,4" if any(group.key == "search" for group in groups_of(command)) else "run=A,B"


def _group(group: Group, chosen: dict[str, str], folders: Sequence[Path]) -> list[str]:
    """Return the lines that show a group and its options."""
    said = f": {group.comment}" if group.comment else ""
    listed = f"[{OWN}]" if group.key == "metric" and group.options == (OWN,) else _listed(group)
    title = wrapped(f"{group.key}={chosen.get(group.key) or listed}{said}")
    if group.folder in MANY:
        kind = next((kind for kind, folder in KINDS.items() if folder == group.folder), None)
        return [*title, *([f"  triptych list {kind}"] if kind else [])]
    if "@" in group.key:
        return title  # the options of the group before it
    rows = [(option.name, option.description) for option in options_of(group.folder, folders)]
    return [*title, *in_two_columns(rows)]


def _listed(group: Group) -> str:
    return f"[{','.join(group.options)}]" if len(group.options) > 1 else "".join(group.options) or "null"


def _chosen(group: Group, chosen: dict[str, str], config: DictConfig) -> Group:
    """Return a group with the options that the configuration has: those of a list are named by its keys."""
    choice = chosen.get(group.key)
    if choice is None or choice.startswith("["):
        node = OmegaConf.select(config, group.section)
        return Group(group.key, tuple(map(str, node)) if choice is not None and node else (), "")
    return Group(group.key, (choice,), "")


def _of_run(group: Group, folders: Sequence[Path]) -> Group:
    """Return a group with the first of its options, whose keys the run's own has too."""
    names = [option.name for option in options_of(group.folder, folders)]
    return Group(group.key, tuple(names[:1]), "")


def _rows(keys: Iterable[Key], config: DictConfig | None) -> list[tuple[str, str]]:
    """Return each key with its value, unless the configuration is None, and its comment."""
    rows = []
    for key in keys:
        if key.value:
            rows.append((key.name if config is None else f"{key.name}={_value(key, config)}", key.comment))
        elif key.comment:
            rows.append((f"{key.name}.*", key.comment))
    return rows


def _value(key: Key, config: DictConfig) -> str:
    """Return the value of a key; as its file has it where it depends on one that must be given."""
    try:
        return _shown(OmegaConf.select(config, key.name, throw_on_missing=True))
    except OmegaConfBaseException:
        return "…" if key.value == "???" else key.value


def _shown(value: Any) -> str:
    if isinstance(value, DictConfig):
        return "{…}"
    if isinstance(value, ListConfig):
        return f"[{','.join(map(_shown, value))}]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)

"""Command lines of the commands that Hydra configures: overrides, ``--config-dir``, ``-m``, and Hydra's own options."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import hydra
from omegaconf import DictConfig

from triptych.config import schema
from triptych.config.composition import MULTIRUN, arms_of, compose_command, quoted, register_settings_of
from triptych.config.explanations import explained
from triptych.config.search_path import conf_dir, with_own_folders
from triptych.errors import UserError

SHOWING = ("-h", "--help", "--hydra-help", "-c", "--cfg", "-i", "--info", "--version", "-sc", "--shell-completion")
"""Options with which Hydra shows something and runs nothing."""
CONFIG_DIR = ("--config-dir", "-cd")


@contextmanager
def overrides_of(command: str, arguments: Sequence[str]) -> Iterator[list[str]]:
    """Give the overrides of a command line, ``-m`` among them, with the user's configuration folders in use.

    Raises:
        UserError: an unknown option, or a mistake that Hydra finds in the block.
    """
    folders, rest = split_config_dirs(arguments)
    for one in rest:
        if one.startswith("-") and one not in MULTIRUN:
            raise UserError(f"{one} is no option of {command}; it takes key=value, -m and --config-dir=FOLDER.")
    with explained(command, [one for one in rest if one not in MULTIRUN]), with_own_folders(folders):
        yield rest


def split_config_dirs(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split ``--config-dir FOLDER`` and ``--config-dir=FOLDER`` from the other arguments.

    Raises:
        UserError: no folder follows.
    """
    folders, rest, remaining = [], [], iter(arguments)
    for argument in remaining:
        option, equals, value = argument.partition("=")
        if option not in CONFIG_DIR:
            rest.append(argument)
        elif value or (not equals and (value := next(remaining, ""))):
            folders.append(value)
        else:
            raise UserError(f"{option} needs a folder: {option}=FOLDER.")
    return folders, rest


def asks_to_show(arguments: Sequence[str]) -> bool:
    """Whether a command line only asks Hydra to show something, such as ``--help`` or ``--cfg job``."""
    return any(argument.split("=")[0] in SHOWING for argument in arguments)


def show(command: str, arguments: Sequence[str]) -> int:
    """Let Hydra answer ``--help``, ``--cfg`` and the like."""
    schema.register()
    if command in ("translate", "evaluate"):
        register_settings_of(_run_of(arguments))
    folders, rest = split_config_dirs(arguments)

    def job(config: DictConfig) -> None:
        """Hydra has shown what it was asked for."""

    argv = sys.argv
    sys.argv = [f"triptych {command}", *map(quoted, rest)]
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    try:
        with explained(command, rest), with_own_folders(folders):
            hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name=command)(job)()
    finally:
        sys.argv = argv
    return 0


def configurations(command: str, overrides: Sequence[str]) -> Iterator[DictConfig]:
    """Compose the configuration of a command on a run: one, or one for each arm with ``-m``."""
    if command != "export":
        register_settings_of(_run_of(overrides))
    found = arms_of(command, overrides)
    for arm in [list(overrides)] if found is None else found[1]:
        yield compose_command(command, arm)


def _run_of(overrides: Sequence[str]) -> Path:
    """Return the folder that ``run=…`` names, or one without a run."""
    named = [one.removeprefix("run=").strip("'\"") for one in overrides if one.startswith("run=")]
    return Path(named[-1]) if named else Path(os.devnull)

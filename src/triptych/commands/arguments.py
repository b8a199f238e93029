"""Command lines of the commands that Hydra configures: overrides, ``--config-dir``, ``-m``, and Hydra's own options."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import hydra
from omegaconf import DictConfig

from triptych.config import schema
from triptych.config.completion import FLAGS
from triptych.config.composition import MULTIRUN, arms_of, compose_command, register_settings_of
from triptych.config.explanations import explain, explained
from triptych.config.hints import given_twice, instead_of_option
from triptych.config.keys import CONFIG
from triptych.config.quoting import quoted
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
            raise UserError(f"{one} is no option of {command}; {instead_of_option(one, FLAGS.get(command, ()))}")
    for sentence in given_twice(rest):
        print(f"triptych: {sentence}", file=sys.stderr)
    configured = CONFIG.get(command, command)
    with explained(configured, [one for one in rest if one not in MULTIRUN]), with_own_folders(folders, rest):
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


def shows_only(arguments: Sequence[str]) -> bool:
    """Whether a command line only lets Hydra show something, such as ``--help`` or ``--cfg job``."""
    return any(argument.split("=")[0] in SHOWING for argument in arguments)


def show(command: str, arguments: Sequence[str]) -> int:
    """Show the help of a command, or let Hydra answer ``--cfg`` and the like."""
    schema.register()
    folders, rest = split_config_dirs(arguments)
    if {"-h", "--help"} & {*rest}:
        from triptych.config.help_text import help_lines

        overrides = [one for one in rest if not one.startswith("-")]
        with explained(command, overrides), with_own_folders(folders, rest):
            print("\n".join(help_lines(command, overrides)))
        return 0

    def job(config: DictConfig) -> None:
        """Do nothing: Hydra has shown it by then."""

    argv = sys.argv
    sys.argv = [f"triptych {command}", *map(quoted, rest)]
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    try:
        with explained(command, rest), with_own_folders(folders, rest):
            if command != "train":  # the others take their search and metrics from a run
                register_settings_of(rest)
            hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name=command)(job)()
    finally:
        sys.argv = argv
    return 0


def run_command(command: str, arguments: Sequence[str], function: Callable[[DictConfig], None]) -> int:
    """Call the function of a command on a run, once, or with ``-m`` once for each combination of values.

    With ``-m``, a combination that fails is named, and the others follow. Returns the exit status.
    """
    if shows_only(arguments):
        return show(command, arguments)
    with overrides_of(command, arguments) as overrides:
        if not set(MULTIRUN) & set(overrides):
            function(compose_command(command, overrides))
            return 0
        register_settings_of(overrides)
        found, status = arms_of(command, overrides), 0
        assert found is not None
        for arm in found[1]:
            try:
                function(compose_command(command, [], inherited=arm))
            except Exception as error:
                if isinstance(error, BrokenPipeError) or (sentence := explain(error, command, arm)) is None:
                    raise
                print(f"triptych: failed: {' '.join(arm)}: {sentence}", file=sys.stderr)
                status = 2
        return status

"""From overrides to the configuration of one run: composed by Hydra, checked, and frozen. The one place for it."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.singleton import Singleton
from hydra.errors import MissingConfigException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from triptych.config import schema
from triptych.config.global_batch import num_processes
from triptych.config.hints import not_left_out
from triptych.config.quoting import quoted
from triptych.config.search_path import conf_dir
from triptych.config.unused_keys import refuse_unused
from triptych.errors import UserError
from triptych.files import file_stem
from triptych.runs.demo import locate_run
from triptych.runs.folder import RunFolder, read_record
from triptych.runs.identity import identifying_overrides
from triptych.runs.stored_config import read_config

MULTIRUN = ("-m", "--multirun")
SWEEP_KEYS = ("experiment=", "hydra.mode=")
"""Beginnings of the overrides that can make a command line a sweep without ``-m``."""
NO_SUCH_PLACE = "provider=hydra.searchpath"
"""Beginning of Hydra's warning of a place on its search path that is not there."""
NAMED = ("model", "data")
"""Groups whose chosen option names a run."""


@dataclass(frozen=True)
class RunConfig:
    """What a user asked for, in full. Nothing assigns into it: what follows from it stands in a ``RunPlan``.

    Attributes:
        config: conf/train.yaml with the overrides, resolved and read-only; ``${run:…}`` alone is left as it stands.
        overrides: of the command line, in the order given.
        choices: option chosen of each configuration group, such as ``{"model": "lm4mt"}``.
        reference: configuration of the model that ``match`` compares with, resolved once it is checked; None without
            ``match``.
    """

    config: DictConfig
    overrides: tuple[str, ...]
    choices: Mapping[str, str]
    reference: DictConfig | None

    @property
    def processes(self) -> int:
        """Number of processes that train together."""
        return num_processes(self.config)

    @property
    def reference_model(self) -> dict[str, Any] | None:
        """Configuration of the model that ``match`` compares with, in Python's own types."""
        plain: Any = None if self.reference is None else OmegaConf.to_container(self.reference, resolve=True)
        return plain


def compose_run(overrides: Sequence[str]) -> RunConfig:
    """Compose, check and freeze the configuration of one training.

    Raises:
        UserError: a value that is missing or not allowed.
        Exception: Hydra's own errors, which ``explanations.explain`` turns into one sentence.
    """
    return check_and_freeze(compose_unchecked(overrides))


def compose_unchecked(overrides: Sequence[str]) -> RunConfig:
    """Compose the configuration of one training; neither checked nor frozen."""
    return with_reference(*_compose("train", overrides), overrides, lambda reference: _compose("train", reference)[0])


def with_reference(
    config: DictConfig,
    choices: Mapping[str, str],
    overrides: Sequence[str],
    compose_reference: Callable[[list[str]], DictConfig],
) -> RunConfig:
    """Return the configuration of a run with the model that ``match`` compares with.

    That model is composed from the same overrides without those of ``model`` and ``arm``.

    Raises:
        UserError: conf/model has no such model.
    """
    match, reference = config.get("match"), None
    name = None if match is None else match.get("reference")
    if isinstance(name, str):  # anything else is refused with the configuration
        given = identifying_overrides(overrides)
        kept = [one for one in given if re.split(r"[./=]", one.lstrip("+~"))[0] not in ("model", "arm")]
        try:
            reference = compose_reference([*kept, f"model={name}"]).model
        except MissingConfigException as error:
            options = ", ".join(sorted(error.options or ()))
            raise UserError(f"match.reference={name} is unknown; choose one of {options}.") from error
    return RunConfig(config, tuple(overrides), choices, reference)


def check_and_freeze(composed: RunConfig, checked: set[str] | None = None) -> RunConfig:
    """Check a configuration, resolve its interpolations, and make it read-only. One that is read-only was checked.

    Args:
        composed: configuration of a run.
        checked: what the arms of a sweep share that were checked before, as of ``validation.check_arm``.

    Raises:
        UserError: as ``compose_run``.
    """
    if OmegaConf.is_readonly(composed.config):
        return composed
    from triptych.config.validation import check_arm  # imports torch, which --help does without

    _refuse_deleted(composed.config, composed.overrides, "train")
    if left_out := [group for group in NAMED if group not in composed.choices]:
        group = left_out[0]
        raise UserError(
            f"{group} must be an option, since it names the run: put your {group} into conf/{group}/NAME.yaml."
        )
    check_arm(composed.config, set() if checked is None else checked)
    _refuse_unread(composed)
    OmegaConf.resolve(composed.config)
    OmegaConf.set_readonly(composed.config, True)
    reference = None if composed.reference is None else OmegaConf.create(composed.reference_model)
    return replace(composed, reference=reference)


def _refuse_deleted(config: DictConfig, overrides: Sequence[str], command: str) -> None:
    """Refuse to leave out a key that a command reads, by ``~key``.

    Raises:
        UserError: one is left out.
    """
    for override in overrides:
        key = override.lstrip("~").partition("=")[0]
        if override.startswith("~") and key in schema.COMMANDS[command].__dataclass_fields__ and key not in config:
            raise UserError(not_left_out(override, key))


def _refuse_unread(composed: RunConfig) -> None:
    """Refuse keys that are added to the scale, whose keys no class declares, and that no other key refers to.

    Raises:
        UserError: there is one.
    """
    added = [one.partition("=")[0].lstrip("+") for one in composed.overrides if one.startswith("+scale.")]
    text = OmegaConf.to_yaml(composed.config) if added else ""
    for key in added:
        if f"${{{key}" not in text:
            raise UserError(f"{key} is no configuration key: nothing of this configuration refers to it.")


def compose_command(command: str, overrides: Sequence[str], *, inherited: Sequence[str] = ()) -> DictConfig:
    """Compose and check the configuration of a command on a run, such as conf/translate.yaml.

    ``search=run`` and ``metric=[run]`` stand for how the run that ``run=…`` names was scored itself.

    Args:
        command: ``evaluate``, ``translate`` …
        overrides: that the user gives for this one run.
        inherited: overrides that come first and may have no effect, since the user has not given them for this run
            alone: an arm's, whose sweep gives them for all arms, or those of a loaded run.

    Raises:
        UserError: a value that is missing or not allowed, or a key that has no effect.
    """
    from triptych.config.validation import check_command  # imports torch, which --help does without

    config = compose_unchecked_command(command, [*inherited, *overrides])
    _refuse_deleted(config, overrides, command)
    check_command(config, schema.COMMANDS[command])
    refuse_unused(command, [overrides])
    return config


def compose_unchecked_command(command: str, overrides: Sequence[str]) -> DictConfig:
    """Compose the configuration of a command on a run without checking it."""
    register_settings_of(overrides)
    return _compose(command, overrides)[0]


def _compose(command: str, overrides: Sequence[str]) -> tuple[DictConfig, dict[str, str]]:
    """Compose conf/<command>.yaml without Hydra's own settings; return it with the option chosen of each group."""
    with separate_hydra():
        return without_hydra(compose(command, overrides=list(map(quoted, overrides)), return_hydra_config=True))


def without_hydra(config: DictConfig) -> tuple[DictConfig, dict[str, str]]:
    """Return a copy of what Hydra has composed without its own settings, and the option chosen of each group."""
    choices: Any = OmegaConf.to_container(config.hydra.runtime.choices)
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"]), choices


def arms_of(command: str, arguments: Sequence[str]) -> tuple[DictConfig, list[list[str]]] | None:
    """Split a command line into arms.

    Args:
        command: ``train``, ``evaluate`` …
        arguments: overrides, and ``-m`` or ``--multirun`` for a sweep. An experiment may say itself that it is one.

    Returns:
        The configuration that the arms share and the overrides of each arm; None if the line names one run. The list
        is empty for a sweeper that chooses its arms as it goes along.

    Raises:
        UserError: a sweep over several experiments, a key that has no effect in any arm, or arms that would write one
            file.
    """
    overrides = [quoted(argument) for argument in arguments if argument not in MULTIRUN]
    with separate_hydra() as loader:
        config = loader.load_configuration(
            command, overrides=overrides, run_mode=RunMode.MULTIRUN, validate_sweep_overrides=False
        )
        if not set(MULTIRUN) & set(arguments) and config.hydra.mode != RunMode.MULTIRUN:
            return None
        own_sweeper = not str(config.hydra.sweeper._target_).endswith("BasicSweeper")
        launched = own_sweeper or not str(config.hydra.launcher._target_).endswith("BasicLauncher")
        refuse = partial(refuse_unused, command, sweep=True, launched=launched)
        if own_sweeper:
            refuse([overrides])
            return config, []
        _refuse_several_experiments(overrides)
        params = [f"{key}={value}" for key, value in (config.hydra.sweeper.params or {}).items()]
        parsed = OverridesParser.create(loader).parse_overrides([*params, *overrides])
    arms = BasicSweeper.split_arguments(parsed, None)[0]
    refuse(arms)
    if command != "train":  # which gives each run a folder of its own
        _refuse_shared_output(command, arms)
    return config, arms


def _refuse_shared_output(command: str, arms: Sequence[Sequence[str]]) -> None:
    """Refuse combinations of values that would write the same file: the last would replace the others.

    Raises:
        UserError: two of them would.
    """
    written: list[str] = []
    for arm in arms:
        with suppress(Exception):  # a mistake, which the arm itself reports
            values = _compose(command, arm)[0]
            if values.output is not None:
                # Files in a folder have the names of the texts.
                text = values.hypothesis or values.input if command == "evaluate" else None
                written.append(values.output if text is None else f"{values.output}/{file_stem(text)}")
    if twice := next((output for output in written if written.count(output) > 1), None):
        raise UserError(
            f"output={twice} would be written {written.count(twice)} times, and only the last would be kept; name in "
            "it what the combinations differ in, such as 'output=\"${checkpoint}.txt\"'."
        )


def _refuse_several_experiments(overrides: Sequence[str]) -> None:
    """Raise ``UserError`` for a sweep over several experiments: every experiment names its own arms."""
    for override in overrides:
        key, _, value = override.partition("=")
        if key == "experiment" and "," in value:
            raise UserError(f"experiment={value} names several studies; start a sweep for each of them.")


def sweep_of(arguments: Sequence[str]) -> tuple[DictConfig, list[list[str]]] | None:
    """Return what ``arms_of`` returns for ``triptych train``, without composing a configuration for a plain run.

    An experiment may say itself that it is a sweep.

    Raises:
        UserError: as ``arms_of``.
    """
    may_sweep = set(MULTIRUN) & set(arguments) or any(one.startswith(SWEEP_KEYS) for one in arguments)
    found = arms_of("train", arguments) if may_sweep else None
    if found is None:
        refuse_unused("train", [arguments])
    return found


@contextmanager
def separate_hydra() -> Iterator[ConfigLoader]:
    """Compose configurations beside or inside a run of Hydra, which knows one application at a time."""
    schema.register()
    state = Singleton.get_state()
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(conf_dir()), version_base="1.3"), warnings.catch_warnings():
            warnings.filterwarnings("error", NO_SUCH_PLACE, UserWarning)
            yield GlobalHydra.instance().config_loader()
    except UserWarning as warning:
        if place := re.search(r"path=(.*) is not available", str(warning)):
            raise UserError(f"hydra.searchpath: {place[1]} is not there; give folders that hold groups.") from warning
        raise
    finally:
        Singleton.set_state(state)


def _first_run(overrides: Sequence[str]) -> str:
    """Return the run that overrides name, the first of several; the null device if they name none."""
    named = [one.removeprefix("run=") for one in overrides if one.startswith("run=")]
    if not named:
        return os.devnull
    return named[-1].strip("'\"") if named[-1].startswith(("'", '"')) else named[-1].split(",")[0]


def register_settings_of(overrides: Sequence[str]) -> None:
    """Make ``search=run`` and ``metric=[run]`` known to Hydra: how the run that ``run=…`` names was scored itself.

    Where there is no such run, they are the defaults of training: ``--help`` shows these.

    Raises:
        UserError: the run is of another version, or damaged.
    """
    folder = RunFolder(locate_run(_first_run(overrides)))
    if folder.config.exists():
        from triptych.runs.scored_search import scored_search  # imports torch, which --help does without

        read_record(folder)
        config: Any = read_config(folder, _trusted(overrides))
        search = scored_search(folder, config.search)
    else:
        config = compose_unchecked([]).config
        search = config.search
    store = ConfigStore.instance()
    store.store(group="search", name="run", node=search)
    store.store(group="metric", name="run", node=config.metric)


def _trusted(overrides: Sequence[str]) -> list[str]:
    """Return the packages that the user trusts, before Hydra has read the command line."""
    given = [one.removeprefix("trust=").strip("[]") for one in overrides if one.startswith("trust=")]
    return [package.strip(" '\"") for package in given[-1].split(",") if package] if given else []

"""Read a run's config.yaml, which may be somebody else's: it builds nothing that triptych or the user does not name.

Hydra calls whatever a ``_target_`` names, with the arguments beside it. In a file that came with somebody's run, this
could be any function of any installed package. So before a part of a run is built, each of its ``_target_`` must be one
of those in the YAML files of its group: in triptych's conf/, in the user's own folders (``--config-dir``) or in an
installed package that registers its own; or it must belong to a package that the user trusts. The same holds of values
that say what is fetched from elsewhere.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from triptych.config import run_values
from triptych.config.conf_folder import conf_dir
from triptych.config.schema import Train
from triptych.config.search_path import yaml_files
from triptych.config.types import check_types
from triptych.data import checked_text
from triptych.errors import UserError
from triptych.runs.digests import PUT_BACK, require_same_training
from triptych.runs.folder import RunFolder
from triptych.stored import ERRORS, LOADER, DamagedFile, read_yaml

logger = logging.getLogger(__name__)

BUILT = ("model", "data", "search", "metric")
"""The groups whose parts are built when a run is loaded, translates and is scored."""

TARGET = "_target_"
"""Key whose value says what is built."""
EDGES = ("length_edges", "frequency_edges")
"""Further keys that a command on a run reads."""
FETCHED = {"data": ("url", "path", "revision", "recipe"), "metric": ("model",)}
"""By group, the keys whose values say what is fetched: text, or a metric's model, which may hold code."""


def read_config(folder: RunFolder, trust: str | Sequence[str] | None = ()) -> DictConfig:
    """Return the configuration of a run, resolved and read-only.

    Args:
        folder: of the run.
        trust: package of the user's, or several, that the configuration may build from, or what it may fetch; None for
            a configuration that this process has made itself, which may build from anything.

    Raises:
        UserError: a damaged file, one that has changed since the run was trained, or a ``_target_`` or something to
            fetch that nobody vouches for.
    """
    run_values.register()  # a logger's or a callback's ``${run:folder}`` stands in it as text
    try:
        read_yaml(folder.config)
        config = OmegaConf.load(folder.config)
    except (*ERRORS, yaml.YAMLError, OmegaConfBaseException) as error:
        raise DamagedFile(folder.config, error, PUT_BACK) from error
    if not isinstance(config, DictConfig) or "model" not in config:
        raise UserError(f"{folder.config} is no configuration of a run; put the file of the run back.")
    if trust is not None:
        packages = [trust] if isinstance(trust, str) else trust
        for group in BUILT:
            if reference := next(_references(config, group, group), None):
                raise UserError(
                    f"{folder.config} cannot be trusted: {reference} stands in for a value, and a run's configuration "
                    "has its values themselves; put the file of the run back."
                )
        parts: Any = OmegaConf.to_container(config)
        for group in BUILT:
            _require_known(folder, group, parts.get(group), packages)
    require_same_training(folder)
    if missing := [group for group in BUILT if not isinstance(config.get(group), DictConfig)]:
        raise DamagedFile(folder.config, f"it has no section {missing[0]}", PUT_BACK)
    flags = [f"{group}.{flag}" for group in BUILT for flag in ("_partial_", "_args_") if flag in config[group]]
    if flags:
        raise DamagedFile(folder.config, f"{flags[0]} is nothing that a run has", PUT_BACK)
    _check_values(folder, config.search, "search")
    try:
        check_types(OmegaConf.masked_copy(config, [key for key in EDGES if key in config]), schema=Train)
    except UserError as error:
        raise DamagedFile(folder.config, error, PUT_BACK) from error
    OmegaConf.set_readonly(config, True)
    return config


def _check_values(folder: RunFolder, section: DictConfig, group: str) -> None:
    """Check the values of a section that is about to be built.

    Raises:
        DamagedFile: one does not fit.
    """
    try:
        check_types(section, f"{group}.")
    except UserError as error:
        raise DamagedFile(folder.config, error, PUT_BACK) from error


def _references(parent: DictConfig | ListConfig, name: str | int, key: str) -> Iterator[str]:
    """Give each interpolation below a key, ``${…}``: what it stands for is known only when a part is built."""
    node: Any = parent._get_node(name)  # type: ignore[arg-type]
    if node is None:
        return
    if node._is_interpolation():
        yield f"{key}={node._value()}"
    elif isinstance(node, DictConfig) and not node._is_none():
        for inner in map(str, node):
            yield from _references(node, inner, f"{key}.{inner}")
    elif isinstance(node, ListConfig) and not node._is_none():
        for i in range(len(node)):
            yield from _references(node, i, f"{key}[{i}]")


@functools.cache  # of the files of the configuration, some hundred
def _parsed(text: str) -> Any:
    """Return what a YAML file of the configuration holds; not to be changed, since all runs of a process share it."""
    return yaml.load(text, LOADER)


def _require_known(folder: RunFolder, group: str, part: Any, trust: Sequence[str]) -> None:
    files = [_parsed(text) for text in yaml_files(group)]
    known = {target for file in files for _, target in values_in(file, group, TARGET)}
    for key, target in values_in(part, group, TARGET):
        if target not in known and not any(f"{target}.".startswith(f"{package}.") for package in trust):
            if target.startswith("triptych."):
                raise DamagedFile(folder.config, f"{key}={target} is nothing that {group} can be", PUT_BACK)
            raise UserError(
                f"run={folder.path} would run code that is not triptych's: {key}={target}. If you trust it, add "
                f"trust={target.split('.')[0]}."
            )
    if group != "data":  # many commands read no text: see data_to_read
        _require_known_values(folder, group, part, trust, files)


def data_to_read(folder: RunFolder, data: DictConfig, trust: str | Sequence[str] | None) -> DictConfig:
    """Return the section ``data`` of a run's configuration as its text may be read here.

    Text is kept in the run's cache if that folder holds text already, else in the default cache: a foreign run does not
    choose where a new folder is made.

    Args:
        folder: of the run.
        data: section of its configuration.
        trust: as of ``read_config``.

    Raises:
        UserError: text would be fetched from where nobody vouches for.
    """
    if trust is None:
        return data
    _check_values(folder, data, "data")
    files = [_parsed(text) for text in yaml_files("data")]
    packages = [trust] if isinstance(trust, str) else trust
    _require_known_values(folder, "data", OmegaConf.to_container(data), packages, files)
    cache = data.get("cache")
    if isinstance(cache, str) and not (Path(cache).expanduser() / checked_text.FOLDER).is_dir():
        data = data.copy()
        OmegaConf.set_readonly(data, False)
        data.cache = OmegaConf.load(conf_dir() / "train.yaml").cache
        logger.info("text is kept in %s, since the cache of the run is not there: %s", data.cache, cache)
    return data


def _require_known_values(folder: RunFolder, group: str, part: Any, trust: Sequence[str], files: Sequence[Any]) -> None:
    for name in FETCHED.get(group, ()):
        known = {value for file in files for _, value in values_in(file, group, name)}
        for key, value in values_in(part, group, name):
            if value not in known and value not in trust:
                raise UserError(
                    f"run={folder.path} would fetch what triptych's own configuration does not name: {key}={value}. If "
                    f"you trust it, add trust={value}."
                )


def vouched_for(config: DictConfig) -> list[str]:
    """Return what a configuration builds from and fetches. Its author trusts these in other configurations too."""
    parts: Any = OmegaConf.to_container(config)
    found = [value for group in BUILT for _, value in values_in(parts.get(group), group, TARGET)]
    fetched = [(group, name) for group, names in FETCHED.items() for name in names]
    return found + [value for group, name in fetched for _, value in values_in(parts.get(group), group, name)]


def values_in(part: Any, key: str, name: str) -> Iterator[tuple[str, str]]:
    """Give each value of a name in a part of a configuration, such as ``_target_``, with its key."""
    if isinstance(part, dict):
        for inner, value in part.items():
            if inner == name and not isinstance(value, dict | list):
                yield f"{key}.{name}", str(value)
            else:
                yield from values_in(value, f"{key}.{inner}", name)
    elif isinstance(part, list):
        for i, value in enumerate(part):
            yield from values_in(value, f"{key}[{i}]", name)

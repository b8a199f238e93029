"""Keys that are given for a run that is finished, and that can change nothing about it any more."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from omegaconf import OmegaConf

from triptych.config.composition import RunConfig
from triptych.errors import UserError
from triptych.runs.folder import RunFolder
from triptych.runs.stored_config import read_config

logger = logging.getLogger(__name__)

LOGGER, NAME, STUDY = "logger", "name", "study"
"""Keys that change nothing of what a run computes: with others it is found again, and has what it was given first."""


def late_overrides(folder: RunFolder, run_config: RunConfig) -> list[str]:
    """Return the overrides that come too late for a finished run: another name, or other loggers or another study.

    Args:
        folder: of the run.
        run_config: what the user gives now.
    """
    try:
        stored, config = read_config(folder, None), run_config.config
    except UserError as error:  # the run is finished all the same
        logger.warning("%s", error)
        return []
    late = []
    for section in (LOGGER, STUDY):
        if OmegaConf.to_container(config[section]) != OmegaConf.to_container(stored.get(section, OmegaConf.create())):
            late += [one for one in run_config.overrides if _section(one) == section]
    if config.name not in (stored.get(NAME), folder.path.name):
        late += [one for one in run_config.overrides if _section(one) == NAME]
    return late


def warn_of_late(overrides: Iterable[str]) -> None:
    """Warn, once, that these overrides have no effect on a run, or on arms of a sweep, that is finished."""
    if late := ", ".join(dict.fromkeys(overrides)):
        once = {"sections": (LOGGER, NAME, STUDY)}  # however many arms of a sweep are finished
        logger.warning("no effect on a finished run, which is kept as it is: %s.", late, extra=once)


def _section(override: str) -> str:
    return override.lstrip("+~").partition("=")[0].split(".")[0]

"""Hydra's sweepers and launchers: call a function for each arm, here, in other processes or on a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from triptych.config import schema
from triptych.config.quoting import quoted
from triptych.config.search_path import conf_dir, own_folders, with_own_folders


def launch(overrides: Sequence[str], run_arm: Callable[[list[str]], float | None]) -> None:
    """Call ``run_arm`` with the overrides of each arm.

    Args:
        overrides: of the whole sweep.
        run_arm: returns what a sweeper minimises.
    """
    schema.register()
    folders = own_folders()

    def job(config: DictConfig) -> float | None:
        with with_own_folders(() if own_folders() == folders else folders, overrides):  # unknown in another process
            return run_arm(list(HydraConfig.get().overrides.task))

    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # let errors through instead of printing them
    argv = sys.argv
    sys.argv = ["triptych train", "-m", *map(quoted, overrides)]
    try:
        hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name="train")(job)()
    finally:
        sys.argv = argv

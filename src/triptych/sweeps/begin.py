"""Begin a sweep that the command line names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from triptych.sweeps.arm_process import import_libraries

if TYPE_CHECKING:
    from triptych.sweeps.sweep import Sweep


def begin_sweep(overrides: Sequence[str], config: DictConfig, arms: Sequence[Sequence[str]]) -> Sweep:
    """Plan a sweep; arguments and errors as of ``Sweep``.

    If the user lets several arms run at a time, libraries are imported for them meanwhile.
    """
    if isinstance(config.jobs, int) and config.jobs > 1:
        import_libraries()
    from triptych.sweeps.sweep import Sweep  # imports torch

    return Sweep(overrides, config, arms)

"""What trainings that differ in their budget alone have in common: a trunk, trained once (Hägele et al. 2024).

With a constant learning rate, a training does not depend on its budget until its cooldown begins. The state at this
step is kept, and a training with a larger budget goes on from it. It ends, bit for bit, like one from scratch.
"""

from __future__ import annotations

import logging

from hydra.utils import instantiate
from omegaconf import DictConfig

from triptych.config.global_batch import num_processes
from triptych.runs.folder import RunFolder
from triptych.runs.trunks import find_trunk, start_from
from triptych.training.schedules import Cooldown, Piecewise

logger = logging.getLogger(__name__)


def has_trunk(config: DictConfig) -> bool:
    """Return whether the first steps of a training are the same for every larger budget.

    They are with a cooldown, a constant lambda, one process, and no callbacks of the user's, which may look at the
    budget.
    """
    if not isinstance(instantiate(config.optimizer.schedule), Cooldown):
        return False
    autoencode = instantiate(config.loss).autoencode
    alone = num_processes(config) == 1
    return isinstance(autoencode, Piecewise) and autoencode.is_constant and alone and not config.callbacks


def trunk_steps(config: DictConfig, total: int) -> int:
    """Return how many of a training's optimizer steps are the same for every larger budget, 0 if none are.

    Args:
        config: of the run.
        total: optimizer steps of its budget.
    """
    return instantiate(config.optimizer.schedule).steps_before(total) if has_trunk(config) else 0


def go_on_from_trunk(folder: RunFolder, training_hash: str, trunk_hash: str, most: int) -> None:
    """Bring a run that has not begun to the longest trunk beside it that it shares, if there is one.

    Args:
        folder: of the run.
        training_hash: identifies its training; ``trunk_hash`` its training without the budget.
        most: optimizer steps before its cooldown.
    """
    if folder.last.exists():
        return
    folder.branch.unlink(missing_ok=True)  # of a start that was interrupted
    if (trunk := find_trunk(folder, trunk_hash, most)) is None:
        return
    start_from(trunk, folder, training_hash)
    logger.info("the first %s steps are those of %s", f"{trunk.steps:,}", trunk.run)

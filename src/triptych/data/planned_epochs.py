"""The batches of every epoch of a training, planned before they are needed.

The plan of tens of millions of pairs takes many seconds and a gigabyte of memory. So a process beside the training
makes it while the epoch before is trained on, and all processes of a machine map one file of it. The files stay in the
cache, as ids do: other trainings with the same text, batches and seed have the same plans.
"""

from __future__ import annotations

import hashlib
import logging
import subprocess
import sys
from pathlib import Path

import numpy as np

from triptych.data.epoch_plan import Lengths, Rows, plan_epoch
from triptych.errors import UserError
from triptych.files import made_once, replacing

LARGE = 2_000_000
"""Smallest number of pairs whose epochs are planned by a separate process."""
PROCESS = "triptych.data.epoch_plan_process"
"""Module that plans one epoch and ends."""
REFUSED = 2
"""Exit status of that module where a pair fits no batch."""
logger = logging.getLogger(__name__)


class PlannedEpochs:
    """The batches of every epoch, in memory.

    Args:
        lengths: (n, 2) number of tokens of each pair, used to plan batches.
        tokens: as for ``plan_epoch``; ``seed`` likewise.

    Raises:
        UserError: a single pair is longer than ``tokens``.
    """

    def __init__(self, lengths: Lengths, *, tokens: int, seed: int) -> None:
        self.lengths = lengths
        self.tokens = tokens
        self.seed = seed
        self._epoch: int | None = None
        self._batches: list[Rows] = []

    def batches(self, epoch: int) -> list[Rows]:
        """Return the batches of an epoch. The last epoch's are kept."""
        if epoch != self._epoch:
            self._epoch, self._batches = epoch, self._plan(epoch)
        return self._batches

    def plan_ahead(self, epoch: int) -> None:
        """Begin to plan an epoch, if that takes long."""

    def _plan(self, epoch: int) -> list[Rows]:
        return plan_epoch(self.lengths, self.tokens, self.seed, epoch)


class StoredEpochs(PlannedEpochs):
    """The batches of every epoch of a large corpus, in files of the cache.

    Args:
        lengths: as of ``PlannedEpochs``; ``tokens`` and ``seed`` likewise.
        cache: root of the cache; plans are kept in its folder ``plans``.
    """

    def __init__(self, lengths: Lengths, *, tokens: int, seed: int, cache: Path) -> None:
        key = hashlib.sha256(np.ascontiguousarray(lengths, "<i4").data)
        key.update(f"{tokens} {seed}".encode())
        self._folder = cache / "plans" / key.hexdigest()[:16]
        with made_once(self._folder) as missing:
            if missing:
                with replacing(self._folder, keep_folder=True) as beside:
                    beside.mkdir(parents=True)
                    np.save(beside / "lengths.npy", np.asarray(lengths, np.int32))
        super().__init__(_mapped(self._folder / "lengths.npy"), tokens=tokens, seed=seed)
        self._planning: dict[int, subprocess.Popen[str]] = {}

    def plan_ahead(self, epoch: int) -> None:
        if epoch in self._planning or self._path(epoch).exists():
            return
        settings = (self.tokens, self.seed, epoch)
        self._planning[epoch] = subprocess.Popen(
            [sys.executable, "-m", PROCESS, str(self._path(epoch)), *map(str, settings)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the training
        )

    def _plan(self, epoch: int) -> list[Rows]:
        self.plan_ahead(epoch)
        if (planning := self._planning.pop(epoch, None)) is not None:
            _, error = planning.communicate()
            if planning.returncode == REFUSED:
                raise UserError(error)
            if planning.returncode:
                logger.warning("epoch %d is planned in this process, because another could not: %s", epoch, error)
                return super()._plan(epoch)
        rows, ends = (_mapped(self._path(epoch) / f"{name}.npy") for name in ("rows", "ends"))
        return [rows[start:end] for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]

    def _path(self, epoch: int) -> Path:
        return self._folder / f"epoch-{epoch}"


def planned_epochs(lengths: Lengths, tokens: int, seed: int, cache: Path | None) -> PlannedEpochs:
    """Return the epochs of a training, stored where there are many pairs and a cache; arguments as of the classes."""
    if cache is None or len(lengths) < LARGE:
        return PlannedEpochs(lengths, tokens=tokens, seed=seed)
    return StoredEpochs(lengths, tokens=tokens, seed=seed, cache=cache)


def _mapped(path: Path) -> np.ndarray:
    """Open an array by memory map, as a plain ndarray, which is faster to index."""
    return np.load(path, mmap_mode="r").view(np.ndarray)

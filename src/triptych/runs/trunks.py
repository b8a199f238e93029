"""Trunks: the state of a training where its cooldown begins, kept in its run's folder for larger budgets."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import torch

from triptych.errors import UserError
from triptych.files import link, replacing
from triptych.runs import checkpoints
from triptych.runs.folder import LAST, PREVIOUS, RunFolder, runs_below, write_json
from triptych.runs.versions import source_hash
from triptych.stored import read_json

RECORD, STATE = "trunk.json", LAST
"""What a trunk is, and the state of its training. Beside them are the other checkpoints of that time, and the log."""
LOG = "metrics"
"""Folder of a run that its training writes its log to."""
BRANCH_REMEDY = "delete the run's folder and train it again"


class TrunkFile(TypedDict):
    """trunk.json: hash of the training without its budget, steps done, and the code that did them."""

    trunk_hash: str
    steps: int
    source: str


class Branch(TypedDict):
    """branch.json: the run whose trunk a run went on from, and its steps."""

    run: str
    steps: int


@dataclass(frozen=True)
class Trunk:
    """A trunk.

    Attributes:
        path: its folder.
        run: name of the run that it lies in.
        steps: optimizer steps before its state.
    """

    path: Path
    run: str
    steps: int


def keep_trunk(folder: RunFolder, trunk_hash: str, steps: int, save: Callable[[Path], None]) -> None:
    """Keep the present state of a run's training as its trunk, whole or not at all.

    Args:
        folder: of the run.
        trunk_hash: identifies the training without its budget.
        steps: optimizer steps done.
        save: writes a checkpoint.
    """
    with replacing(folder.trunk, keep_folder=True) as beside:
        beside.mkdir()
        for path in folder.checkpoints.glob("*.ckpt"):
            if path.name not in (LAST, PREVIOUS):
                link(path, beside / path.name)
        _copy_log(folder.path, beside)
        save(beside / STATE)
        write_json(beside / RECORD, {"trunk_hash": trunk_hash, "steps": steps, "source": source_hash()})


def find_trunk(folder: RunFolder, trunk_hash: str, most: int) -> Trunk | None:
    """Return the longest trunk of at most so many steps in the runs beside a run, trained by today's code."""
    found = []
    for run, record in runs_below(folder.path.parent):
        if run.path == folder.path or not (path := run.trunk / RECORD).exists():
            continue
        try:
            stored = read_json(path, TrunkFile, "delete the folder that it is in")
        except UserError:  # a damaged trunk is no reason not to train from the first step
            continue
        by_one_code = {stored["source"], record.versions.get("source")} == {source_hash()}
        if by_one_code and stored["trunk_hash"] == trunk_hash and stored["steps"] <= most:
            found.append(Trunk(run.trunk, run.path.name, stored["steps"]))
    return max(found, key=lambda trunk: trunk.steps, default=None)


def start_from(trunk: Trunk, folder: RunFolder, training_hash: str) -> None:
    """Bring a run to the state of a trunk. It is then like a run that was interrupted there, and goes on as one.

    Args:
        trunk: found by ``find_trunk``.
        folder: of the run.
        training_hash: of its training, which its checkpoint names from now on.
    """
    for name in (folder.checkpoints.name, LOG):  # left by a training that ended before its first checkpoint
        shutil.rmtree(folder.path / name, ignore_errors=True)
    _copy_log(trunk.path, folder.path)
    folder.checkpoints.mkdir()
    for path in trunk.path.glob("*.ckpt"):
        if path.name != STATE:
            link(path, folder.checkpoints / path.name)
    write_json(folder.branch, {"run": trunk.run, "steps": trunk.steps})
    state = torch.load(trunk.path / STATE, map_location="cpu", weights_only=True)
    state[checkpoints.TRAINING_HASH] = training_hash
    checkpoints.write(state, folder.last)  # last: only a run that has it goes on


def _copy_log(source: Path, target: Path) -> None:
    if (source / LOG).exists():
        shutil.copytree(source / LOG, target / LOG)

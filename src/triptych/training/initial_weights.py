"""``init=RUN``: begin with the best weights of another run, to fine-tune them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from triptych.contract.vocabulary import SIDES
from triptych.data.tokenizer import Tokenizer
from triptych.errors import UserError
from triptych.runs.contents import source_run
from triptych.runs.folder import read_record
from triptych.runs.run import Run, load
from triptych.training.build import TrainingParts

logger = logging.getLogger(__name__)
CHECKPOINT = "best"
"""Weights that a fine-tuning begins with."""


def take_weights(parts: TrainingParts, run: str, trust: Sequence[str]) -> None:
    """Give a model the best weights of another run.

    Args:
        parts: of this run.
        run: folder of the other one.
        trust: what its configuration may build from besides what triptych has: what this run's own builds from.

    Raises:
        UserError: the other run has no such checkpoint, another vocabulary, another model, or has diverged.
    """
    source = load(source_run(run).path, CHECKPOINT, trust=trust)
    if not _same_vocabulary(source.tokenizer, parts.tokenizer):
        raise UserError(
            f"init={run} has another vocabulary than this run would have: take its tokenizer along "
            f"({_tokenizer_of(source)})."
        )
    theirs, ours = source.model.state_dict(), parts.model.state_dict()
    for name in [*theirs, *ours]:
        if name not in ours or name not in theirs or theirs[name].shape != ours[name].shape:
            here, there = (list(one[name].shape) if name in one else "missing" for one in (ours, theirs))
            raise UserError(
                f"init={run} has another model ({name} is {there} there and {here} here): choose its model=… and sizes."
            )
    if not all(tensor.isfinite().all() for tensor in theirs.values()):
        raise UserError(f"init={run} has weights that are no numbers, since its training diverged; choose another run.")
    parts.model.load_state_dict(theirs)
    logger.info("initial weights: the best of %s", source.folder)


def describe_source(run: str) -> dict[str, Any]:
    """Return what ``result.json`` says of the run whose weights a training began with."""
    folder = source_run(run)
    return {"run": folder.path.name, "training_hash": read_record(folder).training_hash, "checkpoint": CHECKPOINT}


def _same_vocabulary(one: Tokenizer, other: Tokenizer) -> bool:
    if (one.languages, one.joint) != (other.languages, other.joint):
        return False
    return all(one.vocabulary_pieces(side) == other.vocabulary_pieces(side) for side in SIDES)


def _tokenizer_of(run: Run) -> str:
    """Return the overrides that give another run the tokenizer of this one."""
    folder = run.files.tokenizer
    if run.tokenizer.joint:
        return f"tokenizer=own tokenizer.model_file={folder}/joint.model"
    files = f"tokenizer.model_file={folder}/src.model tokenizer.tgt_model_file={folder}/tgt.model"
    return f"tokenizer=own tokenizer.joint=false {files}"

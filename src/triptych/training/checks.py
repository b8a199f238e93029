"""Checks that need the text or the model, made before the run's folder exists."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from hydra.utils import instantiate
from lightning.pytorch.callbacks import Callback, EarlyStopping
from omegaconf import DictConfig

from triptych.data.batching import unique_length_pairs
from triptych.data.corpus import TRAIN, VALIDATION
from triptych.decoding.batches import LONGEST
from triptych.errors import UserError
from triptych.training.build import TrainingParts


def check_lengths(config: DictConfig, parts: TrainingParts) -> None:
    """Check that the model takes every pair, and the longest translation of every sentence that will be translated.

    Raises:
        UserError: a pair is too long for the model's positions, or a line that will be translated is no sentence.
    """
    scored, validated = instantiate(config.search), instantiate(config.validation.search)
    for split, store in parts.stores.items():
        searches = [scored, validated] if split == VALIDATION else [scored]
        hops = 0 if split == TRAIN else len(parts.corpus.sections[split][0].route) - 1
        lengths = parts.data.stream.longest if split == TRAIN else store.lengths
        if split != TRAIN and (longest := int(lengths.max(initial=0))) > LONGEST:
            raise UserError(
                f"{split}: a line has {longest:,} pieces, and at most {LONGEST:,} are possible; split it into "
                "sentences."
            )
        for src, tgt in unique_length_pairs(lengths)[0].tolist():
            parts.model.check_lengths(src, tgt)
            for search in searches:
                length = src
                for _ in range(hops):
                    longest = int(search.limit(torch.tensor(length)))
                    parts.model.check_lengths(length, 1 + longest)
                    length = longest  # that of the source of the next hop, </s> counted as well


def check_checkpoints(config: DictConfig, steps: int, callbacks: Sequence[Callback] = ()) -> None:
    """Check that a training of so many steps validates often enough to keep the checkpoints that are to be kept.

    Args:
        config: of the run.
        steps: optimizer steps of its budget.
        callbacks: of the training; one may stop it early.

    Raises:
        UserError: it does not.
    """
    every = config.validation.every
    validations = -(-steps // every)
    for key in ("average", "keep"):  # unless it is given, keep is the same number as average, so that is named first
        if config.checkpoint[key] > validations:
            raise UserError(
                f"checkpoint.{key}={config.checkpoint[key]} needs as many validations, and {steps:,} steps with "
                f"validation.every={every} make {validations}; lower checkpoint.{key} or validation.every."
            )
    for patience in (one.patience for one in callbacks if isinstance(one, EarlyStopping)):
        if config.checkpoint.average > patience + 1:
            raise UserError(
                f"checkpoint.average={config.checkpoint.average} needs as many validations, and early stopping with "
                f"patience={patience} may end after {patience + 1}; raise its patience, or lower checkpoint.average."
            )

"""What a forecast knows of a training: from its text, or from assumed lengths of its sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from statistics import fmean
from typing import Any

import numpy as np
from hydra.utils import instantiate
from numpy.typing import NDArray
from omegaconf import DictConfig

from triptych.accounting.flops import FORWARDS_PER_TRAINING_STEP
from triptych.accounting.parameters import count_parameters
from triptych.config.global_batch import batches_per_process, num_processes
from triptych.config.validation import build_without_values
from triptych.contract.model import TranslationModel
from triptych.contract.vocabulary import Vocabulary
from triptych.data.assumed_stream import AssumedStream
from triptych.data.batching import Stream
from triptych.data.pairs import TRAIN, VALIDATION
from triptych.data.tokenizer import SRC_TAG, TGT_TAG
from triptych.errors import UserError
from triptych.runs.identity import BUDGET, config_hash
from triptych.sweeps.measure import activation_bytes_on_gpu
from triptych.training.budget import pair_flops, total_steps
from triptych.training.build import TrainingParts, build_parts
from triptych.training.loss import TranslationLoss
from triptych.training.match import BUDGET_TIMES, LAMBDA_SAMPLES, SAMPLED_PAIRS, matched_sizes, multiple, resized

CHARACTERS = 500
"""Vocabulary that is assumed where it depends on the text."""
SENTENCES = 3_000
"""Sentences of a validation or a test set that is not at hand."""
DECODING = 0.07
"""Rate of a search in FLOP/s, by that of training: on an H200, 0.10 by a Transformer and 0.05 by LM4MT."""
SAME_COST = (*BUDGET, "seed", "optimizer", "validation", "checkpoint", "log_every")
"""Config keys that change neither the model nor its batches."""


@dataclass
class Known:
    """What is known of earlier arms of a forecast.

    Attributes:
        speeds: tokens per second that were measured, by the hash of the training.
        plans: of trainings without text, by the hash of what they have in common.
    """

    speeds: dict[str, float] = field(default_factory=dict)
    plans: dict[str, PlannedTraining] = field(default_factory=dict)


@dataclass(frozen=True)
class PlannedTraining:
    """A training before it begins.

    Attributes:
        fingerprint: of its text.
        model: that is trained; on the ``meta`` device where there is no text.
        without_values: the same model on the ``meta`` device.
        stream: of its batches.
        precision: Lightning's name of the training precision.
        validation: number of validation pairs.
        test: number of test sentences, of all test sets.
        parts: what trains; None where there is no text.
    """

    fingerprint: str
    model: TranslationModel
    without_values: TranslationModel
    loss: TranslationLoss
    stream: Stream
    precision: str
    validation: int
    test: int
    parts: TrainingParts | None

    @cached_property
    def parameters(self) -> int:
        return count_parameters(self.model).total

    @cached_property
    def pair_flops(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``budget.pair_flops`` of the pairs of the stream."""
        return pair_flops(self.stream, self.model)

    @cached_property
    def gpu_activations(self) -> int:
        """Bytes that the largest batch keeps for its backward pass on a GPU."""
        lengths = self.stream.longest[self.stream.largest()[0]]
        return activation_bytes_on_gpu(self.without_values, self.loss, lengths, self.precision)

    def steps(self, config: DictConfig) -> int:
        """Return the optimizer steps of a budget."""
        if self.parts is not None:
            return self.parts.data.total_steps
        times = multiple(config, BUDGET_TIMES)
        lambda_ = self.loss.autoencode
        return total_steps(self.stream, **config.budget, times=times, model=self.model, autoencode=lambda_)

    def consumption(self, steps: int) -> tuple[int, float]:
        """Return source and target tokens, and FLOPs, of so many optimizer steps."""
        whole, source = self.pair_flops
        if isinstance(self.stream, AssumedStream):
            epochs = steps / self.stream.steps_of_sample
            predicting = fmean(self.loss.autoencode(step / LAMBDA_SAMPLES) > 0 for step in range(LAMBDA_SAMPLES))
            flops = epochs * float(whole.sum() - (1 - predicting) * source.sum())
            return round(epochs * int((self.stream.lengths - 1).sum())), flops
        tokens, flops = 0, 0.0
        for step, window in enumerate(islice(self.stream.windows(), steps)):
            rows = np.concatenate(window.batches)
            tokens += int(window.tokens.sum())
            flops += float(whole[rows].sum() - (0 if self.loss.autoencode(step / steps) > 0 else source[rows].sum()))
        return tokens, flops

    def other_flops(self, config: DictConfig, steps: int) -> float:
        """Return the FLOPs that training would have in the time of validating and of translating the other sets."""
        pair = float(self.pair_flops[0].mean()) / FORWARDS_PER_TRAINING_STEP
        times, every = steps // config.validation.every, config.validation.bleu_every
        searches = (times // every if every else 0) * self.validation * config.validation.search.beam_size
        searches += self.test * config.search.beam_size if config.test else 0
        return pair * (times * self.validation + searches / DECODING)


def planned(
    config: DictConfig, reference: Mapping[str, Any] | None, pairs: int | None, known: Known
) -> PlannedTraining:
    """Plan a training.

    Args:
        config: of the run.
        reference: of ``reference_model``.
        pairs: of sentences to train on, for a plan without text; None to prepare the text, unless the cache holds it.
        known: what earlier arms have found; a new plan is added.

    Raises:
        UserError: whatever training would refuse.
    """
    if pairs is None:
        return _from_text(config, reference)
    key = config_hash(config, "", reference=reference, leaving_out=SAME_COST)
    if key not in known.plans:
        known.plans[key] = _from_lengths(config, reference, pairs)
    return known.plans[key]


def _from_text(config: DictConfig, reference: Mapping[str, Any] | None) -> PlannedTraining:
    corpus = instantiate(config.data)
    parts = build_parts(config, corpus, reference, workers=0)
    lines = {name: len(pairs.src) for name, pairs in corpus.splits.items() if name != TRAIN}
    return PlannedTraining(
        fingerprint=corpus.fingerprint,
        model=parts.model,
        without_values=build_without_values(resized(config.model, parts.sizes), parts.tokenizer.vocabulary),
        loss=parts.loss,
        stream=parts.data.stream,
        precision=str(config.strategy.precision),
        validation=lines[VALIDATION],
        test=sum(lines.values()) - lines[VALIDATION],
        parts=parts,
    )


def _from_lengths(config: DictConfig, reference: Mapping[str, Any] | None, pairs: int) -> PlannedTraining:
    if pairs < 1:
        raise UserError(f"--pairs {pairs} is not allowed: give the number of sentence pairs to train on.")
    size = config.tokenizer.get("vocab_size") or CHARACTERS
    vocabulary = Vocabulary(size, size, bool(config.tokenizer.joint), SRC_TAG, TGT_TAG)
    stream = AssumedStream(
        pairs,
        algorithm=config.tokenizer.get("algorithm", ""),
        longest=config.data.get("max_length"),
        joined=config.data.get("join") or [1],
        tokens=config.batch.tokens,
        seed=config.seed,
        size=batches_per_process(config) * num_processes(config),
    )
    sizes: dict[str, int] = {}
    if reference is not None:
        sizes = matched_sizes(config, reference, vocabulary, stream.lengths[:SAMPLED_PAIRS])
    model, test = build_without_values(resized(config.model, sizes), vocabulary), config.data.get("test")
    return PlannedTraining(
        fingerprint=f"{pairs} pairs of assumed lengths",
        model=model,
        without_values=model,
        loss=instantiate(config.loss),
        stream=stream,
        precision=str(config.strategy.precision),
        validation=SENTENCES,
        test=test if isinstance(test, int) else SENTENCES * len(test or [1]),
        parts=None,
    )

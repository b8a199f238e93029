"""What a forecast knows of a training: from its text, or from assumed lengths of its sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from triptych.decoding.choices import TUNED
from triptych.errors import UserError
from triptych.evaluation.length_penalty import MOST_SENTENCES, SEARCHES
from triptych.runs.identity import BUDGET, config_hash
from triptych.sweeps.measure import activation_bytes_on_gpu
from triptych.training.budget import pair_flops, total_steps
from triptych.training.build import TrainingParts, build_parts
from triptych.training.loss import TranslationLoss
from triptych.training.match import (
    BUDGET_TIMES,
    LAMBDA_SAMPLES,
    SAMPLED_PAIRS,
    matched_sizes,
    multiple,
    resized,
)

CHARACTERS = 500
"""Vocabulary that is assumed of ``tokenizer=char``, which takes it from the text."""
SENTENCES = 3_000
"""Sentences of a validation or a test set that is not at hand."""
COUNTED_PAIRS = 1_000
"""Pairs whose FLOPs are counted, to know those of an average pair."""
SEARCHING = 0.1
"""Ratio of the FLOP/s of a search to those of training, where they have not been measured."""
SAME_COST = (*BUDGET, "seed", "optimizer", "validation", "checkpoint", "log_every")
"""Config keys that change neither the model nor its batches."""


@dataclass
class ForecastCache:
    """What the arms of a forecast have in common.

    Attributes:
        plans: of trainings without text, by the hash of what they have in common.
        streams: of such trainings, by what they follow from.
    """

    plans: dict[str, PlannedTraining] = field(default_factory=dict)
    streams: dict[tuple[Any, ...], AssumedStream] = field(default_factory=dict)

    def stream(
        self, pairs: int, algorithm: str, longest: int | None, joined: Sequence[int], tokens: int, size: int
    ) -> AssumedStream:
        """Return the stream of these arguments of ``AssumedStream``."""
        key = pairs, algorithm, longest, tuple(joined), tokens, size
        if key not in self.streams:
            self.streams[key] = AssumedStream(
                pairs, algorithm=algorithm, longest=longest, joined=joined, tokens=tokens, seed=1, size=size
            )
        return self.streams[key]


@dataclass(frozen=True)
class PlannedTraining:
    """A training before it begins.

    Attributes:
        fingerprint: fingerprint of its text.
        model: the model that is trained; on the ``meta`` device where there is no text.
        without_values: the same model on the ``meta`` device.
        loss: the loss that it is trained by.
        stream: the batches.
        precision: Lightning's name of the training precision.
        validation: number of validation pairs.
        test: number of sentences in all test sets.
        parts: everything that trains; None where there is no text.
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
    def token_flops(self) -> NDArray[np.float64]:
        """(2,) mean FLOPs of training on a token, in all and for predicting the source, over some thousand pairs."""
        lengths, model = self.stream.lengths[:COUNTED_PAIRS], self.model
        forward = [(model.flops(src, tgt), model.source_prediction_flops(src)) for src, tgt in lengths.tolist()]
        return FORWARDS_PER_TRAINING_STEP * np.array(forward, np.float64).sum(0) / (lengths - 1).sum()

    @cached_property
    def gpu_activations(self) -> int:
        """Bytes that the batch with most padded tokens keeps for its backward pass on a GPU."""
        batches = (self.stream.longest[rows] for rows in self.stream.largest())
        lengths = max(batches, key=lambda pairs: len(pairs) * pairs.max(0).sum())
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
        if isinstance(self.stream, AssumedStream):
            tokens = round(steps * self.stream.step_tokens)
            whole, source = self.token_flops
            predicting = fmean(self.loss.autoencode(step / LAMBDA_SAMPLES) > 0 for step in range(LAMBDA_SAMPLES))
            return tokens, tokens * float(whole - (1 - predicting) * source)
        whole, source = pair_flops(self.stream, self.model)
        tokens, flops = 0, 0.0
        for step, window in enumerate(islice(self.stream.windows(), steps)):
            rows = np.concatenate(window.batches)
            tokens += int(window.tokens.sum())
            flops += float(whole[rows].sum() - (0 if self.loss.autoencode(step / steps) > 0 else source[rows].sum()))
        return tokens, flops

    def validation_seconds(self, config: DictConfig, steps: int, rate: float, search_rate: float) -> float:
        """Return the seconds of validating during a training, and of translating the validation set then.

        Args:
            config: of the run.
            steps: optimizer steps.
            rate: FLOP/s of all devices in training; validation is as fast.
            search_rate: FLOP/s of the device that translates.
        """
        times, every = -(-steps // config.validation.every), config.validation.bleu_every  # the last step validates too
        searched = (times // every if every else 0) * config.validation.search.beam_size
        return self._forward_flops * self.validation * (times / rate + searched / search_rate)

    def translation_seconds(self, config: DictConfig, search_rate: float) -> float:
        """Return the seconds of translating after a training: the test sets, and to tune the length penalty.

        Args:
            config: of the run.
            search_rate: FLOP/s of the device that translates.
        """
        beam, tuned = config.search.beam_size, config.search.length_penalty == TUNED
        searches = SEARCHES if beam > 1 else 1.0
        tried = searches * min(self.validation, MOST_SENTENCES) if tuned else 0.0
        return self._forward_flops * beam * (tried + (self.test if config.test else 0)) / search_rate

    @cached_property
    def _forward_flops(self) -> float:
        """FLOPs of a forward pass of an average pair."""
        tokens = float((self.stream.lengths[:COUNTED_PAIRS] - 1).sum(1).mean())
        return tokens * float(self.token_flops[0]) / FORWARDS_PER_TRAINING_STEP


def plan_training(
    config: DictConfig, reference: Mapping[str, Any] | None, pairs: int | None, known: ForecastCache
) -> PlannedTraining:
    """Plan a training.

    Args:
        config: of the run.
        reference: ``RunConfig.reference_model``.
        pairs: of sentences to train on, for a plan without text; None to prepare the text, unless the cache holds it.
        known: what earlier arms have found; a new plan is added.

    Raises:
        UserError: whatever training would refuse.
    """
    if pairs is None:
        return _from_text(config, reference)
    text = f"{pairs} pairs of assumed lengths in {config.data.get('dir')}"
    key = config_hash(config, text, reference=reference, leaving_out=SAME_COST)
    if key not in known.plans:
        known.plans[key] = _from_lengths(config, reference, pairs, text, known)
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


def _from_lengths(
    config: DictConfig, reference: Mapping[str, Any] | None, pairs: int, fingerprint: str, known: ForecastCache
) -> PlannedTraining:
    if pairs < 1:
        raise UserError(f"--pairs {pairs} is not allowed: give the number of sentence pairs to train on.")
    algorithm = config.tokenizer.get("algorithm", "")
    size = CHARACTERS if algorithm == "char" else config.tokenizer.get("vocab_size")
    if size is None:
        raise UserError("--pairs: only its file tells how many pieces this tokenizer has; choose tokenizer=bpe.")
    vocabulary = Vocabulary(size, size, bool(config.tokenizer.joint), SRC_TAG, TGT_TAG)
    joined = config.data.get("join") or [1]
    size_of_step = batches_per_process(config) * num_processes(config)
    stream = known.stream(pairs, algorithm, config.data.get("max_length"), joined, config.batch.tokens, size_of_step)
    sizes: dict[str, int] = {}
    if reference is not None:
        sizes = matched_sizes(config, reference, vocabulary, stream.lengths[:SAMPLED_PAIRS])
    model = build_without_values(resized(config.model, sizes), vocabulary)
    validation = _held_out(config.data.get(VALIDATION), pairs, joined, copies=1)
    test = _held_out(config.data.get("test"), pairs, joined, copies=len(joined))
    return PlannedTraining(
        fingerprint=fingerprint,
        model=model,
        without_values=model,
        loss=instantiate(config.loss),
        stream=stream,
        precision=str(config.strategy.precision),
        validation=validation or SENTENCES,
        test=test,
        parts=None,
    )


def _held_out(given: Any, pairs: int, joined: Sequence[int], copies: int) -> int:
    """Return how many pairs of average length a split has. The configuration tells their number, a share, or files.

    Args:
        given: value of ``data.validation`` or ``data.test``.
        pairs: lines of the training text, or a sample of them.
        joined: how many lines are joined to a pair.
        copies: how often each line stands in the split: a test set has a copy for each number of ``joined``.
    """
    if isinstance(given, int | float):
        lines = round(given * pairs) if given < 1 else int(given)
    else:
        sets = 1 if given is None or isinstance(given, str) else len(given)
        lines = SENTENCES * sets
    return round(copies * lines / float(np.mean(joined)))

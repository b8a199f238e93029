"""What is odd about a run, from the figures in its result.json: said when it is found, and again in reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from triptych.runs.convergence import has_diverged

MUCH_UNKNOWN = 0.01
"""Share of unknown tokens from which on it is said."""
MOSTLY_UNUSED = 0.5
"""Share of the vocabulary without an occurrence in training from which on it is said."""
MANY_CUT = 0.01
"""Share of translations that the length limit ended from which on it is said."""
SPARE = 0.25
"""Cores that other programs may keep busy beyond those that a training leaves free, such as those of a terminal."""


@dataclass(frozen=True)
class RunWarning:
    """Something that a reader of a run's figures should know.

    Attributes:
        about: what it is, without figures, so that runs can be gathered by it.
        sentence: with figures, and what to do if something can be done.
    """

    about: str
    sentence: str


def warnings_of(result: Mapping[str, Any]) -> list[RunWarning]:
    """Return what is odd about a finished run, from its result.json."""
    diverged = (
        [RunWarning("training diverged", "training diverged: its loss is no number.")] if result.get("diverged") else []
    )
    return [
        *diverged,
        *of_text(result.get("text") or {}),
        *of_training(result.get("train") or {}, (result.get("validation") or {}).get("loss")),
        *of_scores(result),
    ]


def of_text(text: Mapping[str, Any]) -> list[RunWarning]:
    """Return what is odd about the text and its encoding.

    Args:
        text: as ``data.text_figures`` returns it; empty if it is not known.
    """
    found = [
        RunWarning(
            f"sentences of {split} stand in the training text",
            f"{split}: {count:,} of {text['sentences'][split]:,} source sentences stand in the training text too.",
        )
        for split, count in text.get("repeated", {}).items()
        if count
    ]
    found += [
        RunWarning(
            f"{split} has unknown tokens",
            f"{split}: the tokenizer has no piece for {share:.1%} of the tokens, which are <unk>.",
        )
        for split, share in text.get("unknown", {}).items()
        if share >= MUCH_UNKNOWN
    ]
    if (unused := text.get("unused", 0.0)) >= MOSTLY_UNUSED:
        found.append(
            RunWarning(
                "most of the vocabulary is unused",
                f"tokenizer: {unused:.0%} of the vocabulary occur nowhere in the training text; lower "
                "tokenizer.vocab_size, or take another tokenizer.",
            )
        )
    return found


def of_training(train: Mapping[str, Any], loss: float | None) -> list[RunWarning]:
    """Return whether a training has learned nothing, and why its seconds may not be those of its devices.

    Args:
        train: of the result.
        loss: of the validation set at its end, in nats a token; None if it is not known.
    """
    found = []
    unigram = train.get("unigram_loss")
    if loss is not None and unigram is not None and has_diverged(loss, unigram):
        found.append(
            RunWarning(
                "nothing was learned",
                f"nothing was learned: the validation loss, {loss:.3f} nats a token, is not below that of predicting "
                f"each target by its frequency, {unigram:.3f}; train longer, or change the learning rate.",
            )
        )
    if train.get("changed_devices"):
        found.append(
            RunWarning(
                "the devices have changed",
                "other devices, or another number of them, trained a part of this run, so its seconds are not those of "
                "its devices.",
            )
        )
    others, cores = train.get("other_cores"), train.get("cores")
    if others is not None and cores is not None and others + (train.get("threads") or 1) > cores + SPARE:
        found.append(
            RunWarning(
                "other programs took the processor",
                f"other programs kept {others:.1f} of {cores} cores busy during the training, so its speed is not that "
                "of this machine.",
            )
        )
    return found


def of_scores(scores: Mapping[str, Any]) -> list[RunWarning]:
    """Return what is odd about the translations of all test sets.

    Args:
        scores: what ``training.scoring.score_training`` returns.
    """
    return [found for name, one in (scores.get("test") or {}).items() for found in of_translations(name, one)]


def of_translations(name: str, scores: Mapping[str, Any]) -> list[RunWarning]:
    """Return what is odd about the translations of a test set.

    Args:
        name: of the test set.
        scores: of it.
    """
    found = []
    if (cut := scores.get("cut_share") or 0.0) >= MANY_CUT:
        found.append(
            RunWarning(
                f"translations of {name} ended at the length limit",
                f"{name}: the length limit ended {cut:.1%} of the translations; if they repeat themselves, train "
                "longer, and else raise search.max_length_ratio or search.max_length_extra.",
            )
        )
    if empty := scores.get("empty"):
        found.append(
            RunWarning(
                f"translations of {name} are empty",
                f"{name}: {empty:,} of {scores.get('sentences', empty):,} translations are empty.",
            )
        )
    return found

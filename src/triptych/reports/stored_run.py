"""A run as a report reads it, whether it lies in a folder of its own or in an archive."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from statistics import geometric_mean
from typing import Any

import numpy as np
import pandas as pd

from triptych.config.global_batch import FSDP
from triptych.errors import UserError
from triptych.evaluation.mean_nats import nats_lines
from triptych.runs.contents import with_contents
from triptych.runs.digests import KEY, RECORD, find_change, lines_checksum, record_digest, text_name
from triptych.runs.identity import (
    DATA_LOCATION,
    LATER_KEYS,
    LATER_SEARCH_KEYS,
    NOT_IDENTIFYING,
    SHARED_VALUES,
    display_overrides,
    leave_out_unused,
)

OTHER_SCORES = ("nats_per_sentence", "nats_per_word", "repetition_rate", "cut_share", "sentence_bleu_pieces")
"""Figures of a test set that have no signature."""


@dataclass(frozen=True)
class TranslatedText:
    """The text of one test set, a string a sentence.

    Attributes:
        translations: what the run made of the sources.
        references: what the translations are scored against.
        sources: None where the run did not store them.
        scores: further figures of each sentence, by name: ``nats``, the negative log-likelihood of its reference.
    """

    translations: list[str]
    references: list[str]
    sources: list[str] | None = None
    scores: Mapping[str, list[float]] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str | None:
        """The hash of sources and references that evaluation stores as ``text``; None without sources."""
        if self.sources is None:
            return None
        return hashlib.sha256("\n".join([*self.sources, *self.references]).encode()).hexdigest()[:16]

    def files(self, test_set: str) -> dict[str, Sequence[str]]:
        """Return the lines of each file that the run wrote of this text, by the file's name."""
        files: dict[str, Sequence[str]] = {f"{test_set}.txt": self.translations, f"{test_set}.ref.txt": self.references}
        if self.sources is not None:
            files[f"{test_set}.src.txt"] = self.sources
        if "nats" in self.scores:
            files[f"{test_set}.nats.txt"] = nats_lines(self.scores["nats"])
        return files


@dataclass(frozen=True, eq=False)
class StoredRun(ABC):
    """One run, finished or not.

    Attributes:
        id: the run's name, after the path of the folder that it lies in; unique in a report.
        label: what the run calls itself; empty if it has no label.
        given_overrides: the overrides that it was started with.
        config: the resolved config, empty if it is missing.
        result: the content of ``result.json``, None while the run is unfinished.
    """

    id: str
    label: str
    given_overrides: tuple[str, ...]
    config: dict[str, Any]
    result: dict[str, Any] | None

    @property
    @abstractmethod
    def origin(self) -> str:
        """Where the run is stored, as an error message names it."""

    @property
    @abstractmethod
    def remedy(self) -> str:
        """What to do about a run whose result and translations contradict each other."""

    @property
    def change(self) -> str | None:
        """What has changed of the run since it was written; None if nothing has, as far as its digests say."""
        return find_change(self.result or {}, self.config) or self._changed_record() or self._changed_text()

    def _changed_record(self) -> str | None:
        expected = (self.result or {}).get(KEY, {}).get(RECORD)
        if expected in (None, record_digest(self.label, self.given_overrides)):
            return None
        return f"its {RECORD} is not the one that it was trained with"

    def _changed_text(self) -> str | None:
        digests = (self.result or {}).get(KEY, {})
        for test_set in self.tests:
            text = self.text(test_set)
            for file, lines in (text.files(test_set) if text else {}).items():
                if digests.get(name := text_name(file)) not in (None, lines_checksum(lines)):
                    return f"its {name} is not the one that was written"
        return None

    @abstractmethod
    def link(self, home: Path) -> str:
        """Return the run's address, relative to a page in the folder ``home``."""

    @abstractmethod
    def metrics(self) -> pd.DataFrame:
        """Return the logged metrics, every cell as the string that was logged; empty if there are none.

        Raises:
            UserError: the table cannot be read.
        """

    @abstractmethod
    def text(self, test_set: str) -> TranslatedText | None:
        """Return the text of a test set, None without the run's translations and their references.

        Raises:
            UserError: the text cannot be read.
        """

    @abstractmethod
    def text_file(self, test_set: str) -> str:
        """Return the name of the file that holds the translations of a test set."""

    @property
    def name(self) -> str:
        """The run's name without the path of its folder."""
        return self.id.rpartition("/")[2]

    @property
    def overrides(self) -> list[str]:
        """The overrides that say what the run computes, without the seed."""
        return [one for one in display_overrides(self.given_overrides) if not one.startswith("seed=")]

    @property
    def seed(self) -> int | None:
        """The random seed of the training."""
        return (self.result or self.config).get("seed")

    @property
    def computation(self) -> dict[str, Any]:
        """What of ``strategy`` decides what the run computes. The rest says which devices computed it."""
        strategy, train = self.config.get("strategy") or {}, (self.result or {}).get("train") or {}
        chosen = {key: strategy.get(key) for key in ("precision", "kernels")}
        return {**chosen, "sharded": strategy.get("strategy") == FSDP, "compiled": bool(train.get("compiled"))}

    @property
    def training(self) -> str:
        """Identifies the training that gave the weights, which runs of other names and places may share."""
        result = self.result or {}
        if "training_hash" in result:
            return f"{result['training_hash']} by {(result.get('versions') or {}).get('source')}"
        return str(PurePosixPath(self.id).parent / (result.get("weights_of") or self.name))

    @property
    def tests(self) -> dict[str, dict[str, Any]]:
        """The scores of each test set, by the name of the set."""
        return (self.result or {}).get("test") or {}

    @property
    def suites(self) -> dict[str, dict[str, Any]]:
        """The scores of each contrastive suite, by the name of the suite."""
        return (self.result or {}).get("suites") or {}

    @property
    def recipe(self) -> str:
        """Everything that defines the run except its seed, as text. Runs with equal recipes are seeds of one config.

        Devices are left out. So are keys that older versions lack, where their value changes nothing: seeds of two
        versions are then one arm.
        """
        result = self.result or {}
        data = {key: value for key, value in (result.get("data") or {}).items() if not key.startswith("token_stream")}
        config = with_contents(self.config, result)
        identifying = {key: value for key, value in config.items() if key not in (*NOT_IDENTIFYING, *SHARED_VALUES)}
        text = {key: value for key, value in (self.config.get("data") or {}).items() if key not in DATA_LOCATION}
        model = result.get("model") if identifying else self.overrides
        recipe = _without_seed({**identifying, "data": text, "strategy": self.computation})
        leave_out_unused(recipe, {**LATER_KEYS, **LATER_SEARCH_KEYS})
        return json.dumps([model, data, recipe], sort_keys=True, default=str)

    @property
    def fingerprint(self) -> str:
        """Identifies a finished run with its figures, wherever it lies."""
        figures = {key: value for key, value in (self.result or {}).items() if key != KEY}
        return hashlib.sha256(json.dumps([self.recipe, figures], sort_keys=True, default=str).encode()).hexdigest()

    def logged(self, *columns: str) -> list[pd.DataFrame]:
        """Return what was logged under some names: a table for each, with columns ``step`` (rising) and ``value``.

        Raises:
            UserError: the metrics cannot be read.
        """
        try:
            metrics = self.metrics().reindex(columns=["step", *columns])
            metrics = metrics.replace("", np.nan).astype("float64")
        except ValueError as error:
            raise UserError(f"the metrics of {self.origin} cannot be read ({error}); {self.remedy}.") from error
        tables = []
        for column in columns:
            # A resumed run repeats the steps since its last checkpoint: the later row is the one that counted.
            found = metrics[["step", column]].dropna().drop_duplicates("step", keep="last")
            tables.append(found.sort_values("step", ignore_index=True).rename(columns={column: "value"}))
        return tables

    def curve(self, metric: str) -> pd.DataFrame:
        """Return the course of a validation metric, ``loss`` or ``bleu``.

        Returns:
            Columns ``step``, ``tokens`` (source and target, so far), ``flops``, ``hours`` and ``value``. Tokens are
            logged at other steps than validation, hence interpolated. FLOPs and hours are the run's totals, divided in
            proportion to the tokens. NaN where nothing is logged, or the run is unfinished.

        Raises:
            UserError: the metrics cannot be read.
        """
        logged, curve = self.logged("train/tokens", f"validation/{metric}")
        train = (self.result or {}).get("train") or {}
        train = train if {"steps", "tokens_src", "tokens_tgt"} <= train.keys() else {}
        total = train["tokens_src"] + train["tokens_tgt"] if train else np.nan
        known = dict(zip(logged["step"], logged["value"], strict=True)) if len(logged) else {}
        if known and train and train["steps"] > max(known):  # the last steps of a training are not logged
            known[train["steps"]] = total
        tokens = np.interp(curve["step"], [0, *known], [0, *known.values()]) if known else np.nan
        share = tokens / total
        return pd.DataFrame(
            {
                "step": curve["step"].astype("int64"),
                "tokens": tokens,
                "flops": share * train.get("flops", np.nan),
                "hours": share * train.get("seconds", np.nan) / 3600,
                "value": curve["value"],
            }
        )


def test_sets(runs: Sequence[StoredRun]) -> list[str]:
    """Return the names of all test sets that any run was scored on, in alphabetical order."""
    return sorted({name for run in runs for name in run.tests})


def suite_names(runs: Sequence[StoredRun]) -> list[str]:
    """Return the names of all contrastive suites that any run was scored on, in the order of the runs."""
    return list(dict.fromkeys(name for run in runs for name in run.suites))


def metric_names(runs: Sequence[StoredRun], test_set: str) -> list[str]:
    """Return the names of the metrics that any run has of a test set: BLEU, chrF, then the others in order of name."""
    scores = [run.tests[test_set] for run in runs if test_set in run.tests]
    found = {key.removesuffix("_signature") for each in scores for key in each if key.endswith("_signature")}
    return sorted(found, key=lambda name: (name != "bleu", name != "chrf", name))


def other_scores(scores: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a test set that are no metric's score, by name, without those that were not measured.

    Args:
        scores: of the test set, as ``result.json`` stores them.
    """
    details = scores.get("bleu_details") or {}
    found = {f"bleu_{key}": details.get(key) for key in ("brevity_penalty", "length_ratio")}
    if precisions := details.get("precisions"):
        found["bleu_precision"] = geometric_mean(precisions) if all(precisions) else 0.0
    found |= {key: scores.get(key) for key in OTHER_SCORES}
    if "length_penalty_tuned" in scores:
        common = scores.get("at_common_penalty") or {}
        found |= {"length_penalty": scores["length_penalty"], "bleu_at_common_penalty": common.get("bleu")}
    return {key: float(value) for key, value in found.items() if value is not None}


def _without_seed(value: Any) -> Any:
    """Return a config without the entries named ``seed``, at any depth."""
    if isinstance(value, dict):
        return {key: _without_seed(item) for key, item in value.items() if key != "seed"}
    return [_without_seed(item) for item in value] if isinstance(value, list) else value

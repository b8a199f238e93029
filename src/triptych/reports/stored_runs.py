"""The runs below a folder: finished ones with their ``result.json``, unfinished ones without."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import yaml

from triptych.errors import UserError
from triptych.runs.folder import RunFolder
from triptych.runs.identity import DATA_LOCATION as PLACES
from triptych.runs.identity import NOT_IDENTIFYING as UNIDENTIFYING


@dataclass(frozen=True)
class Run:
    """One run's folder.

    Attributes:
        folder: where it lives.
        config: the resolved ``config.yaml``, empty if there is none.
        result: ``result.json``, or None while the run is unfinished.
    """

    folder: Path
    config: dict[str, Any]
    result: dict[str, Any] | None

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def overrides(self) -> list[str]:
        """What the folder's name says, the seed left out: ``model=rnn,seed=3-0123abcd`` -> ``["model=rnn"]``."""
        told = re.sub(r"-[0-9a-f]{8}$", "", self.name).split(",")
        return [part for part in told if not part.startswith("seed=")]

    @property
    def seed(self) -> int | None:
        return (self.result or self.config).get("seed")

    @property
    def tests(self) -> dict[str, dict[str, Any]]:
        """The scores of each test set, by its name."""
        return (self.result or {}).get("test") or {}

    @property
    def recipe(self) -> str:
        """Everything but the seed, as text: runs that agree in it are seeds of one config."""
        result = self.result or {}
        told = (result.get("data") or {}).items()
        data = {key: value for key, value in told if not key.startswith("token_stream")}
        config = {key: value for key, value in self.config.items() if key not in UNIDENTIFYING}
        config["data"] = {key: value for key, value in (config.get("data") or {}).items() if key not in PLACES}
        named = result.get("model") if config else self.overrides
        return json.dumps([named, data, _without_seed(config)], sort_keys=True, default=str)

    def link(self, home: Path) -> str:
        """The folder's address in a page that lies in ``home``."""
        return quote(Path(os.path.relpath(self.folder, home)).as_posix()) + "/"

    def translations(self, test_set: str) -> tuple[list[str], list[str]] | None:
        """Translations and references of a test set, by the line; None unless both are there.

        Raises:
            UserError: one of the files cannot be read.
        """
        folder = RunFolder(self.folder).translations
        paths = [folder / f"{test_set}.txt", folder / f"{test_set}.ref.txt"]
        if not all(path.is_file() for path in paths):
            return None
        hypotheses, references = map(_read_lines, paths)
        return hypotheses, references

    def curve(self, metric: str) -> pd.DataFrame:
        """What ``metrics.csv`` says of a validation metric, ``loss`` or ``bleu``.

        Returns:
            Columns ``step``, ``tokens`` (both sides, so far), ``flops``, ``hours`` and ``value``. Tokens are logged at
            other steps than validation, hence interpolated; FLOPs and hours are the run's totals, of which tokens
            have their share. NaN where nothing is logged, or the run is unfinished.
        """
        try:
            metrics = pd.read_csv(self.folder / "metrics.csv")
        except (FileNotFoundError, pd.errors.EmptyDataError):
            metrics = pd.DataFrame()
        column = f"validation/{metric}"
        metrics = metrics.reindex(columns=["step", "train/tokens", column])
        # A resumed run repeats the steps since its last checkpoint: the later row is the one that counted.
        seen = metrics.dropna(subset=["step", "train/tokens"]).drop_duplicates("step", keep="last").sort_values("step")
        curve = metrics.dropna(subset=["step", column]).drop_duplicates("step", keep="last")
        curve = curve.sort_values("step", ignore_index=True)
        tokens = np.interp(curve["step"], [0, *seen["step"]], [0, *seen["train/tokens"]]) if len(seen) else np.nan
        train = (self.result or {}).get("train") or {}
        share = tokens / (train["tokens_src"] + train["tokens_tgt"]) if train else np.nan
        return pd.DataFrame(
            {
                "step": curve["step"],
                "tokens": tokens,
                "flops": share * train.get("flops", np.nan),
                "hours": share * train.get("seconds", np.nan) / 3600,
                "value": curve[column],
            }
        )


def find_runs(folder: Path) -> list[Run]:
    """Every run below ``folder``, by path.

    Raises:
        UserError: the folder is missing, or a ``result.json`` or ``config.yaml`` cannot be read.
    """
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}; give the one that `triptych train` wrote its runs to.")
    marks = [*folder.rglob("result.json"), *folder.rglob("config.yaml")]
    # Hydra keeps its own config.yaml in a hidden folder; that is no run.
    homes = {mark.parent for mark in marks if not any(p.startswith(".") for p in mark.relative_to(folder).parts)}
    return [Run(home, _read(home / "config.yaml") or {}, _read(home / "result.json")) for home in sorted(homes)]


def test_sets(runs: Sequence[Run]) -> list[str]:
    """The names of all test sets that any run was scored on, in alphabetical order."""
    return sorted({name for run in runs for name in run.tests})


def _read(path: Path) -> dict[str, Any] | None:
    """A JSON or YAML mapping; None if the file is missing."""
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except FileNotFoundError:
        return None
    except (ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{path} cannot be read ({reason}); delete it and run its training again.") from error
    if not isinstance(content, dict):
        raise UserError(f"{path} holds no mapping; delete it and run its training again.")
    return content


def _read_lines(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            return file.read().removesuffix("\n").split("\n")
    except ValueError as error:
        raise UserError(f"{path} cannot be read ({error}); delete it and run its training again.") from error


def _without_seed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_seed(entry) for key, entry in value.items() if key != "seed"}
    return [_without_seed(entry) for entry in value] if isinstance(value, list) else value

"""The runs below a folder: finished ones with their ``result.json``, unfinished ones without."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from triptych.errors import UserError
from triptych.runs import UNIDENTIFYING

SETTLED = (
    *("bleu_signature", "chrf_signature", "text", "sentences"),
    *("beam_size", "length_penalty", "max_length_ratio", "max_length_extra"),
)
"""What two runs must share before their scores on one test set stand in one table."""


@dataclass(frozen=True)
class Run:
    """One run's folder.

    Attributes:
        folder: where it lives.
        label: what a table calls it: the overrides in which the runs of a report differ, the seed left out, so that
            several seeds of one config share it.
        config: the resolved ``config.yaml``, empty if there is none.
        result: ``result.json``, or None while the run is unfinished.
    """

    folder: Path
    label: str
    config: dict[str, Any]
    result: dict[str, Any] | None

    @property
    def name(self) -> str:
        return self.folder.name

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
        data = {key: value for key, value in (result.get("data") or {}).items() if key != "token_stream"}
        config = {key: value for key, value in self.config.items() if key not in UNIDENTIFYING}
        named = result.get("model") if config else self.label
        return json.dumps([named, data, _without_seed(config)], sort_keys=True, default=str)

    def curve(self, metric: str) -> pd.DataFrame:
        """What ``metrics.csv`` says of a validation metric, ``loss`` or ``bleu``.

        Returns:
            Columns ``step``, ``tokens`` (both sides, so far) and ``value``. Tokens are logged at other steps than
            validation, hence interpolated; NaN where none are logged.
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
        tokens = np.interp(curve["step"], [0, *seen["step"]], [0, *seen["train/tokens"]]) if len(seen) else float("nan")
        return pd.DataFrame({"step": curve["step"], "tokens": tokens, "value": curve[column]})


def find_runs(folder: Path) -> list[Run]:
    """Every run below ``folder``, ordered by label, seed and name, the unfinished ones last.

    Raises:
        UserError: the folder is missing or holds no run, or a ``result.json`` or ``config.yaml`` cannot be read.
    """
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}; give the one that `triptych train` wrote its runs to.")
    marks = [*folder.rglob("result.json"), *folder.rglob("config.yaml")]
    # Hydra keeps its own config.yaml in a hidden folder; that is no run.
    homes = {mark.parent for mark in marks if not any(p.startswith(".") for p in mark.relative_to(folder).parts)}
    if not homes:
        raise UserError(f"no runs below {folder}; train one with `triptych train`.")
    told = {home: _overrides(home.name) for home in homes}
    shared = set.intersection(*map(set, told.values())) if len(homes) > 1 else set()
    runs = [_read_run(home, [part for part in parts if part not in shared]) for home, parts in told.items()]
    return sorted(runs, key=lambda run: (run.result is None, run.label, run.seed is None, run.seed or 0, run.name))


def refuse_mixtures(runs: Sequence[Run]) -> None:
    """Scores of one test set are comparable only if they were made alike.

    Raises:
        UserError: runs scored one test set with different signatures, or decoded it with different settings.
    """
    for test_set in test_sets(runs):
        for key in SETTLED:
            found: dict[str, list[str]] = defaultdict(list)
            for run in runs:
                if test_set in run.tests:
                    found[str(run.tests[test_set].get(key))].append(str(run.folder))
            if len(found) > 1:
                sides = "; ".join(
                    f"{value} in {folders[0]}" + (f" and {len(folders) - 1:,} more" if len(folders) > 1 else "")
                    for value, folders in found.items()
                )
                raise UserError(
                    f"test.{test_set}.{key} differs between runs ({sides}): "
                    "train them with the same data and search, or report them from separate folders."
                )


def test_sets(runs: Sequence[Run]) -> list[str]:
    """The names of all test sets that any run was scored on, in alphabetical order."""
    return sorted({name for run in runs for name in run.tests})


def _read_run(folder: Path, told: Sequence[str]) -> Run:
    config = _read(folder / "config.yaml") or {}
    result = _read(folder / "result.json")
    label = " ".join(part.removeprefix("model=") for part in told)
    return Run(folder, label or ((result or {}).get("model") or {}).get("name") or "default", config, result)


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


def _overrides(name: str) -> list[str]:
    """``model=rnn,loss=joint,seed=3-0123abcd`` -> ``["model=rnn", "loss=joint"]``."""
    return [part for part in re.sub(r"-[0-9a-f]{8}$", "", name).split(",") if not part.startswith("seed=")]


def _without_seed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_seed(entry) for key, entry in value.items() if key != "seed"}
    return [_without_seed(entry) for entry in value] if isinstance(value, list) else value

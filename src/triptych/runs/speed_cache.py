"""Store the speeds of trainings in the cache, for forecasts."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pandas as pd
from omegaconf import DictConfig

from triptych.accounting.peaks import datasheet_name
from triptych.errors import UserError
from triptych.runs.folder import write_json
from triptych.runs.identity import SCORING, config_hash
from triptych.stored import read_json

APART = (*SCORING, "seed", "budget", "validation", "checkpoint", "log_every", "optimizer.schedule")
"""Config keys that change the result of a training but hardly its speed."""


def record(config: DictConfig, data: str, device: str, tokens_per_second: float) -> None:
    """Store the speed of a training.

    Args:
        config: config of the training.
        data: fingerprint of its data.
        device: name of the device.
        tokens_per_second: source and target tokens a second.
    """
    path = _path(config, data)
    kept: dict[str, float] = {}
    with contextlib.suppress(UserError):  # a damaged file is replaced
        kept = _read(path)
    write_json(path, {**kept, device: tokens_per_second})


def steady(logged: pd.DataFrame, overall: float) -> float:
    """Return the tokens a second of a training after its warm-up.

    Args:
        logged: metrics of the run, one row per line of the log (``runs.metrics``).
        overall: tokens a second of the whole training, for a run whose log has one line.

    Returns:
        The median over the log's lines without the first, which includes compilation.
    """
    lines = logged.reindex(columns=["train/tokens_per_second"]).squeeze(axis=1).dropna().iloc[1:]
    return float(lines.median()) if len(lines) else overall


def known(config: DictConfig, data: str, device: str) -> float | None:
    """Return the stored source and target tokens a second of such a training on the device, or None.

    Args:
        device: its name, or the part of it that ``accounting.datasheet_name`` returns.
    """
    kept = _read(_path(config, data))
    if device in kept:
        return kept[device]
    kind = datasheet_name(device)
    return next((speed for name, speed in kept.items() if kind and datasheet_name(name) == kind), None)


def _path(config: DictConfig, data: str) -> Path:
    training = config_hash(config, data, leaving_out=APART, with_devices=True)
    return Path(config.cache).expanduser() / "speeds" / f"{training}.json"


def _read(path: Path) -> dict[str, float]:
    return read_json(path, dict[str, float], "delete it: it only makes forecasts quicker") if path.exists() else {}

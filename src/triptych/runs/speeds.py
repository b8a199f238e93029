"""How fast a training was, kept for forecasts."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from omegaconf import DictConfig

from triptych.accounting.peaks import datasheet_name
from triptych.runs.folder import write_json
from triptych.runs.identity import SCORING, config_hash

APART = (*SCORING, "seed", "budget", "validation", "checkpoint", "log_every", "optimizer.schedule")
"""Keys that change what a training comes to, and hardly its speed."""


def record(config: DictConfig, data: str, device: str, tokens_per_second: float) -> None:
    """Keeps the speed of a training by this config, of data of this fingerprint, on a device of this name."""
    path = _path(config, data)
    write_json(path, {**_read(path), device: tokens_per_second})


def steady(logged: pd.DataFrame, overall: float) -> float:
    """Tokens a second of a training that has warmed up.

    Args:
        logged: what the run logged (``runs.metrics``).
        overall: of all of it, which is all that a training of one line of the log has.

    Returns:
        The median over the log's lines but for the first, in whose time a compiler works.
    """
    lines = logged.reindex(columns=["train/tokens_per_second"]).squeeze(axis=1).dropna().iloc[1:]
    return float(lines.median()) if len(lines) else overall


def known(config: DictConfig, data: str, device: str) -> float | None:
    """Source and target tokens a second, if a training like this one was measured on the device.

    Args:
        device: its name, or the part of it by which a GPU's peak is known (``accounting.datasheet_name``).
    """
    kept = _read(_path(config, data))
    if device in kept:
        return kept[device]
    kind = datasheet_name(device)
    return next((speed for name, speed in kept.items() if kind and datasheet_name(name) == kind), None)


def _path(config: DictConfig, data: str) -> Path:
    return Path(config.cache).expanduser() / "speeds" / f"{config_hash(config, data, leaving_out=APART)}.json"


def _read(path: Path) -> dict[str, float]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

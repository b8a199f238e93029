"""How fast a training was, kept for forecasts."""

from __future__ import annotations

import json
from pathlib import Path

from omegaconf import DictConfig

from triptych.accounting import DATASHEET_PEAKS
from triptych.runs import SCORING, config_hash, write_json

APART = (*SCORING, "seed", "budget", "validation", "checkpoint", "log_every", "optimizer.schedule")
"""Keys that change what a training comes to, and hardly its speed."""


def record(config: DictConfig, data: str, device: str, tokens_per_second: float) -> None:
    """Keeps the speed of a training by this config, of data of this fingerprint, on a device of this name."""
    path = _path(config, data)
    write_json(path, {**_read(path), device: tokens_per_second})


def known(config: DictConfig, data: str, device: str) -> float | None:
    """Source and target tokens a second, if a training like this one was measured on the device.

    Args:
        device: its name, or the part of it by which a GPU's peak is known (``accounting.DATASHEET_PEAKS``).
    """
    kept = _read(_path(config, data))
    alike = [name for name in kept if name == device or ((kind := _kind(device)) and kind == _kind(name))]
    return kept[alike[0]] if alike else None


def _kind(device: str) -> str | None:
    return next((part for part, _, _ in DATASHEET_PEAKS if part in device), None)


def _path(config: DictConfig, data: str) -> Path:
    return Path(config.cache).expanduser() / "speeds" / f"{config_hash(config, data, leaving_out=APART)}.json"


def _read(path: Path) -> dict[str, float]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

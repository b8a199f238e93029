"""W&B's offline files, read back with W&B's own reader."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def environment(home: Path) -> dict[str, str]:
    """Return the variables of a process that knows no key of W&B's, and keeps its files in a folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB_", "XDG_"))}
    return {**kept, "HOME": str(home), "NETRC": str(home / "netrc"), "WANDB_MODE": "offline"}


def read_back(path: Path, environment: dict[str, str]) -> list[Record]:
    """The records of a ``.wandb`` file, as ``wandb leet inspect`` prints them."""
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def lines(records: list[Record]) -> list[dict[str, Any]]:
    """What was logged, a dictionary for each line."""
    return [record["history"]["item"] for record in records if "item" in record.get("history", {})]


def history(records: list[Record]) -> dict[str, list[Any]]:
    """The values of each series."""
    values: dict[str, list[Any]] = {}
    for line in lines(records):
        for key, value in line.items():
            values.setdefault(key, []).append(value)
    return values


def configured(records: list[Record]) -> dict[str, Any]:
    """The configuration that a dashboard shows."""
    config: dict[str, Any] = {}
    for record in records:
        for kind in ("run", "config"):
            found = record.get(kind, {})
            config |= found.get("config", {}).get("update", {}) if kind == "run" else found.get("update", {})
    return config

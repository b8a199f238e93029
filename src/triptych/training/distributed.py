"""Communication between the processes of one training."""

from __future__ import annotations

import os
from typing import Any

import torch.distributed as dist

RANKS = ("RANK", "LOCAL_RANK", "SLURM_PROCID")
"""Environment variables in which launchers tell a process its rank."""


def all_gather(value: Any) -> list[Any]:
    """Return the value of every rank, in order. Collective: every rank must call it."""
    if not (dist.is_available() and dist.is_initialized()):
        return [value]
    values: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def is_rank_zero() -> bool:
    """Whether this is the first process of its training. Known from the environment before processes are connected."""
    return int(next((os.environ[name] for name in RANKS if name in os.environ), 0)) == 0

"""What the processes of one training tell each other, and the user."""

from __future__ import annotations

from typing import Any

import torch.distributed as dist
from lightning.pytorch.utilities.rank_zero import rank_zero_only


def gather(value: Any) -> list[Any]:
    """Everyone's value, by rank, on every rank; just this one where a process trains alone."""
    if not (dist.is_available() and dist.is_initialized()):
        return [value]
    values: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


@rank_zero_only
def say(line: str) -> None:
    """Prints a line, once."""
    print(line, flush=True)

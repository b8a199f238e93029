"""Communication between the processes of one training."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import torch.distributed as dist

from triptych.training.starter import STARTER

RANKS = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")
"""Environment variables in which launchers tell a process its rank."""
ADDRESSES = ("LOCAL_RANK", "NODE_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""Environment variables by which Lightning connects the ranks that it starts."""


def all_gather(value: Any) -> list[Any]:
    """Return the value of every rank, in order. Collective: every rank must call it."""
    if not (dist.is_available() and dist.is_initialized()):
        return [value]
    values: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(values, value, group=_gloo_group(dist.group.WORLD))
    return values


@lru_cache(maxsize=1)
def _gloo_group(world: dist.ProcessGroup) -> dist.ProcessGroup:
    """Return a group of all processes whose messages do not wait for what their GPUs compute. Collective."""
    return world if dist.get_backend(world) == dist.Backend.GLOO else dist.new_group(backend=dist.Backend.GLOO)


def is_rank_zero() -> bool:
    """Whether this is the first process of its training. Known from the environment before processes are connected."""
    return int(next((os.environ[name] for name in RANKS if name in os.environ), 0)) == 0


def is_lost_connection(error: BaseException) -> bool:
    """Return whether an error says that another process of the training does not answer any more."""
    return isinstance(error, dist.DistError) or (isinstance(error, RuntimeError) and "gloo" in str(error))


@contextmanager
def ranks_started_by(command: Sequence[str]) -> Iterator[None]:
    """Let Lightning start the other ranks as ``python -m triptych`` with a command, and forget them afterwards.

    Lightning would start them as this process was started, which may be a user's script. It also leaves their addresses
    in the environment, and the next training of this process would take them for its own. The other ranks end soon
    after this process has ended.
    """
    main = sys.modules["__main__"]
    before, environment = (sys.argv, main.__spec__), {name: os.environ.get(name) for name in (*ADDRESSES, STARTER)}
    os.environ[STARTER] = str(os.getpid())
    sys.argv = ["triptych", *command]
    main.__spec__ = importlib.util.find_spec("triptych.__main__")
    try:
        yield
    finally:
        sys.argv, main.__spec__ = before
        if dist.is_available() and dist.is_initialized():
            dist.destroy_process_group()
        for name, value in environment.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value

"""Give each run a GPU of its own, where several runs of one GPU each share a machine."""

from __future__ import annotations

import itertools
import logging
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from filelock import FileLock, Timeout
from omegaconf import DictConfig

from triptych.errors import UserError

logger = logging.getLogger(__name__)


@contextmanager
def claimed_devices(accelerator: str, devices: int) -> Iterator[int | list[int]]:
    """Give the ``devices`` of Lightning's Trainer: how many; or which one, for a run on one GPU of several.

    A run claims a GPU with a file lock, which the operating system releases when the process dies. If other runs have
    claimed all GPUs, wait for one.
    """
    count = torch.cuda.device_count() if accelerator in ("gpu", "cuda", "auto") else 0
    if devices != 1 or count < 2:
        yield devices
        return
    folder = Path(tempfile.gettempdir()) / f"triptych-gpus-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    for attempt in itertools.count():
        for place in range(count):
            lock = FileLock(folder / f"{torch.cuda.get_device_properties(place).uuid}.lock", timeout=0)
            try:
                lock.acquire()
            except Timeout:
                continue
            try:
                yield [place]
            finally:
                lock.release()
            return
        if attempt == 0:
            logger.info("other runs use all %s GPUs; waiting for one of them to end.", count)
        time.sleep(5)


def device_of(config: DictConfig, devices: int | list[int] = 1) -> str:
    """Return where the strategy trains, on the first of its devices.

    Raises:
        UserError: it wants a GPU, and there is none.
    """
    wanted = config.strategy.accelerator
    available = torch.cuda.is_available()
    if wanted in ("gpu", "cuda") and not available:
        raise UserError(f"strategy.accelerator={wanted}: no such GPU is here; take strategy=cpu, or name a --device.")
    if wanted == "cpu" or not available:
        return "cpu"
    return f"cuda:{devices[0]}" if isinstance(devices, list) else "cuda"

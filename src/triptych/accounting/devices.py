"""Devices of this machine, by the names that PyTorch has for them."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import nn

from triptych.errors import UserError, is_shortage_of_memory

Module = TypeVar("Module", bound=nn.Module)


def devices_here() -> list[str]:
    """Return the names of the devices that a model can be on: ``cpu``, ``cuda:0`` and so on."""
    gpus = [f"cuda:{place}" for place in range(torch.cuda.device_count())]
    return ["cpu", *gpus, *(["mps"] if torch.backends.mps.is_available() else [])]


def on_device(model: Module, device: str) -> Module:
    """Move a model to a device.

    Args:
        model: on the CPU.
        device: value of the key ``device``.

    Raises:
        UserError: there is no such device here.
    """
    try:
        if torch.device(device).type != "meta":  # it has no memory
            return model.to(device)
        reason = ""
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        if is_shortage_of_memory(error):
            raise
        said = str(error).splitlines()[0].rstrip(".")
        reason = "" if said.startswith("Expected one of") else f" ({said})"
    raise UserError(f"device={device} is not there{reason}; this machine has {', '.join(devices_here())}.")

"""Devices of this machine, by the names that PyTorch has for them, and what they are slow at."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import nn

from triptych.errors import UserError, is_shortage_of_memory
from triptych.kernels.precision import has_bf16

Module = TypeVar("Module", bound=nn.Module)


def devices_here() -> list[str]:
    """Return the names of the devices that a model can be on: ``cpu``, ``cuda:0`` and so on."""
    gpus = [f"cuda:{place}" for place in range(torch.cuda.device_count())]
    return ["cpu", *gpus, *(["mps"] if torch.backends.mps.is_available() else [])]


def explain_precision(key: str, precision: str, device: torch.device, faster: str) -> list[str]:
    """Return a sentence if a device computes slowly in a precision: a CPU without instructions for bfloat16.

    Args:
        key: that chooses the precision.
        precision: its value.
        device: what computes.
        faster: the value that is faster there.
    """
    if device.type != "cpu" or not precision.startswith("bf16") or has_bf16():
        return []
    return [f"{key}={precision} is slow here: this CPU has no instructions for bf16. {key}={faster} is faster."]


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

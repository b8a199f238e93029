"""Cost of a training, as ``result.json`` stores it."""

from __future__ import annotations

from typing import Any

import torch

from triptych.accounting.flops import PairCounts, mfu, training_flops
from triptych.accounting.peaks import device_name, peak_flops
from triptych.contract.model import TranslationModel


def training_cost(
    model: TranslationModel,
    pairs: PairCounts,
    *,
    tokens: int,
    seconds: float,
    device: torch.device,
    devices: int,
    precision: str,
    peak_memory: int,
) -> dict[str, Any]:
    """Return the cost of a training: FLOPs, time, device, threads of this process, utilisation and memory.

    Args:
        model: the trained model.
        pairs: the pairs that it was trained on.
        tokens: number of source and target tokens that it was trained on.
        seconds: duration of the training.
        device: the device of this process.
        devices: number of such devices that trained together.
        precision: Lightning's name of the training precision.
        peak_memory: peak memory of this process during training, in bytes.
    """
    flops = training_flops(model, pairs)
    peak, peak_source = peak_flops(device, precision)
    return {
        "flops": flops,
        "seconds": seconds,
        "tokens_per_second": tokens / seconds,
        "device": device_name(device),
        "threads": torch.get_num_threads(),
        "devices": devices,
        "peak_flops": peak * devices,
        "peak_source": peak_source,
        "mfu": mfu(flops, seconds, peak * devices),
        "peak_memory_bytes": peak_memory,
    }

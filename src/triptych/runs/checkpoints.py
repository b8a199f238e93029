"""Read a run's checkpoints, and average them."""

from __future__ import annotations

from pathlib import Path

import torch

from triptych.errors import UserError
from triptych.files import replacing
from triptych.runs.folder import RunFolder


def write_average(folder: RunFolder, last: int, tokenizer: str) -> None:
    """Write ``averaged.ckpt``, the mean of the weights of the last checkpoints (Vaswani et al. 2017, section 6.1).

    Args:
        folder: folder of the run.
        last: number of checkpoints to average.
        tokenizer: fingerprint of the tokenizer, stored beside the weights.

    Raises:
        UserError: the run has fewer checkpoints.
    """
    paths = sorted(folder.checkpoints.glob("recent-*.ckpt"), key=lambda path: int(path.stem.split("-")[1]))[-last:]
    if len(paths) < last:
        raise UserError(
            f"{folder.checkpoints} has {len(paths)} checkpoints to average; lower checkpoint.average={last}."
        )
    mean = {name: value.float() for name, value in weights(paths[0]).items()}
    for n, path in enumerate(paths[1:], 2):
        # Not in place: the names of tied matrices share memory.
        mean = {name: mean[name] + (value - mean[name]) / n for name, value in weights(path).items()}
    with replacing(folder.checkpoints / "averaged.ckpt") as beside:
        torch.save({"state_dict": {f"model.{n}": value for n, value in mean.items()}, "tokenizer": tokenizer}, beside)


def weights(path: Path) -> dict[str, torch.Tensor]:
    """Return the model's weights in a checkpoint, on the CPU."""
    state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
    return {name.removeprefix("model."): tensor for name, tensor in state.items() if name.startswith("model.")}


def step_of(path: Path) -> int:
    """Return the number of optimizer steps before a checkpoint."""
    return int(torch.load(path, map_location="cpu", weights_only=True, mmap=True)["global_step"])

"""What is read from, and made of, a run's checkpoints."""

from __future__ import annotations

from pathlib import Path

import torch

from triptych.errors import UserError
from triptych.files import replacing
from triptych.runs.folder import RunFolder


def write_average(folder: RunFolder, last: int, tokenizer: str) -> None:
    """``averaged.ckpt``: the mean of the weights of the last checkpoints (Vaswani et al. 2017, section 6.1).

    Raises:
        UserError: there are fewer.
    """
    paths = sorted(folder.checkpoints.glob("recent-*.ckpt"), key=lambda path: int(path.stem.split("-")[1]))[-last:]
    if len(paths) < last:
        raise UserError(f"{folder.checkpoints} has {len(paths)} checkpoints to average, and {last} are asked for.")
    mean = {name: value.float() for name, value in weights(paths[0]).items()}
    for n, path in enumerate(paths[1:], 2):
        # Not in place: names of one tied matrix share their memory.
        mean = {name: mean[name] + (value - mean[name]) / n for name, value in weights(path).items()}
    with replacing(folder.checkpoints / "averaged.ckpt") as beside:
        torch.save({"state_dict": {f"model.{n}": value for n, value in mean.items()}, "tokenizer": tokenizer}, beside)


def weights(path: Path) -> dict[str, torch.Tensor]:
    """The model's weights in a checkpoint, on the CPU."""
    state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
    return {name.removeprefix("model."): tensor for name, tensor in state.items() if name.startswith("model.")}


def step_of(path: Path) -> int:
    """The optimizer steps behind a checkpoint."""
    return int(torch.load(path, map_location="cpu", weights_only=True, mmap=True)["global_step"])

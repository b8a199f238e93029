"""Read a run's checkpoints, and average them.

A run's own checkpoints are Lightning's (``.ckpt``). An exported run has its weights in the safetensors format
(``triptych export format=safetensors``).
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_model
from torch import nn

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


def find(folder: RunFolder, name: str) -> Path:
    """Return the path of a checkpoint.

    Args:
        folder: folder of the run.
        name: ``best``, ``last`` or ``averaged``.

    Raises:
        UserError: the run has no such checkpoint.
    """
    paths = {path.stem: path for path in folder.checkpoints.glob("*") if path.suffix in (".ckpt", ".safetensors")}
    if name not in paths:
        available = ", ".join(sorted(paths)) or "none yet"
        raise UserError(f"run={folder.path} has no checkpoint '{name}'; it has {available}.")
    return paths[name]


def scored_checkpoint(folder: RunFolder) -> str:
    """Return the name of the checkpoint that result.json scores: ``averaged`` if there is one, else ``best``."""
    return "averaged" if any(folder.checkpoints.glob("averaged.*")) else "best"


def tokenizer_of(path: Path) -> str:
    """Return the fingerprint of the tokenizer that a checkpoint was trained with."""
    if path.suffix == ".safetensors":
        with safe_open(path, "pt") as file:
            return file.metadata()["tokenizer"]
    return torch.load(path, map_location="cpu", weights_only=True, mmap=True)["tokenizer"]


def load_weights(model: nn.Module, path: Path) -> None:
    """Copy the weights of a checkpoint into a model, whose precision they take on."""
    if path.suffix == ".safetensors":
        load_model(model, path)
    else:
        model.load_state_dict(weights(path))


def weights(path: Path) -> dict[str, torch.Tensor]:
    """Return the model's weights in one of Lightning's checkpoints, on the CPU."""
    state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
    return {name.removeprefix("model."): tensor for name, tensor in state.items() if name.startswith("model.")}


def step_of(path: Path) -> int:
    """Return the number of optimizer steps before a checkpoint."""
    return int(torch.load(path, map_location="cpu", weights_only=True, mmap=True)["global_step"])

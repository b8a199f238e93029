"""Read a run's checkpoints, and average them.

A run's own checkpoints are Lightning's (``.ckpt``). An exported run has its weights in the safetensors format
(``triptych export format=safetensors``).
"""

from __future__ import annotations

import logging
import pickle
import re
import zlib
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_model
from torch import nn

from triptych.errors import UserError, one_line
from triptych.files import replacing
from triptych.runs.digests import require_same_training
from triptych.runs.folder import RunFolder
from triptych.stored import ERRORS, DamagedFile

logger = logging.getLogger(__name__)
TRAINING_HASH = "training_hash"
"""Key of a checkpoint for the hash of its training; those of version 0.2.0 lack it."""
REMEDY = "give another checkpoint, or train the run again"


def write(content: dict[str, Any], path: Path) -> None:
    """Write a checkpoint beside its path, and rename it to that.

    Raises:
        OSError: it cannot be written. Given a path instead of a file, PyTorch would not say why.
    """
    with replacing(path) as beside, beside.open("wb") as file:
        torch.save(content, file)


def write_average(folder: RunFolder, last: int, tokenizer: str) -> None:
    """Write ``averaged.ckpt``, the mean of the weights of the last checkpoints (Vaswani et al. 2017, section 6.1).

    Args:
        folder: folder of the run.
        last: number of checkpoints to average.
        tokenizer: fingerprint of the tokenizer, stored beside the weights.

    Raises:
        UserError: the run has fewer checkpoints, or one of them is damaged or has changed.
    """
    paths = sorted(folder.checkpoints.glob("recent-*.ckpt"), key=lambda path: int(path.stem.split("-")[1]))[-last:]
    if len(paths) < last:
        raise UserError(
            f"{folder.checkpoints} has {len(paths)} checkpoints to average; lower checkpoint.average={last}."
        )
    for path in paths:
        require_intact(path)
    require_same_training(folder, *paths)
    mean = {name: value.float() for name, value in weights(paths[0]).items()}
    for n, path in enumerate(paths[1:], 2):
        # Not in place: the names of tied matrices share memory.
        mean = {name: mean[name] + (value - mean[name]) / n for name, value in weights(path).items()}
    averaged = {"state_dict": {f"model.{n}": value for n, value in mean.items()}, "tokenizer": tokenizer}
    write(averaged, folder.checkpoints / "averaged.ckpt")


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
    """Return the fingerprint of the tokenizer that a checkpoint was trained with.

    Raises:
        UserError: the checkpoint is damaged.
    """
    if path.suffix == ".safetensors":
        try:
            with safe_open(path, "pt") as file:
                return str(file.metadata()["tokenizer"])
        except (*ERRORS, SafetensorError) as error:
            raise DamagedFile(path, error, REMEDY) from error
    require_intact(path)
    return str(_entry(path, "tokenizer"))


def load_weights(model: nn.Module, path: Path) -> None:
    """Copy the weights of a checkpoint into a model, whose precision they take on.

    Raises:
        DamagedFile: they are not those of this model.
    """
    try:
        if path.suffix == ".safetensors":
            load_model(model, path)
        else:
            model.load_state_dict(weights(path))
    except (RuntimeError, AttributeError, SafetensorError) as error:
        raise DamagedFile(path, f"its weights are not those of the model in config.yaml: {error}", REMEDY) from error


def weights(path: Path) -> dict[str, torch.Tensor]:
    """Return the model's weights in one of Lightning's checkpoints, on the CPU."""
    state = _entry(path, "state_dict", mmap=False)
    return {name.removeprefix("model."): tensor for name, tensor in state.items() if name.startswith("model.")}


def newest_state(folder: RunFolder, training_hash: str) -> Path | None:
    """Return the newest intact checkpoint that training goes on from; None for a run that has saved none.

    Args:
        folder: of the run.
        training_hash: of its training, which a checkpoint of another training does not have.

    Raises:
        UserError: all are damaged, or one is of another training.
    """
    found = [path for path in (folder.last, folder.previous) if path.exists()]
    for path in found:
        if (damage := find_damage(path)) is None:
            if _read(path).get(TRAINING_HASH) not in (None, training_hash):
                raise UserError(
                    f"{path} is of another training; put the run's own checkpoints back, or delete "
                    f"{folder.checkpoints} to train the run again from its start."
                )
            return path
        logger.warning("%s is damaged (%s).", path, damage)
    if found:
        raise UserError(f"{found[0]} is damaged; delete {folder.checkpoints} to train the run again from its start.")
    return None


def require_intact(path: Path) -> None:
    """Raise ``UserError`` if a checkpoint is damaged."""
    if damage := find_damage(path):
        raise UserError(f"{path} is damaged ({damage}); give another checkpoint, or train the run again.")


def find_damage(path: Path) -> str | None:
    """Return what is wrong with one of Lightning's checkpoints, by the checksums in it; None if it is intact.

    PyTorch writes a zip archive, which has a checksum (CRC-32) of each tensor, but reads it without a check.
    """
    try:
        with ZipFile(path) as archive:
            bad = archive.testzip()
    except OSError as error:
        return error.strerror or str(error)
    except (BadZipFile, EOFError, ValueError, RuntimeError, zlib.error) as error:  # damage may look like encryption
        return str(error)
    if bad is not None:
        return f"the checksum of {bad} is wrong"
    try:
        _read(path)
    except DamagedFile as error:
        return one_line(error.__cause__)
    return None


def step_of(path: Path) -> int:
    """Return the number of optimizer steps before a checkpoint."""
    return int(_entry(path, "global_step"))


def _entry(path: Path, key: str, *, mmap: bool = True) -> Any:
    content = _read(path, mmap=mmap)
    if key not in content:
        raise DamagedFile(path, f"it has no {key}", REMEDY)
    return content[key]


def _read(path: Path, *, mmap: bool = True) -> dict[str, Any]:
    """Return the content of one of Lightning's checkpoints; no object in it but tensors and plain values is built.

    Raises:
        DamagedFile: it is no checkpoint of triptych's.
    """
    try:
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True, mmap=mmap)
        if not isinstance(content, dict):
            raise TypeError("it is no mapping")
    except pickle.UnpicklingError as error:
        named = re.search(r"GLOBAL ([\w.]+)", str(error))
        reason = f"it holds {named[1] if named else 'objects'}, which no checkpoint needs and which could run code"
        raise DamagedFile(path, reason, REMEDY) from ValueError(reason)
    except (*ERRORS, RuntimeError, EOFError) as error:
        raise DamagedFile(path, error, REMEDY) from error
    return content

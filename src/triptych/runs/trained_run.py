"""Load a trained run as a translator."""

from __future__ import annotations

from pathlib import Path

import torch
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from triptych.data.directions import Directions
from triptych.data.tokenizer import Tokenizer
from triptych.decoding.translator import Translator
from triptych.errors import UserError
from triptych.runs.checkpoints import weights
from triptych.runs.folder import RunFolder


def load(run: str | Path, checkpoint: str | None = None, device: str = "cpu") -> Translator:
    """Return the model of a run's folder as a translator, with the weights of ``checkpoints/<checkpoint>.ckpt``.

    Args:
        run: the folder.
        checkpoint: ``best``, ``last`` or ``averaged``; None for the one that ``result.json`` scores.
        device: where the model goes.

    Raises:
        UserError: no such run, checkpoint or device, or a tokenizer that the checkpoint was not trained with.
    """
    config, folder = load_config(run), run_folder(run)
    path = folder.checkpoints / f"{checkpoint or scored_checkpoint(folder)}.ckpt"
    if not path.exists():
        available = sorted(p.stem for p in folder.checkpoints.glob("*.ckpt"))
        raise UserError(f"run={run} has no checkpoint '{path.stem}'; it has {', '.join(available) or 'none yet'}.")
    tokenizer = Tokenizer.load(folder.tokenizer)
    stored = torch.load(path, map_location="cpu", weights_only=True, mmap=True)["tokenizer"]
    if stored != tokenizer.fingerprint:
        raise UserError(
            f"run={run}: its tokenizer {tokenizer.fingerprint} is not the one that its checkpoint was trained with, "
            f"{stored}; put the right tokenizer folder back."
        )
    model = instantiate(config.model, vocabulary=tokenizer.vocabulary)
    model.load_state_dict(weights(path))
    try:
        model = model.eval().to(device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"device={device} is not there ({str(error).splitlines()[0]}); choose cpu.") from error
    return Translator(
        model=model,
        tokenizer=tokenizer,
        directions=_directions(config, tokenizer),
        search=instantiate(config.search),
    )


def run_folder(run: str | Path) -> RunFolder:
    """Return the folder of a run, with ``~`` expanded."""
    return RunFolder(Path(run).expanduser())


def load_config(run: str | Path) -> DictConfig:
    """Return the resolved config of a run.

    Raises:
        UserError: the folder is not that of a run.
    """
    path = run_folder(run).config
    if not path.exists():
        raise UserError(
            f"run={run} is no run folder (it has no config.yaml); give the folder that `triptych train` made."
        )
    config = OmegaConf.load(path)
    assert isinstance(config, DictConfig)
    return config


def scored_checkpoint(folder: RunFolder) -> str:
    """Return the name of the checkpoint that ``result.json`` scores: ``averaged`` if it exists, else ``best``."""
    return "averaged" if (folder.checkpoints / "averaged.ckpt").exists() else "best"


def _directions(config: DictConfig, tokenizer: Tokenizer) -> Directions:
    """Return the directions that a run was trained on, and the one that it is tested on."""
    data = OmegaConf.select(config, "data", default={})
    names = data.get("directions")
    src, tgt = tokenizer.languages if names is None else (data.src, data.tgt)
    return Directions.of(names, src, tgt, data.get("pivot"))

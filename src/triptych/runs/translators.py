"""From the configuration and a checkpoint of a run to its model, ready to translate."""

from __future__ import annotations

import functools
import logging
from pathlib import Path

import torch
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from triptych.accounting.devices import explain_precision, on_device
from triptych.contract.model import TranslationModel
from triptych.data.directions import Directions
from triptych.data.tokenizer import Tokenizer
from triptych.decoding.translator import Translator
from triptych.errors import UserError
from triptych.runs import checkpoints

logger = logging.getLogger(__name__)

PRECISIONS = {"full": torch.float32, "bf16": torch.bfloat16}
"""Types of the weights that translate, by their names on the command line."""
FULL = "full"


def build_translator(
    config: DictConfig,
    tokenizer: Tokenizer,
    checkpoint: Path,
    search: DictConfig,
    device: str,
    precision: str = FULL,
) -> Translator:
    """Build the model of a configuration with the weights of a checkpoint.

    Args:
        config: of the run, with the sizes that ``match`` has found. Whoever calls this trusts it.
        tokenizer: that the model was trained with.
        checkpoint: path of its weights.
        search: configuration of how to translate where no other search is given.
        device: where the model goes.
        precision: of its weights, one of ``PRECISIONS``.

    Raises:
        UserError: no such device, or weights of another model.
    """
    model: TranslationModel = instantiate(config.model, vocabulary=tokenizer.vocabulary)
    checkpoints.load_weights(model, checkpoint)
    placed = on_device(model.eval().to(PRECISIONS[precision]), device)
    warn_if_slow(precision, next(placed.parameters()).device)
    return Translator(
        model=placed,
        tokenizer=tokenizer,
        directions=directions_of(config, tokenizer),
        search=instantiate(search),
    )


@functools.cache
def warn_if_slow(precision: str, device: torch.device) -> None:
    """Warn of a precision that is slow on a device, once in a process that loads several runs."""
    for sentence in explain_precision("precision", precision, device, FULL):
        logger.warning(sentence)


def directions_of(config: DictConfig, tokenizer: Tokenizer) -> Directions:
    """Return the directions that a run was trained on, and the one that it is tested on."""
    data = OmegaConf.select(config, "data", default={})
    names = data.get("directions")
    if names is not None and not (data.get("src") and data.get("tgt")):
        raise UserError("data.directions of the run's config.yaml has no data.src and data.tgt; put the file back.")
    src, tgt = tokenizer.languages if names is None else (data.src, data.tgt)
    return Directions.of(names, src, tgt, data.get("pivot"))

"""From the configuration and a checkpoint of a run to its model, ready to translate."""

from __future__ import annotations

from pathlib import Path

from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from triptych.accounting.devices import on_device
from triptych.contract.model import TranslationModel
from triptych.data.directions import Directions
from triptych.data.tokenizer import Tokenizer
from triptych.decoding.translator import Translator
from triptych.errors import UserError
from triptych.runs import checkpoints


def build_translator(
    config: DictConfig, tokenizer: Tokenizer, checkpoint: Path, search: DictConfig, device: str
) -> Translator:
    """Build the model of a configuration with the weights of a checkpoint.

    Args:
        config: of the run, with the sizes that ``match`` has found. Whoever calls this trusts it.
        tokenizer: that the model was trained with.
        checkpoint: path of its weights.
        search: configuration of how to translate where no other search is given.
        device: where the model goes.

    Raises:
        UserError: no such device, or weights of another model.
    """
    model: TranslationModel = instantiate(config.model, vocabulary=tokenizer.vocabulary)
    checkpoints.load_weights(model, checkpoint)
    return Translator(
        model=on_device(model.eval(), device),
        tokenizer=tokenizer,
        directions=directions_of(config, tokenizer),
        search=instantiate(search),
    )


def directions_of(config: DictConfig, tokenizer: Tokenizer) -> Directions:
    """Return the directions that a run was trained on, and the one that it is tested on."""
    data = OmegaConf.select(config, "data", default={})
    names = data.get("directions")
    if names is not None and not (data.get("src") and data.get("tgt")):
        raise UserError("data.directions of the run's config.yaml has no data.src and data.tgt; put the file back.")
    src, tgt = tokenizer.languages if names is None else (data.src, data.tgt)
    return Directions.of(names, src, tgt, data.get("pivot"))

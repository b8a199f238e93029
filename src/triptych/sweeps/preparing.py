"""Text, tokenizers and ids of the arms of a sweep, made before any of them trains: `triptych prepare`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from triptych.config.composition import sweep_of
from triptych.config.explanations import explain
from triptych.data.pairs import TRAIN
from triptych.errors import UserError
from triptych.files import require_folder
from triptych.runs.identity import display_overrides
from triptych.sweeps.sweep import refuse_mistakes
from triptych.training.build import prepare_text

logger = logging.getLogger(__name__)


def prepare_arms(overrides: Sequence[str]) -> None:
    """Read the text of each arm, train its tokenizer and encode the text, unless the cache holds them.

    What is read and made is logged, once for arms that share it.

    Args:
        overrides: of ``triptych train``, with ``-m`` for a sweep.

    Raises:
        UserError: whatever training would refuse, once the others are prepared.
    """
    sweep = sweep_of(overrides)
    arms = [list(overrides)] if sweep is None else sweep[1]
    if not arms:
        raise UserError("this sweeper chooses its arms as it goes along; prepare one of them.")
    configs = [run_config.config for run_config in refuse_mistakes(arms)]
    said: set[str] = set()
    failed: list[str] = []
    for config, arm in {_text_of(config): (config, arm) for config, arm in zip(configs, arms, strict=True)}.values():
        try:
            lines = _prepare(config)
        except Exception as error:  # Hydra's own, around that of a constructor
            if (reason := explain(error)) is None:
                raise
            failed.append(reason if len(arms) == 1 else f"{' '.join(display_overrides(arm))}: {reason}")
            continue
        for line in lines:
            if line not in said:
                logger.info(line)
            said.add(line)
    if failed:
        raise UserError("\n".join(failed))


def _text_of(config: DictConfig) -> str:
    """Return what two runs have in common that train on the same ids."""
    return OmegaConf.to_yaml(OmegaConf.masked_copy(config, ["data", "tokenizer", "cache"]))


def _prepare(config: DictConfig) -> list[str]:
    """Prepare what a run trains on, and describe it, a line each."""
    cache = Path(config.cache).expanduser()
    require_folder(cache, "cache")
    corpus = instantiate(config.data)
    tokenizer, stores = prepare_text(config, corpus)
    tokens = sum(int(store.lengths.sum()) for store in stores.values())
    pairs = sum(len(store) for store in stores.values())
    return [
        *corpus.report,
        *stores[TRAIN].report,
        f"{tokenizer.name}, {corpus.name}: {pairs:,} pairs, {tokens:,} tokens, in {cache}",
    ]

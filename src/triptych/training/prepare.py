"""From a config to its corpus, tokenizer, ids and model: what every run has before it trains."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hydra.utils import instantiate
from omegaconf import DictConfig

from triptych.accounting.parameters import count_parameters
from triptych.contract.model import TranslationModel
from triptych.data import store
from triptych.data.corpus import TRAIN, Corpus
from triptych.data.store import Store
from triptych.data.tokenizer import Tokenizer
from triptych.sweeps.match import matched

MEASURED = 1000
"""Pairs of which a model's FLOPs are those that ``match`` makes equal."""


@dataclass
class Prepared:
    corpus: Corpus
    tokenizer: Tokenizer
    stores: dict[str, Store]
    model: TranslationModel
    sizes: dict[str, int]
    """Those that ``match`` has solved for."""

    def report(self) -> list[str]:
        """What was dropped, and what was built, a line each."""
        total, non_embedding = count_parameters(self.model)
        return [
            *self.stores["train"].report,
            f"tokenizer: {self.tokenizer.name}, trained on {self.tokenizer.lines:,} lines",
            f"model: {total:,} parameters, {non_embedding:,} without embeddings",
            *(f"match: {name}={size}" for name, size in self.sizes.items()),
        ]


def prepare(config: DictConfig, corpus: Corpus) -> Prepared:
    """Builds the other three for a corpus; what the cache holds is opened.

    Sizes that ``match`` has solved for are put into ``config.model``.
    """
    cache = Path(config.cache).expanduser()
    tokenizer = instantiate(config.tokenizer).fit(corpus, cache)
    stores = store.prepare(corpus, tokenizer, cache, corpus.max_length, corpus.max_length_ratio)
    sizes: dict[str, int] = {}
    if config.match is not None:
        lengths = stores[TRAIN].lengths
        sizes = matched(config, tokenizer.vocabulary, lengths[:: -(-len(lengths) // MEASURED)])
        config.model.update(sizes)
    model = instantiate(config.model, vocabulary=tokenizer.vocabulary)
    return Prepared(corpus, tokenizer, stores, model, sizes)

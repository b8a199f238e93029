"""From a config to its corpus, tokenizer, ids and model: what every run has before it trains."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hydra.utils import instantiate
from omegaconf import DictConfig

from triptych import accounting
from triptych.data import store
from triptych.data.corpus import Corpus
from triptych.data.store import Store
from triptych.errors import UserError
from triptych.models.base import TranslationModel
from triptych.tokenizer import Tokenizer


@dataclass
class Prepared:
    corpus: Corpus
    tokenizer: Tokenizer
    stores: dict[str, Store]
    model: TranslationModel

    def report(self) -> list[str]:
        """What was dropped, and what was built, a line each."""
        total, non_embedding = accounting.parameters(self.model)
        return [
            *self.stores["train"].report,
            f"tokenizer: {self.tokenizer.name}, trained on {self.tokenizer.lines:,} lines",
            f"model: {total:,} parameters, {non_embedding:,} without embeddings",
        ]


def prepare(config: DictConfig, corpus: Corpus) -> Prepared:
    """Builds the other three for a corpus; what the cache holds is opened.

    Raises:
        UserError: a vocabulary for each side, where several directions mix the languages of both.
    """
    cache = Path(config.cache).expanduser()
    if corpus.mixed and not config.tokenizer.joint:
        raise UserError("data.directions mixes the languages of both sides; set tokenizer.joint=true.")
    tokenizer = instantiate(config.tokenizer).fit(corpus, cache)
    model = instantiate(config.model, vocabulary=tokenizer.vocabulary)
    stores = store.prepare(corpus, tokenizer, cache, corpus.max_length, corpus.max_length_ratio)
    return Prepared(corpus, tokenizer, stores, model)

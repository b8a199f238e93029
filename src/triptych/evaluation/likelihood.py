"""Likelihood of references under a trained model, a measure that no search enters."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import islice

from triptych.data.corpus import Corpus
from triptych.data.pairs import Pairs, Section
from triptych.decoding.translator import Translator
from triptych.evaluation.mean_nats import DECIMALS


def split_loss(translator: Translator, corpus: Corpus, split: str, search_tokens: int) -> dict[str, float | None]:
    """Return ``loss``, the mean negative log-likelihood of a split's target tokens in nats, and its ``perplexity``.

    Every ``</s>`` counts as a token. After a training that diverged, either may be more than a number holds: None.
    """
    nats, tokens = _score_references(translator, corpus.splits[split], corpus.sections[split], search_tokens)
    loss = sum(nats) / tokens
    perplexity = math.exp(loss) if loss < math.log(sys.float_info.max) else None
    return {"loss": loss if math.isfinite(loss) else None, "perplexity": perplexity}


def sentence_nats(
    translator: Translator, pairs: Pairs, sections: Sequence[Section], search_tokens: int
) -> list[float] | None:
    """Return the negative log-likelihood of each reference given its source, in nats, ``</s>`` included.

    It is that of one segmentation, the tokenizer's own, and so an upper bound of that of the text.

    Returns:
        A value for each sentence, rounded to ``DECIMALS``. None for pairs that are translated through a pivot: there,
        the probability of a target is a sum over all sentences of the pivot language, which cannot be computed.
    """
    if any(len(route) > 2 for route, _ in sections):
        return None
    nats, _ = _score_references(translator, pairs, sections, search_tokens)
    return [round(value, DECIMALS) for value in nats]


def _score_references(
    translator: Translator, pairs: Pairs, sections: Sequence[Section], search_tokens: int
) -> tuple[list[float], int]:
    """Return the negative log-likelihood of each reference, and the number of target tokens with every ``</s>``."""
    remaining = zip(*pairs, strict=True)
    nats: list[float] = []
    tokens = 0
    for route, size in sections:
        sources, targets = zip(*islice(remaining, size), strict=True)
        ids = translator.tokenizer.encode(sources, "src"), translator.tokenizer.encode(targets, "tgt")
        nats += [-score for score in translator.score_ids(*ids, search_tokens, (route[0], route[-1]))]
        tokens += sum(len(line_ids) + 1 for line_ids in ids[1])
    return nats, tokens

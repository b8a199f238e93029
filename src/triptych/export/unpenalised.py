"""Translations without a length penalty, which other programs define differently, to compare theirs with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from triptych.decoding.batches import decode
from triptych.decoding.search import Search
from triptych.decoding.translator import Translator
from triptych.export.comparison import Comparison, largest_difference


@dataclass(frozen=True)
class Unpenalised:
    """Translations by a search without its length penalty, each of one token at least.

    Without a penalty the empty translation is sometimes the most probable one of all (Stahlberg and Byrne 2019), and
    CTranslate2's generator can miss it where ``</s>`` is not the likeliest first token.

    Attributes:
        sources: ids of each sentence that has any, without special ids.
        targets: ids of each translation, likewise.
        nats: log-probability of each translation, with its ``</s>``.
        shortest: fewest tokens that any translation may have.
        longest: most tokens.
    """

    sources: list[list[int]]
    targets: list[list[int]]
    nats: list[float]
    shortest: int
    longest: int

    def compare(
        self, targets: Sequence[Sequence[int]], nats: Sequence[float], command: Callable[[Path], list[str]]
    ) -> Comparison:
        """Compare with another program's translations, and with the log-probabilities that it gives to these."""
        return Comparison(
            sentences=len(self.sources),
            same=sum(list(one) == list(other) for one, other in zip(self.targets, targets, strict=True)),
            search="without a length penalty, of one token at least",
            difference=largest_difference(self.nats, nats),
            command=command,
        )


def translate_unpenalised(translator: Translator, lines: Sequence[str]) -> Unpenalised:
    """Translate lines by a translator's search without its length penalty, into one token at least."""
    search = translator.search
    unpenalised = Search(
        beam_size=search.beam_size,
        length_penalty=0.0,
        max_length_ratio=search.max_length_ratio,
        max_length_extra=search.max_length_extra,
        min_length=max(1, search.min_length),
        stop=search.stop,
        n_best=1,
    )
    sources = [ids for ids in translator.tokenizer.encode(lines, "src") if ids]
    found = decode(translator.model, sources, unpenalised, search_tokens=4096, device=translator.device)
    targets = [hypotheses[0].tokens for hypotheses in found]
    longest = int(unpenalised.limit(torch.tensor(max(map(len, sources)) + 1)))
    return Unpenalised(sources, targets, translator.score_ids(sources, targets), unpenalised.min_length, longest)

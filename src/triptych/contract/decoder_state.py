"""What decoding carries from step to step, for every architecture.

A sentences, W hypotheses of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from torch import Tensor


@dataclass(frozen=True)
class DecoderState:
    """Named tensors of two kinds, all of them batch-first.

    Search reorders the hypotheses of a sentence at every step, which copies ``hypothesis`` alone. ``sentence`` is
    copied when finished sentences leave the batch, or when a cache grows. A model that shares nothing keeps all in
    ``hypothesis``.

    Attributes:
        sentence: one row per sentence (A, …), shared by its hypotheses.
        hypothesis: one row per hypothesis (A * W, …), those of a sentence side by side.
    """

    sentence: Mapping[str, Tensor] = field(default_factory=dict)
    hypothesis: Mapping[str, Tensor] = field(default_factory=dict)

    def select_sentences(self, sentences: Tensor) -> DecoderState:
        """Keep the rows of the sentences (A',), in that order; ``select_hypotheses`` selects their hypotheses."""
        return replace(self, sentence=_select(self.sentence, sentences))

    def select_hypotheses(self, rows: Tensor) -> DecoderState:
        """Keep the hypotheses of rows (A' * W',), in that order; so search widens, reorders and shrinks a batch."""
        return replace(self, hypothesis=_select(self.hypothesis, rows))


def _select(tensors: Mapping[str, Tensor], rows: Tensor) -> dict[str, Tensor]:
    return {name: tensor.index_select(0, rows) for name, tensor in tensors.items()}

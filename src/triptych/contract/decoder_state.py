"""What decoding carries from step to step, for every architecture.

A sentences, W hypotheses of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from torch import Tensor


@dataclass(frozen=True)
class DecoderState:
    """Named tensors of two kinds, every one of them batch-first.

    Reordering the hypotheses of a sentence, at every step, touches ``hypothesis`` alone, so that whatever they share
    is copied only where sentences leave. A model that shares nothing keeps all in ``hypothesis``.

    Attributes:
        sentence: one row a sentence (A, …): what its hypotheses share.
        hypothesis: one row a hypothesis (A * W, …), those of a sentence side by side.
    """

    sentence: Mapping[str, Tensor] = field(default_factory=dict)
    hypothesis: Mapping[str, Tensor] = field(default_factory=dict)

    def select_sentences(self, sentences: Tensor) -> DecoderState:
        """What the sentences (A',) share, in their order; their hypotheses are selected by ``select_hypotheses``."""
        return replace(self, sentence=_select(self.sentence, sentences))

    def select_hypotheses(self, rows: Tensor) -> DecoderState:
        """The hypotheses of rows (A' * W',), in their order: how search widens, reorders and shrinks a batch."""
        return replace(self, hypothesis=_select(self.hypothesis, rows))


def _select(tensors: Mapping[str, Tensor], rows: Tensor) -> dict[str, Tensor]:
    return {name: tensor.index_select(0, rows) for name, tensor in tensors.items()}

"""What a search needs of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from triptych.contract.decoder_state import DecoderState


class SearchableModel(nn.Module, ABC):
    """A model, or several together, that a search asks for the next token."""

    @abstractmethod
    def start(self, src: Tensor, src_lengths: Tensor) -> DecoderState:
        """Encode, or prefill, the sources.

        Args:
            src: (B, S) ids; each row ends in ``</s>``, or in the tag of its language.
            src_lengths: (B,) tokens of each row, ``</s>`` counted.
        """

    @abstractmethod
    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Run one decoding step for W hypotheses of each of A sentences, side by side.

        Args:
            tokens: (A * W,) the last token of each hypothesis, first ``<s>`` or a language tag.
            state: of ``start`` or of the previous step. It may be overwritten, so step from a state only once.

        Returns:
            Logits (A * W, V) of the next token, and the new state.
        """

    def log_probs(self, logits: Tensor) -> Tensor:
        """Return the log-probabilities (A * W, V) of the next token, given the logits of ``step``."""
        return logits.log_softmax(dim=1, dtype=torch.float32)

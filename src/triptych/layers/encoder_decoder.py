"""What every encoder and every decoder offers, so that any two of them make a model.

B sentences, S source and T target positions, E features of an embedded token, M features of a memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from triptych.contract.decoder_state import DecoderState
from triptych.contract.gpu_shares import GpuShares
from triptych.contract.stacked_layers import LayeredModule
from triptych.layers.sequence_layout import SequenceLayout

RecurrentState = tuple[Tensor, ...]
"""The state of one recurrent layer, each tensor (B, H): (h, c) of an LSTM, (h,) of a GRU."""


@dataclass(frozen=True)
class Memory:
    """What an encoder makes of the sources.

    Attributes:
        vectors: a vector per source token, padded (B, S, M) or packed (R, M): as the encoder has them.
        layout: of the sources.
        final_states: the last state of each layer, from the bottom; empty for an encoder that has none.
        embedded: (B, S, M) the embedded tokens that ``vectors`` were made of, where a decoder may add them to what it
            attends to (Gehring et al. 2017, equation 2); None for most encoders, and not needed by most decoders.
    """

    vectors: Tensor
    layout: SequenceLayout
    final_states: Sequence[RecurrentState] = ()
    embedded: Tensor | None = None

    def padded(self) -> Tensor:
        """Return the vectors as (B, S, M). Values on padding are undefined."""
        return self.vectors if self.vectors.dim() == 3 else self.layout.pad(self.vectors)

    def packed(self) -> Tensor:
        """Return the vectors as rows (R, M)."""
        return self.vectors if self.vectors.dim() == 2 else self.layout.unpad(self.vectors)

    def mean(self) -> Tensor:
        """Return the mean vector of each source, (B, M)."""
        is_token = self.layout.is_token.unsqueeze(-1)
        return self.padded().masked_fill(~is_token, 0).sum(1) / is_token.sum(1)


class Encoder(LayeredModule, ABC):
    """The half of a model that reads the source.

    Attributes:
        embedding_size: E.
        memory_size: M.
        final_state_sizes: features of each layer's last state, from the bottom; empty for an encoder that has none.
        widens: whether positions of a batch are best padded to a multiple of ``COLUMNS``.
        sizes: as of a ``TranslationModel``.
    """

    embedding_size: int
    memory_size: int
    final_state_sizes: Sequence[int] = ()
    widens: ClassVar[bool] = False
    sizes: ClassVar[tuple[tuple[str, ...], ...]] = ()

    @abstractmethod
    def forward(self, embedded: Tensor, layout: SequenceLayout) -> Memory:
        """Encode embedded sources (B, S, E)."""

    @abstractmethod
    def flops(self, src_length: int) -> int:
        """Count the floating-point operations of one source, as ``TranslationModel.flops`` does."""

    def check_length(self, length: int) -> None:
        """Raise ``UserError`` if a source of this length is too long."""

    @property
    def embedding_parameters(self) -> int:
        """Number of parameters in embeddings of its own, such as a table of positions; by default, 0."""
        return 0


class Decoder(LayeredModule, ABC):
    """The half of a model that writes the target.

    Its constructor is called with ``encoder=…``, whose sizes it may need.

    Attributes:
        embedding_size: E, of embedded tokens and of hidden vectors.
        widens: as of an ``Encoder``.
        sizes: as of a ``TranslationModel``.
    """

    embedding_size: int
    widens: ClassVar[bool] = False
    sizes: ClassVar[tuple[tuple[str, ...], ...]] = ()

    @abstractmethod
    def forward(self, embedded: Tensor, layout: SequenceLayout, memory: Memory) -> Tensor:
        """Decode with teacher forcing: embedded targets (B, T, E) to the hidden vectors of their N tokens, (N, E)."""

    @abstractmethod
    def start(self, memory: Memory) -> DecoderState:
        """Return the state before the first step."""

    @abstractmethod
    def step(self, embedded: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Run one step as ``TranslationModel.step`` does: embedded tokens (A * W, E) to hidden vectors (A * W, E)."""

    @abstractmethod
    def flops(self, src_length: int, steps: int) -> int:
        """Count the floating-point operations of so many steps over one source, without the output projection."""

    def check_length(self, length: int) -> None:
        """Raise ``UserError`` if a target of this length is too long."""

    @property
    def embedding_parameters(self) -> int:
        """Number of parameters in embeddings of its own, such as a table of positions; by default, 0."""
        return 0

    def gpu_shares(self, encoder: Encoder) -> GpuShares | None:
        """Return ``TranslationModel.gpu_shares`` of a model with this decoder and an encoder."""
        return None


class StepwiseDecoder(Decoder):
    """A decoder that computes any number of steps from a state, all of a target with teacher forcing, or one."""

    @abstractmethod
    def run(self, embedded: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Run some steps from embedded tokens (A * W, T, E): hidden vectors (A * W, T, E), and the new state.

        W hypotheses of each of A sentences; with teacher forcing, W = 1.
        """

    def forward(self, embedded: Tensor, layout: SequenceLayout, memory: Memory) -> Tensor:
        return layout.select_tokens(self.run(embedded, self.start(memory))[0])

    def step(self, embedded: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        hidden, state = self.run(embedded.unsqueeze(1), state)
        return hidden.squeeze(1), state

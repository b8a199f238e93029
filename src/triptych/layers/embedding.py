"""Token embeddings, and which of a model's three vocabulary matrices are one (Press and Wolf 2017)."""

from __future__ import annotations

from torch import Tensor, nn

from triptych.contract.vocabulary import Vocabulary
from triptych.errors import UserError, require_one_of
from triptych.kernels.dropout import Dropout
from triptych.layers.positions import Positions

TYINGS = ("none", "decoder", "three_way")


class TiedEmbeddings(nn.Module):
    """The source embedding, the target embedding and the output projection.

    Tying: ``none``; ``decoder``, the target embedding is the output projection; ``three_way``, all are one matrix
    (Vaswani et al. 2017, section 3.4), which needs a joint vocabulary.

    Each is initialised with a variance of 1 / size, so that logits of unit-variance hidden vectors have unit variance.

    Args:
        vocabulary: how many rows each has.
        size: features of a row.
        tying: as above.
        one_input: source and target tokens share one embedding whatever the tying, as in a decoder-only model.

    Raises:
        UserError: unknown tying, or three-way tying of separate vocabularies.
    """

    def __init__(self, *, vocabulary: Vocabulary, size: int, tying: str, one_input: bool = False) -> None:
        super().__init__()
        require_one_of(TYINGS, "model", tying=tying)
        if tying == "three_way" and not vocabulary.joint:
            raise UserError(
                "model.tying=three_way needs one vocabulary for both sides; set model.tying=decoder, or "
                "tokenizer.joint=true."
            )
        self.tgt = nn.Embedding(vocabulary.tgt_size, size)
        self.src = self.tgt if one_input or tying == "three_way" else nn.Embedding(vocabulary.src_size, size)
        self.output = self.tgt if tying != "none" else nn.Embedding(vocabulary.tgt_size, size)
        for embedding in dict.fromkeys([self.src, self.tgt, self.output]):
            nn.init.normal_(embedding.weight, std=size**-0.5)

    @property
    def output_weight(self) -> Tensor:
        """(V, size)."""
        return self.output.weight

    @property
    def num_parameters(self) -> int:
        """Parameters of the distinct matrices."""
        return sum(parameter.numel() for parameter in self.parameters())


class TransformerInput(nn.Module):
    """dropout(sqrt(d_model) * embedding + position)."""

    def __init__(self, *, d_model: int, positions: str, max_length: int, dropout: float) -> None:
        super().__init__()
        self.scale = d_model**0.5
        self.positions = Positions(kind=positions, d_model=d_model, max_length=max_length)
        self.dropout = Dropout(dropout)

    def forward(self, embedding: nn.Embedding, tokens: Tensor, positions: Tensor) -> Tensor:
        """Tokens (B, T) at positions (B or 1, T) to (B, T, d_model)."""
        return self.dropout(self.positions(embedding(tokens) * self.scale, positions))

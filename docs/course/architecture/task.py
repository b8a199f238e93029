"""Lab 5: a new architecture, the RNN encoder-decoder of Cho et al. 2014 (section 2.2). Write its methods.

B sentences, S source and T target positions, H the size of every vector, V the size of the target vocabulary.
"""

import torch  # noqa: F401
from torch import nn

from triptych.contract.batch import Prediction  # noqa: F401
from triptych.contract.decoder_state import DecoderState  # noqa: F401
from triptych.contract.model import TranslationModel
from triptych.contract.vocabulary import PAD  # noqa: F401


class Summary(TranslationModel):
    """The source becomes one vector c, the encoder's last state, and every step of the decoder sees it.

    s_0 = tanh(first(c))
    s_i = decoder([y_i; c], s_{i-1})       y_i: the embedding of token i of the target, from <s> on
    hidden_i = tanh(combine([s_i; c]))     predicts token i + 1; its logits are hidden_i times the embeddings
    """

    def __init__(self, *, vocabulary, size):
        super().__init__()
        self.src = nn.Embedding(vocabulary.src_size, size)
        self.tgt = nn.Embedding(vocabulary.tgt_size, size)
        self.encoder = nn.GRUCell(size, size)
        self.first = nn.Linear(size, size)
        self.decoder = nn.GRUCell(2 * size, size)
        self.combine = nn.Linear(2 * size, size)

    def encode(self, src):
        """Return c (B, H) of sources (B, S).

        The encoder starts from zeros and reads one token after the other. Padding must not change a sentence's state.
        """
        raise NotImplementedError("Lab 5: encode is still to be written")

    def forward(self, batch):
        """Return a Prediction of all target tokens but the first, which is <s>.

        Its hidden vectors (N, H) and targets (N,) are those of real tokens: with real = (batch.tgt[:, 1:] != PAD),
        x[real] keeps them of vectors x (B, T - 1, H).
        """
        raise NotImplementedError("Lab 5: forward is still to be written")

    def start(self, src, src_lengths):
        """Return the state before the first step: DecoderState(hypothesis={name: tensor with a row a sentence})."""
        raise NotImplementedError("Lab 5: start is still to be written")

    def step(self, tokens, state):
        """Return the logits (B, V) after the last tokens (B,), and the new state."""
        raise NotImplementedError("Lab 5: step is still to be written")

    def attention_maps(self, batch):
        return []  # there is no attention

    def flops(self, src_length, tgt_length):
        """Count two operations for each multiply-add of the matrix products of one pair, the logits among them.

        A GRUCell from I to H numbers multiplies by matrices of 3 * H * I and 3 * H * H numbers.
        """
        raise NotImplementedError("Lab 5: flops is still to be written")

    @property
    def embedding_parameters(self):
        """Number of parameters of the two embeddings. That of the target is the output projection too."""
        raise NotImplementedError("Lab 5: embedding_parameters is still to be written")

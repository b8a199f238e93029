"""An RNN that translates, complete but for its attention.

B sentences, S source and T target positions, H the size of every vector.
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from triptych.contract.batch import Prediction
from triptych.contract.decoder_state import DecoderState
from triptych.contract.model import AttentionMap, TranslationModel
from triptych.contract.vocabulary import PAD


class AttentionRNN(TranslationModel):
    """An encoder and a decoder of one GRU layer each. A lab's answer derives from it and writes ``attend``."""

    def __init__(self, *, vocabulary, size):
        super().__init__()
        self.src = nn.Embedding(vocabulary.src_size, size)
        self.tgt = nn.Embedding(vocabulary.tgt_size, size)
        self.encoder = nn.GRU(size, size, batch_first=True)
        self.decoder = nn.GRUCell(2 * size, size)
        self.combine = nn.Linear(2 * size, size)
        # What attend needs: W and U multiply the decoder's state and the memory, v makes a score of their sum.
        self.W = nn.Linear(size, size)
        self.U = nn.Linear(size, size, bias=False)
        self.v = nn.Linear(size, 1, bias=False)

    def attend(self, state, memory, is_token):
        raise NotImplementedError

    def encode(self, src, src_lengths):
        """The memory (B, S, H), its mask (B, S), and the encoder's last state (B, H)."""
        packed = pack_padded_sequence(self.src(src), src_lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, last = self.encoder(packed)
        memory, _ = pad_packed_sequence(outputs, batch_first=True, total_length=src.shape[1])
        return memory, src != PAD, last[0]

    def one_step(self, tokens, state, memory, is_token):
        """The hidden vector (B, H) that predicts the next token, the new state, and the weights (B, S)."""
        context, weights = self.attend(state, memory, is_token)
        state = self.decoder(torch.cat([self.tgt(tokens), context], dim=-1), state)
        return torch.tanh(self.combine(torch.cat([state, context], dim=-1))), state, weights

    def run(self, batch):
        """Hidden vectors (B, T - 1, H) and weights (B, T - 1, S), with the reference's tokens as input."""
        memory, is_token, state = self.encode(batch.src, batch.src_lengths)
        hidden, weights = [], []
        for tokens in batch.tgt[:, :-1].unbind(dim=1):
            vector, state, row = self.one_step(tokens, state, memory, is_token)
            hidden.append(vector)
            weights.append(row)
        return torch.stack(hidden, dim=1), torch.stack(weights, dim=1)

    def forward(self, batch):
        targets = batch.tgt[:, 1:]
        real = targets != PAD
        return Prediction(self.run(batch)[0][real], self.tgt.weight, targets[real], num_source=0)

    def start(self, src, src_lengths):
        memory, is_token, state = self.encode(src, src_lengths)
        return DecoderState(hypothesis={"memory": memory, "is_token": is_token, "state": state})

    def step(self, tokens, state):
        kept = state.hypothesis
        hidden, new, _ = self.one_step(tokens, kept["state"], kept["memory"], kept["is_token"])
        return hidden @ self.tgt.weight.T, DecoderState(hypothesis={**kept, "state": new})

    def attention_maps(self, batch):
        weights = self.run(batch)[1][:, None, None]  # one layer, one head
        return [AttentionMap("cross", weights, batch.tgt[:, :-1], batch.src, "tgt", "src")]

    def flops(self, src_length, tgt_length):
        size = self.tgt.weight.shape[1]
        steps = tgt_length - 1
        attention = size**2 + src_length * (size**2 + 2 * size)  # W s, U h_j, v^T …, and the context
        each = 3 * size * (2 * size + size) + 2 * size**2 + self.tgt.weight.numel()
        return 2 * (src_length * 6 * size**2 + steps * (attention + each))

    @property
    def embedding_parameters(self):
        return self.src.weight.numel() + self.tgt.weight.numel()

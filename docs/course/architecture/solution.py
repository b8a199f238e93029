"""Lab 5, a solution."""

import torch
from torch import nn

from triptych.contract.batch import Prediction
from triptych.contract.decoder_state import DecoderState
from triptych.contract.model import TranslationModel
from triptych.contract.vocabulary import PAD


class Summary(TranslationModel):
    """The source becomes one vector c, the encoder's last state, and every step of the decoder sees it."""

    def __init__(self, *, vocabulary, size):
        super().__init__()
        self.src = nn.Embedding(vocabulary.src_size, size)
        self.tgt = nn.Embedding(vocabulary.tgt_size, size)
        self.encoder = nn.GRUCell(size, size)
        self.first = nn.Linear(size, size)
        self.decoder = nn.GRUCell(2 * size, size)
        self.combine = nn.Linear(2 * size, size)

    def encode(self, src):
        embedded, is_token = self.src(src), src != PAD
        state = torch.zeros_like(embedded[:, 0])
        for i in range(src.shape[1]):
            state = torch.where(is_token[:, i, None], self.encoder(embedded[:, i], state), state)
        return state

    def one_step(self, tokens, c, state):
        state = self.decoder(torch.cat([self.tgt(tokens), c], dim=-1), state)
        return torch.tanh(self.combine(torch.cat([state, c], dim=-1))), state

    def forward(self, batch):
        c = self.encode(batch.src)
        state, steps = torch.tanh(self.first(c)), []
        for tokens in batch.tgt[:, :-1].unbind(dim=1):
            hidden, state = self.one_step(tokens, c, state)
            steps.append(hidden)
        targets = batch.tgt[:, 1:]
        real = targets != PAD
        return Prediction(torch.stack(steps, dim=1)[real], self.tgt.weight, targets[real], num_source=0)

    def start(self, src, src_lengths):
        c = self.encode(src)
        return DecoderState(hypothesis={"c": c, "state": torch.tanh(self.first(c))})

    def step(self, tokens, state):
        hidden, new = self.one_step(tokens, state.hypothesis["c"], state.hypothesis["state"])
        return hidden @ self.tgt.weight.T, DecoderState(hypothesis={"c": state.hypothesis["c"], "state": new})

    def attention_maps(self, batch):
        return []

    def flops(self, src_length, tgt_length):
        size = self.tgt.weight.shape[1]
        encoder, decoder = 3 * size * (size + size), 3 * size * (2 * size + size)
        each_step = decoder + 2 * size**2 + self.tgt.weight.numel()
        return 2 * (src_length * encoder + size**2 + (tgt_length - 1) * each_step)

    @property
    def embedding_parameters(self):
        return self.src.weight.numel() + self.tgt.weight.numel()

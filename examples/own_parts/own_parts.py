"""A model, a callback and a metric of one's own. `conf/` makes them options of the command line."""

from lightning.pytorch.callbacks import Callback
from torch import nn

from triptych.contract.batch import Prediction
from triptych.contract.decoder_state import DecoderState
from triptych.contract.model import TranslationModel
from triptych.contract.vocabulary import PAD
from triptych.evaluation.metrics import MetricScore


class BagOfWords(TranslationModel):
    """Predict each target token from the previous one and the mean of all source embeddings."""

    def __init__(self, *, vocabulary, size):
        super().__init__()
        self.src = nn.Embedding(vocabulary.src_size, size)
        self.tgt = nn.Embedding(vocabulary.tgt_size, size)
        for embedding in (self.src, self.tgt):
            nn.init.normal_(embedding.weight, std=size**-0.5)

    def bag(self, src, src_lengths):
        """Mean embedding of each source sentence, (B, D)."""
        embedded = self.src(src) * (src != PAD)[:, :, None]
        return embedded.sum(dim=1) / src_lengths[:, None]

    def forward(self, batch):
        hidden = self.tgt(batch.tgt[:, :-1]) + self.bag(batch.src, batch.src_lengths)[:, None]
        targets = batch.tgt[:, 1:]
        real = targets != PAD  # the loss expects positions without padding
        return Prediction(hidden[real], self.tgt.weight, targets[real], num_source=0)

    def start(self, src, src_lengths):
        return DecoderState(hypothesis={"bag": self.bag(src, src_lengths)})

    def step(self, tokens, state):
        hidden = self.tgt(tokens) + state.hypothesis["bag"]
        return hidden @ self.tgt.weight.T, state

    def attention_maps(self, batch):
        return []

    def flops(self, src_length, tgt_length):
        return 2 * (tgt_length - 1) * self.tgt.weight.numel()  # the output projection, two for each multiply-add

    @property
    def embedding_parameters(self):
        return self.src.weight.numel() + self.tgt.weight.numel()


class GradientNorm(Callback):
    """Print the norm of the gradient every few optimizer steps."""

    def __init__(self, *, every):
        self.every = every

    def on_before_optimizer_step(self, trainer, module, optimizer):
        if trainer.global_step % self.every == 0:
            norm = sum(float(p.grad.norm()) ** 2 for p in module.parameters() if p.grad is not None) ** 0.5
            print(f"step {trainer.global_step}: gradient norm {norm:.2f}")


class LengthRatio:
    """Words of the translations for each word of the references."""

    name = "length ratio"

    def score(self, hypotheses, references, sources):
        ours, theirs = (sum(len(line.split()) for line in lines) for lines in (hypotheses, references))
        return MetricScore(ours / theirs, "length_ratio|tok:spaces")  # tables hold scores of one signature only

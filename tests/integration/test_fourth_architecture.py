"""The proof of the design: one class and one YAML, and it trains, translates and reports."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import triptych

from triptych.api import Run, evaluate, load

MODEL = '''
"""A bag of source words, and the last target word: no order, no attention."""

from torch import nn

from triptych.contract.batch import Prediction
from triptych.contract.model import TranslationModel
from triptych.layers.sequence_layout import keep_targets, padding_mask
from triptych.contract.decoder_state import DecoderState


class BagOfWords(TranslationModel):
    def __init__(self, *, vocabulary, size):
        super().__init__()
        self.src = nn.Embedding(vocabulary.src_size, size)
        self.tgt = nn.Embedding(vocabulary.tgt_size, size)

    def forward(self, batch):
        bag = self.bag(batch.src, batch.src_lengths)
        hidden, targets = keep_targets(self.tgt(batch.tgt[:, :-1]) + bag[:, None], batch)
        return Prediction(hidden, self.tgt.weight, targets, num_source=0)

    def bag(self, src, src_lengths):
        visible = padding_mask(src, src_lengths)[:, 0, 0, :, None]
        return (self.src(src) * visible).sum(1) / src_lengths[:, None]

    def start(self, src, src_lengths):
        return DecoderState(hypothesis={"bag": self.bag(src, src_lengths)})

    def step(self, tokens, state):
        return (self.tgt(tokens) + state.hypothesis["bag"]) @ self.tgt.weight.T, state

    def attention_maps(self, batch):
        return []

    def flops(self, src_length, tgt_length):
        return 2 * (tgt_length - 1) * self.tgt.weight.numel()

    @property
    def embedding_parameters(self):
        return self.src.weight.numel() + self.tgt.weight.numel()
'''


def test_one_class_and_one_yaml(tmp_path: Path) -> None:
    (tmp_path / "bag_of_words.py").write_text(MODEL)
    (tmp_path / "conf" / "model").mkdir(parents=True)
    (tmp_path / "conf" / "model" / "bag.yaml").write_text("_target_: bag_of_words.BagOfWords\nsize: ${scale.d_model}\n")

    def command(*arguments: str, stdin: str = "") -> str:
        done = triptych(*arguments, cwd=tmp_path, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    command("train", "--config-dir", "conf", "model=bag", "scale=smoke", "cache=cache")
    (run,) = (tmp_path / "runs").glob("[!.]*")
    refused = triptych("translate", f"run={run}", cwd=tmp_path, stdin="The dog sleeps.\n")
    assert refused.returncode == 2
    assert "would run code that is not triptych's: model._target_=bag_of_words.BagOfWords" in refused.stderr
    lines = "The dog sleeps.\n\nThe cat sleeps.\n"
    for named in (["trust=bag_of_words"], ["trust=[bag_of_words]"], ["--config-dir", "conf"]):
        assert command("translate", *named, f"run={run}", stdin=lines).count("\n") == 3
    assert "bag scale=smoke" in command("report", "runs")
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(tmp_path)
        loaded = load(run, trust="bag_of_words")
        assert evaluate(loaded, split="test")["bleu"] == loaded.result["test"]["test"]["bleu"]
        assert evaluate(Run(run, trust=None), "search=greedy", split="test")["beam_size"] == 1, "as train returns it"

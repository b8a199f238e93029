"""JoeyNMT gets every weight of ours under its own name, and what it wrote is read once."""

from __future__ import annotations

from pathlib import Path

import torch
from hydra.utils import instantiate

from benchmarks.joeynmt import JoeyNMT, renamed
from benchmarks.ours import ARMS, COMMON
from triptych.config.composition import compose_run
from triptych.contract.vocabulary import Vocabulary


def test_every_weight_has_one_name() -> None:
    small = ["scale.d_model=8", "scale.d_ff=16", "scale.num_heads=2", "scale.num_layers=2"]
    config = compose_run([*COMMON, *ARMS["transformer"], *small]).config
    vocabulary = Vocabulary(src_size=10, tgt_size=10, joint=True, src_tag=4, tgt_tag=5)
    model = instantiate(config.model, vocabulary=vocabulary)
    order = list(range(9, -1, -1))
    theirs = renamed(model.state_dict(), order)
    assert torch.equal(theirs["src_embed.lut.weight"].flip(0), model.state_dict()["embeddings.src.weight"])
    tied = {"trg_embed.lut.weight", "decoder.output_layer.weight"}
    given = sum(tensor.numel() for name, tensor in theirs.items() if name not in tied)
    assert given == sum(parameter.numel() for parameter in model.parameters())
    layers = {name.split(".")[2] for name in theirs if ".layers." in name}
    assert layers == {"0", "1"}


def test_a_text_that_was_translated_several_times_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "out.test").write_text("un\n\ntrois\n" * 3)
    (tmp_path / "test.en").write_text("one\n\nthree\n")
    peer = JoeyNMT.__new__(JoeyNMT)  # without an environment of its own
    peer.work, peer.languages = tmp_path, ("en", "fr")
    assert peer.translations() == ["un", "", "trois"]

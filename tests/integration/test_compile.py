"""``torch.compile`` of what training repeats: the same numbers, and nothing compiled anew for other lengths."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from conftest import build_model, random_batch
from torch import Tensor

from triptych.commands import cli
from triptych.contract.batch import Batch
from triptych.contract.model import TranslationModel
from triptych.training.loss import TranslationLoss

MODELS = [
    "model=transformer",
    "model=lm4mt model.positions=rope",
    "model=rnn_bahdanau",
    "model=convs2s model.decoder_layers=2",
    "model=rnn_luong model.input_feeding=true",
]
LENGTHS = [[(5, 4), (2, 6), (7, 3)], [(9, 2), (4, 8), (3, 5), (6, 6)], [(3, 3), (8, 11)], [(12, 9), (1, 2)]]


@pytest.fixture(autouse=True)
def nothing_compiled() -> Iterator[None]:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield
    torch._dynamo.reset()


def graphs() -> int:
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


def gradients(model: TranslationModel, loss: TranslationLoss, batch: Batch) -> list[torch.Tensor]:
    """Those of every parameter, and the loss."""
    model.zero_grad()
    found = loss(model(batch), batch.step_tokens, 0.5).loss
    found.backward()
    return [found.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]


@pytest.mark.parametrize("overrides", [MODELS[0], *(pytest.param(one, marks=pytest.mark.slow) for one in MODELS[1:])])
def test_compiled_parts_give_the_same_gradients_at_any_length(overrides: str) -> None:
    """By Dynamo alone: what it traces is what any backend is given."""
    model = build_model(*overrides.split(), "model.dropout=0").train()
    loss = TranslationLoss(label_smoothing=0.1, mean="terms", autoencode=lambda _: 0.5)
    batches = [random_batch(lengths, seed) for seed, lengths in enumerate(LENGTHS)]
    expected = [gradients(model, loss, batch) for batch in batches]

    model.compile(backend="eager", dynamic=True, fullgraph=True)
    loss.compile(backend="eager", dynamic=True, fullgraph=True)
    found = [gradients(model, loss, batch) for batch in batches]
    compiled = graphs()
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    assert compiled >= 2  # a part of the model, and the loss

    for seed in range(4):
        gradients(model, loss, random_batch([(11 + seed, 6), (2, 13 - seed), (5, 5 + seed)], seed))
    assert graphs() == compiled


@pytest.mark.slow
@pytest.mark.parametrize(("overrides", "most"), [(one, 6 if "rnn" in one else 11) for one in MODELS])
def test_few_graphs_as_on_a_gpu(overrides: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In bf16, with fused attention and gradients traced: no break, few graphs, and no new one for 20 more shapes."""
    monkeypatch.setattr("triptych.layers.attention.dot_product_attention", fused_attention)
    model = build_model(*overrides.split()).float().train()
    loss = TranslationLoss(label_smoothing=0.1, mean="terms", autoencode=lambda _: 0.5)
    model.compile(backend="aot_eager", dynamic=True, fullgraph=True)
    loss.compile(backend="aot_eager", dynamic=True, fullgraph=True)

    def step(batch: Batch) -> None:
        with torch.autocast("cpu", torch.bfloat16):
            found = loss(model(batch), batch.step_tokens, 0.5).loss
        found.backward()

    # First sides of unlike sizes: equal ones would be taken for one dimension, until a batch comes where they differ.
    for seed, lengths in enumerate([[(15, 2), (9, 3)], *LENGTHS]):
        step(random_batch(lengths, seed))
    compiled = graphs()
    assert 2 <= compiled <= most
    for seed in range(20):
        step(random_batch([(13 + seed, 6), (2, 15 + seed), (5, 5 + seed), *[(4, 4)] * (seed % 5)], seed))
    assert graphs() == compiled


def fused_attention(query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None, causal: bool, dropout: float):
    """``dot_product_attention`` as a GPU computes it."""
    return F.scaled_dot_product_attention(query, key, value, mask, dropout_p=dropout, is_causal=causal)


def train(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["triptych", "train", "scale=smoke", "cache=cache", *arguments])
    return cli.main()


@pytest.mark.slow
@pytest.mark.parametrize("model", ["transformer", "rnn_bahdanau"])
def test_a_compiled_training_is_the_same(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    losses = []
    for choice in ("null", "true"):
        # A compiler draws dropout's random numbers otherwise. Batches of one sentence would be graphs of their own.
        options = [f"model={model}", "scale.dropout=0", "batch.tokens=1024"]
        assert train(monkeypatch, *options, f"strategy.compile={choice}", f"output=runs-{choice}") == 0
        assert (graphs() > 0) == (choice == "true")
        (folder,) = Path(f"runs-{choice}").glob("[!.]*")
        assert json.loads((folder / "result.json").read_text())["train"]["compiled"] == (choice == "true")
        losses.append(pd.read_csv(folder / "metrics.csv")[["train/loss", "validation/loss", "validation/bleu"]])
    pd.testing.assert_frame_equal(*losses)
    assert graphs() <= 10  # training and validation, with padding and without; none of search's many shapes


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def compile(*_: object, **__: object) -> None:
        raise RuntimeError("No working C++ compiler found.\nMore of it.")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch, "compile", compile)
    assert train(monkeypatch, "strategy.compile=true") == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("triptych: torch.compile does not work here (No working C++ compiler found)")
    assert said.endswith("set strategy.compile=false.")
    assert not list(Path("runs").glob("[!.]*"))

"""What a GPU computes is what a CPU computes, and a training on it goes on where it stopped."""

from __future__ import annotations

import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
import torch
from conftest import VOCABULARY, build_model, random_batch
from small_trainings import log, stream, train, train_and_terminate, weights

from triptych.contract.batch import Batch
from triptych.contract.model import TranslationModel
from triptych.decoding.batches import decode
from triptych.decoding.search import Search
from triptych.kernels.fused_recurrent import CUDNN_WITH_BF16, run_recurrent, run_recurrent_reference
from triptych.training.loss import TranslationLoss

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")]
MODELS = ("transformer", "lm4mt", "rnn", "rnn_luong", "rnn_gnmt", "convs2s")
LENGTHS = [(5, 4), (2, 6), (17, 13), (9, 1)]


def loss_and_gradients(model: TranslationModel, batch: Batch) -> tuple[float, dict[str, torch.Tensor]]:
    loss = TranslationLoss(label_smoothing=0.1, mean="terms", autoencode=lambda _: 0.5)
    found = loss(model(batch), batch.step_tokens, 0.5).loss
    found.backward()
    return float(found), {name: p.grad.cpu() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("name", MODELS)
def test_loss_and_gradients(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    batch, model = random_batch(LENGTHS), build_model(f"model={name}", "model.dropout=0").float().train()
    here, gradients = loss_and_gradients(model, batch)
    model.zero_grad(set_to_none=True)
    there, others = loss_and_gradients(model.cuda(), batch.to(torch.device("cuda")))
    assert there == pytest.approx(here, rel=1e-5)
    assert others.keys() == gradients.keys()
    for parameter, gradient in gradients.items():
        scale = float(gradient.abs().max()) + 1e-6
        torch.testing.assert_close(others[parameter], gradient, rtol=2e-3, atol=2e-3 * scale, msg=parameter)


@pytest.mark.parametrize("name", MODELS)
def test_translations(name: str) -> None:
    search = Search(
        beam_size=4,
        length_penalty=0.6,
        max_length_ratio=1.5,
        max_length_extra=10,
        min_length=0,
        stop="exact",
        n_best=4,
    )
    draw, model = torch.Generator().manual_seed(1), build_model(f"model={name}")
    sources = [torch.randint(6, VOCABULARY.src_size, (n,), generator=draw).tolist() for n in (3, 11, 1, 20, 0, 6)]
    here = decode(model, sources, search, 40, "cpu")
    there = decode(model.cuda(), sources, search, 40, "cuda")
    assert [[one.tokens for one in found] for found in there] == [[one.tokens for one in found] for found in here]
    for ours, theirs in zip(chain(*there), chain(*here), strict=True):
        assert ours.score == pytest.approx(theirs.score, rel=1e-6)


@pytest.mark.parametrize(("name", "precision"), [("transformer", "bf16-mixed"), ("rnn", "32-true")])
def test_a_training_goes_on_where_it_stopped(name: str, precision: str, tmp_path: Path) -> None:
    settings = ["strategy=single_gpu", f"strategy.precision={precision}", f"model={name}", "strategy.compile=false"]
    settings += ["budget.steps=600", "validation.every=300"]  # a GPU would be done before the signal comes
    train(tmp_path / "whole", *settings)
    train_and_terminate(tmp_path / "stopped", *settings, after=6)
    train(tmp_path / "stopped", *settings)
    assert stream(tmp_path / "whole") == stream(tmp_path / "stopped")
    for one, other in zip(log(tmp_path / "stopped"), log(tmp_path / "whole"), strict=True):
        assert one == pytest.approx(other, rel=2e-2)


def test_memory_is_measured_from_the_first_use_of_the_gpu() -> None:
    """In a process of its own: here other tests have used the GPU before."""
    script = (
        "import torch; from triptych.accounting.memory import peak_memory_bytes, reset_peak_memory;"
        "reset_peak_memory('cuda'); torch.ones(1024, device='cuda'); print(peak_memory_bytes('cuda'))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert int(done.stdout) >= 4096


@pytest.mark.skipif((torch.backends.cudnn.version() or 0) < CUDNN_WITH_BF16, reason="cuDNN is too old")
@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU])
def test_recurrent_layers_multiply_in_half_precision(kind: type[torch.nn.LSTM] | type[torch.nn.GRU]) -> None:
    layer, x = kind(32, 48, batch_first=True).cuda(), torch.randn(5, 7, 32, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        found, _ = run_recurrent(layer, x)
        expected, _ = run_recurrent_reference(layer, x)
    assert (found.dtype, expected.dtype) == (torch.bfloat16, torch.float32)
    torch.testing.assert_close(found.float(), expected, rtol=0.05, atol=0.05)


def test_a_compiled_training_and_a_sharded_one_equal_a_plain_one(tmp_path: Path) -> None:
    settings = ["model=transformer", "model.dropout=0", "strategy.precision=32-true"]
    train(tmp_path / "plain", "strategy=single_gpu", "strategy.compile=false", *settings)
    train(tmp_path / "compiled", "strategy=single_gpu", "strategy.compile=true", *settings)
    train(tmp_path / "sharded", "strategy=fsdp", "strategy.devices=1", *settings)
    for other in ("compiled", "sharded"):
        torch.testing.assert_close(weights(tmp_path / other), weights(tmp_path / "plain"), rtol=1e-2, atol=1e-4)

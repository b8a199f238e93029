from __future__ import annotations

import mmap
import sys

import pytest
import torch
from torch import Tensor, nn

from triptych.accounting import peaks
from triptych.accounting.flops import flops_6nd, mfu, training_flops
from triptych.accounting.memory import peak_memory_bytes, reset_peak_memory
from triptych.accounting.parameters import count_parameters
from triptych.contract.batch import Batch, Prediction
from triptych.contract.decoder_state import DecoderState
from triptych.contract.model import AttentionMap, TranslationModel


class Counted(TranslationModel):
    """An embedding of 10 x 4, also the projection, and one hidden matrix; flops = 1000 S + T, 100 S for the source."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.hidden = nn.Linear(4, 4, bias=False)
        self.projection = nn.Linear(4, 10, bias=False)
        self.projection.weight = self.embedding.weight

    def flops(self, src_length: int, tgt_length: int) -> int:
        return 1000 * src_length + tgt_length

    def source_prediction_flops(self, src_length: int) -> int:
        return 100 * src_length

    @property
    def embedding_parameters(self) -> int:
        return self.embedding.weight.numel()

    def forward(self, batch: Batch) -> Prediction:
        raise NotImplementedError

    def start(self, src: Tensor, src_lengths: Tensor) -> DecoderState:
        raise NotImplementedError

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        raise NotImplementedError

    def attention_maps(self, batch: Batch) -> list[AttentionMap]:
        return []


def test_a_shared_matrix_is_counted_once() -> None:
    assert count_parameters(Counted()) == (40 + 16, 16)


def test_training_flops_are_three_forward_passes_of_every_pair() -> None:
    assert training_flops(Counted(), {(2, 4, True): 2, (4, 3, False): 1}) == 3 * (2004 + 3603 + 2004)


def test_6nd_gives_the_published_figure() -> None:
    # Reading 000's encoder-decoder: 60M non-embedding parameters, 4.37B tokens, 1.57e18.
    assert flops_6nd(60_000_000, 4_370_000_000) == pytest.approx(1.57e18, rel=0.003)


@pytest.mark.parametrize(
    ("name", "peak", "source"),
    [
        ("NVIDIA A100-SXM4-80GB", 312e12, "A100"),
        ("NVIDIA H100 80GB HBM3", 989e12, "H100 SXM"),
        ("NVIDIA H100 PCIe", 756e12, "H100 PCIe"),
        ("NVIDIA H200", 989e12, "H200"),
        ("Tesla V100-SXM2-16GB", 125e12, "V100 SXM2"),
        ("Tesla V100-PCIE-32GB", 112e12, "V100 PCIe"),
    ],
)
def test_known_gpus_have_the_dense_peak_of_their_datasheet(
    monkeypatch: pytest.MonkeyPatch, name: str, peak: float, source: str
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: name)
    found, where = peaks.peak_flops("cuda:0")
    assert found == peak
    assert source in where
    assert "datasheet" in where


@pytest.mark.parametrize("name", ["NVIDIA GeForce GTX 1080", "NVIDIA RTX A1000", "NVIDIA H100 80GB HBM3 MIG 1g.10gb"])
def test_other_gpus_are_measured(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: name)
    monkeypatch.setattr(peaks, "measured_peak", lambda device, dtype: (1.0, f"{dtype} on {device}"))
    assert peaks.peak_flops("cuda:1") == (1.0, "torch.bfloat16 on cuda:1")


def test_a_cpu_is_measured() -> None:
    peak, source = peaks.peak_flops("cpu")
    assert 1e8 < peak < 1e15
    assert source == "measured here, float32 matrix product of 1024, best of 20"
    assert peaks.peak_flops("cpu") == (peak, source)  # one denominator for all runs of a process
    assert peaks.peak_flops("cpu", "bf16-mixed")[1].startswith("measured here, bfloat16 matrix product")


def test_a_measured_rate_is_that_of_the_fastest_product(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([90.0, 3.0, 2.0, *range(4, 21)])
    monkeypatch.setattr(peaks, "_seconds_of_product", lambda matrix: next(seconds))
    assert peaks.measured_peak.__wrapped__(torch.device("cpu"), torch.float32)[0] == 2 * 1024**3 / 2.0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can reset a process's peak of memory")
def test_the_peak_of_memory_is_that_of_one_run() -> None:
    reset_peak_memory("cpu")
    held = mmap.mmap(-1, 200_000_000)  # which, unlike a tensor's memory, is given back at once
    held.write(bytes(200_000_000))
    first = peak_memory_bytes("cpu")
    held.close()
    assert peak_memory_bytes("cpu") > first - 10_000_000  # pages are counted in batches
    reset_peak_memory("cpu")
    assert peak_memory_bytes("cpu") < first - 100_000_000


def test_mfu() -> None:
    assert mfu(flops=3e12, seconds=2.0, peak=5e12) == pytest.approx(0.3)
    for seconds, peak in ((0.0, 1.0), (1.0, 0.0)):
        with pytest.raises(ValueError, match="positive"):
            mfu(1.0, seconds, peak)


def test_peak_memory_of_the_process_covers_what_it_holds() -> None:
    block = torch.ones(2**24)
    assert 4 * 2**24 < peak_memory_bytes("cpu") < 2**42
    assert block.sum() == 2**24


def test_peak_memory_of_a_gpu_is_that_of_its_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 7 if device.index == 1 else 0)
    assert peak_memory_bytes("cuda:1") == 7

"""Parameters, floating-point operations and the cost of a training."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from triptych.accounting.cost import training_cost
from triptych.accounting.flops import mfu, training_flops
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


def test_mfu() -> None:
    assert mfu(flops=3e12, seconds=2.0, peak=5e12) == pytest.approx(0.3)
    for seconds, peak in ((0.0, 1.0), (1.0, 0.0)):
        with pytest.raises(ValueError, match="positive"):
            mfu(1.0, seconds, peak)


def test_the_cost_of_a_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA A100-SXM4-80GB")
    pairs, device = {(2, 4, True): 2, (4, 3, False): 1}, torch.device("cuda")
    settings = {"tokens": 20, "seconds": 4.0, "devices": 2, "precision": "bf16-mixed", "peak_memory": 7}
    flops = 3 * (2004 + 3603 + 2004)
    assert training_cost(Counted(), pairs, device=device, **settings) == {
        "flops": flops,
        "seconds": 4.0,
        "tokens_per_second": 5.0,
        "device": "NVIDIA A100-SXM4-80GB",
        "devices": 2,
        "threads": torch.get_num_threads(),
        "peak_flops": 2 * 312e12,
        "peak_source": "NVIDIA A100 datasheet, bf16, dense",
        "mfu": flops / 4.0 / (2 * 312e12),
        "peak_memory_bytes": 7,
    }

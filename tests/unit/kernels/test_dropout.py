"""Dropout: its rate, its scale, its gradient, and where its random numbers come from."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck

from triptych.kernels.dropout import Dropout, dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_every_place_is_dropped_at_the_rate_and_the_mean_stays(p: float) -> None:
    torch.manual_seed(0)
    dropped = dropout(torch.ones(50_000, 8), p)
    error = 5 * (p * (1 - p) / 50_000) ** 0.5
    assert torch.allclose((dropped == 0).double().mean(0), torch.full((8,), p, dtype=torch.double), rtol=0, atol=error)
    assert dropped.unique().tolist() == pytest.approx([0, 1 / (1 - p)], abs=2**-16 / (1 - p) ** 2)


@pytest.mark.parametrize("p", [0.002, 0.1])
def test_columns_are_dropped_at_the_rate_on_average(p: float) -> None:
    torch.manual_seed(0)
    x, masks = torch.ones(16, 50_000), 20
    rate = torch.stack([(dropout(x, p) == 0).double().mean() for _ in range(masks)]).mean()
    assert float(rate) == pytest.approx(round(p * 2**16) / 2**16, abs=5 * (p / x.numel() / masks) ** 0.5)


def test_rows_are_dropped_independently() -> None:
    torch.manual_seed(0)
    dropped = (dropout(torch.ones(4, 100_000), 0.1) == 0).double()
    assert (torch.corrcoef(dropped) - torch.eye(4)).abs().max() < 5 / 100_000**0.5


def test_neighbours_are_dropped_independently() -> None:
    torch.manual_seed(0)
    dropped = (dropout(torch.ones(100_000, 4), 0.5) == 0).double()
    assert (torch.corrcoef(dropped.T) - torch.eye(4)).abs().max() < 5 / 100_000**0.5


def test_masks_are_independent_of_each_other() -> None:
    torch.manual_seed(0)
    dropped = torch.stack([(dropout(torch.ones(100_000), 0.5) == 0).double() for _ in range(8)])
    assert (torch.corrcoef(dropped) - torch.eye(8)).abs().max() < 5 / 100_000**0.5


def test_rates_at_either_end_keep_and_drop_nearly_all() -> None:
    torch.manual_seed(0)
    x = torch.ones(10_000)
    assert torch.equal(dropout(x, 1e-6), x)
    assert dropout(x, 0.999999).unique().tolist() in ([0], [0, pytest.approx(1e6, rel=0.1)])


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3, 5), (0, 4)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_any_shape_and_type(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    dropped = dropout(torch.ones(shape, dtype=dtype), 0.5)
    assert dropped.shape == shape
    assert dropped.dtype == dtype
    assert set(dropped.flatten().tolist()) <= {0.0, 2.0}


def test_what_is_laid_out_otherwise_in_memory() -> None:
    x = torch.arange(1.0, 13).view(3, 4).T
    dropped = dropout(x, 0.5)
    assert torch.all((dropped == 0) | (dropped == 2 * x))


def test_the_gradient_passes_where_the_value_did() -> None:
    x = torch.randn(3, 5, dtype=torch.double, requires_grad=True)

    def seeded(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(1)
        return dropout(x, 0.4)

    assert gradcheck(seeded, x)


def test_masks_follow_the_default_generator() -> None:
    x = torch.ones(1000)
    torch.manual_seed(3)
    state = torch.get_rng_state()
    first, second = dropout(x, 0.5), dropout(x, 0.5)
    torch.set_rng_state(state)
    assert torch.equal(dropout(x, 0.5), first)
    assert not torch.equal(first, second)


def test_the_module_drops_in_training_alone() -> None:
    x, module = torch.ones(1000), Dropout(0.5)
    assert (module(x) == 0).any()
    assert module.eval()(x) is x


def test_what_is_compiled_drops_too() -> None:
    compiled = torch.compile(dropout, backend="eager", fullgraph=True)
    assert compiled(torch.ones(1000), 0.5).unique().tolist() == [0, 2]

"""Products in training by another library: where, and that they are as exact."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from triptych.commands import cli
from triptych.kernels import fast_matmul, linear_cross_entropy

CPU = torch.device("cpu")


def allowed() -> str:
    return torch.backends.mkldnn.matmul.fp32_precision


@pytest.fixture
def as_if_it_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever processor this is."""
    monkeypatch.setattr(fast_matmul, "is_faster", lambda: True)


def test_products_are_exact_and_what_was_allowed_before_is_again() -> None:
    one, other = torch.randn(300, 128), torch.randn(128, 70)
    before = allowed()
    with fast_matmul.fast_products(CPU):
        assert (allowed() != before) == fast_matmul.is_faster()
        found = one @ other
    assert allowed() == before
    torch.testing.assert_close(found, (one.double() @ other.double()).float(), rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("as_if_it_paid")
def test_an_error_inside_leaves_nothing_behind() -> None:
    before = allowed()

    def fail() -> None:
        with fast_matmul.fast_products(CPU):
            assert allowed() != before
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert allowed() == before


@pytest.mark.usefixtures("as_if_it_paid")
def test_a_gpu_is_left_alone() -> None:
    before = allowed()
    with fast_matmul.fast_products(torch.device("cuda")):
        assert allowed() == before


def test_other_makers_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nvendor_id\t: GenuineIntel\n")
    monkeypatch.setattr(fast_matmul, "CPUINFO", cpuinfo)
    assert not fast_matmul.is_faster.__wrapped__()


def test_a_processor_that_would_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one with units for bf16 does, where that is allowed."""
    product = torch.Tensor.__matmul__

    def rounding(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        half = allowed() == "bf16"
        return product(one.bfloat16(), other.bfloat16()).float() if half else product(one, other)

    monkeypatch.setattr(torch.Tensor, "__matmul__", rounding)
    assert not fast_matmul._exact()


@pytest.mark.usefixtures("as_if_it_paid")
@pytest.mark.parametrize("compiled", ["null", pytest.param("true", marks=pytest.mark.slow)])
def test_training_has_them_and_decoding_has_not(compiled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from triptych.decoding import search

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch, "compile", lambda what, **_: what)
    monkeypatch.setattr(torch.nn.Module, "compile", lambda *_, **__: None)
    seen: dict[str, set[str]] = {"training": set(), "decoding": set()}
    chunk, step = linear_cross_entropy.chunk_cross_entropy, search.Search.limit

    def of_chunk(logits: torch.Tensor, *rest: object) -> object:
        seen["training"] |= {allowed()} if rest[-1] else set()
        return chunk(logits, *rest)

    def limit(self: search.Search, length: torch.Tensor) -> torch.Tensor:
        seen["decoding"].add(allowed())
        return step(self, length)

    monkeypatch.setattr(linear_cross_entropy, "chunk_cross_entropy", of_chunk)
    monkeypatch.setattr(search.Search, "limit", limit)
    monkeypatch.setattr("sys.argv", ["triptych", "train", "scale=smoke", "cache=cache", f"strategy.compile={compiled}"])
    before = allowed()
    assert cli.main() == 0
    assert seen == {"training": {"bf16" if compiled == "null" else before}, "decoding": {before}}
    assert allowed() == before

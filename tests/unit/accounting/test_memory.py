"""Peak memory of the process, and of a GPU's tensors."""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import pytest
import torch

from triptych.accounting import memory
from triptych.accounting.memory import free_memory_bytes, peak_memory_bytes, reset_peak_memory


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can reset a process's peak of memory")
def test_the_peak_of_memory_is_that_of_one_run() -> None:
    reset_peak_memory("cpu")
    block = mmap.mmap(-1, 200_000_000)  # unlike the memory of a tensor, it is freed at once
    block.write(bytes(200_000_000))
    first = peak_memory_bytes("cpu")
    block.close()
    assert peak_memory_bytes("cpu") > first - 10_000_000  # pages are counted in batches
    reset_peak_memory("cpu")
    assert peak_memory_bytes("cpu") < first - 100_000_000


def test_peak_memory_of_the_process_covers_what_it_holds() -> None:
    block = torch.ones(2**24)
    assert 4 * 2**24 < peak_memory_bytes("cpu") < 2**42
    assert block.sum() == 2**24


def test_peak_memory_of_a_gpu_is_that_of_its_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 7 if device.index == 1 else 0)
    assert peak_memory_bytes("cuda:1") == 7


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say")
def test_free_memory_is_what_the_container_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "CONTAINER", tmp_path)
    system = free_memory_bytes()
    assert system is not None
    (tmp_path / "memory.current").write_text("70000\n")
    (tmp_path / "memory.stat").write_text("active_file 5\ninactive_file 2000\n")
    for limit, free in (("max", None), ("100000", 32_000)):
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        assert free_memory_bytes() == pytest.approx(free or system, rel=0.2)

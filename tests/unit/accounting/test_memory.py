"""Peak memory of the process, and of a GPU's tensors."""

from __future__ import annotations

import mmap
import sys

import pytest
import torch

from triptych.accounting.memory import peak_memory_bytes, reset_peak_memory


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

"""Memory that tensors have freed: kept for the next step, and given back before the next run."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

CODE = """
import torch
from triptych.kernels.malloc import keep_freed_memory

def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) // 1024

def use(megabytes):
    blocks = [torch.ones(2**18) for _ in range(megabytes)]
    held = torch.ones(1)
    del blocks
    return held

before = resident()
use(200)
returned = resident() - before
keep_freed_memory()
held = use(200)
kept = resident() - before
del held
give_back()
print(returned, kept, resident() - before)
"""
AFTER_A_RUN = "from triptych.kernels.malloc import give_back_freed_memory as give_back"
AFTER_A_VALIDATION = "from triptych.kernels.malloc import trim_freed_memory as give_back"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc's allocator")
@pytest.mark.parametrize("give_back", [AFTER_A_RUN, AFTER_A_VALIDATION], ids=["run", "validation"])
def test_freed_memory_is_kept_and_given_back(give_back: str) -> None:
    done = subprocess.run([sys.executable, "-c", give_back + CODE], capture_output=True, text=True, check=True)
    returned, kept, given_back = map(int, done.stdout.split())
    assert returned < 100 < 150 < kept, "megabytes of 200"
    assert given_back < 50

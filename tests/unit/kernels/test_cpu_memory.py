"""Memory of a process: what it keeps for the next step, what it gives back, and how many primitives it caches."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest
import torch

CODE = """
import torch
from triptych.kernels.cpu_memory import keep_freed_memory

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
AFTER_A_RUN = "from triptych.kernels.cpu_memory import give_back_freed_memory as give_back"
AFTER_A_VALIDATION = "from triptych.kernels.cpu_memory import trim_freed_memory as give_back"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc's allocator")
@pytest.mark.parametrize("give_back", [AFTER_A_RUN, AFTER_A_VALIDATION], ids=["run", "validation"])
def test_freed_memory_is_kept_and_given_back(give_back: str) -> None:
    done = subprocess.run([sys.executable, "-c", give_back + CODE], capture_output=True, text=True, check=True)
    returned, kept, given_back = map(int, done.stdout.split())
    assert returned < 100 < 150 < kept, "megabytes of 200"
    assert given_back < 50


MANY_SHAPES = """
import torch
from triptych.kernels.cpu_memory import prepare_cpu_memory

def multiply(rows):
    torch.nn.functional.linear(torch.ones(rows, 8).to_mkldnn(), torch.ones(8, 8).to_mkldnn())

prepare_cpu_memory()
for rows in [*range(1, 401), 400, 1]:
    print("rows", rows, flush=True)
    multiply(rows)
"""


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="of oneDNN")
@pytest.mark.parametrize(("chosen", "forgotten"), [(None, True), ("2000", False)], ids=["ours", "the user's"])
def test_the_cache_forgets_old_shapes(chosen: str | None, forgotten: bool) -> None:
    chosen_by_user = {} if chosen is None else {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": chosen}
    done = subprocess.run(
        [sys.executable, "-c", MANY_SHAPES],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"ONEDNN_VERBOSE": "2"} | chosen_by_user,
    )
    *_, recent, oldest = done.stdout.split("rows")
    assert "create:cache_miss" not in recent
    assert ("create:cache_miss" in oldest) == forgotten

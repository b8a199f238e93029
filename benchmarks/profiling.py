"""Measure where the time of a training step goes, by kind of work.

    python -m benchmarks.profiling ARM [key=value …]

Prints one JSON object: shares of the time that operations take themselves, without the operations that they call.
"""

from __future__ import annotations

import json
import sys
from collections import Counter

from torch.profiler import ProfilerActivity, profile

from benchmarks.ours import Steps
from triptych.kernels.cpu_memory import prepare_cpu_memory

PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "linear")
KINDS = {
    "attention": ("_softmax", "_softmax_backward_data", "masked_fill", "masked_fill_"),
    "normalisation": ("native_layer_norm", "native_layer_norm_backward"),
    "copies": ("copy_", "cat", "_to_copy", "clone"),
    "zeros": ("zero_", "fill_"),
}
STEPS, WARMUP = 3, 2


def kind(name: str, scopes: list[str]) -> str:
    """Return the kind of an operation, from its name and the scopes that called it."""
    operation = name.removeprefix("aten::")
    if operation.startswith("mkldnn_rnn"):
        return "LSTM kernels"
    if operation in PRODUCTS or operation.startswith("mkldnn_"):
        return "matrix products"
    scopes = [name, *scopes]
    if any("LinearCrossEntropy" in scope or scope == "loss" for scope in scopes):
        return "loss"
    for scope in ("optimizer", "data", "dropout"):
        if scope in scopes:
            return scope
    return next((kind for kind, operations in KINDS.items() if operation in operations), "other")


def profiled(arm: str, *options: str) -> dict[str, float]:
    """Return the share of each kind of work, and the seconds of all operations in a step."""
    prepare_cpu_memory()
    steps = Steps(arm, *options)
    for _ in range(WARMUP):
        steps.step()
    times: Counter[str] = Counter()
    for _ in range(STEPS):
        # Profile one step at a time, and take an unprofiled step before it. The profiler's records lie between the
        # tensors in memory, so without that step the tensors would need new memory.
        steps.step()
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            steps.step()
        for event in profiler.events():
            scopes, parent = [], event.cpu_parent
            while parent is not None:
                scopes.append(parent.name)
                parent = parent.cpu_parent
            times[kind(event.name, scopes)] += event.self_cpu_time_total
    total = sum(times.values())
    return {name: time / total for name, time in times.most_common()} | {"seconds_of_operations": total / STEPS / 1e6}


if __name__ == "__main__":
    print(json.dumps(profiled(*sys.argv[1:]), indent=2))

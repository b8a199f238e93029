"""Forecast every study at the papers' scale, without text, and compare forecasts with what was measured.

    python -m benchmarks.paper_scale

Takes some minutes. Writes docs/paper-scale.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from hydra.utils import instantiate

from benchmarks.gpu import Bench
from benchmarks.page import shares_of_peak, table
from triptych.config.validation import build_without_values
from triptych.files import replacing
from triptych.sweeps.forecast import UTILISATION, Estimate, forecast_arms
from triptych.sweeps.forecast_figures import figures
from triptych.sweeps.measure import activation_bytes_on_gpu

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
DEVICE, PAIRS = "H200", 36_000_000
"""Which GPU, and how many pairs of sentences: those of WMT'14 English-French."""
COUNTS = (1, 8, 64)
"""Numbers of GPUs."""
BUILT_IN = ("toy_zero_shot",)
"""Studies of invented languages, which have no other scale."""


def studies() -> list[str]:
    rows = []
    for path in sorted((ROOT / "conf" / "experiment").glob("*.yaml")):
        if path.stem in BUILT_IN:
            continue
        arms = forecast_arms([f"experiment={path.stem}", "scale=paper"], DEVICE, None, PAIRS)
        found = figures(arms)
        trained = found[~found["shared"]]
        hours, longest = trained["seconds"].sum() / 3600, max(arm.seconds for arm in arms) / 3600
        elapsed = [f"{max(longest, hours / count):.1f}" for count in COUNTS]
        rows.append([f"`{path.stem}`", f"{len(trained)}", *elapsed, f"{_memory(arms):.0f}"])
        print(" ".join(rows[-1]), flush=True)
    head = ["study", "trainings", "hours on 1", *(f"on {count}, at least" for count in COUNTS[1:]), "memory, GB"]
    return [
        "## The studies",
        "",
        f"One seed, {DEVICE}, {PAIRS / 1e6:.0f} million pairs, by `triptych forecast experiment=… scale=paper --pairs "
        f"{PAIRS} --device {DEVICE}`. Hours are those of training, without validating and translating. Several GPUs "
        "train an arm each, so that a study takes at least as long as its longest arm. Memory is that of the largest "
        "arm.",
        "",
        *table(head, rows),
    ]


def _memory(arms: list[Estimate]) -> float:
    return max(arm.memory for arm in arms) / 1e9


def memory_on_a_gpu() -> list[str]:
    """Compare the bytes of a forward and a backward pass."""
    measured: dict[str, Any] = json.loads((RESULTS / "gpu.json").read_text())
    bench, rows = Bench(torch.device("cpu"), small=False), []
    batch = next(bench.text.batches(1, 0))
    for arm, overrides in bench.arms.items():
        config = bench._compose(overrides)
        model = build_without_values(config.model, bench.vocabulary)
        gradients = 4 * sum(parameter.numel() for parameter in model.parameters())
        kept = activation_bytes_on_gpu(model, instantiate(config.loss), batch.host_lengths.T, "bf16-mixed")
        rows.append(_compared(arm, kept + gradients, measured["memory"][f"{arm} ours"]["bytes"], 2**30, 2))
    return [
        f"Memory of a forward and a backward pass on an {measured['device'].removeprefix('NVIDIA ')}, GiB:",
        "",
        *table(["model", "forecast", "measured", "error"], rows),
    ]


def rates_on_a_cpu() -> list[str]:
    """Compare the share of the peak that is assumed where nothing is known."""
    rows = []
    for path in sorted(RESULTS.glob("cpu_*.json")):
        found: dict[str, Any] = json.loads(path.read_text())
        processor = ", ".join(found["machine"][key] for key in ("capability", "generation") if key in found["machine"])
        for name, share in shares_of_peak(found).items():
            rows.append([processor, *_compared(name, UTILISATION, share, 0.01, 0)])
    return [
        "Share of the peak that trainings reach on a CPU, in percent. The forecast is for a speed that was never "
        "measured; after one training, or with `--measure 20`, the measured one is used.",
        "",
        *table(["processor", "model, precision", "forecast", "measured", "error"], rows),
    ]


def _compared(name: str, forecast: float, measured: float, unit: float, digits: int) -> list[str]:
    return [
        name,
        f"{forecast / unit:.{digits}f}",
        f"{measured / unit:.{digits}f}",
        f"{round(100 * (forecast / measured - 1)) + 0:+d}%",
    ]


def main() -> None:
    lines = [
        "# What the papers' scale would cost",
        "",
        "Made by `python -m benchmarks.paper_scale`. None of these trainings has been run.",
        "",
        *studies(),
        "## How good forecasts are",
        "",
        "Training times on a GPU follow from the share of its peak that a model of the same kind reached on an H200 "
        "([benchmarks/results/gpu.md](../benchmarks/results/gpu.md)). The shares of Transformers and LM4MT are "
        "estimates, until they are measured again. On other GPUs, and with other sizes, the share differs.",
        "",
        *memory_on_a_gpu(),
        *rates_on_a_cpu(),
    ]
    with replacing(ROOT / "docs" / "paper-scale.md") as beside:
        beside.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Write the measurements on a GPU as a page of Markdown.

python -m benchmarks.gpu_page
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.page import table
from triptych.files import replacing

ARTICLE_BUDGET = 8.1e17
"""FLOPs of the article's Transformer training (30 hours on a V100), by triptych's count for its 4.37 billion tokens.
The article's own 1.57e18, by 6ND, sends every token through both stacks."""
RESULTS = Path(__file__).parent / "results" / "gpu.json"


def training(found: dict[str, Any]) -> list[str]:
    peak, rows = found["peak"]["products"], []
    for arm, values in found.get("trainer", {}).items():
        if isinstance(values, str):
            rows.append([arm, values, "", "", ""])
            continue
        rate = values["flops_per_second"]
        rows.append(
            [
                arm,
                f"{values['tokens_per_second']:,.0f}",
                f"{rate / peak['measured']:.1%}",
                f"{rate / peak['datasheet']:.1%}",
                f"{ARTICLE_BUDGET / rate / 60:.0f}",
            ]
        )
    head = ["model", "tokens/s", "of the measured peak", "of the datasheet's peak", "minutes for the article's FLOPs"]
    return [
        "## Training",
        "",
        "By Lightning's Trainer, as `triptych train` trains: compiled, with batches of ever new shapes and the "
        "processes that make them. The second half of each training is timed. Tokens are source and target pieces "
        f"without padding. The measured peak, {peak['measured'] / 1e12:,.0f} TFLOP/s, is that of products of "
        f"8,192 x 8,192 matrices in bf16; the datasheet's is {peak['datasheet'] / 1e12:,.0f}. The last column is the "
        f"time that the model would take for {ARTICLE_BUDGET:.1e} FLOPs, those of the article's training of its "
        "Transformer.",
        "",
        *table(head, rows),
    ]


def decoding(found: dict[str, Any]) -> list[str]:
    rows = [[name, _number(value)] for name, value in found.get("decode", {}).items()]
    return [
        "## Decoding",
        "",
        "Seconds for 3,003 sentences with beam size 4. The weights are random, so that most translations have the "
        "maximum length, ten pieces more than the source.",
        "",
        *table(["model", "seconds"], rows),
    ]


def memory(found: dict[str, Any]) -> list[str]:
    names = [name.removesuffix(" ours") for name in found.get("memory", {}) if name.endswith(" ours")]
    rows = [[name, *(_gib(found["memory"][f"{name} {loss}"]) for loss in ("ours", "logits"))] for name in names]
    return [
        "## Memory",
        "",
        "Peak of a forward and a backward pass over 25,000 padded tokens a side, in GiB.",
        "",
        *table(["model", "triptych's loss", "all logits kept"], rows),
    ]


def layers(found: dict[str, Any]) -> list[str]:
    lines = ["## Single layers", ""]
    for part, title, what in (
        ("recurrent", "LSTM", "a bidirectional layer of 1,000 units each way, by cuDNN"),
        ("attention", "attention", "8 heads of 64: tokens padded first, without and with a causal mask, or packed"),
    ):
        ways: dict[str, dict[str, str]] = {name.rpartition(" ")[0]: {} for name in found.get(part, {})}
        for name, value in found.get(part, {}).items():
            way, _, longest = name.rpartition(" ")
            ways[way][longest] = _number(value)
        lengths = list(next(iter(ways.values()), {}))
        lines += [
            f"Milliseconds forward and backward, 25,000 padded tokens, by the longest sentence: {what}.",
            "",
            *table([title, *lengths], [[way, *(times[n] for n in lengths)] for way, times in ways.items()]),
        ]
    return lines


def _gib(value: dict[str, int] | str) -> str:
    return value if isinstance(value, str) else f"{value['bytes'] / 2**30:.1f}"


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.2f}"


def write_page(found: dict[str, Any], path: Path) -> None:
    """Write the page of measurements that have a peak; without one there is nothing to compare with."""
    if not isinstance(found.get("peak", {}).get("products"), dict):
        return
    head = ["# Speed and memory on a GPU", "", f"{found['device']}; torch {found['torch']}.", ""]
    parts = [*training(found), *decoding(found), *memory(found), *layers(found)]
    with replacing(path) as beside:
        beside.write_text("\n".join([*head, *parts]).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_page(json.loads(RESULTS.read_text()), RESULTS.with_suffix(".md"))

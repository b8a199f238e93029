"""The measurements as one page of Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from triptych.files import replacing


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return [f"| {' | '.join(row)} |" for row in lines] + [""]


def training(found: dict[str, Any]) -> list[str]:
    rows = []
    for name, values in found.items():
        arm, how = name.split()
        if how == "joeynmt":
            continue
        peer = found.get(f"{arm} joeynmt")
        rows.append(
            [
                arm,
                how,
                f"{values['parameters'] / 1e6:.2f}M",
                f"{values['src_tokens_per_second']:,.0f}",
                f"{values['tgt_tokens_per_second']:,.0f}",
                f"{values['flops_per_second'] / 1e9:,.0f}",
                f"{values['share_of_peak']:.0%}",
                f"{values['peak_memory_bytes'] / 2**30:.2f}",
                f"{peer['tgt_tokens_per_second']:,.0f}" if peer else "",
                f"{values['tgt_tokens_per_second'] / peer['tgt_tokens_per_second']:.1f}" if peer else "",
                f"{values['tgt_tokens_per_second'] / values['share_of_peak'] / peer['tgt_tokens_per_second']:.1f}"
                if peer
                else "",
            ]
        )
    head = ["model", "precision", "parameters", "source/s", "target/s", "GFLOP/s", "of peak", "GiB"]
    joint, parted = (found[f"{arm} 32-true"]["tokens_per_second"] for arm in ("lm4mt", "transformer"))
    return [
        "## Training",
        "",
        "Tokens without padding; the last column is what the ratio would be if a step were matrix products alone, at "
        f"the peak. LM4MT trains on {joint / parted:.2f} times the encoder-decoder's source + target tokens a second.",
        "",
        *table([*head, "JoeyNMT target/s", "ratio", "at the peak"], rows),
    ]


def decoding(found: dict[str, Any]) -> list[str]:
    rates = found["sentences_per_second"]
    mine = rates["transformer"]
    rows = [[name, f"{rate:.1f}", f"{mine / rate:.2f}"] for name, rate in rates.items()]
    return [
        "## Decoding",
        "",
        "Beam 4, length penalty 0.6, 1,000 sentences; JoeyNMT and CTranslate2 with the Transformer's weights. "
        f"JoeyNMT's translations are ours in {found['translated_as_joeynmt']:.1%} of the sentences.",
        "",
        *table(["decoder", "sentences/s", "the Transformer's rate over it"], rows),
    ]


def profile(found: dict[str, Any]) -> list[str]:
    kinds = list(dict.fromkeys(kind for shares in found.values() for kind in shares if kind != "seconds_a_step"))
    rows = [[arm, *[f"{shares.get(kind, 0):.0%}" for kind in kinds]] for arm, shares in found.items()]
    return ["## Where a training step's time goes (fp32)", "", *table(["model", *kinds], rows)]


def memory(found: dict[str, Any]) -> list[str]:
    rows = [
        [arm, *[f"{peak[loss] / 2**30:.2f}" for loss in ("ours", "logits")], f"{peak['ours'] / peak['logits']:.2f}"]
        for arm, peak in found.items()
    ]
    head = ["model", "ours, GiB", "all logits kept, GiB", "ratio"]
    return ["## Peak memory of a step, 25,000 target tokens, 32,000 pieces", "", *table(head, rows)]


def quality(found: dict[str, Any]) -> list[str]:
    rows = [[name, f"{perplexity:.2f}"] for name, perplexity in found.items()]
    return ["## Validation perplexity of the Transformer after 200 updates", "", *table(["", "perplexity"], rows)]


PARTS = {"train": training, "decode": decoding, "profile": profile, "memory": memory, "quality": quality}


def write_page(found: dict[str, Any], path: Path) -> str:
    """Writes and returns it."""
    machine = found["machine"]
    peak, source = machine["peak"]
    lines = ["# On a CPU", "", f"{machine['device']}; peak {peak / 1e9:,.0f} GFLOP/s ({source}).", ""]
    for name, part in PARTS.items():
        if name in found:
            lines += part(found[name])
    text = "\n".join(lines).rstrip() + "\n"
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")
    return text

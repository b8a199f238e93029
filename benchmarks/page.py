"""The measurements as one page of Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from triptych.files import replacing


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return [f"| {' | '.join(row)} |" for row in lines] + [""]


def training(found: dict[str, Any]) -> list[str]:
    rows, rates, updates = [], found["rates"], found["updates"]
    for name, values in rates.items():
        arm, how = name.split()
        if how == "joeynmt":
            continue
        peer = rates.get(f"{arm} joeynmt")
        rows.append(
            [
                arm,
                how,
                f"{values['parameters'] / 1e6:.2f}M",
                f"{values['src_tokens_per_second']:,.0f}",
                f"{values['tgt_tokens_per_second']:,.0f}",
                f"{values['flops_per_second'] / 1e9:,.0f}",
                f"{values['share_of_peak']:.0%}" if how == "32-true" else "",  # the peak is one of single precision
                f"{values['peak_memory_bytes'] / 2**30:.2f}",
                f"{peer['parameters'] / 1e6:.2f}M" if peer else "",
                f"{peer['tgt_tokens_per_second']:,.0f}" if peer else "",
                f"{values['tgt_tokens_per_second'] / peer['tgt_tokens_per_second']:.1f}" if peer else "",
            ]
        )
    head = ["model", "precision", "parameters", "source/s", "target/s", "GFLOP/s", "of peak", "memory, GiB"]
    joint, parted = (rates[f"{arm} 32-true"]["tokens_per_second"] for arm in ("lm4mt", "transformer"))
    told = ", ".join(f"{perplexity:.1f} ({name})" for name, perplexity in found["perplexity"].items())
    return [
        "## Training",
        "",
        "Multi30k, English to French, 8,000 joint pieces, 4,096 padded tokens a batch; tokens without padding are "
        "counted. JoeyNMT 2.3.0 in fp32, whose batches are not of similar lengths. Transformers of 3 + 3 layers of "
        "256, RNNs of 2 + 2 LSTM layers of 256, each framework's own, which are not of quite as many parameters. "
        "Medians of turns. The share of the peak is that of the rate of matrix products in the same process: the "
        "machine's speed varies, so that shares and rates of different lines are not in proportion.",
        "",
        f"LM4MT, 7 layers of 256, trains on {joint / parted:.2f} times the encoder-decoder's source + target tokens a "
        f"second. Validation perplexity of the Transformers after {updates} updates, lower is better: {told}. Both "
        "have the same model, optimizer and batch tokens; where they differ is initialisation and which sentences "
        "share a batch.",
        "",
        *table([*head, "JoeyNMT's parameters", "JoeyNMT's target/s", "ratio"], rows),
    ]


def decoding(found: dict[str, Any]) -> list[str]:
    rates = found["sentences_per_second"]
    mine = rates["transformer"]
    rows = [[name, f"{rate:.1f}", f"{mine / rate:.2f}"] for name, rate in rates.items()]
    return [
        "## Decoding",
        "",
        f"Beam {found['beam_size']}, length penalty {found['length_penalty']}, {found['sentences']:,} sentences; "
        "JoeyNMT and CTranslate2 with the Transformer's weights, all of them after at most 200 updates. "
        f"JoeyNMT's translations are ours in {found['translated_as_joeynmt']:.1%} of the sentences.",
        "",
        *table(["decoder", "sentences/s", "the Transformer's rate over it"], rows),
    ]


def profile(found: dict[str, Any]) -> list[str]:
    kinds = list(dict.fromkeys(kind for shares in found.values() for kind in shares if kind != "seconds_a_step"))
    rows = [[arm, *[f"{shares.get(kind, 0):.0%}" for kind in kinds]] for arm, shares in found.items()]
    told = (
        "By PyTorch's profiler; zeros are tensors that are filled with them, other is what has no name of its own here."
    )
    return ["## Where a training step's time goes (fp32)", "", told, "", *table(["model", *kinds], rows)]


def memory(found: dict[str, Any]) -> list[str]:
    rows = []
    for arm, by in found.items():
        mine, kept = by["ours"], by["logits"]
        # What did not fit takes more than there was.
        most = f"{kept['bytes'] / 2**30:.2f}" if "bytes" in kept else f"over {kept['more_than'] / 2**30:.1f}"
        ratio = f"{'' if 'bytes' in kept else '< '}{mine['bytes'] / kept.get('bytes', kept.get('more_than')):.2f}"
        cells = [f"{mine['targets']:,}", f"{mine['vocabulary']:,}", f"{mine['bytes'] / 2**30:.2f}", most, ratio]
        rows.append([arm, *cells])
    head = ["model", "target tokens", "pieces", "ours, GiB", "all logits kept, GiB", "ratio"]
    told = "Of the forward and the backward pass, over what the process held before; what did not fit took more."
    return ["## Peak memory of a training step", "", told, "", *table(head, rows)]


PARTS = {"train": training, "decode": decoding, "profile": profile, "memory": memory}


def write_page(found: dict[str, Any], path: Path) -> str:
    """Writes and returns it."""
    machine = found["machine"]
    peak, source = machine["peak"]
    told = f"{machine['device']}, {machine['capability']}; peak {peak / 1e9:,.0f} GFLOP/s ({source})."
    lines = ["# On a CPU", "", told, ""]
    for name, part in PARTS.items():
        if name in found:
            lines += part(found[name])
    text = "\n".join(lines).rstrip() + "\n"
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")
    return text

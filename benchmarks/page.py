"""Write the measurements of the CPU benchmark as a page of Markdown."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

from triptych.files import replacing


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a Markdown table, and an empty line."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return [f"| {' | '.join(row)} |" for row in lines] + [""]


def training(found: dict[str, Any]) -> list[str]:
    rows, rates, updates, readings = [], found["rates"], found["updates"], found["readings"]
    turns = max(map(len, readings.values()))
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
                f"{values['flops_per_second'] / found['peaks'][how]:.0%}",
                f"{max(reading['peak_memory_bytes'] for reading in readings[name]) / 2**30:.2f}",
                f"{peer['parameters'] / 1e6:.2f}M" if peer else "",
                f"{peer['tgt_tokens_per_second']:,.0f}" if peer else "",
                f"{ratio(readings[name], readings[f'{arm} joeynmt']):.1f}" if peer else "",
            ]
        )
    head = ["model", "precision", "parameters", "source/s", "target/s", "GFLOP/s", "of peak", "memory, GiB"]
    shares = {
        how: rates[f"lm4mt {how}"]["tokens_per_second"] / rates[f"transformer {how}"]["tokens_per_second"]
        for how in ("32-true", "bf16-mixed")
        if f"lm4mt {how}" in rates
    }
    peaks = " and ".join(f"{peak / 1e9:,.0f} ({how})" for how, peak in found["peaks"].items())
    lm4mt_shares = " and ".join(f"{share:.2f} ({how})" for how, share in shares.items())
    return [
        "## Training",
        "",
        "Text: Multi30k, English to French, 8,000 joint pieces, at most 4,096 padded tokens a batch. Rates count "
        "tokens without padding.",
        "",
        "Models: Transformers of 3 + 3 layers of width 256; RNNs of 2 + 2 LSTM layers of 256 units. JoeyNMT 2.3.0 "
        "trains its own models of these sizes, in fp32. The RNNs of the two frameworks differ a little in parameters.",
        "",
        f"Batches: an update of ours has {rates['transformer 32-true']['tgt_tokens_an_update']:,.0f} target tokens, an "
        f"update of JoeyNMT {rates['transformer joeynmt']['tgt_tokens_an_update']:,.0f}. JoeyNMT's batches mix "
        "sentences of all lengths, so that more of each batch is padding.",
        "",
        f"Figures: medians of {turns} turns of {updates} updates; the first ten updates are not counted. The ratio is "
        "of target tokens a second, the median of each turn's ratio. Memory is the peak of all turns; it grows with "
        "the number of updates. The peak rate is the best that any of these processes measured for products of "
        f"1024 x 1024 matrices, {peaks} GFLOP/s: the machine's speed varies.",
        "",
        *table([*head, "JoeyNMT's parameters", "JoeyNMT's target/s", "ratio"], rows),
        f"LM4MT, 7 layers of width 256, trains on {lm4mt_shares} times as many tokens a second (source and target) as "
        "the encoder-decoder Transformer.",
        "",
    ]


def perplexity(found: dict[str, Any]) -> list[str]:
    perplexities = ", ".join(f"{value:.1f} ({name})" for name, value in found["perplexity"].items())
    return [
        f"Validation perplexity of the Transformers after {found['updates']} updates (lower is better): "
        f"{perplexities}. Both frameworks have the same model, dropout, distribution of initial embeddings, optimizer, "
        "schedule and loss. Each makes its own batches.",
        "",
    ]


def ratio(ours: list[dict[str, float]], theirs: list[dict[str, float]]) -> float:
    """Return the median over turns of our target tokens a second, divided by theirs."""
    key = "tgt_tokens_per_second"
    return statistics.median(one[key] / other[key] for one, other in zip(ours, theirs, strict=True))


def decoding(found: dict[str, Any]) -> list[str]:
    rates = found["sentences_per_second"]
    mine, turns = rates["transformer"], len(found["readings"]["transformer"])
    rows = [[name, f"{rate:.1f}", f"{mine / rate:.2f}"] for name, rate in rates.items()]
    return [
        "## Decoding",
        "",
        f"Setting: {found['sentences']:,} sentences, beam size {found['beam_size']}, length penalty "
        f"{found['length_penalty']}, fp32.",
        "",
        f"Models: ours, after {found['updates']} updates; the Transformer was trained in 32-true, the others in "
        f"{found['precision']}. JoeyNMT and CTranslate2 have the weights of our Transformer. Each decoder has its own "
        "rule for when a beam is finished. JoeyNMT's translation equals ours for "
        f"{found['translated_as_joeynmt']:.1%} of the sentences.",
        "",
        "Batches: ours and CTranslate2's hold sentences of similar lengths; JoeyNMT's hold 64 sentences in the order "
        "of the text.",
        "",
        f"Figures: medians of {turns} turns; a ratio is of two medians. A turn of ours or of CTranslate2 is the median "
        "of three passes over the text, after a few sentences as warm-up. A turn of JoeyNMT is one pass, after 64 "
        "sentences as warm-up.",
        "",
        *table(["decoder", "sentences/s", "our Transformer's rate / this rate"], rows),
    ]


def profile(found: dict[str, Any]) -> list[str]:
    by_arm = found["shares"]
    kinds = list(
        dict.fromkeys(kind for shares in by_arm.values() for kind in shares if kind != "seconds_of_operations")
    )
    rows = [[arm, *[f"{shares.get(kind, 0):.0%}" for kind in kinds]] for arm, shares in by_arm.items()]
    explained = (
        "Shares of the time that operations take themselves, from PyTorch's profiler, in training steps without "
        "Lightning's trainer. Matrix products include those of attention and of the output layer; attention and loss "
        "are the rest of those two. LSTM kernels include their own matrix products. Dropout is its forward pass. Zeros "
        "is filling tensors with zeros. Other is everything else."
    )
    return [
        f"## Where a training step's time goes ({found['precision']})",
        "",
        explained,
        "",
        *table(["model", *kinds], rows),
    ]


def memory(found: dict[str, Any]) -> list[str]:
    rows = []
    for arm, by in found.items():
        mine, kept = by["ours"], by["logits"]
        # A step that did not fit needed more than the memory available.
        most = f"{kept['bytes'] / 2**30:.2f}" if "bytes" in kept else f"over {kept['more_than'] / 2**30:.1f}"
        share = 100 * mine["bytes"] / kept.get("bytes", kept.get("more_than"))
        ratio = f"{share / 100:.2f}" if "bytes" in kept else f"< {math.ceil(share) / 100:.2f}"
        cells = [f"{mine['targets']:,}", f"{mine['vocabulary']:,}", f"{mine['bytes'] / 2**30:.2f}", most, ratio]
        rows.append([arm, *cells])
    head = ["model", "target tokens", "pieces", "ours, GiB", "all logits kept, GiB", "ratio"]
    explained = (
        "Peak memory of one forward and backward pass, less what the process held before it. A step that did not fit "
        'is shown as "over" the memory that was available. LM4MT also has logits for the source tokens.'
    )
    return ["## Peak memory of a training step", "", explained, "", *table(head, rows)]


PARTS = {"train": training, "perplexity": perplexity, "decode": decoding, "profile": profile, "memory": memory}


def write_page(found: dict[str, Any], path: Path) -> str:
    """Write the page to a file and return its text."""
    machine = found["machine"]
    versions = ", ".join(f"{name} {machine['versions'][name]}" for name in ("torch", "ctranslate2"))
    described = f"{machine['processor']}, {machine['device']}, {machine['capability']}; {versions}."
    lines = ["# Speed and memory on a CPU", "", described, ""]
    for name, part in PARTS.items():
        if name in found:
            lines += part(found[name])
    text = "\n".join(lines).rstrip() + "\n"
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")
    return text

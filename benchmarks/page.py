"""The measurements as one page of Markdown."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

from triptych.files import replacing


def table(head: list[str], rows: list[list[str]]) -> list[str]:
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
    told_peaks = " and ".join(f"{peak / 1e9:,.0f} ({how})" for how, peak in found["peaks"].items())
    told_share = " and ".join(f"{share:.2f} ({how})" for how, share in shares.items())
    return [
        "## Training",
        "",
        "Multi30k, English to French, 8,000 joint pieces, 4,096 padded tokens a batch; tokens without padding are "
        "counted. An update of ours has "
        f"{rates['transformer 32-true']['tgt_tokens_an_update']:,.0f} target tokens, and one of JoeyNMT's "
        f"{rates['transformer joeynmt']['tgt_tokens_an_update']:,.0f}: it fills the same batch with sentences of any "
        "length, and so with padding. JoeyNMT 2.3.0 trains in fp32. Transformers of 3 + 3 layers of 256, RNNs of 2 + 2 "
        "LSTM layers of 256, each framework's own, which are not of quite as many parameters. "
        f"Medians of {turns} turns of {updates} updates, the first ten of them apart; the ratio is the median of the "
        "turns' own. Memory is the most that a turn has held: it grows with the updates. The peak is the best rate of "
        f"products of matrices of 1024 that any of these processes has measured, {told_peaks} GFLOP/s: the machine's "
        "speed varies.",
        "",
        *table([*head, "JoeyNMT's parameters", "JoeyNMT's target/s", "ratio"], rows),
        f"LM4MT, 7 layers of 256, trains on {told_share} times the encoder-decoder's source + target tokens a second.",
        "",
    ]


def perplexity(found: dict[str, Any]) -> list[str]:
    told = ", ".join(f"{value:.1f} ({name})" for name, value in found["perplexity"].items())
    return [
        f"Perplexity of the validation text, by the Transformers after {found['updates']} updates, lower is better: "
        f"{told}. Model, dropout, initial embeddings, optimizer, schedule and loss are alike; the batches are those "
        "that either framework makes.",
        "",
    ]


def ratio(ours: list[dict[str, float]], theirs: list[dict[str, float]]) -> float:
    """Of target tokens a second, the median of what each turn says."""
    key = "tgt_tokens_per_second"
    return statistics.median(one[key] / other[key] for one, other in zip(ours, theirs, strict=True))


def decoding(found: dict[str, Any]) -> list[str]:
    rates = found["sentences_per_second"]
    mine, turns = rates["transformer"], len(found["readings"]["transformer"])
    rows = [[name, f"{rate:.1f}", f"{mine / rate:.2f}"] for name, rate in rates.items()]
    return [
        "## Decoding",
        "",
        f"Beam {found['beam_size']}, length penalty {found['length_penalty']}, {found['sentences']:,} sentences, fp32. "
        f"Each model after {found['updates']} updates, the Transformer's in 32-true and the others' in "
        f"{found['precision']}; JoeyNMT and CTranslate2 with the Transformer's weights, each by its own rule for when "
        "a beam is done. "
        f"JoeyNMT's translations are ours in {found['translated_as_joeynmt']:.1%} of the sentences. Each has its own "
        "batches: ours and CTranslate2's are of sentences of similar lengths, and a turn is the median of three passes "
        "over the text, after a few sentences; JoeyNMT's are of 64 sentences as they come, and a turn is one pass, "
        f"after 64 sentences. Medians of {turns} turns; a ratio is of two medians.",
        "",
        *table(["decoder", "sentences/s", "the Transformer's rate over it"], rows),
    ]


def profile(found: dict[str, Any]) -> list[str]:
    by_arm = found["shares"]
    kinds = list(
        dict.fromkeys(kind for shares in by_arm.values() for kind in shares if kind != "seconds_of_operations")
    )
    rows = [[arm, *[f"{shares.get(kind, 0):.0%}" for kind in kinds]] for arm, shares in by_arm.items()]
    told = (
        "By PyTorch's profiler, of steps without a trainer: the time that operations take themselves. Products are "
        "attention's and the output layer's too, so that attention and loss are what else those do; an LSTM's kernels "
        "have their products in them; dropout is its forward pass, and zeros are tensors that are filled with them. "
        "Other is what has no name here."
    )
    return [
        f"## Where a training step's time goes ({found['precision']})",
        "",
        told,
        "",
        *table(["model", *kinds], rows),
    ]


def memory(found: dict[str, Any]) -> list[str]:
    rows = []
    for arm, by in found.items():
        mine, kept = by["ours"], by["logits"]
        # What did not fit takes more than there was.
        most = f"{kept['bytes'] / 2**30:.2f}" if "bytes" in kept else f"over {kept['more_than'] / 2**30:.1f}"
        share = 100 * mine["bytes"] / kept.get("bytes", kept.get("more_than"))
        ratio = f"{share / 100:.2f}" if "bytes" in kept else f"< {math.ceil(share) / 100:.2f}"
        cells = [f"{mine['targets']:,}", f"{mine['vocabulary']:,}", f"{mine['bytes'] / 2**30:.2f}", most, ratio]
        rows.append([arm, *cells])
    head = ["model", "target tokens", "pieces", "ours, GiB", "all logits kept, GiB", "ratio"]
    told = (
        "Of the forward and the backward pass, over what the process held before; what did not fit took more. LM4MT "
        "has logits of the source's tokens too."
    )
    return ["## Peak memory of a training step", "", told, "", *table(head, rows)]


PARTS = {"train": training, "perplexity": perplexity, "decode": decoding, "profile": profile, "memory": memory}


def write_page(found: dict[str, Any], path: Path) -> str:
    """Writes and returns it."""
    machine = found["machine"]
    versions = ", ".join(f"{name} {machine['versions'][name]}" for name in ("torch", "ctranslate2"))
    told = f"{machine['processor']}, {machine['device']}, {machine['capability']}; {versions}."
    lines = ["# On a CPU", "", told, ""]
    for name, part in PARTS.items():
        if name in found:
            lines += part(found[name])
    text = "\n".join(lines).rstrip() + "\n"
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")
    return text

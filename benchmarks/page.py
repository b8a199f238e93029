"""Write the measurements of the CPU benchmark as a page of Markdown."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.ratios import SETTLED, Readings, median, ratio_of
from benchmarks.setting import IN_BF16, processor_of


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a Markdown table, and an empty line."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return [f"| {' | '.join(row)} |" for row in lines] + [""]


def trainings(found: dict[str, Any]) -> dict[str, Any]:
    """Return what was measured of trainings, by arm: each its own models, and those that it took turns with."""
    return {arm: part for arm, part in found["parts"].items() if "models" in part}


def training(found: dict[str, Any]) -> list[str]:
    measured, reached, peaks = trainings(found), flops_per_second(found), _peaks(found)
    # Older measurements lack JoeyNMT as installed.
    installed = (
        ["JoeyNMT's target/s as installed", "ratio as installed"]
        if any("alone" in one for one in measured.values())
        else []
    )
    rows = []
    for name, rate in reached.items():
        arm, precision = name.split()
        part, peer = measured[arm], f"{arm} joeynmt"
        theirs = [""] * (3 + len(installed))
        model, readings = part["models"][name], part["readings"]
        if peer in part["models"]:
            theirs = [
                f"{part['models'][peer]['parameters'] / 1e6:.2f}M",
                f"{median(readings, peer, 'tgt_tokens'):,.0f}",
                str(ratio_of(readings, name, peer, "tgt_tokens")),
                *(_as_installed(part, median(readings, name, "tgt_tokens")) if installed else []),
            ]
        ours = [
            f"{model['parameters'] / 1e6:.2f}M",
            *[f"{median(readings, name, key):,.0f}" for key in ("src_tokens", "tgt_tokens")],
            f"{rate / 1e9:,.0f}",
            f"{rate / peaks[precision]:.0%}",
            f"{model['peak_memory_bytes'] / 2**30:.2f}",
        ]
        rows.append([arm, precision, *ours, *theirs])
    head = ["model", "precision", "parameters", "source/s", "target/s", "GFLOP/s", "of peak", "memory, GiB"]
    turn = next(iter(measured.values()))
    turns = min(len(readings) for part in measured.values() for readings in part["readings"].values())
    shown = " and ".join(f"{peak / 1e9:,.0f} ({precision})" for precision, peak in peaks.items())
    return [
        "## Training",
        "",
        "Text: Multi30k, English to French, 8,000 joint pieces, at most 4,096 padded tokens a batch. Rates count "
        "tokens without padding.",
        "",
        "Models: Transformers of 3 + 3 layers of width 256, LM4MT with 7 layers of that width; RNNs of 2 + 2 LSTM "
        "layers of 256 units. JoeyNMT 2.3.0 trains its own models of these sizes, in fp32. The RNNs of the two "
        "frameworks differ a little in parameters.",
        "",
        *(_batches(measured["transformer"]["readings"]) if "transformer" in measured else []),
        f"Figures: medians of {turns} turns or more. A turn has at least {_counted(turn['least'], 'update')} and "
        f"{_counted(turn['seconds'], 'second')}"
        f"{', after an update that is not timed' if turn['untimed'] else ''}; what is compared took turns, in "
        "processes that stay warm. The ratio is of target tokens a second: the geometric mean of the turns' ratios, "
        "with its 95% interval from a bootstrap over turns. The turns ended when the intervals of all ratios were "
        f"within {SETTLED:.0%} of them, or when there had been enough. The peak rate is the best that any of these "
        f"processes measured for products of 1024 x 1024 matrices, {shown} GFLOP/s: the machine's speed varies.",
        "",
        *(_explain_installed() if installed else []),
        *table([*head, "JoeyNMT's parameters", "JoeyNMT's target/s", "ratio", *installed], rows),
        *(_lm4mt(measured["lm4mt"]) if "lm4mt" in measured else []),
    ]


def _explain_installed() -> list[str]:
    """Return the paragraph on how JoeyNMT was measured."""
    return [
        "JoeyNMT's process keeps freed memory in these turns (`MALLOC_MMAP_MAX_=0`, `MALLOC_TRIM_THRESHOLD_`), as "
        "triptych's does by itself. As installed, it gives memory back at every step and takes it again, which takes "
        "longer still while other processes wait beside it. So its rate as installed is the median of a few turns in "
        "which it trained alone; the last column divides the median of ours by it.",
        "",
    ]


def _as_installed(part: dict[str, Any], ours: float) -> list[str]:
    """Return JoeyNMT's rate where it trained alone, and how many times as fast ours is."""
    theirs = statistics.median(reading["tgt_tokens"] for reading in part["alone"])
    return [f"{theirs:,.0f}", f"{ours / theirs:.2f}"]


def _batches(readings: Readings) -> list[str]:
    ours, theirs = (tokens_an_update(readings, f"transformer {how}") for how in ("32-true", "joeynmt"))
    return [
        f"Batches: an update of ours has {ours:,.0f} target tokens, an update of JoeyNMT {theirs:,.0f}, on average "
        "over an epoch. JoeyNMT's batches mix sentences of all lengths, so that more of each batch is padding.",
        "",
    ]


def _counted(number: float, unit: str) -> str:
    return f"{number:g} {unit}{'' if number == 1 else 's'}"


def flops_per_second(found: dict[str, Any]) -> dict[str, float]:
    """Return the rate that each of our trainings reached, by its arm and precision."""
    return {
        name: model["flops_a_token"] * sum(median(part["readings"], name, f"{side}_tokens") for side in ("src", "tgt"))
        for arm, part in trainings(found).items()
        for name, model in part["models"].items()
        if name.split()[0] == arm and "flops_a_token" in model
    }


def shares_of_peak(found: dict[str, Any]) -> dict[str, float]:
    """Return each rate of ``flops_per_second`` as a share of the peak of products in its precision."""
    peaks = _peaks(found)
    return {name: rate / peaks[name.split()[1]] for name, rate in flops_per_second(found).items()}


def _peaks(found: dict[str, Any]) -> dict[str, float]:
    """Return each precision's peak of products, FLOP/s: the best measured, as others met a slower moment."""
    peaks: dict[str, float] = {}
    for part in trainings(found).values():
        for name, model in part["models"].items():
            if "peak_flops" in model:
                precision = name.split()[1]
                peaks[precision] = max(peaks.get(precision, 0.0), model["peak_flops"])
    return peaks


def tokens_an_update(readings: Readings, name: str) -> float:
    """Return the number of target tokens in a worker's updates: the mean over its turns."""
    return statistics.mean(reading["tgt_tokens"] / reading["updates"] for reading in readings[name])


def _lm4mt(part: dict[str, Any]) -> list[str]:
    shares = " and ".join(
        f"{ratio_of(part['readings'], name, f'transformer {precision}', 'tgt_tokens')} ({precision})"
        for arm, precision, name in ((*name.split(), name) for name in part["models"])
        if arm == "lm4mt"
    )
    return [f"LM4MT trains on {shares} times as many tokens a second as the encoder-decoder Transformer.", ""]


def decoding(found: dict[str, Any]) -> list[str]:
    readings, same = found["readings"], found["same_translations"]
    first = next(iter(readings))
    rows = [
        [name, f"{median(readings, name, 'sentences'):.1f}", str(ratio_of(readings, first, name, "sentences"))]
        for name in readings
    ]
    return [
        "## Decoding",
        "",
        f"Setting: {found['sentences']:,} sentences, beam size {found['beam_size']}, length penalty "
        f"{found['length_penalty']}, fp32{' unless named' if 'bleu_in_bf16' in found else ''}. Ours with "
        f"`search.stop={found['stop']}`, CTranslate2's own rule.",
        "",
        f"Models: ours, after {found['updates']} updates of at most 1,024 padded tokens. Translations of the "
        f"Transformer have {found['bleu']:.1f} BLEU and {found['words']:.1f} words on average; the length limit ended "
        f"{found['cut']:,} of them.",
        "",
        "Agreement: JoeyNMT and CTranslate2 have the weights of our Transformer. CTranslate2's translation equals ours "
        f"for {same['ctranslate2']:.1%} of the sentences, JoeyNMT's for {same['joeynmt']:.1%}. CTranslate2's length "
        "penalty is another power of the length. JoeyNMT allows all sentences of a batch as many pieces as its "
        "longest, CTranslate2 all sentences of a turn.",
        "",
        *(_in_bf16(found) if "bleu_in_bf16" in found else []),
        "Batches: ours and CTranslate2's hold sentences of similar lengths; JoeyNMT's hold up to 64 sentences of all "
        "lengths.",
        "",
        f"Figures: medians of {len(readings[first])} turns, after one as warm-up; a ratio is the geometric mean of the "
        "turns' ratios, with its 95% interval. A turn is half of the text, for JoeyNMT a batch."
        + (
            f" The turns ended when all intervals were within {SETTLED:.0%}, or when there had been enough."
            if "most_turns" in found
            else ""
        ),
        "",
        *table(["decoder", "sentences/s", f"{first}'s rate / this rate"], rows),
    ]


def _in_bf16(found: dict[str, Any]) -> list[str]:
    return [
        f"With weights in bf16 (`precision={IN_BF16}`), our Transformer has {found['bleu_in_bf16']:.2f} BLEU, and in "
        f"fp32 {found['bleu']:.2f}; {found['same_translations'][IN_BF16]:.1%} of the translations are the same.",
        "",
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


def described(machine: dict[str, Any]) -> str:
    """Return a line on a machine and its libraries."""
    versions = ", ".join(f"{name} {machine['versions'][name]}" for name in ("torch", "ctranslate2"))
    return f"{processor_of(machine)}, {machine['device']}, {machine['capability']}; {versions}"


def page(found: dict[str, Any]) -> str:
    """Return the page of Markdown."""
    minutes = f"Measured in {sum(found['minutes'].values()):.0f} minutes."
    lines = ["# Speed on a CPU", "", f"{described(found['machine'])}. {minutes}", ""]
    parts = found["parts"]
    if trainings(found):
        lines += training(found)
    if "decode" in parts:
        lines += decoding(parts["decode"])
    if "profile" in parts:
        lines += profile(parts["profile"])
    return "\n".join(lines).rstrip() + "\n"

"""Figures that the README tells are those that the benchmarks stored."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path

from conftest import ROOT

from benchmarks.page import write_page

ARMS = ("transformer", "rnn_luong", "rnn_luong_feeding", "rnn_bahdanau")


def test_the_readme_has_the_stored_speeds() -> None:
    readme = " ".join((ROOT / "README.md").read_text().split())
    found = json.loads((ROOT / "benchmarks" / "results" / "cpu.json").read_text())
    rates, readings, decoded = found["train"]["rates"], found["train"]["readings"], found["decode"]
    key = "tgt_tokens_per_second"
    for arm in ARMS:
        half, single, theirs = (rates[f"{arm} {how}"][key] for how in ("bf16-mixed", "32-true", "joeynmt"))
        times = [
            statistics.median(
                ours[key] / peers[key]
                for ours, peers in zip(readings[f"{arm} {how}"], readings[f"{arm} joeynmt"], strict=True)
            )
            for how in ("bf16-mixed", "32-true")
        ]
        assert f"| {half:,.0f} | {single:,.0f} | {theirs:,.0f} | {times[0]:.1f} | {times[1]:.1f} |" in readme
    joint, parted = (rates[f"{arm} bf16-mixed"] for arm in ("lm4mt", "transformer"))
    share = joint["tokens_per_second"] / parted["tokens_per_second"]
    flops = [rate["flops_per_second"] / rate["tokens_per_second"] for rate in (joint, parted)]
    assert (
        f"{share:.2f} times the Transformer's tokens a second in bf16, since a token takes {flops[0] / flops[1]:.1f}"
        in readme
    )
    held, theirs = (rates[f"transformer {how}"]["tgt_tokens_an_update"] for how in ("32-true", "joeynmt"))
    assert f"of which ours holds {held:,.0f} target tokens and JoeyNMT's {theirs:,.0f}" in readme
    full, mixed = (
        [rates[f"{arm} {how}"]["flops_per_second"] / found["train"]["peaks"][how] for arm in (*ARMS, "lm4mt")]
        for how in ("32-true", "bf16-mixed")
    )
    assert f"In fp32 training takes {min(full):.0%} to {max(full):.0%} of the best rate of matrix products" in readme
    assert f"in bf16 {min(mixed):.0%} to {max(mixed):.0%}" in readme
    per_second = decoded["sentences_per_second"]
    assert f"decodes {per_second['transformer']:.0f} sentences" in readme
    assert f"JoeyNMT decodes {per_second['joeynmt']:.1f} and CTranslate2 {per_second['ctranslate2']:.0f}" in readme


def test_the_page_is_what_was_stored(tmp_path: Path) -> None:
    results = ROOT / "benchmarks" / "results"
    told = write_page(json.loads((results / "cpu.json").read_text()), tmp_path / "cpu.md")
    assert told == (results / "cpu.md").read_text()


def test_the_readme_has_the_stored_speed_of_preparation() -> None:
    readme = " ".join((ROOT / "README.md").read_text().split())
    found = json.loads((ROOT / "benchmarks" / "results" / "data.json").read_text())
    prepared, planned = found["prepare"], found["plan"]
    rate, held = prepared["pairs_per_minute"] / 1e6, prepared["peak_gib"]
    assert f"{rate:.1f}M pairs a minute are read and encoded, in {held:.1f} GiB" in readme
    told = f"is planned in {planned['seconds']:.0f} s and {planned['peak_gib']:.1f} GiB"
    assert f"an epoch of {found['lengths'] / 1e6:.1f}M {told}" in readme
    assert f"a worker makes batches of {found['load']['tokens_per_second'] / 1e6:.0f}M tokens a second" in readme
    assert f"a tokenizer is trained in {found['prepare']['tokenizer']:.0f} s besides" in readme


def test_the_readme_has_the_stored_memory() -> None:
    readme = " ".join((ROOT / "README.md").read_text().split())
    memory = json.loads((ROOT / "benchmarks" / "results" / "cpu.json").read_text())["memory"]
    assert f"{memory['transformer']['ours']['targets']:,} target tokens" in readme
    bound = math.ceil(100 * memory["lm4mt"]["ours"]["bytes"] / memory["lm4mt"]["logits"]["more_than"])
    shares = {
        arm: memory[arm]["ours"]["bytes"] / memory[arm]["logits"]["bytes"] for arm in ("transformer", "rnn_luong")
    }
    told = f"{shares['rnn_luong']:.0%} (RNN), {shares['transformer']:.0%} (Transformer) and less than {bound}% (LM4MT)"
    assert told in readme

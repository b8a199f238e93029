"""The figures of docs/speed.md are those that the benchmarks stored."""

from __future__ import annotations

import json
import math
import statistics
from typing import Any

import pytest
from conftest import ROOT

from benchmarks import memory, quality
from benchmarks.page import page, shares_of_peak, tokens_an_update
from benchmarks.ratios import median, ratio_of

ARMS = ("transformer", "rnn_luong", "rnn_bahdanau")
AVX2 = "cpu_avx2.json"
WITH_BF16 = {"older": "cpu_avx512_with_bf16.json", "family 26": "cpu_avx512_with_bf16_family_26_model_2.json"}
RESULTS = ROOT / "benchmarks" / "results"


def speed_page() -> str:
    """Return docs/speed.md with every run of white space as one space."""
    return " ".join((ROOT / "docs" / "speed.md").read_text().split())


def stored(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / name).read_text())


def test_the_page_has_the_stored_speeds_of_training() -> None:
    text, parts = speed_page(), stored(AVX2)["parts"]
    for arm in ARMS:
        readings, ours, theirs = parts[arm]["readings"], f"{arm} 32-true", f"{arm} joeynmt"
        rates = [f"{median(readings, name, 'tgt_tokens'):,.0f}" for name in (ours, theirs)]
        assert f"| {rates[0]} | {rates[1]} | {ratio_of(readings, ours, theirs, 'tgt_tokens')} |" in text
    share = ratio_of(parts["lm4mt"]["readings"], "lm4mt 32-true", "transformer 32-true", "tgt_tokens").mean
    assert f"trains on {share:.2f} times the Transformer's tokens per second" in text
    readings = parts["transformer"]["readings"]
    ours, theirs = (f"{tokens_an_update(readings, f'transformer {how}'):,.0f}" for how in ("32-true", "joeynmt"))
    assert f"A batch of triptych holds {ours} target tokens and one of Joey NMT {theirs}" in text


@pytest.mark.parametrize("processor", WITH_BF16)
def test_the_page_has_the_speeds_of_a_processor_with_bf16(processor: str) -> None:
    text, found, precisions = speed_page(), stored(WITH_BF16[processor]), ("bf16-mixed", "32-true")
    for arm in ARMS:
        readings = found["parts"][arm]["readings"]
        rates = [median(readings, f"{arm} {how}", "tgt_tokens") for how in (*precisions, "joeynmt")]
        ratios = [ratio_of(readings, f"{arm} {how}", f"{arm} joeynmt", "tgt_tokens") for how in precisions]
        assert f"| {' | '.join([*(f'{rate:,.0f}' for rate in rates), *map(str, ratios)])} |" in text
        if alone := found["parts"][arm].get("alone"):
            installed = statistics.median(reading["tgt_tokens"] for reading in alone)
            times = [f"{rate / installed:.2f}" for rate in rates[:2]]
            assert f"| {' | '.join([f'{installed:,.0f}', *times])} |" in text
    shares = shares_of_peak(found)
    mixed, full = ([share for name, share in shares.items() if name.endswith(how)] for how in precisions)
    assert f"{min(full):.0%} to {max(full):.0%}" in text
    assert f"in fp32, and {min(mixed):.0%} to {max(mixed):.0%} in bf16" in text


@pytest.mark.parametrize("results", [AVX2, *WITH_BF16.values()])
def test_the_page_has_the_stored_speeds_of_decoding(results: str) -> None:
    text, readings = speed_page(), stored(results)["parts"]["decode"]["readings"]

    def ratio(name: str, base: str) -> str:
        return str(ratio_of(readings, name, base, "sentences"))

    rates = [f"{median(readings, name, 'sentences'):.0f}" for name in ("transformer", "ctranslate2", "joeynmt")]
    ratios = [ratio("transformer", "ctranslate2"), ratio("transformer", "joeynmt"), ratio("lm4mt", "transformer")]
    assert f"| {' | '.join([*rates, *ratios])} |" in text
    if "transformer bf16" in readings:
        rate, how = median(readings, "transformer bf16", "sentences"), ratio("transformer bf16", "transformer")
        assert f"translates {rate:.0f} sentences per second there, {how} times as many as in fp32" in text


def test_full_pages_are_what_was_stored() -> None:
    for path in RESULTS.glob("cpu_*.json"):
        assert page(stored(path.name)) == path.with_suffix(".md").read_text()


def test_the_page_of_memory_is_what_was_stored() -> None:
    assert memory.page(stored("memory.json")) == (RESULTS / "memory.md").read_text()


def test_the_page_has_the_stored_speed_of_preparation() -> None:
    page, found = speed_page(), stored("data.json")
    prepared, planned = found["prepare"], found["plan"]
    rate, memory = prepared["pairs_per_minute"] / 1e6, prepared["peak_gib"]
    assert f"{rate:.1f} million pairs per minute are read and encoded, in {memory:.1f} GiB" in page
    plan = f"is planned in {planned['seconds']:.0f} seconds and {planned['peak_gib']:.1f} GiB"
    assert f"An epoch of {found['lengths'] / 1e6:.1f} million pairs {plan}" in page
    assert f"makes batches of {found['load']['tokens_per_second'] / 1e6:.0f} million tokens per second" in page
    assert f"Training the tokenizer takes {found['prepare']['tokenizer']:.0f} seconds more" in page


def test_the_page_has_the_stored_memory() -> None:
    page, arms = speed_page(), stored("memory.json")["arms"]
    assert f"{arms['transformer']['ours']['targets']:,} target tokens" in page
    bound = math.ceil(100 * arms["lm4mt"]["ours"]["bytes"] / arms["lm4mt"]["logits"]["more_than"])
    shares = {arm: arms[arm]["ours"]["bytes"] / arms[arm]["logits"]["bytes"] for arm in ("transformer", "rnn_luong")}
    luong, transformer = shares["rnn_luong"], shares["transformer"]
    assert f"takes {luong:.0%} (RNN), {transformer:.0%} (Transformer) and less than {bound}% (LM4MT)" in page


def test_the_page_has_the_stored_time_to_quality() -> None:
    paths = list(RESULTS.glob("quality_*.json"))
    assert paths
    for path in paths:
        shown = quality.page(stored(path.name))
        assert shown == path.with_suffix(".md").read_text()
        rows = [line for line in shown.splitlines() if line.startswith("| ")][2:]
        assert len(rows) >= len(quality.GOALS)
        assert all(" ".join(row.split()) in speed_page() for row in rows)


def test_the_page_has_the_stored_cost_of_validation() -> None:
    found = stored("validation_cost.json")["arms"]
    for precision in ("32-true", "bf16-mixed"):
        shares = [found[f"{arm} {precision}"]["share"] for arm in ("transformer", "rnn_luong", "lm4mt")]
        assert "{:.1%} (Transformer), {:.1%} (Luong's RNN) and {:.1%} (LM4MT)".format(*shares) in speed_page()


def test_the_page_has_the_stored_gain_of_arms_side_by_side() -> None:
    found, text = stored("sweeps.json"), speed_page()
    toy, converged = found["toy"], found["multi30k_converged"]
    assert f"took {1 / toy['ratio']:.0%} of the time that they take one after the other at the toy scale" in text
    assert f"and {1 / converged['ratio']:.0%} in bf16 at the scale `multi30k_converged`" in text
    assert f"no sweep can take less than {1 / toy['most']:.0%} and {1 / converged['most']:.0%} of the time" in text


def test_the_page_has_the_stored_cost_of_an_arm() -> None:
    found = stored("overhead.json")["seconds_outside"]
    one, side = (statistics.median(found[way]) for way in ("one after the other", "side by side"))
    text = speed_page()
    assert f"an arm of a sweep takes {one:.2f} seconds" in text
    assert f"and {side:.2f} side by side" in text

"""Figures that the README tells are those that the benchmarks stored."""

from __future__ import annotations

import json

from conftest import ROOT


def test_the_readme_has_the_stored_speeds() -> None:
    readme = (ROOT / "README.md").read_text()
    found = json.loads((ROOT / "benchmarks" / "results" / "cpu.json").read_text())
    rates, decoded, memory = found["train"]["rates"], found["decode"]["sentences_per_second"], found["memory"]
    for arm in ("transformer", "rnn_luong", "rnn_luong_feeding", "rnn_bahdanau"):
        ours, theirs = (rates[f"{arm} {how}"]["tgt_tokens_per_second"] for how in ("32-true", "joeynmt"))
        assert f"| {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.1f} |" in readme
    assert f"decodes {decoded['transformer']:.0f} sentences" in readme
    assert f"JoeyNMT decodes {decoded['joeynmt']:.1f} and CTranslate2 {decoded['ctranslate2']:.0f}" in readme
    shares = [rate["share_of_peak"] for name, rate in rates.items() if name.endswith("32-true")]
    assert f"at {min(shares):.0%}"[:-1] in readme
    assert f"to {max(shares):.0%} of the processor's measured peak" in readme
    assert f"{memory['transformer']['ours']['targets']:,} target tokens" in readme
    bound = memory["lm4mt"]["ours"]["bytes"] / memory["lm4mt"]["logits"]["more_than"]
    assert f"less than {bound:.0%} (LM4MT)" in readme
    for arm in ("transformer", "rnn_luong"):
        assert f"{memory[arm]['ours']['bytes'] / memory[arm]['logits']['bytes']:.0%}" in readme

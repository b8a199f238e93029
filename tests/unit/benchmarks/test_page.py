"""The page of the CPU benchmark, from readings whose figures are known by hand."""

from __future__ import annotations

from typing import Any

from benchmarks.page import page, tokens_an_update
from benchmarks.setting import page_name

MACHINE = {"processor": "P", "device": "cpu", "capability": "AVX512 with bf16"}


def reading(updates: float, tokens: float) -> dict[str, float]:
    return {"updates": updates, "src_tokens": tokens / 2, "tgt_tokens": tokens}


def test_training_has_medians_flops_and_ratios() -> None:
    model = {"parameters": 2e6, "flops_a_token": 2e6, "peak_flops": 6e9, "peak_memory_bytes": 2.0**30}
    turn = {"untimed": 0, "least": 1, "seconds": 4.0}
    readings = {
        "transformer 32-true": [reading(1, 1000), reading(1, 1000), reading(1, 1000)],
        "transformer joeynmt": [reading(2, 200), reading(4, 400), reading(1, 100)],
    }
    beside_lm4mt = {
        "transformer 32-true": [reading(1, 900), reading(1, 900), reading(1, 900)],
        "lm4mt 32-true": [reading(1, 450), reading(1, 450), reading(1, 450)],
    }
    both: dict[str, Any] = {"transformer 32-true": model, "lm4mt 32-true": {**model, "peak_flops": 5e9}}
    parts = {
        "transformer": {
            "models": {"transformer 32-true": model, "transformer joeynmt": {"parameters": 3e6}},
            "readings": readings,
            "alone": [reading(1, 160), reading(1, 100), reading(1, 400)],
            **turn,
        },
        "lm4mt": {"models": both, "readings": beside_lm4mt, **turn},
    }
    here = {**MACHINE, "versions": {"torch": "2", "ctranslate2": "4"}}
    text = page({"machine": here, "minutes": {"transformer": 2.1, "lm4mt": 1.1}, "parts": parts})
    # 1,500 tokens a second of 2e6 FLOPs each are 3 GFLOP/s, half of the best peak; the ratios are 5, 2.5 and 10
    ours = "| transformer | 32-true | 2.00M | 500 | 1,000 | 3 | 50% | 1.00 | 3.00M | 200 | 5.00 ["
    assert ours in text
    assert "] | 160 | 6.25 |" in text, "beside JoeyNMT as installed"
    assert "| lm4mt | 32-true | 2.00M | 225 | 450 | 1 | 22% | 1.00 |  |  |  |" in text
    assert "LM4MT trains on 0.50 [0.50, 0.50] (32-true) times as many tokens" in text
    assert text.count("| transformer | 32-true |") == 1  # its speed beside JoeyNMT, not beside LM4MT
    assert "medians of 3 turns or more. A turn has at least 1 update and 4 seconds;" in text
    assert "Measured in 3 minutes." in text
    assert "an update of ours has 1,000 target tokens, an update of JoeyNMT 100, on average" in text
    assert tokens_an_update(readings, "transformer joeynmt") == 100
    alone = page({"machine": here, "minutes": {}, "parts": {"lm4mt": parts["lm4mt"]}})
    assert "| lm4mt | 32-true |" in alone
    assert "an update of ours" not in alone
    assert "as installed" not in alone


def test_machines_with_other_instructions_have_pages_of_their_own() -> None:
    assert page_name(MACHINE) == "cpu_avx512_with_bf16"
    assert page_name({"capability": "AVX2"}) == "cpu_avx2"
    assert page_name(MACHINE | {"generation": "family 26 model 2"}) == "cpu_avx512_with_bf16_family_26_model_2"

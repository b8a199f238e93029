"""The paragraph on methods: what it says of runs, and that it says nothing that they do not hold."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from made_runs import change, make_run, make_unfinished, scores, spoilt

from triptych.commands.report import main
from triptych.reports.build import report
from triptych.reports.methods import TRIALS


def configure(run: Path, **given: object) -> None:
    path = run / "config.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | given))


def test_the_paragraph_says_what_a_reviewer_asks_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, share, parameters, flops in (("a", 0.1, 2e6, 4e15), ("b", 0.3, 3e6, 6e15)):
        for seed in (1, 2):
            given = f"model={name},seed={seed}-0000000{seed}"
            run = make_run(tmp_path, given, seed=seed, lines=spoilt(share, seed), flops=flops)
            change(run, "model", "parameters", to=parameters)
            configure(
                run,
                budget={"steps": 1200, "epochs": None},
                batch={"tokens": 4096, "accumulate": 1},
                optimizer={"optimizer": {"_target_": "torch.optim.AdamW", "betas": [0.9, 0.98]}, "weight_decay": 0.1},
                checkpoint={"monitor": "loss", "average": 1},
            )
    assert main([str(tmp_path), "--methods"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for sentence in (
        "We compare 2 configurations (a, b), with seeds 1, 2 each.",
        "Data: toy, spm (100 pieces).",
        "1,200 steps, 4,096 padded tokens a batch.",
        "For a given seed, all arms saw the same tokens in the same order.",
        "Translation of toy: 30 sentences, beam 4, length penalty 0.6.",
        "Optimizer: AdamW (betas [0.9, 0.98]), weight decay 0.1.",
        "Checkpoint: the best by validation loss.",
        "a: 2.00 M parameters, 4.00e+15 FLOPs, 90.0 seconds; b: 3.00 M parameters, 6.00e+15 FLOPs",
        TRIALS,
        "toy, BLEU: nrefs:1|case:mixed|eff:no|tok:13a",
        "Primary outcome: validation loss (nats a token), compared with a.",
        "Bonferroni",
        "Equal for all configurations: non-embedding parameters, source tokens (",
        "Not equal: parameters (the largest is 1.50 times the smallest), FLOPs (the largest is 1.50 times",
        "Software: triptych 0.2.0",
    ):
        assert sentence in text, sentence
    assert "params (M)" not in text, "no table"


def test_settings_that_differ_are_said_of_their_arms(tmp_path: Path) -> None:
    for number, name in enumerate("abcdef"):
        run = make_run(tmp_path, f"model={name}-0000000{number}")
        configure(run, optimizer={"weight_decay": 0.2 if name == "f" else 0.1})
    text = report(tmp_path).methods
    assert "Optimizer: 5 configurations: weight decay 0.1; f: weight decay 0.2." in text


def test_one_seed_claims_no_interval(tmp_path: Path) -> None:
    make_run(tmp_path, "a", lines=spoilt(0.1))
    make_run(tmp_path, "b", lines=spoilt(0.3))
    text = report(tmp_path).methods
    assert "with seed 1." in text
    assert "no conclusions about architectures" in text
    assert "Bonferroni" not in text


def test_what_was_not_stored_is_not_said(tmp_path: Path) -> None:
    for name in "ab":
        run = make_run(tmp_path, name)
        change(run, "train", to={})
        change(run, "model", "parameters", to=None)
        change(run, "data", to={"token_stream": "s"})
        change(run, "tokenizer", to={})
    text = report(tmp_path).methods
    assert "Sizes" not in text
    assert "Data" not in text
    assert "None" not in text
    assert "FLOPs" not in text


def test_searches_of_one_training_are_no_trainings(tmp_path: Path) -> None:
    first = make_run(tmp_path, "a", tests={"toy": scores()})
    change(make_run(tmp_path, "b", tests={"toy": scores()}), "weights_of", to=first.name)
    assert "We compare 2 configurations (a, b) from 1 training, with seed 1." in report(tmp_path).methods
    assert "all have the weights of one training" in report(tmp_path).main_tables[0].lead[0]


def test_without_results_there_is_nothing_to_say(tmp_path: Path) -> None:
    make_unfinished(tmp_path, "a")
    assert report(tmp_path).methods == ""

"""`triptych forecast` says what training then counts."""

from __future__ import annotations

import itertools
import json
import platform
import re
import statistics
from collections import Counter
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import compose_train, triptych
from hydra.utils import instantiate
from omegaconf import DictConfig
from torch.utils.flop_counter import FlopCounterMode

from triptych.accounting.flops import training_flops
from triptych.config import schema
from triptych.config.validation import build_without_values
from triptych.contract.batch import Batch
from triptych.contract.vocabulary import Vocabulary
from triptych.data.assumed_lengths import lengths_of_pairs
from triptych.data.assumed_stream import SAMPLE, AssumedStream
from triptych.data.batching import Stream
from triptych.data.store import SPECIAL_TOKENS
from triptych.layers import sequence_layout as packing
from triptych.runs import speed_cache
from triptych.runs.measured_speeds import read_speeds
from triptych.sweeps.forecast import UTILISATION, forecast_arms
from triptych.sweeps.forecast_figures import figures, notes
from triptych.sweeps.measure import measured_speed
from triptych.sweeps.planned import ForecastCache, PlannedTraining, plan_training
from triptych.training.build import build_parts

schema.register()
ARMS = [["model=rnn_luong"], ["model=transformer"], ["model=lm4mt", "loss=decayed"]]
SMOKE = ["scale=smoke", "data.train=300", "tokenizer=char", "budget.steps=6", "validation.every=6"]


@pytest.mark.parametrize(
    "arm", [*(pytest.param(arm, marks=pytest.mark.slow) for arm in ARMS[:2]), ARMS[2]], ids=lambda arm: arm[0]
)
def test_what_is_said_is_what_is_trained(arm: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [*SMOKE, *arm, f"cache={tmp_path / 'cache'}"]
    before = forecast_arms(command)[0]
    assert not before.measured
    assert before.seconds == pytest.approx(before.flops / (UTILISATION * before.peak))
    done = triptych("train", *command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("runs/*/result.json")
    train = json.loads(path.read_text())["train"]
    assert (before.steps, before.tokens, before.flops) == (
        train["steps"],
        train["tokens_src"] + train["tokens_tgt"],
        train["flops"],
    )
    checkpoints = sum(file.stat().st_size for file in path.parent.glob("checkpoints/*.ckpt"))
    assert before.disk == pytest.approx(checkpoints, rel=0.25)
    monkeypatch.setattr("triptych.sweeps.forecast.device_name", lambda _: train["device"])
    after = forecast_arms(command)[0]
    assert after.measured
    assert after.seconds == pytest.approx(train["seconds"], rel=0.05)


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm[0])
def test_flops_are_those_that_pytorch_counts(arm: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a real step, forward and backward, without padding: every pair alone, and in double precision, for which no
    fused kernel hides its products."""
    monkeypatch.setattr(packing, "COLUMNS", 1)
    command = [*SMOKE, *arm, "budget.steps=1", f"cache={tmp_path}"]
    said = forecast_arms(command)[0]
    config = compose_train(*command)
    parts = build_parts(config, instantiate(config.data), None)
    store, model, loss = parts.stores["train"], parts.model.double().train(), parts.loss
    stream = Stream(store.lengths, tokens=config.batch.tokens, seed=config.seed, size=1)
    (window,) = islice(stream.windows(), 1)
    counted = 0
    for row in np.concatenate(window.batches).tolist():
        src, tgt = store.pair(row)
        batch = Batch.from_ids([src.tolist()], [tgt.tolist()])
        with FlopCounterMode(display=False) as counter:
            prediction = model(batch)
            logits = prediction.hidden @ prediction.weight.T
            logits.logsumexp(-1).sum().backward()
        counted += counter.get_total_flops()
    assert loss.autoencode(0.0) in (0.0, 1.0)
    assert said.flops == pytest.approx(counted, rel=0.02)


def test_the_table(tmp_path: Path) -> None:
    arms = ["experiment=decoding", "checkpoint.average=1", "scale=smoke", f"cache={tmp_path}"]
    done = triptych("forecast", *arms, "--device", "H200", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("shared") == 3 * 11
    assert len(re.findall(r" ~\d[\d,.]*\s", done.stdout)) == 1
    assert "1 of 1 times, marked ~, assume 35.0% of a peak of 989 TFLOP/s." in " ".join(done.stdout.split())
    assert not (tmp_path / "runs").exists()
    done = triptych("forecast", *SMOKE, f"cache={tmp_path}", "--measure", "4", cwd=tmp_path)
    assert "1 of 1 times follow from the speed of 4 steps, trained just now." in " ".join(done.stdout.split())
    assert "~" not in done.stdout
    for mistake, said in (
        (["--device", "H1000"], "device H1000 is unknown; choose one of B200, "),
        (["--device", "H100", "--measure", "9"], "--measure trains on this machine"),
        (["--measure", "1"], "--measure 1 is too few"),
        (["--mesure", "9"], "--mesure is no option of forecast; did you mean --measure?"),
        (["--seed", "9"], "--seed is no option of forecast; did you mean seed=…?"),
    ):
        done = triptych("forecast", *SMOKE, *mistake, cwd=tmp_path)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert done.stderr.startswith(f"triptych: {said}")
    done = triptych("forecast", *SMOKE, "--device", "abacus", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("triptych: device abacus is unknown; choose one of B200, ")


def test_without_text(tmp_path: Path) -> None:
    """Tokens, steps and time follow from the budget and the model, and the price from the time."""
    models = "model=transformer,rnn_luong,rnn_bahdanau"
    arms = [models, "scale=paper", f"data.dir={tmp_path}", "strategy.devices=8"]
    found = forecast_arms(arms, "H200", None, 1_000_000)
    for one in found:
        assert one.tokens == pytest.approx(4_370_000_000, rel=1e-4)
        assert one.tokens / one.steps < 8 * 2 * 25_000
        assert one.seconds == pytest.approx(one.flops / (one.utilisation * 989e12 * 8))
        assert 0 < one.validation_seconds + one.translation_seconds < one.seconds
    table = figures(found, price=3.0)
    assert table["price"].sum() == pytest.approx(
        sum(one.seconds + one.validation_seconds + one.translation_seconds for one in found) / 3600 * 8 * 3
    )
    lines = " ".join(notes(found, "H200", None, 1_000_000))
    assert "on 8 H200 GPUs" in lines
    assert "1,000,000 pairs of sentences as long as those of WMT'14 are assumed" in lines
    assert "assume 11.2% to 27.3% of a peak of 989 TFLOP/s, as models of these kinds reached on an H200." in lines


@pytest.mark.slow
def test_assumed_text_is_counted_as_text_is(tmp_path: Path) -> None:
    """A sample of the pairs stands for all."""
    command = ["scale=paper", "budget={epochs: 2, tokens: null}", f"cache={tmp_path}"]
    few, many = (forecast_arms(command, "H200", pairs=count)[0] for count in (SAMPLE, 5 * SAMPLE))
    pieces = np.ceil(1.2 * lengths_of_pairs(5 * SAMPLE)).astype(np.int32)
    whole = Stream(pieces[pieces.max(1) <= 256] + SPECIAL_TOKENS, tokens=25_000, seed=1, size=1)
    assert many.steps == pytest.approx(2 * whole.epoch_steps, rel=0.03)
    assert many.tokens == pytest.approx(2 * int((whole.lengths - 1).sum()), rel=0.01)
    stream = AssumedStream(SAMPLE, algorithm="bpe", longest=256, joined=[1], tokens=25_000, seed=1, size=1)
    tokens, flops = consumption_of_windows(stream, few.steps)
    assert (few.tokens, few.flops) == pytest.approx((tokens, flops), rel=5e-3)


def consumption_of_windows(stream: Stream, steps: int) -> tuple[int, float]:
    """As a training counts, window by window."""
    vocabulary = Vocabulary(32_000, 32_000, True, 4, 5)
    model = build_without_values(compose_train("scale=paper").model, vocabulary)
    tokens, flops = 0, 0.0
    for window in islice(stream.windows(), steps):
        tokens += int(window.tokens.sum())
        lengths = stream.lengths[np.concatenate(window.batches)]
        counts = Counter((src, tgt, True) for src, tgt in lengths.tolist())
        flops += training_flops(model, counts)
    return tokens, flops


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--pairs", "0"], "--pairs 0 is not allowed: give the number of sentence pairs to train on."),
        (["--pairs", "9", "--measure", "9"], "--measure trains on text, and --pairs is for where there is none"),
        (["--price", "-1"], "--price -1 is not allowed: give a number of at least 0."),
        (["--price", "nan"], "--price nan is not allowed"),
        (["--measure", "9", "--speeds", "."], "--speeds . is a folder; give the name of a file."),
        (
            ["--pairs", "9", "strategy=single_gpu"],
            "strategy.accelerator=gpu: no such GPU is here; take strategy=cpu, or",
        ),
        (["--pairs", "9", "data.max_length=1"], "no pair of the assumed text has at most 1 pieces"),
        (["--pairs", "9", "tokenizer=own", "tokenizer.model_file=m"], "--pairs: only its file tells how many pieces"),
    ],
)
def test_what_no_forecast_can_be_made_of(wrong: list[str], said: str, tmp_path: Path) -> None:
    done = triptych("forecast", *SMOKE, f"cache={tmp_path}", *wrong, cwd=tmp_path)
    *twice, line = done.stderr.splitlines()
    assert done.returncode == 2
    assert all("is given more than once" in one for one in twice)
    assert line.startswith(f"triptych: {said}")


@pytest.mark.parametrize(
    ("given", "sentences"),
    [("[]", 0), ("0.02", 200), ("test", 3_000), ("[a,b]", 6_000), ("[[a,b],c]", 6_000)],
)
def test_test_sets_that_are_not_at_hand(given: str, sentences: int, tmp_path: Path) -> None:
    config = compose_train("scale=paper", f"data.test={given}", f"data.dir={tmp_path}")
    assert plan_training(config, None, 10_000, ForecastCache()).test == sentences


def test_joined_text_has_as_many_validation_lines_and_a_test_set_of_each_length(tmp_path: Path) -> None:
    given = ["scale=paper", f"data.dir={tmp_path}", "data.validation=200", "data.test=300", "data.max_length=null"]
    planned = plan_training(compose_train(*given, "data.join=[1,3]"), None, 10_000, ForecastCache())
    assert (planned.validation, planned.test) == (200 / 2, 2 * 300 / 2)


def test_joined_lines_are_fewer_pairs(tmp_path: Path) -> None:
    plain, joined = (
        plan_training(compose_train("scale=paper", *more), None, SAMPLE, ForecastCache()).stream
        for more in ([], ["data.join=[1,2,3,4]", "data.max_length=null"])
    )
    assert joined.epoch_steps == pytest.approx(plain.epoch_steps, rel=0.05)


def test_arms_that_differ_in_text_alone_are_not_one_training(tmp_path: Path) -> None:
    found = forecast_arms(["scale=paper", "data.dir=one,two"], "H200", None, 10_000)
    assert not figures(found)["shared"].any()


def test_arms_of_one_training_are_planned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = []

    def counted(config: DictConfig, *others: Any) -> PlannedTraining:
        planned.append(config.seed)
        return plan_training(config, *others)

    monkeypatch.setattr("triptych.sweeps.forecast.plan_training", counted)
    arms = ["search.beam_size=2,5", "seed=1,2"]
    found = forecast_arms(
        ["scale=paper", "search.length_penalty=0", f"data.dir={tmp_path}", *arms], "H200", pairs=SAMPLE
    )
    assert planned == [1, 2]
    assert [one.overrides[-2:] for one in found] == [
        (f"search.beam_size={size}", f"seed={seed}") for size in (2, 5) for seed in (1, 2)
    ]
    assert found[0].training == found[2].training != found[1].training == found[3].training
    assert found[2].translation_seconds == pytest.approx(found[0].translation_seconds * 5 / 2)


def test_the_last_step_validates_and_a_run_without_test_sets_tunes_its_penalty(tmp_path: Path) -> None:
    steps = ["scale=paper", "budget.tokens=null", "budget.steps=30", "test=false", f"data.dir={tmp_path}"]
    found = forecast_arms([*steps, "validation.every=20,15"], "H200", pairs=SAMPLE)
    assert found[0].validation_seconds == found[1].validation_seconds
    given, tuned = forecast_arms([*steps, "search.length_penalty=0.6,tuned"], "H200", pairs=SAMPLE)
    assert given.translation_seconds == 0 < tuned.translation_seconds


def test_a_speed_is_that_of_a_device_or_of_its_kind(tmp_path: Path) -> None:
    config = compose_train("scale=smoke", f"cache={tmp_path}")
    for name, speed in (("NVIDIA H100 MIG 1g.10gb", 1.0), ("NVIDIA RTX A1000", 2.0), ("NVIDIA H100 PCIe", 3.0)):
        speed_cache.record(config, "print", name, speed)
    known = {
        name: speed_cache.known(config, "print", name) for name in ("H100 PCIe", "NVIDIA H100 MIG 1g.10gb", "A100")
    }
    assert known == {"H100 PCIe": 3.0, "NVIDIA H100 MIG 1g.10gb": 1.0, "A100": None}


@pytest.mark.slow
def test_times_are_for_the_threads_of_arms_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three threads each of six cores: the speed of a sweep side by side is found, and that of other threads is not."""
    monkeypatch.setattr("triptych.sweeps.forecast.available_cores", lambda: 6)
    before = torch.get_num_threads()
    command = [*SMOKE, f"cache={tmp_path}"]
    config = compose_train(*command)
    speed_cache.record(config, instantiate(config.data).fingerprint, f"cpu {platform.machine()}, 3 threads", 1000.0)
    beside = forecast_arms([*command, "seed=1,2", "jobs=2"])
    assert torch.get_num_threads() == before
    assert [(one.jobs, one.measured, one.device[-9:]) for one in beside] == [(2, True, "3 threads")] * 2
    assert all(one.seconds == one.tokens / 1000 for one in beside)
    assert any("the sum divided by 2" in line for line in notes(beside, None, None))
    for alone in (["seed=1,2", "jobs=1"], ["search.beam_size=2,3", "jobs=2"], ["seed=1"]):
        found = forecast_arms([*command, *alone])
        assert all((one.jobs, one.measured) == (1, False) for one in found), "each trains with all threads"
        assert not any("divided" in line for line in notes(found, None, None))


@pytest.mark.parametrize(("lines", "steady"), [([1.0, 8.0, 9.0, 10.0], 9.0), ([1.0, None, 7.0], 7.0), ([1.0], 5.0)])
def test_a_steady_speed_leaves_out_where_compilers_work(lines: list[float | None], steady: float) -> None:
    assert speed_cache.steady(pd.DataFrame({"train/tokens_per_second": lines}), 5.0) == steady
    assert speed_cache.steady(pd.DataFrame(), 5.0) == 5.0


def test_a_measured_speed_is_of_whole_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on by a second a reading: as many tokens a second as a step has."""
    command = [*SMOKE, "batch.accumulate=2", f"cache={tmp_path}"]
    config = compose_train(*command)
    parts = build_parts(config, instantiate(config.data), None)
    monkeypatch.setattr("triptych.sweeps.measure.time", SimpleNamespace(perf_counter=itertools.count().__next__))
    found = measured_speed(config, parts, 4)
    steps = [int(window.tokens.sum()) for window in islice(parts.data.stream.windows(), 4)]
    assert found == statistics.median(steps[1:])


def test_speeds_of_arms_alone_are_kept_for_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [
        "forecast",
        *SMOKE,
        f"cache={tmp_path / 'cache'}",
        "model=rnn_luong,lm4mt",
        "--speeds",
        "new/speeds.json",
    ]
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("triptych.sweeps.arm_speeds.CoreWatch.busy_cores", lambda watch: 0)
    done = triptych(*command, "-m", "--measure", "4", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = read_speeds(tmp_path / "new")
    assert found is not None
    assert list(found.arms) == ["rnn_luong", "lm4mt"], "as reports call them"
    assert (found.steps, found.precision) == (4, "32-true")
    shown = {line.split()[0]: line.split() for line in done.stdout.splitlines() if "=" in line}
    for name, speed in found.arms.items():
        (line,) = (cells for label, cells in shown.items() if label.endswith(name))
        assert line[-1] == f"{speed.tokens_per_second:,.0f}"
        assert line[1] == f"{speed.parameters / 1e6:.2f}"
    done = triptych(*command, cwd=tmp_path)
    assert done.stderr == "triptych: --speeds keeps what was measured here; add --measure 60.\n"
    monkeypatch.setattr("triptych.sweeps.arm_speeds.CoreWatch.busy_cores", lambda watch: 1)
    done = triptych(*command, "--measure", "4", cwd=tmp_path)
    assert done.returncode == 2
    assert "other programs keep 1 of its cores busy; wait until they have ended" in " ".join(done.stderr.split())

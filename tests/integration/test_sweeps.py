"""A sweep survives: kills, failures, a second start; arms that share their weights are trained once."""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import triptych, triptych_process

from triptych.commands.train import main
from triptych.config import schema
from triptych.config.composition import RunConfig, arms_of
from triptych.errors import UserError
from triptych.runs.folder import RunFolder, find_trained
from triptych.runs.locks import run_lock
from triptych.sweeps import arms as sweeps
from triptych.sweeps.sweep import Sweep

TINY = [
    *("scale=smoke", "budget.steps=6", "validation.every=3", "cache=../cache"),
    *("data.train=300", "data.test=3", "data.test_long=3", "tokenizer=char"),
]
ARMS = ["model=rnn_luong,transformer,lm4mt", "seed=1,2"]
FEWER = ["model=rnn_luong,lm4mt", "seed=1"]
"""Two of them, for starts of several processes."""


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Sums are rounded otherwise with more threads, and figures are compared to the last digit."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sweeps of one module share a cache."""
    return tmp_path_factory.mktemp("sweeps")


def place(home: Path, name: str) -> Path:
    folder = home / name
    folder.mkdir()
    return folder


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "triptych", "train", "-m", *TINY, "jobs=1", *arguments],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def arms_in(folder: Path) -> list[sweeps.Arm]:
    return sweeps.read_arms(folder / "runs")


def figures(folder: Path) -> dict[str, Any]:
    """What every run came to, but for what depends on the clock."""
    found = {}
    for path in folder.glob("runs/*/result.json"):
        result = json.loads(path.read_text())
        for scores in result["test"].values():
            scores.pop("seconds")
        kept = ("steps", "tokens_src", "tokens_tgt", "flops")
        train = {key: result["train"][key] for key in kept}
        found[result["config_hash"]] = [result["test"], result["validation"], result["data"], train]
    return found


@pytest.fixture(scope="module")
def whole(home: Path) -> dict[str, Any]:
    folder = place(home, "whole")
    done = triptych("train", "-m", *TINY, *ARMS, cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "sweep: 6 arms, each of 6 steps, precision 32-true"
    assert lines[-1] == "6 of 6 arms are finished: runs"
    starts = [line.partition(" (sweep: ") for line in lines if line.startswith("arm ")]
    assert [title for title, *_ in starts] == [
        f"arm {place} of 6: model={model} seed={seed}"
        for place, (model, seed) in enumerate(product(("rnn_luong", "transformer", "lm4mt"), (1, 2)), 1)
    ]
    assert [left for *_, left in starts] == ["", *["less than a minute left)"] * 5]
    assert sum(line.startswith(("train: ", "tokenizer: ")) for line in lines) == 2
    return figures(folder)


@pytest.mark.slow
@pytest.mark.usefixtures("whole")
def test_seeds_of_a_sweep_are_one_row(home: Path) -> None:
    done = triptych("report", str(home / "whole" / "runs"), cwd=home)
    assert done.returncode == 0, done.stderr
    with (home / "whole" / "runs" / "report.csv").open() as file:
        rows = [(row["label"], row["seeds"]) for row in csv.DictReader(file)]
    assert rows == [("rnn_luong", "2"), ("transformer", "2"), ("lm4mt", "2")]


@pytest.mark.slow
@pytest.mark.usefixtures("whole")
def test_sweeps_do_not_mix(home: Path) -> None:
    done = triptych("train", "-m", "experiment=schedule", *TINY, "output=whole/runs", cwd=home)
    assert done.returncode == 2
    assert done.stderr.startswith("triptych: whole/runs already has a sweep, of no study; give this one an output=")


def test_a_mistake_in_one_arm_is_told_before_any_begins(tmp_path: Path) -> None:
    done = triptych("train", "-m", "model=transformer,lm4nt", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("triptych: model=lm4nt is unknown; choose one of ")
    done = triptych("train", "-m", "model=transformer", "budget.steps=5,0", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "triptych: model=transformer budget.steps=0: budget.steps=0 must be an integer of at least 1.\n",
    )
    done = triptych("train", "-m", "model=lm4mt,transformer", "model.num_heads=4,5", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stderr.startswith("triptych: model=lm4mt model.num_heads=5: model.d_model=96 is not")
    done = triptych("train", "-m", "model=transformer,lm4mt", "budget.flops=1e9", cwd=tmp_path)
    assert done.stderr.startswith("triptych: budget has steps and flops; give exactly one")
    assert not list(tmp_path.glob("runs/arms/*"))


@pytest.mark.slow
def test_a_failure_before_the_beginning_is_told_but_of_a_finished_arm(home: Path) -> None:
    folder = place(home, "held")
    again = ["scale=smoke", "data=text", "data.dir=/no/where", "data.train=train", "data.src=en", "data.tgt=fr"]
    (arm,) = sweeps.plan_arms(folder / "runs", None, [again])
    for status, then in (("running", "failed"), ("finished", "finished"), ("waiting", "failed")):
        sweeps.set_status(folder / "runs", arm, status)
        assert len(arms_in(folder)) == 1
        done = triptych("train", "-m", *again, cwd=folder)
        assert "/no/where" in done.stderr
        assert sweeps.current(folder / "runs", arm).status == then
        assert "cut off" not in done.stderr


def test_a_sweep_into_a_run_is_refused(home: Path) -> None:
    folder = place(home, "inside")
    (folder / "runs" / "mine").mkdir(parents=True)
    (folder / "runs" / "mine" / "run.json").write_text("{}")
    done = triptych("train", "-m", *TINY, "budget.steps=3,4", "output=runs/mine", cwd=folder)
    assert done.returncode == 2
    assert "output=runs/mine is a run's own folder; give the sweep another one." in done.stderr


@pytest.mark.slow
def test_what_a_killed_process_has_left_is_removed(home: Path) -> None:
    folder = place(home, "left")
    command = ["train", *TINY, "budget.steps=3"]
    assert triptych(*command, cwd=folder).returncode == 0
    (result,) = folder.glob("runs/*/result.json")
    half = result.parent.parent / f".{result.parent.name}.0123abcd"
    shutil.copytree(result.parent, half)
    lost = result.parent / "checkpoints" / ".last.ckpt.0123abcd"
    lost.write_bytes(b"half")
    result.unlink()
    assert (
        find_trained(RunFolder(result.parent), json.loads((half / "result.json").read_text())["training_hash"]) is None
    ), "a hidden copy is no run"
    assert triptych(*command, cwd=folder).returncode == 0
    assert not half.exists()
    assert not lost.exists()
    assert result.exists()


@pytest.mark.slow
def test_a_sweep_that_is_killed_five_times_ends_as_a_whole_one(home: Path) -> None:
    longer = [*ARMS, "budget.steps=12", "output=runs"]  # as long as five kills need
    assert triptych("train", "-m", *TINY, *longer, cwd=place(home, "unkilled")).returncode == 0
    folder, chance, cut_off = place(home, "killed"), random.Random(0), 0
    for _ in range(5):
        process = start(folder, *longer)
        while process.poll() is None and not any(arm.status == "running" for arm in arms_in(folder)):
            time.sleep(0.05)
        time.sleep(chance.uniform(0, 2))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        cut_off += any(arm.status == "running" for arm in arms_in(folder))
    assert cut_off, "no arm was under way when it was killed"
    process = start(folder, *longer)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert figures(folder) == figures(home / "unkilled")
    assert {arm.status for arm in sweeps.read_arms(folder / "runs")} == {"finished"}


@pytest.mark.slow
def test_of_two_starts_each_arm_is_trained_once(home: Path, whole: dict[str, Any]) -> None:
    folder = place(home, "twice")
    both = [start(folder, *FEWER) for _ in range(2)]
    said = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    trained = [line for text in said for line in text.splitlines() if line.startswith("run: ")]
    assert len(trained) == len(set(trained)) == 2
    assert figures(folder).items() <= whole.items()


@pytest.mark.slow
def test_arms_side_by_side(home: Path, whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in a process of its own: as if one had run after the other."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    folder = place(home, "beside")
    done = triptych("train", "-m", *TINY, *FEWER, "jobs=2", "logger=tensorboard", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(figures(folder)) == 2
    assert figures(folder).items() <= whole.items()
    results = {path.parent.name: json.loads(path.read_text()) for path in folder.glob("runs/*/result.json")}
    assert {name: result["train"]["threads"] for name, result in results.items()} == {"rnn_luong": 1, "lm4mt": 1}
    lines = done.stdout.splitlines()
    for label in results:
        own = [line.removeprefix(f"{label} | ") for line in lines if line.startswith(f"{label} | ")]
        number = ["rnn_luong", "lm4mt"].index(label) + 1
        assert own[0] == f"arm {number} of 2: model={label}, 1 thread"
        assert [line.split(":")[0] for line in own if line.startswith("step ")] == ["step 3/6", "step 6/6"]
        assert own[-1] == f"result: runs/{label}/result.json"
    assert lines.count("train: 300 pairs made") == 1
    assert [arm.label for arm in arms_in(folder)] == ["rnn_luong", "lm4mt"]
    again = triptych("train", "-m", *TINY, *FEWER, "jobs=2", cwd=folder)
    assert again.stdout.splitlines() == [
        *(f"finished before: runs/{label}" for label in ("rnn_luong", "lm4mt")),
        "2 of 2 arms are finished: runs",
    ], "no process starts for them"
    late = triptych("train", "-m", *TINY, *FEWER, "jobs=2", "logger=wandb", cwd=folder)
    assert late.stdout == again.stdout
    assert late.stderr.count("no effect on a finished run, which is kept as it is: logger=wandb.") == 1


@pytest.mark.slow
def test_arms_side_by_side_by_a_launcher_of_hydra(home: Path, whole: dict[str, Any]) -> None:
    folder = place(home, "joblib")
    launcher = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    done = triptych_process("train", "-m", *TINY, *FEWER, *launcher, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(figures(folder)) == 2
    assert figures(folder).items() <= whole.items()


def test_a_failed_arm_is_named_and_tried_again(home: Path) -> None:
    folder = place(home, "failing")
    command = ["train", "-m", *TINY, "data.max_length=1,200", "budget.steps=3"]
    done = triptych(*command, cwd=folder)
    assert done.returncode == 2
    assert "1 of 2 arms are finished: runs" in done.stdout
    *_, failed, again = done.stderr.splitlines()
    assert "data.max_length=1" in failed
    assert failed.endswith("leave no training pair; raise them.")
    assert again.startswith("triptych: 1 of 2 arms failed; again: triptych train -m scale=smoke")
    arms = sweeps.read_arms(folder / "runs")
    assert [arm.status for arm in arms] == ["failed", "finished"]
    assert arms[0].reason is not None
    assert arms[1].run is not None
    assert (folder / "runs" / arms[1].run / "result.json").exists()
    assert "failed: " in triptych(*command, cwd=folder).stderr
    done = triptych("train", "-m", *TINY, "data.max_length=199,200", "budget.steps=3", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert {arm.overrides[-1]: arm.status for arm in sweeps.read_arms(folder / "runs")} == {
        "data.max_length=1": "left out",
        "data.max_length=199": "finished",
        "data.max_length=200": "finished",
    }
    done = triptych("report", "runs", cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if "data.max_length=" in line]
    assert not any("(failed)" in row for row in rows), "a mistake that was corrected"
    assert "data.max_length=1 failed before it began, and a later sweep left it out" in " ".join(done.stdout.split())
    done = triptych(*command, cwd=folder)
    assert done.returncode == 2
    assert [arm.status for arm in sweeps.read_arms(folder / "runs")] == ["failed", "finished", "finished"]


@pytest.mark.slow
def test_weights_that_are_shared_are_trained_once(home: Path) -> None:
    folder = place(home, "shared")
    often = [*TINY, "validation.every=2", "checkpoint.keep=3"]
    done = triptych("train", "-m", *often, "checkpoint.average=1,3", "search.beam_size=1,2", cwd=folder)
    assert done.returncode == 0, done.stderr
    results = [json.loads(path.read_text()) for path in folder.glob("runs/*/result.json")]
    assert len({result["config_hash"] for result in results}) == 4
    assert len({result["training_hash"] for result in results}) == 1
    assert sum("weights_of" in result for result in results) == 3
    alone = triptych("train", *often, "checkpoint.average=3", "search.beam_size=2", cwd=folder)
    assert "finished before" in alone.stdout
    (shared,) = (path for path in folder.glob("runs/*/result.json") if path.parent.name in alone.stdout)
    before = json.loads(shared.read_text())
    shared.unlink()
    triptych("train", *often, "checkpoint.average=3", "search.beam_size=2", cwd=folder)
    scored = json.loads(shared.read_text())
    assert all(scored[key] == before[key] for key in ("run", "config_hash", "weights_of", "validation"))
    again = place(home, "alone")
    triptych("train", *often, "checkpoint.average=3", "search.beam_size=2", cwd=again)
    (one,) = figures(again).values()
    assert one in figures(folder).values()


@pytest.mark.slow
def test_weights_are_shared_though_their_own_arm_could_not_be_scored(home: Path) -> None:
    folder = place(home, "unscored")
    assert triptych("train", *TINY, cwd=folder).returncode == 0
    (result,) = folder.glob("runs/*/result.json")
    result.unlink()
    done = triptych("train", *TINY, "search.beam_size=2", cwd=folder)
    assert f"weights of {result.parent.relative_to(folder)}" in done.stdout
    done = triptych("train", *TINY, cwd=folder)
    assert "going on from step 6" in done.stdout, "it is translated, and not trained, again"
    assert result.exists()


@pytest.mark.slow
def test_what_match_solves_for_is_trained_and_shared(home: Path) -> None:
    folder = place(home, "match")
    done = triptych("train", "-m", *TINY, "match=parameters", "model=rnn_luong", "search.beam_size=1,2", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "match: hidden_size=" in done.stdout
    ours = [json.loads(path.read_text())["model"] for path in folder.glob("runs/*/result.json")]
    triptych("train", *TINY, "output=other", cwd=folder)
    (path,) = folder.glob("other/*/result.json")
    theirs = json.loads(path.read_text())["model"]["parameters_non_embedding"]
    assert len(ours) == 2
    assert all(abs(model["parameters_non_embedding"] / theirs - 1) <= 0.02 for model in ours)


def test_one_study_a_sweep(tmp_path: Path) -> None:
    done = triptych("train", "-m", "experiment=schedule,positions", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "triptych: experiment=schedule,positions names several studies; start a sweep for each of them.\n",
    )


def test_a_run_in_hand_is_left_alone(home: Path) -> None:
    folder = place(home, "busy")
    assert triptych("train", *TINY, "budget.steps=3", cwd=folder).returncode == 0
    (result,) = folder.glob("runs/*/result.json")
    result.unlink()
    with run_lock(folder / "runs" / "any", json.loads((result.parent / "run.json").read_text())["config_hash"]):
        done = triptych("train", *TINY, "budget.steps=3", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("triptych: another process trains runs/")


def test_arms_of_a_command_line() -> None:
    schema.register()
    assert arms_of("train", ["model=lm4mt"]) is None
    found = arms_of("train", ["experiment=architectures", "scale=smoke", "seed=1,2"])
    assert found is not None
    assert found[0].study.name == "architectures"
    models = ["rnn_none", "rnn_bahdanau", "rnn_luong", "transformer", "lm4mt"]
    assert [arm[0] for arm in found[1]][::2] == [f"model={name}" for name in models]
    found = arms_of("train", ["-m", "model=lm4mt,transformer"])
    assert found is not None
    assert len(found[1]) == 2


@pytest.mark.slow
def test_an_arm_that_kills_its_process_comes_last(home: Path) -> None:
    folder = place(home, "killer")
    command = ["model=transformer,lm4mt", "budget.steps=3", "jobs=1"]
    (folder / "killer.py").write_text(
        "import os, signal, sys\n"
        "from triptych.commands import cli\n"
        "from triptych.training import fitting\n"
        "fit = fitting.fit\n"
        "def dying(plan, *rest):\n"
        "    if plan.run_config.choices['model'] == 'transformer':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return fit(plan, *rest)\n"
        "fitting.fit = dying\n"
        "sys.exit(cli.main())\n"
    )
    for starts in (1, 3):
        done = subprocess.run([sys.executable, "killer.py", "train", "-m", *TINY, *command], cwd=folder, check=False)
        assert done.returncode == -signal.SIGKILL
        killer, other = sweeps.read_arms(folder / "runs")
        assert (killer.status, killer.cut_off) == ("running", starts)
        assert other.status == ("finished" if starts == 3 else "waiting")
        sweeps.set_status(folder / "runs", killer, "running")  # as the second start of a killed one leaves it
    done = triptych("train", "-m", *TINY, *command, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert {(arm.status, arm.cut_off) for arm in sweeps.read_arms(folder / "runs")} == {("finished", 0)}


@pytest.mark.slow
def test_a_sweep_that_is_stopped_says_how_it_goes_on(home: Path) -> None:
    folder = place(home, "stopped")
    process = start(folder, "model=transformer,lm4mt", "budget.steps=3000", "jobs=2")
    while process.poll() is None and len(list(folder.glob("runs/*/metrics/*/metrics.csv"))) < 2:  # both are under way
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[0]
    assert process.returncode == 128 + signal.SIGTERM
    for label in ("transformer", "lm4mt"):
        assert f"{label} | stopped; the same command goes on from step " in said
        assert (folder / "runs" / label / "checkpoints" / "last.ckpt").exists()
    assert "stopped; the same command goes on where the arms have stopped." in said
    assert [(arm.status, arm.cut_off) for arm in arms_in(folder)] == [("waiting", 0), ("waiting", 0)]


def test_a_launcher_that_breaks_off_leaves_no_arm_unnamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a worker died")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("triptych.sweeps.sweep.launch", broken)
    assert main(["-m", "model=transformer,lm4mt", "hydra/launcher=joblib"]) == 2
    said = capsys.readouterr()
    assert "0 of 2 arms are finished: runs" in said.out
    assert said.err.splitlines() == [
        "triptych: the launcher broke off: a worker died",
        "triptych: the launcher broke off: a worker died",
        "triptych: model=transformer; model=lm4mt: not run",
        "triptych: 2 not finished; again: triptych train -m model=transformer,lm4mt hydra/launcher=joblib",
    ]


def test_an_error_that_is_no_arms_own_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: list[str] = []

    def broken(run_config: RunConfig, **_: object) -> None:
        begun.append(run_config.choices["model"])
        raise (
            RuntimeError("a defect") if begun[-1] == "transformer" else UserError("no room for the sweep's own files.")
        )

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("triptych.sweeps.sweep.run_arm", broken)
    with pytest.raises(UserError, match="no room for the sweep's own files"):
        main(["-m", "model=transformer,lm4mt,rnn_none", "jobs=1"])
    assert begun == ["transformer", "lm4mt", "rnn_none"]
    assert "RuntimeError: a defect" in capsys.readouterr().err


def test_arms_of_an_earlier_sweep_are_mentioned(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def plan(models: str) -> str:
        overrides = [f"model={models}", *TINY, f"output={tmp_path}"]
        found = arms_of("train", [*overrides, "-m"])
        assert found is not None
        caplog.clear()
        with caplog.at_level("INFO", "triptych"):
            Sweep(overrides, *found)
        return caplog.text

    assert "earlier sweeps" not in plan("lm4mt,transformer")
    assert "earlier sweeps" not in plan("lm4mt,transformer")
    assert ": 1; a report shows them too" in plan("transformer,rnn_luong")
    assert ": 2; a report shows them too" in plan("lm4mt,lm4mt"), "an arm that is named twice counts once"


def test_arms_keep_their_places(tmp_path: Path) -> None:
    first = sweeps.plan_arms(tmp_path, "s", [["a=1", "output=x", "data.dir=/far"], ["a=2"]])
    assert [(arm.place, arm.overrides) for arm in first] == [(1, ("a=1", "data.dir=far")), (2, ("a=2",))]
    sweeps.set_status(tmp_path, first[1], "failed", reason="no")
    assert len({sweeps.identify([f"data.dir={place}"]) for place in ("/near", "/far")}) == 2
    second = sweeps.plan_arms(tmp_path, "s", [["a=3"], ["a=2"], ["data.dir=/far", "a=1"]])
    assert [(arm.place, arm.status) for arm in second] == [(3, "waiting"), (2, "failed"), (1, "waiting")]
    assert [arm.place for arm in sweeps.read_arms(tmp_path)] == [1, 2, 3]
    (tmp_path / "arms" / "009-broken.json").write_text("{}")
    with pytest.raises(UserError, match=r"009-broken.json cannot be read"):
        sweeps.read_arms(tmp_path)

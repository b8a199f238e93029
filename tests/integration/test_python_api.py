"""The Python API: several times in one process, in a thread, in a notebook, within a program that uses Hydra itself."""

from __future__ import annotations

import logging
import shutil
import sys
import threading
from pathlib import Path

import hydra
import pytest
import torch
from conftest import ROOT
from conftest import triptych as triptych_command
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

import triptych
from triptych.config.search_path import conf_dir
from triptych.errors import UserError
from triptych.runs import translators

TINY = ["scale=smoke", "budget.steps=2", "validation.every=2", "data.train=100", "tokenizer=char", "model=rnn_none"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Overrides that share a cache and an output."""
    folder = tmp_path_factory.mktemp("api")
    return [f"cache={folder / 'cache'}", f"output={folder / 'runs'}"]


@pytest.fixture(scope="module")
def run(place: list[str]) -> triptych.Run:
    return triptych.train(*TINY, *place, "name=first")


def test_a_run_and_what_it_gives(run: triptych.Run) -> None:
    assert run.folder.name == "first"
    assert run.result["train"]["steps"] == 2
    assert "stopped_early" not in run.result
    assert "validation/loss" in run.metrics
    assert len(run.translate(["The dog sleeps.", ""])) == 2
    assert run.score(["The dog sleeps."], ["Le chien dort."])[0] < 0
    assert OmegaConf.to_container(run.config, resolve=True)["model"] is not None  # type: ignore[index,call-overload]


def test_the_second_time_it_is_loaded(
    run: triptych.Run, place: list[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, argv = (run.folder / "result.json").stat().st_mtime_ns, sys.argv
    caplog.set_level(logging.INFO, "triptych")
    monkeypatch.setattr(logging.getLogger("triptych"), "propagate", True)
    assert triptych.train(*TINY, *place, "name=another").folder == run.folder
    assert (run.folder / "result.json").stat().st_mtime_ns == before
    assert len({message for message in caplog.messages if "finished before" in message}) == 1
    assert caplog.messages[-1] == "no effect on a finished run, which is kept as it is: name=another."
    assert sys.argv is argv


def test_sweep_forecast_and_report(run: triptych.Run, place: list[str], tmp_path: Path) -> None:
    output = f"output={tmp_path / 'sweep'}"
    arms = [*TINY, *place, "seed=1,2", output]
    assert len(triptych.forecast(*arms)) == 2
    for _ in range(2):
        assert [one.config.seed for one in triptych.sweep(*arms)] == [1, 2]
    assert {path.name for path in (tmp_path / "sweep").glob("seed_*")} == {"seed_1", "seed_2"}
    assert len(triptych.report(tmp_path / "sweep")) == 1, "seeds of one arm are a row"
    assert len(triptych.report(run.folder.parent)) == 1


def test_evaluate_takes_search_metrics_and_checkpoint(run: triptych.Run) -> None:
    again = triptych.evaluate(run, split="test")
    then = run.result["test"]["test"]
    assert {key: again[key] for key in then if key != "seconds"} == {key: then[key] for key in then if key != "seconds"}
    found = triptych.evaluate(run.folder, "checkpoint=last", "metric=[ter]", "search=greedy", split="validation")
    assert (found["checkpoint"], found["beam_size"], "ter" in found, "bleu" in found) == ("last", 1, True, False)
    for overrides, words in (
        (["search.n_best=2"], "search.n_best=2 is for"),
        (["checkpoint=nosuch"], "has no checkpoint 'nosuch'"),
        (["search.beam=2"], "did you mean search.beam_size"),
    ):
        with pytest.raises(UserError, match=words):
            triptych.evaluate(run, *overrides, split="test")


def test_a_run_in_bf16_translates_and_is_evaluated_apart(run: triptych.Run, tmp_path: Path) -> None:
    rounded = triptych.load(run.folder, precision="bf16")
    assert {parameter.dtype for parameter in rounded.model.parameters()} == {torch.bfloat16}
    assert {parameter.dtype for parameter in run.model.parameters()} == {torch.float32}
    found = triptych.evaluate(rounded, split="test")
    assert found["checkpoint"] == f"{run.checkpoint}.bf16"
    assert found["nats_per_word"] == pytest.approx(run.result["test"]["test"]["nats_per_word"], rel=0.01)
    assert found["nats_per_word"] != run.result["test"]["test"]["nats_per_word"]
    assert triptych.evaluate(rounded, "precision=full", split="test")["checkpoint"] == run.checkpoint
    kept = {path.name for path in (run.folder / "translations").glob("test.*bf16.beam*.txt")}
    assert len(kept) == 4, "translations, sources, references and nats of the run in bf16, beside the others"
    (tmp_path / "a.en").write_text("The dog sleeps.\n", encoding="utf-8")
    command = ("translate", f"run={run.folder}", "precision=bf16", f"input={tmp_path / 'a.en'}", "scores=true")
    score = float(triptych_command(*command, cwd=tmp_path).stdout.split("\t")[1])
    in_bf16, full = (one.translator.n_best(["The dog sleeps."])[0][0][1] for one in (rounded, run))
    assert abs(score - in_bf16) < abs(score - full), "the command has rounded too"
    maps = triptych.load("demo:transformer", precision="bf16").attention("The dog sleeps.")
    assert all(one.weights.numpy().dtype == "float32" for one in maps)
    files, text = {"input": tmp_path / "a.en", "reference": tmp_path / "a.en"}, ["The dog sleeps."]
    last = triptych.load(run.folder, "last", precision="bf16").score(text, text)
    assert triptych.score(rounded, "checkpoint=last", **files)["log_probabilities"] == pytest.approx(last, abs=1e-4)
    full = triptych.load(run.folder, "last").score(text, text)
    assert full != pytest.approx(last, abs=1e-3)
    ensemble = triptych.load(run.folder, ensemble=run_copy(run, tmp_path), precision="bf16")
    assert {parameter.dtype for parameter in ensemble.translator.search_model.parameters()} == {torch.bfloat16}
    with pytest.raises(UserError, match="precision=16-mixed is unknown; choose one of full, bf16"):
        triptych.load(run.folder, precision="16-mixed")


def test_bf16_is_called_slow_where_it_is_emulated(
    run: triptych.Run, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("triptych.accounting.devices.has_bf16", lambda: False)
    monkeypatch.setattr(logging.getLogger("triptych"), "propagate", True)
    translators.warn_if_slow.cache_clear()
    triptych.load(run.folder, precision="bf16")
    assert {*caplog.messages} == {
        "precision=bf16 is slow here: this CPU has no instructions for bf16. precision=full is faster."
    }
    caplog.clear()
    triptych.load(run.folder, precision="bf16")
    assert not caplog.messages, "it is said once"


def run_copy(run: triptych.Run, folder: Path) -> Path:
    """Return the folder of a copy of a run: an ensemble names each run once."""
    return Path(shutil.copytree(run.folder, folder / "copy"))


def test_an_override_that_names_another_run_is_followed(run: triptych.Run, place: list[str], tmp_path: Path) -> None:
    other = triptych.train(*TINY, *place, "name=other", "seed=5")
    for name, line in {"a.en": "The dog sleeps.\n", "a.fr": "Le chien dort.\n"}.items():
        (tmp_path / name).write_text(line, encoding="utf-8")
    files = {"input": tmp_path / "a.en", "reference": tmp_path / "a.fr"}
    ours, theirs = (triptych.score(one, **files)["log_probabilities"] for one in (run, other))
    assert ours != theirs
    assert triptych.score(run, f"run={other.folder}", **files)["log_probabilities"] == theirs


def test_mistakes_are_one_sentence(place: list[str]) -> None:
    for overrides, words in (
        (["model=lm4nt"], "model=lm4nt is unknown"),
        (["experiment=architectures"], "names several runs; use triptych.sweep"),
        (["seed=1,2"], "seed=1,2 names several values"),
        (["metric.bleu.tokenize=nosuch", "name=mistake"], "metric.bleu.tokenize=nosuch is unknown"),
    ):
        with pytest.raises(UserError, match=words):
            triptych.train(*TINY, *place, *overrides)
    assert not Path(place[1].partition("=")[2], "mistake").exists(), "it was found before training"


def test_in_a_thread(place: list[str]) -> None:
    found: list[triptych.Run] = []
    thread = threading.Thread(target=lambda: found.append(triptych.train(*TINY, *place, "name=thread", "seed=7")))
    thread.start()
    thread.join()
    assert found[0].result["seed"] == 7


@pytest.mark.slow
def test_in_a_cell_of_a_notebook(place: list[str]) -> None:
    cell = "import triptych\nrun = triptych.train(*given)\nfound = triptych.sweep(*given, 'seed=1,8')\n"
    names: dict[str, object] = {"given": [*TINY, *place]}
    for _ in range(2):
        exec(compile(cell, "<cell>", "exec"), names)
    assert [one.config.seed for one in names["found"]] == [1, 8]  # type: ignore[attr-defined]


def test_within_a_program_of_hydra(place: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["program", "run=mine", "~search"])
    found: list[object] = []

    def program(config: DictConfig) -> None:
        found.extend([triptych.train(*TINY, *place), *triptych.sweep(*TINY, *place, "seed=1,8")])
        found.append(HydraConfig.get().overrides.task)

    hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name="translate")(program)()
    assert len(found) == 4
    assert found[-1] == ["run=mine", "~search"]


@pytest.mark.slow
def test_early_stopping_ends_a_training_for_good(place: list[str]) -> None:
    """A run that was stopped early and not scored is scored, and not trained on."""
    stop = [
        "callbacks=[early_stopping]",
        "callbacks.early_stopping.patience=1",
        "callbacks.early_stopping.min_delta=99",
    ]
    given = [*TINY, *place, *stop, "name=stopped", "budget.steps=8"]
    run = triptych.train(*given)
    assert run.result["stopped_early"] is True
    assert (run.result["train"]["steps"], run.result["train"]["planned_steps"]) == (4, 8)
    (run.folder / "result.json").unlink()
    assert triptych.train(*given).result["train"]["steps"] == 4
    for name in ("result.json", "trained.json"):  # as if it had been killed during its last validation
        (run.folder / name).unlink()
    assert triptych.train(*given).result["stopped_early"] is True
    assert triptych.load(run.folder).result["train"]["steps"] == 4
    impatient = [one for one in given if not one.startswith("name=")] + ["checkpoint.average=3"]
    with pytest.raises(UserError, match="early stopping with patience=1 may end after 2; raise its patience"):
        triptych.train(*impatient)


def test_the_gradient_norm_that_is_logged_is_that_before_clipping(
    place: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A callback of the examples computes it on its own."""
    monkeypatch.syspath_prepend(ROOT / "examples" / "own_parts")
    watched = ["callbacks=[gradient_norm]", "callbacks.gradient_norm.every=1", "log_every=1", "name=watched"]
    small = ["trainer.gradient_clip_val=1e-3", "batch.accumulate=2", "model.dropout=0"]
    run = triptych.train(*TINY, *place, *watched, *small, config_dir=ROOT / "examples" / "own_parts" / "conf")
    printed = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines() if "gradient norm" in line]
    logged = run.metrics["train/gradient_norm"].dropna().tolist()
    assert logged == pytest.approx(printed, abs=0.005)
    assert min(logged) > 0.1

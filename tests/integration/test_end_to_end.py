"""From the command line to result.json, and back: resumed, repeated, loaded, translated."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from conftest import triptych as command_line
from conftest import triptych_process

import triptych
from triptych.errors import UserError
from triptych.evaluation.run import check_text
from triptych.runs.folder import RunFolder, started_by_other_code, write_json

TINY = [
    "scale=smoke",
    "cache=cache",
    "budget.steps=8",
    "validation.every=2",
    "log_every=1",
    "optimizer=inverse_sqrt",
    "optimizer.schedule.warmup=4",
]
DECAYED = ["model=lm4mt", "loss=decayed", "checkpoint.average=2", "batch.accumulate=2"]


def run(cwd: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    done = command_line(*arguments, cwd=cwd, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which one run has finished."""
    folder = tmp_path_factory.mktemp("trained")
    run(folder, "train", *TINY, *DECAYED)
    return folder


def only(folder: Path) -> Path:
    (path,) = folder.glob("[!.]*")
    return path


def test_result_has_what_the_design_promises(trained: Path) -> None:
    folder = only(trained / "runs")
    result = json.loads((folder / "result.json").read_text())
    assert result["model"]["name"] == "lm4mt"
    assert result["train"]["steps"] == 8
    assert 0 < result["model"]["parameters_non_embedding"] < result["model"]["parameters"]
    assert result["train"]["tokens_src"] > 0
    assert result["train"]["flops"] > 0
    assert set(result["test"]) == {"test", "test_long"}
    assert result["test"]["test"]["bleu_signature"].startswith("nrefs:1|")
    assert result["test"]["test"]["sentences"] == len((folder / "translations" / "test.txt").read_text().splitlines())
    assert re.fullmatch("sum:[0-9a-f]{64}", result["data"]["token_stream"])
    with (folder / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    weights = [float(row["train/lambda"]) for row in rows if row.get("train/lambda")]
    assert weights == pytest.approx([1 - 0.9 * s / 2 if s <= 2 else 0.1 * (8 - s) / 6 for s in range(8)])
    rates = [float(row["train/lr"]) for row in rows if row.get("train/lr")]
    assert rates == pytest.approx([0.003 * min(s / 4, (4 / s) ** 0.5) for s in range(1, 9)])
    for key in ("train/loss", "train/L_AE", "train/L_MT", "train/lr", "train/tokens_per_second", "validation/bleu"):
        assert any(row.get(key) for row in rows), key


def test_a_finished_run_is_not_trained_again(trained: Path) -> None:
    folder = only(trained / "runs")
    before = (folder / "result.json").stat().st_mtime_ns
    done = run(trained, "train", *reversed(DECAYED), *TINY, "seed=1")
    assert f"finished before: runs/{folder.name}" in done.stdout, "the config counts, not the order of its overrides"
    assert (folder / "result.json").stat().st_mtime_ns == before
    assert "by other code" not in done.stdout


def test_a_run_of_other_code_is_told_apart(trained: Path, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert started_by_other_code(folder) is None, "it has not started"
    written = json.loads(RunFolder(only(trained / "runs")).record.read_text())
    write_json(folder.record, written)
    assert started_by_other_code(folder) is None
    write_json(folder.record, {**written, "versions": {**written["versions"], "source": "0123456789abcdef"}})
    assert started_by_other_code(folder) == "0123456789abcdef"


def test_averaged_weights_are_the_mean_of_the_last(trained: Path) -> None:
    folder = only(trained / "runs") / "checkpoints"
    recent = [torch.load(path, weights_only=True)["state_dict"] for path in sorted(folder.glob("recent-*.ckpt"))]
    averaged = torch.load(folder / "averaged.ckpt", weights_only=True)["state_dict"]
    assert len(recent) == 2
    for name, tensor in averaged.items():
        torch.testing.assert_close(tensor, (recent[0][name] + recent[1][name]) / 2)


def test_load_translates_and_scores(trained: Path) -> None:
    loaded = triptych.load(only(trained / "runs"))
    texts = loaded.translate(["The dog sleeps.", "", "The cat eats."])
    assert (len(texts), texts[1]) == (3, "")
    assert loaded.translate(["The cat eats."]) == texts[2:]
    alone = loaded.score(["The dog sleeps."], ["Le chien dort."])
    assert alone[0] < 0
    assert loaded.score(["The cat eats.", "The dog sleeps."], ["x", "Le chien dort."])[1] == pytest.approx(
        alone[0], abs=1e-4
    )
    assert loaded.translate(line for line in ["The cat eats."]) == texts[2:]
    with pytest.raises(UserError, match="1 sources and 2 targets"):
        loaded.score(["a"], ["b", "c"])
    with pytest.raises(UserError, match="not one string"):
        loaded.translate("The cat eats.")
    with pytest.raises(UserError, match="not one string"):
        loaded.score("same", "size")


def test_translate_keeps_order_and_lines(trained: Path) -> None:
    folder = only(trained / "runs")
    lines = ["The dog sleeps.", "", "The cat and the dog eat the bread.", "  "]
    done = run(trained, "translate", f"run={folder}", stdin="\n".join(lines))
    out = done.stdout.split("\n")
    assert len(out) == len(lines) + 1
    assert (out[1], out[3]) == ("", "")
    assert out[:4] == triptych.load(folder).translate(lines)
    best = run(trained, "translate", f"run={folder}", "search.n_best=2", "scores=true", stdin=lines[0]).stdout
    assert [line.split("\t")[0] for line in best.splitlines()] == ["1", "1"]
    scored = run(trained, "translate", f"run={folder}", "scores=true", stdin="\n".join(lines)).stdout
    assert [line.split("\t")[0] for line in scored.splitlines()] == ["1", "2", "3", "4"]
    assert [line.split("\t")[2] for line in scored.splitlines()] == out[:4]


def test_evaluate_repeats_the_result(trained: Path) -> None:
    folder = only(trained / "runs")
    result = json.loads((folder / "result.json").read_text())["test"]["test"]
    done = run(trained, "evaluate", f"run={folder}", "split=test")
    assert f"BLEU {result['bleu']:.2f}" in done.stdout
    assert f"chrF {result['chrf']:.2f}" in done.stdout


def test_other_text_is_not_scored_under_the_name_of_a_run(trained: Path) -> None:
    run = triptych.Run(only(trained / "runs"))
    fingerprint = run.result["data"]["fingerprint"]
    check_text(run, SimpleNamespace(fingerprint=fingerprint))
    with pytest.raises(UserError, match="other text"):
        check_text(run, SimpleNamespace(fingerprint="0123456789abcdef"))


def test_another_tokenizer_is_refused(trained: Path, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "run"
    shutil.copytree(only(trained / "runs"), folder)
    settings = json.loads((folder / "tokenizer" / "tokenizer.json").read_text())
    (folder / "tokenizer" / "tokenizer.json").write_text(json.dumps({**settings, "fingerprint": "0" * 16}))
    with pytest.raises(UserError, match="not the one that its checkpoint was trained with"):
        triptych.load(folder)


def test_other_text_makes_another_run(tmp_path: Path) -> None:
    for split in ("train", "val", "test"):
        for language in ("en", "fr"):
            lines = (f"{'abcdefgh'[i % 8]} {'ijklmnop'[i // 8 % 8]} {language}\n" for i in range(64))
            (tmp_path / f"{split}.{language}").write_text("".join(lines))
    text = ["data=text", "data.src=en", "data.tgt=fr", "tokenizer=char", "budget.steps=2"]
    for _ in range(2):
        run(tmp_path, "train", *TINY, *text)
        with (tmp_path / "train.en").open("a") as file, (tmp_path / "train.fr").open("a") as other:
            file.write("one more\n")
            other.write("un de plus\n")
    assert len(list((tmp_path / "runs").glob("[!.]*"))) == 2


def test_any_budget_ends_with_a_validation(tmp_path: Path) -> None:
    run(tmp_path, "train", *TINY, "budget.steps=7", "validation.every=3", "validation.bleu_every=9")
    folder = only(tmp_path / "runs")
    with (folder / "metrics.csv").open() as file:
        validated = [int(row["step"]) for row in csv.DictReader(file) if row["validation/loss"]]
    assert validated == [3, 6, 7]
    assert torch.load(folder / "checkpoints" / "last.ckpt", weights_only=True)["global_step"] == 7


@pytest.mark.slow
def test_two_ranks_train_as_one(tmp_path: Path) -> None:
    """The same budget over two processes: the same loss of every step, the tokens of both counted."""
    ranks = ["strategy=ddp", "strategy.accelerator=cpu", "strategy.precision=32-true", "strategy.workers=0"]
    both = [*TINY, "model.dropout=0.0", "budget.steps=6"]
    done = triptych_process("train", *both, *ranks, "output=two", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run(tmp_path, "train", *both, "batch.accumulate=2", "output=one")
    two, one = only(tmp_path / "two"), only(tmp_path / "one")
    assert losses(two) == pytest.approx(losses(one), rel=1e-4)
    results = [json.loads((folder / "result.json").read_text()) for folder in (two, one)]
    for key in ("tokens_src", "tokens_tgt", "flops"):
        assert results[0]["train"][key] == results[1]["train"][key]
    with (two / "metrics.csv").open() as file:
        *_, logged = (row["train/tokens"] for row in csv.DictReader(file) if row["train/tokens"])
    assert float(logged) == results[0]["train"]["tokens_src"] + results[0]["train"]["tokens_tgt"]
    assert results[0]["validation"]["loss"] == pytest.approx(results[1]["validation"]["loss"], rel=1e-4)


def test_a_training_that_diverges_ends_with_a_result(tmp_path: Path) -> None:
    diverging = [*TINY, "optimizer.schedule.peak=1e9"]
    said = run(tmp_path, "train", *diverging, "output=at_a_step").stderr
    told = r"the loss is not finite at step \d+, in a batch of \d+ pairs of up to \d+ source and \d+ target tokens: "
    gradient = r"at step \d+, the largest gradient was that of [\w.]+, with a norm of [\d.e+-]+"
    assert len(re.findall(rf"{told}training has diverged \({gradient}\); lower the learning rate", said)) == 1
    folder = only(tmp_path / "at_a_step")
    assert f"next: triptych report at_a_step/{folder.name}" in said, "it has no weights to translate with"
    result = json.loads((folder / "result.json").read_text())
    assert result["diverged"] is True
    assert result["train"]["steps"] < 8
    assert (result["validation"], result["test"]) == ({"loss": None, "perplexity": None}, {})
    assert 0 < result["train"]["unigram_loss"] < 10
    # Found by the validation alone, at step 2, where BLEU would be measured.
    run(tmp_path, "train", *diverging, "log_every=100", "checkpoint.monitor=bleu", "output=at_a_validation")
    folder = only(tmp_path / "at_a_validation")
    assert json.loads((folder / "result.json").read_text())["train"]["steps"] in (2, 4)
    with (folder / "metrics.csv").open() as file:
        assert "inf" in [row["validation/loss"] for row in csv.DictReader(file)]
    run(tmp_path, "report", "at_a_step")
    assert "| 1 of 1 | 100% " in (tmp_path / "at_a_step" / "report.md").read_text()


def test_a_log_in_a_file_has_a_line_a_validation(tmp_path: Path) -> None:
    said = run(tmp_path, "train", *TINY, "budget.steps=4", "validation.every=2").stdout
    line = r"^step 2/4: loss [\d.]+, tokens/s [\d,]+, val ppl [\d.]+, val BLEU [\d.]+, left 0:\d\d$"
    assert re.search(line, said, re.MULTILINE)


def losses(folder: Path) -> dict[int, float]:
    with (folder / "metrics.csv").open() as file:
        return {int(row["step"]): float(row["train/loss"]) for row in csv.DictReader(file) if row["train/loss"]}


@pytest.mark.parametrize(
    ("how", "more"),
    [
        (signal.SIGKILL, ["tokenizer.bpe_dropout=0.1"]),
        pytest.param(signal.SIGINT, [], marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, ["strategy.workers=2", "tokenizer.bpe_dropout=0.1"], marks=pytest.mark.slow),
    ],
    ids=["kill", "ctrl-c", "term"],
)
def test_an_interrupted_run_goes_on_to_the_same_end(how: signal.Signals, more: list[str], tmp_path: Path) -> None:
    """The same stream of batches, the same losses, weights and scores as an uninterrupted run."""
    arguments = [*TINY, "budget.steps=40", "validation.every=5", "model=transformer", "model.dropout=0.1", *more]
    arguments += ["log_every=3"]  # a line has steps from before and after the interruption
    run(tmp_path, "train", *arguments, "output=whole")
    process = subprocess.Popen(
        [sys.executable, "-m", "triptych", "train", *arguments, "output=cut"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("cut/*/checkpoints/last.ckpt")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, how)
    statuses = {signal.SIGKILL: -signal.SIGKILL, signal.SIGINT: 130, signal.SIGTERM: 143}
    assert process.wait(timeout=60) == statuses[how]
    assert not list(tmp_path.glob("cut/*/result.json")), "it was done before it could be interrupted"
    resumed = run(tmp_path, "train", *arguments, "output=cut")
    (step,) = (int(line.split()[-1]) for line in resumed.stdout.splitlines() if "going on from step" in line)
    assert step % 5 == 0 or how != signal.SIGKILL, "only signals that can be caught save between validations"
    whole, cut = only(tmp_path / "whole"), only(tmp_path / "cut")
    one, other = (json.loads((folder / "result.json").read_text()) for folder in (whole, cut))
    assert one["data"]["token_stream"] == other["data"]["token_stream"]
    for key in ("tokens_src", "tokens_tgt", "flops"):
        assert one["train"][key] == other["train"][key]
    assert other["validation"]["loss"] == one["validation"]["loss"]
    assert other["test"]["test"]["chrf"] == one["test"]["test"]["chrf"]
    last = [
        torch.load(folder / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"] for folder in (whole, cut)
    ]
    assert all(torch.equal(tensor, last[1][name]) for name, tensor in last[0].items())
    assert losses(cut) == losses(whole)

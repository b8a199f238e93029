"""``init=RUN``: a run begins with the best weights of another one, and is identified by that one's training."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from conftest import forget_digests

import triptych
from triptych.errors import UserError
from triptych.runs.folder import read_record

TINY = ["scale=smoke", "budget.steps=2", "validation.every=2", "data.train=100", "tokenizer=char", "model=rnn_none"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("init")


@pytest.fixture(scope="module")
def source(place: Path) -> triptych.Run:
    return train(place, "name=source")


def train(place: Path, *overrides: str) -> triptych.Run:
    return triptych.train(*TINY, f"cache={place / 'cache'}", f"output={place / 'runs'}", *overrides)


def fine_tune(place: Path, source: Path, *overrides: str) -> triptych.Run:
    """Fine-tune on other text, with the tokenizer of the source."""
    tokenizer = ["tokenizer=own", f"tokenizer.model_file={source / 'tokenizer' / 'joint.model'}"]
    return train(place, f"init={source}", "data.seed=7", *tokenizer, *overrides)


def weights(run: triptych.Run) -> dict[str, torch.Tensor]:
    return run.model.state_dict()


def test_it_begins_with_the_weights_of_the_other_run(place: Path, source: triptych.Run) -> None:
    still = fine_tune(place, source.folder, "name=still", "optimizer=constant", "optimizer.schedule.peak=1e-30")
    assert all(torch.equal(value, weights(source)[name]) for name, value in weights(still).items())
    moved = fine_tune(place, source.folder, "name=moved")
    assert not all(torch.equal(value, weights(source)[name]) for name, value in weights(moved).items())
    hashed = read_record(source.files).training_hash
    assert moved.result["init"] == {"run": "source", "training_hash": hashed, "checkpoint": "best"}
    assert "init" not in source.result


@pytest.mark.slow
def test_the_identity_is_that_of_the_training_wherever_it_lies(place: Path, source: triptych.Run) -> None:
    tuned = fine_tune(place, source.folder, "name=identified", "seed=3")
    moved = place / "elsewhere" / "copied"
    shutil.copytree(source.folder, moved)
    assert fine_tune(place, moved, "seed=3").folder == tuned.folder, "it is the same run"
    other = train(place, "name=other", "seed=2")
    again = fine_tune(place, other.folder, "seed=3")
    assert again.folder != tuned.folder
    assert read_record(again.files).training_hash != read_record(tuned.files).training_hash


@pytest.mark.slow
def test_what_does_not_fit_is_one_sentence(place: Path, source: triptych.Run) -> None:
    for overrides, words in (
        (["init=nowhere"], "init=nowhere is no run folder"),
        ([f"init={source.folder}", "data.seed=7", "tokenizer=bpe", "tokenizer.vocab_size=400"],
         r"another vocabulary than this run would have: .*tokenizer=own tokenizer\.model_file=\S+/joint\.model"),
        ([f"init={source.folder}", "scale.d_model=48"], r"has another model \(.* is \[.*\] there and .* here\)"),
        ([f"init={source.folder}", "model=transformer"], r"has another model \(.* is .* there and missing here\)"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=words):
            train(place, "name=refused", *overrides)
    with pytest.raises(UserError, match=r"model_file=(\S+/joint\.model)\)") as refused:
        train(place, "init=demo:transformer")
    file = str(refused.value).partition("model_file=")[2].rstrip(").")
    assert Path(file).is_file(), "what the sentence tells to do can be done"
    assert not (place / "runs" / "refused").exists(), "it was found before training"


def test_a_run_that_still_trains_is_no_beginning(place: Path, source: triptych.Run) -> None:
    """Its weights change, and its training's hash stands for those of its end."""
    unfinished = place / "unfinished" / "run"
    shutil.copytree(source.folder, unfinished)
    for name in ("result.json", "trained.json"):
        (unfinished / name).unlink(missing_ok=True)
    with pytest.raises(UserError, match="is not trained to its end; finish its training first"):
        fine_tune(place, unfinished, "name=too_early")


def test_a_run_that_diverged_is_no_beginning(place: Path, source: triptych.Run) -> None:
    diverged = place / "diverged" / "run"
    shutil.copytree(source.folder, diverged)
    path = diverged / "checkpoints" / "best.ckpt"
    state = torch.load(path, weights_only=True)
    for tensor in state["state_dict"].values():
        tensor.fill_(float("nan"))
    torch.save(state, path)
    forget_digests(diverged)
    with pytest.raises(UserError, match="its training diverged; choose another run"):
        fine_tune(place, diverged, "name=from_nothing", "seed=9")

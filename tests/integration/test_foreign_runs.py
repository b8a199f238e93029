"""A run's folder that came from somebody else: no command runs what is planted in it."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from conftest import triptych
from omegaconf import OmegaConf

from triptych.runs.digests import result_digest

HTML = "<img src=x onerror=alert(1)><script>alert(1)</script>"


class Planted:
    """An object whose unpickling makes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return eval, (f"open({str(self.mark)!r}, 'w')",)  # type: ignore[return-value]


def change_config(run: Path, key: str, value: object) -> None:
    config = OmegaConf.load(run / "config.yaml")
    OmegaConf.update(config, key, value, merge=False, force_add=True)
    OmegaConf.save(config, run / "config.yaml")


def in_config(run: Path, mark: Path) -> None:
    change_config(
        run, "model", {"_target_": "pathlib.Path.touch", "self": {"_target_": "pathlib.Path", "_args_": [str(mark)]}}
    )


def nested(run: Path, mark: Path) -> None:
    planted = {"_target_": "builtins.open", "file": str(mark), "mode": "w"}
    change_config(run, "model.d_model", planted)
    change_config(run, "search.beam_size", planted)
    change_config(run, "metric.bleu.extra", [planted])


def hubconf(run: Path, mark: Path) -> None:
    (run / "hubconf.py").write_text(f"open({str(mark)!r}, 'w')\n")
    change_config(
        run, "model", {"_target_": "torch.hub.load", "repo_or_dir": str(run), "model": "x", "source": "local"}
    )


def pickled(run: Path, mark: Path) -> None:
    for path in (run / "checkpoints").glob("*.ckpt"):
        torch.save({"state_dict": Planted(mark), "tokenizer": Planted(mark)}, path)


def plainly_pickled(run: Path, mark: Path) -> None:
    for path in (run / "checkpoints").glob("*.ckpt"):
        path.write_bytes(pickle.dumps(Planted(mark)))


def in_tokenizer(run: Path, mark: Path) -> None:
    stored = json.loads((run / "tokenizer" / "tokenizer.json").read_text())
    stored |= {"languages": [f"../../{mark.name}", HTML], "_target_": "os.system", "joint": False}
    (run / "tokenizer" / "tokenizer.json").write_text(json.dumps(stored))
    (run / "tokenizer" / "sitecustomize.py").write_text(f"open({str(mark)!r}, 'w')\n")


def referred_to(run: Path, mark: Path) -> None:
    """What a reference stands for was built without being looked at."""
    (run / "planted.pkl").write_bytes(pickle.dumps(Planted(mark)))
    planted = {"_target_": "pandas.read_pickle", "filepath_or_buffer": str(run / "planted.pkl")}
    change_config(run, "study", {"planted": planted})
    change_config(run, "search", "${study.planted}")


def referred_to_inside(run: Path, mark: Path) -> None:
    referred_to(run, mark)
    change_config(run, "search", OmegaConf.load(run / "config.yaml").validation.search)
    change_config(run, "model.d_model", "${study.planted}")


PLANTED = [in_config, nested, hubconf, pickled, plainly_pickled, in_tokenizer, referred_to, referred_to_inside]
COMMANDS = [
    ("translate", "run=runs/tiny"),
    ("evaluate", "run=runs/tiny", "split=validation"),
    ("score", "run=runs/tiny", "input=text.en", "reference=text.fr"),
    ("attend", "run=runs/tiny", "sentence=a house"),
    ("export", "run=runs/tiny", "format=safetensors", "output=exported"),
    ("report", "runs"),
]


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_nothing_that_is_planted_runs(plant: Callable[[Path, Path], None], tiny_run: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_run / "runs", tmp_path / "runs")
    for language in ("en", "fr"):
        (tmp_path / f"text.{language}").write_text("a house\n")
    mark = tmp_path / "it-ran"
    plant(tmp_path / "runs" / "tiny", mark)
    for command in COMMANDS:
        done = triptych(*command, cwd=tmp_path, stdin="a house\n")
        assert not mark.exists(), command
        assert done.returncode in ((0, 2) if command[0] == "report" else (2,)), (command, done.stderr)
        assert "Traceback" not in done.stderr, command


def test_html_in_names_and_text_is_shown_as_text(tiny_run: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_run / "runs", tmp_path / "runs")
    run = tmp_path / "runs" / "tiny"
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"label": HTML, "overrides": [f"model={HTML}"]}))
    result = json.loads((run / "result.json").read_text())
    result["model"]["name"] = result["tokenizer"]["name"] = result["train"]["device"] = HTML
    result["digests"]["result"] = result_digest(result)
    (run / "result.json").write_text(json.dumps(result))
    done = triptych("report", "runs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "runs" / "report.html").read_text()
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert "&lt;img src=x" in page

"""A run's folder that came from somebody else: no command runs what is planted in it."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from conftest import forget_digests, triptych
from omegaconf import OmegaConf

from triptych import api
from triptych.config.conf_folder import conf_dir
from triptych.errors import UserError
from triptych.runs.digests import record_digest, result_digest

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


def fetched(run: Path, mark: Path) -> None:
    """What a configuration says is fetched was fetched: a model of COMET's may hold code."""
    (run.parent.parent / "comet.py").write_text(f"open({str(mark)!r}, 'w')\n")
    comet = {"_target_": "triptych.evaluation.comet.Comet", "model": "somebody/model", "batch_size": 1, "gpus": 0}
    change_config(run, "metric.comet", comet)


@pytest.mark.parametrize(
    ("target", "key", "value"),
    [
        ("huggingface.HuggingFaceCorpus", "path", "somebody/text"),
        ("huggingface.HuggingFaceCorpus", "revision", "refs/pr/7"),
        ("mtdata_recipes.RecipeCorpus", "recipe", "huge"),
        ("multi30k.Multi30k", "url", "http://somewhere"),
    ],
)
def test_text_that_nobody_vouches_for_is_not_fetched(
    target: str, key: str, value: str, tiny_run: Path, tmp_path: Path
) -> None:
    shutil.copytree(tiny_run / "runs", tmp_path / "runs")
    change_config(tmp_path / "runs" / "tiny", "data", {"_target_": f"triptych.data.{target}", key: value})
    forget_digests(tmp_path / "runs" / "tiny")
    with pytest.raises(UserError, match=rf"would fetch what .* does not name: data.{key}={value}. .*trust={value}"):
        api.load(tmp_path / "runs" / "tiny").load_corpus()


def test_a_foreign_run_does_not_choose_where_text_is_kept(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    shutil.copytree(tiny_run / "runs", tmp_path / "runs")
    files = {name: [f"{tmp_path}/{name}.en", f"{tmp_path}/{name}.fr"] for name in ("train", "validation")}
    for en, fr in files.values():
        Path(en).write_text("a house\n")
        Path(fr).write_text("une maison\n")
    text = OmegaConf.to_container(OmegaConf.load(conf_dir() / "data" / "text.yaml"))
    text |= files | {"src": "en", "tgt": "fr", "test": [], "cache": str(tmp_path / "chosen")}
    change_config(tmp_path / "runs" / "tiny", "data", text)
    forget_digests(tmp_path / "runs" / "tiny")

    corpus = api.load(tmp_path / "runs" / "tiny").load_corpus()
    assert list(corpus.splits["validation"].src) == ["a house"]
    assert not (tmp_path / "chosen").exists()
    assert list((tmp_path / "home" / ".cache" / "triptych" / "text").iterdir())

    (tmp_path / "chosen" / "text").mkdir(parents=True)  # a cache that is there already is used
    api.load(tmp_path / "runs" / "tiny").load_corpus()
    assert list((tmp_path / "chosen" / "text").iterdir())


PLANTED = [
    *(in_config, nested, hubconf, pickled, plainly_pickled, in_tokenizer, referred_to, referred_to_inside, fetched),
]
COMMANDS = [
    ("translate", "run=runs/tiny"),
    ("evaluate", "run=runs/tiny", "split=validation"),
    ("score", "run=runs/tiny", "input=text.en", "reference=text.fr"),
    ("attend", "run=runs/tiny", "sentence=a house"),
    ("export", "run=runs/tiny", "format=safetensors", "output=exported"),
    ("report", "runs"),
]


def test_a_checkpoint_with_code_is_called_what_it_is(tiny_run: Path, tmp_path: Path) -> None:
    """PyTorch's own message advises to load it all the same."""
    shutil.copytree(tiny_run / "runs", tmp_path / "runs")
    pickled(tmp_path / "runs" / "tiny", tmp_path / "it-ran")
    forget_digests(tmp_path / "runs" / "tiny")
    done = triptych("translate", "run=runs/tiny", cwd=tmp_path, stdin="a house\n")
    assert done.returncode == 2
    assert "is damaged (it holds eval, which no checkpoint needs and which could run code); give another" in done.stderr


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


def test_text_is_fetched_from_where_the_user_trusts(tiny_run: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_run / "runs", tmp_path / "runs")
    text = {"_target_": "triptych.data.multi30k.Multi30k", "url": "file:///nowhere", "src": "en", "tgt": "fr"}
    change_config(tmp_path / "runs" / "tiny", "data", text)
    forget_digests(tmp_path / "runs" / "tiny")
    words = ["evaluate", "run=runs/tiny", "split=validation"]
    done = triptych(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "would fetch what triptych's own configuration does not name: data.url=file:///nowhere." in done.stderr
    assert "data.url" not in triptych(*words, "trust=file:///nowhere", cwd=tmp_path).stderr


@pytest.mark.slow
def test_modules_that_lie_in_the_current_folder_are_not_run(tmp_path: Path) -> None:
    """An unpacked download had only to hold a torch.py."""
    for module in ("torch", "pandas", "random", "hydra", "sentencepiece"):
        (tmp_path / f"{module}.py").write_text("open('it-ran', 'w')\n")
    script = Path(sys.executable).with_name("triptych")
    small = ["scale=smoke", "budget.steps=2", "validation.every=2", "data.train=200", "test=false"]
    for words in (["translate", "run=demo:rnn_bahdanau"], ["train", "-m", "seed=1,2", "jobs=2", *small]):
        done = subprocess.run([script, *words], cwd=tmp_path, input="A cat.\n", capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert not (tmp_path / "it-ran").exists(), words


PLANTS = "open('it-ran', 'w')\nfrom triptych.models.transformer import Transformer as Model\n"
SMALL = ["scale=smoke", "budget.steps=2", "validation.every=2", "data.train=200", "test=false", "cache=cache"]


def without_digests(run: Path) -> None:
    for name in ("result.json", "trained.json"):
        stored = json.loads((run / name).read_text())
        stored.pop("digests")
        (run / name).write_text(json.dumps(stored))


def test_a_finished_run_that_is_found_is_trusted_no_more_than_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was taken for one that this process had made itself."""
    monkeypatch.chdir(tmp_path)
    assert api.train(*SMALL, "name=a").translate(["A cat."])
    run = tmp_path / "runs" / "a"
    change_config(run, "search", {"_target_": "builtins.open", "file": "it-ran", "mode": "w"})
    without_digests(run)
    with pytest.raises(UserError, match=r"would run code that is not triptych's: search\._target_=builtins\.open"):
        api.train(*SMALL, "name=a").translate(["A cat."])
    assert not (tmp_path / "it-ran").exists()


def test_weights_that_are_shared_bring_no_code_along(tmp_path: Path) -> None:
    """The class of the other run's model was built."""
    (tmp_path / "evil.py").write_text(PLANTS)
    assert triptych("train", *SMALL, "name=a", cwd=tmp_path).returncode == 0
    change_config(tmp_path / "runs" / "a", "model._target_", "evil.Model")
    without_digests(tmp_path / "runs" / "a")
    done = triptych("train", *SMALL, "name=b", "search=greedy", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "weights of runs/a" in done.stdout
    stored = OmegaConf.load(tmp_path / "runs" / "b" / "config.yaml")
    assert stored.model._target_ == "triptych.models.transformer.Transformer"
    assert not (tmp_path / "it-ran").exists()


def test_html_in_names_and_text_is_shown_as_text(tiny_run: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_run / "runs", tmp_path / "runs")
    run = tmp_path / "runs" / "tiny"
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"label": HTML, "overrides": [f"model={HTML}"]}))
    result = json.loads((run / "result.json").read_text())
    result["model"]["name"] = result["tokenizer"]["name"] = result["train"]["device"] = HTML
    result["digests"]["run.json"] = record_digest(HTML, [f"model={HTML}"])
    result["digests"]["result"] = result_digest(result)
    (run / "result.json").write_text(json.dumps(result))
    done = triptych("report", "runs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "runs" / "report.html").read_text()
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert "&lt;img src=x" in page

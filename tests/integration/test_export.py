"""`triptych export` writes a run in another form, and compares the two."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from conftest import triptych
from safetensors.torch import load_file, save_file

import triptych as triptych_package
from triptych.export.unpenalised import translate_unpenalised
from triptych.runs.run import load


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    short = ["budget.steps=4", "validation.every=4", "log_every=1", "checkpoint.average=1"]
    done = triptych("train", "scale=smoke", "model=lm4mt", "name=lm4mt", "cache=cache", *short, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "runs" / "lm4mt"


def test_ctranslate2(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="the extra 'export' is not installed")

    def command(*arguments: str) -> tuple[int, str, str]:
        done = triptych(*arguments, cwd=tmp_path)
        return done.returncode, done.stdout, done.stderr

    short = ["budget.steps=4", "validation.every=4", "log_every=1"]
    assert command("train", "scale=smoke", "output=runs", "cache=cache", *short)[0] == 0
    (run,) = (tmp_path / "runs").glob("[!.]*")
    status, shown, _ = command("export", f"run={run}", "output=exported")
    assert status == 0
    assert "log-probabilities of whole translations differ by at most" in shown
    assert {"model.bin", "joint.model"} <= {path.name for path in (tmp_path / "exported").iterdir()}
    status, shown, _ = command("export", f"run={run}", "precision=int8", "output=int8")
    assert status == 0
    sizes = [(tmp_path / name / "model.bin").stat().st_size for name in ("int8", "exported")]
    assert sizes[0] < 0.5 * sizes[1]
    status, _, error = command("export", f"run={run}", "output=exported")
    assert status == 2
    assert error.count("\n") == 1
    assert "output=exported is there already" in error


@pytest.mark.parametrize("name", ["transformer", "lm4mt"])
def test_the_script_of_the_folder_translates(name: str, tmp_path: Path) -> None:
    """The command that the export shows next, and the one of its README, give the run's own translations."""
    pytest.importorskip("ctranslate2", reason="the extra 'export' is not installed")
    done = triptych("export", f"run=demo:{name}", "output=exported", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "next: python exported/translate.py" in done.stderr
    lines = (Path(triptych_package.__file__).parent / "demo" / "examples.en").read_text().splitlines()[:3]
    shown = subprocess.run([sys.executable, "exported/translate.py", *lines], cwd=tmp_path, capture_output=True)
    assert shown.stdout.decode().splitlines() == load(f"demo:{name}").translate(lines)
    shown = subprocess.run([sys.executable, "exported/translate.py", b"caf\xe9"], cwd=tmp_path, capture_output=True)
    assert (shown.returncode, shown.stderr) == (1, b"A sentence is no valid UTF-8; mend it.\n")
    assert 'python translate.py "A sentence."' in (tmp_path / "exported" / "README.md").read_text()


def test_a_decoder_only_model_in_ctranslate2(run: Path, tmp_path: Path) -> None:
    """Its source is a prompt; log-probabilities agree, or nothing would be written."""
    ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra 'export' is not installed")
    done = triptych("export", f"run={run}", "output=exported", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    pieces = load(run).tokenizer.pieces([4, 9, 10, 5], "tgt")
    generator = ctranslate2.Generator(str(tmp_path / "exported"))
    (found,) = generator.generate_batch([pieces], max_length=5, include_prompt_in_result=False)
    assert len(found.sequences[0]) <= 5


@pytest.mark.slow
def test_huggingface(tmp_path: Path) -> None:
    """A folder that the library loads, with the same translations by its own tokenizer and greedy search.

    The model is hardly trained, so most translations end at a limit: one is the beginning of the other.
    """
    library = pytest.importorskip("transformers", reason="the extra 'export' is not installed")
    vaswani = ["scale=smoke", "model.norm_position=post", "model.positions=sinusoidal", "cache=cache", "name=post"]
    short = ["budget.steps=20", "checkpoint.average=1", "search.beam_size=1"]
    trained = triptych("train", *vaswani, *short, cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    done = triptych("export", "run=runs/post", "format=huggingface", "output=hub", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    files = {path.name for path in (tmp_path / "hub").iterdir()}
    assert {"model.safetensors", "config.json", "source.spm", "target.spm", "vocab.json", "README.md"} <= files
    card = (tmp_path / "hub" / "README.md").read_text()
    assert "library_name: transformers" in card
    compile(card.partition("```python\n")[2].partition("```")[0], "card", "exec")
    translate = library.pipeline("translation", str(tmp_path / "hub"), max_new_tokens=50)
    post = load(tmp_path / "runs" / "post")
    (ours,) = post.tokenizer.decode(translate_unpenalised(post.translator, ["the cat sleeps ."]).targets, "tgt")
    theirs = translate("the cat sleeps .")[0]["translation_text"].strip()
    assert ours
    assert ours.startswith(theirs) or theirs.startswith(ours)
    refused = triptych("export", "run=runs/post", "format=huggingface", "precision=int8", "output=x", cwd=tmp_path)
    assert "precision=int8 is none of format=huggingface's: full, half." in refused.stderr


def test_a_shared_run_is_the_run_without_its_training_state(run: Path, tmp_path: Path) -> None:
    done = triptych("export", f"run={run}", "format=safetensors", "output=shared", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    original, shared = load(run), load(tmp_path / "shared")
    for name, tensor in original.model.state_dict().items():
        assert torch.equal(shared.model.state_dict()[name], tensor)
    results = [{key: value for key, value in one.result.items() if key != "digests"} for one in (shared, original)]
    assert results[0] == results[1]
    assert shared.config == original.config
    files = {str(path.relative_to(tmp_path / "shared")) for path in (tmp_path / "shared").rglob("*") if path.is_file()}
    tokenizer = {"tokenizer/joint.model", "tokenizer/tokenizer.json"}
    assert files == {"README.md", "run.json", "config.yaml", "result.json", "checkpoints/best.safetensors", *tokenizer}
    translated = triptych("translate", "run=shared", cwd=tmp_path, stdin="a cat sleeps\n")
    assert translated.stdout == "".join(f"{line}\n" for line in original.translate(["a cat sleeps"]))


def test_a_shared_run_has_a_model_card(run: Path, tmp_path: Path) -> None:
    """Its head is YAML, and its figures are those of result.json."""
    assert triptych("export", f"run={run}", "format=safetensors", "output=shared", cwd=tmp_path).returncode == 0
    card, result = (tmp_path / "shared" / "README.md").read_text(), load(run).result
    _, head, body = card.split("---\n", 2)
    assert yaml.safe_load(head)["language"] == result["data"]["languages"]
    assert "None" not in body
    assert f"| parameters | {result['model']['parameters']:,} |" in body
    assert f"| optimizer steps | {result['train']['steps']:,} |" in body
    for name, scores in result["test"].items():
        row = next(line for line in body.splitlines() if line.startswith(f"| {name} |"))
        assert f"{scores['bleu']:.2f}" in row
        assert scores["bleu_signature"] in body


def test_half_precision_rounds_the_weights(run: Path, tmp_path: Path) -> None:
    done = triptych("export", f"run={run}", "format=safetensors", "precision=half", "output=half", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    weights = load(tmp_path / "half").model.state_dict()
    for name, tensor in load(run).model.state_dict().items():
        assert torch.equal(weights[name], tensor.half().float())
    sizes = [path.stat().st_size for folder in (tmp_path / "half", run) for path in folder.glob("checkpoints/best.*")]
    assert sizes[0] < 0.55 * sizes[1]


def test_another_tokenizer_is_refused(run: Path, tmp_path: Path) -> None:
    assert triptych("export", f"run={run}", "format=safetensors", "output=shared", cwd=tmp_path).returncode == 0
    path = tmp_path / "shared" / "checkpoints" / "best.safetensors"
    save_file(load_file(path), path, {"tokenizer": "another"})
    refused = triptych("translate", "run=shared", cwd=tmp_path, stdin="a\n")
    assert refused.returncode == 2
    assert "is not the one that its checkpoint was trained with, another" in refused.stderr


def test_an_unfinished_run_is_refused(run: Path, tmp_path: Path) -> None:
    (tmp_path / "unfinished").symlink_to(run)
    hidden = run / "result.json"
    hidden.rename(run / "hidden.json")
    try:
        refused = triptych("export", "run=unfinished", "format=safetensors", "output=shared", cwd=tmp_path)
    finally:
        (run / "hidden.json").rename(hidden)
    assert refused.returncode == 2
    assert "has no result.json yet" in refused.stderr
    assert not (tmp_path / "shared").exists()


def test_weights_that_the_result_does_not_score_are_refused(run: Path, tmp_path: Path) -> None:
    refused = triptych("export", f"run={run}", "format=safetensors", "checkpoint=last", "output=shared", cwd=tmp_path)
    assert refused.returncode == 2
    assert "checkpoint=last is not what result.json scores, best" in refused.stderr
    assert not (tmp_path / "shared").exists()

"""The proof of the design: one class and one YAML, and it trains, translates and reports."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT, triptych

from triptych.api import Run, evaluate, load

EXAMPLE = ROOT / "examples" / "own_parts"


def test_one_class_and_one_yaml(tmp_path: Path) -> None:
    (tmp_path / "bag_of_words.py").write_text((EXAMPLE / "own_parts.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "conf" / "model").mkdir(parents=True)
    (tmp_path / "conf" / "model" / "bag.yaml").write_text("_target_: bag_of_words.BagOfWords\nsize: ${scale.d_model}\n")

    def command(*arguments: str, stdin: str = "") -> str:
        done = triptych(*arguments, cwd=tmp_path, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    command("train", "--config-dir", "conf", "model=bag", "scale=smoke", "cache=cache")
    (run,) = (tmp_path / "runs").glob("[!.]*")
    refused = triptych("translate", f"run={run}", cwd=tmp_path, stdin="The dog sleeps.\n")
    assert refused.returncode == 2
    assert "would run code that is not triptych's: model._target_=bag_of_words.BagOfWords" in refused.stderr
    lines = "The dog sleeps.\n\nThe cat sleeps.\n"
    for named in (["trust=bag_of_words"], ["trust=[bag_of_words]"], ["--config-dir", "conf"]):
        assert command("translate", *named, f"run={run}", stdin=lines).count("\n") == 3
    assert "bag scale=smoke" in command("report", "runs")
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(tmp_path)
        loaded = load(run, trust="bag_of_words")
        assert evaluate(loaded, split="test")["bleu"] == loaded.result["test"]["test"]["bleu"]
        assert evaluate(Run(run, trust=None), "search=greedy", split="test")["beam_size"] == 1, "as train returns it"

"""A run of version 0.2.0 translates, is evaluated, and is read by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import forget_digests
from conftest import triptych as command_line
from omegaconf import OmegaConf

import triptych

TINY = ["scale=smoke", "budget.steps=2", "validation.every=2", "data.train=200", "tokenizer.vocab_size=400"]
TINY += ["data.validation=5", "data.test=3", "data.test_long=2", "model=rnn_none"]


@pytest.fixture
def run(tmp_path: Path) -> triptych.Run:
    """A run's folder as version 0.2.0 wrote it: without ``search.stop``, and with ``tokenizer.sampling``."""
    run = triptych.train(*TINY, "search.beam_size=2", f"cache={tmp_path / 'cache'}", f"output={tmp_path / 'runs'}")
    config = OmegaConf.load(run.files.config)
    for search in (config.search, config.validation.search):
        del search["stop"], search["min_length"]
    del config["jobs"]
    del config.tokenizer["bpe_dropout"]
    config.tokenizer.sampling = 0.1
    OmegaConf.save(config, run.files.config)
    record = json.loads(run.files.record.read_text())
    run.files.record.write_text(json.dumps({**record, "version": "0.2.0"}))
    settings = run.files.tokenizer / "tokenizer.json"
    kept = {"name", "algorithm", "fingerprint", "languages", "joint", "lines"}
    old = {key: value for key, value in json.loads(settings.read_text()).items() if key in kept}
    settings.write_text(json.dumps({**old, "sampling": 0.1}))
    forget_digests(run.folder)
    return run


def test_a_run_of_version_0_2_translates_as_it_did(run: triptych.Run, tmp_path: Path) -> None:
    sources, references, expected, nats = (
        (run.folder / "translations" / f"test{end}").read_text().splitlines()
        for end in (".src.txt", ".ref.txt", ".txt", ".nats.txt")
    )
    loaded = triptych.load(run.folder)
    assert loaded.translator.search.stop == "exact"
    assert not loaded.tokenizer.samples
    assert loaded.translate(sources) == expected
    assert loaded.score(sources, references) == pytest.approx([-float(value) for value in nats], abs=1e-4)
    scores = run.result["test"]["test"]
    assert triptych.evaluate(run.folder, split="test")["bleu"] == scores["bleu"]
    assert triptych.evaluate(run.folder, "search.stop=first", split="test")["stop"] == "first"
    text = "".join(f"{line}\n" for line in sources)
    done = command_line("translate", f"run={run.folder}", cwd=tmp_path, stdin=text)
    assert done.stdout.splitlines() == expected, done.stderr

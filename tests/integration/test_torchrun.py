"""torchrun starts the processes of a training: what they share is made once, and a killed one ends the job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from small_trainings import CPUS, TRAIN, stream

HOOK = """
import os, sys

def watch(event, given):
    name = os.path.basename(str(given[0])) if event == "open" else ""
    if name in ("train.en", "train.fr", "val.en", "val.fr"):
        seen(name)
    elif event == "subprocess.Popen" and any("sentencepiece_process" in str(word) for word in given[1]):
        seen("tokenizer")

def seen(name):
    os.write(log, f"{name}\\n".encode())

log = os.open(os.environ["WATCHED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
sys.addaudithook(watch)
"""
WORDS = ("cat", "dog", "sees", "the", "old", "house", "and", "red")


def start(folder: Path, *settings: str) -> subprocess.Popen[str]:
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    data = ["data=text", "data.src=en", "data.tgt=fr", "data.test=[]", "tokenizer=char"]
    train = [one for one in TRAIN if not one.startswith(("data.", "tokenizer."))]
    watched = {"PYTHONPATH": str(folder / "hook"), "WATCHED": str(folder / "watched"), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*run, "-m", "triptych", *train, *data, "strategy=ddp", "strategy.devices=2", *CPUS, *settings],
        cwd=folder,
        env={**os.environ, **watched},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(HOOK)
    for split, lines in (("train", 400), ("val", 20)):
        for language, words in (("en", WORDS), ("fr", WORDS[::-1])):
            text = "".join(" ".join(words[(i * k) % 8] for k in range(1, 3 + i % 5)) + "\n" for i in range(lines))
            (tmp_path / f"{split}.{language}").write_text(text)
    return tmp_path


@pytest.mark.slow
def test_with_a_cold_cache_each_file_is_read_once(folder: Path) -> None:
    """The first run goes on after one of its processes was killed, which ends them all."""
    process = start(folder)
    log = folder / "runs" / "x" / "metrics"
    while process.poll() is None and not [*log.rglob("metrics.csv")]:
        time.sleep(0.05)
    (child,) = subprocess.run(
        ["pgrep", "-P", str(process.pid), "-n"], capture_output=True, text=True, check=True
    ).stdout.split()
    os.kill(int(child), signal.SIGKILL)
    said, _ = process.communicate(timeout=60)
    assert process.returncode != 0, said
    said, _ = (again := start(folder)).communicate(timeout=200)
    assert again.returncode == 0, said
    assert stream(folder)[0]
    once = {f"{split}.{language}": 1 for split in ("train", "val") for language in ("en", "fr")}
    assert Counter((folder / "watched").read_text().split()) == {**once, "tokenizer": 1}

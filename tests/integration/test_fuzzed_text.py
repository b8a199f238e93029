"""Text of any kind, even no text at all: every command keeps every line, or says what is wrong with the file."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import triptych
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

SECONDS = 400
"""Time that each of the three is given: twenty minutes together."""
LONGEST = 60
"""Seconds that one command may take."""
NASTY = ["\x00", "\r", "\t", "\u2028", "\x85", "\x1c", "\ufeff", "▁", "<unk>", "</s>", "<s>", "<en>", "⁇", "\u200b"]
NASTY += ["\U0010ffff", "🏖️", "مرحبا", "你好", "ﬁ", "\xa0", "\u0301", "&apos;", " ,", '"', "\\", "<b>", "ß", "İ"]
WORDS = ["the", "red", "house", "a" * 3000, "ab " * 400]
LINE = st.lists(st.one_of(st.text(max_size=12), st.sampled_from(NASTY), st.sampled_from(WORDS)), max_size=6)
LINES = st.lists(LINE.map(" ".join).map(lambda line: line.replace("\n", " ")), max_size=8)
TEXTS = LINES.map(lambda lines: "".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
FILES = st.one_of(TEXTS, st.binary())
SMALL = [
    "scale=smoke",
    "budget.steps=1",
    "data=text",
    "data.src=en",
    "data.tgt=fr",
    "data.validation=val",
    "test=false",
]
SMALL += ["model=rnn", "cache=cache", "tokenizer=char", "batch.tokens=20000", "data.test=[]"]


def run(folder: Path, *arguments: str) -> int:
    """Run a command; return its status, 0 or 2."""
    began = time.monotonic()
    done = triptych(*arguments, cwd=folder)
    assert time.monotonic() - began < LONGEST
    assert done.returncode in (0, 2), done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    said = done.stderr.strip().splitlines()
    assert done.returncode == 0 or (len(said) >= 1 and said[-1].startswith("triptych: ")), done.stderr
    return done.returncode


def lines_of(content: bytes) -> int:
    """Lines of a file; the last one need not end."""
    return content.count(b"\n") + bool(content and not content.endswith(b"\n"))


def translated(content: bytes, *more: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").write_bytes(content)
        search = ["search=greedy", *more]
        status = run(folder, "translate", "run=demo:transformer", *search, "input=in", "output=out")
        assert (folder / "out").exists() == (status == 0)
        if status == 0:
            assert lines_of((folder / "out").read_bytes()) == lines_of(content)


def scored(hypothesis: bytes, reference: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hyp").write_bytes(hypothesis)
        (folder / "ref").write_bytes(reference)
        status = run(folder, "evaluate", "hypothesis=hyp", "reference=ref")
        assert status == 2 or lines_of(hypothesis) == lines_of(reference)


def trained(src: bytes, tgt: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for split, (one, other) in {"train": (src, tgt), "val": (src[:200], tgt[:200])}.items():
            (folder / f"{split}.en").write_bytes(one)
            (folder / f"{split}.fr").write_bytes(other)
        run(folder, "train", *SMALL)
        shutil.rmtree(folder / "cache", ignore_errors=True)


FUZZED: dict[str, tuple[Callable[..., None], list[st.SearchStrategy[bytes]]]] = {
    "translate": (translated, [FILES]),
    "evaluate": (scored, [FILES, FILES]),
    "train": (trained, [FILES, FILES]),
}


def fuzz(name: str, examples: int, seconds: float, *more: str) -> int:
    """Try so many files, or as many as the time allows, with further settings; return how many there were."""
    check, strategies = FUZZED[name]
    end, tried = time.monotonic() + seconds, 0

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.tuples(*strategies))
    def of_any(contents: tuple[bytes, ...]) -> None:
        nonlocal tried
        if time.monotonic() < end:
            tried += 1
            check(*contents, *more)

    of_any()
    return tried


@pytest.mark.parametrize("name", FUZZED)
def test_a_few_files(name: str) -> None:
    short = ["search.max_length_ratio=0.02"] if name == "translate" else []  # decoding takes most of the time
    assert fuzz(name, 3, SECONDS, *short) == 3


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("name", FUZZED)
def test_twenty_minutes_of_files(name: str) -> None:
    assert fuzz(name, 100_000, SECONDS) > 50

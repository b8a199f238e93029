"""Every file of a run's folder and of the cache, damaged in every way: a sentence, or nothing that depends on it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import triptych

SMALL = ["scale=smoke", "budget.steps=2", "data.train=300", "data.validation=3", "data.test=3", "data.test_long=3"]
SMALL += ["tokenizer.vocab_size=420", "cache=cache", "name=x", "metric=[bleu]", "search.max_length_extra=1"]
COMMANDS = {
    "report": ("report", "runs"),
    "translate": ("translate", "run=runs/x", "search_tokens=64"),
    "evaluate": ("evaluate", "run=runs/x", "split=validation"),
    "train": ("train", *SMALL),
}


def flipped(content: bytes) -> bytes:
    draw = random.Random(len(content))
    changed = bytearray(content)
    for _ in range(min(200, len(content))):
        changed[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def to_bytes(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def to_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": to_bytes(lambda content: b""),
    "truncated": to_bytes(lambda content: content[: len(content) // 2]),
    "garbage": to_bytes(lambda content: random.Random(1).randbytes(500)),
    "flipped": to_bytes(flipped),
    "wrong shape": to_bytes(lambda content: b'{"a": [1, 2], "test": [1], "train": 3, "overrides": 5}'),
    "a list": to_bytes(lambda content: b"[1]"),
    "not a number": to_bytes(lambda content: b'{"validation": {"loss": NaN}, "test": {"test": {"bleu": NaN}}}'),
    "nested": to_bytes(lambda content: b"[" * 100_000),
    "a folder": to_folder,
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    done = triptych("train", *SMALL, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def cases(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Give each file with each damage and each command that may read it."""
    for path in sorted(path for top in ("runs/x", "cache") for path in (folder / top).rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if not name.endswith((".lock", "report.html")) and ".locks" not in name:
            yield from ((name, damage, command) for damage in DAMAGES for command in COMMANDS)


def outcome(finished: Path, place: Path, name: str, damage: str, command: str) -> str | None:
    """Damage a file of a copy, give a command, and return what is wrong with how that ended."""
    shutil.copytree(finished, place, symlinks=True)
    if command == "train":  # as if it had been stopped before its result was written
        (place / "runs" / "x" / "result.json").unlink(missing_ok=name != "runs/x/result.json")
    if (path := place / name).exists():
        DAMAGES[damage](path)
    done = triptych(*COMMANDS[command], cwd=place, stdin="a red house\n")
    shutil.rmtree(place)
    said = done.stderr.strip().splitlines()
    if done.returncode not in (0, 2):
        return f"status {done.returncode}: {done.stderr[-300:]}"
    if "Traceback" in done.stderr + done.stdout or (done.returncode and not said[-1].startswith("triptych: ")):
        return done.stderr[-300:]
    return None


def wrong(finished: Path, tmp_path: Path, chosen: list[tuple[str, str, str]]) -> list[str]:
    return [
        f"{' '.join(case)}: {found}"
        for number, case in enumerate(chosen)
        if (found := outcome(finished, tmp_path / str(number), *case))
    ]


def test_a_sample_of_all_files_with_every_damage(finished: Path, tmp_path: Path) -> None:
    quick = [case for case in cases(finished) if case[2] != "train"]
    assert not wrong(finished, tmp_path, random.Random(25).sample(quick, 12))


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("command", COMMANDS)
def test_all_files_with_every_damage(command: str, finished: Path, tmp_path: Path) -> None:
    assert not wrong(finished, tmp_path, [case for case in cases(finished) if case[2] == command])


def test_a_run_that_cannot_be_written_is_scored_all_the_same(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its scores were lost."""

    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("triptych.evaluation.run.save_evaluation", refuse)
    done = triptych("evaluate", "run=runs/x", "split=validation", cwd=finished)
    assert done.returncode == 0, done.stderr
    assert "BLEU" in done.stdout


def test_a_damaged_entry_of_the_cache_is_named_and_made_again(finished: Path, tmp_path: Path) -> None:
    for number, pattern in enumerate(("cache/stores/*/train.src.ids", "cache/tokenizers/*/joint.model")):
        place = tmp_path / str(number)
        shutil.copytree(finished, place)
        shutil.rmtree(place / "runs")
        (path,) = place.glob(pattern)
        path.write_bytes(flipped(path.read_bytes()))
        done = triptych("train", *SMALL, cwd=place)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert f"{path.parent.name}/{path.name} cannot be read (its checksum is wrong)" in done.stderr
        shutil.rmtree(path.parent)
        assert triptych("train", *SMALL, cwd=place).returncode == 0

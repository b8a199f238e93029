"""With a cold cache, what several ranks need is made by one of them, while the others wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from triptych.data import tokenizer
from triptych.data.corpus import TextCorpus
from triptych.data.pair_source import FilePair
from triptych.files import made_once

RANKS = 4


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often text was read and a tokenizer trained, each slowly."""
    found = {"__iter__": 0, "train_model": 0}

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **options: Any) -> Any:
            found[name] += 1
            time.sleep(0.2)
            return function(*given, **options)

        return call

    for place, name in ((FilePair, "__iter__"), (tokenizer, "train_model")):
        monkeypatch.setattr(place, name, counted(name, getattr(place, name)))
    return found


def corpus(folder: Path) -> TextCorpus:
    names: dict[str, Any] = {"train": "train", "validation": "val", "test": []}
    return TextCorpus(
        name="text",
        **names,
        src="en",
        tgt="fr",
        directions=None,
        pivot=None,
        dir=str(folder),
        cache=str(folder / "cache"),
        max_length=None,
        max_length_ratio=None,
        join=None,
    )


def test_several_ranks_read_each_file_and_train_the_tokenizer_once(tmp_path: Path, times: dict[str, int]) -> None:
    for split in ("train", "val"):
        for language in ("en", "fr"):
            (tmp_path / f"{split}.{language}").write_text("".join(f"word{n} of {n % 7}\n" for n in range(300)))
    trainer = tokenizer.SentencePieceTrainer(
        algorithm="bpe",
        vocab_size=60,
        joint=True,
        byte_fallback=False,
        train_lines=None,
        bpe_dropout=0.0,
        unigram_alpha=None,
    )
    with ThreadPoolExecutor(RANKS) as ranks:
        texts = [*ranks.map(lambda _: corpus(tmp_path), range(RANKS))]
        trained = [*ranks.map(lambda text: trainer.fit(text, tmp_path / "cache"), texts)]
    assert times == {"__iter__": 2, "train_model": 1}
    assert len({one.fingerprint for one in trained}) == 1


def test_what_failed_is_made_by_the_next(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), made_once(tmp_path / "it"):
        raise ZeroDivisionError
    with made_once(tmp_path / "it") as is_missing:
        assert is_missing
        (tmp_path / "it").mkdir()
    with made_once(tmp_path / "it") as is_missing:
        assert not is_missing

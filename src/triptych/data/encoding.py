"""From lines to files of ids: block by block, on up to 16 cores, and from where it was cut off."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence, Set
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import count, repeat
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from rich.console import Console
from rich.progress import track

from triptych.contract.vocabulary import SIDES
from triptych.data.corpus import Pairs
from triptych.data.ragged_array import Ragged, take
from triptych.data.tokenizer import Tokenizer
from triptych.errors import UserError
from triptych.files import replacing

BLOCK = 20_000
"""Pairs encoded at a time: Python's lists of ids are some twenty times as large as the arrays made of them."""
MANY = 10 * BLOCK
"""Pairs from which on it is worth starting processes, and showing how far they are."""
WORDS = 500_000
"""Words of a side kept with their pieces, some 100 MB a process."""
PARTS = ("index", *(f"{side}.{part}" for side in SIDES for part in ("ids", "offsets")))


@contextmanager
def growing(folder: Path) -> Iterator[Path | None]:
    """Gives a folder to fill, which takes the name ``folder`` at the end and stays as it is if the block raises.

    Gives None where ``folder`` is there. A second process waits at the door until the first has left.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = folder.with_name(f".{folder.name}")
    with ExitStack() as locked:
        if not folder.exists():
            locked.enter_context(FileLock(folder.with_name(f".{folder.name}.lock")))
        if folder.exists():
            yield None
            return
        unfinished.mkdir(exist_ok=True)
        yield unfinished
        for journal in unfinished.glob("*.journal"):
            journal.unlink()
        unfinished.rename(folder)


def encode_split(
    folder: Path,
    name: str,
    pairs: Pairs,
    tokenizer: Tokenizer,
    dtypes: dict[str, str],
    max_length: int | None,
    max_length_ratio: float | None,
) -> dict[str, int]:
    """Appends the ids of a split to the files that ``Store`` opens, and returns the counts of dropped pairs.

    After every block a journal says how far the files are, by which an interrupted call is gone on with.
    """
    journal = folder / f"{name}.journal"
    paths = {part: folder / f"{name}.{part}" for part in PARTS}
    state = json.loads(journal.read_text()) if journal.exists() else None
    if state is None or any(path.stat().st_size < state["sizes"][part] for part, path in paths.items()):
        for part, path in paths.items():
            path.write_bytes(np.zeros(1, "<i8").tobytes() if part.endswith("offsets") else b"")
        sizes = {part: path.stat().st_size for part, path in paths.items()}
        state = {"done": 0, "sizes": sizes, "pieces": [0, 0], "length": 0, "ratio": 0}
    with ExitStack() as files:
        outputs = {part: files.enter_context(path.open("r+b")) for part, path in paths.items()}
        for part, output in outputs.items():
            output.truncate(state["sizes"][part])
            output.seek(0, os.SEEK_END)
        for block in _encoded(tokenizer, pairs, state["done"]):
            longest, shortest = (choose(*(ids.lengths for ids in block)) for choose in (np.maximum, np.minimum))
            too_long = longest > (np.inf if max_length is None else max_length)
            uneven = longest > (np.inf if max_length_ratio is None else max_length_ratio * shortest)
            keep = ~(too_long | uneven)
            outputs["index"].write((state["done"] + np.flatnonzero(keep)).astype("<i8").tobytes())
            for i, (side, ids) in enumerate(zip(SIDES, block, strict=True)):
                kept = ids.flat[np.repeat(keep, ids.lengths)]
                outputs[f"{side}.ids"].write(kept.astype(dtypes[side]).tobytes())
                ends = state["pieces"][i] + np.cumsum(ids.lengths[keep])
                outputs[f"{side}.offsets"].write(ends.astype("<i8").tobytes())
                state["pieces"][i] += len(kept)
            state["done"] += len(keep)
            state["length"] += int(too_long.sum())
            state["ratio"] += int((uneven & ~too_long).sum())
            for part, output in outputs.items():
                output.flush()
                os.fsync(output.fileno())  # the journal must never be ahead of the disk
                state["sizes"][part] = output.tell()
            _write(journal, state)
    if state["done"] == state["length"] + state["ratio"]:
        raise UserError(
            f"data.max_length={max_length} and data.max_length_ratio={max_length_ratio} leave no training pair;"
            " raise them."
        )
    return {reason: state[reason] for reason in ("length", "ratio")}


def _write(journal: Path, state: dict[str, Any]) -> None:
    with replacing(journal) as beside:
        beside.write_text(json.dumps(state))


def _encoded(tokenizer: Tokenizer, pairs: Pairs, first: int) -> Iterator[tuple[Ragged, Ragged]]:
    """The blocks of a split from a pair on."""
    blocks = range(first, len(pairs.src), BLOCK)
    if len(blocks) * BLOCK < MANY:
        encoder = Encoder(tokenizer, pairs)
        yield from (encoder(start, start + BLOCK) for start in blocks)
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy the threads' locks, and not the threads
    workers = min(16, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, context, _begin_worker, (tokenizer, pairs)) as pool:
        waiting: deque[Future[tuple[Ragged, Ragged]]] = deque()
        for start in track(blocks, "encoding", console=Console(stderr=True), transient=True):
            waiting.append(pool.submit(_work, start, start + BLOCK))
            if len(waiting) > 2 * workers:  # no more than the disk takes
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class WholeLines:
    """``Tokenizer.encode``, in arrays."""

    def __init__(self, tokenizer: Tokenizer, side: str) -> None:
        self._tokenizer = tokenizer
        self._side = side

    def encode(self, lines: Sequence[str]) -> Ragged:
        """The ids of each line."""
        return Ragged.of(self._tokenizer.encode(lines, self._side, threads=1))


class WordByWord:
    """``Tokenizer.encode``, but of every word once, which is many times as fast.

    SentencePiece learns no piece that reaches over a space, so the pieces of a line are those of its words. Not of the
    unigram model, which settles ties by sums of 32 bits over the whole line.
    """

    def __init__(self, tokenizer: Tokenizer, side: str) -> None:
        self._tokenizer = tokenizer
        self._side = side
        self._forget()

    def _forget(self) -> None:
        space = self._tokenizer.encode([" "], self._side)[0][:1]  # encode puts another one before every line
        self._places = {"": 0}
        self._flat, self._lengths = np.array(space, np.int32), np.array([len(space)])

    def encode(self, lines: Sequence[str]) -> Ragged:
        """The ids of each line."""
        if len(self._places) > WORDS:
            self._forget()
        text = " ".join(lines).replace("▁", " ")
        words = text.split(" ")
        places = np.fromiter(map(self._places.get, words, repeat(-1)), np.int64, count=len(words))
        if len(unknown := np.flatnonzero(places < 0)):
            self._learn({words[i] for i in unknown})
            places[unknown] = [self._places[words[i]] for i in unknown]
        counts = np.array([line.count(" ") + line.count("▁") + 1 for line in lines])
        lengths = self._lengths[places]
        ends = np.cumsum(counts)
        lengths[(ends - 1)[np.array([not line for line in lines], bool)]] = 0  # the word of an empty line is none
        flat, _ = take(self._flat, (np.cumsum(self._lengths) - self._lengths)[places], lengths)
        return Ragged(flat, np.diff(np.concatenate([[0], np.cumsum(lengths)[ends - 1]])))

    def _learn(self, words: Set[str]) -> None:
        new = sorted(words)
        ids = Ragged.of(self._tokenizer.encode(new, self._side, threads=1))
        self._places |= zip(new, count(len(self._places)))
        self._flat = np.concatenate([self._flat, ids.flat])
        self._lengths = np.concatenate([self._lengths, ids.lengths])


class Encoder:
    """The blocks of a split."""

    def __init__(self, tokenizer: Tokenizer, pairs: Pairs) -> None:
        kind = WholeLines if tokenizer.algorithm == "unigram" else WordByWord
        self._sides = [(lines, kind(tokenizer, side)) for lines, side in zip(pairs, SIDES, strict=True)]

    def __call__(self, start: int, stop: int) -> tuple[Ragged, Ragged]:
        """The ids of the pairs from ``start`` up to ``stop``."""
        src, tgt = (encoder.encode(lines[start:stop]) for lines, encoder in self._sides)
        return src, tgt


_encoder: Encoder


def _begin_worker(tokenizer: Tokenizer, pairs: Pairs) -> None:
    global _encoder
    _encoder = Encoder(tokenizer, pairs)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed tells nobody."""
    if parent := multiprocessing.parent_process():
        parent.join()
    os._exit(1)


def _work(start: int, stop: int) -> tuple[Ragged, Ragged]:
    return _encoder(start, stop)

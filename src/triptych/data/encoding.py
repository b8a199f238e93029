"""From lines to files of ids: block by block, on all cores, and from where it was cut off."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from triptych.data.corpus import Pairs
from triptych.errors import UserError
from triptych.files import replacing
from triptych.tokenizer import Tokenizer
from triptych.vocabulary import SIDES

BLOCK = 20_000
"""Pairs encoded at a time: Python's lists of ids are some twenty times as large as the arrays made of them."""
MANY = 10 * BLOCK
"""Pairs from which on it is worth starting processes, and showing how far they are."""

WORDS = 500_000
"""Words kept with their pieces, some 100 MB."""
PARTS = ("index", *(f"{side}.{part}" for side in SIDES for part in ("ids", "offsets")))

Block = tuple[list[NDArray[np.int32]], NDArray[np.int64]]
"""Flat ids of both sides, and the pieces of each pair (n, 2)."""


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
        for flat, lengths in _encoded(tokenizer, pairs, state["done"]):
            longest, shortest = lengths.max(1), lengths.min(1)
            too_long = longest > (np.inf if max_length is None else max_length)
            uneven = longest > (np.inf if max_length_ratio is None else max_length_ratio * shortest)
            keep = ~(too_long | uneven)
            outputs["index"].write((state["done"] + np.flatnonzero(keep)).astype("<i8").tobytes())
            for i, side in enumerate(SIDES):
                ids = flat[i][np.repeat(keep, lengths[:, i])].astype(dtypes[side])
                outputs[f"{side}.ids"].write(ids.tobytes())
                ends = state["pieces"][i] + np.cumsum(lengths[keep, i])
                outputs[f"{side}.offsets"].write(ends.astype("<i8").tobytes())
                state["pieces"][i] += len(ids)
            state["done"] += len(keep)
            state["length"] += int(too_long.sum())
            state["ratio"] += int((uneven & ~too_long).sum())
            for part, output in outputs.items():
                output.flush()
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


def _encoded(tokenizer: Tokenizer, pairs: Pairs, first: int) -> Iterator[Block]:
    """The blocks of a split from a pair on."""
    count = len(pairs.src)
    blocks = range(first, count, BLOCK)
    if count - first < MANY:
        encoder = Encoder(tokenizer, pairs)
        yield from (encoder(start) for start in blocks)
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy the threads' locks, and not the threads
    workers = os.cpu_count() or 1
    with ProcessPoolExecutor(workers, context, _begin_worker, (tokenizer, pairs)) as pool:
        waiting: deque[Future[Block]] = deque()
        for start in track(blocks, "encoding", console=Console(stderr=True), transient=True):
            waiting.append(pool.submit(_work, start))
            if len(waiting) > 2 * workers:  # no more than the disk takes
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class Encoder:
    """``Tokenizer.encode``, but of every word once, which is some ten times as fast.

    SentencePiece learns no piece that reaches over a space, so the pieces of a line are those of its words.
    """

    def __init__(self, tokenizer: Tokenizer, pairs: Pairs) -> None:
        self._tokenizer = tokenizer
        self._pairs = pairs
        # A space with nothing behind it; encode puts one before every line.
        self._space = {side: tokenizer.encode([" "], side)[0][:1] for side in SIDES}
        self._words = {side: {"": space} for side, space in self._space.items()}

    def __call__(self, start: int) -> Block:
        """The block of pairs that begins at ``start``."""
        flat, lengths = [], []
        for lines, side in zip(self._pairs, SIDES, strict=True):
            rows = self.encode(lines[start : start + BLOCK], side)
            counts = [sum(map(len, words)) for words in rows]
            lengths.append(np.array(counts, np.int64))
            pieces = chain.from_iterable(chain.from_iterable(rows))
            flat.append(np.fromiter(pieces, np.int32, count=sum(counts)))
        return flat, np.stack(lengths, axis=1)

    def encode(self, lines: Sequence[str], side: str) -> list[list[list[int]]]:
        """The ids of each word of each line."""
        split = [line.replace("▁", " ").split(" ") if line else [] for line in lines]
        if len(self._words[side]) > WORDS:
            self._words[side] = {"": self._space[side]}
        words = self._words[side]
        new = list({word for line in split for word in line if word not in words})
        words.update(zip(new, self._tokenizer.encode(new, side), strict=True))
        return [[words[word] for word in line] for line in split]


_encoder: Encoder


def _begin_worker(tokenizer: Tokenizer, pairs: Pairs) -> None:
    global _encoder
    _encoder = Encoder(tokenizer, pairs)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one


def _work(start: int) -> Block:
    return _encoder(start)

"""From lines to ids, block by block, on up to 16 CPU cores."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence, Set
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import count, repeat

import numpy as np
from rich.console import Console
from rich.progress import track

from triptych.contract.vocabulary import SIDES
from triptych.data.pairs import Pairs
from triptych.data.ragged_array import RaggedArray, take_slices
from triptych.data.tokenizer import OWN, Tokenizer

BLOCK_PAIRS = 20_000
"""Number of pairs encoded at a time. Python's lists of ids take about twenty times the memory of the arrays."""
MIN_PARALLEL_PAIRS = 10 * BLOCK_PAIRS
"""Number of pairs from which several processes encode, and a progress bar is shown."""
MAX_WORKERS = 16
"""Maximum number of processes."""
MAX_CACHED_WORDS = 500_000
"""Number of words per side after which the cache of their ids is emptied; about 100 MB in each process."""


def encode_blocks(tokenizer: Tokenizer, pairs: Pairs, first: int) -> Iterator[tuple[RaggedArray, RaggedArray]]:
    """Yield the ids of both sides in blocks of ``BLOCK_PAIRS`` pairs, in order, from pair ``first`` on."""
    starts = range(first, len(pairs.src), BLOCK_PAIRS)
    if len(starts) * BLOCK_PAIRS < MIN_PARALLEL_PAIRS:
        encoder = PairEncoder(tokenizer, pairs)
        yield from (encoder(start, start + BLOCK_PAIRS) for start in starts)
        return
    context = multiprocessing.get_context("spawn")  # a forked process would inherit locks of threads that it lacks
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(MAX_WORKERS, cores)
    with ProcessPoolExecutor(workers, context, _start_worker, (tokenizer, pairs)) as pool:
        pending: deque[Future[tuple[RaggedArray, RaggedArray]]] = deque()
        for start in track(starts, "encoding", console=Console(stderr=True), transient=True):
            with _interrupts_held_back():  # the first call starts the processes
                pending.append(pool.submit(_encode_in_worker, start, start + BLOCK_PAIRS))
            if len(pending) > 2 * workers:  # bounds the memory of blocks that wait to be written
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Hold SIGINT back. Processes that are started meanwhile never get it: Ctrl-C is handled by this one."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class LineEncoder:
    """Encode whole lines with the tokenizer."""

    def __init__(self, tokenizer: Tokenizer, side: str) -> None:
        self._tokenizer = tokenizer
        self._side = side

    def encode(self, lines: Sequence[str]) -> RaggedArray:
        """Return the ids of each line."""
        return RaggedArray.from_rows(self._tokenizer.encode(lines, self._side, threads=1))


class WordCacheEncoder:
    """Encode each distinct word once and join the cached ids into lines: the same ids, many times faster.

    SentencePiece learns no piece that crosses a space, so the pieces of a line are those of its words. This does not
    hold for the unigram algorithm, which breaks ties by 32-bit sums over the whole line, and need not hold for models
    of the user's own.
    """

    def __init__(self, tokenizer: Tokenizer, side: str) -> None:
        self._tokenizer = tokenizer
        self._side = side
        self._clear_cache()

    def _clear_cache(self) -> None:
        # The empty word is a space alone. Encoding puts another space before every line, hence the first id only.
        space = self._tokenizer.encode([" "], self._side)[0][:1]
        self._word_ids = {"": 0}
        self._flat, self._lengths = np.array(space, np.int32), np.array([len(space)])

    def encode(self, lines: Sequence[str]) -> RaggedArray:
        """Return the ids of each line."""
        if len(self._word_ids) > MAX_CACHED_WORDS:
            self._clear_cache()
        text = " ".join(lines).replace("▁", " ")
        words = text.split(" ")
        cached = np.fromiter(map(self._word_ids.get, words, repeat(-1)), np.int64, count=len(words))
        if len(unknown := np.flatnonzero(cached < 0)):
            self._add_words({words[i] for i in unknown})
            cached[unknown] = [self._word_ids[words[i]] for i in unknown]
        words_per_line = np.array([line.count(" ") + line.count("▁") + 1 for line in lines])
        lengths = self._lengths[cached]
        line_ends = np.cumsum(words_per_line)
        # An empty line splits into one empty word, which must not become a space.
        lengths[(line_ends - 1)[np.array([not line for line in lines], bool)]] = 0
        flat, _ = take_slices(self._flat, (np.cumsum(self._lengths) - self._lengths)[cached], lengths)
        return RaggedArray(flat, np.diff(np.concatenate([[0], np.cumsum(lengths)[line_ends - 1]])))

    def _add_words(self, words: Set[str]) -> None:
        new = sorted(words)
        ids = RaggedArray.from_rows(self._tokenizer.encode(new, self._side, threads=1))
        self._word_ids |= zip(new, count(len(self._word_ids)))
        self._flat = np.concatenate([self._flat, ids.flat])
        self._lengths = np.concatenate([self._lengths, ids.lengths])


class PairEncoder:
    """Encode both sides of any range of pairs."""

    def __init__(self, tokenizer: Tokenizer, pairs: Pairs) -> None:
        encoder = LineEncoder if tokenizer.algorithm in ("unigram", OWN) else WordCacheEncoder
        self._sides = [(lines, encoder(tokenizer, side)) for lines, side in zip(pairs, SIDES, strict=True)]

    def __call__(self, start: int, stop: int) -> tuple[RaggedArray, RaggedArray]:
        """Return the source and target ids of the pairs from ``start`` up to, not including, ``stop``."""
        src, tgt = (encoder.encode(lines[start:stop]) for lines, encoder in self._sides)
        return src, tgt


_worker_encoder: PairEncoder


def _start_worker(tokenizer: Tokenizer, pairs: Pairs) -> None:
    global _worker_encoder
    _worker_encoder = PairEncoder(tokenizer, pairs)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """Wait for the parent process and exit when it ends, also when it is killed and cannot stop its workers."""
    if parent := multiprocessing.parent_process():
        parent.join()
    os._exit(1)


def _encode_in_worker(start: int, stop: int) -> tuple[RaggedArray, RaggedArray]:
    return _worker_encoder(start, stop)

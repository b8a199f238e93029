"""Measure data preparation at the size of WMT'14: text to ids, planning of epochs, loading of batches.

    python -m benchmarks.data [--pairs 1000000] [--lengths 40800000]

Prints one JSON object, and writes it to benchmarks/results/data.json. Every part runs in a process of its own; its peak
memory includes its children's (on Linux).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results" / "data.json"
WORDS = 30_000
MEAN, DEVIATION = 25, 15
"""Mean and standard deviation of words per sentence, as in WMT'14 English-French; clipped to 1 to 100 words."""


def sentence_lengths(random: np.random.Generator, count: int) -> np.ndarray:
    """Draw sentence lengths in words, (count,)."""
    return random.normal(MEAN, DEVIATION, count).round().clip(1, 100).astype(np.int64)


def write_text(folder: Path, pairs: int) -> None:
    """Write random text. As in natural text, a word of higher rank is rarer (Zipf) and longer."""
    random = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    frequency = 1 / np.arange(1, 27)
    sizes = (
        2 + (6 * np.log(np.arange(1, WORDS + 1)) / np.log(WORDS)).round().astype(int) + random.integers(-1, 2, WORDS)
    )
    words = np.array(["".join(random.choice(letters, size, p=frequency / frequency.sum())) for size in sizes])
    zipf = 1 / np.arange(1, WORDS + 1)
    for name, count in (("train", pairs), ("val", 100), ("test", 100)):
        for language in ("en", "fr"):
            with (folder / f"{name}.{language}").open("w") as file:
                for start in range(0, count, 50_000):
                    lengths = sentence_lengths(random, min(50_000, count - start))
                    drawn = words[random.choice(WORDS, lengths.sum(), p=zipf / zipf.sum())]
                    for row in np.split(drawn, np.cumsum(lengths)[:-1]):
                        file.write(" ".join(row) + "\n")


def prepare(folder: Path, pairs: int) -> dict[str, float]:
    """Turn text into ids, and return the seconds of each stage.

    The stages: read and check; train a BPE of 32,000 pieces on a part; encode and store; open the stored ids again.
    """
    from triptych.data import store
    from triptych.data.corpus import TextCorpus
    from triptych.data.tokenizer import SentencePieceTrainer

    def corpus() -> TextCorpus:
        return TextCorpus(
            name="synthetic",
            src="en",
            tgt="fr",
            dir=str(folder),
            train="train",
            validation="val",
            test=["test"],
            cache=str(folder / "cache"),
            max_length=256,
            max_length_ratio=9,
            directions=None,
            pivot=None,
        )

    trainer = SentencePieceTrainer(
        algorithm="bpe", joint=True, byte_fallback=True, train_lines=100_000, vocab_size=32_000
    )
    seconds = {}
    began = time.perf_counter()
    text = corpus()
    _ = text.fingerprint  # reading includes computing the fingerprint
    seconds["read"] = time.perf_counter() - began
    began = time.perf_counter()
    tokenizer = trainer.fit(text, folder / "cache")
    seconds["tokenizer"] = time.perf_counter() - began
    began = time.perf_counter()
    stores = store.prepare(text, tokenizer, folder / "cache", 256, 9)
    seconds["encode"] = time.perf_counter() - began
    began = time.perf_counter()
    text = corpus()
    store.prepare(text, trainer.fit(text, folder / "cache"), folder / "cache", 256, 9)
    seconds["open"] = time.perf_counter() - began
    pieces = int(sum(len(ids) for ids in stores["train"].ids.values()))
    spent = seconds["read"] + seconds["encode"]
    return {**seconds, "pairs_per_minute": 60 * pairs / spent, "pieces_per_side": pieces / pairs / 2}


def plan(folder: Path, count: int) -> dict[str, float]:
    """Plan one epoch of batches of 25,000 tokens a side, and return the seconds."""
    from triptych.data import batching

    random = np.random.default_rng(0)
    lengths = np.stack([sentence_lengths(random, count) for _ in range(2)], axis=1).astype(np.int32)
    began = time.perf_counter()
    batches = batching.plan(lengths, 25_000, seed=1, epoch=0)
    return {"seconds": time.perf_counter() - began, "batches": len(batches)}


def load(folder: Path, _: int) -> dict[str, float]:
    """Load batches of 25,000 tokens a side with one worker.

    Returns source and target tokens a second, after the first batch.
    """
    from torch.utils.data import DataLoader

    from triptych.contract.vocabulary import LanguageTags
    from triptych.data import batching
    from triptych.data.datamodule import StoredBatches
    from triptych.data.store import Store

    (stored,) = (path for path in (folder / "cache" / "stores").iterdir() if not path.name.startswith("."))
    store = Store(stored, "train", {0: LanguageTags()})
    made = StoredBatches(store)
    stream = batching.Stream(store.lengths, tokens=25_000, seed=1, size=1)
    sampler = batching.Sampler(stream, steps=min(500, stream.epoch_steps), first_step=0, accumulate=1, rank=0)
    batches = iter(DataLoader(made, sampler=sampler, batch_size=None, num_workers=1))
    next(batches)
    began = time.perf_counter()
    tokens = sum(int(batch.host_lengths.sum()) for batch in batches)
    return {"tokens_per_second": tokens / (time.perf_counter() - began)}


def alone(part: Callable[[Path, int], dict[str, Any]], folder: Path, count: int) -> dict[str, Any]:
    """Run a part in a process of its own, and add the peak memory (GiB) of it and its children to its result."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        said, peak = pool.submit(part, folder, count), 0
        while not said.done():
            peak = max(peak, sum(resident(child.pid) for child in multiprocessing.active_children()))
            time.sleep(0.02)
        return {**said.result(), "peak_gib": peak / 2**30}


def resident(process: int | None) -> int:
    """Return the resident bytes of a process and all its descendants. Shared memory counts once per process."""
    folder = Path(f"/proc/{process}")
    try:
        status = (folder / "status").read_text()
        children = [child for task in (folder / "task").iterdir() for child in (task / "children").read_text().split()]
    except OSError:  # the process has ended
        return 0
    own = re.search(r"^VmRSS:\s*(\d+)", status, re.MULTILINE)
    return 1024 * int(own[1] if own else 0) + sum(resident(int(child)) for child in children)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--lengths", type=int, default=40_800_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_text(folder, arguments.pairs)
        parts = {"prepare": (prepare, arguments.pairs), "plan": (plan, arguments.lengths), "load": (load, 0)}
        found = {name: alone(part, folder, count) for name, (part, count) in parts.items()}
    text = json.dumps({"pairs": arguments.pairs, "lengths": arguments.lengths, **found}, indent=2) + "\n"
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()

"""Data at the size of WMT'14: preparing text, planning epochs, loading batches.

    python -m benchmarks.data [--pairs 1000000] [--lengths 40800000]

Prints one JSON object and writes it to benchmarks/results/data.json. Each part runs in a process of its own. Its peak
memory includes its child processes (Linux only).
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

from triptych.data.assumed_lengths import lengths_of_pairs, sentence_lengths
from triptych.runs.folder import write_json

RESULTS = Path(__file__).parent / "results" / "data.json"
WORDS = 30_000
"""Number of distinct words in the synthetic text."""


def write_text(folder: Path, pairs: int) -> None:
    """Write random text. As in natural text (Zipf), frequent words are short and a word's frequency is 1 / its rank."""
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
    """Measure the way from text to ids: read and check, train a BPE of 32,000 pieces, encode, and open it again."""
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
    _ = text.fingerprint  # computed on first use; counted as reading
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
    """Measure planning one epoch in batches of 25,000 tokens a side."""
    from triptych.data.epoch_plan import plan_epoch

    lengths = lengths_of_pairs(count)
    began = time.perf_counter()
    batches = plan_epoch(lengths, 25_000, seed=1, epoch=0)
    return {"seconds": time.perf_counter() - began, "batches": len(batches)}


def change_epoch(folder: Path, count: int) -> dict[str, float]:
    """Measure the longest wait for a batch where an epoch ends, and the memory that the process does not share.

    Pages of mapped files are no part of it: all ranks of a machine map the same. The epoch's last batches are taken a
    minute after its plan: a real epoch takes longer than that.
    """
    from triptych.data.batching import Stream

    cache = folder / "cache"
    cache.mkdir(exist_ok=True)
    began = time.perf_counter()
    stream = Stream(lengths_of_pairs(count), tokens=25_000, seed=1, size=1, cache=cache)
    first = time.perf_counter() - began
    windows = stream.windows(stream.epoch_steps - 100, 2 * stream.epoch_steps)
    next(windows)
    time.sleep(60)
    waits = []
    for _ in range(300):
        began = time.perf_counter()
        next(windows)
        waits.append(time.perf_counter() - began)
    (private,) = re.findall(r"^Private_Dirty: +(\d+) kB", Path("/proc/self/smaps_rollup").read_text(), re.MULTILINE)
    return {"first_plan": first, "longest_wait": max(waits), "private_gib": int(private) / 2**20}


def load(folder: Path, _: int) -> dict[str, float]:
    """Measure loading by one worker: source and target tokens a second, in batches of 25,000 tokens a side.

    The time starts after the first batch.
    """
    from torch.utils.data import DataLoader

    from triptych.contract.vocabulary import LanguageTags
    from triptych.data import batching
    from triptych.data.store import Store
    from triptych.data.stored_batches import StoredBatches

    (stored,) = (path for path in (folder / "cache" / "stores").iterdir() if not path.name.startswith("."))
    store = Store(stored, "train", {0: LanguageTags()})
    dataset = StoredBatches(store)
    stream = batching.Stream(store.lengths, tokens=25_000, seed=1, size=1)
    sampler = batching.Sampler(stream, steps=min(500, stream.epoch_steps), first_step=0, accumulate=1, rank=0)
    batches = iter(DataLoader(dataset, sampler=sampler, batch_size=None, num_workers=1))
    next(batches)
    began = time.perf_counter()
    tokens = sum(int(batch.host_lengths.sum()) for batch in batches)
    return {"tokens_per_second": tokens / (time.perf_counter() - began)}


def measure_alone(part: Callable[[Path, int], dict[str, Any]], folder: Path, count: int) -> dict[str, Any]:
    """Run one part in a process of its own, and add the peak memory of it and its children in GiB to its result."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        future, peak = pool.submit(part, folder, count), 0
        while not future.done():
            peak = max(peak, sum(resident_bytes(child.pid) for child in multiprocessing.active_children()))
            time.sleep(0.02)
        return {**future.result(), "peak_gib": peak / 2**30}


def resident_bytes(process: int | None) -> int:
    """Return the resident memory of a process and its descendants. Memory that they share counts several times."""
    folder = Path(f"/proc/{process}")
    try:
        status = (folder / "status").read_text()
        children = [child for task in (folder / "task").iterdir() for child in (task / "children").read_text().split()]
    except OSError:  # the process has ended
        return 0
    own = re.search(r"^VmRSS:\s*(\d+)", status, re.MULTILINE)
    return 1024 * int(own[1] if own else 0) + sum(resident_bytes(int(child)) for child in children)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--lengths", type=int, default=40_800_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_text(folder, arguments.pairs)
        parts = {"prepare": (prepare, arguments.pairs), "plan": (plan, arguments.lengths), "load": (load, 0)}
        parts["change_epoch"] = (change_epoch, arguments.lengths)
        results = {name: measure_alone(part, folder, count) for name, (part, count) in parts.items()}
    found = {"pairs": arguments.pairs, "lengths": arguments.lengths, **results}
    write_json(RESULTS, found)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()

"""Translate any number of sentences, in batches of similar length."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from triptych.contract.searchable import SearchableModel
from triptych.contract.vocabulary import PAD, LanguageTags
from triptych.data.epoch_plan import Lengths, Rows, plan_sorted
from triptych.decoding.beams import Beams
from triptych.decoding.progress import Progress
from triptych.decoding.search import Candidates, OnStep, evaluation_mode
from triptych.errors import UserError
from triptych.kernels.packed_linear import constant_weights
from triptych.kernels.thread_map import thread_map, worker_count

R = TypeVar("R")
BatchSearch = Callable[[SearchableModel, Tensor, Tensor, Tensor, OnStep], Sequence[R]]
"""A ``Search``, or its ``by_penalty``: called with a model, sources, their lengths, the tokens that translations start
with, and what is called at each step, it returns what it has found for each sentence."""
LONGEST = 10_000
"""Most pieces of a line. With more, attention takes gigabytes, and a search takes hours that no signal ends."""


def decode(
    model: SearchableModel,
    sources: Sequence[Sequence[int]],
    search: BatchSearch[R],
    search_tokens: int,
    device: torch.device | str,
    tags: Sequence[LanguageTags] | None = None,
    progress: Progress | None = None,
) -> list[R]:
    """Translate sentences in batches of similar length, the longest first.

    Args:
        model: on ``device``.
        sources: source ids of each sentence, without special ids; a sentence may be empty.
        search: what translates a batch.
        search_tokens: maximum number of source tokens translated at a time, including padding; on a CPU, batches on
            different threads share them. A sentence with more is translated alone.
        device: where the batches are moved.
        tags: for each sentence, the token that ends its source and the token that starts its translation; None for
            ``</s>`` and ``<s>``.
        progress: counts the batches and the steps of their searches; None where nobody waits for a message.

    Returns:
        For each source, in the order given, what ``search`` has found.

    Raises:
        UserError: ``search_tokens`` is less than 1.
    """
    require_search_tokens(search_tokens)
    tags = [LanguageTags()] * len(sources) if tags is None else tags
    results: dict[int, R] = {}
    lengths = np.array([[len(ids) + 1] for ids in sources], dtype=np.int64).reshape(-1, 1)

    def translate(indices: Rows, check: Callable[[], None]) -> Sequence[R]:
        report = progress.start_batch() if progress else None

        def on_step(beams: Beams, candidates: Candidates, extended: Beams) -> None:
            check()
            if report:
                report(beams, candidates, extended)

        rows = [torch.tensor([*sources[i], tags[i].src_end]) for i in indices]
        starts = torch.tensor([tags[i].tgt_begin for i in indices], device=device)
        src = pad_sequence(rows, batch_first=True, padding_value=PAD).to(device)
        src_lengths = torch.tensor([len(row) for row in rows], device=device)
        found = search(model, src, src_lengths, starts, on_step)
        if progress:
            progress.finish(len(indices))
        return found

    workers = max(1, min(worker_count(device), search_tokens // int(lengths.max(initial=1))))
    batches = batches_for_workers(lengths, search_tokens, workers)
    with evaluation_mode(model), constant_weights():  # for all batches, since those on other threads share the model
        for indices, found in zip(batches, thread_map(translate, batches, workers), strict=True):
            results.update(zip(indices.tolist(), found, strict=True))
    return [results[i] for i in range(len(sources))]


def batches_for_workers(lengths: Lengths, search_tokens: int, workers: int) -> list[Rows]:
    """Divide sentences into batches for workers that share ``search_tokens``, about as many for each of them.

    Otherwise some would wait while the last batches are translated. One batch is not divided: two small ones at a time
    take longer.
    """
    longest = int(lengths.max(initial=1))
    batches = plan_sorted(lengths, max(search_tokens // workers, longest))
    if len(batches) > 1 and len(batches) % workers:
        padded = sum(len(rows) * int(lengths[rows].max()) for rows in batches)
        wanted = math.ceil(len(batches) / workers) * workers
        batches = plan_sorted(lengths, max(math.ceil(padded / wanted), longest))
    return batches


def require_search_tokens(search_tokens: int) -> None:
    """Raise ``UserError`` unless a batch may have a token."""
    if search_tokens < 1:
        raise UserError(f"search_tokens={search_tokens} is not allowed: give an integer of at least 1.")

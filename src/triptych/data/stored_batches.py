"""Load planned batches from a store as padded tensors."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from triptych.contract.batch import Batch
from triptych.contract.vocabulary import EOS, PAD, SIDES
from triptych.data.batching import PlannedBatch
from triptych.data.epoch_plan import Rows
from triptych.data.ragged_array import RaggedArray
from triptych.data.store import Store
from triptych.data.subword_sampling import SubwordSampler


class StoredBatches(Dataset[Batch]):
    """A dataset whose keys are planned batches.

    With a ``sampler``, the pieces of each batch are drawn again, determined by the batch's seed. Batches are planned
    with the largest lengths that may be drawn, so none exceeds the token budget. Its ``step_tokens`` then count the
    actual tokens of this batch and the expected tokens of the others in its window.
    """

    def __init__(self, store: Store, sampler: SubwordSampler | None = None) -> None:
        self.store = store
        self.sampler = sampler

    def __getitem__(self, planned: PlannedBatch) -> Batch:
        rows, step_tokens, seed = planned
        index, tags = self.store.index[rows], self.store.tags(rows)
        src, tgt = (self.store.rows(rows, side) for side in SIDES)
        if self.sampler is not None:
            expected = self.sampler.expected_lengths(np.stack([src.lengths, tgt.lengths], axis=1))
            src, tgt = self.sampler([src, tgt], index, seed)
            step_tokens = step_tokens + np.array([len(src.flat), len(tgt.flat)]) - expected.sum(0)
        return collate(src, tgt, index, step_tokens, tags)


def collate(
    src: RaggedArray, tgt: RaggedArray, index: Rows, step_tokens: NDArray[np.int64], tags: NDArray[np.int64]
) -> Batch:
    """Build the same batch as ``Batch.from_ids``, from arrays instead of Python lists.

    Args:
        src: source ids without special ids; ``tgt`` likewise.
        index: (B,) positions of the pairs in the corpus.
        step_tokens: (2,) see ``Batch``.
        tags: (B, 2) last source id and first target id of each pair.
    """
    src_ids, src_lengths = _pad(src, begin=tags[:, :0], end=tags[:, 0])
    tgt_ids, tgt_lengths = _pad(tgt, begin=tags[:, 1:], end=EOS)
    return Batch(
        src=src_ids,
        tgt=tgt_ids,
        src_lengths=src_lengths,
        tgt_lengths=tgt_lengths,
        index=torch.from_numpy(index),
        host_lengths=torch.stack([src_lengths, tgt_lengths]).numpy(),
        step_tokens=torch.from_numpy(step_tokens),
    )


def _pad(ids: RaggedArray, begin: NDArray[np.int64], end: NDArray[np.int64] | int) -> tuple[Tensor, Tensor]:
    """Add the first and last ids of each row and pad the rows on the right.

    Args:
        ids: B rows of ids.
        begin: (B, 0 or 1) first id of each row, if it has one.
        end: (B,) last id of each row, or one for all rows.

    Returns:
        (B, length of the longest row) padded ids, and the (B,) lengths.
    """
    first = begin.shape[1]
    lengths = first + ids.lengths + 1
    columns = np.arange(lengths.max())
    padded = np.full((len(lengths), lengths.max()), PAD, np.int64)
    padded[:, :first] = begin
    padded[(columns >= first) & (columns < lengths[:, None] - 1)] = ids.flat
    padded[np.arange(len(lengths)), lengths - 1] = end
    return torch.from_numpy(padded), torch.from_numpy(lengths)

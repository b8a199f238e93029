"""Peak memory of a training step at a vocabulary of 32,000 and 25,000 target tokens, with our loss and with all logits
kept.

    python -m benchmarks.memory ARM ours|logits

Prints a JSON object; bytes are the most that were resident during the step, less what was before it.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate

from benchmarks.data import sentence_lengths
from benchmarks.ours import ARMS, COMMON, keeping_logits
from triptych import accounting
from triptych.batch import Batch
from triptych.commands import schema
from triptych.commands.hydra_app import conf_dir
from triptych.data import batching
from triptych.vocabulary import Vocabulary

VOCABULARY, TOKENS = 32_000, 25_000


def batch_of(tokens: int) -> Batch:
    """One batch of an epoch whose lengths are those of WMT'14."""
    random = np.random.default_rng(0)
    lengths = np.stack([sentence_lengths(random, 40_000) + 2 for _ in range(2)], axis=1).astype(np.int32)
    rows = lengths[batching.plan(lengths, tokens, seed=1, epoch=0)[0]]
    ids = [[random.integers(6, VOCABULARY, length - 2).tolist() for length in rows[:, side]] for side in (0, 1)]
    return Batch.from_ids(*ids)


def peak(arm: str, loss: str) -> dict[str, int]:
    schema.register()
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        config = compose("train", overrides=[*COMMON, *ARMS[arm]])
    torch.manual_seed(1)
    vocabulary = Vocabulary(src_size=VOCABULARY, tgt_size=VOCABULARY, joint=True, src_tag=4, tgt_tag=5)
    model = instantiate(config.model, vocabulary=vocabulary).train()
    criterion = instantiate(config.loss)
    batch = batch_of(TOKENS)
    accounting.reset_peak_memory("cpu")
    before = accounting.peak_memory_bytes("cpu")
    prediction = model(batch)
    if loss == "ours":
        criterion(prediction, batch.step_tokens, 0.0).loss.backward()
    else:
        keeping_logits(prediction, label_smoothing=0.1).backward()
    return {
        "bytes": accounting.peak_memory_bytes("cpu") - before,
        "targets": int(batch.step_tokens[1]),
        "vocabulary": VOCABULARY,
    }


if __name__ == "__main__":
    print(json.dumps(peak(*sys.argv[1:])))

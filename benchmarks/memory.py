"""Measure the peak memory of a training step, with our loss or with all logits kept.

The step has a vocabulary of 32,000 pieces and more than 25,000 target tokens.

    python -m benchmarks.memory ARM ours|logits

Prints a JSON object. ``bytes`` is the peak resident memory during the step, less that before it. For a step that does
not fit there is ``more_than`` instead, the bytes that were available.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from pathlib import Path

import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate

from benchmarks.ours import ARMS, COMMON
from benchmarks.step_memory import bytes_of_step
from benchmarks.text import Text
from triptych.config import schema
from triptych.config.search_path import conf_dir
from triptych.contract.vocabulary import Vocabulary

VOCABULARY, TOKENS = 32_000, 36_000
"""Vocabulary size, and padded tokens a side that hold a little more than 25,000 target tokens."""


def peak(arm: str, loss: str) -> dict[str, int]:
    schema.register()
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        config = compose("train", overrides=[*COMMON, *ARMS[arm]])
    torch.manual_seed(1)
    vocabulary = Vocabulary(src_size=VOCABULARY, tgt_size=VOCABULARY, joint=True, src_tag=4, tgt_tag=5)
    model = instantiate(config.model, vocabulary=vocabulary).train()
    batch = next(Text(40_000, VOCABULARY, TOKENS).batches(1, workers=0))
    available, held = _of_system("/proc/meminfo", "MemAvailable"), _of_system("/proc/self/status", "VmData")
    # With a limit, an allocation that does not fit raises an error; without, the system kills the process.
    resource.setrlimit(resource.RLIMIT_DATA, (available + held, available + held))
    try:
        found = {"bytes": bytes_of_step(model, instantiate(config.loss) if loss == "ours" else None, batch)}
    except RuntimeError as error:
        if "allocate" not in str(error):
            raise
        found = {"more_than": available}
    return {**found, "targets": int(batch.step_tokens[1]), "vocabulary": VOCABULARY}


def _of_system(path: str, name: str) -> int:
    """Return the bytes of an entry in a file of ``/proc``."""
    return 1024 * int(re.findall(rf"^{name}:\s*(\d+)", Path(path).read_text(), re.MULTILINE)[0])


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ARMS or sys.argv[2] not in ("ours", "logits"):
        sys.exit(f"python -m benchmarks.memory ARM ours|logits, where ARM is one of {', '.join(ARMS)}")
    print(json.dumps(peak(*sys.argv[1:])))

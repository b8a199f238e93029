"""Measure the peak memory of a training step, with our loss and with all logits kept: `make bench-memory`.

The step has a vocabulary of 32,000 pieces and some 34,000 target tokens.

    python -m benchmarks.memory [ARM ours|logits]

Writes benchmarks/results/memory.json and memory.md. With arguments, measures one step in this process and prints a JSON
object: ``bytes`` is the peak resident memory during the step, less that before it. For a step that does not fit there
is ``more_than`` instead, the bytes that were available.
"""

from __future__ import annotations

import json
import math
import re
import resource
import sys
from pathlib import Path
from typing import Any

import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate

from benchmarks.ours import ARMS, COMMON
from benchmarks.page import described, table
from benchmarks.processes import module, run
from benchmarks.setting import RESULTS, machine
from benchmarks.step_memory import bytes_of_step
from benchmarks.text import Text
from triptych.config import schema
from triptych.config.search_path import conf_dir
from triptych.contract.vocabulary import Vocabulary
from triptych.files import replacing
from triptych.runs.folder import write_json

VOCABULARY, TOKENS = 32_000, 36_000
"""Vocabulary size, and padded tokens a side."""
MEASURED = ("transformer", "lm4mt", "rnn_luong")
LOSSES = ("ours", "logits")


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


def page(found: dict[str, Any]) -> str:
    """Return the page of Markdown."""
    rows = []
    for arm, by in found["arms"].items():
        mine, kept = by["ours"], by["logits"]
        # A step that did not fit needed more than the memory available.
        most = f"{kept['bytes'] / 2**30:.2f}" if "bytes" in kept else f"over {kept['more_than'] / 2**30:.1f}"
        share = 100 * mine["bytes"] / kept.get("bytes", kept.get("more_than"))
        ratio = f"{share / 100:.2f}" if "bytes" in kept else f"< {math.ceil(share) / 100:.2f}"
        cells = [f"{mine['targets']:,}", f"{mine['vocabulary']:,}", f"{mine['bytes'] / 2**30:.2f}", most, ratio]
        rows.append([arm, *cells])
    head = ["model", "target tokens", "pieces", "ours, GiB", "all logits kept, GiB", "ratio"]
    explained = (
        "One forward and backward pass in fp32, less what the process held before it. A step that did not fit is shown "
        'as "over" the memory that was available. LM4MT also has logits for the source tokens.'
    )
    lines = ["# Peak memory of a training step", "", f"{described(found['machine'])}.", "", explained, ""]
    return "\n".join(lines + table(head, rows)).rstrip() + "\n"


def main() -> None:
    if len(sys.argv) == 3 and sys.argv[1] in ARMS and sys.argv[2] in LOSSES:
        print(json.dumps(peak(*sys.argv[1:])))
        return
    if len(sys.argv) > 1:
        sys.exit(f"python -m benchmarks.memory [ARM ours|logits], where ARM is one of {', '.join(ARMS)}")
    arms = {arm: {loss: json.loads(run(module("benchmarks.memory", arm, loss))) for loss in LOSSES} for arm in MEASURED}
    found = {"machine": machine(), "arms": arms}
    write_json(RESULTS / "memory.json", found)
    with replacing(RESULTS / "memory.md") as beside:
        beside.write_text(page(found), encoding="utf-8")
    print(page(found))


if __name__ == "__main__":
    main()

"""What the CPU benchmarks share: text, options, JoeyNMT beside us, and the machine that figures are of."""

from __future__ import annotations

import os
import platform
import shutil
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from hydra.utils import instantiate

from benchmarks import joeynmt, ours
from triptych.accounting.peaks import CPU_INFO, device_name, processor_name
from triptych.accounting.threads import THREADS, available_cores
from triptych.config.composition import compose_run
from triptych.data.corpus import Corpus
from triptych.data.tokenizer import Tokenizer
from triptych.kernels.precision import has_bf16
from triptych.runs.versions import versions
from triptych.training.build import prepare_text

RESULTS = Path(__file__).parent / "results"
PEERS: dict[str, dict[str, Any]] = {
    "transformer": joeynmt.transformer(),
    "rnn_luong": joeynmt.rnn("luong", input_feeding=False),
    "rnn_luong_feeding": joeynmt.rnn("luong", input_feeding=True),
    "rnn_bahdanau": joeynmt.rnn("bahdanau", input_feeding=False),
}
"""JoeyNMT's models that are as large as the arms of these names."""
PRECISIONS = ("32-true", "bf16-mixed") if has_bf16() else ("32-true",)
"""Without instructions for bf16, a CPU takes several times as long with it."""
IN_BF16 = "bf16"
"""Precision of the weights that translate."""
TEST = "test_2016_flickr"
JOEYNMT_BATCH = joeynmt.TESTING["batch_size"]


class Setting:
    """The text, prepared once for both programs.

    Args:
        work: keeps the peer's environment. Runs that are there are of other code, and are removed.
        data: folder of Multi30k's files; None downloads them.
    """

    def __init__(self, work: Path, data: Path | None) -> None:
        self.work, self.runs = work, work / "benchmark-runs"
        shutil.rmtree(self.runs, ignore_errors=True)
        self._options = [f"cache={work / 'cache'}", *([] if data is None else [f"data.dir={data}"])]

    def options(self, precision: str) -> list[str]:
        """Return the overrides of a training beside those of its arm."""
        return [*self._options, "data.test=[]", f"strategy.precision={precision}"]

    @cached_property
    def corpus(self) -> Corpus:
        return instantiate(self._config.data, test=[TEST])  # trainings leave the test set out

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return prepare_text(self._config, self.corpus)[0]

    @cached_property
    def test_pairs(self) -> list[tuple[str, str]]:
        """The test set, so ordered that JoeyNMT's batches have sentences of all lengths, and alike."""
        pairs = sorted(zip(*self.corpus.splits[TEST], strict=True), key=lambda pair: len(pair[0].split()))
        batches = -(-len(pairs) // JOEYNMT_BATCH)
        return [pair for batch in range(batches) for pair in pairs[batch::batches]]

    @cached_property
    def joeynmt(self) -> joeynmt.JoeyNMT:
        sides = {split: self.corpus.splits[split] for split in ("train", "validation")}
        sources, targets = zip(*self.test_pairs, strict=True)
        return joeynmt.JoeyNMT(self.work / "joeynmt", {**sides, "test": (sources, targets)}, self.tokenizer)

    @cached_property
    def _config(self) -> Any:
        return compose_run([*ours.COMMON, *ours.ARMS["transformer"], *self._options]).config


def use_all_cores() -> None:
    """Let all programs compute on all cores. Without it, ours leaves cores to programs that are busy when it starts."""
    os.environ.setdefault(THREADS, str(available_cores()))


def machine() -> dict[str, Any]:
    """Return the machine and the versions that the figures of a page were measured with."""
    return {
        "device": device_name("cpu"),
        "processor": processor_name() or platform.processor(),
        **_generation(),
        "capability": torch.backends.cpu.get_cpu_capability() + (" with bf16" if has_bf16() else ""),
        "versions": versions() | {"ctranslate2": version("ctranslate2")},
    }


def _generation() -> dict[str, str]:
    """Return ``generation``, such as ``family 26 model 2``, where the system has it.

    A virtual machine may hide the processor's full name, and generations with the same instructions differ in speed.
    """
    lines = CPU_INFO.read_text(encoding="utf-8").splitlines() if CPU_INFO.exists() else []
    values = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if "cpu family" not in values:
        return {}
    return {"generation": f"family {values['cpu family']} model {values['model']}"}


def page_name(here: dict[str, Any]) -> str:
    """Return the name of the page of such machines, such as ``cpu_avx512_with_bf16_family_26_model_2``."""
    return "_".join(["cpu", *here["capability"].lower().split(), *here.get("generation", "").split()])


def processor_of(here: dict[str, Any]) -> str:
    """Return the processor of a page, and its generation where it was stored."""
    return ", ".join([here["processor"], *([here["generation"]] if "generation" in here else [])])

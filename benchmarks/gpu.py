"""Measure training and decoding on one GPU.

    python -m benchmarks.gpu [--output FOLDER] [--parts peak,trainer,train,decode,recurrent,attention,memory]
                             [--only TEXT] [--seconds 450] [--small]

Sentence lengths as in WMT'14 (``assumed_lengths``), 32,000 pieces, batches of 25,000 padded tokens a side, bf16. The
ids are random, since speed does not depend on them. Writes gpu.json after every measurement, and gpu.md at the end.
What gpu.json has of the same device and PyTorch stays until it is measured again. A measurement that fails leaves its
reason there, and none begins after ``--seconds``. ``--small`` tries out all of it on a CPU, at a size for a laptop.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from omegaconf import DictConfig
from torch import Tensor
from torch._dynamo.utils import counters
from torch.nn.attention import SDPBackend

from benchmarks.gpu_layers import Ways, attention_ways, recurrent_ways
from benchmarks.gpu_page import write_page
from benchmarks.second_half import Pairs, SecondHalf, pairs_of, tokens_of
from benchmarks.single_steps import take_single_steps
from benchmarks.step_memory import bytes_of_step
from benchmarks.stopwatch import Stopwatch
from benchmarks.text import Text
from triptych.accounting.flops import training_flops
from triptych.accounting.memory import peak_memory_bytes, reset_peak_memory
from triptych.accounting.peaks import device_name, peak_flops
from triptych.config import schema
from triptych.config.search_path import conf_dir
from triptych.contract.batch import Batch
from triptych.contract.model import TranslationModel
from triptych.contract.vocabulary import Vocabulary
from triptych.data.assumed_lengths import sentence_lengths
from triptych.decoding import search
from triptych.decoding.batches import decode
from triptych.decoding.search import Search
from triptych.kernels import fused_recurrent
from triptych.layers import attention
from triptych.runs.folder import write_json
from triptych.training.build import build_module, build_trainer, compile_parts, fast_training, silence_lightning
from triptych.training.loss import TranslationLoss

PARTS = ("peak", "trainer", "train", "decode", "recurrent", "attention", "memory")
RECURRENT = ["model.encoder_layers=4", "model.decoder_layers=4", "model.hidden_size=1000", "model.embedding_size=1000"]
ARMS = {
    "transformer_base": ["model=transformer_base"],
    "lm4mt_article": ["model=lm4mt_article", "loss=decayed"],
    "rnn_luong": ["model=rnn_luong", *RECURRENT],
    "rnn_bahdanau": ["model=rnn_bahdanau", *RECURRENT],
}
SMALL = {
    "transformer_base": ["model=transformer_tiny"],
    "lm4mt_article": ["model=lm4mt_tiny", "loss=decayed"],
    "rnn_luong": ["model=rnn_tiny", "model.attention=luong", "model.score=dot"],
    "rnn_bahdanau": ["model=rnn_tiny"],
}

LONG = 100
"""Optimizer steps of a training that shall show that nothing goes wrong."""

Measurements = dict[str, Callable[[], Any]]
"""A function for each measurement, by its name."""


class Bench:
    """The parts of the benchmark. Each method returns its measurements as functions to call.

    Args:
        device: device to measure on.
        small: use sizes for a laptop.
    """

    def __init__(self, device: torch.device, small: bool) -> None:
        self.device, self.watch = device, Stopwatch(device)
        self.arms = SMALL if small else ARMS
        self.tokens, size, pairs = (1_000, 500, 2_000) if small else (25_000, 32_000, 200_000)
        self.steps, self.workers = (4, 0) if small else (31, 2)
        self.gnmt = ["model.hidden_size=16", "model.embedding_size=16"] if small else []
        self.sentences, self.units = (20, 16) if small else (3_003, 1_000)
        self.vocabulary = Vocabulary(src_size=size, tgt_size=size, joint=True, src_tag=4, tgt_tag=5)
        self.text = Text(pairs, size, self.tokens)

    @cached_property
    def measured_peak(self) -> float:
        """FLOP/s of products of 8,192 x 8,192 bf16 matrices (512 x 512 on a CPU): the best of five runs of ten."""
        size = 8192 if self.device.type == "cuda" else 512
        one, other = (torch.randn(size, size, device=self.device, dtype=torch.bfloat16) for _ in range(2))
        return 2 * size**3 / min(self.watch.seconds(lambda: one @ other) for _ in range(5))

    def peak(self) -> Measurements:
        """Peak FLOP/s: measured here, and from the datasheet."""

        def both() -> dict[str, Any]:
            datasheet, source = peak_flops(self.device, "bf16-mixed")
            return {"measured": self.measured_peak, "datasheet": datasheet, "source": source}

        return {"products": both}

    def attention(self) -> Measurements:
        """Milliseconds of one attention, forward and backward, in every way of ``gpu_layers.attention_ways``."""
        return self._layers({n: attention_ways(self.tokens, n, self.device) for n in (16, 32, 64)})

    def recurrent(self) -> Measurements:
        """Milliseconds of one LSTM layer, forward and backward, in both precisions of ``gpu_layers.recurrent_ways``."""
        return self._layers({n: recurrent_ways(self.tokens, n, self.units, self.device) for n in (16, 32)})

    def _layers(self, ways: dict[int, Ways]) -> Measurements:
        timed = self.watch.milliseconds_both_ways
        return {f"{name} {n}": partial(timed, way) for n in ways for name, way in ways[n].items()}

    def train(self) -> Measurements:
        """Tokens and FLOPs a second of every arm, compiled and not; Luong's RNN also as a loop over single steps."""
        found: Measurements = {}
        for compiled in (True, False):
            for arm in self.arms:
                found[f"{arm}{' compiled' if compiled else ''}"] = partial(self._train, arm, compiled)
        loop = partial(self._train, "rnn_luong", compiled=False, step_by_step=True)
        # With weights cast, a layer would not be asked for its own forward pass, which is the loop.
        found["rnn_luong step by step"] = partial(_patched, fused_recurrent, "CUDNN_WITH_BF16", math.inf, loop)
        return found

    def trainer(self) -> Measurements:
        """Tokens a second of every arm in Lightning's Trainer, as ``triptych train`` trains it, with ever new shapes.

        Three trainings besides: with cuDNN's attention, and 100 steps in 16-mixed and of ``rnn_gnmt``.
        """
        steps = 2 * self.steps
        found: Measurements = {arm: partial(self._fit, overrides, steps) for arm, overrides in self.arms.items()}
        half = "bf16-mixed" if self.device.type == "cpu" else "16-mixed"  # a CPU has no such training
        some = self.arms["transformer_base"]
        found[f"transformer_base {half}"] = partial(self._fit, [*some, f"strategy.precision={half}"], LONG)
        found["rnn_gnmt"] = partial(self._fit, ["model=rnn_gnmt", *self.gnmt], LONG)
        every_kernel = [*attention.GPU_KERNELS, SDPBackend.CUDNN_ATTENTION]
        found["transformer_base, cuDNN's attention"] = partial(
            _patched, attention, "GPU_KERNELS", every_kernel, partial(self._fit, some, steps)
        )
        return found

    def _fit(self, overrides: list[str], steps: int) -> dict[str, float]:
        silence_lightning()
        here = "cpu" if self.device.type == "cpu" else "single_gpu"
        config = self._compose([f"strategy={here}", "strategy.precision=bf16-mixed", *overrides])
        torch.manual_seed(1)
        model = instantiate(config.model, vocabulary=self.vocabulary)
        module = build_module(config, model, instantiate(config.loss), steps, tokenizer="")
        timer, began = SecondHalf(steps, self.watch), time.perf_counter()
        callbacks = [*fast_training(config), timer]
        trainer = build_trainer(config, steps=steps, devices=1, callbacks=callbacks, folder=None)
        compile_parts(config, module, self.device)
        trainer.fit(module, train_dataloaders=self.text.loader(steps, self.workers))
        return {
            "tokens_per_second": tokens_of(timer.pairs) / timer.seconds,
            "flops_per_second": training_flops(model, timer.pairs) / timer.seconds,
            "steps": trainer.global_step,
            "seconds": time.perf_counter() - began,
            "last_loss": module.latest["train/loss"],
            "finite": not module.diverged,
        }

    def memory(self) -> Measurements:
        """Peak bytes of a training step, with our loss and with one that keeps all logits."""
        return {f"{arm} {loss}": partial(self._memory, arm, loss) for arm in self.arms for loss in ("ours", "logits")}

    def decode(self) -> Measurements:
        """Seconds for 3,003 sentences with beam size 4, in fp32, as a run translates, and under bf16 autocast.

        Models with random weights seldom end a sentence, so translations have the maximum length, ten pieces more than
        the source. Once more, the device is asked at every step which sentences are finished.
        """
        found: Measurements = {
            f"{arm} {how}": partial(self._decode, arm, how == "bf16") for arm in self.arms for how in ("fp32", "bf16")
        }
        again = partial(self._decode, "transformer_base", False)
        found["transformer_base fp32, asked at every step"] = partial(
            _patched, search, "steps_between_syncs", lambda _: 1, again
        )
        return found

    def _memory(self, arm: str, by: str) -> dict[str, int]:
        model, loss = self._build(arm)
        batch = next(self.text.batches(1, 0)).to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16):
            held = bytes_of_step(model, loss if by == "ours" else None, batch)
        return {"targets": int(batch.step_tokens[1]), "bytes": held}

    def _decode(self, arm: str, autocast: bool) -> float:
        settings = Search(
            beam_size=4,
            length_penalty=0.6,
            max_length_ratio=1.0,
            max_length_extra=10,
            min_length=0,
            stop="exact",
            n_best=1,
        )
        random = np.random.default_rng(2)
        lengths = sentence_lengths(random, self.sentences)
        sources = [random.integers(6, self.vocabulary.src_size, length).tolist() for length in lengths]
        model = self._build(arm)[0].eval()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=autocast):
            translate = partial(decode, model, search=settings, search_tokens=self.tokens, device=self.device)
            translate(sources[:8])
            return self.watch.seconds(lambda: translate(sources), times=1)

    def _train(self, arm: str, compiled: bool, step_by_step: bool = False) -> dict[str, float]:
        """Train twice on batches made before. The first pass compiles and allocates memory; the second is timed."""
        torch._dynamo.reset()
        torch._dynamo.config.recompile_limit = 32
        model, loss = self._build(arm)
        if step_by_step:
            take_single_steps(model)
        if compiled:
            model.compile(dynamic=True)
            loss.compile(dynamic=True)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

        def step(batch: Batch) -> Tensor:
            batch = batch.to(self.device, non_blocking=True)
            with torch.autocast(self.device.type, torch.bfloat16):
                parts = loss(model(batch), batch.step_tokens, 0.0)
            parts.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            return parts.loss.detach()

        batches = [*self.text.batches(self.steps, 0)]
        reset_peak_memory(self.device)
        began = time.perf_counter()
        losses = [step(batch) for batch in batches]
        self.watch.wait()
        first_pass, graphs = time.perf_counter() - began, counters["stats"]["unique_graphs"]
        pairs = Pairs()
        marks = [self.watch.mark()]
        for batch in batches:
            losses.append(step(batch))
            marks.append(self.watch.mark())
            pairs.update(pairs_of(batch))
        self.watch.wait()
        spent = [self.watch.between(*ends) for ends in pairwise(marks)]
        seconds = sum(spent)
        tokens = tokens_of(pairs)
        rate = training_flops(model, pairs) / seconds
        return {
            "tokens_per_second": tokens / seconds,
            "tokens_a_step": tokens / len(spent),
            "milliseconds_a_step": 1000 * seconds / len(spent),
            "milliseconds_of_the_median_step": 1000 * statistics.median(spent),
            "milliseconds_of_the_longest_step": 1000 * max(spent),
            "flops_per_second": rate,
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "seconds_of_the_first_pass": first_pass,
            "graphs_made_while_timed": counters["stats"]["unique_graphs"] - graphs,
            "first_loss": float(losses[0]),
            "last_loss": float(losses[-1]),
            "peak_memory_bytes": peak_memory_bytes(self.device),
        }

    def _compose(self, overrides: list[str]) -> DictConfig:
        schema.register()
        with initialize_config_dir(str(conf_dir()), version_base="1.3"):
            return compose("train", overrides=["log_every=1", *overrides])

    def _build(self, arm: str) -> tuple[TranslationModel, TranslationLoss]:
        config = self._compose(self.arms[arm])
        torch.manual_seed(1)
        model = instantiate(config.model, vocabulary=self.vocabulary)
        return model.train().to(self.device), instantiate(config.loss)


def _patched(module: ModuleType, name: str, value: object, measure: Callable[[], Any]) -> Any:
    with patch.object(module, name, value):
        return measure()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"what is measured ({','.join(PARTS)})")
    parser.add_argument("--seconds", type=float, default=450, help="begin no measurement after this many seconds (450)")
    parser.add_argument("--only", default="", help="measure those alone whose names contain this")
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    parts = arguments.parts.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"--parts has {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if not arguments.small and not torch.cuda.is_available():
        parser.error("there is no GPU; --small tries it out on a CPU")
    device = torch.device("cpu" if arguments.small else "cuda")
    bench, began = Bench(device, arguments.small), time.perf_counter()
    arguments.output.mkdir(parents=True, exist_ok=True)
    output, setting = arguments.output / "gpu.json", {"device": device_name(device), "torch": torch.__version__}
    found: dict[str, Any] = json.loads(output.read_text()) if output.exists() else {}
    found = found if setting.items() <= found.items() else dict(setting)
    for part in parts:
        found.setdefault(part, {})
        for name, measure in getattr(bench, part)().items():
            if arguments.only not in name:
                continue
            if time.perf_counter() - began > arguments.seconds:
                found[part].setdefault(name, "not reached")
                continue
            try:
                found[part][name] = measure()
            except Exception as error:  # go on with the other measurements
                found[part][name] = f"{type(error).__name__}: {error}"[:1000]
            print(f"{time.perf_counter() - began:4.0f} s  {part}, {name}: {json.dumps(found[part][name])}", flush=True)
            write_json(output, found)
    write_page(found, output.with_suffix(".md"))


if __name__ == "__main__":
    main()

"""Measure training and decoding on one GPU.

    python -m benchmarks.gpu [--output FOLDER] [--parts peak,train,trainer,decode,memory,attention] [--seconds 450]
                             [--small]

Sentence lengths as in WMT'14 (``benchmarks.data``), 32,000 pieces, batches of 25,000 padded tokens a side, bf16. The
ids are random, since speed does not depend on them. Writes gpu.json after every measurement. A measurement that fails
leaves its reason there, and none begins after ``--seconds``. ``--small`` tries out all of it on a CPU, at a size for a
laptop.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Callable
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from omegaconf import DictConfig
from torch import Tensor, nn
from torch._dynamo.utils import counters
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from benchmarks.data import sentence_lengths
from benchmarks.memory import bytes_of_step
from benchmarks.text import Text
from triptych.accounting.flops import training_flops
from triptych.accounting.memory import peak_memory_bytes, reset_peak_memory
from triptych.accounting.peaks import device_name, peak_flops
from triptych.config import schema
from triptych.config.search_path import conf_dir
from triptych.contract.batch import Batch
from triptych.contract.model import TranslationModel
from triptych.contract.vocabulary import Vocabulary
from triptych.decoding.batches import decode
from triptych.decoding.search import Search
from triptych.kernels.precision import cast_once
from triptych.layers.attention import dot_product_attention
from triptych.layers.encoder_decoder import RecurrentState
from triptych.layers.recurrent import RecurrentLayer, Weights
from triptych.layers.sequence_layout import SequenceLayout, token_mask
from triptych.runs.folder import write_json
from triptych.sweeps.measure import TokenRates
from triptych.training.build import build_module, build_trainer, compile_parts, fast_training, silence_lightning
from triptych.training.loss import TranslationLoss

ARTICLE_BUDGET = 8.1e17
"""FLOPs of the article's Transformer training (30 hours on a V100), by triptych's count for its 4.37 billion tokens.
The article's own 1.57e18, by 6ND, sends every token through both stacks."""
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
        self.device = device
        self.arms = SMALL if small else ARMS
        self.tokens, size, pairs = (1_000, 500, 2_000) if small else (25_000, 32_000, 200_000)
        self.steps, self.workers = (4, 0) if small else (31, 2)
        self.gnmt = ["model.hidden_size=16", "model.embedding_size=16"] if small else []
        self.sentences = 20 if small else 3_003
        self.vocabulary = Vocabulary(src_size=size, tgt_size=size, joint=True, src_tag=4, tgt_tag=5)
        self.text = Text(pairs, size, self.tokens)

    @cached_property
    def measured_peak(self) -> float:
        """FLOP/s of products of 8,192 x 8,192 bf16 matrices (512 x 512 on a CPU): the best of five runs of ten."""
        size = 8192 if self.device.type == "cuda" else 512
        one, other = (torch.randn(size, size, device=self.device, dtype=torch.bfloat16) for _ in range(2))
        return 2 * size**3 / min(self._seconds(lambda: one @ other) for _ in range(5))

    def peak(self) -> Measurements:
        """Peak FLOP/s: measured here, and from the datasheet."""

        def both() -> dict[str, Any]:
            datasheet, source = peak_flops(self.device, "bf16-mixed")
            return {"measured": self.measured_peak, "datasheet": datasheet, "source": source}

        return {"products": both}

    def attention(self) -> Measurements:
        """Milliseconds of one attention over tokens stored without padding, forward and backward.

        ``masked`` and ``causal`` pad the tokens first; ``packed`` uses a kernel that takes them without padding.
        """
        found: Measurements = {}
        for longest in (16, 32, 64):
            on_host = torch.randint(longest // 2, longest + 1, (self.tokens // longest,))
            lengths = on_host.to(self.device)
            layout = SequenceLayout.from_lengths(lengths, on_host.numpy(), longest)
            rows = int(on_host.sum()) + layout.filling
            qkv = torch.randn(rows, 3, 8, 64, device=self.device, dtype=torch.bfloat16).requires_grad_()
            ways = {
                "masked": partial(_padded, qkv, layout, mask=token_mask(lengths, longest)[:, None, None], causal=False),
                "causal": partial(_padded, qkv, layout, mask=None, causal=True),
            }
            if self.device.type == "cuda":
                ways["packed"] = _varlen(lengths, longest)
            for name, way in ways.items():
                found[f"{name} {longest}"] = partial(self._milliseconds_both_ways, way)
        return found

    def train(self) -> Measurements:
        """Tokens and FLOPs a second of every arm, compiled and not; Luong's RNN also as a loop over single steps."""
        found: Measurements = {}
        for compiled in (True, False):
            for arm in self.arms:
                found[f"{arm}{' compiled' if compiled else ''}"] = partial(self._train, arm, compiled)
        found["rnn_luong step by step"] = partial(self._train, "rnn_luong", compiled=False, step_by_step=True)
        return found

    def trainer(self) -> Measurements:
        """Tokens a second of every arm in Lightning's Trainer, as ``triptych train`` trains it, with ever new shapes.

        Two trainings of 100 steps besides: in 16-mixed, and of ``rnn_gnmt``.
        """
        steps = 2 * self.steps
        found: Measurements = {arm: partial(self._fit, overrides, steps) for arm, overrides in self.arms.items()}
        half = "bf16-mixed" if self.device.type == "cpu" else "16-mixed"  # a CPU has no such training
        some = self.arms["transformer_base"]
        found[f"transformer_base {half}"] = partial(self._fit, [*some, f"strategy.precision={half}"], LONG)
        found["rnn_gnmt"] = partial(self._fit, ["model=rnn_gnmt", *self.gnmt], LONG)
        return found

    def _fit(self, overrides: list[str], steps: int) -> dict[str, float]:
        silence_lightning()
        here = "cpu" if self.device.type == "cpu" else "single_gpu"
        config = self._compose([f"strategy={here}", "strategy.precision=bf16-mixed", *overrides])
        torch.manual_seed(1)
        model = instantiate(config.model, vocabulary=self.vocabulary)
        module = build_module(config, model, instantiate(config.loss), steps, tokenizer="")
        rates, began = TokenRates(), time.perf_counter()
        callbacks = [*fast_training(config), rates]
        trainer = build_trainer(config, steps=steps, devices=1, callbacks=callbacks, folder=None)
        compile_parts(config, module, self.device)
        trainer.fit(module, train_dataloaders=self.text.loader(steps, self.workers))
        return {
            "tokens_per_second": statistics.median(rates.found[len(rates.found) // 2 :]),
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
        the source.
        """
        return {
            f"{arm} {how}": partial(self._decode, arm, how == "bf16") for arm in self.arms for how in ("fp32", "bf16")
        }

    def _memory(self, arm: str, by: str) -> dict[str, int]:
        model, loss = self._build(arm)
        batch = next(self.text.batches(1, 0)).to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16):
            held = bytes_of_step(model, loss if by == "ours" else None, batch)
        return {"targets": int(batch.step_tokens[1]), "bytes": held}

    def _decode(self, arm: str, autocast: bool) -> float:
        search = Search(
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
            translate = partial(decode, model, search=search, search_tokens=self.tokens, device=self.device)
            translate(sources[:8])
            return self._seconds(lambda: translate(sources), times=1)

    def _train(self, arm: str, compiled: bool, step_by_step: bool = False) -> dict[str, float]:
        """Train twice on the same batches. The first pass compiles and allocates memory; the second is timed."""
        torch._dynamo.reset()
        torch._dynamo.config.recompile_limit = 32
        model, loss = self._build(arm)
        if step_by_step:
            _take_single_steps(model)
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

        reset_peak_memory(self.device)
        began = time.perf_counter()
        losses = [step(batch) for batch in self.text.batches(self.steps, self.workers)]
        self._wait()
        first_pass, graphs = time.perf_counter() - began, counters["stats"]["unique_graphs"]
        pairs: Counter[tuple[int, int, bool]] = Counter()
        marks = []
        for batch in self.text.batches(self.steps, self.workers):
            marks.append(self._mark())  # the first step is not timed: workers start during it
            losses.append(step(batch))
            if len(marks) > 1:
                pairs.update((src, tgt, True) for src, tgt in batch.host_lengths.T.tolist())
        marks.append(self._mark())
        self._wait()
        spent = [self._between(*ends) for ends in pairwise(marks[1:])]
        seconds = sum(spent)
        tokens = sum((src + tgt - 2) * count for (src, tgt, _), count in pairs.items())
        rate = training_flops(model, pairs) / seconds
        return {
            "tokens_per_second": tokens / seconds,
            "tokens_a_step": tokens / len(spent),
            "milliseconds_a_step": 1000 * seconds / len(spent),
            "milliseconds_of_the_median_step": 1000 * statistics.median(spent),
            "milliseconds_of_the_longest_step": 1000 * max(spent),
            "flops_per_second": rate,
            "share_of_measured_peak": rate / self.measured_peak,
            "article_budget_minutes": ARTICLE_BUDGET / rate / 60,
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

    def _milliseconds_both_ways(self, forward: Callable[[], Tensor]) -> float:
        def work() -> None:
            forward().sum().backward()

        work()
        return 1000 * statistics.median(self._seconds(work) for _ in range(5))

    def _seconds(self, work: Callable[[], object], times: int = 10) -> float:
        """Return the seconds per call, of ``times`` calls queued on the device."""
        self._wait()
        began = self._mark()
        for _ in range(times):
            work()
        ended = self._mark()
        self._wait()
        return self._between(began, ended) / times

    def _mark(self) -> Any:
        """Return a mark in the device's queue: a CUDA event, which may lie in the future, or the time on a CPU."""
        if self.device.type != "cuda":
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def _between(self, one: Any, other: Any) -> float:
        """Return the seconds between two marks that the device has reached."""
        return one.elapsed_time(other) / 1000 if self.device.type == "cuda" else other - one

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def _padded(qkv: Tensor, layout: SequenceLayout, *, mask: Tensor | None, causal: bool) -> Tensor:
    """As a layer does it: (R, 3, 8, 64) put among padding, attended, and packed again."""
    query, key, value = layout.pad(qkv.flatten(1)).unflatten(-1, (3, 8, 64)).permute(2, 0, 3, 1, 4)
    attended = dot_product_attention(query, key, value, mask=mask, causal=causal, dropout=0.0)
    return layout.unpad(attended.transpose(1, 2).flatten(2))


def _varlen(lengths: Tensor, longest: int) -> Callable[[], Tensor]:
    """Return a call of PyTorch's attention kernel for sentences concatenated without padding."""
    from torch.nn.attention.varlen import varlen_attn

    ends = nn.functional.pad(lengths.cumsum(0), (1, 0)).int()
    query, key, value = (
        torch.randn(int(lengths.sum()), 8, 64, device=lengths.device, dtype=torch.bfloat16).requires_grad_()
        for _ in range(3)
    )
    return partial(varlen_attn, query, key, value, ends, ends, longest, longest)


def _take_single_steps(model: nn.Module) -> None:
    """Make every recurrent layer loop over single steps instead of one call; the encoder's loop includes padding."""

    def loop(
        layer: RecurrentLayer, x: Tensor, state: RecurrentState, weights: Weights
    ) -> tuple[Tensor, RecurrentState]:
        weight_ih, weight_hh, bias_ih, bias_hh = weights
        weights = weight_ih, cast_once(weight_hh), bias_ih, bias_hh
        outputs = []
        for inputs in layer.preactivations(x, weights).unbind(1):
            state = layer.step(inputs, state, weights)
            outputs.append(state[0])
        return torch.stack(outputs, 1), state

    def run_packed(layer: RecurrentLayer, packed: PackedSequence) -> tuple[PackedSequence, Tensor | RecurrentState]:
        x, lengths = pad_packed_sequence(packed, batch_first=True)
        nothing = tuple(x.new_zeros(len(x), layer.rnn.hidden_size) for _ in range(layer.num_states))
        ways = [
            loop(layer, x.flip(1) if back else x, nothing, tuple(weights))
            for back, weights in enumerate(layer.rnn.all_weights)
        ]
        output = torch.cat([way.flip(1) if back else way for back, (way, _) in enumerate(ways)], -1)
        state = tuple(torch.stack(parts) for parts in zip(*(state for _, state in ways), strict=True))
        packed = pack_padded_sequence(output, lengths, batch_first=True)
        return packed, state if layer.num_states == 2 else state[0]

    for module in model.modules():
        if isinstance(module, RecurrentLayer):
            module.forward = lambda x, state, layer=module: loop(layer, x, state, layer.weights)
            module.rnn.forward = partial(run_packed, module)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--parts", default="peak,train,trainer,decode,memory,attention")
    parser.add_argument("--seconds", type=float, default=450, help="begin no measurement after this many seconds (450)")
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    if not arguments.small and not torch.cuda.is_available():
        parser.error("there is no GPU; --small tries it out on a CPU")
    device = torch.device("cpu" if arguments.small else "cuda")
    bench, began = Bench(device, arguments.small), time.perf_counter()
    arguments.output.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"device": device_name(device), "torch": torch.__version__}
    for part in arguments.parts.split(","):
        found[part] = {}
        for name, measure in getattr(bench, part)().items():
            if time.perf_counter() - began > arguments.seconds:
                found[part][name] = "not reached"
                continue
            try:
                found[part][name] = measure()
            except Exception as error:  # go on with the other measurements
                found[part][name] = f"{type(error).__name__}: {error}"[:1000]
            print(f"{time.perf_counter() - began:4.0f} s  {part}, {name}: {json.dumps(found[part][name])}", flush=True)
            write_json(arguments.output / "gpu.json", found)


if __name__ == "__main__":
    main()

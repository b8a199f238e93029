"""Training and decoding on one GPU, in one call of under 8 minutes.

    python -m benchmarks.gpu [--output FOLDER] [--parts peak,attention,train,memory,decode] [--small]

Sentences as in WMT'14 (``benchmarks.data``), 32,000 pieces, batches of 25,000 padded tokens a side, bf16, random ids:
speed does not depend on what they say. Writes gpu.json after every part. ``--small`` runs all of it at a size for a
laptop, on the CPU, to try the script out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from torch import Tensor, nn

from benchmarks.data import sentence_lengths
from benchmarks.memory import bytes_of_step
from benchmarks.text import Text
from triptych import accounting
from triptych.commands import schema
from triptych.commands.hydra_app import conf_dir
from triptych.files import replacing
from triptych.layers.attention import attend
from triptych.layers.packing import Packing, visible
from triptych.layers.recurrent import Carried, Layer
from triptych.models.base import TranslationModel
from triptych.search import Search, decode
from triptych.training.loss import TranslationLoss
from triptych.vocabulary import Vocabulary

ARTICLE_BUDGET = 1.57e18
"""FLOPs that the article gave its Transformer: 30 hours of a V100."""
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


class Bench:
    """The parts, each of which returns what it measured.

    Args:
        device: where.
        small: at a size for a laptop.
    """

    def __init__(self, device: torch.device, small: bool) -> None:
        self.device = device
        self.arms = SMALL if small else ARMS
        self.tokens, size, pairs = (1_000, 500, 2_000) if small else (25_000, 32_000, 200_000)
        self.warm_up, self.steps, self.workers = (2, 3, 0) if small else (8, 30, 2)
        self.sentences = 20 if small else 3_003
        self.vocabulary = Vocabulary(src_size=size, tgt_size=size, joint=True, src_tag=4, tgt_tag=5)
        self.text = Text(pairs, size, self.tokens)

    @cached_property
    def measured_peak(self) -> float:
        """FLOP/s of the best of twenty dense bf16 products of 8,192."""
        size = 8192 if self.device.type == "cuda" else 512
        one, other = (torch.randn(size, size, device=self.device, dtype=torch.bfloat16) for _ in range(2))
        return 2 * size**3 / min(self._timed(lambda: one @ other) for _ in range(20))

    def peak(self) -> dict[str, Any]:
        """What was measured, and what the datasheet says."""
        datasheet, source = accounting.peak_flops(self.device)
        return {"measured": self.measured_peak, "datasheet": datasheet, "source": source}

    def attention(self) -> dict[str, Any]:
        """Milliseconds of one attention over tokens without padding, forward and backward: padded for it, or not."""
        found: dict[str, Any] = {}
        for longest in (15, 30, 60):
            on_host = torch.randint(longest // 2, longest + 1, (self.tokens // longest,))
            lengths = on_host.to(self.device)
            packing = Packing.of(lengths, on_host.numpy(), longest)
            rows = int(on_host.sum()) + packing.filling
            qkv = torch.randn(rows, 3, 8, 64, device=self.device, dtype=torch.bfloat16).requires_grad_()
            ways = {
                "masked": partial(_padded, qkv, packing, mask=visible(lengths, longest)[:, None, None], causal=False),
                "causal": partial(_padded, qkv, packing, mask=None, causal=True),
            }
            if self.device.type == "cuda":
                ways["packed"] = _varlen(lengths, longest)
            found[str(longest)] = {name: self._median_of(way) for name, way in ways.items()}
        return found

    def train(self) -> dict[str, Any]:
        """Tokens and FLOPs a second of every arm, compiled and not; Luong's beside one that takes single steps."""
        found = {}
        for arm in self.arms:
            for compiled in (False, True):
                found[f"{arm}{' compiled' if compiled else ''}"] = self._train(arm, compiled)
        found["rnn_luong step by step"] = self._train("rnn_luong", compiled=False, step_by_step=True)
        return found

    def memory(self) -> dict[str, Any]:
        """Peak bytes of a step, with our loss and with one that keeps the logits."""
        found: dict[str, dict[str, int]] = {}
        for arm in self.arms:
            model, loss = self._build(arm)
            batch = next(self.text.batches(1, 0)).to(self.device)
            found[arm] = {"targets": int(batch.step_tokens[1])}
            for name in ("ours", "logits"):
                with torch.autocast(self.device.type, torch.bfloat16):
                    found[arm][name] = bytes_of_step(model, loss if name == "ours" else None, batch)
        return found

    def decode(self) -> dict[str, Any]:
        """Seconds for 3,003 sentences with beam 4, in single precision, as a run translates, and under bf16 autocast.

        Random weights seldom end a sentence: translations are as long as they may be, ten pieces more than the source.
        """
        search = Search(beam_size=4, length_penalty=0.6, max_length_ratio=1.0, max_length_extra=10, n_best=1)
        random = np.random.default_rng(2)
        lengths = sentence_lengths(random, self.sentences)
        sources = [random.integers(6, self.vocabulary.src_size, length).tolist() for length in lengths]
        found = {}
        for arm in self.arms:
            model = self._build(arm)[0].eval()
            translate = partial(decode, model, search=search, search_tokens=self.tokens, device=self.device)
            for name, autocast in (("fp32", False), ("bf16", True)):
                with torch.autocast(self.device.type, torch.bfloat16, enabled=autocast):
                    translate(sources[:8])
                    found[f"{arm} {name}"] = self._timed(partial(translate, sources))
        return found

    def _train(self, arm: str, compiled: bool, step_by_step: bool = False) -> dict[str, float]:
        torch._dynamo.reset()
        torch._dynamo.config.recompile_limit = 32
        model, loss = self._build(arm)
        if step_by_step:
            _take_single_steps(model)
        if compiled:
            model.compile(dynamic=True)
            loss.compile(dynamic=True)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
        losses: list[Tensor] = []
        pairs: Counter[tuple[int, int, bool]] = Counter()
        accounting.reset_peak_memory(self.device)
        began = time.perf_counter()
        for step, on_host in enumerate(self.text.batches(self.warm_up + self.steps, self.workers)):
            if step == self.warm_up:
                self._wait()
                started = time.perf_counter()
            if step >= self.warm_up:
                pairs.update((src, tgt, True) for src, tgt in on_host.host_lengths.T.tolist())
            batch = on_host.to(self.device, non_blocking=True)
            with torch.autocast(self.device.type, torch.bfloat16):
                parts = loss(model(batch), batch.step_tokens, 0.0)
            parts.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(parts.loss.detach())
        self._wait()
        seconds = time.perf_counter() - started
        tokens = sum((src + tgt - 2) * count for (src, tgt, _), count in pairs.items())
        rate = accounting.training_flops(model, pairs) / seconds
        return {
            "tokens_per_second": tokens / seconds,
            "milliseconds_a_step": 1000 * seconds / self.steps,
            "flops_per_second": rate,
            "share_of_measured_peak": rate / self.measured_peak,
            "article_budget_minutes": ARTICLE_BUDGET / rate / 60,
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "seconds_to_start": started - began,
            "first_loss": float(losses[0]),
            "last_loss": float(losses[-1]),
            "peak_memory_bytes": accounting.peak_memory_bytes(self.device),
        }

    def _build(self, arm: str) -> tuple[TranslationModel, TranslationLoss]:
        schema.register()
        with initialize_config_dir(str(conf_dir()), version_base="1.3"):
            config = compose("train", overrides=self.arms[arm])
        torch.manual_seed(1)
        model = instantiate(config.model, vocabulary=self.vocabulary)
        return model.train().to(self.device), instantiate(config.loss)

    def _median_of(self, forward: Callable[[], Tensor]) -> float:
        """Milliseconds of it and its backward pass."""

        def work() -> None:
            forward().sum().backward()

        for _ in range(3):
            work()
        return 1000 * statistics.median(self._timed(work) for _ in range(20))

    def _timed(self, work: Callable[[], object]) -> float:
        self._wait()
        began = time.perf_counter()
        work()
        self._wait()
        return time.perf_counter() - began

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def _padded(qkv: Tensor, packing: Packing, *, mask: Tensor | None, causal: bool) -> Tensor:
    """As a layer does it: (R, 3, 8, 64) put among padding, attended, and packed again."""
    query, key, value = packing.pad(qkv.flatten(1)).unflatten(-1, (3, 8, 64)).permute(2, 0, 3, 1, 4)
    attended = attend(query, key, value, mask=mask, causal=causal, dropout=0.0, trace=None)
    return packing.pack(attended.transpose(1, 2).flatten(2))


def _varlen(lengths: Tensor, longest: int) -> Callable[[], Tensor]:
    """PyTorch's kernel over sentences end to end."""
    from torch.nn.attention.varlen import varlen_attn

    ends = nn.functional.pad(lengths.cumsum(0), (1, 0)).int()
    query, key, value = (
        torch.randn(int(lengths.sum()), 8, 64, device=lengths.device, dtype=torch.bfloat16).requires_grad_()
        for _ in range(3)
    )
    return partial(varlen_attn, query, key, value, ends, ends, longest, longest)


def _take_single_steps(model: nn.Module) -> None:
    """Every recurrent layer of the decoder as a loop over single steps, in the place of one call."""

    def loop(layer: Layer, x: Tensor, carried: Carried) -> tuple[Tensor, Carried]:
        outputs, weights = [], layer.weights
        for inputs in layer.inputs(x, weights).unbind(1):
            carried = layer.step(inputs, carried, weights)
            outputs.append(carried[0])
        return torch.stack(outputs, 1), carried

    for module in model.modules():
        if isinstance(module, Layer):
            module.forward = lambda x, carried, layer=module: loop(layer, x, carried)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--parts", default="peak,attention,train,memory,decode")
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    if not arguments.small and not torch.cuda.is_available():
        parser.error("there is no GPU; --small tries it out on a CPU")
    device = torch.device("cpu" if arguments.small else "cuda")
    bench = Bench(device, arguments.small)
    found: dict[str, Any] = {"device": accounting.device_name(device), "torch": torch.__version__}
    for part in arguments.parts.split(","):
        began = time.perf_counter()
        found[part] = getattr(bench, part)()
        print(f"{part}: {time.perf_counter() - began:.0f} s\n{json.dumps(found[part], indent=2)}", flush=True)
        arguments.output.mkdir(parents=True, exist_ok=True)
        with replacing(arguments.output / "gpu.json") as beside:
            beside.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()

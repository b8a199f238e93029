"""A run's folder: its resolved config, checkpoints, translations and result; and how to load one."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from triptych.batch import Batch
from triptych.data.batching import plan_sorted
from triptych.errors import UserError
from triptych.files import replacing
from triptych.models.base import TranslationModel
from triptych.search import Search, decode
from triptych.tokenizer import Tokenizer
from triptych.training.loss import linear_cross_entropy

LIBRARIES = ("torch", "lightning", "sentencepiece", "sacrebleu", "numpy")
UNIDENTIFYING = ("output", "cache", "logger", "run_dir")
"""Keys that change where a run goes, and not what it computes."""
PLACES = ("dir", "url", "cache")
"""Keys of ``data`` that say where the text is; what it is, its fingerprint says."""


def config_hash(config: DictConfig, data: str) -> str:
    """8 hexadecimal digits that identify what a run computes: its config, but for places, and its data."""
    anywhere = OmegaConf.merge(config, dict.fromkeys(UNIDENTIFYING, ""))
    plain: Any = OmegaConf.to_container(anywhere, resolve=True)
    plain["data"] = {key: value for key, value in plain["data"].items() if key not in PLACES} | {"fingerprint": data}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:8]


def run_name(overrides: Sequence[str], digest: str) -> str:
    """A folder's name: the overrides that matter, of a path its last part, and the config's hash."""
    told = []
    for override in overrides:
        key, _, value = override.partition("=")
        if re.split(r"[./]", key.lstrip("+~"))[0] not in (*UNIDENTIFYING, "hydra"):
            told.append(f"{key}={Path(value).name}" if "/" in value else override)
    name = re.sub(r"[^\w=.,+-]+", "_", ",".join(told)) or "default"
    return f"{name[:150]}-{digest}"


def find(output: Path, overrides: Sequence[str], digest: str) -> RunFolder:
    """The folder of a run below ``output``: one that has its hash, whatever its name, or a new one."""
    there = sorted(output.glob(f"*-{digest}")) if output.is_dir() else []
    return RunFolder(there[0] if there else output / run_name(overrides, digest))


@dataclass(frozen=True)
class RunFolder:
    """Where a run keeps what."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def result(self) -> Path:
        return self.path / "result.json"

    @property
    def versions(self) -> Path:
        return self.path / "versions.json"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def last(self) -> Path:
        return self.checkpoints / "last.ckpt"

    @property
    def tokenizer(self) -> Path:
        return self.path / "tokenizer"

    @property
    def translations(self) -> Path:
        return self.path / "translations"


def write_json(path: Path, value: Any) -> None:
    """Writes beside, then renames: a reader sees the whole file or none."""
    with replacing(path) as beside:
        beside.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """One line each, likewise atomic."""
    with replacing(path) as beside:
        beside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def write_average(folder: RunFolder, last: int, tokenizer: str) -> None:
    """``averaged.ckpt``: the mean of the weights of the last checkpoints (Vaswani et al. 2017, section 6.1)."""
    paths = sorted(folder.checkpoints.glob("recent-*.ckpt"), key=lambda path: int(path.stem.split("-")[1]))[-last:]
    mean = {name: value.float() for name, value in weights(paths[0]).items()}
    for n, path in enumerate(paths[1:], 2):
        # Not in place: names of one tied matrix share their memory.
        mean = {name: mean[name] + (value - mean[name]) / n for name, value in weights(path).items()}
    with replacing(folder.checkpoints / "averaged.ckpt") as beside:
        torch.save({"state_dict": {f"model.{n}": value for n, value in mean.items()}, "tokenizer": tokenizer}, beside)


def weights(path: Path) -> dict[str, torch.Tensor]:
    """The model's weights in a checkpoint, on the CPU."""
    state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
    return {name.removeprefix("model."): tensor for name, tensor in state.items() if name.startswith("model.")}


def metrics(folder: RunFolder) -> pd.DataFrame:
    """What the run logged, by step; of a run that was interrupted, each part up to where the next went on.

    A part that was killed while its file was made anew is empty.
    """
    table = pd.DataFrame()
    for path in sorted(
        folder.path.glob("metrics/version_*/metrics.csv"), key=lambda p: int(p.parent.name.split("_")[1])
    ):
        if not path.stat().st_size:
            continue
        part = pd.read_csv(path)
        table = pd.concat([table[table["step"] < part["step"].min()] if len(table) else table, part])
    return table.reset_index(drop=True)


BEST = {"loss": "idxmin", "bleu": "idxmax"}


def best_validation(folder: RunFolder, monitor: str) -> dict[str, float]:
    """Loss and perplexity of the validation that made the best checkpoint, by ``loss`` or ``bleu``."""
    by_step = metrics(folder).groupby("step").first().dropna(subset=f"validation/{monitor}")
    best = by_step.loc[by_step[f"validation/{monitor}"].agg(BEST[monitor])]
    return {name: float(best[f"validation/{name}"]) for name in ("loss", "perplexity")}


def versions() -> dict[str, str]:
    """Of Python, of the libraries that a result depends on, and of this package's source."""
    libraries = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return {"python": platform.python_version(), **libraries, "source": source()}


def source() -> str:
    """16 hexadecimal digits that identify the package's code."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def made_by_other_code(folder: RunFolder) -> bool:
    """Whether a run began with another version of this package: its config's hash does not tell."""
    if not folder.versions.exists():
        return False
    return json.loads(folder.versions.read_text(encoding="utf-8")).get("source") != source()


def step_of(path: Path) -> int:
    """The optimizer steps behind a checkpoint."""
    return int(torch.load(path, map_location="cpu", weights_only=True, mmap=True)["global_step"])


def one_line(text: str) -> str:
    """Byte fallback can spell a line break, and a translation is one line."""
    return " ".join(text.splitlines())


class Translator:
    """A trained run, ready for use.

    Attributes:
        model: the architecture with its trained weights, in evaluation mode.
        tokenizer: the run's.
        config: the run's resolved config.
        checkpoint: the name of the checkpoint that the weights are of.
        device: where the model is.
    """

    def __init__(self, model: TranslationModel, tokenizer: Tokenizer, config: DictConfig, checkpoint: str) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.config = config
        self.checkpoint = checkpoint
        self.device = next(model.parameters()).device

    def translate(self, lines: Sequence[str], search: Search | None = None, search_tokens: int = 4096) -> list[str]:
        """One translation a line, in the order of the lines; an empty line stays empty."""
        return [best[0][0] if best else "" for best in self.n_best(lines, search, search_tokens)]

    def n_best(
        self, lines: Sequence[str], search: Search | None = None, search_tokens: int = 4096
    ) -> list[list[tuple[str, float]]]:
        """Up to ``search.n_best`` translations a line, best first, each with its score; none for an empty line."""
        filled = [i for i, line in enumerate(lines) if line.strip()]
        ids = self.tokenizer.encode([lines[i] for i in filled], "src")
        search = search or instantiate(self.config.search)
        found = decode(self.model, ids, search=search, search_tokens=search_tokens, device=self.device)
        results: list[list[tuple[str, float]]] = [[] for _ in lines]
        for i, hypotheses in zip(filled, found, strict=True):
            texts = [one_line(text) for text in self.tokenizer.decode([h.tokens for h in hypotheses], "tgt")]
            results[i] = [(text, h.score) for text, h in zip(texts, hypotheses, strict=True)]
        return results

    @torch.inference_mode()
    def score(self, src: Sequence[str], tgt: Sequence[str], search_tokens: int = 4096) -> list[float]:
        """log p(target | source) of each pair, in nats, ``</s>`` included.

        Raises:
            UserError: lists of unequal length.
        """
        if len(src) != len(tgt):
            raise UserError(f"score was given {len(src)} sources and {len(tgt)} targets; give as many of each.")
        sources, targets = self.tokenizer.encode(src, "src"), self.tokenizer.encode(tgt, "tgt")
        lengths = np.array([[len(s) + 1, len(t) + 2] for s, t in zip(sources, targets, strict=True)]).reshape(-1, 2)
        scores = np.empty(len(src))
        for rows in plan_sorted(lengths, max(search_tokens, lengths.max(initial=0))):
            batch = Batch.from_ids([sources[i] for i in rows], [targets[i] for i in rows]).to(self.device)
            prediction = self.model(batch)
            ones = torch.ones_like(prediction.targets, dtype=torch.float32)
            _, nll = linear_cross_entropy(prediction.hidden, prediction.weight, prediction.targets, ones, ones * 0)
            of_pair = nll[~prediction.is_source].double().split((batch.tgt_lengths - 1).tolist())
            scores[rows] = [-float(tokens.sum()) for tokens in of_pair]
        return scores.tolist()


def load(run: str | Path, checkpoint: str | None = None, device: str = "cpu") -> Translator:
    """The run of a folder, with the weights of ``checkpoints/<checkpoint>.ckpt``.

    Args:
        run: the folder.
        checkpoint: ``best``, ``last`` or ``averaged``; None for the one that the result scores: ``averaged`` where
            there is one, ``best`` otherwise.
        device: where the model goes.

    Raises:
        UserError: no such run, checkpoint or device, or a tokenizer that the checkpoint was not trained with.
    """
    folder = RunFolder(Path(run).expanduser())
    if not folder.config.exists():
        raise UserError(
            f"run={run} is no run folder (it has no config.yaml); give the folder that `triptych train` made."
        )
    if checkpoint is None:
        checkpoint = "averaged" if (folder.checkpoints / "averaged.ckpt").exists() else "best"
    path = folder.checkpoints / f"{checkpoint}.ckpt"
    if not path.exists():
        there = sorted(p.stem for p in folder.checkpoints.glob("*.ckpt"))
        raise UserError(f"run={run} has no checkpoint '{checkpoint}'; it has {', '.join(there) or 'none yet'}.")
    config = OmegaConf.load(folder.config)
    assert isinstance(config, DictConfig)
    tokenizer = Tokenizer.load(folder.tokenizer)
    stored = torch.load(path, map_location="cpu", weights_only=True, mmap=True)["tokenizer"]
    if stored != tokenizer.fingerprint:
        raise UserError(
            f"run={run}: its tokenizer {tokenizer.fingerprint} is not the one that its checkpoint was trained with, "
            f"{stored}; put the right tokenizer folder back."
        )
    model = instantiate(config.model, vocabulary=tokenizer.vocabulary)
    model.load_state_dict(weights(path))
    try:
        model = model.eval().to(device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"device={device} is not there ({str(error).splitlines()[0]}); choose cpu.") from error
    return Translator(model, tokenizer, config, checkpoint)

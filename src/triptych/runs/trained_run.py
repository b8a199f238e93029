"""A trained run, loaded and ready to translate and to score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from triptych.contract.batch import Batch
from triptych.runs.checkpoints import weights
from triptych.data.batching import plan_sorted
from triptych.data.directions import Direction, Directions
from triptych.errors import UserError
from triptych.contract.model import TranslationModel
from triptych.runs.folder import RunFolder
from triptych.decoding.search import Search, decode
from triptych.data.tokenizer import Tokenizer
from triptych.kernels.linear_cross_entropy import linear_cross_entropy
from triptych.contract.vocabulary import LanguageTags


def as_list(lines: Iterable[str]) -> list[str]:
    """Raises ``UserError`` for one string, which would pass for a list of its letters."""
    if isinstance(lines, str):
        raise UserError(f"a list of lines is wanted, not one string; give [{lines[:30]!r}].")
    return list(lines)


def one_line(text: str) -> str:
    """Byte fallback can spell a line break, and a translation is one line."""
    return " ".join(text.splitlines())


class Translator:
    """A trained run, ready for use.

    Where a method takes a ``direction``, None is the one that the run is tested on, and a language that it has not been
    trained to read or to write is a ``UserError``.

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

    @property
    def directions(self) -> Directions:
        """What the run was trained on, and what it is tested on."""
        data = OmegaConf.select(self.config, "data", default={})
        names = data.get("directions")
        src, tgt = self.tokenizer.languages if names is None else (data.src, data.tgt)
        return Directions.of(names, src, tgt, data.get("pivot"))

    def tags(self, direction: Direction | None) -> LanguageTags:
        """What the sources of a direction end in and its targets begin with."""
        directions = self.directions
        src, tgt = direction or directions.tested
        directions.require(src, tgt)
        return self.tokenizer.tags(src, tgt) if directions.several else LanguageTags()

    def translate(
        self,
        lines: Iterable[str],
        search: Search | None = None,
        search_tokens: int = 4096,
        direction: Direction | None = None,
    ) -> list[str]:
        """One translation a line, in the order of the lines; an empty line stays empty."""
        return [best[0][0] if best else "" for best in self.n_best(lines, search, search_tokens, direction)]

    def n_best(
        self,
        lines: Iterable[str],
        search: Search | None = None,
        search_tokens: int = 4096,
        direction: Direction | None = None,
    ) -> list[list[tuple[str, float]]]:
        """Up to ``search.n_best`` translations a line, best first, each with its score; none for an empty line."""
        lines = as_list(lines)
        filled = [i for i, line in enumerate(lines) if line.strip()]
        ids = self.tokenizer.encode([lines[i] for i in filled], "src")
        search = search or instantiate(self.config.search)
        tags = [self.tags(direction)] * len(ids)
        found = decode(self.model, ids, search=search, search_tokens=search_tokens, device=self.device, tags=tags)
        results: list[list[tuple[str, float]]] = [[] for _ in lines]
        for i, hypotheses in zip(filled, found, strict=True):
            texts = [one_line(text) for text in self.tokenizer.decode([h.tokens for h in hypotheses], "tgt")]
            results[i] = [(text, h.score) for text, h in zip(texts, hypotheses, strict=True)]
        return results

    def score(
        self,
        src: Iterable[str],
        tgt: Iterable[str],
        search_tokens: int = 4096,
        direction: Direction | None = None,
    ) -> list[float]:
        """log p(target | source) of each pair, in nats, ``</s>`` included.

        Raises:
            UserError: lists of unequal length, or strings in their place.
        """
        src, tgt = as_list(src), as_list(tgt)
        if len(src) != len(tgt):
            raise UserError(f"score was given {len(src)} sources and {len(tgt)} targets; give as many of each.")
        ids = self.tokenizer.encode(src, "src"), self.tokenizer.encode(tgt, "tgt")
        return self.score_ids(*ids, search_tokens, direction)

    @torch.inference_mode()
    def score_ids(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        search_tokens: int = 4096,
        direction: Direction | None = None,
    ) -> list[float]:
        """The same, of bare ids."""
        lengths = np.array([[len(s) + 1, len(t) + 2] for s, t in zip(sources, targets, strict=True)]).reshape(-1, 2)
        scores, tags = np.empty(len(sources)), self.tags(direction)
        for rows in plan_sorted(lengths, max(search_tokens, lengths.max(initial=0))):
            pairs = [sources[i] for i in rows], [targets[i] for i in rows]
            batch = Batch.from_ids(*pairs, tags=[tags] * len(rows))
            prediction = self.model(batch.to(self.device))
            hidden, ids = prediction.hidden[prediction.num_source :], prediction.targets[prediction.num_source :]
            ones = torch.ones_like(ids, dtype=torch.float32)
            _, nll = linear_cross_entropy(hidden, prediction.weight, ids, ones, ones * 0)
            of_pair = nll.double().split((batch.tgt_lengths - 1).tolist())
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

"""The runs that are served: each with its name, its settings, and a worker that translates with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from triptych.errors import UserError
from triptych.runs.demo import locate_run
from triptych.runs.run import load
from triptych.serving.drawn_attention import AttentionPages
from triptych.serving.worker import Hypotheses, Worker


@dataclass(frozen=True)
class ServedRun:
    """A run that answers requests.

    Attributes:
        name: unique among the served runs.
        folder: of the run.
        worker: translates with it.
        src: source language.
        tgt: target language.
        beam_size: hypotheses that its search keeps.
        n_best: translations that it has of each sentence.
        length_penalty: of its search.
        parameters: number of the model's parameters.
        checkpoint: whose weights it has, with their precision unless it is full.
        attend: draws its attention over a sentence and a translation (``AttentionPages``), to be called by the
            worker; None for a model without attention.
    """

    name: str
    folder: Path
    worker: Worker
    src: str
    tgt: str
    beam_size: int
    n_best: int
    length_penalty: float
    parameters: int
    checkpoint: str
    attend: Callable[[str, str | None], str] | None

    @property
    def has_attention(self) -> bool:
        return self.attend is not None


@dataclass(frozen=True)
class ServeOptions:
    """How all runs translate.

    Attributes:
        checkpoint: ``best``, ``last`` or ``averaged``; None for the one that a run's result.json scores.
        trust: package of the user's, or several, that the runs' configurations may build from.
        device: where the models go.
        precision: of their weights.
        src: source language; None for that of a run's test sets. ``tgt`` likewise.
        beam_size: hypotheses that a search keeps; None for as many as in a run's own search.
        n_best: translations of each sentence, at most as many as the beam has hypotheses.
        search_tokens: padded source tokens that are translated together.
        queue: sentences that may wait for each run.
    """

    checkpoint: str | None
    trust: str | Sequence[str]
    device: str
    precision: str
    src: str | None
    tgt: str | None
    beam_size: int | None
    n_best: int
    search_tokens: int
    queue: int


def load_runs(folders: Sequence[str], options: ServeOptions) -> list[ServedRun]:
    """Load runs and start their workers.

    Raises:
        UserError: no runs, one twice, one that cannot be loaded, or a language or a beam that it cannot have.
    """
    paths = [locate_run(folder) for folder in folders if folder]
    if not paths:
        raise UserError("run=[] names no run; give the folder of one, or several: 'run=[A,B]'.")
    if len({path.resolve() for path in paths}) < len(paths):
        raise UserError(f"run=[{','.join(folders)}] names a run twice; name each once.")
    names = [path.resolve().name for path in paths]
    if len({*names}) < len(names):
        names = list(map(str, paths))
    return [_load_run(name, path, options) for name, path in zip(names, paths, strict=True)]


def _load_run(name: str, folder: Path, options: ServeOptions) -> ServedRun:
    run = load(folder, options.checkpoint, options.device, options.trust, precision=options.precision)
    translator = run.translator
    tested = translator.directions.tested
    direction = options.src or tested[0], options.tgt or tested[1]
    translator.directions.require(*direction)
    beam_size = options.beam_size or translator.search.beam_size
    search = translator.search.with_beam(beam_size, min(options.n_best, beam_size))

    def translate(sentences: Sequence[str]) -> list[Hypotheses]:
        return translator.n_best(sentences, search, options.search_tokens, direction)

    attend = AttentionPages(translator, name, search, direction)
    translate(["."])  # what the search refuses, such as a length penalty that was never tuned, shows before any request
    return ServedRun(
        name=name,
        folder=run.folder,
        worker=Worker(translate, options.queue),
        src=direction[0],
        tgt=direction[1],
        beam_size=beam_size,
        n_best=search.n_best,
        length_penalty=float(search.length_penalty),
        parameters=sum(parameter.numel() for parameter in run.model.parameters()),
        checkpoint=run.weights,
        attend=attend if attend.has_attention() else None,
    )

"""Keys and types of each command's root configuration. Hydra refuses a value that does not fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, OmegaConf

from triptych.config import run_values, search_path
from triptych.config.sections import BatchSize, Budget, Checkpoint, Match, Optimizer, Strategy, Validation
from triptych.errors import UserError
from triptych.ranges import Amount, Range, Seed


@dataclass
class Claim:
    """A claim about two arms that a study tests. The report gives the verdict.

    Attributes:
        claim: the claim in words.
        arm: the arm that it is about, or the name of the study's dose: what the claim expects of the highest dose
            against the lowest.
        reference: the arm that it is compared with; None for the study's reference.
        expect: what the claim says of the arm: ``better``, ``worse`` or ``equal``.
        measure: key of the measure that decides, such as ``bleu``, or ``diverged`` for the share of diverged runs; None
            for the study's primary one.
        test_set: test set of the measure; None for the first.
        baseline_test_set: test set that the claim compares ``test_set`` with: the claim is then about how much larger
            the difference of the arms is on ``test_set``. None for a claim about one test set.
        source: publication that makes it; None for that of the published figure.
        published: two rows of published.csv whose difference is the published figure, the first minus the second; by
            default those of the arm and of the arm that it is compared with.
    """

    claim: str = MISSING
    arm: str = MISSING
    reference: str | None = None
    expect: str = MISSING
    measure: str | None = None
    test_set: str | None = None
    baseline_test_set: str | None = None
    source: str | None = None
    published: list[str] = field(default_factory=list)


@dataclass
class Dose:
    """A quantity that the arms of a study have more or less of.

    Attributes:
        name: what the report calls it; None for a study whose arms are no doses.
        mean_of: numeric keys of the configuration, such as ``loss.autoencode.alpha``. Their mean is the dose.
    """

    name: str | None = None
    mean_of: list[str] = field(default_factory=list)


@dataclass
class Untested:
    """A published claim on which the study has no verdict, and why.

    Attributes:
        claim: the claim in words.
        source: publication that makes it.
        reason: why no difference between two arms decides it.
    """

    claim: str = MISSING
    source: str = MISSING
    reason: str = MISSING


@dataclass
class Study:
    """What a report needs to know of a sweep.

    Attributes:
        name: name of the study in experiments/; None for a sweep of the user's own.
        reference: arm that the others are compared with.
        varies: things that arms differ in on purpose although a fair comparison would refuse it
            (``reports.study.VARIABLE``).
        deviations: how it departs from the published set-up, a clause each.
        primary: key of the measure that decides, named before anything runs. ``nats`` is the log-likelihood of the test
            set, or else of the validation set.
        margin: difference within which two arms count as equivalent, in the unit of the primary measure; None for 1
            BLEU, and what ``reports.measures`` has for other measures.
        series: key of the override whose values name the series of a study of scaling, such as ``model``; None for a
            study without. Arms of a series differ in size and budget; the report fits a power law to each series.
        dose: quantity that the arms have more or less of, if any. The report fits a line over it.
        claims: the claims that the study tests.
        untested: the published claims that it does not test.
        equal: meanings of equal under which the arms are compared (``config.equal.MEANINGS``).
        stand_ins: further meanings, by name: for some arms, the arm that stands in for each under that meaning.
    """

    name: str | None = None
    reference: str | None = None
    series: str | None = None
    varies: list[str] = field(default_factory=list)
    deviations: list[str] = field(default_factory=list)
    primary: str = "nats"
    margin: float | None = None
    dose: Dose = field(default_factory=Dose)
    claims: list[Claim] = field(default_factory=list)
    untested: list[Untested] = field(default_factory=list)
    equal: list[str] = field(default_factory=list)
    stand_ins: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass
class Train:
    """conf/train.yaml."""

    model: Any = MISSING
    data: Any = MISSING
    tokenizer: Any = MISSING
    loss: Any = MISSING
    optimizer: Annotated[Any, Optimizer] = MISSING
    strategy: Annotated[Any, Strategy] = MISSING
    search: Any = MISSING
    metric: dict[str, Any] = field(default_factory=dict)
    callbacks: dict[str, Any] = field(default_factory=dict)
    logger: dict[str, Any] = field(default_factory=dict)
    scale: Any = MISSING
    match: Annotated[Any, Match] | None = None
    study: Study = field(default_factory=Study)
    budget: Budget = field(default_factory=Budget)
    batch: BatchSize = field(default_factory=BatchSize)
    validation: Validation = field(default_factory=Validation)
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    init: str | None = None
    trainer: dict[str, Any] = field(default_factory=dict)
    search_tokens: Amount = MISSING
    log_every: Amount = MISSING
    length_edges: list[int] = MISSING
    frequency_edges: list[int] = MISSING
    suite_items: Annotated[int, Range(0, 1_000_000)] = MISSING
    test: Annotated[Any, bool] = MISSING
    seed: Seed = MISSING
    jobs: Any = MISSING
    name: str | None = None
    output: str = MISSING
    cache: str = MISSING


@dataclass
class RunOptions:
    """Keys of every command on a trained run; ``runs.run.run_of`` loads the run that they name.

    Attributes:
        run: its folder, or ``demo:NAME``. Commands that take several runs take a list.
        checkpoint: weights to use: ``best``, ``last`` or ``averaged``; None for those that result.json scores.
        trust: package of the user's, or a list, that the run's configuration may build from.
    """

    run: Any = MISSING
    checkpoint: str | None = MISSING
    trust: Any = MISSING


@dataclass
class ModelOptions(RunOptions):
    """Keys of every command that computes with a run's model on text of given languages.

    Attributes:
        device: where the model runs: ``cpu``, ``cuda``, ``cuda:1`` …; ``auto`` for a GPU if there is one, else the CPU.
        precision: of the model's weights: ``full`` (float32) or ``bf16``.
        src: source language of the text; None for that of the run's test sets.
        tgt: target language, likewise.
    """

    device: str = MISSING
    precision: str = MISSING
    src: str | None = MISSING
    tgt: str | None = MISSING


@dataclass
class Translate(ModelOptions):
    """conf/translate.yaml. ``ensemble`` and ``rerank`` are text or lists of texts."""

    run: str = MISSING
    ensemble: Any = MISSING
    rerank: Any = MISSING
    input: str | None = MISSING
    output: str | None = MISSING
    search_tokens: Amount = MISSING
    search: Any = MISSING
    scores: Annotated[Any, bool] = MISSING


@dataclass
class Attend(ModelOptions):
    """conf/attend.yaml. ``ablate`` is text or a list of texts."""

    sentence: str = MISSING
    reference: str | None = MISSING
    ablate: Any = MISSING
    output: str = MISSING


@dataclass
class Serve(ModelOptions):
    """conf/serve.yaml."""

    host: str = MISSING
    port: int = MISSING
    beam_size: int | None = MISSING
    n_best: int = MISSING
    search_tokens: Amount = MISSING
    max_length: int = MISSING
    queue: int = MISSING


@dataclass
class Evaluate(ModelOptions):
    """conf/evaluate.yaml. ``ensemble`` and ``rerank`` are text or lists of texts."""

    run: str | None = MISSING
    ensemble: Any = MISSING
    rerank: Any = MISSING
    split: str | None = MISSING
    input: str | None = MISSING
    reference: str | None = MISSING
    hypothesis: str | None = MISSING
    output: str | None = MISSING
    search_tokens: Amount = MISSING
    suite_items: Annotated[int, Range(0, 1_000_000)] = MISSING
    search: Any = MISSING
    metric: dict[str, Any] = field(default_factory=dict)


@dataclass
class Score(ModelOptions):
    """conf/score.yaml."""

    run: str = MISSING
    input: str = MISSING
    reference: str = MISSING
    output: str | None = MISSING
    search_tokens: Amount = MISSING


@dataclass
class Export(RunOptions):
    """conf/export.yaml."""

    run: str = MISSING
    format: str = MISSING
    precision: str = MISSING
    output: str = MISSING


COMMANDS = {node.__name__.lower(): node for node in (Train, Translate, Score, Attend, Serve, Evaluate, Export)}
"""Keys of each command's configuration, with their types and ranges."""


def register() -> None:
    """Make schemas, resolvers and search path known to Hydra; may be called any number of times."""
    OmegaConf.register_new_resolver("times", times, replace=True)
    run_values.register()
    search_path.register()
    store = ConfigStore.instance()
    for command, node in COMMANDS.items():
        store.store(name=f"{command}_schema", node=node)


def times(a: float, b: float) -> int:
    """Multiply two numbers of a configuration, ``${times:a,b}``, to a size.

    Raises:
        UserError: the product is no integer.
    """
    if (product := a * b) != round(product):
        raise UserError(f"a size of this arm would be {a} * {b} = {product:g}; give a scale whose sizes it divides.")
    return round(product)

"""What a run or a sweep will cost, arm by arm, before anything is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pandas as pd
import torch
from hydra.utils import instantiate

from triptych import kernels
from triptych.accounting.parameters import count_parameters
from triptych.accounting.peaks import datasheet_peak, device_name, peak_flops
from triptych.accounting.threads import available_cores
from triptych.config.composition import arms_of, compose_run
from triptych.contract.model import TranslationModel
from triptych.data.batching import Stream
from triptych.errors import UserError
from triptych.runs import speeds
from triptych.runs.identity import BUDGET, SCORING, config_hash, display_overrides
from triptych.sweeps.jobs import expected_jobs
from triptych.sweeps.measure import ADAM_AVERAGES, activation_bytes, measured_speed, training_memory
from triptych.sweeps.sweep import refuse_mistakes
from triptych.training.budget import pair_flops
from triptych.training.build import build_parts
from triptych.training.devices import device_of
from triptych.training.match import reference_model
from triptych.training.trunk import trunk_steps

UTILISATION = 0.35
"""Share of a device's peak that is assumed where no speed has been measured."""
FEWEST_STEPS = 4
"""Fewest optimizer steps to measure a speed by; the first quarter warms up."""


@dataclass(frozen=True)
class Estimate:
    """Resources that one run needs.

    Attributes:
        overrides: that identify the run, as tables show them.
        training: hash of its training. Runs that share it are trained once, unless several devices train together.
        device: name of the device that trains.
        peak: its peak, FLOP/s.
        parameters: of the model.
        steps: optimizer steps.
        tokens: source and target tokens trained on.
        flops: of the forward and backward passes.
        memory: bytes of weights, gradients, Adam's averages and activations.
        disk: bytes of checkpoints: the best, the last with the optimizer's state, and those that are kept.
        averaged: bytes of the average of the last checkpoints.
        seconds: of training.
        measured: whether the speed was measured; otherwise it follows from ``UTILISATION``.
        precision: Lightning's name of the training precision.
        jobs: arms of the sweep that would run at a time.
        trunk: hash of its training without the budget, if it shares its first steps with larger budgets.
        trunk_steps: how many those are.
    """

    overrides: tuple[str, ...]
    training: str
    device: str
    peak: float
    parameters: int
    steps: int
    tokens: int
    flops: float
    memory: int
    disk: int
    averaged: int
    seconds: float
    measured: bool
    precision: str
    jobs: int = 1
    trunk: str | None = None
    trunk_steps: int = 0


def forecast_arms(overrides: Sequence[str], device: str | None = None, measure: int | None = None) -> list[Estimate]:
    """Estimate each arm of a command line. Text and ids are prepared, unless the cache holds them.

    Where arms would run side by side on this machine, each is estimated with the threads that it would have.

    Args:
        overrides: of ``triptych train``.
        device: name of a GPU; None for where the strategy would train on this machine.
        measure: optimizer steps to train each arm for, to know its speed on this machine; None to use what is known.

    Raises:
        UserError: whatever training would refuse, an unknown device, or too few steps to measure by.
    """
    if device:
        datasheet_peak(device)
    if measure is not None and device:
        raise UserError("--measure trains on this machine, which is no --device; give one of the two.")
    if measure is not None and measure < FEWEST_STEPS:
        raise UserError(f"--measure {measure} is too few steps to know a speed by; give {FEWEST_STEPS} or more.")
    found = arms_of("train", [*overrides, "-m"])
    assert found is not None
    config, arms = found
    if not arms:
        raise UserError("this sweeper chooses its arms as it goes along; forecast one of them.")
    speed_of: dict[str, float] = {}
    jobs = 1 if device or len(arms) == 1 else expected_jobs(config, refuse_mistakes(arms))
    with threads_of_arms(jobs):
        estimates = [_estimate_named(arm, device, measure, speed_of, alone=len(arms) == 1) for arm in arms]
    return [replace(one, jobs=jobs) for one in estimates]


@contextmanager
def threads_of_arms(jobs: int) -> Iterator[None]:
    """Compute with the threads that each of the first arms of a sweep has; with all, if one runs at a time."""
    before = torch.get_num_threads()
    torch.set_num_threads(before if jobs == 1 else max(1, available_cores() // jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _estimate_named(
    overrides: Sequence[str], device: str | None, measure: int | None, speed_of: dict[str, float], *, alone: bool
) -> Estimate:
    """Estimate an arm; a refusal names the arm unless there is only one."""
    try:
        return estimate(overrides, device, measure, speed_of)
    except UserError as error:
        if alone:
            raise
        raise UserError(f"{' '.join(display_overrides(overrides))}: {error}") from error


def estimate(overrides: Sequence[str], device: str | None, measure: int | None, speed_of: dict[str, float]) -> Estimate:
    """Estimate one run.

    Args:
        overrides: of the run.
        device: as in ``forecast_arms``; ``measure`` likewise.
        speed_of: tokens per second measured so far, by the hash of the training; a new measurement is added.
    """
    run_config = compose_run(overrides)
    config, reference = run_config.config, reference_model(run_config)
    corpus = instantiate(config.data)
    leaving_out = SCORING if run_config.processes == 1 else ()
    training = config_hash(config, corpus.fingerprint, reference=reference, leaving_out=leaving_out, with_devices=True)
    parts = build_parts(config, corpus, reference, workers=0)
    tokens, flops = consumption(parts.data.stream, parts.data.total_steps, parts.model, parts.loss.autoencode)
    here = "cpu" if device else device_of(config)
    name = device or device_name(here)
    with kernels.use(config.strategy.kernels):
        activations = activation_bytes(parts, config.batch.tokens)
        if measure and training not in speed_of:
            speed_of[training] = measured_speed(config, parts, measure)
    known = speed_of[training] if measure else speeds.known(config, corpus.fingerprint, name)
    peak = datasheet_peak(device)[0] if device else peak_flops(here, config.strategy.precision)[0]
    parameters = count_parameters(parts.model).total
    kept = config.checkpoint.keep if config.checkpoint.keep > 1 else 0
    state = 1 + ADAM_AVERAGES
    shared = trunk_steps(config, parts.data.total_steps)
    trunk = config_hash(config, corpus.fingerprint, reference=reference, leaving_out=BUDGET) if shared else None
    return Estimate(
        overrides=tuple(display_overrides(overrides)),
        training=training,
        device=name,
        peak=peak,
        parameters=parameters,
        steps=parts.data.total_steps,
        tokens=tokens,
        flops=flops,
        memory=training_memory(parameters, activations),
        disk=4 * parameters * (1 + state + kept + (state if shared else 0)),
        averaged=4 * parameters * (config.checkpoint.average > 1),
        seconds=tokens / known if known else flops / (UTILISATION * peak * run_config.processes),
        measured=known is not None,
        trunk=trunk,
        trunk_steps=shared,
        precision=str(config.strategy.precision),
    )


def consumption(
    stream: Stream, steps: int, model: TranslationModel, autoencode: Callable[[float], float]
) -> tuple[int, float]:
    """Return source and target tokens, and FLOPs, of a training.

    Args:
        stream: of batches.
        steps: optimizer steps.
        model: that is trained.
        autoencode: lambda by progress; where it is 0, predicting the source costs nothing.
    """
    whole, source = pair_flops(stream, model)
    tokens, flops = 0, 0.0
    for step, window in enumerate(islice(stream.windows(), steps)):
        rows = np.concatenate(window.batches)
        tokens += int(window.tokens.sum())
        flops += float(whole[rows].sum() - (0 if autoencode(step / steps) > 0 else source[rows].sum()))
    return tokens, flops


def figures(arms: Sequence[Estimate]) -> pd.DataFrame:
    """Return a row for each arm, and their sum, in plain units.

    An arm that shares its training with one above costs only the disk of its own average. One that goes on from the
    trunk of a smaller budget costs the steps after it.
    """
    shared = set.intersection(*(set(arm.overrides) for arm in arms)) if len(arms) > 1 else set()
    rows, seen = [], set[str]()
    for arm in arms:
        again = arm.training in seen
        seen.add(arm.training)
        share = 0.0 if again else _own_share(arm, arms)
        rows.append(
            {
                "arm": " ".join(one for one in arm.overrides if one not in shared) or "default",
                "parameters": arm.parameters,
                "steps": arm.steps,
                "tokens": round(share * arm.tokens),
                "flops": share * arm.flops,
                "seconds": share * arm.seconds,
                "disk_bytes": arm.averaged + (0 if again else arm.disk),
                "memory_bytes": arm.memory,
                "tokens_per_second": arm.tokens / arm.seconds,
                "measured": arm.measured,
                "shared": again,
            }
        )
    return pd.DataFrame(rows)


def _own_share(arm: Estimate, arms: Sequence[Estimate]) -> float:
    """Return the share of its steps that an arm trains itself, and not the arm whose trunk it goes on from."""
    shorter = (one for one in arms if arm.trunk and one.trunk == arm.trunk and one.steps < arm.steps)
    return 1 - max((one.trunk_steps for one in shorter), default=0) / arm.steps


def notes(arms: Sequence[Estimate], device: str | None, measure: int | None) -> list[str]:
    """Say where the times come from, a sentence each."""
    place = device or arms[0].device
    trained = {arm.training: arm for arm in arms}.values()
    assumed = sum(not arm.measured for arm in trained)
    lines = [f"Times: training on {place}, without validation and without translating the test sets."]
    if assumed < len(trained):
        how = f"{measure} steps, trained just now" if measure else "an earlier training there"
        lines.append(f"{len(trained) - assumed} of {len(trained)} times follow from the speed of {how}.")
    if assumed:
        peak = arms[0].peak
        hint = "." if device else "; --measure 20 trains each for 20 steps to know better."
        lines.append(
            f"{assumed} of {len(trained)} times, marked ~, assume {UTILISATION:.0%} of a peak of "
            f"{peak / 1e12:,.3g} TFLOP/s{hint}"
        )
    if arms[0].jobs > 1:
        lines.append(
            f"Each time is for the threads that an arm has when {arms[0].jobs} run at once. The sweep takes about the "
            f"sum divided by {arms[0].jobs}, and at least as long as its longest arm."
        )
    if any(_own_share(arm, arms) < 1 for arm in arms):
        lines.append("Arms that go on from the trunk of a smaller budget count the steps after it alone.")
    lines.append("Memory: weights, gradients, Adam's averages, and the activations of one batch in fp32.")
    return lines

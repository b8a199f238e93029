"""What a run or a sweep will cost, arm by arm, before anything is trained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import torch
from omegaconf import DictConfig

from triptych import kernels
from triptych.accounting.peaks import datasheet_peak, device_name, peak_flops
from triptych.accounting.threads import available_cores
from triptych.config.composition import RunConfig, arms_of
from triptych.errors import UserError
from triptych.runs import speed_cache
from triptych.runs.identity import BUDGET, SCORING, display_overrides
from triptych.sweeps.jobs import expected_jobs, training_of
from triptych.sweeps.measure import ADAM_AVERAGES, activation_bytes, measured_speed, training_memory
from triptych.sweeps.planned import SEARCHING, ForecastCache, PlannedTraining, plan_training
from triptych.sweeps.sweep import refuse_mistakes
from triptych.training.devices import device_of
from triptych.training.trunk import trunk_steps

UTILISATION = 0.35
"""Share of a device's peak that is assumed where no speed and no share of a GPU has been measured."""
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
        measured: whether the speed was measured; otherwise it follows from ``utilisation``.
        precision: Lightning's name of the training precision.
        utilisation: share of the peak that the time assumes, where it is not measured.
        devices: that train together.
        share_of_gpu: whether a model of the same kind has reached this share on a GPU.
        validation_seconds: of validating during training, and of translating the validation set then, roughly.
        translation_seconds: of translating after training, roughly. One device alone translates.
        jobs: arms of the sweep that would run at a time.
        trunk: hash of its training without the budget, if it shares its first steps with larger budgets.
        trunk_steps: how many those are.
        reference: the arm that its study compares the others with.
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
    utilisation: float
    devices: int
    share_of_gpu: bool
    validation_seconds: float
    translation_seconds: float
    jobs: int = 1
    trunk: str | None = None
    trunk_steps: int = 0
    reference: str | None = None


def forecast_arms(
    overrides: Sequence[str], device: str | None = None, measure: int | None = None, pairs: int | None = None
) -> list[Estimate]:
    """Estimate each arm of a command line. Text and ids are prepared, unless the cache holds them.

    Where arms would run side by side on this machine, each is estimated with the threads that it would have.

    Args:
        overrides: of ``triptych train``.
        device: name of a GPU; None for where the strategy would train on this machine.
        measure: optimizer steps to train each arm for, to know its speed on this machine; None to use what is known.
        pairs: of sentences to train on, with which no text is read: their lengths are assumed. None for the text's.

    Raises:
        UserError: whatever training would refuse, an unknown device, or too few steps to measure by.
    """
    if device:
        datasheet_peak(device)
    if measure is not None and device:
        raise UserError("--measure trains on this machine, which is no --device; give one of the two.")
    if measure is not None and pairs is not None:
        raise UserError("--measure trains on text, and --pairs is for where there is none; give one of the two.")
    if measure is not None and measure < FEWEST_STEPS:
        raise UserError(f"--measure {measure} is too few steps to know a speed by; give {FEWEST_STEPS} or more.")
    found = arms_of("train", [*overrides, "-m"])
    assert found is not None
    config, arms = found
    if not arms:
        raise UserError("this sweeper chooses its arms as it goes along; forecast one of them.")
    run_configs = refuse_mistakes(arms)
    jobs = 1 if device or pairs is not None or len(arms) == 1 else expected_jobs(config, run_configs)
    trainings: dict[str, list[int]] = {}
    for index, run_config in enumerate(run_configs):
        text = str(run_config.config.data)  # as it is configured: nothing has been read
        with _naming(run_config, alone=len(arms) == 1):
            trainings.setdefault(training_of(run_config, text=text, with_devices=True), []).append(index)
    known = ForecastCache()
    estimates: dict[int, Estimate] = {}
    with threads_of_arms(jobs):
        for indices in trainings.values():
            same = [run_configs[index] for index in indices]
            with _naming(same[0], alone=len(arms) == 1):
                estimated = _estimate(same, device, measure, known, pairs)
            estimates |= dict(zip(indices, estimated, strict=True))
    return [replace(estimates[index], jobs=jobs) for index in range(len(arms))]


@contextmanager
def threads_of_arms(jobs: int) -> Iterator[None]:
    """Compute with the threads that each of the first arms of a sweep has; with all, if one runs at a time."""
    before = torch.get_num_threads()
    torch.set_num_threads(before if jobs == 1 else max(1, available_cores() // jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _naming(arm: RunConfig, *, alone: bool) -> Iterator[None]:
    """Let a refusal name the arm, unless the command line has no other."""
    try:
        yield
    except UserError as error:
        if alone:
            raise
        raise UserError(f"{' '.join(display_overrides(arm.overrides))}: {error}") from error


def _estimate(
    arms: Sequence[RunConfig], device: str | None, measure: int | None, known: ForecastCache, pairs: int | None
) -> list[Estimate]:
    """Estimate each arm of one training, which is planned and measured once.

    Args:
        arms: at least one; they differ in nothing that matters before the end of training.
        device: as in ``forecast_arms``; ``measure`` and ``pairs`` likewise.
        known: of earlier arms; what is found here is added.
    """
    first = arms[0]
    config, reference = first.config, first.reference_model
    here = "cpu" if device else device_of(config)
    name = device or device_name(here)
    of_cpu = here == "cpu" and not device
    found = plan_training(config, reference, pairs, known)
    steps = found.steps(config)
    tokens, flops = found.consumption(steps)
    activations, speed = _measurements(config, found, measure, of_cpu=of_cpu)
    speed = speed or speed_cache.known(config, found.fingerprint, name)
    peak = datasheet_peak(device)[0] if device else peak_flops(here, config.strategy.precision)[0]
    shares = found.model.gpu_shares if config.strategy.precision == "bf16-mixed" and not of_cpu else None
    utilisation = shares.training if shares else UTILISATION
    seconds = tokens / speed if speed else flops / (utilisation * peak * first.processes)
    search_rate = shares.search * peak if shares else SEARCHING * flops / seconds / first.processes
    parameters = found.parameters
    shared = trunk_steps(config, steps)
    trunk = training_of(first, BUDGET, text=found.fingerprint) if shared else None
    estimate = partial(
        Estimate,
        device=name,
        peak=peak,
        parameters=parameters,
        steps=steps,
        tokens=tokens,
        flops=flops,
        memory=training_memory(parameters, activations),
        disk=_checkpoint_bytes(config, parameters, with_trunk=shared > 0),
        seconds=seconds,
        measured=speed is not None,
        trunk=trunk,
        trunk_steps=shared,
        precision=str(config.strategy.precision),
        utilisation=utilisation,
        devices=first.processes,
        share_of_gpu=shares is not None,
        validation_seconds=found.validation_seconds(config, steps, flops / seconds, search_rate),
    )
    return [
        estimate(
            overrides=tuple(display_overrides(arm.overrides)),
            training=training_of(arm, SCORING if arm.processes == 1 else (), text=found.fingerprint, with_devices=True),
            averaged=4 * parameters * (arm.config.checkpoint.average > 1),
            translation_seconds=found.translation_seconds(arm.config, search_rate),
            reference=arm.config.study.reference,
        )
        for arm in arms
    ]


def _measurements(
    config: DictConfig, found: PlannedTraining, measure: int | None, *, of_cpu: bool
) -> tuple[int, float | None]:
    """Return the bytes of a training's activations, and its tokens a second if they are to be measured."""
    if found.parts is None:
        return found.gpu_activations, None
    with kernels.use(config.strategy.kernels):
        activations = activation_bytes(found.parts, config.batch.tokens) if of_cpu else found.gpu_activations
        return activations, measured_speed(config, found.parts, measure) if measure else None


def _checkpoint_bytes(config: DictConfig, parameters: int, *, with_trunk: bool) -> int:
    """Return the bytes of the best checkpoint, of the last one with the optimizer's state, and of those kept."""
    kept = config.checkpoint.keep if config.checkpoint.keep > 1 else 0
    state = 1 + ADAM_AVERAGES
    return 4 * parameters * (1 + state + kept + (state if with_trunk else 0))

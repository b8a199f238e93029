"""Keys that have no effect where they are given are refused, with the reason; keys of a sweep's other arms are not."""

from __future__ import annotations

import pytest

from triptych.config.composition import arms_of, compose_command, register_settings_of, sweep_of
from triptych.config.unused_keys import refuse_unused
from triptych.errors import UserError

HYPOTHESIS = ["hypothesis=system.fr", "reference=talk.fr"]
INPUT = ["run=runs/x", "input=talk.en", "reference=talk.fr"]
SUITES = ["run=runs/x", "split=suites"]
SPLIT = ["run=runs/x", "split=validation"]

OF_A_MODEL = (
    "search=greedy",
    "search.beam_size=8",
    "search_tokens=9",
    "checkpoint=last",
    "device=cpu",
    "precision=bf16",
    "src=en",
)


@pytest.mark.parametrize(
    ("given", "key", "reason"),
    [
        *((HYPOTHESIS, key, "no model runs") for key in OF_A_MODEL),
        (HYPOTHESIS, "trust=mine", "without run=… no configuration is read"),
        *((SUITES, key, "likelihood") for key in ("search=greedy", "+search.x=1", "metric=[bleu]", "metric.bleu.x=1")),
        *((split, key, "the run's data") for split in (SPLIT, SUITES) for key in ("src=en", "tgt=fr")),
        *((given, "suite_items=9", "split=suites") for given in (SPLIT, INPUT, HYPOTHESIS)),
    ],
)
def test_evaluate_names_a_key_without_effect_and_why(given: list[str], key: str, reason: str) -> None:
    with pytest.raises(UserError, match="has no effect here") as refused:
        refuse_unused("evaluate", [[*given, key]])
    assert str(refused.value).startswith(key)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        [*HYPOTHESIS, "metric=[ter]", "tgt=fr", "output=kept", "run=runs/x", "trust=mine"],
        [*HYPOTHESIS, "checkpoint=null", "src=null"],
        [*INPUT, "search.beam_size=8", "metric=[ter]", "src=en", "tgt=fr", "checkpoint=last", "device=cpu"],
        [*SUITES, "suite_items=9", "checkpoint=last", "device=cpu", "search_tokens=9"],
        [*SPLIT, "search=greedy", "metric=[ter]", "checkpoint=last", "device=cpu", "search_tokens=9"],
        [*SPLIT, "hydra.searchpath=[file://conf]"],
    ],
)
def test_evaluate_takes_keys_that_have_an_effect(given: list[str]) -> None:
    refuse_unused("evaluate", [given])


def test_a_key_that_another_run_of_the_command_line_uses_is_no_mistake() -> None:
    register_settings_of(SPLIT)
    found = arms_of("evaluate", ["-m", "run=runs/x", "split=validation,suites", "suite_items=9"])
    assert found is not None
    assert compose_command("evaluate", [], inherited=found[1][0]).suite_items == 9
    with pytest.raises(UserError, match=r"suite_items=9 has no effect here: it is for split=suites; leave it out\."):
        arms_of("evaluate", ["-m", "run=runs/x", "split=validation,test", "suite_items=9"])
    with pytest.raises(UserError, match="suite_items=9 has no effect"):
        compose_command("evaluate", [*SPLIT, "suite_items=9"])


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["hydra.run.dir=x"], "output=… and name=…"),
        (["hydra.sweep.dir=x"], "output=… and name=…"),
        (["-m", "hydra.sweep.dir=x"], "output=… and name=…"),
        (["hydra/launcher=joblib"], "add -m"),
        (["hydra.sweeper.max_batch_size=1"], "add -m"),
        (["jobs=4"], "add -m"),
        (["hydra.verbose=true"], "triptych starts its runs itself"),
        (["-m", "seed=1,2", "hydra/job_logging=default"], "triptych starts its runs itself"),
        (["-m", "seed=1,2", "hydra.mode=RUN"], "-m starts a sweep"),
    ],
)
def test_train_names_a_key_of_hydra_without_effect_and_why(given: list[str], reason: str) -> None:
    with pytest.raises(UserError, match="has no effect here") as refused:
        sweep_of(["scale=smoke", *given])
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        ["experiment=positions", "hydra.mode=RUN"],
        ["seed=1", "hydra/launcher=joblib", "hydra.mode=RUN"],  # a rank of a run of a sweep
        ["hydra.mode=MULTIRUN", "seed=1,2", "jobs=2"],
        ["-m", "seed=1,2", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "hydra.sweep.dir=logs"],
        ["experiment=positions", "hydra/launcher=joblib"],
    ],
)
def test_train_takes_keys_of_hydra_that_have_an_effect(given: list[str]) -> None:
    sweep_of(["scale=smoke", *given])


def test_other_commands_take_no_key_of_hydra() -> None:
    with pytest.raises(UserError, match="triptych starts this command itself"):
        refuse_unused("translate", [["run=runs/x", "hydra.sweep.dir=x"]])

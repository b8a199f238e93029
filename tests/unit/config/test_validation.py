"""Mistakes that a configuration shows before any text is read."""

from __future__ import annotations

import pytest
from conftest import compose_train

from triptych.config.validation import check
from triptych.errors import UserError


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (
            ["+callbacks.own._target_=no_such_module.Own"],
            "callbacks.own._target_=no_such_module.Own cannot be imported",
        ),
        (["+callbacks.own.every=3"], "callbacks.own has no _target_"),
        (["model._target_=no_such_module.Own"], "model._target_=no_such_module.Own cannot be imported"),
        (["optimizer.optimizer._target_=torch.optim.Own"], "optimizer.optimizer._target_=torch.optim.Own cannot be"),
        (["metric.bleu._target_=triptych.Own"], "metric.bleu._target_=triptych.Own cannot be imported"),
        (["validation.search.length_penalty=tuned"], "validation.search.length_penalty=tuned is for search alone"),
        (["+trainer.enable_checkpointing=false"], "trainer.enable_checkpointing cannot be set"),
        (["+trainer.fast_dev_run=true"], "trainer.fast_dev_run cannot be set"),
        (["+trainer.min_steps=5"], "trainer.min_steps cannot be set"),
        (["+trainer.limit_train_batches=0"], "trainer.limit_train_batches is set by budget"),
        (["+trainer.max_time=00:00:00:00"], "trainer.max_time is set by budget"),
        (["+trainer.log_every_n_steps=5"], "trainer.log_every_n_steps is set by log_every"),
        (["+trainer.devices=2"], "trainer.devices is set by strategy"),
        (
            ["study.claims=[{claim: x, arm: a, reference: b, expect: more}]"],
            "study.claims (x).expect=more is unknown; choose one of better, worse, equal",
        ),
        (
            ["study.dose={name: x, mean_of: [model.dropout, model.norm]}"],
            "study.dose.mean_of names model.norm, which is layer; name numeric keys",
        ),
        (["study.claims=[{claim: x, arm: a, expect: better}]"], "study.claims (x) has no arm to compare with"),
        (
            ["study.claims=[{claim: x, arm: a, reference: b, expect: better, published: [c]}]"],
            "study.claims (x).published must be two rows of published.csv, whose difference is the published figure",
        ),
    ],
)
def test_a_mistake_is_named(overrides: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError) as refused:
        check(compose_train("scale=smoke", *overrides))
    assert words in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("scale", "penalty"), [("smoke", 0.6), ("toy", 0.6), ("multi30k", "tuned"), ("paper", "tuned")]
)
def test_the_length_penalty_is_tuned_from_multi30k_up(scale: str, penalty: object) -> None:
    data = ["data.dir=."] if scale == "paper" else []
    assert compose_train(f"scale={scale}", *data).search.length_penalty == penalty
    given = compose_train(f"scale={scale}", "search.length_penalty=1.0", "metric=[bleu]", *data)
    assert (given.search.length_penalty, list(given.metric)) == (1.0, ["bleu"]), "the command line has the last word"

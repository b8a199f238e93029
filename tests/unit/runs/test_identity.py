"""What identifies a run, and what it is called."""

from __future__ import annotations

from functools import cache

import pytest
from omegaconf import OmegaConf

from triptych.config.composition import compose_run
from triptych.runs.identity import SCORING, config_hash, display_overrides, identifying_overrides, short_label

SMOKE = ["scale=smoke", "model=transformer"]


@cache
def hashes(*overrides: str) -> tuple[str, str]:
    config = compose_run([*SMOKE, *overrides]).config
    return config_hash(config, "text"), config_hash(config, "text", leaving_out=SCORING)


@pytest.mark.parametrize(
    "override",
    ["name=x", "output=x", "cache=x", "logger=wandb", "study.name=x", "hydra.verbose=true", "scale.averaging_every=7"],
)
def test_what_computes_the_same_is_the_same_run(override: str) -> None:
    assert hashes(override) == hashes()


@pytest.mark.parametrize(
    ("per_step", "devices"),
    [
        (1, ["strategy.workers=2"]),
        (1, ["strategy.accelerator=auto"]),
        (4, ["batch.per_step=4"]),
        (4, ["strategy=ddp", "strategy.precision=32-true", "batch.accumulate=2"]),
        (4, ["strategy=ddp", "strategy.precision=32-true", "strategy.num_nodes=2"]),
        (4, ["strategy=ddp", "strategy.precision=32-true", "batch.per_step=4"]),
    ],
)
def test_devices_do_not_identify_a_run_that_has_as_many_batches_a_step(per_step: int, devices: list[str]) -> None:
    assert hashes(*devices) == hashes(f"batch.accumulate={per_step}")


@pytest.mark.parametrize("overrides", [(), ("batch.accumulate=2",), ("strategy.compile=true",)])
def test_a_run_of_one_process_on_a_cpu_keeps_its_earlier_hash(overrides: tuple[str, ...]) -> None:
    config = compose_run([*SMOKE, *overrides]).config
    assert config_hash(config, "text") == config_hash(config, "text", with_devices=True)


def test_a_run_that_is_sharded_or_has_another_batch_is_another() -> None:
    copies = "strategy=ddp", "strategy.precision=32-true"
    assert len({hashes(), hashes(*copies), hashes("strategy=fsdp", "strategy.precision=32-true")}) == 3


def test_where_text_lies_does_not_identify_it() -> None:
    text = ["data=text", "data.src=en", "data.tgt=fr"]
    assert hashes(*text, "data.dir=x") == hashes(*text, "data.dir=y")


@pytest.mark.parametrize(
    "override",
    [
        "search.length_penalty=tuned",
        "search.stop=first",
        "search.min_length=2",
        "metric=[ter]",
        "metric.bleu.lowercase=true",
        "search=greedy",
        "search_tokens=99",
        "length_edges=[9]",
        "suite_items=3",
        "frequency_edges=[1]",
        "test=false",
    ],
)
def test_what_only_scores_shares_the_training(override: str) -> None:
    (whole, training), (same_whole, same_training) = hashes(override), hashes()
    assert whole != same_whole
    assert training == same_training


@pytest.mark.parametrize(
    "override",
    [
        "seed=2",
        "callbacks=[early_stopping]",
        "trainer.gradient_clip_val=0.5",
        "+trainer.deterministic=true",
        "strategy.kernels=reference",
        "checkpoint.keep=2",
        "validation.every=3",
        "validation.search.min_length=2",
        "model.dropout=0.3",
    ],
)
def test_what_changes_the_training_makes_another(override: str) -> None:
    assert all(one != other for one, other in zip(hashes(override), hashes(), strict=True))


def test_a_key_that_came_later_changes_no_hash_until_it_is_used() -> None:
    """A run that was made before the key existed is found again."""
    config = compose_run(SMOKE).config
    older = OmegaConf.create(OmegaConf.to_container(config))
    for section in (older.search, older.validation.search):
        del section["min_length"]
    assert config_hash(older, "text") == config_hash(config, "text")
    assert hashes("search.min_length=0") == hashes()


def test_the_text_and_the_reference_count() -> None:
    config = compose_run(SMOKE).config
    assert (
        len({config_hash(config, "text"), config_hash(config, "other"), config_hash(config, "text", reference={})}) == 3
    )


def test_overrides_that_identify_and_how_they_are_shown() -> None:
    given = ["model=lm4mt", "output=x", "name=y", "+study.name=s", "hydra.mode=RUN", "data.dir=/far/away", "++seed=2"]
    assert identifying_overrides(given) == ["model=lm4mt", "data.dir=/far/away", "seed=2"]
    assert display_overrides(given) == ["model=lm4mt", "data.dir=away", "seed=2"]
    assert identifying_overrides(["data.dir='/x/y'", "model=rnn", "cache='a'"]) == ["data.dir=/x/y", "model=rnn"]
    assert display_overrides(["data.train=[x/a.de,/y/a.en]", "data.dir=b/c/"]) == [
        "data.train=[a.de,a.en]",
        "data.dir=c",
    ]


@pytest.mark.parametrize(
    ("overrides", "label"),
    [
        (["model=lm4mt", "loss.autoencode.alpha=0.1"], "lm4mt-alpha_0.1"),
        (["arm=table3/base", "seed=2"], "base-seed_2"),
        (["metric=[bleu,chrf]"], "metric_bleu_chrf"),
        (["model/encoder=rnn"], "model_encoder_rnn"),
        ([], ""),
    ],
)
def test_labels_are_names_of_folders(overrides: list[str], label: str) -> None:
    assert short_label(overrides) == label

"""Values that no configuration can mean are named before anything is built: by type, by range, and by unknown key."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable
from typing import Any, Literal, TypeVar

import pytest
from omegaconf import OmegaConf

from docs_build.faults.settings import CONFIGURATIONS, Fault, faults, outcome
from triptych.config.composition import compose_run, compose_unchecked
from triptych.config.types import check_types
from triptych.errors import UserError


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("+unknown=1", "unknown is no configuration key"),
        ("+nogroup=rnn", "nogroup is no configuration key"),
        ("+scale.x=1", "scale.x is no configuration key"),
        ("+budget.step=1", "budget.step is no configuration key; did you mean budget.steps?"),
        ("+model.num_head=2", "did you mean model.num_heads?"),
        ("+strategy.worker=2", "did you mean strategy.workers?"),
        ("+optimizer.optimizer.lr=5", "optimizer.optimizer.lr is set by optimizer.schedule; use that key."),
        ("optimizer.weight_decay=-1", "optimizer.weight_decay=-1 must be a number of at least 0."),
        ("optimizer.weight_decay=abc", "optimizer.weight_decay=abc must be a number."),
        ("seed=4294967296", "seed=4294967296 must be an integer of at least 0 and at most 4,294,967,295."),
        ("trainer.gradient_clip_val=nan", "trainer.gradient_clip_val=nan is no finite number"),
        ("tokenizer.vocab_size=1099511627776", "at most 10,000,000"),
        ("strategy.workers=abc", "strategy.workers=abc must be an integer."),
        ("loss.autoencode=null", "loss.autoencode=null must be a section with a _target_."),
        ("loss.autoencode.points=[[0,nan]]", "loss.autoencode.points[0][1]=nan is no finite number"),
        ("search.length_penalty=1000", "search.length_penalty=1000 must be a number of at least 0 and at most 100"),
        ("search.beam_size=1000000000", "at most 10,000"),
        ("search.max_length_ratio=1e30", "at most 100"),
        ("model._target_=nope", "model._target_=nope cannot be imported"),
        ("model._target_=triptych.__version__", "is no class or function"),
        ("+_target_=nope", "_target_ is no configuration key"),
        ("model.encoder_layers=1000000000", "at most 1,000"),
        ("model.d_ff=16777216", "GiB"),
        ("~model", "model"),
    ],
)
def test_it_is_named_in_one_sentence(override: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        compose_run(["scale=smoke", "model=transformer_base", override])
    assert said in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_a_section_is_named_by_its_keys() -> None:
    with pytest.raises(UserError, match="must be a section with a _target_ and keys such as duplicates and identical"):
        compose_run(["scale=smoke", "data=text", "data.src=en", "data.tgt=fr", "data.clean=1"])


def test_a_model_that_is_no_option_is_refused_before_training() -> None:
    """It failed after training, when its result was to be named."""
    model = "triptych.models.transformer.Transformer"
    with pytest.raises(UserError, match="model must be an option"):
        compose_run(["scale=smoke", "~model", f"+model._target_={model}"])


@pytest.mark.parametrize("path", ["/tmp/l'été", "/tmp/a=b", "/tmp/日本", "/tmp/plain", "~/here", "a b"])
def test_paths_may_have_any_letters(path: str) -> None:
    assert compose_unchecked([f"output={path}", f"cache={path}"]).config.output == path


def wrong(chosen: Iterable[Fault]) -> list[str]:
    return [f"{fault.key} ({fault.kind}): {found}" for fault in chosen if (found := outcome(fault).wrong)]


def test_a_sample_of_all_keys_with_values_that_they_cannot_have() -> None:
    assert not wrong(random.Random(25).sample(faults("scale=smoke", "loss=decayed", "model=lm4mt"), 60))


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("overrides", CONFIGURATIONS, ids=lambda given: given[1])
def test_all_keys_with_values_that_they_cannot_have(overrides: list[str]) -> None:
    assert not wrong(faults(*overrides))


Unbound = TypeVar("Unbound")


class OwnPart:
    """A part of the user's, with annotations that triptych itself has not."""

    def __init__(
        self,
        kernels: tuple[int, ...] = (),
        groups: Literal[1, 2, "all"] = 1,
        width: int = None,  # type: ignore[assignment] # noqa: RUF013
        layers: Iterable[int] = (),
        names: set[str] | None = None,
        anything: object = None,
        key: Hashable = 0,
        generic: Unbound = 0,  # type: ignore[assignment]
    ) -> None:
        pass


class PartWithProse:
    def __init__(self, width: "an integer, 512 by default") -> None:  # type: ignore[valid-type] # noqa: F722
        pass


def checked(part: type, **values: Any) -> None:
    check_types(OmegaConf.create({"model": {"_target_": f"{part.__module__}.{part.__qualname__}", **values}}))


def test_whatever_the_annotations_of_a_users_part_admit_is_let_through() -> None:
    for given in (
        {"kernels": [3, 5, 7]},
        {"groups": 2},
        {"groups": "all"},
        {"width": None},
        {"layers": [1, 2]},
        {"names": ["a"]},
        {"anything": 3},
        {"anything": {"a": 1}},
        {"key": 1},
        {"generic": [1]},
    ):
        checked(OwnPart, **given)
    checked(PartWithProse, width=512)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"kernels": [3, "a"]}, "model.kernels[1]=a must be an integer."),
        ({"kernels": {"a": 1}}, "must be a list."),
        ({"groups": 1.5}, "model.groups=1.5 must be an integer or text."),
        ({"layers": 3}, "model.layers=3 must be a list."),
    ],
)
def test_what_they_do_not_admit_is_named(values: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as refused:
        checked(OwnPart, **values)
    assert said in str(refused.value)

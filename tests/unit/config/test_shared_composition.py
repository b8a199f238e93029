"""The arms of a sweep are composed from what they share, and come out as Hydra alone composes each of them."""

import pickle
from collections import Counter
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from triptych.config import schema, shared_composition, validation
from triptych.config.composition import check_and_freeze, compose_unchecked
from triptych.config.explanations import explain
from triptych.config.shared_composition import compose_arms
from triptych.errors import UserError

ARMS = [
    ["model=transformer", "seed=1"],
    ["model=transformer", "seed=2", "model.dropout=0.3"],
    ["seed=3", "model=rnn", "search@validation.search=beam", "data.train=100"],
    ["model=rnn", "data.train=100", "data={train: 50}"],  # the later of two values counts
    ["model=rnn", "data={train: 50}", "data.train=100"],
    ["model=transformer", "~data.max_length", "+trainer.benchmark=true", "++seed=4"],
    ["model=transformer", "logger=csv", "hydra.job.name=other"],
    ["model=transformer", "output=runs/é=1", "cache=${output}/cache"],
    ["model=rnn", "name=5"],  # text, since the key's type says so
    ["model=rnn", 'seed="7"'],
    ["match=parameters", "arm=concepts/rnn", "search.beam_size=2"],
    ["match=flops", "model=lm4mt", "model.d_ff=7", "scale.d_model=32"],
]


@pytest.fixture
def shared_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where an arm is not composed from what arms share."""

    def refuse(overrides: list[str]) -> None:
        raise AssertionError(f"{overrides} was composed alone")

    monkeypatch.setattr(shared_composition, "compose_unchecked", refuse)


@pytest.mark.usefixtures("shared_alone")
def test_arms_are_composed_as_alone() -> None:
    together = compose_arms(ARMS)
    for arm, found in zip(ARMS, together, strict=True):
        alone = compose_unchecked(arm)
        assert OmegaConf.to_yaml(found.config) == OmegaConf.to_yaml(alone.config)
        assert (found.choices, found.overrides) == (alone.choices, alone.overrides)
        assert found.reference_model == alone.reference_model
        assert found.config._metadata.flags == alone.config._metadata.flags


@pytest.mark.usefixtures("shared_alone")
def test_what_arms_share_is_composed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    composed: list[list[str]] = []
    compose = shared_composition.compose

    def counted(command: str, overrides: list[str], **options: bool) -> object:
        composed.append(overrides)
        return compose(command, overrides=overrides, **options)

    monkeypatch.setattr(shared_composition, "compose", counted)
    first, second, other = compose_arms([["model=lm4mt", "seed=1"], ["model=lm4mt", "seed=2"], ["model=rnn", "seed=1"]])
    assert composed == [["model=lm4mt"], ["model=rnn"]]
    first.config.data.train = 5  # no arm has a part of another's
    assert second.config.data.train == compose_unchecked(["model=lm4mt"]).config.data.train
    assert other.choices["model"] == "rnn"


def test_a_process_that_knows_no_resolver_of_ours_reads_a_checked_arm() -> None:
    (arm,) = compose_arms([["experiment=scaling", "scale=toy", "model=rnn", "scale.scaling.width=3"]])
    wanted, checked = arm.reference_model, pickle.dumps(check_and_freeze(arm))
    assert wanted is not None
    OmegaConf.clear_resolver("times")
    try:
        assert pickle.loads(checked).reference_model == wanted
    finally:
        schema.register()


@pytest.mark.usefixtures("shared_alone")
def test_the_model_that_match_compares_with_is_composed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compose, composed = shared_composition.compose, Counter[tuple[str, ...]]()

    def counted(command: str, overrides: list[str], **options: bool) -> object:
        composed[tuple(overrides)] += 1
        return compose(command, overrides=overrides, **options)

    monkeypatch.setattr(shared_composition, "compose", counted)
    small, large = compose_arms([["match=parameters", "model=rnn", f"scale.d_model={size}"] for size in (32, 48)])
    assert composed == {("match=parameters", "model=rnn"): 1, ("match=parameters", "model=transformer"): 1}
    assert [arm.reference_model and arm.reference_model["d_model"] for arm in (small, large)] == [32, 48]


def test_a_group_of_a_search_path_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "flavour").mkdir()
    (tmp_path / "flavour" / "strong.yaml").write_text("# @package _global_\nseed: 77\n")
    arm = ["model=rnn", f"hydra.searchpath=[file://{tmp_path}]", "+flavour=strong"]
    (found,) = compose_arms([arm])
    assert found.config.seed == 77
    assert found.choices["flavour"] == "strong"


@pytest.mark.parametrize(
    "mistake",
    [
        "model.no_such=1",
        "no_such=1",
        "model=no_such",
        "seed=1,2",
        "seed=[",
        "~model.no_such",
        "output=null",
        "log_every=abc",
    ],
)
def test_mistakes_are_those_of_an_arm_alone(mistake: str) -> None:
    with pytest.raises(Exception) as together:  # noqa: PT011 - Hydra's own, of several kinds
        compose_arms([["model=rnn"], ["model=rnn", mistake]])
    with pytest.raises(Exception) as alone:  # noqa: PT011
        compose_unchecked(["model=rnn", mistake])
    assert type(together.value) is type(alone.value)
    assert explain(together.value) == explain(alone.value)


def test_arms_that_differ_in_their_seed_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    check = validation.check
    monkeypatch.setattr(validation, "check", lambda config: (seen.append(config.seed), check(config)))
    checked: set[str] = set()
    arms = compose_arms(
        [["model=rnn", f"seed={seed}", f"model.dropout={rate}"] for rate in (0, 0.1) for seed in (1, 2)]
    )
    assert all(OmegaConf.is_readonly(check_and_freeze(arm, checked).config) for arm in arms)
    assert seen == [1, 1]


@pytest.mark.parametrize(("seed", "said"), [("-1", "seed=-1"), ("???", "seed=…")])
def test_the_seed_of_each_arm_is_checked(seed: str, said: str) -> None:
    checked: set[str] = set()
    good, wrong = compose_arms([["model=rnn"], ["model=rnn", f"seed={seed}"]])
    check_and_freeze(good, checked)
    with pytest.raises(UserError, match=said):
        check_and_freeze(wrong, checked)


def test_a_value_that_follows_from_the_seed_is_checked_for_each_arm() -> None:
    checked: set[str] = set()
    good, wrong = compose_arms([["model=rnn", "log_every=${seed}", f"seed={seed}"] for seed in (1, 0)])
    check_and_freeze(good, checked)
    with pytest.raises(UserError, match="log_every=0"):
        check_and_freeze(wrong, checked)

"""`match`: equal parameters, or equal FLOPs a token, for every pair of architectures at every size."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from conftest import compose_train
from hydra.utils import instantiate

from triptych.accounting.flops import training_flops
from triptych.accounting.parameters import count_parameters
from triptych.config.composition import compose_run, compose_unchecked
from triptych.contract.vocabulary import Vocabulary
from triptych.errors import UserError
from triptych.training.match import TOLERANCE, matched_sizes, nearest_size, resized

PIECES = {"tiny": 1_400, "base": 32_000, "article": 32_000}
ARCHITECTURES = ("rnn", "transformer", "lm4mt")
LENGTHS = np.random.default_rng(0).normal((25, 27), 15, (300, 2)).clip(2, 100).astype(int)


def pieces(count: int) -> Vocabulary:
    return Vocabulary(src_size=count, tgt_size=count, joint=True, src_tag=4, tgt_tag=5)


def preset(architecture: str, size: str) -> str:
    return "rnn_gnmt" if (architecture, size) == ("rnn", "base") else f"{architecture}_{size}"


MATCHES = list(
    itertools.product(
        itertools.permutations(ARCHITECTURES, 2),
        [("parameters", "translation"), ("flops", "translation"), ("flops", "joint"), ("flops", "decayed")],
        ["tiny", "base", "article"],
    )
)
QUICK = [
    (("rnn", "transformer"), ("parameters", "translation"), "tiny"),
    (("transformer", "lm4mt"), ("parameters", "translation"), "tiny"),
    (("lm4mt", "rnn"), ("flops", "translation"), "tiny"),
    (("lm4mt", "transformer"), ("flops", "decayed"), "tiny"),
]
"""Those for `make test`."""


@pytest.mark.parametrize(
    ("pair", "equal", "size"),
    [pytest.param(*match, marks=[] if match in QUICK else pytest.mark.slow) for match in MATCHES],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_within_two_percent(pair: tuple[str, str], equal: tuple[str, str], size: str) -> None:
    (arm, reference), (by, loss) = pair, equal
    check_match(preset(arm, size), preset(reference, size), by, loss, pieces(PIECES[size]))


@pytest.mark.parametrize(
    ("arm", "reference", "by"),
    [
        ("convs2s_tiny", "transformer_tiny", "parameters"),
        ("convs2s_tiny", "rnn_tiny", "flops"),
        pytest.param("transformer_tiny", "convs2s_tiny", "flops", marks=pytest.mark.slow),
        pytest.param("convs2s_gehring2017", "transformer_base", "parameters", marks=pytest.mark.slow),
    ],
)
def test_convolutions_within_two_percent(arm: str, reference: str, by: str) -> None:
    check_match(arm, reference, by, "translation", pieces(PIECES["base" if "2017" in arm else "tiny"]))


@pytest.mark.parametrize("by", ["parameters", "flops"])
@pytest.mark.parametrize(
    "arm", ["rnn", *(pytest.param(arm, marks=pytest.mark.slow) for arm in ("every_layer", "feed_forward"))]
)
def test_both_halves_of_a_hybrid_are_matched_together(arm: str, by: str) -> None:
    run_config = compose_unchecked([f"match={by}", f"arm=concepts/{arm}", "scale=toy"])
    reference = run_config.reference_model
    assert reference is not None
    sizes = matched_sizes(run_config.config, reference, pieces(2_000), LENGTHS)
    assert list(sizes) == ["encoder.hidden_size", "decoder.hidden_size"]
    assert len(set(sizes.values())) == 1
    with torch.device("meta"):
        given = resized(run_config.config.model, sizes)
        arms = [instantiate(one, vocabulary=pieces(2_000)) for one in (given, reference)]
    if by == "parameters":
        ours, theirs = (count_parameters(model).non_embedding for model in arms)
    else:
        ours, theirs = (sum(model.flops(*pair) for pair in LENGTHS.tolist()) for model in arms)
    assert abs(ours / theirs - 1) <= TOLERANCE


def test_halves_of_different_sizes_are_not_matched() -> None:
    run_config = compose_unchecked(["scale=smoke", "match=parameters", "model=hybrid"])
    reference = run_config.reference_model
    assert reference is not None
    with pytest.raises(UserError, match="Hybrid to the 21,504 of transformer; it has no sizes to change"):
        matched_sizes(run_config.config, reference, pieces(1_400), LENGTHS)


def check_match(arm: str, reference_name: str, by: str, loss: str, vocabulary: Vocabulary) -> None:
    overrides = [f"match={by}", f"match.reference={reference_name}", f"model={arm}", f"loss={loss}"]
    run_config = compose_unchecked(["scale=smoke", *overrides])
    config, reference = run_config.config, run_config.reference_model
    assert reference is not None
    sizes = matched_sizes(config, reference, vocabulary, LENGTHS)
    with torch.device("meta"):
        arms = [
            instantiate(config.model, vocabulary=vocabulary, **sizes),
            instantiate(reference, vocabulary=vocabulary),
        ]
    if by == "parameters":
        ours, theirs = (count_parameters(model).non_embedding for model in arms)
    else:
        autoencode = instantiate(config.loss).autoencode
        steps = Counter((*pair, autoencode(step / 100) > 0) for step in range(100) for pair in LENGTHS.tolist())
        ours, theirs = (training_flops(model, steps) for model in arms)
    assert abs(ours / theirs - 1) <= TOLERANCE


def test_the_reference_has_nothing_of_the_arm() -> None:
    overrides = ["scale=smoke", "match=parameters", "model=lm4mt", "model.d_ff=7", "tokenizer.joint=true"]
    run_config = compose_unchecked(overrides)
    assert run_config.reference_model == compose_train("scale=smoke").model
    assert run_config.config.model.d_ff == 7


def test_what_cannot_be_matched(monkeypatch: pytest.MonkeyPatch) -> None:
    run_config = compose_unchecked(
        ["scale=smoke", "match=parameters", "match.reference=transformer_big", "model=transformer_tiny"]
    )
    reference = run_config.reference_model
    assert reference is not None
    monkeypatch.setattr("triptych.models.transformer.Transformer.sizes", ())
    with pytest.raises(UserError, match="transformer_big; it has no sizes to change"):
        matched_sizes(run_config.config, reference, pieces(1_400), LENGTHS)
    with pytest.raises(UserError, match=r"match.by=width is unknown; choose one of parameters, flops"):
        compose_run(["match=parameters", "match.by=width"])
    with pytest.raises(UserError, match=r"match.reference=nope is unknown; choose one of .*transformer"):
        compose_run(["match=parameters", "match.reference=nope", "model=rnn"])
    with pytest.raises(UserError, match=r"match.reference=null must be text"):
        compose_run(["match=parameters", "match.reference=null", "model=rnn"])


@pytest.mark.parametrize("wanted", [1, 9, 10, 24, 25, 2**16])
def test_nearest(wanted: int) -> None:
    found = nearest_size(lambda size: size**2, wanted)
    assert abs(found**2 - wanted) == min(abs(size**2 - wanted) for size in range(1, 300))


@pytest.mark.parametrize("model", ["rnn_tiny", "lm4mt_tiny"])
def test_a_multiple_of_the_reference(model: str) -> None:
    given = ["match=parameters", "match.reference=transformer_tiny", "+match.times=2.633", f"model={model}"]
    run_config = compose_unchecked(["scale=smoke", *given])
    reference = run_config.reference_model
    assert reference is not None
    vocabulary = pieces(PIECES["tiny"])
    sizes = matched_sizes(run_config.config, reference, vocabulary, LENGTHS)
    with torch.device("meta"):
        ours, theirs = (
            count_parameters(instantiate(one, vocabulary=vocabulary, **more)).non_embedding
            for one, more in ((run_config.config.model, sizes), (reference, {}))
        )
    assert ours / theirs == pytest.approx(2.633, rel=TOLERANCE)


@pytest.mark.parametrize("key", ["times", "budget_times"])
def test_a_multiple_is_a_number_above_0(key: str) -> None:
    for value in ("0", "much"):
        with pytest.raises(UserError, match=rf"match\.{key}={value} must be a number"):
            compose_run(["scale=smoke", "match=parameters", f"+match.{key}={value}"])

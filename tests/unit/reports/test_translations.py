"""Translations of all arms side by side: which sentences a page shows, and what it carries of them."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from made_runs import REFERENCES, make_run, rows_of, spoilt, unpacked, write_translations

from triptych.evaluation.sentence_chrf import sentence_chrf
from triptych.reports.build import report
from triptych.reports.translations import TranslatedSet, translated_set
from triptych.reports.translations_data import page_data

SOURCES = [f"source {number}" for number in range(1, len(REFERENCES) + 1)]


def table(*lines: tuple[str, int | None, int, float]) -> pd.DataFrame:
    """Translations of which only the scores matter: arm, seed, sentence and chrF of each."""
    frame = pd.DataFrame(lines, columns=["arm", "seed", "sentence", "chrf"])
    return frame.assign(seed=frame["seed"].astype(object), translation="")


def test_disagreement_is_between_arms_of_one_seed() -> None:
    scores = [("a", 1, 80.0), ("b", 1, 50.0), ("a", 2, 20.0), ("b", 2, 30.0), ("a", 3, 0.0)]
    found = TranslatedSet("test", ["one"], None, table(*((arm, seed, 1, chrf) for arm, seed, chrf in scores)))
    assert found.disagreement.to_dict() == {1: 20.0}, "the mean of 30 and 10; seed 3 has one arm"


def test_disagreement_of_one_arm_is_its_distance_from_the_reference() -> None:
    found = TranslatedSet("test", ["one"], None, table(("a", 1, 1, 80.0), ("a", 2, 1, 60.0)))
    assert found.disagreement.to_dict() == {1: 30.0}
    unseeded = TranslatedSet("test", ["one"], None, table(("a", None, 1, 80.0), ("b", None, 1, 60.0)))
    assert unseeded.disagreement.to_dict() == {1: 20.0}


def test_the_most_different_and_some_others_are_chosen() -> None:
    apart = {number: float(number % 500) / 10 for number in range(1, 501)}
    lines = [(arm, 1, number, 50.0 + sign * gap) for number, gap in apart.items() for arm, sign in (("a", 1), ("b", 0))]
    found = TranslatedSet("test", ["line"] * 500, None, table(*lines)).chosen
    most, others = found[~found["at_random"]], found[found["at_random"]]
    assert list(most.index) == list(range(499, 299, -1))
    assert len(others) == 100
    assert others.index.is_monotonic_increasing
    assert not set(others.index) & set(most.index)
    assert others.index.max() - others.index.min() > 200, "from the whole rest"
    again = TranslatedSet("test", ["line"] * 500, None, table(*lines)).chosen
    pd.testing.assert_frame_equal(found, again)


def test_every_arm_and_seed_has_its_lines(tmp_path: Path) -> None:
    for share, seed in ((0.1, 1), (0.1, 2), (0.5, 1)):
        name = f"model=m{share},seed={seed}-0000000{seed}"
        make_run(tmp_path, name, seed, lines=spoilt(share, seed), sources=SOURCES)
    found = translated_set(rows_of(tmp_path), "toy")
    assert found is not None
    assert (found.arms, found.seeds, found.sources) == (["m0.1", "m0.5"], [1, 2], SOURCES)
    one = found.translations.query("arm == 'm0.1' and seed == 2")
    assert list(one["translation"]) == spoilt(0.1, 2)
    assert list(one["chrf"]) == pytest.approx(list(sentence_chrf(spoilt(0.1, 2), REFERENCES)))
    assert translated_set(rows_of(tmp_path), "another") is None


def test_translations_of_other_text_are_left_out(tmp_path: Path) -> None:
    make_run(tmp_path, "model=a-00000001", lines=REFERENCES)
    other = make_run(tmp_path, "model=b-00000002")
    write_translations(other, REFERENCES, REFERENCES[::-1])
    found = translated_set(rows_of(tmp_path), "toy")
    assert found is not None
    assert (found.arms, found.left_out, found.sources) == (["a"], ("b",), None)


def test_what_the_page_carries(tmp_path: Path) -> None:
    lines = [spoilt(0.5), ["</script><b>&amp;</b> \u2028 ]]>", *REFERENCES[1:]]]
    for number, each in enumerate(lines, 1):
        make_run(tmp_path, f"model=m{number},seed=1-0000000{number}", lines=each, sources=SOURCES)
    data = json.loads(unpacked(report(tmp_path).page, "translations-data"))
    assert [arm["label"] for arm in data["arms"]] == ["m1", "m2"]
    (found,) = data["sets"]
    assert (found["size"], found["hasSources"], found["seeds"]) == (30, True, ["1"])
    for sentence in found["sentences"]:
        place = sentence["number"] - 1
        assert (sentence["source"], sentence["reference"]) == (SOURCES[place], REFERENCES[place])
        assert [sentence["texts"][seeds[0]] for seeds in sentence["which"]] == [each[place] for each in lines]
        assert sentence["chrf"] == [
            pytest.approx(one, abs=0.05)
            for one in sentence_chrf(sentence["texts"], [REFERENCES[place]] * len(sentence["texts"]))
        ]
    assert sorted(sentence["number"] for sentence in found["sentences"]) == list(range(1, 31))
    the = next(line for line in found["ngrams"] if line[1] == "the")
    assert the[:2] == [1, "the"]
    assert the[2] == 60


def test_an_arm_without_a_seed_has_none_there(tmp_path: Path) -> None:
    for share, seed in ((0.1, 1), (0.1, 2), (0.5, 1)):
        make_run(tmp_path, f"model=m{share},seed={seed}-0000000{seed}", seed, lines=spoilt(share, seed))
    rows = rows_of(tmp_path)
    found = translated_set(rows, "toy")
    assert found is not None
    data = page_data([found], rows, {"m0.1": "red", "m0.5": "blue"}, "m0.5")
    assert data["reference"] == 1
    assert data["sets"][0]["hasSources"] is False
    assert all(sentence["which"][1][1] is None for sentence in data["sets"][0]["sentences"])
    assert all(sentence["source"] is None for sentence in data["sets"][0]["sentences"])

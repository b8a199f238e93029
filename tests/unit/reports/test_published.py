"""Published figures: their differences from the arm that a publication compares an arm with."""

from __future__ import annotations

from pathlib import Path

import pytest

from triptych.errors import UserError
from triptych.reports import published
from triptych.reports.study import Study

TABLE = """\
arm,perplexity,BLEU (one),BLEU (two),against,source,set_up
base,4.9,25.8,,,Somebody,x
fewer,5.2,25.4,14.0,,Somebody,x
base (again),,,14.0,,Somebody else,y
other,,,18.65,base (again),Somebody else,y
another,,,18.65,fewer,Somebody else,y
rough,,about 34,,base,Somebody,x
lonely,,,3.0,,Somebody,x
"""


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> published.Published:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "published.csv").write_text(TABLE)
    monkeypatch.setattr(published, "EXPERIMENTS", tmp_path)
    return published.read_published(tmp_path, Study("study", "base", frozenset(), ()))


@pytest.mark.parametrize(
    ("arm", "shown", "against", "metric"),
    [
        ("fewer", "−0.4", "base", "BLEU (one)"),
        ("other", "+4.65", "base (again)", "BLEU (two)"),
        ("rough", "≈ +8", "base", "BLEU (one)"),
    ],
)
def test_each_has_its_own_reference(
    found: published.Published, arm: str, shown: str, against: str, metric: str
) -> None:
    difference = found.difference(arm, "base")
    assert difference is not None
    assert (str(difference), difference.against, difference.metric) == (shown, against, metric)


def test_without_a_shared_figure_there_is_none(found: published.Published) -> None:
    assert found.difference("base", "base") is None
    assert found.difference("lonely", "base") is None, "in another metric"
    assert found.difference("another", "base") is None, "its reference is none of ours"
    assert found.difference("unknown", "base") is None
    assert found.difference("fewer", None) is None
    assert found.header == ("perplexity", "BLEU (one)", "BLEU (two)")


def test_two_arms_differ_in_every_figure_of_quality(found: published.Published) -> None:
    shown = [(str(each), each.metric, each.source) for each in found.between("fewer", "base")]
    assert shown == [("+0.3", "perplexity", "Somebody"), ("−0.4", "BLEU (one)", "Somebody")]
    assert [str(each) for each in found.between("base", "fewer", ("BLEU",))] == ["+0.4"]
    assert found.between("fewer", "rough", ("perplexity",)) == []
    assert found.between("unknown", "base") == []


def test_an_unknown_arm_to_compare_with_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "published.csv").write_text(TABLE.replace("base (again),Somebody else", "few,Somebody else"))
    monkeypatch.setattr(published, "EXPERIMENTS", tmp_path)
    with pytest.raises(UserError, match="compares other with few, which has no row there"):
        published.read_published(tmp_path, Study("study", "base", frozenset(), ()))

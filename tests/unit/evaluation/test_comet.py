"""COMET with a made-up package: what it is given, and what is said where package or weights are missing."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import ROOT
from hydra.utils import instantiate
from omegaconf import OmegaConf

from triptych.errors import UserError
from triptych.evaluation.comet import Comet
from triptych.evaluation.metrics import Metric, score_corpus

SETTINGS: dict[str, Any] = {"model": "Unbabel/wmt22-comet-da", "batch_size": 2, "gpus": 0}


class MadeUpModel:
    """Scores a translation by how many of its words the reference has."""

    calls: list[dict[str, Any]]

    def __init__(self) -> None:
        self.calls = []

    def predict(self, rows: list[dict[str, str]], **how: Any) -> SimpleNamespace:
        self.calls.append({"rows": rows, **how})
        scores = [len({*row["mt"].split()} & {*row["ref"].split()}) / 4 for row in rows]
        return SimpleNamespace(scores=scores, system_score=sum(scores) / len(scores))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> MadeUpModel:
    made = MadeUpModel()
    package = SimpleNamespace(
        download_model=lambda name: f"/models/{name}",
        load_from_checkpoint=lambda path: made if path == f"/models/{SETTINGS['model']}" else None,
    )
    monkeypatch.setitem(sys.modules, "comet", package)  # type: ignore[arg-type]
    return made


def test_the_package_gets_source_translation_and_reference(model: MadeUpModel) -> None:
    metric = Comet(**SETTINGS)
    assert isinstance(metric, Metric)
    found = metric.score(["a b", "c"], ["a b d e", "f"], ["x", "y"])
    assert found.score == 0.25
    assert found.signature.startswith("model:Unbabel/wmt22-comet-da|version:comet-")
    rows = [{"src": "x", "mt": "a b", "ref": "a b d e"}, {"src": "y", "mt": "c", "ref": "f"}]
    assert model.calls == [{"rows": rows, "batch_size": 2, "gpus": 0, "progress_bar": False}]


def test_the_option_builds_it(model: MadeUpModel) -> None:
    metrics = instantiate(OmegaConf.load(ROOT / "conf" / "metric" / "comet.yaml"))
    assert score_corpus(dict(metrics), ["a b c d"], ["a b c d"], ["x"])["comet"] == 1


def test_without_the_package_it_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "comet", None)
    with pytest.raises(UserError, match=r"^metric=comet needs a package .*pip install -e '\.\[comet\]'.*\.$"):
        Comet(**SETTINGS)


def test_without_weights_it_is_refused_in_one_sentence(model: MadeUpModel) -> None:
    def fail(name: str) -> str:
        raise OSError("no network\nat all.")

    sys.modules["comet"].download_model = fail  # type: ignore[attr-defined]
    with pytest.raises(UserError) as refused:
        Comet(**SETTINGS)
    assert str(refused.value).startswith(
        "metric.comet.model=Unbabel/wmt22-comet-da cannot be fetched (no network at all);"
    )
    assert len(str(refused.value).splitlines()) == 1


def test_impossible_settings_are_refused() -> None:
    for wrong in ({"batch_size": 0}, {"gpus": -1}):
        with pytest.raises(UserError, match=rf"metric\.comet\.{next(iter(wrong))}="):
            Comet(**SETTINGS | wrong)

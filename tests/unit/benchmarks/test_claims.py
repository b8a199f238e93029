"""The page of published claims is what its script writes, and each claim has its source, its verdict and its study."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from conftest import ROOT
from made_runs import NODE, change, make_arm, make_run, spoilt

from benchmarks import claims
from triptych.errors import UserError
from triptych.reports import published

FILE = """\
study:
  reference: base
  claims:
    - {claim: Small keys hurt, arm: B1, expect: worse}
    - {claim: Small keys hurt perplexity, arm: B1, expect: worse, measure: loss, source: Somebody else}
    - {claim: Dropout helps, arm: D1, expect: worse, published: [D2, base]}
    - {claim: Big is better, arm: big, expect: better, source: Nobody}
"""
PUBLISHED = """\
arm,perplexity,BLEU (one),source,set_up
base,4.9,25.8,Somebody,x
B1,5.2,25.4,Somebody,x
D2,,24.0,A third,x
"""


def make_study(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a checkout with the study ``own``: its file, its published figures, and a place for results."""
    (folder / "conf" / "experiment").mkdir(parents=True)
    (folder / "conf" / "experiment" / "own.yaml").write_text(FILE)
    (folder / "experiments" / "own" / "results").mkdir(parents=True)
    (folder / "experiments" / "own" / "published.csv").write_text(PUBLISHED)
    monkeypatch.setattr("triptych.reports.study.conf_dir", lambda: folder / "conf")
    monkeypatch.setattr(claims, "EXPERIMENTS", folder / "experiments")
    monkeypatch.setattr(published, "EXPERIMENTS", folder / "experiments")


def train(home: Path, arm: str, losses: Sequence[float], **node: object) -> None:
    for seed, loss in enumerate(losses, start=1):
        overrides = ["experiment=own", f"arm=own/{arm}", f"seed={seed}"]
        place = len(list((home / "arms").glob("*"))) if (home / "arms").exists() else 0
        make_arm(home, place, *overrides, run=f"{arm}-0000000{seed}", study="own")
        study = {**NODE, "name": "own", **node}
        run = make_run(
            home, f"{arm}-0000000{seed}", seed=seed, lines=spoilt(0.2, seed), study=study, overrides=overrides
        )
        change(run, "validation", "loss", to=loss)


@pytest.mark.slow
def test_the_page_is_what_the_script_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """And every claim has its source and its study."""
    found = {study: claims.read_lines(study) for study in claims.studies()}
    for study, lines in found.items():
        for line in lines:
            assert line.source, f"{study}: {line.judged.claim.claim}"
            assert line.cells[-1].startswith(f"[{study}](../experiments/{study})")
    monkeypatch.setattr(claims, "read_lines", found.__getitem__)
    text = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert claims.write() == text
    top = [line for line in text.partition("## All other claims")[0].splitlines() if line.startswith("| ")]
    for question, pairs in claims.QUESTIONS.items():
        assert f"## {question}" in text
        for study, arm, base in pairs:
            assert study not in claims.studies() or any(
                f"({arm} against {base})" in re.sub(r"\\", "", line) and f"[{study}]" in line for line in top
            )
    assert int(re.search(r"(\d+) claims, of publications", text)[1]) >= 25


def test_claims_name_values_of_their_sweep_as_arms_do() -> None:
    for path in (ROOT / "conf" / "experiment").glob("*.yaml"):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        values = {
            key: {str(yaml.safe_load(value)) for value in str(text).split(",")}
            for key, text in content["hydra"]["sweeper"]["params"].items()
        }
        for claim in content["study"].get("claims") or ():
            named = " ".join((claim["arm"], claim.get("reference") or content["study"]["reference"]))
            for key, sign, value in (part.partition("=") for part in named.split()):
                assert not sign or value in values[key], f"{path.name}: {key}={value}"


def test_a_claim_stands_beside_what_was_published_and_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_study(tmp_path, monkeypatch)
    home = tmp_path / "experiments" / "own" / "results" / "toy"
    for arm, losses in (("base", [1.50, 1.51, 1.49]), ("B1", [1.70, 1.71, 1.69])):
        train(home, arm, losses)
    make_arm(home, 9, "experiment=own", "arm=own/D1", "seed=1", status="failed", reason="no", study="own")
    hurt, perplexity, dropout, big = (line.cells for line in claims.read_lines("own"))
    assert hurt[:3] == [
        "Small keys hurt (B1 against base)", "Somebody", "+0.3 perplexity; −0.4 BLEU (one)"
    ]  # fmt: skip
    assert re.match(r"\+0\.200 \\\[\+0\.1\d\d, \+0\.2\d\d\\\] nats a token; \+0\.00", hurt[3])
    assert hurt[4:] == ["held", "[own](../experiments/own), toy"]
    assert perplexity[1:3] == ["Somebody else", "+0.3 perplexity"]
    assert dropout == [
        "Dropout helps (D1 against base)", "A third", "−1.8 BLEU (one)", "–", "not run", "[own](../experiments/own)"
    ]  # fmt: skip
    assert big[1:] == ["Nobody", "–", "–", "not run", "[own](../experiments/own)"]


def test_runs_that_were_committed_with_claims_keep_what_they_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_study(tmp_path, monkeypatch)
    results = tmp_path / "experiments" / "own" / "results"
    stored = [{"claim": "Keys matter", "arm": "B1", "expect": "worse"}]
    stored.append({"claim": "Small keys help", "arm": "B1", "expect": "better"})
    for scale, own in (("multi30k", {}), ("toy", {"claims": stored})):
        for arm in ("base", "B1"):
            train(results / scale, arm, [1.5], **own)
    found = [(line.judged.claim.claim, line.scale, line.source) for line in claims.read_lines("own")]
    assert found == [
        ("Small keys hurt", "multi30k", "Somebody"),
        ("Small keys hurt", "toy", "Somebody"),  # in the words of the study's file, which tests the same
        ("Small keys hurt perplexity", "multi30k", "Somebody else"),
        ("Dropout helps", "", "A third"),
        ("Big is better", "", "Nobody"),
        ("Small keys help", "toy", "Somebody"),
    ]


def test_a_published_row_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_study(tmp_path, monkeypatch)
    path = tmp_path / "experiments" / "own" / "published.csv"
    path.write_text(path.read_text().replace("D2,", "D3,"))
    with pytest.raises(UserError, match=r"Dropout helps\) names D2, which own/published\.csv does not have"):
        claims.read_lines("own")

"""What a study declares about its arms."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from triptych.config.claims import check_claim
from triptych.config.equal import check_equal
from triptych.config.search_path import conf_dir
from triptych.errors import UserError, require_one_of
from triptych.reports.dose import Dose
from triptych.reports.measures import LIKELIHOOD
from triptych.reports.statistics.verdict import Expectation
from triptych.reports.stored_run import StoredRun
from triptych.sweeps.arms import Arm

logger = logging.getLogger(__name__)

VARIABLE = ("tokens", "search")
"""What a study may vary on purpose although a fair comparison would refuse it."""


@dataclass(frozen=True)
class Claim:
    """A claim about two arms, which the report judges.

    Attributes:
        claim: the claim in words.
        arm: the arm that it is about, or the name of the study's dose.
        reference: the arm that it is compared with.
        expect: what it says of the arm, or of the highest dose against the lowest.
        measure: the key of the measure that decides; None for the study's primary one.
        test_set: the test set of the measure; None for the first.
        baseline_test_set: the test set whose difference is subtracted from that on ``test_set``; None for none.
        source: the publication that makes it; None for that of the published figure.
        published: the two rows of published.csv whose difference is the published figure; empty for those of the arms.
    """

    claim: str
    arm: str
    reference: str
    expect: Expectation
    measure: str | None = None
    test_set: str | None = None
    baseline_test_set: str | None = None
    source: str | None = None
    published: tuple[str, ...] = ()

    @property
    def decided_by(self) -> tuple[str | None, ...]:
        """What its verdict depends on: the arms, what it expects, the measure and the test sets."""
        return self.arm, self.reference, self.expect, self.measure, self.test_set, self.baseline_test_set


@dataclass(frozen=True)
class Study:
    """The study that the arms of a report belong to.

    Attributes:
        name: None if they belong to no study, or to several.
        reference: the arm that the others are tested against, if any.
        varies: what the arms differ in on purpose although a fair comparison would refuse it: ``tokens`` (the stream
            of batches) or ``search`` (how they decode).
        deviations: how the arms depart from the published set-up, a clause each.
        primary: the key of the measure that decides (``measures.primary_measure``).
        margin: the difference within which arms count as equivalent, in its unit; None for the measure's own.
        dose: the quantity that its arms have more or less of, if any.
        claims: the claims that it tests.
        series: the key of the override whose values name its series, if it is a study of scaling.
        claims_are_younger: whether its runs were trained before the claims were written.
        primary_is_younger: whether its runs were trained before the primary measure was written.
        equal: the meanings of equal under which the arms are compared.
        stand_ins: further meanings, by name: for some arms, the arm that stands in for each.
    """

    name: str | None
    reference: str | None
    varies: frozenset[str]
    deviations: tuple[str, ...]
    primary: str = LIKELIHOOD
    margin: float | None = None
    dose: Dose | None = None
    claims: tuple[Claim, ...] = ()
    series: str | None = None
    claims_are_younger: bool = False
    primary_is_younger: bool = False
    equal: tuple[str, ...] = ()
    stand_ins: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def find_study(folder: Path, arms: Sequence[Arm], runs: Sequence[StoredRun]) -> Study:
    """Return the study that the arms name, or else the runs, or else the path ``experiments/<study>/results/<scale>``.

    Its claims and their measures are read from the runs' configs. Runs of before claims were stored have those
    of the study's present file, and so have kept results whose runs stored none. Kept results take the words of claims
    and deviations from there, too.

    Raises:
        UserError: the arms belong to several studies, their study varies what no study may vary, or a claim or a
            meaning of equal is wrong.
    """
    nodes = [run.config.get("study") or {} for run in runs]
    names = {arm.study for arm in arms} or {node["name"] for node in nodes if node.get("name")}
    if arms and len(names) > 1:
        listed = ", ".join(sorted(name or "no study" for name in names))
        raise UserError(
            f"{folder} holds the arms of several studies ({listed}); give each sweep an output=… of its own, "
            "and report that."
        )
    if len(names) > 1:
        return Study(None, None, frozenset(), ())
    name = next(iter(names), None) or (study_folder(folder).name if is_result(folder) else None)
    own = [node for node in nodes if node.get("name") == next(iter(names), None)]
    if names and not own:  # every run was adopted
        own = [present_node(name)]
    _warn_of_several(own)
    varies = own[0].get("varies") or () if own else ()
    for what in varies:
        require_one_of(VARIABLE, "study", varies=what)
    reference = own[0].get("reference") if own else None
    named = own[0] if own and names else {}
    declared = present_node(name) if named and "claims" not in named else named
    equal, stand_ins = tuple(declared.get("equal") or ()), declared.get("stand_ins") or {}
    check_equal(equal, stand_ins)
    words = present_node(name) if is_result(folder) else {}
    stored, present = read_claims(declared, reference), read_claims(words, words.get("reference"))
    described = [words] if words else own
    deviations = [text for node in described for text in node.get("deviations") or ()]
    return Study(
        name=name,
        reference=reference,
        varies=frozenset(varies),
        deviations=tuple(dict.fromkeys(deviations)),
        primary=declared.get("primary") or LIKELIHOOD,
        margin=declared.get("margin"),
        dose=_read_dose(declared),
        claims=reworded(stored, present) if stored else present,
        claims_are_younger=declared is not named or (not stored and bool(present)),
        primary_is_younger=declared is not named,
        series=declared.get("series"),
        equal=equal,
        stand_ins=stand_ins,
    )


def _warn_of_several(nodes: Sequence[Mapping[str, Any]]) -> None:
    """Warn that runs of one study declare different things; their ``deviations`` and ``untested`` claims may differ."""
    keys = dict.fromkeys(key for node in nodes for key in node if key not in ("deviations", "untested"))
    differing = [key for key in keys if any(node.get(key) != nodes[0].get(key) for node in nodes)]
    if differing:
        named = " and ".join(f"study.{key}" for key in differing)
        logger.warning("%s differs between the runs; the report goes by that of the first.", named)


def present_node(name: str | None) -> dict[str, Any]:
    """Return the ``study`` of ``conf/experiment/<name>.yaml``, empty if there is no such file."""
    path = conf_dir() / "experiment" / f"{name}.yaml"
    found = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found.get("study") or {}


def read_claims(node: Mapping[str, Any], reference: str | None) -> tuple[Claim, ...]:
    """Return the claims of a ``study`` node.

    Args:
        node: of a run's config or of a study's file.
        reference: the arm that claims without one of their own compare with.

    Raises:
        UserError: a claim lacks an arm to compare with, expects what no claim can, or names one published row.
    """
    return tuple(_read_claim(claim, reference) for claim in node.get("claims") or ())


def reworded(claims: Sequence[Claim], present: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return claims with the words, sources and published rows of the present claims that test the same.

    What decides a claim stays as it was when its runs began. Of several present claims that test the same, the one with
    the same words is taken, and else the next that no other claim has taken.
    """
    by_words = {(one.decided_by, one.claim): one for one in present}
    stored = {(one.decided_by, one.claim) for one in claims}
    others = [one for key, one in by_words.items() if key not in stored]
    found = []
    for claim in claims:
        chosen = by_words.get((claim.decided_by, claim.claim))
        if chosen is None and (alike := [one for one in others if one.decided_by == claim.decided_by]):
            chosen = alike[0]
            others.remove(chosen)
        found.append(chosen or claim)
    return tuple(found)


def _read_dose(node: Mapping[str, Any]) -> Dose | None:
    found = node.get("dose") or {}
    return Dose(found["name"], tuple(found["mean_of"])) if found.get("name") else None


def _read_claim(node: Mapping[str, Any], reference: str | None) -> Claim:
    text, against, published = node["claim"], node.get("reference") or reference, node.get("published") or ()
    measured = {key: node.get(key) for key in ("measure", "test_set", "baseline_test_set")}
    check_claim(text, expect=node["expect"], reference=against, published=published, **measured)
    return Claim(
        claim=text,
        arm=node["arm"],
        reference=str(against),
        expect=Expectation(node["expect"]),
        **measured,
        source=node.get("source"),
        published=tuple(published),
    )


def subfolders(folder: Path) -> list[str]:
    """Return the names of the folders in a folder, in alphabetical order, without the hidden ones."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def is_result(folder: Path) -> bool:
    """Return whether a folder is ``experiments/<study>/results/<scale>``."""
    parts = folder.resolve().parts
    return parts[-2:-1] == ("results",) and parts[-4:-3] == ("experiments",)


def study_folder(folder: Path) -> Path:
    """Return the folder of the study whose results lie in ``folder``."""
    return folder.resolve().parents[1]

"""Write docs/claims.md: every published claim that a study names, with the verdict of committed results.

python -m benchmarks.claims
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.small_and_large import paragraph
from triptych.config.search_path import conf_dir
from triptych.errors import UserError
from triptych.files import replacing
from triptych.reports.analysis import Analysis
from triptych.reports.arm_rows import build_rows
from triptych.reports.formats import markdown_cell
from triptych.reports.published import QUALITY, Published, PublishedDifference, read_published
from triptych.reports.reader import find_arms, find_runs
from triptych.reports.setup import unconverged
from triptych.reports.study import Claim, Study, find_study, present_node, read_claims, subfolders
from triptych.reports.table import MISSING
from triptych.reports.verdicts import NOT_RUN, JudgedClaim

ROOT = Path(__file__).parents[1]
EXPERIMENTS = ROOT / "experiments"
PAGE = ROOT / "docs" / "claims.md"
QUESTIONS = {
    "Attention against the bottleneck, by length": {
        ("architectures", "rnn_bahdanau", "rnn_none"),
        ("architectures", "rnn_luong", "rnn_none"),
        ("rnn_attention", "bahdanau", "none"),
        ("rnn_attention", "luong_general", "none"),
        ("bottleneck", "rnn_luong", "rnn_none"),
    },
    "Transformer against RNN": {("fair", "transformer", "rnn_luong"), ("architectures", "transformer", "rnn_luong")},
    "LM4MT with the decayed loss, against L_MT and against the encoder-decoder": {
        ("fair", "lm4mt_decayed", "transformer"),
        ("fair", "lm4mt_decayed", "lm4mt"),
        ("fair", "lm4mt", "transformer"),
        ("lm4mt_loss", "decayed", "translation"),
        ("lm4mt_loss", "decayed", "encoder_decoder"),
        ("architectures", "lm4mt", "transformer"),
    },
}
"""What stands on top of the page: the study, the arm, and what it is compared with."""
FIGURES = {None: QUALITY, "bleu": ("BLEU",), "loss": ("perplexity",)}
"""The published figures that a claim is about, by the measure that decides it."""


@dataclass(frozen=True)
class Line:
    """A claim of a study with what was published and what was measured.

    Attributes:
        study: the study.
        scale: the scale of the results; empty if no results have both arms.
        claim: the claim as the study's file has it, or else as the runs have it.
        judged: the verdict.
        source: the publication that makes the claim; empty if none is named.
        published: the published differences.
        unconverged: those of the arms that decide it whose validation loss still fell when their training ended.
    """

    study: str
    scale: str
    claim: Claim
    judged: JudgedClaim
    source: str
    published: Sequence[PublishedDifference]
    unconverged: Sequence[str] = ()

    @property
    def pair(self) -> tuple[str, str, str]:
        """The study and the two arms."""
        return self.study, self.judged.claim.arm, self.judged.claim.reference

    @property
    def cells(self) -> list[str]:
        """The cells of its line on the page."""
        theirs = "; ".join(f"{each} {each.metric}" for each in self.published) or MISSING
        return [
            *map(escaped, (self.judged.label, self.source, theirs, self._ours, self._verdict)),
            linked(self.study, self.scale),
        ]

    @property
    def _verdict(self) -> str:
        falling = f" (still falling: {', '.join(self.unconverged)})" if self.unconverged else ""
        return f"{self.judged.verdict}{falling}"

    @property
    def _ours(self) -> str:
        measure, judged = self.judged.measure, self.judged
        if measure is None or judged.difference == MISSING:
            return MISSING
        test_set = f" ({' minus '.join(measure.test_sets)})" if judged.claim.test_set else ""
        ours = f"{judged.difference} {measure.unit}{test_set}"
        return f"{ours}; {judged.in_bleu} BLEU" if judged.in_bleu not in ("", MISSING) else ours


def read_lines(study: str) -> list[Line]:
    """Return the claims of a study, each with every scale at which both of its arms were run.

    Runs that stored claims are judged by those, in the words of the study's file, and other runs by the claims of that
    file. A claim of the file without a result has one line.

    Raises:
        UserError: a claim names a published row that ``published.csv`` does not have.
    """
    node = present_node(study)
    present = read_claims(node, node.get("reference"))
    home = EXPERIMENTS / study / "results"
    published = read_published(EXPERIMENTS / study, Study(study, node.get("reference"), frozenset(), ()))
    lines: dict[Claim, list[Line]] = {claim: [] for claim in present}
    for scale in subfolders(home) if home.is_dir() else ():
        analysis = analyse(home / scale)
        falling = {row.arm: row.label for row in unconverged(analysis.rows)}
        for judged in analysis.judged_claims:
            claim = as_written(judged.claim, present)
            found = lines.setdefault(claim, [])
            if judged.verdict != NOT_RUN:
                line = make_line(study, scale, judged, claim, published)
                pair = (judged.claim.arm, judged.claim.reference)
                arms = pair if pair[0] in {row.arm for row in analysis.rows} else tuple(falling)  # a dose: all arms
                found.append(replace(line, unconverged=[falling[arm] for arm in arms if arm in falling]))
    for claim, found in lines.items():
        if not found:
            label = f"{claim.claim} ({claim.arm} against {claim.reference})"
            found.append(make_line(study, "", JudgedClaim(claim, label, NOT_RUN, None), claim, published))
    return [line for found in lines.values() for line in found]


def as_written(claim: Claim, present: Sequence[Claim]) -> Claim:
    """Return the claim of a study's file that tests what a stored one tests, or has its words; else the stored one."""
    same = [one for one in present if one.decided_by == claim.decided_by]
    alike = [one for one in present if one.claim == claim.claim]
    exact = [one for one in same if one in alike]
    return next(iter((*exact, *same, *alike)), claim)


def analyse(home: Path) -> Analysis:
    """Return what the results in one folder say of their study's claims."""
    arms, runs = find_arms(home), find_runs(home)
    study = find_study(home, arms, runs)
    return Analysis(build_rows(home, arms, runs, study.reference), study)


def make_line(study: str, scale: str, judged: JudgedClaim, claim: Claim, published: Published) -> Line:
    """Return the line of a claim.

    Args:
        study: the study.
        scale: the scale of the results.
        judged: the verdict.
        claim: the claim as the page has it.
        published: the figures of the study.

    Raises:
        UserError: the claim names a published row that is not there.
    """
    for row in claim.published:
        if row not in published.cells:
            raise UserError(f"study.claims ({claim.claim}) names {row}, which {study}/published.csv does not have.")
    arm, base = claim.published or (claim.arm, claim.reference)
    theirs = published.between(arm, base, FIGURES.get(claim.measure, ()))
    source = claim.source or (published.sources.get(arm, "") if theirs else "")
    return Line(study, scale, claim, judged, source, theirs)


def page(lines: Sequence[Line], untested: Sequence[list[str]]) -> str:
    """Return the page as Markdown.

    Args:
        lines: the claims, in the order of their studies.
        untested: the cells of the claims without a verdict.
    """
    claims = {(line.study, line.claim) for line in lines}
    words = Counter(line.judged.verdict.partition(":")[0] for line in lines)
    counted = ", ".join(f"{count} {word}" for word, count in words.most_common())
    head = ["claim", "source", "published difference", "ours [95% interval]", "verdict", "study"]
    text = [
        "# Published claims, and what was found here",
        "",
        *paragraph(
            f"{len(claims)} claims, of publications or of the [studies](studies.md) themselves, and {len(untested)} "
            f"more without a verdict. A claim has a line for each scale that it was tested at: {counted}. This "
            "page is written by `python -m benchmarks.claims`, from the claims in `conf/experiment`, the figures in "
            "`experiments/*/published.csv` and committed results alone."
        ),
        *paragraph(
            "A difference is that of the first arm in brackets minus the second. Of ours, the first is in the measure "
            "that decides the verdict, and the second in BLEU. Where it names two test sets, it is the difference on "
            "the first minus that on the second. A lower loss (nats) or perplexity is better. "
            "[The words of the verdicts](../experiments/README.md#verdicts) say what an interval has to show. "
            "Published figures are of other data, sizes and metrics than ours, so only their signs can be compared. "
            "*Still falling* names arms whose validation loss fell by more than 0.01 nats a token in the last fifth of "
            "their training. Several claims are about the same difference, and some studies trained the same pair of "
            "arms, so verdicts are not independent findings."
        ),
    ]
    for question, pairs in QUESTIONS.items():
        text += [f"## {question}", "", *table(head, [line.cells for line in lines if line.pair in pairs])]
    on_top = set().union(*QUESTIONS.values())
    text += ["## All other claims", "", *table(head, [line.cells for line in lines if line.pair not in on_top])]
    text += [
        "## Claims without a verdict",
        "",
        *paragraph(
            "The study that names such a claim does not decide it by a difference between two of its arms. Another "
            "study may test it."
        ),
        *table(["claim", "source", "why there is no verdict", "study"], untested),
    ]
    return "\n".join(text).rstrip("\n") + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table of text, and an empty line."""
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)] + [""]


def escaped(text: str) -> str:
    """Return a cell of a Markdown table; a dash for empty text."""
    return markdown_cell(text) or MISSING


def linked(study: str, scale: str = "") -> str:
    """Return a link to a study, with the scale of the results."""
    return f"[{study}](../experiments/{study}){', ' if scale else ''}{scale}"


def untested_claims(study: str) -> list[list[str]]:
    """Return the cells of the claims that a study's file names without testing them."""
    return [
        [*map(escaped, (one["claim"], one["source"], one["reason"])), linked(study)]
        for one in present_node(study).get("untested") or ()
    ]


def studies() -> list[str]:
    """Return the names of all studies."""
    return sorted(path.stem for path in (conf_dir() / "experiment").glob("*.yaml"))


def write() -> str:
    """Return the page of all studies."""
    lines = [line for study in studies() for line in read_lines(study)]
    return page(lines, [cells for study in studies() for cells in untested_claims(study)])


def main() -> None:
    with replacing(PAGE) as beside:
        beside.write_text(write(), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()

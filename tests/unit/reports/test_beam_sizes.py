"""BLEU and seconds over beam size."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_runs import make_run

from triptych.reports.build import Report, report

STUDY = {"name": "own", "varies": ["search"]}


def translate(root: Path, beam: int, bleu: float, seconds: float, penalty: float = 0.0, seed: int = 1) -> None:
    """Make a run of a beam size with these scores."""
    overrides = [f"search.beam_size={beam}", f"search.length_penalty={penalty}", f"seed={seed}"]
    scores = {"bleu": bleu, "bleu_signature": "s", "seconds": seconds, "beam_size": beam, "length_penalty": penalty}
    name = f"run-{beam:03d}{int(10 * penalty):03d}{seed:02d}"
    make_run(root, name, seed=seed, tests={"toy": scores}, study=STUDY, overrides=overrides)


def titles(found: Report) -> list[str]:
    return [title for title, _ in found.figures]


def test_a_line_for_each_other_setting_with_means_over_seeds(tmp_path: Path) -> None:
    for seed, shift in ((1, -1.0), (2, 1.0)):
        for beam, bleu, seconds in ((10, 22.0, 9.0), (1, 20.0, 1.0), (2, 21.0, 2.0)):
            translate(tmp_path, beam, bleu + shift, seconds + shift / 2, seed=seed)
            translate(tmp_path, beam, bleu + shift + 5, seconds, penalty=1.0, seed=seed)
    made = report(tmp_path)
    (table,) = (one for one in made.tables if one.title == "Beam size, toy")
    assert table.cells.to_numpy().tolist() == [
        ["length_penalty=0.0", "1", "20.00", "1.0"],
        ["length_penalty=0.0", "2", "21.00", "2.0"],
        ["length_penalty=0.0", "10", "22.00", "9.0"],
        ["length_penalty=1.0", "1", "25.00", "1.0"],
        ["length_penalty=1.0", "2", "26.00", "2.0"],
        ["length_penalty=1.0", "10", "27.00", "9.0"],
    ]
    (figure,) = (one for title, one in made.figures if title == "BLEU and time by beam size, toy")
    assert [(trace.name, trace.yaxis, trace.x, trace.y) for trace in figure.data] == [
        ("length_penalty=0.0", "y", (1, 2, 10), (20.0, 21.0, 22.0)),
        ("length_penalty=0.0", "y2", (1, 2, 10), (1.0, 2.0, 9.0)),
        ("length_penalty=1.0", "y", (1, 2, 10), (25.0, 26.0, 27.0)),
        ("length_penalty=1.0", "y2", (1, 2, 10), (1.0, 2.0, 9.0)),
    ]


@pytest.mark.parametrize("beams", [(1, 2), (4,)])
def test_fewer_than_three_beam_sizes_make_no_line(tmp_path: Path, beams: tuple[int, ...]) -> None:
    for beam in beams:
        translate(tmp_path, beam, 20.0, 1.0)
    made = report(tmp_path)
    assert not [title for title in titles(made) if "beam size" in title]
    assert not [one for one in made.tables if one.title.startswith("Beam size")]


def test_beams_in_a_row_are_a_range(tmp_path: Path) -> None:
    for beam in (3, 1, 2):
        translate(tmp_path, beam, 20.0, 1.0)
    assert any("beam 1 to 3, length penalty 0.0" in str(note) for note in report(tmp_path).tables[0].notes)

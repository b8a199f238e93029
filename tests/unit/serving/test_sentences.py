"""Sentences of the test sets that served runs have translated."""

from __future__ import annotations

from pathlib import Path

from made_runs import REFERENCES, make_run, spoilt

from triptych.serving.sentences import sentences_of


def test_the_first_run_that_has_them_gives_the_sentences(tmp_path: Path) -> None:
    sources = [[f"{run} {line}" for line in REFERENCES] for run in (1, 2)]
    without = make_run(tmp_path, "model=a-00000001", lines=spoilt(0.1))
    runs = [
        make_run(tmp_path, f"model={name}-00000002", lines=spoilt(0.2), sources=sources[i])
        for i, name in enumerate("bc")
    ]
    assert sentences_of([without]) == {}
    found = sentences_of([without, *runs])
    assert {*found} == {"toy"}
    assert list(found["toy"]["source"]) == sources[0]
    assert list(found["toy"]["reference"]) == REFERENCES


def test_a_run_that_has_no_result_has_none(tmp_path: Path) -> None:
    folder = make_run(tmp_path, "model=a-00000001", lines=REFERENCES, sources=REFERENCES)
    (folder / "result.json").unlink()
    assert sentences_of([folder]) == {}

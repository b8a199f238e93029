"""Hypotheses are ranked by the mean of several models' log-probabilities of their text."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import triptych

from triptych.runs.demo import demo_names
from triptych.runs.run import load

SOURCES = ["The schools that I showed him are not new.", "", "She sees the red house and the dogs."]
FIRST, *OTHERS = (f"demo:{name}" for name in demo_names())


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_the_mean_by_hand_decides(alpha: float, tiny_run: Path) -> None:
    """One of the others has another tokenizer, and likes other translations."""
    others = [OTHERS[0], str(tiny_run / "runs" / "tiny")]
    alone, scorers, together = load(FIRST), [load(one) for one in others], load(FIRST, rerank=others)
    search = alone.translator.search.with_length_penalty(alpha).with_beam(4, 4)
    changed = 0
    for line, found, ranked in zip(
        SOURCES,
        alone.translator.hypotheses(SOURCES, search),
        together.translator.hypotheses(SOURCES, search),
        strict=True,
    ):
        texts = [alone.translator.text_of(one) for one in found]
        theirs = [run.score([line] * len(texts), texts) for run in scorers]
        means = [(own.log_probability + sum(scores)) / 3 for own, *scores in zip(found, *theirs, strict=True)]
        lengths = [len(one.tokens) + (not one.cut) for one in found]
        expected = [mean / ((5 + length) / 6) ** alpha for mean, length in zip(means, lengths, strict=True)]
        order = sorted(range(len(found)), key=lambda i: -expected[i])
        assert [one.tokens for one in ranked] == [found[i].tokens for i in order]
        assert [one.score for one in ranked] == pytest.approx([expected[i] for i in order], rel=1e-5)
        assert [one.log_probability for one in ranked] == pytest.approx([means[i] for i in order], rel=1e-5)
        changed += order != sorted(order)
    assert changed, "the others' choice is another one"
    both = together.translator.hypotheses_by_penalty(SOURCES, [alpha, 2.0], search)
    assert both == [
        together.translator.hypotheses(SOURCES, search.with_length_penalty(tried)) for tried in (alpha, 2.0)
    ]
    (best,) = together.translator.hypotheses(SOURCES[:1], search.with_beam(4, 1))
    assert [best[0].tokens] == [together.translator.hypotheses(SOURCES[:1], search)[0][0].tokens]
    assert together.score(SOURCES[:1], ["Une maison."]) == alone.score(SOURCES[:1], ["Une maison."])


def test_the_command_translates_and_scores_as_python_does(tmp_path: Path) -> None:
    together = load(FIRST, rerank=OTHERS)
    expected = together.translate(SOURCES)
    for name, lines in (("text.en", SOURCES), ("text.fr", [line or "-" for line in expected])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    listed = f"rerank=[{','.join(OTHERS)}]"
    done = triptych("translate", f"run={FIRST}", listed, "input=text.en", cwd=tmp_path)
    assert done.stdout.split("\n")[:-1] == expected, done.stderr
    done = triptych(
        "evaluate", f"run={FIRST}", listed, "input=text.en", "reference=text.fr", "metric=[bleu]", cwd=tmp_path
    )
    assert f"checkpoint {together.weights}, " in done.stdout, done.stderr
    assert together.weights == load(FIRST, rerank=OTHERS[::-1]).weights != load(FIRST, ensemble=OTHERS).weights


def test_what_does_not_go_together(tmp_path: Path) -> None:
    for given, said in (
        (["rerank=nowhere"], "rerank: run=nowhere"),
        ([f"rerank=[{FIRST}]"], "rerank: a run is named twice"),
        ([f"rerank={OTHERS[0]}", "search=greedy"], "rerank: search.beam_size=1 finds one translation"),
    ):
        done = triptych("translate", f"run={FIRST}", *given, cwd=tmp_path, stdin="The cat.\n")
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert done.stderr.startswith(f"triptych: {said}"), done.stderr

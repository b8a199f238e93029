"""Several models that translate together: scores are the mean by hand, and search finds what is best by them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
import torch
from conftest import triptych
from test_search import HashModel, make_search, next_log_probs

from triptych.api import evaluate
from triptych.contract.vocabulary import EOS
from triptych.decoding.ensemble import Ensemble
from triptych.errors import UserError
from triptych.runs.demo import demo_names
from triptych.runs.run import Run, load

SOURCES = ["The schools that I showed him are not new.", "The cat sleeps.", "She sees the red house and the dogs."]
FIRST, *OTHERS = (f"demo:{name}" for name in demo_names())


@pytest.mark.parametrize("seed", range(5))
def test_search_finds_the_best_mean_of_log_probabilities(seed: int) -> None:
    models = [HashModel(2 * seed + i, vocabulary=6) for i in range(2)]
    words, limit, found = (4, 5), 3, []
    for length in range(limit):
        for prefix in itertools.product(words, repeat=length):
            found.append((prefix, mean(models, [*prefix, EOS])))
    found += [(prefix, mean(models, list(prefix))) for prefix in itertools.product(words, repeat=limit)]
    best = max(found, key=lambda one: one[1])
    search = make_search(beam_size=20, length_penalty=0.0, max_length_extra=limit)
    hypothesis = search(Ensemble(models), torch.tensor([[4, EOS]]), torch.tensor([2]))[0][0]
    assert tuple(hypothesis.tokens) == best[0]
    assert hypothesis.log_probability == pytest.approx(best[1], abs=1e-4)


def mean(models: list[HashModel], tokens: list[int]) -> float:
    """The mean over the models of the log-probability of a translation of [4], by their own steps."""
    return sum(
        float(next_log_probs(model, [4], tokens[:i])[token]) for model in models for i, token in enumerate(tokens)
    ) / len(models)


def test_an_ensemble_of_one_is_that_one() -> None:
    model, search = HashModel(3, vocabulary=8), make_search(n_best=4, length_penalty=0.0)
    src, lengths = torch.tensor([[4, 5, EOS], [5, EOS, 0]]), torch.tensor([3, 2])
    one, other = search(model, src, lengths), search(Ensemble([model]), src, lengths)
    assert [[h.tokens for h in found] for found in one] == [[h.tokens for h in found] for found in other]


def test_three_architectures_together() -> None:
    runs, together = [load(name) for name in (FIRST, *OTHERS)], load(FIRST, ensemble=OTHERS)
    translations = together.translate(SOURCES)
    alone = torch.tensor([run.score(SOURCES, translations) for run in runs])
    assert together.score(SOURCES, translations) == pytest.approx(alone.mean(0).tolist(), rel=1e-6)
    search = together.translator.search.with_length_penalty(0.0)
    for found, line in zip(together.translator.hypotheses(SOURCES, search), SOURCES, strict=True):
        (scored,) = together.translator.score_ids([together.tokenizer.encode([line], "src")[0]], [found[0].tokens])
        assert found[0].log_probability == pytest.approx(scored, rel=1e-4)
    names = "+".join(sorted(name.removeprefix("demo:") for name in OTHERS))
    assert re.fullmatch(rf"{together.checkpoint}\+{re.escape(names)}\+[0-9a-f]{{6}}", together.weights)
    assert load(FIRST, ensemble=OTHERS[::-1]).weights == together.weights


@pytest.mark.parametrize("given", [OTHERS, OTHERS[0]])
def test_the_command_translates_as_python_does(given: list[str] | str, tmp_path: Path) -> None:
    (tmp_path / "text.en").write_text("".join(f"{line}\n" for line in SOURCES))
    listed = given if isinstance(given, str) else f"[{','.join(given)}]"
    done = triptych("translate", f"run={FIRST}", f"ensemble={listed}", "input=text.en", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == Run(FIRST, ensemble=given).translate(SOURCES)


def test_the_command_scores_files(tmp_path: Path) -> None:
    together = load(FIRST, ensemble=OTHERS)
    for name, lines in (("text.en", SOURCES), ("text.fr", together.translate(SOURCES))):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    files = ["input=text.en", "reference=text.fr", "metric=[bleu]"]
    done = triptych("evaluate", f"run={FIRST}", f"ensemble=[{','.join(OTHERS)}]", *files, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "BLEU 100.00" in done.stdout
    assert f"checkpoint {together.weights}, " in done.stdout


def test_what_does_not_go_together(tiny_run: Path, tmp_path: Path) -> None:
    tiny = tiny_run / "runs" / "tiny"
    for wrong, said in (
        (str(tiny), "ensemble: the tokenizers "),
        (FIRST, "ensemble: a run is named twice"),
        ("nowhere", "ensemble: run=nowhere"),
    ):
        done = triptych("translate", f"run={FIRST}", f"ensemble=[{wrong}]", cwd=tmp_path, stdin="The cat.\n")
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert done.stderr.startswith(f"triptych: {said}"), done.stderr
    with pytest.raises(UserError, match="an ensemble has several attentions"):
        load(FIRST, ensemble=OTHERS).attention(SOURCES[0])


def test_the_python_api_scores_the_ensemble_that_is_named(tmp_path: Path) -> None:
    """Not the model that is loaded; and a loaded ensemble stays one."""
    alone, together = load(FIRST), load(FIRST, ensemble=OTHERS)
    for name, lines in (("text.en", SOURCES), ("text.fr", together.translate(SOURCES))):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    files = {"input": tmp_path / "text.en", "reference": tmp_path / "text.fr"}
    named = evaluate(alone, f"ensemble=[{','.join(OTHERS)}]", "metric=[bleu]", **files)
    kept = evaluate(together, "metric=[bleu]", **files)
    changed = evaluate(together, "checkpoint=best", "metric=[bleu]", **files)
    assert named["checkpoint"] == kept["checkpoint"] == changed["checkpoint"] == together.weights
    assert named["nats_per_sentence"] == pytest.approx(kept["nats_per_sentence"])
    assert evaluate(alone, "metric=[bleu]", **files)["nats_per_sentence"] != kept["nats_per_sentence"]


@pytest.mark.parametrize("wrong", [None, 3, {"a": 1}, [3]])
def test_what_is_no_ensemble(wrong: object) -> None:
    with pytest.raises(UserError, match="ensemble"):
        Run(FIRST, ensemble=wrong)

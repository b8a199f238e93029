"""The labs of docs/course: solutions pass their checks; tasks as they are given and solutions with a mistake do not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, triptych_process
from page_commands import commands, run_command

COURSE = ROOT / "docs" / "course"
LABS = sorted(path.parent.name for path in COURSE.glob("*/check.py"))
MISTAKES = [
    ("attention", "softmax over sentences", ".softmax(dim=-1)", ".softmax(dim=0)", "sum to 1"),
    ("attention", "mask inverted", "masked_fill(~is_token", "masked_fill(is_token", "weights on padding must be 0"),
    ("attention", "no tanh", "torch.tanh(self.W(state)[:, None] + self.U(memory))",
     "(self.W(state)[:, None] + self.U(memory))", "v^T tanh"),
    ("attention", "mask after the softmax", ".softmax(dim=-1)", ".nan_to_num(neginf=0).softmax(dim=-1) * is_token",
     "sum to 1"),
    ("masks_and_positions", "mask off by one", ".tril()", ".tril(-1)", "able to look at itself"),
    ("masks_and_positions", "mask of the future", ".tril()", ".triu()", "looks at a later position"),
    ("masks_and_positions", "padding off by one", " < lengths", " <= lengths", "True where there is a token"),
    ("masks_and_positions", "not scaled", " / query.shape[-1] ** 0.5", "", "divided by sqrt(D)"),
    ("masks_and_positions", "softmax over queries", ".softmax(dim=-1)", ".softmax(dim=1)", "softmax over the keys"),
    ("masks_and_positions", "i instead of 2i", "(torch.arange(0, size, 2) / size)", "(torch.arange(size // 2) / size)",
     "columns 2 and 3"),
    ("decayed_loss", "by epoch", "step / (steps_per_epoch * epochs)", "(step // steps_per_epoch) / epochs",
     "after 5 of"),
    ("decayed_loss", "no bend", "if progress < beta:", "if False:", "after 0 of"),
    ("decayed_loss", "padding counts", "src.flatten(), ignore_index=PAD", "src.flatten()", "without padding"),
    ("decayed_loss", "means of sums", "ignore_index=PAD)", 'ignore_index=PAD, reduction="sum") / len(src)',
     "means over tokens"),
    ("beam_search", "length not counted", "log_prob / ((5 + length) / 6) ** alpha", "log_prob", "alpha 1.0"),
    ("beam_search", "log-probabilities compared at the end", "key=lambda one: score(one[1], len(one[0]), alpha)",
     "key=lambda one: one[1]", "the best of all must win"),
    ("beam_search", "ends at the first finished one", "        live = [",
     "        if finished:\n            live = []\n            break\n        live = [", "the best of all must win"),
    ("beam_search", "nothing is dropped", "!= end][:beam_size]", "!= end]", "were extended"),
    ("architecture", "padding is read", "torch.where(is_token[:, i, None], self.encoder(embedded[:, i], state), state)",
     "self.encoder(embedded[:, i], state)", "test_padding_and_neighbours_change_nothing"),
    ("architecture", "c at the start alone", "torch.cat([state, c], dim=-1)", "torch.cat([state, 0 * c], dim=-1)",
     "the equations of the class"),
    ("architecture", "the state is not kept", '"state": new}', '"state": state.hypothesis["state"]}',
     "test_steps_give_the_logits_of_forward"),
    ("architecture", "logits are not counted", " + self.tgt.weight.numel()\n        return 2", "\n        return 2",
     "test_flops_are_those_of_the_products"),
]  # fmt: skip
"""Of each mistake: the lab, what it is, the text of the solution, what stands in its place, and what the check says."""


def grade(lab: str, answer: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(COURSE / "grade.py"), lab, str(answer)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("lab", LABS)
def test_a_solution_passes_and_a_task_as_it_is_given_says_what_is_to_be_written(lab: str) -> None:
    done = grade(lab, COURSE / lab / "solution.py")
    assert done.returncode == 0, done.stdout + done.stderr
    given = grade(lab, COURSE / lab / "task.py")
    assert given.returncode == 1
    assert "is still to be written" in given.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lab", "old", "new", "message"),
    [pytest.param(lab, *texts, id=f"{lab}: {mistake}") for lab, mistake, *texts in MISTAKES],
)
def test_a_plausible_mistake_fails_and_is_named(lab: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    solution = (COURSE / lab / "solution.py").read_text()
    assert old in solution
    (tmp_path / "answer.py").write_text(solution.replace(old, new))
    done = grade(lab, tmp_path / "answer.py")
    assert done.returncode == 1, done.stdout + done.stderr
    assert message in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("lab", ["attention", "architecture"])
def test_the_commands_of_a_lab_train_what_was_written(lab: str, tmp_path: Path) -> None:
    folder = tmp_path / lab
    shutil.copytree(COURSE / lab, folder)
    shutil.copy(folder / "solution.py", folder / "task.py")
    for words in commands((COURSE / lab / "README.md").read_text()):
        run_command(words, folder, triptych_process)
    assert list(folder.rglob("attention.html" if lab == "attention" else "report.html"))


@pytest.mark.slow
def test_the_exercise_is_three_commands_that_run(tmp_path: Path) -> None:
    found = commands((COURSE / "vocabulary_and_beam.md").read_text())
    assert len(found) == 3
    for words in found:
        run_command([word for word in words if word != "budget.epochs=6"], tmp_path, triptych_process)
    assert "Beam size, test" in (tmp_path / "runs" / "beam" / "report.md").read_text()
    assert "BLEU and time by beam size" in (tmp_path / "runs" / "beam" / "report.html").read_text()
    assert (tmp_path / "runs" / "segmentation" / "report.html").exists()


def test_every_lab_has_its_page_task_check_and_solution() -> None:
    assert len(LABS) == 5
    for lab in LABS:
        assert {path.name for path in (COURSE / lab).iterdir()} >= {"README.md", "task.py", "solution.py", "check.py"}
        assert f"grade.py {lab}" in (COURSE / lab / "README.md").read_text()

"""Commands on runs: once, or with -m for each combination; a failure does not stop the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf

from triptych.commands.arguments import run_command
from triptych.config.composition import compose_run
from triptych.errors import UserError
from triptych.training.plan import plan_run
from triptych.training.run import _make_folder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder of two runs that are scored in different ways."""
    for name, search in (("a", "greedy"), ("b", "beam")):
        overrides = ["scale=smoke", f"name={name}", f"search={search}", f"output={tmp_path}", f"cache={tmp_path}"]
        plan = plan_run(compose_run(overrides))
        _make_folder(plan)
        OmegaConf.save(plan.run_config.config, plan.folder.config)
    return tmp_path


def test_each_run_is_scored_in_its_own_way(runs: Path) -> None:
    seen: list[DictConfig] = []
    arguments = ["-m", f"run={runs / 'a'},{runs / 'b'}", "split=test"]
    assert run_command("evaluate", arguments, seen.append) == 0
    assert [Path(config.run).name for config in seen] == ["a", "b"]
    assert [config.search.beam_size for config in seen] == [1, 4]
    assert run_command("evaluate", [f"run={runs / 'a'}", "split=test", "search.beam_size=3"], seen.append) == 0
    assert (seen[-1].search.beam_size, [*seen[-1].metric]) == (3, ["bleu", "chrf", "chrfpp", "ter"])


def test_a_combination_that_fails_is_named(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []

    def command(config: DictConfig) -> None:
        if config.split == "nosuch":
            raise UserError("no such split.")
        seen.append(config.split)

    assert run_command("evaluate", ["-m", f"run={runs / 'a'}", "split=nosuch,test"], command) == 2
    assert seen == ["test"]
    assert capsys.readouterr().err.endswith("split=nosuch: no such split.\n")
    with pytest.raises(UserError, match=r"run=.*/b' names several values; add -m"):
        run_command("evaluate", [f"run={runs / 'a'},{runs / 'b'}", "split=test"], command)
    with pytest.raises(UserError, match="--fast is no option of evaluate"):
        run_command("evaluate", ["--fast", "split=test"], command)

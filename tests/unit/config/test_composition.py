"""A configuration is composed once, checked, frozen, and independent of whatever else uses Hydra."""

from __future__ import annotations

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf
from omegaconf.errors import ReadonlyConfigError

from triptych.config.composition import compose_command, compose_run, sweep_of
from triptych.config.explanations import explained
from triptych.config.quoting import quoted
from triptych.config.search_path import conf_dir
from triptych.errors import UserError


def test_a_run_s_config_is_resolved_and_frozen() -> None:
    run_config = compose_run(["scale=smoke", "model=lm4mt"])
    assert run_config.choices["model"] == "lm4mt"
    assert "hydra" not in run_config.config
    assert OmegaConf.to_container(run_config.config) == OmegaConf.to_container(run_config.config, resolve=True)
    with pytest.raises(ReadonlyConfigError):
        run_config.config.seed = 2
    with pytest.raises(ReadonlyConfigError):
        run_config.config.model.num_layers = 2


def test_a_program_of_hydra_s_own_is_left_as_it_is() -> None:
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        compose_run(["scale=smoke"])
        assert sweep_of(["-m", "scale=smoke", "seed=1,2"]) is not None
        assert GlobalHydra.instance().is_initialized()
        assert compose("translate", overrides=["run=x", "~search"]).run == "x"
    assert not GlobalHydra.instance().is_initialized()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("run=runs/a", "run='runs/a'"),
        ("run=lr=0.1/a", "run='lr=0.1/a'"),
        ("run=a,b", "run='a','b'"),
        ("run='a,b'", "run='a,b'"),
        ("run=[a=1/x, b]", "run=['a=1/x','b']"),
        ("run=['a=1/x',b]", "run=['a=1/x',b]"),
        ("run=", "run="),
        ("init=lr=0.1/a", "init='lr=0.1/a'"),
        ("init=null", "init=null"),
        ("input=a\\b/it's", r"input='a\b/it\'s'"),
        ("tokenizer.tgt_model_file=é/x=1", "tokenizer.tgt_model_file='é/x=1'"),
        ("split=test", "split=test"),
    ],
)
def test_paths_of_runs_are_quoted(given: str, expected: str) -> None:
    assert quoted(given) == expected


@pytest.mark.parametrize(
    ("arguments", "arms"),
    [
        (["seed=1"], None),
        (["seed=1", "hydra.mode=RUN"], None),
        (["seed=1,2", "-m"], 2),
        (["experiment=positions"], 5),
        (["experiment=positions", "hydra.mode=RUN"], None),
    ],
)
def test_what_names_several_runs(arguments: list[str], arms: int | None) -> None:
    found = sweep_of(arguments)
    assert (found and len(found[1])) == arms


def test_a_search_path_that_is_not_there_is_a_mistake() -> None:
    given = "hydra.searchpath=[file:///nowhere]"
    with pytest.raises(UserError, match=r"hydra\.searchpath: /nowhere is not there"):
        compose_run([given])
    with pytest.raises(UserError, match=r"hydra\.searchpath: /nowhere is not there"):
        sweep_of([given, "seed=1,2", "-m"])


def test_commands_on_runs_are_checked() -> None:
    for overrides, words in (
        (["run=nowhere"], "split=… must be given"),
        (["run=nowhere", "split=test", "metric=[]"], "metric=[] leaves nothing"),
        (["run=nowhere", "split=test", "search.n_best=2"], "search.n_best=2 is for"),
        (["run=nowhere", "split=test", "search.beam_size=x"], "search.beam_size=x must be an integer"),
        (
            ["run=nowhere", "split=test", "metric=[nosuch]"],
            "choose one of bleu, bleu_lc_norm_tok, chrf",
        ),
    ):
        with pytest.raises(UserError) as refused, explained("evaluate", overrides):
            compose_command("evaluate", overrides)
        assert words in str(refused.value)


def test_a_closed_pipe_is_no_mistake_of_the_user() -> None:
    with pytest.raises(BrokenPipeError), explained("translate", []):
        raise BrokenPipeError(32, "Broken pipe")
    with pytest.raises(UserError, match="no space left on device"), explained("train", []):
        raise OSError(28, "No space left on device")

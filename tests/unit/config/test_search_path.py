"""Options from a user's folder and from installed packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from triptych.commands.arguments import overrides_of, split_config_dirs
from triptych.config.composition import compose_run
from triptych.config.explanations import explained
from triptych.config.search_path import own_folders, with_own_folders
from triptych.errors import UserError

STOP = "stop:\n  _target_: lightning.pytorch.callbacks.EarlyStopping\n  monitor: validation/loss\n"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    (tmp_path / "conf" / "callbacks").mkdir(parents=True)
    (tmp_path / "conf" / "callbacks" / "stop.yaml").write_text(STOP)
    return tmp_path / "conf"


@pytest.mark.parametrize("option", ["--config-dir", "-cd"])
def test_both_spellings_of_a_folder(option: str) -> None:
    for given in ([option, "conf"], [f"{option}=conf"]):
        assert split_config_dirs(["seed=1", *given, "-m"]) == (["conf"], ["seed=1", "-m"])
    for given in ([option], [f"{option}="]):
        with pytest.raises(UserError, match=f"{option} needs a folder"):
            split_config_dirs(given)


def test_options_of_the_user_s_folder_are_known_while_it_is_in_use(conf: Path) -> None:
    with overrides_of("train", ["scale=smoke", "callbacks=[stop]", "--config-dir", str(conf)]) as overrides:
        config = compose_run(overrides).config
        assert OmegaConf.select(config, "callbacks.stop.monitor") == "validation/loss"
    assert own_folders() == ()
    unknown = "callbacks=stop is unknown; choose one of device_stats, early_stopping"
    with pytest.raises(UserError, match=unknown), explained("train", overrides):
        compose_run(overrides)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no folder"), with_own_folders([tmp_path / "nowhere"]):
        pass


@pytest.mark.parametrize(
    ("folders", "overrides", "is_importable"),
    [
        ([], ["model=rnn", "seed=1"], False),
        ([], ["trust=mine"], True),
        ([], ["model._target_=mine.Model"], True),
        (["."], [], True),
    ],
)
def test_the_working_folder_is_importable_where_code_is_named(
    folders: list[str], overrides: list[str], is_importable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It always was, and before everything that is installed."""
    monkeypatch.chdir(tmp_path)
    before = [path for path in sys.path if path]
    monkeypatch.setattr(sys, "path", [*before])
    with with_own_folders(folders, overrides):
        assert sys.path == [*before, *([str(tmp_path)] if is_importable else [])]


def test_an_installed_package_brings_its_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, installed = tmp_path / "my_parts_for_nmt" / "conf", tmp_path / "my_parts_for_nmt-1.0.dist-info"
    (package / "callbacks").mkdir(parents=True)
    installed.mkdir()
    for folder in (package.parent, package, package / "callbacks"):
        (folder / "__init__.py").touch()
    (package / "callbacks" / "stop.yaml").write_text(STOP)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: my-parts-for-nmt\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[triptych.conf]\nmy_parts = my_parts_for_nmt.conf\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "stop" in compose_run(["scale=smoke", "callbacks=[stop]"]).config.callbacks

"""``logger=[…]``: several loggers beside the run's own files, and what is wrong with one is said in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import compose_train
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from omegaconf import OmegaConf

from triptych.config.composition import compose_run
from triptych.config.run_values import run_values
from triptych.errors import UserError
from triptych.runs.folder import RunFolder
from triptych.training.build import build_loggers


class NotInstalled:
    """A logger that needs what is not there."""

    def __init__(self) -> None:
        raise ModuleNotFoundError("No module named 'nowhere'")


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ([], []),
        (["logger=csv"], []),
        (["logger=[]"], []),
        (["logger=wandb"], ["wandb"]),
        (["logger=[tensorboard,wandb]"], ["tensorboard", "wandb"]),
        (["logger=[csv,tensorboard]"], ["tensorboard"]),
    ],
)
def test_one_or_a_list(given: list[str], names: list[str]) -> None:
    assert list(compose_run(["scale=smoke", *given]).config.logger) == names


def test_the_runs_own_files_come_first(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="the extra 'tensorboard' is not installed")
    config = compose_train("scale=smoke", "logger=tensorboard")
    with run_values(folder=str(tmp_path), name="a", sweep=None, study=None, arm=""):
        own, further = build_loggers(config, RunFolder(tmp_path))
    assert isinstance(own, CSVLogger)
    assert isinstance(further, TensorBoardLogger)
    assert Path(further.log_dir) == tmp_path / "tensorboard", "a run that resumes writes on there"


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    config = OmegaConf.create({"logger": {"mine": {"_target_": f"{__name__}.NotInstalled"}}})
    with pytest.raises(UserError, match=r"logger=mine needs a package .* \(No module named 'nowhere"):
        build_loggers(config, RunFolder(tmp_path))


def test_a_logger_without_a_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "logger").mkdir()
    (tmp_path / "logger" / "flat.yaml").write_text("_target_: lightning.pytorch.loggers.CSVLogger\n")
    from triptych.config.search_path import with_own_folders

    with with_own_folders([tmp_path]), pytest.raises(UserError, match="give each logger a name, as conf/logger/wandb"):
        compose_run(["scale=smoke", "logger=flat"])

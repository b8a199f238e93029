"""``${run:…}`` has its values while a run's loggers and callbacks are built, and stands as text otherwise."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from triptych.config import run_values
from triptych.config.explanations import explained
from triptych.errors import UserError


def test_values_are_known_only_within_a_run() -> None:
    run_values.register()
    config = OmegaConf.create({"logger": {"save_dir": "${run:folder}", "group": "${run:sweep}"}})
    assert config.logger.save_dir == "${run:folder}"
    with run_values.run_values(folder="runs/a", name="a", sweep=None, study="s", arm="model=rnn"):
        assert OmegaConf.to_container(config, resolve=True) == {"logger": {"save_dir": "runs/a", "group": None}}
    assert config.logger.save_dir == "${run:folder}"


def test_an_unknown_value_is_named() -> None:
    run_values.register()
    with pytest.raises(UserError, match=r"run:path} is unknown; choose one of \$\{run:folder}"), explained("train", []):
        _ = OmegaConf.create({"key": "${run:path}"}).key

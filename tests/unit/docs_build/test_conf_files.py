"""Comments of configuration files belong to the key that a reader would think."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs_build import conf_files
from docs_build.conf_files import Choice, conf_file

FILE = """\
# @package _global_
# Sizes, said
# in two lines.
defaults:
  - base
  - /made_up/top
  - override /data: text  # own files
  - /search@validation.search: greedy
  - metric: [bleu, ter]
  - override hydra/job_logging: none
scale:                    # all sizes
  size: 4                 # features of a
                          # token
  # above the key
  depth: '#3'
  plain: 1
  row: {a: 1, b: "x # y"}  # of a row
list:
  - claim: "x"
"""


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(conf_files, "CONF", tmp_path)
    (tmp_path / "made_up").mkdir()
    return tmp_path / "made_up"


def test_comments_are_found_behind_above_and_below_a_key(conf: Path) -> None:
    (conf / "sizes.yaml").write_text(FILE, encoding="utf-8")
    file = conf_file("made_up/sizes")
    assert file.summary == "Sizes, said in two lines."
    assert [(key.name, key.value, key.comment, key.enclosing) for key in file.keys] == [
        ("scale.size", "4", "features of a token", "all sizes"),
        ("scale.depth", "'#3'", "above the key", "all sizes"),
        ("scale.plain", "1", "", "all sizes"),
        ("scale.row.a", "1", "", "of a row"),
        ("scale.row.b", '"x # y"', "", "of a row"),
        ("list", '- claim: "x"', "", ""),
    ]
    assert file.parents == ("made_up/base", "made_up/top")
    assert file.choices == (
        Choice("data", "data", "text", "own files", overrides=True),
        Choice("validation.search", "search", "greedy", "", overrides=False),
        Choice("made_up/metric", "made_up/metric", "bleu, ter", "", overrides=False),
    )


def test_a_preset_builds_the_class_of_the_file_that_it_starts_from(conf: Path) -> None:
    (conf / "first.yaml").write_text("_target_: a.B\npart:\n  _target_: c.D\n", encoding="utf-8")
    (conf / "second.yaml").write_text("defaults:\n  - first\n  - _self_\nsize: 1\n", encoding="utf-8")
    assert conf_file("made_up/second").targets == {"made_up": "a.B", "made_up.part": "c.D"}

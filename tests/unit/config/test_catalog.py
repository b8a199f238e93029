"""What the YAML files say of themselves: every option has a sentence, and every group can be listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from triptych.config.catalog import KINDS, first_sentence, groups_in, options_of
from triptych.config.conf_folder import conf_dir


@pytest.mark.parametrize("group", KINDS.values())
def test_every_option_says_what_it_is(group: str) -> None:
    options = options_of(group, [conf_dir()])
    assert {option.name for option in options} == {path.stem for path in (conf_dir() / group).glob("*.yaml")}
    assert not [option.name for option in options if not option.description.endswith((".", "decoder=transformer"))]


def test_every_group_but_the_arms_can_be_listed() -> None:
    groups = {group for group in groups_in([conf_dir()]) if group.split("/")[0] != "arm"}
    assert groups == {*KINDS.values()}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# One. Two.\nkey: 1\n", "One."),
        ("# @package _global_\n# Of Wu et al. 2016 and\n# others. Further.\n# More\n", "Of Wu et al. 2016 and others."),
        ("# No full stop\nkey: 1  # A comment. Of a key.\n", "No full stop"),
        ("key: 1\n# Later.\n", ""),
    ],
)
def test_the_first_sentence_of_the_first_comment(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "option.yaml").write_text(text)
    assert first_sentence(tmp_path / "option.yaml") == sentence


def test_of_two_files_of_one_name_the_first_counts(tmp_path: Path) -> None:
    for folder in ("ours", "theirs"):
        (tmp_path / folder / "model").mkdir(parents=True)
        (tmp_path / folder / "model" / "same.yaml").write_text(f"# Of {folder}.\n")
    (tmp_path / "theirs" / "model" / "own.yaml").write_text("# Own.\n")
    found = options_of("model", [tmp_path / "ours", tmp_path / "theirs"])
    assert [(option.name, option.description) for option in found] == [("own", "Own."), ("same", "Of ours.")]

"""Comments of YAML files belong to the key that a reader would think, whoever shows them."""

from __future__ import annotations

from triptych.config.commented_yaml import parse_commented

FILE = """\
# @package _global_
# Sizes, said
# in two lines.
defaults:
  - base
  - override /data: text  # own files
  - metric: [bleu, ter]
  - search: null
scale:                    # all sizes
  size: 4                 # features of a
                          # token
  # above the key
  depth: '#3'
  row: {a: 1, b: "x # y"}  # of a row
  empty: {}
list:
  - claim: "x"
"""


def test_comments_values_and_sections() -> None:
    file = parse_commented(FILE)
    assert (file.summary, file.package) == ("Sizes, said in two lines.", "_global_")
    assert [(key.name, key.value, key.comment, key.enclosing) for key in file.keys if not key.is_section] == [
        ("scale.size", "4", "features of a token", "all sizes"),
        ("scale.depth", "'#3'", "above the key", "all sizes"),
        ("scale.row.a", "1", "", "of a row"),
        ("scale.row.b", '"x # y"', "", "of a row"),
        ("scale.empty", "{}", "", "all sizes"),
        ("list", '- claim: "x"', "", ""),
    ]
    assert [(key.name, key.comment) for key in file.keys if key.is_section] == [
        ("scale", "all sizes"),
        ("scale.row", "of a row"),
    ]


def test_the_defaults_list() -> None:
    found = [
        (one.name, one.options, one.comment, one.names_file, one.overrides) for one in parse_commented(FILE).defaults
    ]
    assert found == [
        ("base", (), "", True, False),
        ("/data", ("text",), "own files", False, True),
        ("metric", ("bleu", "ter"), "", False, False),
        ("search", (), "", False, False),
    ]

"""Lines in groups, as they arrive: nothing waits, nothing is lost, and the order stays."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.decoding import line_groups
from triptych.decoding.line_groups import groups_of_file, groups_of_stream
from triptych.errors import UserError


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=("Cs",)))), st.booleans())
def test_all_lines_come_in_their_order(lines: list[str], ends: bool) -> None:
    text = "\n".join(lines) + ("\n" if ends and lines else "")
    found = [line for group in groups_of_stream(io.BytesIO(text.encode())) for line in group]
    expected = text.split("\n")
    assert found == [line.strip() for line in (expected[:-1] if expected[-1] == "" else expected)]


def test_what_is_there_is_one_group_and_a_part_of_a_line_waits() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream, os.fdopen(writing, "wb", buffering=0) as source:
        source.write(b"one\ntwo\nthr")
        groups = groups_of_stream(stream)
        assert next(groups) == ["one", "two"]
        source.write(b"ee\n")
        assert next(groups) == ["three"]
        source.write(b"four")
        source.close()
        assert list(groups) == [["four"]]


def test_a_long_text_comes_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_groups, "GROUP_LINES", 3)
    monkeypatch.setattr(line_groups, "_BLOCK_BYTES", 4)
    lines = [str(number) for number in range(10)]
    text = "\n".join(lines).encode()
    (tmp_path / "lines.gz").write_bytes(gzip.compress(text))
    for groups in (list(groups_of_stream(io.BytesIO(text))), list(groups_of_file(tmp_path / "lines.gz"))):
        assert [line for group in groups for line in group] == lines
        assert max(map(len, groups)) < 6


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    text = "\ufeffone\n\ufefftwo\n".encode()
    (tmp_path / "lines").write_bytes(text)
    for groups in (groups_of_stream(io.BytesIO(text)), groups_of_file(tmp_path / "lines")):
        assert [line for group in groups for line in group] == ["one", "\ufefftwo"]


def test_lines_before_a_broken_one_come_first() -> None:
    groups = groups_of_stream(io.BytesIO(b"one\ntwo\n\xff\nfour\n"))
    assert next(groups) == ["one", "two"]
    with pytest.raises(UserError, match="standard input, line 3, is not UTF-8"):
        next(groups)

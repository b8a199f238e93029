"""Lines on disk equal the list that they were written from."""

from __future__ import annotations

import gzip
import hashlib
import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.data import text_file
from triptych.data.text_file import ConcatenatedLines, LineFile, LineWriter, digest_lines, read_lines
from triptych.errors import UserError

LINE = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=20)


def stored(folder: Path, text: list[str]) -> LineFile:
    writer = LineWriter(folder / "some.txt")
    for start in range(0, len(text), 3):
        writer.add(text[start : start + 3])
    writer.close()
    return LineFile(folder / "some.txt")


@given(st.lists(LINE, max_size=20), st.slices(20), st.integers(-25, 25))
def test_a_line_file_equals_the_list(text: list[str], part: slice, index: int) -> None:
    with TemporaryDirectory() as folder:
        on_disk = stored(Path(folder), text)
        assert len(on_disk) == len(text)
        assert list(on_disk) == text
        assert on_disk[part] == text[part]
        if -len(text) <= index < len(text):
            assert on_disk[index] == text[index]
        else:
            with pytest.raises(IndexError):
                on_disk[index]
        assert (
            on_disk.digest == digest_lines(text) == hashlib.sha256("".join(f"{x}\n" for x in text).encode()).hexdigest()
        )


def test_a_process_is_sent_the_path_alone(tmp_path: Path) -> None:
    on_disk = stored(tmp_path, ["of much text"] * 50)
    assert len(pickle.dumps(on_disk)) < 300
    assert list(pickle.loads(pickle.dumps(on_disk))) == list(on_disk)


@given(st.lists(st.lists(LINE, max_size=4), max_size=4), st.slices(12), st.integers(-14, 14))
def test_concatenated_lines_equal_one_list(parts: list[list[str]], part: slice, index: int) -> None:
    joined, text = ConcatenatedLines(parts), [line for one in parts for line in one]
    assert len(joined) == len(text)
    assert list(joined) == text
    assert joined[part] == text[part]
    if -len(text) <= index < len(text):
        assert joined[index] == text[index]
    else:
        with pytest.raises(IndexError):
            joined[index]


def test_concatenated_lines_are_identified_by_their_parts(tmp_path: Path) -> None:
    text = ["a", "b", "c"]
    on_disk = ConcatenatedLines([stored(tmp_path, text), text[:1]])
    digests = [digest_lines(ConcatenatedLines(parts)) for parts in ([text, text[:1]], [text[:1], text], [[*text, "a"]])]
    assert digest_lines(on_disk) == digests[0]
    assert len(set(digests)) == 3
    assert len(pickle.dumps(on_disk)) < 500
    assert list(pickle.loads(pickle.dumps(on_disk))) == [*text, "a"]


@given(st.lists(LINE, min_size=1, max_size=30), st.integers(1, 9), st.booleans())
def test_lines_do_not_depend_on_the_block_size(text: list[str], size: int, zipped: bool) -> None:
    data = "\n".join(text).encode()
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(text_file, "_BLOCK_BYTES", size)
        path = Path(folder) / ("file.gz" if zipped else "file")
        path.write_bytes(gzip.compress(data) if zipped else data)
        expected = data.decode().removeprefix("\ufeff").split("\n")
        expected = expected if expected[-1] else expected[:-1]
        assert list(read_lines(path)) == [line.strip() for line in expected]


def test_a_bad_byte_is_counted_over_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_file, "_BLOCK_BYTES", 4)
    (tmp_path / "file").write_bytes(b"one\ntwo\nthree\nf\xffur\nfive\n")
    with pytest.raises(UserError, match=r"file:4 has bytes that are not UTF-8"):
        list(read_lines(tmp_path / "file"))

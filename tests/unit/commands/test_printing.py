"""Messages fit the terminal or COLUMNS, between words; pipes get whole lines."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.commands.printing import print_fitted, show_next
from triptych.config.text_columns import fitted

WORDS = st.lists(st.text("abc-.:", min_size=1, max_size=15), min_size=1, max_size=30)


@given(words=WORDS, indent=st.integers(0, 4), width=st.integers(30, 80))
def test_no_word_is_broken_and_no_line_is_too_long(words: list[str], indent: int, width: int) -> None:
    lines = fitted(" " * indent + " ".join(words), width)
    assert all(len(line) <= width and line.startswith(" " * indent) for line in lines)
    assert " ".join(lines).split() == words


def test_a_signature_is_broken_between_its_settings() -> None:
    signature = "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0"
    lines = fitted(f"TER 100.00  {signature}", 40)
    assert all(len(line) <= 40 for line in lines)
    assert "".join(lines).replace(" ", "").endswith(signature)
    assert fitted(f"TER 100.00  {signature}", 80) == [f"TER 100.00  {signature}"]


def test_the_next_command_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    show_next(["triptych", "report", "x\x1b[31m"])
    assert capsys.readouterr().err == "next: triptych report 'x?[31m'\n"


def test_columns_are_obeyed_and_a_pipe_gets_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "word " * 40 + "end\n  " + "more " * 30
    for columns, widest in (("60", 60), ("", 203)):
        monkeypatch.setenv("COLUMNS", columns)
        stream = io.StringIO()
        print_fitted(text, stream)
        assert max(map(len, stream.getvalue().splitlines())) in range(widest - 5, widest + 1)

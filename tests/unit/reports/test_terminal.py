"""Tables in a terminal: no word is broken, and what is left out is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from triptych.reports.table import Table, make_cells
from triptych.reports.terminal import leave_out_optional, print_table, split

WORDS = st.text("abcdefgh±[]−", min_size=1, max_size=9)
CELLS = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)


def printed(table: Table, width: int, *, whole: bool = False) -> str:
    console = Console(width=width, force_terminal=True, color_system=None)
    with console.capture() as captured:
        print_table(table, console, whole=whole)
    return captured.get()


def table(optional: Sequence[int] = ()) -> Table:
    header = ["model", "params (M)", "BLEU", ("test", "Δ nats [95% interval]"), "published Δ"]
    lines = [["transformer", "2.25", "45.24 ± 0.70", "reference", "+1.2"]]
    lines += [["rnn_luong", "1.95", "44.99 ± 0.20", "+0.212 [+0.179, +0.244]", ""]]
    return Table("Title", make_cells(header, lines), ["A note [x]."], optional=optional)


def test_a_wide_terminal_shows_all_columns() -> None:
    text = printed(table(optional=(4, 1)), 100)
    assert "published" in text
    assert "Left out" not in text
    assert "A note [x]." in text


def test_a_narrow_terminal_leaves_out_the_optional_columns_and_names_them() -> None:
    text = printed(table(optional=(4, 1)), 55)
    assert "+1.2" not in text
    assert "1.95" not in text
    assert "+0.212 [+0.179, +0.244]" in text
    assert "Left out for lack of space: params (M), published Δ (report.md has them)." in " ".join(text.split())
    assert [column[1] for column in leave_out_optional(table(optional=(4, 1)), 65).cells.columns][-1] != "published Δ"
    assert "1.95" in printed(table(optional=(4, 1)), 55, whole=True)


def test_what_does_not_fit_follows_below() -> None:
    text = printed(table(), 30)
    assert text.count("rnn_luong") == 4
    for cell in ("[+0.179, +0.244]", "44.99 ± 0.20", "+1.2"):
        assert cell in text


@given(lines=st.lists(st.tuples(CELLS, WORDS, CELLS), min_size=1, max_size=3), width=st.integers(40, 100))
def test_no_word_is_broken_and_no_line_is_too_long(lines: list[tuple[str, str, str]], width: int) -> None:
    made = Table("T", make_cells(["one", "two", ("up", "three")], lines), prose=frozenset({0, 2}))
    text = printed(made, width)
    assert all(cell_len(line) <= width for line in text.splitlines())
    shown = text.split()
    assert {word for line in lines for cell in line for word in cell.split()} <= set(shown)


def test_a_column_that_is_wider_than_the_terminal_stands_alone() -> None:
    made = Table("T", make_cells(["a", "b", "c"], [["x", "y" * 50, "z"]]))
    assert [list(part.cells.columns.get_level_values(1)) for part in split(made, 30)] == [["a", "b"], ["a", "c"]]


def test_a_pipe_has_no_width(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table(table(optional=(4, 1)), Console(width=40))
    assert "published" in capsys.readouterr().out


@pytest.mark.parametrize("columns", [1, 12])
def test_one_word_labels_in_a_terminal_that_is_narrower_than_a_column(columns: int) -> None:
    header = ["arm", *(f"measure_{i}" for i in range(columns))]
    text = printed(Table("T", make_cells(header, [["transformer", *["45.24 ± 0.70"] * columns]])), 20)
    assert text.count("45.24 ± 0.70") == columns


def test_a_wide_table_in_a_pipe_is_whole(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    header = ["arm", *(f"measure_{i}" for i in range(12))]
    print_table(Table("T", make_cells(header, [["transformer", *["45.24 ± 0.70"] * 12]])), Console(width=80))
    assert capsys.readouterr().out.count("45.24 ± 0.70") == 12


def test_intervals_stand_below_their_estimates_where_space_is_short() -> None:
    lines = [["A claim of several words", "+0.212 [+0.179, +0.244]", "−2.33 [−3.85, −0.81]"]]
    made = Table("T", make_cells(["claim", "Δ [95% interval]", "Δ BLEU [95% interval]"], lines))
    assert "+0.212 [+0.179, +0.244]" in printed(made, 80)
    text = printed(made, 55)
    assert "[+0.179, +0.244]" in text
    assert "+0.212 [" not in text
    assert "[95% interval]" in text, "a header is not broken inside brackets"


def test_a_sentence_about_a_column_is_left_out_with_it() -> None:
    made = replace(table(optional=(4, 1)), legend={4: "About the published."}, lead=["First of all."])
    assert "About the published." in printed(made, 100)
    narrow = printed(made, 55)
    assert "About the published." not in narrow
    assert narrow.index("First of all.") < narrow.index("transformer")


def test_signatures_are_broken_between_settings_where_space_is_short() -> None:
    signature = "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0"
    made = Table("Set-up", make_cells(["setting", "value"], [["test, TER", signature]]), prose=frozenset({0, 1}))
    assert signature in printed(made, 100)
    text = printed(made, 50)
    assert all(cell_len(line) <= 50 for line in text.splitlines())
    assert "tok:tercom|" in text


def test_parts_of_a_table_stand_apart() -> None:
    lines = [line.strip() for line in printed(table(), 30).splitlines()]
    second = max(i for i, line in enumerate(lines) if line.startswith("model"))
    assert "" in lines[second - 3 : second]


def test_names_do_not_command_the_terminal() -> None:
    """Those of somebody else's run could."""
    named = Table("\x1b]0;title\x07", make_cells(["arm"], [["rnn\x1b\x9bx"]]), lead=["\x07"], notes=["a\x1bc"])
    console = Console(width=80)
    with console.capture() as captured:
        print_table(named, console)
    shown = captured.get()
    assert "rnn??x" in shown
    assert not {"\x1b", "\x07", "\x9b"} & {*shown}

"""The tree of a search: what it shows is what the search has done."""

from __future__ import annotations

import html.parser
import math
from itertools import groupby

import pytest
import torch
from torch import Tensor

import triptych
from triptych.contract.searchable import SearchableModel
from triptych.contract.vocabulary import BOS, EOS
from triptych.decoding.search import Search
from triptych.decoding.search_tree import DROPPED, FINISHED, LIVE, SearchTree, search_tree
from triptych.errors import UserError
from triptych.runs.run import Run

PIECES = ["<pad>", "<unk>", "<s>", "</s>", "a", "b-<i>"]
SENTENCE = "The schools that I showed him are not new."


NEXT = {(): {4: 0.6, 5: 0.4}, (4,): {EOS: 0.3, 4: 0.4, 5: 0.3}, (5,): {EOS: 0.9, 4: 0.1}}
"""Probabilities of the next token after a hypothesis; a is 4, b is 5."""


class Table(SearchableModel):
    """Probabilities written by hand, which depend on the hypothesis."""

    def start(self, src: Tensor, src_lengths: Tensor):
        return State([[]])

    def step(self, tokens: Tensor, state: State):
        rows = [[*row, int(token)] for row, token in zip(state.rows, tokens, strict=True)]
        logits = torch.full((len(rows), len(PIECES)), -50.0)
        for logit, row in zip(logits, rows, strict=True):
            for token, probability in NEXT.get(tuple(row[1:]), {EOS: 0.5, 4: 0.25, 5: 0.25}).items():
                logit[token] = math.log(probability)
        return logits, State(rows)


class State:
    def __init__(self, rows: list[list[int]]) -> None:
        self.rows = rows

    def select_sentences(self, sentences: Tensor) -> State:
        return self

    def select_hypotheses(self, rows: Tensor) -> State:
        return State([self.rows[row] for row in rows])


def by_hand(beam_size: int) -> SearchTree:
    settings = {"max_length_ratio": 0.0, "max_length_extra": 4, "min_length": 0, "stop": "exact", "n_best": 1}
    search = Search(beam_size=beam_size, length_penalty=0.0, **settings)
    root, found = search_tree(Table(), torch.tensor([[4, EOS]]), torch.tensor([BOS]), search, PIECES)
    return SearchTree("s <b>", root, found, ["…"])


def test_a_search_that_goes_on_after_its_end_has_the_same_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = repr(by_hand(2))
    monkeypatch.setattr("triptych.decoding.search.steps_between_syncs", lambda _: 8)
    assert repr(by_hand(2)) == usual


def test_the_tree_of_a_search_by_hand() -> None:
    found = {node.tokens: (round(math.exp(node.log_probability), 3), node.fate) for node in by_hand(2).root}
    assert {tokens: one for tokens, one in found.items() if one[0] > 0} == {
        (): (1.0, LIVE),
        (4,): (0.6, LIVE),
        (5,): (0.4, LIVE),
        (5, EOS): (0.36, FINISHED),  # 0.4 · 0.9, and no continuation of the others can be as probable
        (4, 4): (0.24, LIVE),
        (4, EOS): (0.18, DROPPED),  # third of the candidates, and two finish or stay
        (4, 5): (0.18, LIVE),
    }


def test_greedy_search_misses_what_the_beam_finds() -> None:
    greedy, beam = by_hand(1), by_hand(2)
    assert greedy.hypotheses[0].log_probability < beam.hypotheses[0].log_probability == pytest.approx(math.log(0.36))
    assert {node.fate for node in greedy.root if node.tokens == (5,)} == {DROPPED}


@pytest.fixture(scope="module")
def run() -> Run:
    return triptych.load("demo:rnn_bahdanau")


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_tree_is_the_search_of_the_run(run: Run, beam_size: int) -> None:
    tree = run.search_tree(SENTENCE, beam_size=beam_size, length_penalty=0.6)
    search = run.translator.search.with_length_penalty(0.6).with_beam(beam_size, 1)
    assert tree.translations == run.translate([SENTENCE], search)
    nodes = list(tree.root)
    for _, step in groupby(sorted((node for node in nodes if node.tokens), key=depth), key=depth):
        assert sum(node.fate == LIVE for node in step) <= beam_size
    best = max((node for node in nodes if node.fate == FINISHED), key=lambda node: node.score)
    assert best.tokens[:-1] == tuple(tree.hypotheses[0].tokens)
    assert best.score == pytest.approx(tree.hypotheses[0].score)
    assert best.log_probability == pytest.approx(sum(run.score([SENTENCE], tree.translations)), abs=1e-3)


def depth(node) -> int:
    return len(node.tokens)


def test_the_table_has_every_candidate(run: Run) -> None:
    tree = run.search_tree(SENTENCE)
    table = tree.table
    assert len(table) == sum(1 for _ in tree.root) - 1
    finished = table[table.fate == FINISHED]
    assert finished.score.max() == pytest.approx(tree.hypotheses[0].score)
    assert table[table.fate != FINISHED].score.isna().all()
    assert table.hypothesis[finished.score.idxmax()].split()[-1] == "</s>"


class Branches(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open, self.closed, self.other, self.text = 0, 0, set(), ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "details":
            self.open, self.closed = self.open + (("open", None) in attributes), self.closed + 1
        self.other.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_notebook_shows_branches_that_open_and_markup_as_text() -> None:
    shown = Branches()
    shown.feed(by_hand(2)._repr_html_())
    assert (shown.open, shown.closed) == (1, 2)  # the way to the best translation is open
    assert shown.other == {"p", "details", "summary", "small", "div", "b", "s"}
    assert "s <b>" in shown.text
    assert "b-<i> −0.92" in shown.text
    assert "</s> ✓ −1.02, score −1.02" in shown.text


def test_the_text_of_a_tree_leaves_out_what_was_dropped() -> None:
    assert repr(by_hand(2)).splitlines() == [
        "s <b>",
        "  a -0.51",
        "    a -1.43",
        "    b-<i> -1.71",
        "  b-<i> -0.92 *",
        "    </s> -1.02 ✓*",
    ]


def test_an_empty_line_has_no_search(run: Run) -> None:
    with pytest.raises(UserError, match="the line is empty"):
        run.search_tree(" ")

"""Equations stand above the lines that compute them, which are those of the source, with the papers that it cites."""

from __future__ import annotations

import inspect
import re
import xml.etree.ElementTree as ET

import pytest
from conftest import ROOT

from docs_build import source

equations = pytest.importorskip("docs_build.equations", reason="needs the extra docs: pip install -e '.[docs]'")
PAGE = (ROOT / equations.PAGE).read_text(encoding="utf-8")
SITE = equations.in_site(PAGE)


def test_every_formula_becomes_well_formed_mathml() -> None:
    formulas = re.findall(r"<math.*?</math>", SITE, re.DOTALL)
    written = len(re.findall(r"^```math$", PAGE, re.MULTILINE))
    assert len([one for one in formulas if 'display="block"' in one]) == written > 20
    for formula in formulas:
        ET.fromstring(formula)
        assert "\\" not in formula, f"LaTeX is left: {formula}"
    assert "$" not in re.sub(r"`[^`]*`", "", re.sub(r"```.*?```", "", SITE, flags=re.DOTALL))


def test_every_equation_is_followed_by_the_lines_that_compute_it() -> None:
    sections = re.split(r"^##+ ", PAGE, flags=re.MULTILINE)
    general = "What every model computes"  # every architecture in its own way
    for section in sections:
        if "```math" in section and not section.startswith(general):
            assert equations.SYMBOL.search(section), section.partition("\n")[0]
    assert not equations.SYMBOL.search(SITE)
    assert not equations.DOCSTRING.search(SITE)


def test_a_listing_is_the_source_without_its_docstring() -> None:
    from triptych.decoding.search import Search

    found = source.listing("src/triptych/decoding/search.py", "Search.limit")
    lines, first = inspect.getsourcelines(Search.limit)
    assert found.line == first
    assert found.code.splitlines() == [lines[0][4:].rstrip(), lines[-1][4:].rstrip()]
    with pytest.raises(KeyError, match="no_such_thing"):
        source.listing("src/triptych/decoding/search.py", "Search.no_such_thing")


@pytest.mark.parametrize(
    ("path", "symbol", "cited"),
    [
        ("layers/attention.py", "dot_product_attention_with_weights", ("Vaswani et al. 2017, equation 1",)),
        (
            "layers/blocks.py",
            "Block._forward_pre_norm",
            ("Vaswani et al. 2017, section 3.1", "Xiong et al. 2020, figure 1"),
        ),
        ("layers/convolution_decoder.py", "StepAttention.forward", ("Gehring et al. 2017, section 3.3",)),
        ("layers/rnn_attention.py", "Dot.forward", ("Luong et al. 2015, section 3.1",)),
        ("training/schedules.py", "Noam.__call__", ("Vaswani et al. 2017, equation 3",)),
        ("data/bpe_dropout.py", "BpeDropout._merge", ("Provilkov et al. 2020, algorithm 1",)),
        ("kernels/linear_cross_entropy.py", "linear_cross_entropy_reference", ("Szegedy et al. 2016",)),
        ("layers/convolution.py", "add", ("Gehring et al. 2017, section 3.4",)),
        ("training/schedules.py", "Cosine", ("Loshchilov and Hutter 2017",)),
    ],
)
def test_papers_are_those_that_docstrings_cite(path: str, symbol: str, cited: tuple[str, ...]) -> None:
    assert source.listing(f"src/triptych/{path}", symbol).cited == cited


def test_tables_of_docstrings_become_markdown() -> None:
    docstring = """Before.

=====  ==========
paper  here
=====  ==========
A 1    ``a.py``,
       then b
B      c
=====  ==========

After."""
    assert source.as_markdown(docstring) == (
        "Before.\n\n| paper | here |\n| --- | --- |\n| A 1 | `a.py`, then b |\n| B | c |\n\nAfter."
    )

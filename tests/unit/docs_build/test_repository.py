"""Links between files of the repository lead to the same text in the site."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT

from docs_build import repository


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("README.md", "docs/quickstart.md", "quickstart.md"),
        ("README.md", "docs/images/architectures.svg", "images/architectures.svg"),
        ("docs/studies.md", "../experiments/table3", "experiments/table3/README.md"),
        ("docs/studies.md", "figures.md#quality", "figures.md#quality"),
        ("docs/studies.md", "#reports", "#reports"),
        ("docs/studies.md", "https://hydra.cc", "https://hydra.cc"),
        ("experiments/positions/README.md", "../../docs/claims.md", "../../claims.md"),
        ("experiments/positions/README.md", "../table3", "../table3/README.md"),
        ("experiments/positions/README.md", "results/toy/runs.jsonl#L3", None),
        ("docs/new-architecture.md", "../examples/own_parts", "examples/own_parts/README.md"),
        ("README.md", "LICENSE", "LICENSE.md"),
        ("docs/studies.md", "../src/triptych/api.py", None),
    ],
)
def test_links_lead_to_pages_of_the_site(page: str, link: str, expected: str | None) -> None:
    assert repository.site_link(page, link) == expected


def test_links_in_code_are_left_alone_and_links_to_data_become_text() -> None:
    text = "[a](x.md) ![b](y.svg) [c \\[1\\]](z.jsonl)\n```\n[d](x.md)\n```\n[e](x.md)"
    changed = repository.map_links(text, lambda link: None if link.endswith(".jsonl") else f"site/{link}")
    assert changed == "[a](site/x.md) ![b](site/y.svg) c \\[1\\]\n```\n[d](x.md)\n```\n[e](site/x.md)"


def test_bars_in_code_of_tables_have_no_backslash() -> None:
    assert (
        repository.with_bars("| `a=b\\|<c>` | `d` |\n`x\\|y`") == "| <code>a=b&#124;&lt;c&gt;</code> | `d` |\n`x\\|y`"
    )


def test_what_pages_link_to_becomes_a_page() -> None:
    pages = repository.pages()
    assert "````python\n" in pages["examples/own_parts/own_parts.py"]
    assert "## own_parts.py" in pages["examples/own_parts"]
    assert {"docs/claims.md", "experiments/table3/README.md", "benchmarks/results/gpu.md", "LICENSE"} <= pages.keys()
    assert not [name for name in pages if name.endswith((".jsonl", ".svg")) or name.startswith("src/")]


def test_every_page_of_docs_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    for page in (ROOT / "docs").glob("*.md"):
        assert re.search(rf"[ :\[]{page.name}\b", navigation), f"mkdocs.yml names no {page.name}"

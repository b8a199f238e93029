"""The notebooks: stored as they ran, by the public API alone, and they still run."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import ROOT

from docs_build.repository import links

FOLDER = ROOT / "notebooks"
NAMES = [
    "attention",
    "beam_search",
    "bottleneck",
    "efficiency",
    "lm4mt_loss",
    "normalization",
    "positions",
    "your_own_model",
]
LIBRARIES = {"pandas", "plotly", "torch", "triptych", *sys.stdlib_module_names}
OF_A_MACHINE = re.compile(r"/(?:home|root|tmp|work|Users|var)/|\d\d:\d\d:\d\d|\b20\d\d-\d\d-\d\d\b")
"""Paths, times and dates, which differ from machine to machine and from run to run."""
LARGEST = 400_000
"""Bytes of a stored notebook."""


def load(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))


def code(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def documented() -> set[str]:
    """Names of the package that the site's page of the API has, or that the example of one's own parts imports."""
    page = (ROOT / "docs_build" / "pages" / "api.md").read_text(encoding="utf-8")
    example = ast.parse((ROOT / "examples" / "own_parts" / "own_parts.py").read_text(encoding="utf-8"))
    return {*re.findall(r"^::: (\S+)$", page, re.MULTILINE), *imported(example)}


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def mistakes_of_code(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    for name in imported(tree):
        if name.partition(".")[0] not in LIBRARIES:
            yield f"imports {name}"
        if name.startswith("triptych.") and name not in documented():
            yield f"imports {name}, which no page documents"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.match(r"_[^_]", node.attr):
            yield f"uses the private name {node.attr}"


def mistakes_of_text(text: str) -> Iterator[str]:
    for link in links(text):
        if "://" not in link and not (FOLDER / link.partition("#")[0]).exists():
            yield f"links to {link}, which is not there"
    for part in ("**The question.**", "**What", "## Exercises"):
        if part not in text:
            yield f"lacks {part}"


def mistakes_of_outputs(cells: list[dict[str, Any]]) -> Iterator[str]:
    if [cell["execution_count"] for cell in cells] != [*range(1, len(cells) + 1)]:
        yield "was not run from the first cell to the last"
    outputs = [output for cell in cells for output in cell["outputs"]]
    for output in outputs:
        if output["output_type"] == "error" or output.get("name") == "stderr":
            yield f"has an error: {output}"
        shown = {kind: text for kind, text in output.get("data", output).items() if not kind.startswith("image/")}
        if found := OF_A_MACHINE.search(json.dumps(shown)):
            yield f"shows {found[0]}"
    figures = [output["data"] for output in outputs if "application/vnd.plotly.v1+json" in output.get("data", {})]
    if not figures:
        yield "has no figure"
    if not all("image/png" in figure for figure in figures):
        yield "has a figure without its picture (run notebooks/store.py where there is a Chromium)"


def test_notebooks_are_stored_as_they_ran_and_use_documented_names_alone() -> None:
    page = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    found = []
    for name in NAMES:
        notebook = load(name)
        cells = code(notebook)
        mistakes = [
            *mistakes_of_code("\n".join("".join(cell["source"]) for cell in cells)),
            *mistakes_of_outputs(cells),
        ]
        if (FOLDER / f"{name}.ipynb").stat().st_size > LARGEST:
            mistakes.append("is too large")
        if f"(../notebooks/{name}.ipynb)" not in page:
            mistakes.append("is not on docs/notebooks.md")
        if [cell["metadata"] for cell in notebook["cells"]] != [{}] * len(notebook["cells"]):
            mistakes.append("has metadata of its run")
        found += [f"{name} {mistake}" for mistake in mistakes]
    assert found == []
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize(
    ("source", "mistake"),
    [
        ("import scipy", "imports scipy"),
        ("from triptych.runs.run import load", "imports triptych.runs.run.load, which no page documents"),
        ("run._model", "uses the private name _model"),
    ],
)
def test_a_notebook_with_other_names_is_found(source: str, mistake: str) -> None:
    assert [*mistakes_of_code(source)] == [mistake]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_shows_what_is_stored(name: str) -> None:
    for library in ("nbclient", "ipykernel"):
        pytest.importorskip(library, reason=f"{library} is not installed: pip install -e '.[test]'")
    from notebooks.store import execute

    ran = execute(FOLDER / f"{name}.ipynb")
    assert kinds_of_outputs(code(ran)) == kinds_of_outputs(code(load(name)))


def kinds_of_outputs(cells: list[dict[str, Any]]) -> list[list[set[str]]]:
    """For each cell, the formats of each of its outputs, without the pictures that are added when it is stored.

    Warnings are left out: whether other programs are busy on this machine is not the notebook's affair.
    """
    shown = [[output for output in cell["outputs"] if output.get("name") != "stderr"] for cell in cells]
    return [[{*output.get("data", {"text": 0})} - {"image/png"} for output in outputs] for outputs in shown]


def test_what_a_notebook_is_cleaned_of() -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install -e '.[test]'")
    pytest.importorskip("nbclient", reason="nbclient is not installed: pip install -e '.[test]'")
    from notebooks.store import clean

    cell = nbformat.v4.new_code_cell("1", metadata={"execution": {"iopub.execute_input": "2026-01-01T10:00:00"}})
    notebook = nbformat.v4.new_notebook(
        cells=[cell], metadata={"language_info": {"name": "python", "version": "3.11.7"}}
    )
    clean(notebook)
    assert "2026" not in nbformat.writes(notebook)
    assert "3.11.7" not in nbformat.writes(notebook)

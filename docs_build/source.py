"""Lines of the source by the name of what they define, and the publications that docstrings cite."""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass

from docs_build.repository import ROOT

Definition = ast.ClassDef | ast.FunctionDef
PLACE = r"(?:sections?|equations?|appendix|algorithm|figure|table|rows?) [\w.]+"
CITATION = re.compile(
    rf"[A-Z][\w-]+(?: and [A-Z][\w-]+| et al\.)?\s(?:19|20)\d\d[a-z]?(?:,\s{PLACE}(?:(?:,| and)\s(?:{PLACE}|[\d.]+))*)?"
)

BARE = re.compile(rf"\(({PLACE})(?=[;,)])")


@dataclass(frozen=True)
class Listing:
    """Lines of a file.

    Attributes:
        path: of the file in the repository.
        line: number of the first one.
        code: without docstring and indentation.
        cited: publications that its docstring names, or else that of what stands around it.
    """

    path: str
    line: int
    code: str
    cited: tuple[str, ...]


def listing(path: str, symbol: str) -> Listing:
    """Return the lines that define a function, a method or a class.

    Args:
        path: of the file in the repository.
        symbol: ``function``, ``Class`` or ``Class.method``.

    Raises:
        KeyError: the file defines no such thing.
    """
    text = (ROOT / path).read_text(encoding="utf-8")
    tree = ast.parse(text)
    chain: list[ast.Module | Definition] = [tree]
    for name in symbol.split("."):
        chain.append(_defined(chain[-1], name))
    node = chain[-1]
    assert isinstance(node, Definition)
    lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
    if ast.get_docstring(node) is not None:
        first = node.body[0]
        assert first.end_lineno is not None
        start, end = first.lineno - node.lineno, first.end_lineno - node.lineno + 1
        lines = lines[:start] + (lines[end + 1 :] if lines[end : end + 1] == [""] else lines[end:])
    docstrings = [ast.get_docstring(one) or "" for one in reversed(chain)]
    docstrings[1:1] = [ast.get_docstring(one) or "" for one in _mentioned(tree, docstrings[0])]
    paper = next(iter(citations(docstrings[-1])), "").partition(",")[0]
    cited = next((found for one in docstrings if (found := citations(one, paper))), ())
    return Listing(path, node.lineno, textwrap.dedent("\n".join(lines)), cited)


def citations(docstring: str, paper: str = "") -> tuple[str, ...]:
    """Return the publications that a docstring names, each once, with the equation or section where it says one.

    Args:
        docstring: such as ``The attention of one layer (section 3.3).``
        paper: publication that a section without one belongs to: that of the file.
    """
    if paper:
        docstring = BARE.sub(rf"({paper}, \1", docstring)
    return tuple(dict.fromkeys(" ".join(found[0].split()).rstrip(".") for found in CITATION.finditer(docstring)))


def _defined(node: ast.AST, name: str) -> Definition:
    found = [one for one in ast.iter_child_nodes(node) if isinstance(one, Definition) and one.name == name]
    if not found:
        raise KeyError(f"{name} is not defined there")
    return found[0]


def _mentioned(tree: ast.Module, docstring: str) -> list[Definition]:
    """Return the functions of a file that a docstring names: a plain form of one says what it is the same as."""
    names = re.findall(r"``(\w+)``", docstring)
    return [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in names]


def as_markdown(docstring: str) -> str:
    """Return a docstring with its simple tables of reStructuredText as Markdown tables."""
    blocks = re.split(r"\n{2,}", docstring)
    return "\n\n".join(_table(block.splitlines()) if block.startswith("===") else _text(block) for block in blocks)


def _text(block: str) -> str:
    return block.replace("``", "`")


def _table(lines: list[str]) -> str:
    """Turn a table of two columns into Markdown; a row without a second cell is a heading of those below it."""
    second = lines[0].index(" =") + 1
    rules = [i for i, line in enumerate(lines) if line.startswith("===")]
    cells = [[line[:second].strip(), line[second:].strip()] for line in lines]
    head, body = cells[rules[0] + 1], cells[rules[1] + 1 : rules[2]]
    rows: list[list[str]] = []
    for left, right in body:
        if not left:
            rows[-1][1] += f" {right}"  # the line before goes on
        else:
            rows.append([left, right])
    shown = [[_text(cell).replace("|", "\\|") for cell in row] for row in [head, ["---", "---"], *rows]]
    return "\n".join(f"| {left} | {right} |" for left, right in shown)

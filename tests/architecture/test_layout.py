"""Who may import whom (docs/architecture.md)."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from conftest import ROOT

SOURCE = ROOT / "src" / "triptych"
FLOORS = [
    {"errors", "files"},
    {"contract"},
    {"kernels"},
    {"layers"},
    {"models", "data"},
    {"decoding", "accounting"},
    {"config", "runs"},
    {"evaluation"},
    {"sweeps", "training"},
    {"reports", "export"},
    {"commands"},
    {"__main__", "__init__"},
]
ONLY_IN = {
    "hydra": ("commands", "config", "runs", "sweeps", "training"),
    "lightning": ("training", "data/datamodule", "sweeps", "commands"),
    "wandb": ("training/callbacks", "reports", "commands"),
}
FILES = sorted(SOURCE.rglob("*.py"))


def floor(part: str) -> int:
    return next(i for i, parts in enumerate(FLOORS) if part in parts)


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} if node.module != "triptych" else {f"triptych.{a.name}" for a in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_downward(path: Path) -> None:
    place = path.relative_to(SOURCE).with_suffix("")
    for name in imports(path):
        top = name.split(".")[0]
        if top == "triptych" and name != "triptych":
            part = name.split(".")[1]
            if part.startswith("__") or part == "load":
                continue
            assert floor(part) <= floor(place.parts[0]), f"{place} imports {name}, which stands above it"
            if place.parts[0] == "models" and part == "models":
                assert name == "triptych.models.encoder_decoder", f"{place} imports another model, {name}"
            if place.parts[0] == "models":
                assert part not in ("data", "training"), f"{place} imports {name}"
        if top in ONLY_IN:
            assert str(place).startswith(ONLY_IN[top]), f"{place} imports {top}"


@pytest.mark.parametrize(
    "path", [p for p in FILES if p.relative_to(SOURCE).parts[0] not in ("models", "layers")], ids=lambda p: p.name
)
def test_shared_code_names_no_architecture(path: Path) -> None:
    tree = ast.parse(path.read_text())
    docstrings = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    words = {
        str(value)
        for node in ast.walk(tree)
        for field in ("id", "attr", "name", "arg", "asname", "value")
        if isinstance(value := getattr(node, field, None), str) and id(node) not in docstrings
    }
    assert not [word for word in words if re.search(r"rnn|transformer|lm4mt", word, re.IGNORECASE)]

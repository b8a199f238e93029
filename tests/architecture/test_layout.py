"""The layout that docs/architecture.md and CONTRIBUTING.md describe: who imports whom, and how large things may be."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
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
    {"attention"},
    {"config", "runs"},
    {"evaluation"},
    {"training"},
    {"sweeps"},
    {"reports", "export", "serving"},
    {"api"},
    {"commands"},
    {"__main__", "__init__"},
]
ONLY_IN = {
    "hydra": (
        "config",
        "runs/run",
        "evaluation/run",
        "training",
        "sweeps",
        "reports/dashboard_plan",
        "export/run",
        "serving",
        "commands",
    ),
    "lightning": ("config/validation", "training", "data/datamodule", "sweeps"),
    "wandb": ("training/loggers", "reports"),
    "wandb_workspaces": ("reports/dashboard",),
    "fastapi": ("serving",),
    "uvicorn": ("serving",),
}
HARDWARE = ("onednn", "mkldnn", "mallopt", "data_ptr", "sfc64")
OLD_NAMES = {
    *("Marks", "read", "places", "Vocabularies", "Sizes", "Packing", "Alignment", "Carried", "fed"),
    *("entry", "asks_first", "asking", "Shared", "Consumed", "held", "Busy", "telling", "begun", "kinds", "say"),
    *("growing", "told", "by", "past"),
}
"""Names that said too little or too much: CONTRIBUTING.md has the field's words in their place."""
FILES = sorted(SOURCE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def label(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def floor(part: str) -> int:
    return next(i for i, parts in enumerate(FLOORS) if part in parts)


def imports(tree: ast.AST) -> Iterator[str]:
    """Full names of what a file imports; ``from triptych import x`` counts as ``triptych.x``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "triptych":
                yield from (f"triptych.{alias.name}" for alias in node.names)
            else:
                yield node.module


@pytest.mark.parametrize("path", FILES, ids=label)
def test_imports_go_downward(path: Path) -> None:
    place = path.relative_to(SOURCE).with_suffix("")
    for name in imports(TREES[path]):
        top, _, rest = name.partition(".")
        if top in ONLY_IN:
            assert str(place).startswith(ONLY_IN[top]), f"{place} imports {top}"
        part = rest.partition(".")[0]
        if top != "triptych" or not part or part.startswith("__"):
            continue
        assert floor(part) <= floor(place.parts[0]), f"{place} imports {name}, which stands above it"


@pytest.mark.parametrize("path", sorted((SOURCE / "models").glob("*.py")), ids=label)
def test_architectures_share_parts_and_do_not_import_each_other(path: Path) -> None:
    shared = "triptych.models.encoder_decoder"
    others = {name for name in imports(TREES[path]) if name.startswith("triptych.models.")}
    assert others <= {shared}


@pytest.mark.parametrize("path", [p for p in FILES if label(p).split("/")[0] not in ("models", "layers")], ids=label)
def test_shared_code_names_no_architecture(path: Path) -> None:
    tree = TREES[path]
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    words = {
        str(value)
        for node in ast.walk(tree)
        for field in ("id", "attr", "name", "arg", "asname", "value")
        if isinstance(value := getattr(node, field, None), str) and id(node) not in docstrings
    }
    assert not [word for word in words if re.search(r"rnn|transformer|lm4mt|convs2s", word, re.IGNORECASE)]


def test_commands_are_thin() -> None:
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in (SOURCE / "commands").glob("[!_]*.py")]
    assert max(lines) <= 120
    assert sum(lines) <= 60 * len(lines)


def test_few_files_lie_loose() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= 7


def test_no_package_is_named_like_a_function_of_the_python_api() -> None:
    import triptych

    packages = {path.name for path in SOURCE.iterdir() if path.is_dir()}
    assert not packages & {*triptych.__all__}


@pytest.mark.parametrize("path", FILES, ids=label)
def test_files_and_functions_fit_a_reader(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 350
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno + 1 < 60, f"{node.name} in {label(path)}"


def root_name(node: ast.expr) -> str | None:
    """``config`` of ``config.model.d_model`` and of ``self.config["x"]``; None for other expressions."""
    names = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        names.append(node.attr if isinstance(node, ast.Attribute) else None)
        node = node.value
    base = node.id if isinstance(node, ast.Name) else None
    chain = [base, *reversed(names)]
    owner = chain[1] if chain[0] == "self" and len(chain) > 2 else chain[0]
    return owner if len(chain) > 1 and owner in ("config", "cfg", "run_config") else None


@pytest.mark.parametrize("path", FILES, ids=label)
def test_nothing_assigns_into_a_config(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "open_dict" not in text
    assert "OmegaConf.update" not in text
    for node in ast.walk(TREES[path]):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) else targets
        for target in targets:
            assert root_name(target) is None, f"{label(path)}:{node.lineno} assigns into a config"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changes = node.func.attr in ("update", "pop", "merge_with", "setdefault", "__setitem__")
            called_on = ast.Attribute(node.func.value, "called", ast.Load()) if changes else None
            assert called_on is None or root_name(called_on) is None, f"{label(path)}:{node.lineno} changes a config"


def test_a_trainer_is_built_in_one_place() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in FILES)
    assert text.count("lightning.Trainer(") == 1


@pytest.mark.parametrize("path", [path for path in FILES if "kernels" not in path.parts], ids=label)
def test_hardware_is_named_in_kernels_alone(path: Path) -> None:
    text = path.read_text(encoding="utf-8").lower()
    assert not [word for word in HARDWARE if word in text]


@pytest.mark.parametrize("path", [path for path in FILES if "commands" not in path.parts], ids=label)
def test_commands_alone_print(path: Path) -> None:
    calls = [node.func for node in ast.walk(TREES[path]) if isinstance(node, ast.Call)]
    assert not [call for call in calls if isinstance(call, ast.Name) and call.id == "print"]


def defined_names(tree: ast.AST) -> Iterator[str]:
    """Names that a file gives to things: classes, functions, arguments, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


@pytest.mark.parametrize("path", FILES, ids=label)
def test_names_are_the_fields(path: Path) -> None:
    assert not OLD_NAMES & {*defined_names(TREES[path])}
    assert path.stem not in OLD_NAMES

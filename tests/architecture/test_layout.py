"""The layout that docs/architecture.md and CONTRIBUTING.md describe: who imports whom, and how large things may be."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from conftest import ROOT

SOURCE = ROOT / "src" / "triptych"
FLOORS = [
    {"errors", "files", "ranges", "stored"},
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
        "runs/translators",
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
TEXTS = {path: path.read_text(encoding="utf-8") for path in FILES}
TREES = {path: ast.parse(text) for path, text in TEXTS.items()}


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


def all_imports() -> Iterator[tuple[str, str]]:
    """Each file with each name that it imports."""
    return ((label(path), name) for path, tree in TREES.items() for name in imports(tree))


def nodes() -> Iterator[tuple[str, ast.AST]]:
    """Each file with each node of its syntax tree."""
    return ((label(path), node) for path, tree in TREES.items() for node in ast.walk(tree))


def test_imports_go_downward() -> None:
    for place, name in all_imports():
        top, _, rest = name.partition(".")
        part = rest.partition(".")[0]
        if top == "triptych" and part and not part.startswith("__"):
            here = place.partition("/")[0].removesuffix(".py")
            assert floor(part) <= floor(here), f"{place} imports {name}, which stands above it"


def test_libraries_are_imported_where_they_belong() -> None:
    for place, name in all_imports():
        top = name.partition(".")[0]
        assert top not in ONLY_IN or place.startswith(ONLY_IN[top]), f"{place} imports {top}"


def test_architectures_share_parts_and_do_not_import_each_other() -> None:
    shared = "triptych.models.encoder_decoder"
    for path in (SOURCE / "models").glob("*.py"):
        others = {name for name in imports(TREES[path]) if name.startswith("triptych.models.")}
        assert others <= {shared}, label(path)


def names_and_values(tree: ast.AST) -> Iterator[str]:
    """Every name, argument and string of a file, docstrings apart."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        for field in ("id", "attr", "name", "arg", "asname", "value"):
            if isinstance(value := getattr(node, field, None), str) and id(node) not in docstrings:
                yield value


def test_shared_code_names_no_architecture() -> None:
    shared = [path for path in FILES if label(path).split("/")[0] not in ("models", "layers")]
    words = {(label(path), word) for path in shared for word in names_and_values(TREES[path])}
    assert not [found for found in words if re.search(r"rnn|transformer|lm4mt|convs2s", found[1], re.IGNORECASE)]


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


def test_files_fit_a_reader() -> None:
    assert not [label(path) for path in FILES if len(TEXTS[path].splitlines()) >= 350]


def test_functions_fit_a_reader() -> None:
    for place, node in nodes():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno + 1 < 60, f"{node.name} in {place}"


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


def test_nothing_assigns_into_a_config() -> None:
    opened = [label(path) for path in FILES if "open_dict" in TEXTS[path] or "OmegaConf.update" in TEXTS[path]]
    assert opened == ["config/shared_composition.py"]  # it takes Hydra's part out, as Hydra does, before anyone reads
    for place, node in nodes():
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) else targets
        for target in targets:
            assert root_name(target) is None, f"{place}:{target.lineno} assigns into a config"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changes = node.func.attr in ("update", "pop", "merge_with", "setdefault", "__setitem__")
            called_on = ast.Attribute(node.func.value, "called", ast.Load()) if changes else None
            assert called_on is None or root_name(called_on) is None, f"{place}:{node.lineno} changes a config"


def test_a_trainer_is_built_in_one_place() -> None:
    assert "".join(TEXTS.values()).count("lightning.Trainer(") == 1


def test_hardware_is_named_in_kernels_alone() -> None:
    for path in FILES:
        named = [word for word in HARDWARE if word in TEXTS[path].lower()]
        assert not named or "kernels" in path.parts, f"{label(path)} names {named}"


def test_commands_alone_print() -> None:
    for place, node in nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            assert place.startswith("commands/"), f"{place}:{node.lineno} prints"


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


def test_names_are_the_fields() -> None:
    for path in FILES:
        assert not OLD_NAMES & {path.stem, *defined_names(TREES[path])}, label(path)

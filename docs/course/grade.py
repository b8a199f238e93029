"""Check the answer to a lab: ``python docs/course/grade.py LAB [FILE]``. FILE is the lab's task.py if it is left out.

The checks stop at the first one that fails.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

COURSE = Path(__file__).resolve().parent
LABS = ("attention", "masks_and_positions", "decayed_loss", "beam_search", "architecture")


class Answer:
    """A plugin of pytest: it gives each check the student's file as ``answer``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @pytest.fixture(scope="session")
    def answer(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location("answer", self.path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def main(argv: list[str] | None = None) -> int:
    """Run the checks of a lab; return 0 if all pass."""
    parser = argparse.ArgumentParser(prog="grade.py", description="Check the answer to a lab.")
    parser.add_argument("lab", choices=LABS)
    parser.add_argument("file", nargs="?", type=Path, help="the answer (default: task.py in the lab's folder)")
    arguments = parser.parse_args(argv)
    lab = COURSE / arguments.lab
    path = (arguments.file or lab / "task.py").resolve()
    if not path.is_file():
        parser.error(f"there is no file {path}")
    sys.path.insert(0, str(lab))  # given.py, beside the task
    options = ["-x", "--tb=short", "--no-header", "--disable-warnings", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return int(pytest.main([*options, str(lab / "check.py")], plugins=[Answer(path)]))


if __name__ == "__main__":
    sys.exit(main())

"""What `pip install` of a wheel brings: the package, its conf/, the runs of `triptych demo`, the page of attention."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from conftest import ROOT

from triptych.attention.page import SCRIPTS
from triptych.runs.demo import demo_names


def test_a_wheel_holds_configs_demo_runs_and_the_page(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("triptych-*.whl")
    names = set(ZipFile(wheel).namelist())
    shipped = {name for name in names if name.startswith("triptych/conf/")}
    assert shipped == {f"triptych/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "conf").rglob("*.yaml")}
    assert {f"triptych/demo/{name}/checkpoints/best.safetensors" for name in demo_names()} <= names
    parts = {f"triptych/attention/web/{name}" for name in ("page.html", "page.css", *SCRIPTS)}
    assert {name for name in names if name.startswith("triptych/attention/web/")} == parts

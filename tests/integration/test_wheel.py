"""What `pip install` of a wheel brings: the package with its pages, its whole conf/ and the runs of `triptych demo`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from conftest import ROOT

from triptych.runs.demo import demo_names


def test_a_wheel_holds_configs_pages_and_demo_runs(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("triptych-*.whl")
    names = set(ZipFile(wheel).namelist())
    shipped = {name for name in names if name.startswith("triptych/conf/")}
    assert shipped == {f"triptych/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "conf").rglob("*.yaml")}
    assert {f"triptych/demo/{name}/checkpoints/best.safetensors" for name in demo_names()} <= names
    pages = [path for path in (ROOT / "src").rglob("web/*") if path.is_file()]
    assert pages
    assert {path.relative_to(ROOT / "src").as_posix() for path in pages} <= names

"""What `pip install` of a wheel brings: the package and its whole conf/."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from conftest import ROOT


def test_a_wheel_holds_the_configs(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("triptych-*.whl")
    shipped = {name for name in ZipFile(wheel).namelist() if name.startswith("triptych/conf/")}
    assert shipped == {f"triptych/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "conf").rglob("*.yaml")}

"""``triptych report`` of several folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_runs import make_run

from triptych.commands.report import main
from triptych.errors import UserError


def test_each_folder_gets_its_own_report_and_an_archive_is_of_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        make_run(folder, f"{folder.name}-00000001", tests={"toy": {"bleu": 1.0, "bleu_signature": "s"}})
    main(list(map(str, folders)))
    assert [line for line in capsys.readouterr().out.splitlines() if line.endswith(".html")] == [
        str(folder / "report.html") for folder in folders
    ]
    with pytest.raises(UserError, match="--keep writes the archive of one report"):
        main([*map(str, folders), "--keep", str(tmp_path / "kept")])

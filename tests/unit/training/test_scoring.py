"""A run that was just trained is scored without reading its folder again, with the same scores."""

import shutil
from pathlib import Path
from typing import Any

from triptych.runs.folder import RunFolder
from triptych.runs.result_file import read_result
from triptych.runs.run import Run
from triptych.training.scoring import score_run


def without_times(scores: dict[str, Any]) -> dict[str, Any]:
    tests = {name: {**scored, "seconds": None} for name, scored in scores["test"].items()}
    return {"validation": scores["validation"], "test": tests}


def test_the_configuration_in_hand_scores_as_the_folder_does(tiny_run: Path, tmp_path: Path) -> None:
    folder = RunFolder(Path(shutil.copytree(tiny_run / "runs" / "tiny", tmp_path / "tiny")))
    run = Run(folder.path)
    corpus, stored = run.load_corpus(), without_times(read_result(folder))
    for trained_config in (run.config, None):
        assert without_times(score_run(run.config, folder, corpus, "cpu", trained_config)) == stored

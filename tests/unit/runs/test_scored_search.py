"""The search of a finished run has the length penalty that was chosen for it."""

from __future__ import annotations

from pathlib import Path

from conftest import compose_train
from omegaconf import open_dict

from triptych.runs.folder import RunFolder, write_json
from triptych.runs.scored_search import scored_search


def test_what_was_chosen_replaces_tuned(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    tuned = compose_train("scale=smoke", "search.length_penalty=tuned").search
    given = compose_train("scale=smoke").search
    assert scored_search(folder, tuned).length_penalty == "tuned", "there is no result yet"
    write_json(folder.result, {"test": {"a": {"length_penalty": 1.2}, "b": {"length_penalty": 1.2}}})
    assert scored_search(folder, tuned).length_penalty == 1.2
    assert scored_search(folder, tuned).beam_size == tuned.beam_size
    assert scored_search(folder, given).length_penalty == 0.6
    write_json(folder.result, {"test": {}})
    assert scored_search(folder, tuned).length_penalty == "tuned", "no result says what was chosen"
    write_json(folder.result, {"search": {"length_penalty": 0.8}, "test": {}})
    assert scored_search(folder, tuned).length_penalty == 0.8, "there was nothing to translate"


def test_a_key_that_is_new_has_the_value_that_does_what_was_done(tmp_path: Path) -> None:
    folder, search = RunFolder(tmp_path), compose_train("scale=smoke", "search.stop=first").search
    assert scored_search(folder, search) == search
    with open_dict(search):
        del search["stop"], search["min_length"]
        assert scored_search(folder, search) == {**search, "stop": "exact", "min_length": 0}
        search["_target_"] = "mine.Search"
    assert scored_search(folder, search) == search, "it takes what it takes"

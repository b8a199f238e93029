"""A run's config.yaml may be somebody else's: nothing in it is called that nobody vouches for."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT, compose_train
from omegaconf import OmegaConf

from triptych.config.search_path import with_own_folders
from triptych.errors import UserError
from triptych.runs.folder import RunFolder
from triptych.runs.stored_config import read_config
from triptych.stored import DamagedFile


def stored(folder: Path, *overrides: str, **changed: object) -> RunFolder:
    """The folder of a run whose config.yaml is a composed one, with keys changed."""
    config = OmegaConf.to_container(compose_train(*overrides), resolve=True)
    found = OmegaConf.create(config)
    for key, value in changed.items():
        OmegaConf.update(found, key.replace("__", ".", 1), value, merge=False, force_add=True)
    folder.mkdir(exist_ok=True)
    OmegaConf.save(found, folder / "config.yaml")
    return RunFolder(folder)


@pytest.mark.parametrize("model", sorted(path.stem for path in (ROOT / "conf" / "model").glob("*.yaml")))
def test_every_model_of_triptych_is_known(model: str, tmp_path: Path) -> None:
    assert read_config(stored(tmp_path, f"model={model}")).model._target_.startswith("triptych.models.")


@pytest.mark.parametrize(
    ("key", "planted"),
    [
        ("model", {"_target_": "os.system", "command": "true"}),
        ("model__d_model", {"_target_": "pandas.read_pickle", "filepath_or_buffer": "x"}),
        ("model__extra", [{"deep": {"_target_": "torch.hub.load", "repo_or_dir": "."}}]),
        ("data__dir", {"_target_": "pathlib.Path.write_text", "self": "x", "data": "y"}),
        ("search__beam_size", {"_target_": "torch.load", "f": "x"}),
        ("metric__bleu", {"_target_": "builtins.eval", "_args_": ["1"]}),
    ],
)
def test_a_planted_target_is_refused_by_name(key: str, planted: object, tmp_path: Path) -> None:
    folder = stored(tmp_path, **{key: planted})
    with pytest.raises(UserError, match=r"would run code that is not triptych's: [\w.\[\]]*_target_=") as refused:
        read_config(folder)
    assert "add trust=" in str(refused.value)


@pytest.mark.parametrize(
    ("key", "planted", "said"),
    [
        ("model", {"_target_": "triptych.files.replacing", "path": "x"}, "is nothing that model can be"),
        ("search___partial_", True, "search._partial_ is nothing that a run has"),
        ("search__beam_size", "wide", "search.beam_size=wide must be an integer"),
        ("length_edges", "abc", "length_edges=abc must be a list"),
        ("frequency_edges", ["a"], r"frequency_edges\[0\]=a must be an integer"),
    ],
)
def test_a_value_that_does_not_fit_is_damage(key: str, planted: object, said: str, tmp_path: Path) -> None:
    """The command ended in the middle of its work, with an error of Python's."""
    with pytest.raises(DamagedFile, match=said):
        read_config(stored(tmp_path, **{key: planted}))


def test_what_the_user_names_is_built(tmp_path: Path) -> None:
    folder = stored(tmp_path / "run", model={"_target_": "my_parts.models.Bag", "size": 8})
    for trust in (["my_parts"], ["my_parts.models"], ["my_parts.models.Bag"], None):
        assert read_config(folder, trust).model.size == 8
    for trust in (["my"], ["my_parts.models.B"], ["other"]):
        with pytest.raises(UserError, match=r"my_parts\.models\.Bag\. If you trust it, add trust=my_parts"):
            read_config(folder, trust)
    (tmp_path / "conf" / "model").mkdir(parents=True)
    (tmp_path / "conf" / "model" / "bag.yaml").write_text("# Mine.\n_target_: my_parts.models.Bag\nsize: 8\n")
    with with_own_folders([tmp_path / "conf"]):
        assert read_config(folder).model.size == 8


@pytest.mark.parametrize("content", [b"", b"model: [", b"- 1\n", b"\xff\xfe", b"just text"])
def test_a_damaged_file_is_one_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(content)
    with pytest.raises(UserError, match=r"config\.yaml") as refused:
        read_config(RunFolder(tmp_path))
    assert "\n" not in str(refused.value)

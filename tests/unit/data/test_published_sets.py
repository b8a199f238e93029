"""Test sets by sacreBLEU's names, from the folder that it keeps them in."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from sacrebleu.dataset import DATASETS

from tests.unit.data.test_corpus import load, texts, write
from triptych.errors import UserError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus, and the archive of wmt14/full as sacreBLEU downloads it, with three sentences."""
    write(tmp_path, train_en="a\n", train_fr="A\n")
    data_set = DATASETS["wmt14/full"]
    raw = tmp_path / "sacrebleu" / "raw"
    (raw / "test-full").mkdir(parents=True)
    for name, lines in (("src.en", ["x", "y  &amp; y", "z"]), ("ref.fr", ["X", "Y", "Z"])):
        segments = "".join(f'<seg id="{i}">{line}</seg>\n' for i, line in enumerate(lines))
        (raw / "test-full" / f"newstest2014-fren-{name}.sgm").write_text(f'<doc docid="d">\n{segments}</doc>\n')
    archive = raw / data_set._get_tarball_filename(data_set.data[0])
    with tarfile.open(archive, "w:gz") as file:
        file.add(raw / "test-full", "test-full")
    monkeypatch.setattr(data_set, "_outdir", str(raw.parent))
    monkeypatch.setattr(data_set, "_rawdir", str(raw))
    return tmp_path


def test_a_published_set(folder: Path) -> None:
    corpus = load(folder, validation="sacrebleu:wmt14/full", test=["sacrebleu:wmt14/full"])
    assert texts(corpus, "wmt14_full") == (["x", "y &amp; y", "z"], ["X", "Y", "Z"])
    assert texts(corpus, "validation") == texts(corpus, "wmt14_full")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wmt14/ful", r"sacreBLEU has no test set 'wmt14/ful': wmt14/full or"),
        ("wmt19", "sacrebleu:wmt19 has no en-fr, but cs-de, "),
    ],
)
def test_sets_that_are_not_there(name: str, said: str, folder: Path) -> None:
    with pytest.raises(UserError, match=said):
        load(folder, validation=f"sacrebleu:{name}", test=[])


def test_it_is_kept_in_the_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(folder, validation="sacrebleu:wmt14/full", test=[])
    monkeypatch.setattr(DATASETS["wmt14/full"], "process_to_text", None)
    assert load(folder, validation="sacrebleu:wmt14/full", test=[]).fingerprint == first.fingerprint


@pytest.mark.parametrize("error", [OSError("no route to host"), SystemExit(1), tarfile.ReadError("not a gzip file")])
def test_a_failed_download(error: BaseException, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(direction: str) -> None:
        raise error

    monkeypatch.setattr(DATASETS["wmt14/full"], "process_to_text", fail)
    said = rf"could not get wmt14/full \({error}\)\. If there is a network, delete .*wmt14/full and try again"
    with pytest.raises(UserError, match=said):
        load(folder, validation="sacrebleu:wmt14/full", test=[])

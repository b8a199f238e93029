"""Tables as a corpus: TSV and Parquet files, their columns, and what is said of wrong ones."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.unit.data.test_corpus import load, texts
from triptych.errors import UserError


def write_parquet(path: Path, **columns: list[Any]) -> None:
    parquet.write_table(pa.table(columns), path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.tsv").write_text('a "b"\tA\t0.5\n\tB\t0.5\nc\t\n  d \t D\r\n')
    (tmp_path / "val.tsv.gz").write_bytes(gzip.compress(b"n\ten\tfr\n1\te\tE\n2\t\tF\n"))
    write_parquet(tmp_path / "test.parquet", fr=["G", None, "I"], en=["g\ng", "h", " i"], id=[0, 1, 2])
    return tmp_path


def test_tsv_by_number_and_parquet_by_language(folder: Path) -> None:
    corpus = load(folder, train="train.tsv", validation="train.tsv", test=["test.parquet"])
    assert texts(corpus, "train") == (['a "b"', "d"], ["A", "D"])
    assert texts(corpus, "validation") == (['a "b"', "", "c", "d"], ["A", "B", "", "D"])
    assert texts(corpus, "test") == (["g g", "h", "i"], ["G", "", "I"])
    assert corpus.report[:2] == [
        "train: 4 pairs read from train.tsv",
        "train: 2 pairs with an empty line dropped",
    ]


def test_columns_by_name(folder: Path) -> None:
    corpus = load(folder, train="test.parquet", validation="val.tsv.gz", test=[], columns=["fr", "en"])
    assert texts(corpus, "validation") == (["E", "F"], ["e", ""])
    assert texts(corpus, "train") == (["G", "I"], ["g g", "i"])
    other = load(folder, train="test.parquet", validation="val.tsv.gz", test=[], columns=["en", "fr"])
    assert texts(other, "train") == (["g g", "i"], ["G", "I"])


def test_several_tables_and_fields_of_a_column(folder: Path) -> None:
    """Shards as the Hub has them, ``translation: {en: …, fr: …}``, are read in the order of their names."""
    for i in (1, 0):
        rows = [{"en": f"s{i}", "fr": f"t{i}"}] * 2
        write_parquet(folder / f"train-0000{i}-of-00002.parquet", translation=rows)
    corpus = load(
        folder,
        train="train-*.parquet",
        validation="train-00000-of-00002.parquet",
        test=[],
        columns=["translation.en", "translation.fr"],
    )
    assert texts(corpus, "train") == (["s0", "s0", "s1", "s1"], ["t0", "t0", "t1", "t1"])
    assert corpus.report[0] == "train: 4 pairs read from train-00000-of-00002.parquet and 1 more"
    by_number = load(folder, train="train-*.parquet", validation="train-*.parquet", test=[], columns=[2, 1])
    assert texts(by_number, "train")[0] == ["t0", "t0", "t1", "t1"]


def test_a_table_that_has_changed_is_read_again(folder: Path) -> None:
    names: dict[str, Any] = {"validation": "train.tsv", "test": []}
    assert len(texts(load(folder, train="train.tsv", **names), "train")[0]) == 2
    with (folder / "train.tsv").open("a") as file:
        file.write("e\tE\n")
    assert texts(load(folder, train="train.tsv", **names), "train")[0] == ['a "b"', "d", "e"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"columns": [1, 4]}, r"train.tsv:1 has 3 columns, and source and target are columns 1 and 4"),
        (
            {"train": "short.tsv"},
            r"short.tsv:2 has 1 column, and source and target are columns 1 and 2 \(data.columns\)",
        ),
        ({"train": "many.parquet"}, r"many.parquet' is a folder; .* give 'many.parquet/\*.parquet'"),
        ({"train": "odd.csv"}, r"'odd.csv' is a file, .* Names of tables end in .tsv, .tsv.gz, .parquet"),
        ({"train": "*.csv"}, r"'\*.csv' is no pattern of tables, whose names end in .tsv, .tsv.gz, .parquet"),
        ({"columns": ["en", "fr"]}, r'train.tsv has no column en; it has a "b", A, 0.5'),
        ({"columns": [1]}, r"data.columns=\[1\] must be the columns of source and target"),
        ({"columns": [1, 1]}, r"data.columns=\[1,1\] must be"),
        ({"columns": "en"}, r"data.columns=en must be"),
        ({"columns": [0, 1]}, r"data.columns=\[0,1\] must be"),
        ({"train": "no.tsv"}, "there is no table '.*no.tsv'; beside it there are train.tsv, "),
        ({"train": "no-*.tsv"}, r"there is no table '.*no-\*.tsv'"),
        ({"train": "test.parquet", "columns": ["en", "de"]}, "test.parquet has no column de; it has fr, en, id"),
        ({"train": "test.parquet", "columns": ["en", "id"]}, "the column id has 0, which is no text"),
        ({"train": "bad.parquet"}, "bad.parquet cannot be read as a Parquet file"),
        ({"columns": [True, 2]}, r"data.columns=\[True,2\] must be"),
        ({"columns": [["en"], ["fr"]]}, r"must be the columns of source and target"),
        ({"train": "twice.parquet", "columns": ["en", "fr"]}, "twice.parquet has several columns named en"),
        ({"directions": ["en-fr", "fr-en"]}, "with several directions, a table must be a .parquet file"),
        ({"train": "a", "validation": "a", "columns": [1, 2]}, "data.columns is for tables, and no split is one"),
    ],
)
def test_tables_that_cannot_be_are_refused(folder: Path, changes: dict[str, Any], said: str) -> None:
    column = pa.array(["a"])
    parquet.write_table(pa.table([column] * 3, names=["en", "en", "fr"]), folder / "twice.parquet")
    (folder / "short.tsv").write_text("a\tA\n\n")
    (folder / "odd.csv").write_text("a,A\n")
    (folder / "many.parquet").mkdir()
    (folder / "bad.parquet").write_bytes((folder / "test.parquet").read_bytes()[:-9])
    with pytest.raises(UserError, match=said):
        load(folder, **{"train": "train.tsv", "validation": "train.tsv", "test": [], **changes})


def test_a_folder_with_signs_of_patterns(folder: Path) -> None:
    (folder / "q[1]*").mkdir()
    for file in ("train.tsv", "test.parquet"):
        (folder / file).rename(folder / "q[1]*" / file)
    corpus = load(folder / "q[1]*", train="t*.tsv", validation="train.tsv", test=["test.parquet"])
    assert len(corpus.splits["train"].src) == 2


def test_absolute_patterns_and_names_of_test_sets(folder: Path) -> None:
    corpus = load(folder, train=f"{folder}/tr*.tsv", validation="train.tsv", test=["t*.parquet"])
    assert texts(corpus, "train")[0] == ['a "b"', "d"]
    assert corpus.test_names == ["t"]


def test_a_first_line_that_looks_like_names_is_pointed_out(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "named.tsv").write_text("en\tfr\na\tA\n")
    load(folder, train="train.tsv", validation="train.tsv", test=[])
    assert not caplog.messages
    load(folder, train="named.tsv", validation="train.tsv", test=[])
    (folder / "spoken.tsv").write_text("English\tFrench\na b\tA B\nc d\tC D\n")
    load(folder, train="spoken.tsv", validation="train.tsv", test=[])
    (folder / "words.tsv").write_text("house\tmaison\ncat\tchat\n")
    load(folder, train="words.tsv", validation="train.tsv", test=[])
    assert [message.partition(".tsv, ")[2] for message in caplog.messages] == [
        "'en' and 'fr', is read as a pair; if it names columns, give data.columns=[en,fr]",
        "'English' and 'French', is read as a pair; if it names columns, give data.columns=[English,French]",
    ]


def test_several_directions_in_one_parquet_file(folder: Path) -> None:
    corpus = load(folder, train="test.parquet", validation="test.parquet", test=[], directions=["en-fr", "fr-en"])
    assert texts(corpus, "train") == (["g g", "i", "G", "I"], ["G", "I", "g g", "i"])

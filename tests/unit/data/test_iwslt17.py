"""IWSLT 2017 from a folder in the form of the release."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from sacrebleu.dataset.iwslt_xml import IWSLTXMLDataset

from triptych.data.iwslt17 import Iwslt17, read_sentences
from triptych.errors import UserError

TALK = """<url>http://www.ted.com/talks/1</url>
<keywords>talks</keywords>
<speaker>Somebody</speaker>
<talkid>1</talkid>
<title>{title}</title>
<description>TED Talk Subtitles and Transcript</description>
{lines}<reviewer></reviewer>
<translator></translator>
"""
SET = """<?xml version="1.0" encoding="UTF-8"?>
<mteval>
<srcset setid="iwslt2017-dev2010" srclang="{language}">
<doc docid="1" genre="lectures">
<title>A title</title>
{segments}</doc>
</srcset>
</mteval>
"""


def sentence(language: str, i: int) -> str:
    return f"{language}  sentence {i} & more < less"


def talk(language: str, count: int) -> str:
    lines = "".join(f" {sentence(language, i)} \n" for i in range(count))
    return TALK.format(title=f"{language} title", lines=lines + ("\n" if language == "de" else "only English\n"))


def marked_up(language: str, count: int) -> str:
    segments = "".join(f'<seg id="{i}"> {sentence(language, i)} </seg>\n' for i in range(count))
    return SET.format(language=language, segments=segments)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "de-en"
    folder.mkdir()
    for language in ("de", "en"):
        (folder / f"train.tags.de-en.{language}").write_text(talk(language, 3))
        (folder / f"IWSLT17.TED.dev2010.de-en.{language}.xml").write_text(marked_up(language, 2))
        (folder / f"IWSLT17.TED.tst2015.de-en.{language}.sgm.gz").write_bytes(
            gzip.compress(marked_up(language, 1).encode())
        )
        (folder / f"IWSLT17.TED.plain.de-en.{language}").write_text(f"{language}\n<i>{language}</i>\n")
    return folder


def load(folder: Path, **changes: object) -> Iwslt17:
    settings = {"src": "de", "tgt": "en", "dir": str(folder), "cache": str(folder.parent / "cache")}
    settings |= {"validation": "dev2010", "test": ["tst2015", "plain"]}
    return Iwslt17(**{**settings, "max_length": None, "max_length_ratio": None, "join": None, **changes})


def test_tags_are_left_out_and_pairs_stay_pairs(folder: Path) -> None:
    corpus = load(folder)
    assert corpus.languages == ("de", "en")
    assert list(corpus.splits["train"].src) == [sentence("de", i) for i in range(3)], "the pair with an empty side too"
    assert list(corpus.splits["train"].tgt) == [sentence("en", i) for i in range(3)]
    assert "train: 1 pairs with an empty line dropped" in corpus.report
    assert list(corpus.splits["validation"].tgt) == ["en sentence 0 & more < less", "en sentence 1 & more < less"]
    assert [len(corpus.splits[name].src) for name in corpus.test_names] == [1, 2]
    assert list(corpus.splits["plain"].src) == ["de", "<i>de</i>"]


def test_the_files_of_one_direction_serve_both(folder: Path) -> None:
    there, back = load(folder), load(folder, src="en", tgt="de")
    assert list(back.splits["validation"].src) == list(there.splits["validation"].tgt)
    assert list(back.splits["train"].tgt) == list(there.splits["train"].src)


def test_segments_are_read_as_sacrebleu_reads_them(folder: Path) -> None:
    file = folder / "IWSLT17.TED.dev2010.de-en.de.xml"
    reader = IWSLTXMLDataset("mine", data=[], description="", citation="", langpairs={})
    reader._convert_format(str(file), str(folder / "theirs"))
    assert list(read_sentences(file)) == (folder / "theirs").read_text().splitlines()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dir": "/nowhere"}, r"the folder '/nowhere' does not exist; get IWSLT 2017 from https://"),
        ({"tgt": "fr"}, r"has neither 'train\.tags\.de-fr\.de' nor 'train\.tags\.fr-de\.de'.*it has IWSLT17"),
        ({"test": ["tst2010"]}, r"has neither 'IWSLT17\.TED\.tst2010\.de-en\.de'"),
        ({"test": "tst2015"}, r"such as data\.test=\[tst2015\]"),
    ],
)
def test_mistakes(folder: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        load(folder, **changes)


def test_a_segment_over_two_lines_is_refused_with_its_place(folder: Path) -> None:
    file = folder / "IWSLT17.TED.dev2010.de-en.de.xml"
    file.write_text(file.read_text().replace(" & more", "\n& more", 1))
    with pytest.raises(UserError, match=r"de\.xml:6 begins a segment that does not end there"):
        load(folder)

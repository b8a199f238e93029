"""Several directions in one corpus: their pairs, and the language tags in their ids."""

from __future__ import annotations

import gzip
import json
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from conftest import build_model, write_three_languages

from triptych.contract.batch import Batch
from triptych.contract.vocabulary import BOS, EOS, PAD, LanguageTags
from triptych.data import multi30k, store
from triptych.data.corpus import Corpus, TextCorpus
from triptych.data.datamodule import TranslationData
from triptych.data.directions import Directions
from triptych.data.text_file import digest_lines
from triptych.data.tokenizer import SentencePieceTrainer, Tokenizer
from triptych.decoding.search import Search
from triptych.decoding.translator import Translator
from triptych.errors import UserError
from triptych.evaluation.metrics import standard_metrics
from triptych.runs.identity import short_label
from triptych.training.callbacks.validation_bleu import ValidationBleu

SEVERAL = ["fr-en", "en-de"]
FR, EN, DE = 4, 5, 6
"""The tags of these directions."""
GREEDY = Search(
    beam_size=1, length_penalty=0.0, max_length_ratio=1.0, max_length_extra=5, min_length=0, stop="exact", n_best=1
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_three_languages(tmp_path_factory.mktemp("files"))


def load(folder: Path, **changes: object) -> TextCorpus:
    settings = {"name": "text", "src": "fr", "tgt": "de", "dir": str(folder), "train": "train", "validation": "val"}
    settings |= {"test": ["test"], "cache": str(folder / "cache"), "max_length": 100, "max_length_ratio": None}
    return TextCorpus(**{**settings, "directions": SEVERAL, "pivot": "en", **changes})


def trained_on(corpus: Corpus, folder: Path) -> Tokenizer:
    trainer = SentencePieceTrainer(algorithm="char", joint=True, byte_fallback=False, train_lines=None)
    return trainer.fit(corpus, folder / "cache")


def batches(corpus: Corpus, tokenizer: Tokenizer, folder: Path) -> dict[str, list[Batch]]:
    """One epoch of training, and the validation."""
    stores = store.prepare(corpus, tokenizer, folder / "cache", corpus.max_length, corpus.max_length_ratio)
    settings = {
        "batch_tokens": 150,
        "accumulate": 1,
        "seed": 1,
        "workers": 0,
        "ranks": 1,
        "budget": lambda stream: stream.epoch_steps,
    }
    data = TranslationData(stores=stores, tokenizer=tokenizer, corpus=corpus, **settings)
    return {"train": list(data.train_dataloader()), "validation": list(data.val_dataloader())}


def test_a_corpus_is_its_directions_one_after_the_other(files: Path) -> None:
    corpus = load(files)
    assert corpus.languages == ("fr", "en", "de")
    fr, en, de = ((files / f"train.{language}").read_text().splitlines() for language in ("fr", "en", "de"))
    assert list(corpus.splits["train"].src) == fr + en
    assert list(corpus.splits["train"].tgt) == en + de
    assert corpus.sections["train"] == [(("fr", "en"), 40), (("en", "de"), 40)]
    assert corpus.test_names == ["test", "test.via_en"]
    assert corpus.sections["test"] == [(("fr", "de"), 5)]
    assert corpus.sections["test.via_en"] == [(("fr", "en", "de"), 5)]
    assert corpus.splits["test.via_en"] == corpus.splits["test"]
    assert load(files, pivot=None).test_names == ["test"]
    fingerprints = {load(files, pivot=None, directions=names).fingerprint for names in (SEVERAL, [*SEVERAL, "de-fr"])}
    assert len(fingerprints) == 2


def test_every_language_has_a_tag(files: Path) -> None:
    tokenizer = trained_on(load(files), files)
    assert [tokenizer.tag(language) for language in ("fr", "en", "de")] == [FR, EN, DE]
    assert tokenizer.pieces(range(8), "src")[2:7] == ["<s>", "</s>", "<fr>", "<en>", "<de>"]
    (ids,) = tokenizer.encode(["chat"], "src")
    assert tokenizer.decode([[DE, *ids, FR, EN]], "tgt") == ["chat"]
    with pytest.raises(UserError, match="no tag <it>; its languages are fr, en, de"):
        tokenizer.tag("it")


def test_rows_have_the_tags_of_their_languages_whatever_was_dropped(tmp_path: Path) -> None:
    """The corpus drops a pair with an empty line, and the store one that is too long."""
    files = write_three_languages(tmp_path)
    lines = (files / "train.fr").read_text().splitlines()
    (files / "train.fr").write_text("\n".join(["", "chat " * 60, *lines[2:]]) + "\n")
    corpus = load(files)
    tokenizer = trained_on(corpus, files)
    seen = 0
    for split, split_batches in batches(corpus, tokenizer, files).items():
        for batch in split_batches:
            for row, position in enumerate(batch.index.tolist()):
                src = batch.src[row, : batch.src_lengths[row]].tolist()
                tgt = batch.tgt[row, : batch.tgt_lengths[row]].tolist()
                first = position < corpus.sections[split][0].size
                assert (src[-1], tgt[0], tgt[-1]) == ((FR, EN, EOS) if first else (EN, DE, EOS))
                assert not {BOS, EOS} & {*src, *tgt[:-1]}
                pair = corpus.splits[split]
                assert tokenizer.decode([src, tgt], "src") == [pair.src[position], pair.tgt[position]]
                seen += 1
    assert corpus.sections["train"][0].size == 39
    assert seen == 38 + 40 + 6 + 6


def test_one_direction_has_no_tags(files: Path) -> None:
    corpus = load(files, tgt="en", directions=None, pivot=None)
    text = [[name, *(digest_lines(list(side)) for side in pairs)] for name, pairs in corpus.splits.items()]
    assert corpus.fingerprint == sha256(json.dumps([["fr", "en"], text]).encode()).hexdigest()[:16]
    tokenizer = trained_on(corpus, files)
    assert tokenizer.pieces([FR, EN], "src") == ["<fr>", "<en>"]
    for split, split_batches in batches(corpus, tokenizer, files).items():
        for batch in split_batches:
            sides = [[side[i] for i in batch.index.tolist()] for side in corpus.splits[split]]
            plain = Batch.from_ids(*(tokenizer.encode(lines, "src") for lines in sides), batch.index.tolist())
            assert torch.equal(batch.src, plain.src)
            assert torch.equal(batch.tgt, plain.tgt)
            assert set(plain.tgt[:, 0].tolist()) == {BOS}


def test_a_list_is_one_part_of_an_arm_s_label() -> None:
    overrides = ["data.directions=[fr-en,en-de]", "data.pivot=en", "model=lm4mt", "output=elsewhere"]
    assert short_label(overrides) == "directions_fr-en_en-de-pivot_en-lm4mt"


@pytest.mark.parametrize(
    ("tags", "row"), [("true", [FR, 10, 11, EN, 20, EOS, PAD]), ("false", [10, 11, FR, EN, 20, EOS, PAD])]
)
def test_lm4mt_puts_the_tag_of_the_source_first(tags: str, row: list[int]) -> None:
    model = build_model("model=lm4mt", f"model.language_tags={tags}")
    batch = Batch.from_ids([[10, 11], [12]], [[20], [21, 22, 23]], tags=[LanguageTags(FR, EN), LanguageTags(EN, DE)])
    sequence = model.lay_out(batch)  # type: ignore[operator]
    joint = torch.cat([sequence.inputs, sequence.targets[:, -1:]], dim=1)
    assert joint[:, :7].tolist() == [row, ([EN, 12] if tags == "true" else [12, EN]) + [DE, 21, 22, 23, EOS]]
    assert (joint[:, 7:] == PAD).all()
    prediction = model(batch)
    assert prediction.targets[prediction.num_source :].tolist() == [20, EOS, 21, 22, 23, EOS]


def test_validation_is_decoded_into_the_language_of_each_pair(files: Path) -> None:
    corpus = load(files)
    tokenizer = trained_on(corpus, files)
    stores = store.prepare(corpus, tokenizer, files / "cache", corpus.max_length, corpus.max_length_ratio)
    lines = list(corpus.splits["validation"].src), list(corpus.splits["validation"].tgt)
    settings = {"tokenizer": tokenizer, "search": GREEDY, "search_tokens": 100, "every": 1, "samples": 1}
    settings["bleu"] = standard_metrics()["bleu"]
    validation = ValidationBleu(store=stores["validation"], lines=lines, **settings)
    assert validation.tags == [LanguageTags(FR, EN)] * 6 + [LanguageTags(EN, DE)] * 6
    assert tokenizer.decode(validation.sources, "src") == lines[0]


def test_a_run_of_one_direction_serves_that_one(files: Path) -> None:
    tokenizer = trained_on(load(files, tgt="en", directions=None, pivot=None), files)
    model = build_model("model=rnn_luong", vocabulary=tokenizer.vocabulary).float()
    run = Translator(model=model, tokenizer=tokenizer, directions=Directions.of(None, "fr", "en", None), search=GREEDY)
    own = run.translate(["chat"], GREEDY, direction=("fr", "en"))
    assert own == run.translate(["chat"], GREEDY)
    with pytest.raises(UserError, match="tgt=de is not a target language of any trained direction; choose one of en"):
        run.translate(["chat"], GREEDY, direction=("fr", "de"))


@pytest.mark.parametrize(
    ("names", "src", "tgt", "pivot", "message"),
    [
        ("fr-en", "fr", "en", None, r"data\.directions=fr-en must be a list, such as data\.directions=\[fr-en,en-de\]"),
        ([], "fr", "en", None, r"data\.directions=\[\] must name several"),
        (["fr-en"], "fr", "en", None, r"data\.directions=\[fr-en\] must name several; for one, set it to null"),
        (["fr-en", "ende"], "fr", "en", None, "has 'ende', which is not a direction; write SOURCE-TARGET"),
        (["fr-en", "en-de-cs"], "fr", "en", None, "has 'en-de-cs', which is not a direction"),
        (["fr-en", "-de"], "fr", "en", None, "has '-de', which is not a direction"),
        (["fr-en", "en-en"], "fr", "en", None, "has en-en, from a language to itself"),
        (["fr-en", "en-de", "fr-en"], "fr", "de", None, "has fr-en twice"),
        (
            SEVERAL,
            "it",
            "de",
            None,
            r"data\.src=it is not a source language .*; choose one of fr, en\.",
        ),
        (
            SEVERAL,
            "fr",
            "it",
            None,
            r"data\.tgt=it is not a target language .*; choose one of en, de\.",
        ),
        (SEVERAL, "de", "en", None, r"data\.src=de is not a source language of any trained direction"),
        (SEVERAL, "en", "en", None, r"data\.src and data\.tgt are both en"),
        (SEVERAL, "fr", "de", "fr", r"data\.src and data\.pivot are both fr"),
        (SEVERAL, "fr", "de", "de", r"data\.pivot and data\.tgt are both de"),
        (SEVERAL, "fr", "de", "it", r"data\.pivot=it is not a target language of any trained direction"),
        (["fr-en", "fr-de"], "fr", "de", "en", r"data\.pivot=en is not a source language of any trained direction"),
        (None, "fr", "de", "en", r"data\.pivot=en needs a run of several directions; name them in data\.directions"),
    ],
)
def test_directions_that_cannot_be(
    names: list[str] | None, src: str, tgt: str, pivot: str | None, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        Directions.of(names, src, tgt, pivot)


def test_multi30k_fetches_what_the_directions_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(url: str, path: Path) -> None:
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(gzip.compress(b"one\ntwo\n"))
        fetched.append(url.rpartition("/")[2].removesuffix(".gz"))

    def load_multi30k(**changes: object) -> multi30k.Multi30k:
        settings = {"src": "cs", "tgt": "de", "dir": None, "url": "http://127.0.0.1:1", "cache": str(tmp_path)}
        limits = {"max_length": None, "max_length_ratio": None, "test": ["test_2016_flickr"], "pivot": "en"}
        return multi30k.Multi30k(**{**settings, **limits, "directions": ["cs-en", "en-de"], **changes})

    fetched: list[str] = []
    monkeypatch.setattr(multi30k, "fetch", fetch)
    corpus = load_multi30k()
    assert sorted(fetched) == [
        *("test_2016_flickr.cs", "test_2016_flickr.de"),
        *("train.cs", "train.de", "train.en", "val.cs", "val.de", "val.en"),
    ]
    assert corpus.test_names == ["test_2016_flickr", "test_2016_flickr.via_en"]
    with pytest.raises(UserError, match=r"data\.directions: it is not in Multi30k; allowed are en, de, fr, cs"):
        load_multi30k(directions=["cs-en", "en-de", "it-en"])
    with pytest.raises(UserError, match="test_2017_flickr exists in en, de, fr, not in cs"):
        load_multi30k(test=["test_2017_flickr"])
    load_multi30k(test=["test_2017_flickr"], directions=["cs-en", "en-de", "fr-en"], src="fr")


@pytest.mark.parametrize("language", ["unk", "pad", "s", "", "../x", "e n", "<en>"])
def test_a_language_is_no_special_piece_and_no_path(language: str) -> None:
    with pytest.raises(UserError, match="cannot name a language"):
        Directions.of(None, language, "fr", None)

"""Corpora: the sentence pairs of every split, from text files or from the built-in grammar, or a class of one's own."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from triptych.data import tables, toy, toy_suites
from triptych.data.cleaning import NO_CLEANING, Cleaning
from triptych.data.contrast import SUITES, ContrastiveItem
from triptych.data.directions import Directions
from triptych.data.held_out import ranges_of_splits
from triptych.data.joining import join_splits
from triptych.data.pairs import TEST, TRAIN, VALIDATION, Pairs, Section
from triptych.data.text_file import digest_lines
from triptych.data.text_reader import Source, find_source, read_splits, test_sets
from triptych.data.toy_made_up import zipf_vocabulary
from triptych.data.toy_vocabulary import BUILT_IN, ToyVocabulary
from triptych.errors import UserError, require_at_least
from triptych.ranges import Count, Factor, HeldOut, Positive, Seed, Sentences


@dataclass
class Corpus:
    """Sentence pairs of one direction, or of several directions one after the other.

    To use data that the built-in corpora do not cover, write a subclass and name it as the ``_target_`` of a YAML file
    in the config group ``data``; the other keys of the file are the arguments of its constructor. The constructor
    loads the pairs and calls ``super().__init__`` with the attributes below::

        class MyCorpus(Corpus):
            def __init__(self, *, path: str) -> None:
                ...
                splits = {"train": Pairs(...), "validation": Pairs(...), "test": Pairs(...)}
                super().__init__("mine", ("en", "fr"), splits)

    Nothing has to be overridden; ``suites`` may be. The pairs must meet these conditions:

    - Both sides of a split are sequences of strings of equal length; lists will do.
    - No line contains a line feed. Training pairs should have text on both sides.
    - The same arguments give the same pairs each time: a run is identified by ``fingerprint`` and loads its corpus
      again to be evaluated.
    - The sequences can be pickled, because worker processes receive them. (For text that does not fit into memory, see
      ``triptych.data.text_file``.)

    Keys named ``dir``, ``url`` and ``cache`` say where text is. They are left out of the hash that identifies a run;
    all other keys are part of it. A corpus of several directions also takes the keys ``src``, ``tgt``, ``directions``
    and ``pivot`` of ``TextCorpus`` and passes ``sections``.

    Attributes:
        name: name in tables and in cache folders.
        languages: source and target language; with several directions, every language once.
        splits: pairs of ``train``, ``validation`` and every test set, by name.
        report: lines that describe how the pairs were made or checked. ``triptych train`` prints them.
        max_length: maximum number of pieces on either side of a training pair, longer pairs are dropped; None for no
            limit.
        max_length_ratio: maximum number of pieces of a training pair's longer side per piece of its shorter side,
            other pairs are dropped; None for no limit.
        sections: consecutive pairs of each split that share a route; by default one section in the only direction.

    Args:
        join: how many consecutive lines to join (``joining.join_splits``), such as ``[1, 2, 3, 4]``; then ``splits``
            and ``sections`` are those of the joined lines. None to leave the lines as they are.

    Raises:
        UserError: training or validation is missing, a split has no pairs or sides of unequal length, a limit is below
            1, a split is called ``suites``, the name is no name of a folder, or as ``join_splits``.
    """

    name: str
    languages: tuple[str, ...]
    splits: dict[str, Pairs]
    report: list[str] = field(default_factory=list)
    max_length: int | None = None
    max_length_ratio: float | None = None
    sections: dict[str, list[Section]] = field(default_factory=dict)
    join: InitVar[Sequence[int] | None] = None

    def __post_init__(self, join: Sequence[int] | None) -> None:
        if not re.fullmatch(r"\w[\w. -]*", self.name):
            raise UserError(f"data.name={self.name} is no plain name; use letters, digits, '.', '_' and '-'.")
        if missing := [name for name in (TRAIN, VALIDATION) if name not in self.splits]:
            raise UserError(f"data: the corpus '{self.name}' has no {missing[0]} split; add one to its splits.")
        if SUITES in self.splits:
            raise UserError(
                f"data: a split of the corpus '{self.name}' is named {SUITES}, which stands for its suites; rename it."
            )
        for split, (src, tgt) in self.splits.items():
            if len(src) != len(tgt):
                raise UserError(
                    f"data: the {split} split of the corpus '{self.name}' has {len(src):,} source lines and"
                    f" {len(tgt):,} target lines; line by line they must be translations of each other."
                )
            sections = self.sections.setdefault(split, [Section(self.languages, len(src))])
            if (found := sum(section.size for section in sections)) != len(src):
                raise UserError(
                    f"data: the sections of the {split} split of the corpus '{self.name}' have {found:,} sentence pairs"
                    f" and the split has {len(src):,}; every pair belongs to one section."
                )
            for route, size in sections:
                if not size:
                    raise UserError(
                        f"data: the {split} split of the corpus '{self.name}' has no sentence pairs left, "
                        f"{route[0]} to {route[-1]}{self._what_was_read(split)}."
                    )
        require_at_least(1, "data", max_length=self.max_length, max_length_ratio=self.max_length_ratio)
        if join is not None:
            self.splits, self.sections, report = join_splits(self.splits, self.sections, join)
            self.report = [*self.report, *report]

    def _what_was_read(self, split: str) -> str:
        """Return the lines of the report on a split, after a colon; nothing if there are none."""
        lines = [line.removeprefix(f"{split}: ") for line in self.report if line.startswith(f"{split}: ")]
        return f": {', '.join(lines)}" if lines else ""

    @property
    def test_names(self) -> list[str]:
        """Names of the test sets, in order."""
        return [name for name in self.splits if name not in (TRAIN, VALIDATION)]

    @property
    def mixed(self) -> bool:
        """Whether training mixes several directions."""
        return len(self.sections[TRAIN]) > 1

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the languages, the names of the splits and every line, as 16 hexadecimal digits."""
        text = [[name, *map(digest_lines, pairs)] for name, pairs in self.splits.items()]
        return hashlib.sha256(json.dumps([self.languages, text]).encode()).hexdigest()[:16]

    def suites(self, items: int) -> dict[str, list[ContrastiveItem]]:
        """Return contrastive suites of the test sets' direction, by name, with ``items`` items each; by default none.

        The same arguments give the same items each time.
        """
        return {}


class ToyCorpus(Corpus):
    """The built-in corpus: English and French sentences of a small grammar (see ``toy.py``), generated from ``seed``.

    Args:
        train: number of sentence pairs; ``validation``, ``test`` and ``test_long`` likewise.
        max_length: see ``Corpus``; ``max_length_ratio`` and ``join`` likewise.
    """

    def __init__(
        self,
        *,
        seed: Seed,
        train: Sentences,
        validation: Sentences,
        test: Sentences,
        test_long: Sentences,
        max_length: Count | None,
        max_length_ratio: Factor | None,
        join: Sequence[int] | None = None,  # runs of version 0.2.0 lack the key
    ) -> None:
        sizes = {"train": train, "validation": validation, "test": test, "test_long": test_long}
        self._generate("toy", seed, BUILT_IN, sizes, max_length, max_length_ratio, join)

    def _generate(
        self,
        name: str,
        seed: Seed,
        vocabulary: ToyVocabulary,
        sizes: dict[str, int],
        max_length: Count | None,
        max_length_ratio: Factor | None,
        join: Sequence[int] | None,
    ) -> None:
        """Generate the splits of these sizes from the words of a vocabulary."""
        self._seed, self._vocabulary = seed, vocabulary
        generated = toy.splits(seed=seed, vocabulary=vocabulary, **sizes)
        splits = {split: Pairs(*sides) for split, sides in generated.items()}
        report = [f"{split}: {len(pairs.src):,} pairs made" for split, pairs in splits.items()]
        languages = toy.LANGUAGES[0], toy.LANGUAGES[1]
        super().__init__(name, languages, splits, report, max_length, max_length_ratio, join=join)

    def suites(self, items: int) -> dict[str, list[ContrastiveItem]]:
        """Return the suites of ``toy_suites``. No line of an item occurs in the corpus."""
        known = {line for pairs in self.splits.values() for side in pairs for line in side}
        return toy_suites.suites(seed=self._seed, items=items, known=known, vocabulary=self._vocabulary)


class ToyZipfCorpus(ToyCorpus):
    """The built-in corpus with thousands of words, most of them made up and many of them rare (see ``toy_made_up.py``).

    Args:
        stems: number of nouns, adjectives and verbs together.
        exponent: of Zipf's law for the frequencies of words.
        seed: seed of the words and of the sentences; all other arguments as of ``ToyCorpus``.

    Raises:
        UserError: ``stems`` is less than the number of built-in words, or ``exponent`` is not above 0.
    """

    def __init__(
        self,
        *,
        seed: Seed,
        stems: Count,
        exponent: Positive,
        train: Sentences,
        validation: Sentences,
        test: Sentences,
        test_long: Sentences,
        max_length: Count | None,
        max_length_ratio: Factor | None,
        join: Sequence[int] | None,
    ) -> None:
        vocabulary = zipf_vocabulary(seed, stems, exponent)
        sizes = {"train": train, "validation": validation, "test": test, "test_long": test_long}
        self._generate("toy_zipf", seed, vocabulary, sizes, max_length, max_length_ratio, join)


class TextCorpus(Corpus):
    """Text files of one sentence per line: ``{dir}/{prefix}.{language}``, plain or with ``.gz`` appended.

    Where a prefix stands, the two files themselves may stand in a list, the source first; or a table (``tables.py``),
    or a test set that sacreBLEU knows (``published_sets.py``).

    Args:
        name: name of the corpus.
        src: source language of the test sets, which is also the extension of its files; ``tgt`` likewise.
        dir: folder of the files.
        train: prefix of the training files.
        validation: prefix of the validation files; or a share of the training pairs, such as 0.02, that is held out of
            training (``held_out.HashRange``).
        test: prefixes of the test sets, and the last part of its path names each set; or a share of the training pairs,
            likewise.
        cache: root of the cache; the checked text is kept in its folder ``text``.
        max_length: see ``Corpus``; ``max_length_ratio`` and ``join`` likewise.
        directions: directions of training and validation, see ``Directions.of``; ``pivot`` likewise.
        columns: of the source and the target in tables, see ``tables.find_table``.
        clean: which training pairs are dropped, beside those with an empty side.

    Raises:
        UserError: the directions are malformed, a file is missing or is not UTF-8, the sides differ in length, a
            split is empty, or as ``Corpus``.
    """

    def __init__(
        self,
        *,
        name: str,
        src: str,
        tgt: str,
        dir: str,
        train: Source,
        validation: Source | HeldOut,
        test: Sequence[Source] | HeldOut,
        cache: str,
        max_length: Count | None,
        max_length_ratio: Factor | None,
        directions: Sequence[str] | None,
        pivot: str | None,
        join: Sequence[int] | None = None,  # runs of version 0.2.0 lack this key and the following
        columns: Sequence[str | int] | None = None,
        clean: Cleaning = NO_CLEANING,
    ) -> None:
        chosen = Directions.of(directions, src, tgt, pivot)
        if columns is not None:
            tables.check_columns(columns)
            if not any(isinstance(one, str) and tables.is_table(one) for one in (train, validation, *_listed(test))):
                raise UserError("data.columns is for tables, and no split is one; leave it null.")
        sources = {TRAIN: train, VALIDATION: train if isinstance(validation, int | float) else validation}
        for split, source in (*sources.items(), *((f"test[{i}]", one) for i, one in enumerate(_listed(test)))):
            _check_source(f"data.{split}", source, chosen, columns)
        sources |= {TEST: train} if isinstance(test, int | float) else test_sets(test)
        root = Path(cache).expanduser()
        find = partial(find_source, Path(dir).expanduser(), cache=root, columns=columns)
        splits, sections, report = read_splits(
            {name: partial(find, source) for name, source in sources.items()},
            chosen,
            root,
            ranges_of_splits(validation, test, chosen),
            clean,
        )
        super().__init__(name, chosen.languages, splits, report, max_length, max_length_ratio, sections, join)


def _listed(test: Sequence[Source] | HeldOut) -> Sequence[Source]:
    return [] if isinstance(test, int | float) else test


def _check_source(key: str, source: Any, directions: Directions, columns: Sequence[str | int] | None) -> None:
    """Check that a split's source is text, or the files of both sides of the only direction.

    Raises:
        UserError: it is neither, or a table whose columns would be the same in several directions.
    """
    if isinstance(source, str):
        by_language = columns is None and source.endswith(".parquet")
        if directions.several and tables.is_table(source) and not by_language:
            raise UserError(
                f"{key}={source}: with several directions, a table must be a .parquet file whose columns are named as "
                "the languages, with data.columns=null."
            )
        return
    shown = f"[{','.join(map(str, source))}]" if isinstance(source, Sequence) else source
    if not isinstance(source, Sequence) or len(source) != 2 or not all(isinstance(file, str) for file in source):
        raise UserError(f"{key}={shown} must be a prefix, or the files of source and target: [FILE,FILE].")
    if directions.several:
        raise UserError(
            f"{key}={shown} names the files of one direction; with several, give the prefix of all languages."
        )

"""Parallel text by a recipe of mtdata: corpora that it downloads, unpacks and joins (Gowda et al. 2021).

mtdata (https://aclanthology.org/2021.acl-demo.37) runs in a process of its own, because it sets up the logging of the
process that imports it. What it downloads stays in its own folder (``~/.mtdata``, or what ``$MTDATA`` names), so an
interrupted download goes on with the corpora that are still missing.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from triptych.data.cleaning import Cleaning
from triptych.data.corpus import TextCorpus
from triptych.data.text_reader import Source
from triptych.errors import UserError
from triptych.files import build_folder_once
from triptych.ranges import Count, Factor

logger = logging.getLogger(__name__)

RECIPES = "mtdata.recipes*.yml"
"""Names of the files that mtdata reads recipes from."""
_SETTINGS = {"PYTHONHASHSEED": "0", "COLUMNS": "1000"}
"""Environment of mtdata. It joins the corpora of a recipe in an order that the hash seed decides, and the same
recipe must give the same text. Its messages are as wide as the terminal."""
_LANGUAGE_TAGS = "import sys; from mtdata.entry import bcp47; print(*map(bcp47, sys.argv[1:]))"
"""Program that prints the tags by which mtdata names the files of languages: ``eng`` for ``en``."""


class RecipeCorpus(TextCorpus):
    """The corpora of a recipe, from one language to another.

    Args:
        recipe: name of one of triptych's recipes (``data/mtdata.recipes.triptych.yml``), of mtdata's, or of one's own
            in ``mtdata.recipes.NAME.yml`` in the current folder.
        src: source language; ``tgt`` is the target language.
        validation: ``dev`` for that of the recipe, a published test set (``published_sets.py``), or a share of the
            training pairs.
        test: list of ``test1``, ``test2`` … for those of the recipe and of published ones.
        cache: root of the cache; the joined corpora are kept in its folder ``mtdata``.
        clean: which training pairs are dropped; None for those with an empty side alone.
        max_length: see ``Corpus``; ``max_length_ratio`` and ``join`` likewise.

    Raises:
        UserError: mtdata is not installed or fails, or as ``TextCorpus``.
    """

    def __init__(
        self,
        *,
        recipe: str,
        src: str,
        tgt: str,
        validation: Source | float,
        test: Sequence[Source] | float,
        cache: str,
        clean: Cleaning | None,
        max_length: Count | None,
        max_length_ratio: Factor | None,
        join: Sequence[int] | None,
    ) -> None:
        folder = fetch(recipe, (src, tgt), Path(cache).expanduser() / "mtdata")
        super().__init__(
            name=recipe,
            src=src,
            tgt=tgt,
            dir=str(folder),
            train="train",
            validation=validation,
            test=test,
            cache=cache,
            max_length=max_length,
            max_length_ratio=max_length_ratio,
            directions=None,
            pivot=None,
            join=join,
            clean=clean,
        )


def fetch(recipe: str, languages: Sequence[str], root: Path) -> Path:
    """Return the folder with the files of a recipe, ``train.en`` and so on, and make it if there is none.

    Args:
        recipe: its name.
        languages: of both sides.
        root: where such folders are.

    Raises:
        UserError: mtdata is not installed, or fails.
    """
    folder = root / f"{recipe}.{'-'.join(languages)}"
    with build_folder_once(folder) as unfinished:
        if unfinished is None:
            return folder
        if importlib.util.find_spec("mtdata") is None:
            raise UserError(
                f"data.recipe={recipe} needs the package mtdata, which is not installed; pip install "
                "'triptych[recipes]'."
            )
        log = root / f"{recipe}.log"
        logger.info("mtdata gets the corpora of %s, which can take hours; it says how far it is in %s", recipe, log)
        command = ["-m", "mtdata", "get-recipe", "-i", recipe, "-o", str(unfinished), "--fail-on-error", "--merge"]
        _run_mtdata(command, recipe, log, recipes=_gather_recipes(unfinished))
        tags = _run_mtdata(["-c", _LANGUAGE_TAGS, *languages], recipe, log).split()
        for language, tag in zip(languages, tags, strict=True):
            for file in unfinished.glob(f"*.{tag}"):
                if tag != language:
                    file.rename(file.with_suffix(f".{language}"))
        if missing := [one for one in languages if not (unfinished / f"train.{one}").is_file()]:
            raise UserError(f"data.recipe={recipe} has no text in '{missing[0]}'; choose its languages.")
    return folder


def _gather_recipes(folder: Path) -> Path:
    """Copy triptych's recipes and those of the user into one folder, since mtdata reads those of a single folder."""
    gathered = folder / "recipes"
    gathered.mkdir(exist_ok=True)
    for place in (Path(__file__).parent, Path(os.environ.get("MTDATA_RECIPES", "."))):
        for file in place.glob(RECIPES):
            shutil.copy(file, gathered / file.name)
    return gathered


def _run_mtdata(command: Sequence[str], recipe: str, log: Path, *, recipes: Path | None = None) -> str:
    """Run Python with mtdata, and return what it prints.

    Raises:
        UserError: it fails.
    """
    environment = os.environ | _SETTINGS | ({"MTDATA_RECIPES": str(recipes)} if recipes else {})
    with log.open("a") as stderr:
        done = subprocess.run(
            [sys.executable, *command], stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment, check=False
        )
    if done.returncode:
        last = next((line for line in reversed(log.read_text().splitlines()) if line.strip()), "")
        raise UserError(
            f"data.recipe={recipe}: mtdata failed ({last.strip()}); see {log}, and `mtdata list-recipe` for the names. "
            "Then the same command goes on."
        )
    return done.stdout

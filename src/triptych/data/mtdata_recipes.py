"""Parallel text by a recipe of mtdata: corpora that it downloads, unpacks and joins (Gowda et al. 2021).

mtdata (https://aclanthology.org/2021.acl-demo.37) runs in a process of its own, because it sets up the logging of the
process that imports it. What it downloads stays in its own folder (``~/.mtdata``, or what ``$MTDATA`` names), so an
interrupted download goes on with the corpora that are still missing.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from triptych.data.cleaning import Cleaning
from triptych.data.corpus import TextCorpus
from triptych.data.text_reader import Source
from triptych.errors import UserError, one_line
from triptych.files import build_folder_once
from triptych.ranges import Count, Factor, HeldOut

logger = logging.getLogger(__name__)

RECIPES = "mtdata.recipes*.yml"
"""Names of the files that mtdata reads recipes from."""
_SETTINGS = {"PYTHONHASHSEED": "0", "COLUMNS": "1000"}
"""Environment of mtdata. It joins the corpora of a recipe in an order that the hash seed decides, and the same
recipe must give the same text. Its messages are as wide as the terminal."""
_TAGS = """
import json, sys
from mtdata.entry import bcp47
from mtdata.recipe import RECIPES

name, *languages = sys.argv[1:]
if name not in RECIPES:
    sys.exit(f"there is no recipe {name}")
print(json.dumps({"recipe": [*map(str, RECIPES[name].langs)], "asked": [str(bcp47(one)) for one in languages]}))
"""
"""Program that prints the languages of a recipe, and those that are asked for, by mtdata's tags."""


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
        clean: which training pairs are dropped, beside those with an empty side.
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
        validation: Source | HeldOut,
        test: Sequence[Source] | HeldOut,
        cache: str,
        clean: Cleaning,
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

    The folder's name has a hash of the recipe: one that is changed is another one.

    Args:
        recipe: its name.
        languages: of both sides.
        root: where such folders are.

    Raises:
        UserError: no name of a recipe, mtdata is not installed or fails, or the recipe is of other languages.
    """
    if not re.fullmatch(r"\w[\w.-]{0,79}", recipe):
        raise UserError(f"data.recipe={recipe} is no name of a recipe; give letters, digits, '.', '_' and '-'.")
    if importlib.util.find_spec("mtdata") is None:
        raise UserError(
            f"data.recipe={recipe} needs the package mtdata, which is not installed; pip install -e '.[recipes]'."
        )
    folder = root / f"{recipe}.{'-'.join(sorted(languages))}.{_hash_of(recipe)}"
    with build_folder_once(folder) as unfinished, TemporaryDirectory() as gathered:
        if unfinished is None:
            return folder
        for file in _recipe_files():
            shutil.copy(file, gathered)
        mtdata = _Mtdata(recipe, root / f"{recipe}.log", Path(gathered))
        logger.info("mtdata looks up the recipe %s", recipe)
        tags = mtdata.tags(languages)
        logger.info(
            "mtdata gets the corpora of %s, which can take hours; it says how far it is in %s", recipe, mtdata.log
        )
        mtdata.run("-m", "mtdata", "get-recipe", "-i", recipe, "-o", str(unfinished), "--fail-on-error", "--merge")
        for language, tag in zip(languages, tags, strict=True):
            for file in unfinished.glob(f"*.{tag}"):
                if tag != language:
                    file.rename(file.with_suffix(f".{language}"))
    return folder


def _recipe_files() -> list[Path]:
    """Return the files of triptych's recipes and of the user's, which mtdata reads from one folder alone."""
    folders = Path(__file__).parent, Path(os.environ.get("MTDATA_RECIPES", "."))
    return [file for folder in folders for file in sorted(folder.glob(RECIPES))]


def _hash_of(recipe: str) -> str:
    """Return 8 hexadecimal digits that change with a recipe; for one of mtdata's own, with mtdata's version."""
    defined = [one for file in _recipe_files() for one in _read_recipes(file) if one.get("id") == recipe]
    identity = json.dumps(defined or version("mtdata"), sort_keys=True, default=str)
    return hashlib.sha256(identity.encode()).hexdigest()[:8]


def _read_recipes(file: Path) -> list[dict[str, Any]]:
    try:
        recipes = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(f"{file} cannot be read ({one_line(error)}); mend it, or remove it.") from error
    return [one for one in recipes if isinstance(one, dict)] if isinstance(recipes, list) else []


@dataclass(frozen=True)
class _Mtdata:
    """mtdata in a process of its own.

    Attributes:
        recipe: that it is asked for.
        log: file that its messages are added to.
        recipes: folder of the recipes that it knows beside its own.
    """

    recipe: str
    log: Path
    recipes: Path

    def tags(self, languages: Sequence[str]) -> list[str]:
        """Return mtdata's tags of languages, which its file names contain: ``eng`` for ``en``.

        Raises:
            UserError: they are not those of the recipe.
        """
        found: dict[str, list[str]] = json.loads(self.run("-c", _TAGS, self.recipe, *languages).splitlines()[-1])
        if {*found["recipe"]} != {*found["asked"]}:
            raise UserError(
                f"data.recipe={self.recipe} is of {' and '.join(found['recipe'])}, and not of data.src={languages[0]} "
                f"and data.tgt={languages[1]}."
            )
        return found["asked"]

    def run(self, *command: str) -> str:
        """Run Python with mtdata, and return what it prints.

        Raises:
            UserError: it fails.
        """
        self.log.parent.mkdir(parents=True, exist_ok=True)
        environment = os.environ | _SETTINGS | {"MTDATA_RECIPES": str(self.recipes)}
        with self.log.open("a") as stderr:
            done = subprocess.run(
                [sys.executable, *command],
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env=environment,
                check=False,
            )
        if done.returncode:
            last = next((line for line in reversed(self.log.read_text().splitlines()) if line.strip()), "")
            if unreachable := re.search(r"host='([^']+)'", last):
                raise UserError(
                    f"data.recipe={self.recipe}: {unreachable[1]} does not answer; try again with a network. What is "
                    "downloaded is kept."
                )
            raise UserError(
                f"data.recipe={self.recipe}: mtdata failed ({last.strip()}); see {self.log}, and `mtdata list-recipe` "
                "for the names. Mend that, and give the same command again."
            )
        return done.stdout

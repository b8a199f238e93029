"""The page of the Python API names all of it, and nothing that is gone."""

from __future__ import annotations

import re

from conftest import ROOT
from hydra.utils import get_object

from triptych import api
from triptych.contract import batch, decoder_state, model, vocabulary

NAMES = re.findall(r"^::: (\S+)$", (ROOT / "docs_build/pages/api.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_every_name_exists() -> None:
    assert all(callable(get_object(name)) for name in NAMES)


def test_the_api_and_the_contract_are_complete() -> None:
    shown = {get_object(name) for name in NAMES}
    assert {getattr(api, name) for name in api.__all__} <= shown
    for module in (batch, decoder_state, model, vocabulary):
        defined = {name: one for name, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__}
        assert {one for name, one in defined.items() if not name.startswith("_")} <= shown

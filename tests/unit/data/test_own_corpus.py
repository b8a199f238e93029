"""A corpus class of a user's own, named in a YAML file, goes all the way to batches."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from triptych.config.types import check_types
from triptych.data import store
from triptych.data.corpus import Corpus, Pairs
from triptych.data.datamodule import TranslationData
from triptych.errors import UserError

MODULE = '''
from pathlib import Path

from triptych.data.corpus import Corpus, Pairs


class TabSeparated(Corpus):
    """One pair per line of a file, the sides separated by a tab."""

    def __init__(self, *, path: str, held_back: int) -> None:
        rows = [line.split("\\t") for line in Path(path).read_text(encoding="utf-8").splitlines()]
        src, tgt = (list(side) for side in zip(*rows))
        train, validation, test = slice(2 * held_back, None), slice(held_back), slice(held_back, 2 * held_back)
        splits = {"train": Pairs(src[train], tgt[train]), "validation": Pairs(src[validation], tgt[validation])}
        super().__init__("tab", ("en", "fr"), {**splits, "test": Pairs(src[test], tgt[test])})
'''
YAML = """
_target_: own_corpora.TabSeparated
path: ???
held_back: 3
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Path of the YAML file, with the class in an importable module and the data in a file."""
    (tmp_path / "own_corpora.py").write_text(MODULE)
    (tmp_path / "tab.yaml").write_text(YAML)
    pairs = [f"the cat sees {i} dogs\tle chat voit {i} chiens\n" for i in range(20)]
    (tmp_path / "pairs.tsv").write_text("".join(pairs), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield str(tmp_path / "tab.yaml")
    sys.modules.pop("own_corpora", None)


def test_a_subclass_trains_from_its_yaml(config: str, tmp_path: Path) -> None:
    data = OmegaConf.load(config)
    data.path = str(tmp_path / "pairs.tsv")
    check_types(data)
    corpus: Corpus = instantiate(data)
    assert corpus.test_names == ["test"]
    assert corpus.fingerprint == instantiate(data).fingerprint
    trainer = OmegaConf.create(
        {
            "_target_": "triptych.data.tokenizer.SentencePieceTrainer",
            "algorithm": "char",
            "joint": True,
            "byte_fallback": False,
            "train_lines": None,
        }
    )
    tokenizer = instantiate(trainer).fit(corpus, tmp_path)
    stores = store.prepare(corpus, tokenizer, tmp_path, corpus.max_length, corpus.max_length_ratio)
    batches = TranslationData(
        stores=stores,
        tokenizer=tokenizer,
        corpus=corpus,
        batch_tokens=100,
        accumulate=1,
        seed=1,
        workers=1,
        ranks=1,
        budget=lambda stream: stream.epoch_steps,
    )
    seen = sorted(int(i) for batch in batches.train_dataloader() for i in batch.index)
    assert seen == list(range(14))
    for batch in batches.val_dataloader():
        assert tokenizer.decode(batch.src.tolist(), "src") == [corpus.splits["validation"].src[i] for i in batch.index]


def test_a_value_of_the_wrong_type_names_its_key(config: str) -> None:
    with pytest.raises(UserError, match="held_back=many must be an integer"):
        check_types(OmegaConf.merge(OmegaConf.load(config), {"path": "x", "held_back": "many"}))


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ({"train": Pairs(["a"], ["A"])}, "the corpus 'own' has no validation split"),
        ({"validation": Pairs(["a"], ["A"])}, "the corpus 'own' has no train split"),
        (
            {"train": Pairs(["a"], ["A"]), "validation": Pairs(["a", "b"], ["A"])},
            "the validation split of the corpus 'own' has 2 source lines and 1 target lines",
        ),
        ({"train": Pairs(["a"], ["A"]), "validation": Pairs([], [])}, "the validation split .* no sentence pairs left"),
    ],
)
def test_splits_that_cannot_be_used(splits: dict[str, Pairs], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Corpus("own", ("en", "fr"), splits)

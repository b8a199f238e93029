"""The plan of an epoch, each rank's share of it, and the loaded batches."""

from __future__ import annotations

from collections import Counter
from itertools import chain, islice
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lightning.pytorch.callbacks import ModelCheckpoint

from triptych.contract.batch import Batch
from triptych.contract.vocabulary import LanguageTags
from triptych.data import store
from triptych.data.batching import PlannedBatch, Sampler, Stream, TokenStream
from triptych.data.corpus import ToyCorpus
from triptych.data.datamodule import TranslationData
from triptych.data.epoch_plan import plan_epoch, plan_sorted
from triptych.data.ragged_array import RaggedArray
from triptych.data.stored_batches import collate
from triptych.data.subword_sampling import SubwordSampler
from triptych.data.tokenizer import SentencePieceTrainer, Tokenizer
from triptych.errors import UserError

LENGTHS = st.lists(st.tuples(st.integers(1, 30), st.integers(2, 30)), min_size=1, max_size=200).map(np.array)
BUDGETS = st.integers(30, 200)
SEEDS = st.integers(0, 2**32)


def rows(batches: list[np.ndarray]) -> list[list[int]]:
    return [batch.tolist() for batch in batches]


@given(LENGTHS, BUDGETS, SEEDS, st.integers(0, 9))
def test_every_pair_once_and_every_batch_within_the_budget(
    lengths: np.ndarray, tokens: int, seed: int, epoch: int
) -> None:
    for planned in (plan_epoch(lengths, tokens, seed, epoch), plan_sorted(lengths, tokens)):
        assert Counter(np.concatenate(planned).tolist()) == Counter(range(len(lengths)))
        assert all(len(batch) * lengths[batch].max() <= tokens for batch in planned)


@given(LENGTHS, BUDGETS, SEEDS)
def test_a_plan_follows_from_seed_and_epoch(lengths: np.ndarray, tokens: int, seed: int) -> None:
    assert rows(plan_epoch(lengths, tokens, seed, 3)) == rows(plan_epoch(lengths, tokens, seed, 3))
    assert len(plan_epoch(lengths, tokens, seed, 3)) == len(plan_epoch(lengths, tokens, seed + 1, 4))


def test_seeds_and_epochs_differ() -> None:
    lengths = np.full((100, 2), 10)
    plans = [rows(plan_epoch(lengths, 50, seed, epoch)) for seed, epoch in ((1, 0), (1, 1), (2, 0), (0, 1))]
    assert len({str(p) for p in plans}) == 4
    assert {frozenset(batch) for batch in plans[0]} != {frozenset(batch) for batch in plans[1]}


def test_batches_are_of_similar_length() -> None:
    lengths = np.random.default_rng(0).integers(2, 50, (5000, 2))
    planned = plan_epoch(lengths, 1000, 0, 0)
    assert sum(len(batch) * lengths[batch].max() for batch in planned) < 1.05 * lengths.max(1).sum()


@pytest.mark.parametrize("longest", [30, 100_000])
def test_pairs_come_by_the_longer_side_then_by_both(longest: int) -> None:
    lengths = np.random.default_rng(0).integers(longest - 20, longest, (500, 2))
    order = np.concatenate(plan_sorted(lengths, 4 * longest))
    assert order.tolist() == sorted(range(500), key=lambda i: (lengths[i].max(), lengths[i].sum(), i), reverse=True)


def test_a_pair_over_the_budget() -> None:
    with pytest.raises(UserError, match=r"batch\.tokens=20 is less than the 21 tokens of the longest pair"):
        plan_epoch(np.array([[3, 4], [5, 21]]), 20, 0, 0)


@given(LENGTHS, BUDGETS, SEEDS, st.integers(1, 3), st.integers(1, 3))
def test_all_ranks_together_take_the_plan(
    lengths: np.ndarray, tokens: int, seed: int, ranks: int, accumulate: int
) -> None:
    stream = Stream(lengths, tokens=tokens, seed=seed, size=ranks * accumulate)
    steps = 2 * stream.epoch_steps
    shares = [
        list(Sampler(stream, steps=steps, first_step=0, accumulate=accumulate, rank=rank)) for rank in range(ranks)
    ]
    assert {len(share) for share in shares} == {steps * accumulate}
    dealt = [planned for turn in zip(*shares, strict=True) for planned in turn]
    half = len(dealt) // 2
    for epoch, part in enumerate((dealt[:half], dealt[half:])):
        planned = rows(plan_epoch(lengths, tokens, seed, epoch))
        expected = [planned[i % len(planned)] for i in range(half)]
        assert [batch.rows.tolist() for batch in part] == expected
        assert half - len(planned) < stream.size
    for step in range(steps):
        window = dealt[step * stream.size : (step + 1) * stream.size]
        total = (lengths[np.concatenate([batch.rows for batch in window])] - 1).sum(0).tolist()
        assert all(batch.step_tokens.tolist() == total for batch in window)
    assert len({planned.seed for planned in dealt}) == len(dealt)


@given(LENGTHS, BUDGETS, st.integers(0, 20), st.integers(1, 3))
def test_a_resumed_sampler_goes_on_with_the_stream(
    lengths: np.ndarray, tokens: int, first: int, accumulate: int
) -> None:
    def planned(first_step: int) -> list[PlannedBatch]:
        stream = Stream(lengths, tokens=tokens, seed=1, size=accumulate)
        return list(Sampler(stream, steps=21, first_step=first_step, accumulate=accumulate, rank=0))

    def plain(part: list[PlannedBatch]) -> list[tuple[list[int], list[int], int]]:
        return [(batch.rows.tolist(), batch.step_tokens.tolist(), batch.seed) for batch in part]

    assert plain(planned(first)) == plain(planned(0)[first * accumulate :])


@given(LENGTHS, BUDGETS, st.integers(1, 5000))
def test_a_budget_in_tokens_is_met_by_the_fewest_steps(lengths: np.ndarray, tokens: int, budget: int) -> None:
    stream = Stream(lengths, tokens=tokens, seed=0, size=2)
    steps = stream.steps_for(budget)
    seen = np.cumsum([window.tokens.sum() for window in islice(stream.windows(), steps)])
    assert seen[-1] >= budget
    assert steps == 1 or seen[-2] < budget


IDS = st.lists(st.lists(st.integers(4, 60000), max_size=6), min_size=1, max_size=5)


@given(IDS, st.randoms())
def test_collate_makes_the_batch_of_the_contract(src: list[list[int]], random: Any) -> None:
    tgt = [random.choices(range(4, 9), k=random.randrange(5)) for _ in src]
    index = random.sample(range(100), len(src))
    tags = [LanguageTags(*random.choices(range(2, 9), k=2)) for _ in src]
    slow = Batch.from_ids(src, tgt, index, tags)
    ragged = [
        RaggedArray(np.fromiter(chain.from_iterable(side), np.uint16), np.array([*map(len, side)]))
        for side in (src, tgt)
    ]
    fast = collate(*ragged, np.array(index), slow.step_tokens.numpy(), np.array(tags))
    for name, values in vars(slow).items():
        np.testing.assert_array_equal(getattr(fast, name), values, strict=True, err_msg=name)


def test_a_token_stream_depends_on_the_order_and_not_on_who_saw_which_batch() -> None:
    first, second = Batch.from_ids([[5, 6]], [[7]]), Batch.from_ids([[5]], [[6, 7]])
    whole = TokenStream().with_batch(first, 0).with_batch(second, 1)
    resumed = TokenStream.parse(TokenStream().with_batch(first, 0).digest).with_batch(second, 1)
    dealt = TokenStream().with_batch(second, 1) + TokenStream().with_batch(first, 0)
    assert whole == resumed == dealt
    assert whole.digest != TokenStream().with_batch(second, 0).with_batch(first, 1).digest
    assert whole.digest != TokenStream().with_batch(first, 0).digest
    assert len(whole.digest.removeprefix("sum:")) == 64
    with pytest.raises(ValueError, match="does not begin with sum:"):
        TokenStream.parse("0" * 64)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def corpus() -> ToyCorpus:
    return ToyCorpus(seed=0, train=60, validation=20, test=5, test_long=5, max_length=150, max_length_ratio=None)


def tokenizer(corpus: ToyCorpus, cache: Path, dropout: float) -> Tokenizer:
    settings = {"algorithm": "bpe", "joint": True, "byte_fallback": True, "train_lines": None, "vocab_size": 400}
    return SentencePieceTrainer(**settings, bpe_dropout=dropout).fit(corpus, cache)


def translation_data(corpus: ToyCorpus, cache: Path, dropout: float = 0.0, **changes: Any) -> TranslationData:
    trained = tokenizer(corpus, cache, dropout)
    stores = store.prepare(corpus, trained, cache, corpus.max_length, None)
    settings = {
        "batch_tokens": 200,
        "accumulate": 2,
        "seed": 1,
        "workers": 0,
        "ranks": 1,
        "budget": lambda stream: 12,
    }
    return TranslationData(stores=stores, tokenizer=trained, corpus=corpus, **{**settings, **changes})


def test_an_epoch_sees_every_pair_once(corpus: ToyCorpus, cache: Path) -> None:
    data = translation_data(corpus, cache, accumulate=1, budget=lambda stream: stream.epoch_steps)
    assert len(data.train_dataloader()) == data.total_steps
    assert Counter(int(i) for batch in data.train_dataloader() for i in batch.index) == Counter(range(60))


def test_step_tokens_are_the_sum_over_the_window(corpus: ToyCorpus, cache: Path) -> None:
    batches = list(translation_data(corpus, cache).train_dataloader())
    for first, second in zip(batches[::2], batches[1::2], strict=True):
        src = sum(int((batch.src_lengths - 1).sum()) for batch in (first, second))
        tgt = sum(int((batch.tgt_lengths - 1).sum()) for batch in (first, second))
        assert first.step_tokens.tolist() == second.step_tokens.tolist() == [src, tgt]


def test_validation_sees_every_pair_once(corpus: ToyCorpus, cache: Path) -> None:
    trained = tokenizer(corpus, cache, 0.0)
    texts: dict[int, str] = {}
    for one in translation_data(corpus, cache).val_dataloader():
        assert one.step_tokens.tolist() == [(one.src_lengths - 1).sum(), (one.tgt_lengths - 1).sum()]
        assert not set(texts) & set(one.index.tolist())
        texts |= dict(zip(one.index.tolist(), trained.decode(one.src.tolist(), "src"), strict=True))
    assert [texts[i] for i in range(20)] == corpus.splits["validation"].src


@pytest.mark.parametrize("workers", [0, 1])
def test_loading_leaves_the_generator_of_dropout_alone(corpus: ToyCorpus, cache: Path, workers: int) -> None:
    data = translation_data(corpus, cache, workers=workers)
    loaders, before = (data.train_dataloader(), data.val_dataloader()), torch.get_rng_state()
    for loader in loaders:
        next(iter(loader))
    assert torch.equal(torch.get_rng_state(), before)


def test_sampling_draws_new_pieces_of_the_same_text(corpus: ToyCorpus, cache: Path) -> None:
    plain, drawn, again = (
        {int(i): batch.tgt[row] for batch in data.train_dataloader() for row, i in enumerate(batch.index)}
        for data in (
            translation_data(corpus, cache, dropout, accumulate=1, budget=lambda stream: stream.epoch_steps)
            for dropout in (0.0, 0.3, 0.3)
        )
    )
    trained = tokenizer(corpus, cache, 0.3)
    assert plain.keys() == drawn.keys() == set(range(60))
    assert all(torch.equal(drawn[i], again[i]) for i in drawn)
    assert sum(len(drawn[i]) > len(plain[i]) for i in drawn) > 50
    for ids in (plain, drawn):
        assert trained.decode([ids[i].tolist() for i in range(60)], "tgt") == corpus.splits["train"].tgt


@pytest.mark.filterwarnings("error")
def test_text_without_a_longest_line_is_sampled_too(corpus: ToyCorpus, cache: Path) -> None:
    trained = tokenizer(corpus, cache, 0.3)
    unlimited = store.prepare(corpus, trained, cache, None, None)["train"]
    assert unlimited.max_length is None
    assert (SubwordSampler(trained, corpus.splits["train"], unlimited).growth > 1.1).all()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sampled_batches_never_exceed_the_budget(corpus: ToyCorpus, cache: Path, seed: int) -> None:
    def epoch(dropout: float) -> tuple[TranslationData, list[Batch]]:
        settings: dict[str, Any] = {"batch_tokens": 400, "seed": seed, "budget": lambda stream: stream.epoch_steps}
        data = translation_data(corpus, cache, dropout, **settings)
        return data, list(data.train_dataloader())

    data, drawn = epoch(0.3)
    planned = np.array([window.tokens for window in islice(data.stream.windows(), data.total_steps)])
    found = [np.array([(lengths - 1).sum() for lengths in batch.host_lengths]) for batch in drawn]
    assert np.allclose(sum(found), planned.sum(0), rtol=0.05)
    padded = [max(batch.src.numel(), batch.tgt.numel()) for batch in drawn]
    assert max(padded) <= 400
    of_plain = [max(batch.src.numel(), batch.tgt.numel()) for batch in epoch(0.0)[1]]
    assert np.mean(padded) > 0.6 * np.mean(of_plain)
    for batch in drawn:
        lengths = np.stack([batch.src_lengths.numpy(), batch.tgt_lengths.numpy()], axis=1)
        of_pair = {int(i): row for i, row in zip(batch.index, lengths, strict=True)}
        assert all((of_pair[i] <= data.stream.longest[i]).all() for i in of_pair)


def test_step_tokens_count_what_was_drawn_and_what_is_expected_of_the_others(corpus: ToyCorpus, cache: Path) -> None:
    data = translation_data(corpus, cache, 0.3)
    batches = list(data.train_dataloader())
    for window, pair in zip(data.stream.windows(), zip(batches[::2], batches[1::2], strict=True), strict=False):
        for batch, other in zip(pair, window.batches[::-1], strict=True):
            found = [int((lengths - 1).sum()) for lengths in batch.host_lengths]
            expected = (data.stream.lengths[other] - 1).sum(0)
            assert batch.step_tokens.tolist() == (found + expected).tolist()


class Listener(lightning.LightningModule):
    """Train one number and hash the training batches."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.stream = TokenStream()

    def training_step(self, batch: Batch, batch_idx: int) -> torch.Tensor:
        self.stream = self.stream.with_batch(batch, batch_idx)
        return self.weight * 1.0

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["digest"] = self.stream.digest

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.stream = TokenStream.parse(checkpoint["digest"])


@pytest.mark.parametrize("workers", [0, 1])
def test_an_interrupted_fit_sees_the_stream_of_a_whole_one(
    corpus: ToyCorpus, cache: Path, tmp_path: Path, workers: int
) -> None:
    def fit(steps: int, first_step: int = 0) -> str:
        data, module = translation_data(corpus, cache, workers=workers), Listener()
        data.first_step = first_step
        trainer = lightning.Trainer(
            accelerator="cpu",
            max_steps=steps,
            max_epochs=1,
            accumulate_grad_batches=2,
            limit_val_batches=0,
            use_distributed_sampler=False,
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=[ModelCheckpoint(tmp_path, filename=f"at-{steps}", every_n_train_steps=5)],
        )
        resume = tmp_path / f"at-{steps}.ckpt" if not first_step else tmp_path / "at-5.ckpt"
        trainer.fit(module, datamodule=data, ckpt_path=resume if first_step else None)
        assert trainer.global_step == steps
        return module.stream.digest

    fit(5)
    assert fit(12, first_step=5) == fit(12)

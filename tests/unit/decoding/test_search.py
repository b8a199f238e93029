"""Search against brute force, with a small model whose logits depend on the source and on the whole prefix."""

from __future__ import annotations

import itertools
import math
import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from conftest import ROOT, build_model
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from torch import Tensor

from triptych import kernels
from triptych.contract.batch import Batch, Prediction
from triptych.contract.decoder_state import DecoderState
from triptych.contract.model import AttentionMap, TranslationModel
from triptych.contract.vocabulary import BOS, EOS, PAD
from triptych.decoding.batches import batches_for_workers, decode
from triptych.decoding.beams import Hypothesis
from triptych.decoding.search import Search
from triptych.errors import UserError

MODULUS = 100_003


class HashModel(TranslationModel):
    """A random language model: the state is a hash of source and prefix, which selects the row of logits.

    A hypothesis with the state of another hypothesis or sentence gets other logits.
    """

    def __init__(self, seed: int, vocabulary: int = 5, scale: float = 2.0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.table = scale * torch.randn(MODULUS, vocabulary, generator=generator)
        self.dropout = torch.nn.Dropout()
        self.rows: list[int] = []
        self.modes: list[bool] = []

    def start(self, src: Tensor, src_lengths: Tensor) -> DecoderState:
        self.modes.append(self.training or self.dropout.training)
        code = torch.ones(len(src), dtype=torch.long)
        for i in range(src.shape[1]):
            code = torch.where(i < src_lengths, (code * 31 + src[:, i]) % MODULUS, code)
        return DecoderState(hypothesis={"code": code})

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        assert not torch.is_grad_enabled()
        self.rows.append(len(tokens))
        code = (state.hypothesis["code"] * 37 + tokens + 1) % MODULUS
        return self.table[code], DecoderState(hypothesis={"code": code})

    def forward(self, batch: Batch) -> Prediction:
        raise NotImplementedError

    def attention_maps(self, batch: Batch) -> list[AttentionMap]:
        return []

    def flops(self, src_length: int, tgt_length: int) -> int:
        return 0

    @property
    def embedding_parameters(self) -> int:
        return 0


class TableModel(HashModel):
    """Logits that depend only on the number of generated tokens, written by hand."""

    def __init__(self, logits: list[list[float]]) -> None:
        super().__init__(0)
        self.logits = torch.tensor(logits)

    def start(self, src: Tensor, src_lengths: Tensor) -> DecoderState:
        return DecoderState(hypothesis={"position": torch.zeros(len(src), dtype=torch.long)})

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        self.rows.append(len(tokens))
        position = state.hypothesis["position"]
        return self.logits[position], DecoderState(hypothesis={"position": position + 1})


def make_search(**changes: object) -> Search:
    chosen = {"beam_size": 4, "length_penalty": 0.6, "max_length_ratio": 0.0, "max_length_extra": 4}
    chosen |= {"min_length": 0, "stop": "exact", "n_best": 1}
    return Search(**{**chosen, **changes})  # type: ignore[arg-type]


def run(search: Search, model: HashModel, source: list[int]) -> list[tuple[list[int], float]]:
    found = search(model, torch.tensor([[*source, EOS]]), torch.tensor([len(source) + 1]))
    return [(hypothesis.tokens, hypothesis.score) for hypothesis in found[0]]


def next_log_probs(model: HashModel, source: list[int], prefix: list[int]) -> Tensor:
    """Return (V,) log-probabilities after a prefix, computed by the model's own steps for one sentence."""
    with torch.no_grad():
        state = model.start(torch.tensor([[*source, EOS]]), torch.tensor([len(source) + 1]))
        for token in [BOS, *prefix]:
            logits, state = model.step(torch.tensor([token]), state)
    return logits[0].log_softmax(0)


def exhaustive(
    model: HashModel, source: list[int], limit: int, alpha: float, min_length: int = 0
) -> list[tuple[list[int], float]]:
    """Return all sequences that end in </s> after enough words or reach the limit, the best score first."""
    words = [i for i in range(model.table.shape[1]) if i not in (PAD, BOS, EOS)]
    after = {
        prefix: next_log_probs(model, source, list(prefix))
        for length in range(limit)
        for prefix in itertools.product(words, repeat=length)
    }
    sequences = [(*prefix, EOS) for prefix in after if len(prefix) >= min_length] + list(
        itertools.product(words, repeat=limit)
    )
    scored = []
    for sequence in sequences:
        log_prob = sum(float(after[sequence[:i]][token]) for i, token in enumerate(sequence))
        pieces = [token for token in sequence if token != EOS]
        scored.append((pieces, log_prob / ((5 + len(sequence)) / 6) ** alpha))
    return sorted(scored, key=lambda found: -found[1])


def greedy_loop(model: HashModel, source: list[int], limit: int, min_length: int = 0) -> list[int]:
    pieces: list[int] = []
    while len(pieces) < limit:
        log_probs = next_log_probs(model, source, pieces)
        log_probs[[PAD, BOS, *([EOS] if len(pieces) < min_length else [])]] = -math.inf
        token = int(log_probs.argmax())
        if token == EOS:
            break
        pieces.append(token)
    return pieces


def beam_loop(
    model: HashModel, source: list[int], limit: int, alpha: float, beam_size: int, stop: str = "exact", minimum: int = 0
) -> list[tuple[list[int], float]]:
    live: list[tuple[float, list[int]]] = [(0.0, [])]
    finished = []
    for length in range(1, limit + 1):
        candidates = []
        for log_prob, prefix in live:
            after = next_log_probs(model, source, prefix)
            refused = (PAD, BOS, EOS) if len(prefix) < minimum else (PAD, BOS)
            words = [token for token in range(len(after)) if token not in refused]
            candidates += [(log_prob + float(after[token]), [*prefix, token]) for token in words]
        candidates.sort(key=lambda candidate: -candidate[0])
        for log_prob, tokens in candidates[:beam_size]:
            if tokens[-1] == EOS or length == limit:
                pieces = [token for token in tokens if token != EOS]
                finished.append((pieces, log_prob / ((5 + length) / 6) ** alpha))
        if stop == "first" and len(finished) >= beam_size:
            break
        live = [candidate for candidate in candidates if candidate[1][-1] != EOS][:beam_size]
    return sorted(finished, key=lambda found: -found[1])


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    alpha=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    n_best=st.sampled_from([1, 3, 8]),
    limit=st.integers(1, 4),
    min_length=st.integers(0, 5),
)
def test_a_wide_beam_equals_exhaustive_search(
    seed: int, alpha: float, n_best: int, limit: int, min_length: int
) -> None:
    model, min_length = HashModel(seed), min(min_length, limit)
    expected = exhaustive(model, [1, 4], limit, alpha, min_length)[:n_best]
    settings_of = {"length_penalty": alpha, "max_length_extra": limit, "min_length": min_length, "n_best": n_best}
    wide = make_search(beam_size=200, **settings_of)
    found = run(wide, model, [1, 4])
    assert [tokens for tokens, _ in found] == [tokens for tokens, _ in expected]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected], rel=1e-4)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), alpha=st.sampled_from([0.0, 1.0, 3.0]), min_length=st.integers(0, 6))
def test_a_beam_of_one_is_greedy_search_whatever_the_penalty(seed: int, alpha: float, min_length: int) -> None:
    model = HashModel(seed, vocabulary=7)
    search = make_search(beam_size=1, length_penalty=alpha, max_length_extra=9, min_length=min_length)
    assert run(search, model, [5])[0][0] == greedy_loop(model, [5], 9, min_length)


def test_a_narrow_beam_finds_what_greedy_search_misses() -> None:
    models = [HashModel(seed, vocabulary=7) for seed in range(20)]
    greedy, beam = (
        [run(make_search(beam_size=k, length_penalty=0.0), model, [5])[0][1] for model in models] for k in (1, 4)
    )
    assert sum(b > g + 1e-5 for b, g in zip(beam, greedy, strict=True)) >= 5
    assert sum(b < g - 1e-5 for b, g in zip(beam, greedy, strict=True)) == 0


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    alpha=st.sampled_from([0.0, 0.6, 2.0]),
    beam_size=st.integers(2, 4),
    n_best=st.integers(1, 2),
    stop=st.sampled_from(["exact", "first"]),
    minimum=st.integers(0, 6),
)
def test_a_narrow_beam_equals_a_plain_loop_that_stops_when_it_may(
    seed: int, alpha: float, beam_size: int, n_best: int, stop: str, minimum: int
) -> None:
    """The loop runs to the limit, or until K hypotheses have finished; the search may also stop for want of hope."""
    model = HashModel(seed, vocabulary=8)
    search = make_search(
        beam_size=beam_size, length_penalty=alpha, max_length_extra=6, min_length=minimum, stop=stop, n_best=n_best
    )
    expected = beam_loop(model, [5, 6], 6, alpha, beam_size, stop, minimum)[:n_best]
    found = run(search, model, [5, 6])
    assert [tokens for tokens, _ in found] == [tokens for tokens, _ in expected]


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    penalties=st.lists(st.sampled_from([0.0, 0.6, 1.0, 2.0, 4.0]), min_size=1, max_size=4),
    beam_size=st.integers(1, 4),
    stop=st.sampled_from(["exact", "first"]),
    data=st.data(),
)
def test_one_search_with_several_penalties_finds_what_one_with_each_does(
    seed: int, penalties: list[float], beam_size: int, stop: str, data: st.DataObject
) -> None:
    model, n_best = HashModel(seed, vocabulary=8), data.draw(st.integers(1, beam_size))
    search = make_search(beam_size=beam_size, max_length_extra=9, stop=stop, n_best=n_best)
    sources, lengths = torch.tensor([[5, 6, EOS], [7, EOS, PAD], [4, 4, EOS]]), torch.tensor([3, 2, 3])
    together = search.by_penalty(penalties, model, sources, lengths)
    for i, penalty in enumerate(penalties):
        assert [found[i] for found in together] == search.with_length_penalty(penalty)(model, sources, lengths)


def test_several_penalties_take_the_steps_of_the_one_that_takes_most() -> None:
    model, penalties = HashModel(4, vocabulary=8), [0.0, 0.6, 2.0]
    search, source = make_search(max_length_extra=30), (torch.tensor([[5, EOS]]), torch.tensor([2]))
    rows = []
    for tried in ([0.0], [0.6], [2.0], penalties):
        model.rows.clear()
        search.by_penalty(tried, model, *source)
        rows.append(list(model.rows))
    assert rows[3] == max(rows, key=len)
    assert len(rows[3]) > len(rows[0])


def test_stopping_at_the_first_saves_steps_and_may_miss_the_best() -> None:
    models = [HashModel(seed, vocabulary=8) for seed in range(20)]
    found, steps = {}, {}
    for stop in ("exact", "first"):
        search = make_search(beam_size=2, length_penalty=1.0, max_length_extra=30, stop=stop)
        found[stop] = [run(search, model, [5])[0][1] for model in models]
        steps[stop] = sum(len(model.rows) for model in models) - sum(steps.values())
    assert steps["first"] < 0.8 * steps["exact"]
    assert all(a >= b - 1e-6 for a, b in zip(found["exact"], found["first"], strict=True))
    assert any(a > b + 1e-3 for a, b in zip(found["exact"], found["first"], strict=True))


@pytest.mark.parametrize("beam_size", [1, 3])
def test_neighbours_change_nothing_and_the_order_is_restored(beam_size: int) -> None:
    model = HashModel(3, vocabulary=9)
    search = make_search(beam_size=beam_size, max_length_ratio=1.0, n_best=beam_size)
    sources = [[1, 4, 5, 6, 7], [], [8], [4, 4, 4], [8, 7, 6, 5, 4, 1], [1]]
    alone = [decode(model, [source], search, 100, "cpu")[0] for source in sources]
    assert decode(model, sources, search, 100, "cpu") == alone
    assert decode(model, sources, search, 8, "cpu") == alone
    assert len({tuple(found[0].tokens) for found in alone}) > 3


class ObservedSearch:
    """A search whose first batches begin together, and which counts the tokens that are searched at a time."""

    def __init__(self, search: Search, together: int) -> None:
        self.search, self.first = search, threading.Barrier(together)
        self.running, self.most = Counter[int](), 0

    def __call__(self, model: TranslationModel, src: Tensor, *given: Any) -> list[list[Hypothesis]]:
        self.running[threading.get_ident()] = src.numel()
        if not self.most:
            self.first.wait(timeout=60)
        self.most = max(self.most, self.running.total())
        try:
            return self.search(model, src, *given)
        finally:
            self.running[threading.get_ident()] = 0


def test_batches_on_two_threads_find_the_same() -> None:
    model, threads = build_model("model=transformer"), torch.get_num_threads()
    sources = [[4 + (7 * i + k) % 9 for k in range(1 + i % 12)] for i in range(60)]
    with kernels.use("reference"):
        alone = decode(model, sources, make_search(beam_size=3), 64, "cpu")
    search = ObservedSearch(make_search(beam_size=3), together=2)
    torch.set_num_threads(2)
    try:
        together = decode(model.train(), sources, search, 64, "cpu")  # type: ignore
    finally:
        torch.set_num_threads(threads)
    assert [found[0].tokens for found in together] == [found[0].tokens for found in alone]
    assert model.training, "the model's own mode is back"
    assert 32 < search.most <= 64, "batches at a time share the tokens that are allowed"


@given(lengths=st.lists(st.integers(1, 30), max_size=60), workers=st.integers(1, 4), tokens=st.integers(1, 300))
def test_batches_for_workers(lengths: list[int], workers: int, tokens: int) -> None:
    """They have all sentences once, and fit; what fits one batch stays one."""
    array = np.array(lengths, dtype=np.int64).reshape(-1, 1)
    batches = batches_for_workers(array, tokens, workers)
    assert sorted(i for rows in batches for i in rows.tolist()) == list(range(len(lengths)))
    allowed = max(tokens // workers, max(lengths, default=1))
    assert all(len(rows) * array[rows].max() <= allowed for rows in batches)
    assert len(lengths) * max(lengths, default=0) > allowed or len(batches) <= 1


def test_workers_have_as_many_batches_each() -> None:
    lengths = np.full((100, 1), 10)
    assert [len(rows) for rows in batches_for_workers(lengths, 800, 2)] == [25] * 4, "of 40, 40 and 20 one worker waits"


def test_batches_hold_the_padded_tokens_allowed_the_longest_first() -> None:
    model, shapes = HashModel(3), []
    sources = [[4] * length for length in (1, 9, 3, 3, 0, 20)]
    begin = model.start
    model.start = lambda src, lengths: shapes.append(tuple(src.shape)) or begin(src, lengths)  # type: ignore
    decode(model, sources, make_search(), 12, "cpu")
    assert shapes == [(1, 21), (2, 10), (3, 4)], "the longest sentence has 21 tokens, so that many fit"
    assert decode(model, [], make_search(), 12, "cpu") == []
    with pytest.raises(UserError, match="search_tokens=0"):
        decode(model, sources, make_search(), 0, "cpu")


def test_another_beam_is_the_search_that_was_built_with_it() -> None:
    given, model = make_search(beam_size=1, length_penalty=0.3), HashModel(2, vocabulary=9)
    wider = given.with_beam(4, n_best=3)
    assert run(wider, model, [4, 5]) == run(make_search(beam_size=4, length_penalty=0.3, n_best=3), model, [4, 5])
    assert (given.beam_size, given.n_best) == (1, 1)
    with pytest.raises(UserError, match=r"search\.n_best=5 .* search\.beam_size=4"):
        given.with_beam(4, n_best=5)


def test_n_best_is_sorted_and_distinct() -> None:
    found = run(make_search(beam_size=8, n_best=8), HashModel(1, vocabulary=12), [4, 5])
    scores = [score for _, score in found]
    assert len(found) == 8 == len({tuple(tokens) for tokens, _ in found})
    assert scores == sorted(scores, reverse=True)


def test_scores_are_those_of_the_model() -> None:
    model = HashModel(7, vocabulary=6)
    search = make_search(beam_size=5, n_best=5, length_penalty=0.6, max_length_extra=6)
    for hypothesis in search(model, torch.tensor([[4, EOS]]), torch.tensor([2]))[0]:
        generated = hypothesis.tokens if len(hypothesis.tokens) == 6 else [*hypothesis.tokens, EOS]
        steps = [next_log_probs(model, [4], generated[:i])[token] for i, token in enumerate(generated)]
        assert hypothesis.log_probability == pytest.approx(float(sum(steps)), abs=1e-4)
        penalty = ((5 + len(generated)) / 6) ** 0.6
        assert hypothesis.score == pytest.approx(hypothesis.log_probability / penalty, abs=1e-5)


def test_finished_sentences_leave_the_batch() -> None:
    model = HashModel(11, vocabulary=6)
    sources = [[4], [5], [4, 5], [5, 4], [4, 4]]
    lengths = []
    for source in sources:
        model.rows.clear()
        run(make_search(beam_size=1, max_length_extra=12), model, source)
        lengths.append(len(model.rows))
    assert len(set(lengths)) > 1
    model.rows.clear()
    decode(model, sources, make_search(beam_size=1, max_length_extra=12), 100, "cpu")
    assert model.rows == [sum(length > step for length in lengths) for step in range(max(lengths))]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    sources=st.lists(st.lists(st.integers(4, 5), max_size=4), min_size=1, max_size=5),
    beam_size=st.integers(1, 4),
    stop=st.sampled_from(["exact", "first"]),
    every=st.integers(2, 9),
)
def test_finished_sentences_that_stay_in_the_batch_change_nothing(
    seed: int, sources: list[list[int]], beam_size: int, stop: str, every: int
) -> None:
    model = HashModel(seed, vocabulary=6)
    search = make_search(beam_size=beam_size, n_best=beam_size, stop=stop, max_length_ratio=1.0, max_length_extra=5)
    at_each_step = decode(model, sources, search, 100, "cpu")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("triptych.decoding.search.steps_between_syncs", lambda _: every)
        assert decode(model, sources, search, 100, "cpu") == at_each_step


def test_the_first_step_runs_one_row_a_sentence() -> None:
    model = HashModel(2, vocabulary=30, scale=0.1)
    decode(model, [[4], [5]], make_search(beam_size=4, max_length_extra=3), 100, "cpu")
    assert model.rows == [2, 8, 8]


def test_search_stops_once_nothing_can_beat_what_is_kept() -> None:
    # </s> takes 0.97 at once; what lives on has at most 0.01, and no length limit makes up for that.
    sure_end = [[-9.0, 0.0, -9.0, 5.0, 0.0]] * 4
    model = TableModel(sure_end)
    assert run(make_search(beam_size=2, length_penalty=0.6), model, [4])[0][0] == []
    assert len(model.rows) == 1


def test_the_penalty_prefers_the_longer_translation() -> None:
    # Ending at once has probability 0.52, going on twice 0.48; alpha 1 divides the logarithms by 1 and by 8/6.
    end, go_on, never = math.log(0.52), math.log(0.48), -60.0
    model = TableModel(
        [[never, never, never, end, go_on], [never, never, never, never, 0.0], [never, never, never, 0.0, never]]
    )
    settings_of = {"beam_size": 2, "max_length_extra": 3}
    assert run(make_search(length_penalty=0.0, **settings_of), model, [4])[0][0] == []
    assert run(make_search(length_penalty=1.0, **settings_of), model, [4])[0][0] == [4, 4]


def test_an_output_ends_at_the_length_limit_of_its_own_source() -> None:
    no_end = [[0.0, 1.0, 0.0, -60.0, 2.0]] * 20
    search = make_search(max_length_ratio=1.5, max_length_extra=2)
    found = decode(TableModel(no_end), [[4] * 5, [4], []], search, 100, "cpu")
    assert [found[i][0].tokens for i in range(3)] == [[4] * 11, [4] * 5, [4] * 3]
    assert all(found[i][0].cut for i in range(3))


def test_only_what_the_limit_ended_is_cut() -> None:
    # Ends after one token with probability 0.9, so within two tokens one hypothesis has ended and others are cut.
    ends_second = TableModel([[-60.0, -60.0, -60.0, -60.0, 0.0], [-60.0, -60.0, -60.0, 2.2, 0.0]])
    search = make_search(beam_size=2, n_best=2, max_length_extra=2, length_penalty=0.0)
    found = search(ends_second, torch.tensor([[4, EOS]]), torch.tensor([2]))[0]
    assert [(hypothesis.tokens, hypothesis.cut) for hypothesis in found] == [([4], False), ([4, 4], True)]


def test_padding_and_begin_are_never_generated_even_where_the_model_wants_them() -> None:
    wants = TableModel([[30.0, 0.0, 30.0, -3.0, -1.0]] * 4)
    found = run(make_search(beam_size=50, n_best=20), wants, [4])
    assert len(found) == 20
    assert {token for tokens, _ in found for token in tokens} <= {1, 4}


def test_equal_candidates_go_by_beam_then_by_id() -> None:
    flat = TableModel([[0.0] * 5] * 2)
    found = run(make_search(beam_size=3, n_best=3, max_length_extra=2, length_penalty=0.0), flat, [4])
    # First <unk> (1), </s> (3) and 4; then the same three after <unk>, before those after 4.
    assert [tokens for tokens, _ in found] == [[], [1, 1], [1]]


def test_modes_are_restored_module_by_module() -> None:
    model = HashModel(0).train()
    model.dropout.eval()
    run(make_search(), model, [4])
    assert model.modes == [False]
    assert model.training
    assert not model.dropout.training


def test_a_diverged_model_is_an_error() -> None:
    with pytest.raises(UserError, match="not finite"):
        run(make_search(), TableModel([[math.nan] * 5] * 4), [4])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beam_size": 0}, r"search\.beam_size=0 .* from 1 to 10,000"),
        ({"beam_size": 2.5}, r"search\.beam_size=2\.5"),
        ({"n_best": 5}, r"search\.n_best=5 .* search\.beam_size=4"),
        ({"n_best": 0}, r"search\.n_best=0"),
        ({"length_penalty": -0.1}, r"search\.length_penalty=-0\.1"),
        ({"length_penalty": "high"}, r"search\.length_penalty=high .* give a number of at least 0, or tuned"),
        ({"stop": "soon"}, r"search\.stop=soon .* give exact or first"),
        ({"length_penalty": math.nan}, r"search\.length_penalty=nan"),
        ({"max_length_ratio": -1.0}, r"search\.max_length_ratio=-1\.0"),
        ({"max_length_extra": 0}, r"search\.max_length_extra=0"),
        ({"min_length": -1}, r"search\.min_length=-1"),
        ({"min_length": 5}, r"search\.min_length=5 .* give at most 4, .* or raise search\.max_length_extra\."),
        ({"min_length": 7, "max_length_ratio": 2.5}, r"search\.min_length=7 .* give at most 6,"),
    ],
)
def test_impossible_settings_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_search(**changes)


@pytest.mark.parametrize(("name", "beam_size", "alpha"), [("beam", 4, 0.6), ("greedy", 1, 0.0)])
def test_the_options_build_a_search(name: str, beam_size: int, alpha: float) -> None:
    path = ROOT / "conf" / "search" / f"{name}.yaml"
    options = OmegaConf.to_container(OmegaConf.load(path))
    assert options.pop("_target_") == "triptych.decoding.search.Search"
    search = Search(**options)
    assert (search.beam_size, search.length_penalty, search.stop) == (beam_size, alpha, "exact")
    assert (search.max_length_ratio, search.max_length_extra, search.n_best, search.min_length) == (1.0, 50, 1, 0)

"""Search starts from the tag of the target language, where an architecture has tags."""

from __future__ import annotations

import itertools

import pytest
import torch
from conftest import build_model

from triptych.contract.batch import Batch
from triptych.contract.model import TranslationModel
from triptych.contract.vocabulary import BOS, EOS, PAD, LanguageTags, Vocabulary
from triptych.decoding.batches import decode
from triptych.decoding.search import Search

FR, EN, DE = 4, 5, 6
"""Tags."""
MODELS = ["rnn_luong", "transformer", "lm4mt"]


def make_search(**changes: object) -> Search:
    chosen = {"beam_size": 1, "length_penalty": 0.6, "max_length_ratio": 0.0, "max_length_extra": 5}
    chosen |= {"min_length": 0, "stop": "exact", "n_best": 1}
    return Search(**{**chosen, **changes})  # type: ignore[arg-type]


@torch.no_grad()
def greedy_loop(model: TranslationModel, source: list[int], tags: LanguageTags, limit: int) -> list[int]:
    """One sentence by the model's own steps, the first of which is given the tag."""
    state = model.start(torch.tensor([[*source, tags.src_end]]), torch.tensor([len(source) + 1]))
    tokens = [tags.tgt_begin]
    while len(tokens) <= limit and tokens[-1] != EOS:
        logits, state = model.step(torch.tensor(tokens[-1:]), state)
        logits[0, [PAD, BOS]] = -torch.inf
        tokens.append(int(logits[0].argmax()))
    return [token for token in tokens[1:] if token != EOS]


@pytest.mark.parametrize("name", [*MODELS, "lm4mt model.language_tags=false"])
def test_search_starts_from_the_tag(name: str) -> None:
    model = build_model(*f"model={name}".split())
    sources = [[8, 9, 10], [8, 9, 10], [11, 12], [8, 9, 10], [13]]
    tags = [LanguageTags(FR, EN), LanguageTags(FR, DE), LanguageTags(EN, DE), LanguageTags(EN, DE), LanguageTags()]
    found = decode(model, sources, make_search(), 100, "cpu", tags)
    expected = [greedy_loop(model, source, one, 5) for source, one in zip(sources, tags, strict=True)]
    assert [hypotheses[0].tokens for hypotheses in found] == expected
    assert len({hypotheses[0].log_probability for hypotheses in found}) == 5, "tags change what is likely"


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_a_wide_beam_equals_exhaustive_search_after_a_tag(name: str) -> None:
    model, limit = build_model(f"model={name}", vocabulary=Vocabulary(9, 9, True, 4, 5)), 3
    source, tags = [7, 8, 7], LanguageTags(FR, DE)
    words = [i for i in range(9) if i not in (PAD, BOS, EOS)]
    sequences = [list(one) for length in range(limit + 1) for one in itertools.product(words, repeat=length)]
    prediction = model(Batch.from_ids([source] * len(sequences), sequences, tags=[tags] * len(sequences)))
    logits = (prediction.hidden @ prediction.weight.T)[prediction.num_source :]
    likely = logits.log_softmax(1).gather(1, prediction.targets[prediction.num_source :, None])[:, 0]
    scores = []
    for sequence, tokens in zip(sequences, likely.split([len(one) + 1 for one in sequences]), strict=True):
        length = min(limit, len(sequence) + 1)  # </s> counted, for which a sequence at the limit has no room
        scores.append((float(tokens[:length].sum()) / ((5 + length) / 6) ** 0.6, sequence))
    wide = make_search(beam_size=300, max_length_extra=limit, n_best=4)
    found = decode(model, [source], wide, 100, "cpu", [tags])[0]
    best = sorted(scores, reverse=True)[:4]
    assert [hypothesis.tokens for hypothesis in found] == [sequence for _, sequence in best]
    assert [hypothesis.score for hypothesis in found] == pytest.approx([score for score, _ in best], rel=1e-4)

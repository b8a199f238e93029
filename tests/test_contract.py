"""The contract of every architecture: each YAML in conf/model is held to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from conftest import build_model, random_batch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from triptych.batch import Batch
from triptych.commands.hydra_app import conf_dir
from triptych.models.base import TranslationModel, select_rows
from triptych.vocabulary import EOS, PAD

MODELS = sorted(path.stem for path in (conf_dir() / "model").glob("*.yaml"))
OPTIONS = [
    "transformer positions=rope norm=rms activation=swiglu bias=false d_k=10 d_v=6 tying=none",
    "transformer positions=learned norm_position=post activation=gelu tying=decoder encoder_layers=2",
    "transformer positions=none",
    "lm4mt language_tags=false",
    "lm4mt source_attention=bidirectional positions=rope",
    "lm4mt source_attention=bidirectional language_tags=false norm_position=post positions=learned",
    "lm4mt positions=rope norm=rms activation=swiglu bias=false d_k=10 d_v=6 tying=none",
    "rnn_luong score=concat input_feeding=true cell=gru decoder_layers=3 residual=true",
    "rnn_luong score=dot bidirectional=none tying=decoder encoder_layers=2",
    "rnn_none bidirectional=first encoder_layers=2 tying=none",
]
"""Choices that no preset makes, after the name of the YAML they are made in."""
EXACT = 1e-10


@pytest.fixture(scope="module", params=[*MODELS, *OPTIONS])
def model(request: pytest.FixtureRequest) -> Iterator[TranslationModel]:
    name, *options = request.param.split()
    with torch.no_grad():
        yield build_model(f"model={name}", *(f"model.{option}" for option in options))


def decoder_logits(model: TranslationModel, batch: Batch) -> Tensor:
    """(B, T - 1, V) by start and step."""
    state = model.start(batch.src, batch.src_lengths)
    steps = []
    for t in range(batch.tgt.shape[1] - 1):
        logits, state = model.step(batch.tgt[:, t], state)
        steps.append(logits)
    return torch.stack(steps, dim=1)


def target_logits(model: TranslationModel, batch: Batch) -> Tensor:
    """(N, V) by forward, of the target tokens alone."""
    prediction = model(batch)
    return (prediction.hidden @ prediction.weight.T)[~prediction.is_source]


def one(batch: Batch, row: int) -> Batch:
    src = batch.src[row, : batch.src_lengths[row] - 1].tolist()
    tgt = batch.tgt[row, 1 : batch.tgt_lengths[row] - 1].tolist()
    return Batch.from_ids([src], [tgt])


@torch.no_grad()
def test_targets_are_the_tokens_of_the_batch(model: TranslationModel, batch: Batch) -> None:
    prediction = model(batch)
    expected = [token for row in batch.tgt[:, 1:].tolist() for token in row if token != PAD]
    assert prediction.targets[~prediction.is_source].tolist() == expected
    assert prediction.hidden.shape == (len(prediction.targets), prediction.weight.shape[1])
    assert int(prediction.is_source.sum()) in (0, int((batch.src_lengths - 1).sum()))
    if prediction.is_source.any():
        rows = [row[: row.index(EOS) + 1] for row in batch.src.tolist()]
        after_a_tag, after_nothing = ([t for row in rows for t in row[part]] for part in (slice(-1), slice(1, None)))
        assert prediction.targets[prediction.is_source].tolist() in (after_a_tag, after_nothing)


@torch.no_grad()
def test_future_changes_nothing(model: TranslationModel) -> None:
    batch = random_batch([(5, 6)])
    before = model(batch)
    batch.tgt[0, 4] = 6 if batch.tgt[0, 4] != 6 else 7
    after = model(batch)
    earlier = len(before.hidden) - 3  # what predicts tokens 1 to 4 has not seen token 4
    torch.testing.assert_close(before.hidden[:earlier], after.hidden[:earlier], rtol=0, atol=0)
    assert not torch.allclose(before.hidden[earlier:], after.hidden[earlier:])


@torch.no_grad()
def test_a_source_token_is_not_seen_by_what_predicts_it(model: TranslationModel) -> None:
    batch = random_batch([(5, 6)])
    before = model(batch)
    if not before.is_source.any():
        pytest.skip("predicts no source tokens")
    batch.src[0, 2] = other = min(set(range(6, 40)) - set(batch.src[0].tolist()))
    after = model(batch)
    unseen = after.targets.tolist().index(other) + 1
    old, new = (prediction.hidden[prediction.is_source] for prediction in (before, after))
    torch.testing.assert_close(old[:unseen], new[:unseen], rtol=0, atol=0)
    assert not torch.allclose(old[unseen], new[unseen])


@torch.no_grad()
def test_padding_and_neighbours_change_nothing(model: TranslationModel, batch: Batch) -> None:
    alone = torch.cat([model(one(batch, row)).hidden for row in range(len(batch))])
    torch.testing.assert_close(model(batch).hidden, alone, rtol=EXACT, atol=EXACT)


@torch.no_grad()
def test_steps_give_the_logits_of_forward(model: TranslationModel, batch: Batch) -> None:
    stepped = decoder_logits(model, batch)[batch.tgt[:, 1:] != PAD]
    torch.testing.assert_close(stepped, target_logits(model, batch), rtol=EXACT, atol=EXACT)


@torch.no_grad()
def test_reordered_states_give_reordered_logits(model: TranslationModel, batch: Batch) -> None:
    rows = torch.tensor([2, 0, 0, 1])
    state = model.start(batch.src, batch.src_lengths)
    _, state = model.step(batch.tgt[:, 0], state)
    assert {tensor.shape[0] for tensor in state.values()} == {len(batch)}
    expected, _ = model.step(batch.tgt[:, 1], state)
    found, _ = model.step(batch.tgt[rows, 1], select_rows(state, rows))
    torch.testing.assert_close(found, expected[rows], rtol=EXACT, atol=EXACT)


@torch.no_grad()
def test_attention_maps(model: TranslationModel, batch: Batch) -> None:
    torch.testing.assert_close(model(batch, {}).hidden, model(batch).hidden, rtol=EXACT, atol=EXACT)
    for attention in model.attention_maps(batch):
        assert attention.weights.shape[0] == len(batch)
        assert attention.weights.shape[3:] == (attention.query_ids.shape[1], attention.key_ids.shape[1])
        real = (attention.query_ids != PAD)[:, None, None, :].expand(attention.weights.shape[:4])
        sums = attention.weights.sum(-1)[real]
        torch.testing.assert_close(sums, torch.ones_like(sums), rtol=EXACT, atol=EXACT)
        padding = (attention.key_ids == PAD)[:, None, None, None, :]
        assert float((attention.weights * padding)[real].abs().max()) == 0


@torch.no_grad()
def test_flops_are_those_of_the_products(model: TranslationModel) -> None:
    batch = random_batch([(6, 5)])
    with FlopCounterMode(display=False) as counter:
        prediction = model(batch, {})  # the fused kernel is not counted on a CPU
        _ = prediction.hidden @ prediction.weight.T
    assert model.flops(7, 7) == counter.get_total_flops()
    with FlopCounterMode(display=False) as counter:
        _ = prediction.hidden[prediction.is_source] @ prediction.weight.T
    assert model.source_prediction_flops(7) == counter.get_total_flops()


@torch.no_grad()
def test_saving_and_loading_gives_the_same_bits(model: TranslationModel, batch: Batch, tmp_path: Path) -> None:
    expected = model(batch).hidden
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    saved = {name: parameter.clone() for name, parameter in model.named_parameters()}
    for parameter in model.parameters():
        parameter.add_(1)
    model.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    assert torch.equal(model(batch).hidden, expected)
    assert all(torch.equal(saved[name], parameter) for name, parameter in model.named_parameters())


@torch.no_grad()
def test_embedding_parameters_are_parameters(model: TranslationModel) -> None:
    assert 0 < model.embedding_parameters < sum(parameter.numel() for parameter in model.parameters())


def test_every_parameter_learns(model: TranslationModel, batch: Batch) -> None:
    with torch.enable_grad():
        prediction = model(batch)
        (prediction.hidden @ prediction.weight.T).logsumexp(-1).sum().backward()
    unused = [
        name for name, parameter in model.named_parameters() if parameter.grad is None or not parameter.grad.any()
    ]
    model.zero_grad(set_to_none=True)
    assert not unused

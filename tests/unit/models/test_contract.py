"""The contract of every architecture: each YAML in conf/model is held to it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import build_model, compose_train, random_batch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from triptych.config.search_path import conf_dir
from triptych.contract.batch import Batch
from triptych.contract.model import TranslationModel
from triptych.contract.vocabulary import EOS, PAD
from triptych.layers import sequence_layout
from triptych.layers.ablation import ablate_heads
from triptych.layers.recording import record_attention, recordable_attentions
from triptych.training.loss import TranslationLoss

aten = torch.ops.aten

MODELS = sorted(path.stem for path in (conf_dir() / "model").glob("*.yaml"))
OPTIONS = [
    "transformer positions=rope norm=rms activation=swiglu bias=false d_k=10 d_v=6 tying=none",
    "transformer positions=learned norm_position=post activation=gelu tying=decoder encoder_layers=2",
    "transformer positions=none norm=none",
    "lm4mt language_tags=false",
    "lm4mt source_attention=bidirectional positions=rope",
    "lm4mt source_attention=bidirectional language_tags=false norm_position=post positions=learned",
    "lm4mt positions=rope norm=rms activation=swiglu bias=false d_k=10 d_v=6 tying=none",
    "rnn_luong score=concat input_feeding=true cell=gru decoder_layers=3 residual=true",
    "rnn_bahdanau attention_layer=bottom encoder_layers=3 decoder_layers=3 residual=true bidirectional=first",
    "rnn_luong score=dot bidirectional=none tying=decoder encoder_layers=2",
    "rnn_none bidirectional=first encoder_layers=2 tying=none",
    "convs2s positions=none kernel_size=5 embedding_size=12 hidden_size=20 encoder_layers=3 tying=none",
    "convs2s kernel_size=1 max_length=9 tying=decoder decoder_layers=3",
    "hybrid /encoder=rnn /decoder=rnn",
    "hybrid /encoder=transformer /decoder=transformer",
    "hybrid /encoder=transformer /decoder=rnn",
    "hybrid /encoder=transformer /decoder=rnn decoder.attention=none decoder.num_layers=2",
    "hybrid /encoder=transformer /decoder=rnn decoder.attention=luong decoder.score=dot decoder.input_feeding=true",
    "hybrid /encoder=rnn /decoder=rnn encoder.cell=gru encoder.num_layers=3 decoder.attention=luong",
    "hybrid /encoder=rnn /decoder=rnn decoder.cell=gru tying=none",
    "hybrid /encoder=convs2s /decoder=convs2s decoder.kernel_size=4 decoder.hidden_size=10",
    "hybrid /encoder=convs2s /decoder=transformer",
    "hybrid /encoder=convs2s /decoder=rnn decoder.attention=luong decoder.input_feeding=true",
    "hybrid /encoder=rnn /decoder=convs2s decoder.num_layers=2",
    "hybrid /encoder=transformer /decoder=convs2s decoder.positions=none",
    "hybrid /encoder=recurrent_blocks /decoder=recurrent_blocks encoder.num_layers=2 decoder.num_layers=2",
    "hybrid /encoder=recurrent_blocks /decoder=recurrent_blocks encoder.cell=gru decoder.cell=gru tying=none",
    "hybrid /encoder=recurrent_blocks encoder.residual=false encoder.norm=none encoder.feed_forward=false",
    "hybrid /decoder=recurrent_blocks decoder.residual=false decoder.norm=none decoder.feed_forward=false",
    "hybrid /decoder=recurrent_blocks decoder.attention_layers=top decoder.num_heads=1 decoder.num_layers=3",
    "hybrid /encoder=transformer /decoder=recurrent_blocks decoder.norm=rms decoder.bias=false decoder.hidden_size=6",
    "hybrid /encoder=recurrent_blocks /decoder=rnn encoder.hidden_size=10 encoder.bias=false",
    "hybrid encoder.bidirectional=none encoder.hidden_size=20 decoder.positions=learned decoder.norm_position=post",
]
"""Choices that no preset makes, after the name of the YAML they are made in; one of a group begins with a slash."""
EXACT = 1e-10
WIDE = 256
"""From this width on, a preset is held to the contract at an eighth of it."""


def narrow(*overrides: str) -> dict[str, int]:
    """Sizes that make a large preset quick to compute, and leave its layers and choices."""
    model = compose_train("scale=smoke", *overrides).model
    widths = {width: model[width] for width in ("d_model", "d_ff", "embedding_size", "hidden_size") if width in model}
    return {width: size // 16 * 2 for width, size in widths.items() if size >= WIDE}


def override(option: str) -> str:
    return f"model{option}" if option.startswith("/") else f"model.{option}"


@pytest.fixture(scope="module", params=[*MODELS, *OPTIONS])
def model(request: pytest.FixtureRequest) -> Iterator[TranslationModel]:
    name, *options = request.param.split()
    with torch.no_grad():
        overrides = [f"model={name}", *map(override, options)]
        yield build_model(*overrides, **narrow(*overrides))


@pytest.mark.parametrize("name", MODELS)
def test_a_preset_is_built_at_its_full_width(name: str) -> None:
    narrowed, sizes = narrow(f"model={name}"), []
    for changes in ({}, narrowed):
        with torch.device("meta"):
            sizes.append(sum(parameter.numel() for parameter in build_model(f"model={name}", **changes).parameters()))
    assert sizes[0] > sizes[1] if narrowed else sizes[0] == sizes[1]


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
    return prediction.hidden[prediction.num_source :] @ prediction.weight.T


def one(batch: Batch, row: int) -> Batch:
    src = batch.src[row, : batch.src_lengths[row] - 1].tolist()
    tgt = batch.tgt[row, 1 : batch.tgt_lengths[row] - 1].tolist()
    return Batch.from_ids([src], [tgt])


@torch.no_grad()
def test_targets_are_the_tokens_of_the_batch(model: TranslationModel, batch: Batch) -> None:
    prediction = model(batch)
    expected = [token for row in batch.tgt[:, 1:].tolist() for token in row if token != PAD]
    assert prediction.targets[prediction.num_source :].tolist() == expected
    assert prediction.hidden.shape == (len(prediction.targets), prediction.weight.shape[1])
    assert prediction.num_source in (0, int((batch.src_lengths - 1).sum()))
    if prediction.num_source:
        rows = [row[: row.index(EOS) + 1] for row in batch.src.tolist()]
        after_a_tag, after_nothing = ([t for row in rows for t in row[part]] for part in (slice(-1), slice(1, None)))
        assert prediction.targets[: prediction.num_source].tolist() in (after_a_tag, after_nothing)


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
    if not before.num_source:
        pytest.skip("predicts no source tokens")
    batch.src[0, 2] = other = min(set(range(6, 40)) - set(batch.src[0].tolist()))
    after = model(batch)
    unseen = after.targets.tolist().index(other) + 1
    old, new = (prediction.hidden[: prediction.num_source] for prediction in (before, after))
    torch.testing.assert_close(old[:unseen], new[:unseen], rtol=0, atol=0)
    assert not torch.allclose(old[unseen], new[unseen])


@torch.no_grad()
def test_padding_and_neighbours_change_nothing(model: TranslationModel, batch: Batch) -> None:
    alone = [model(one(batch, row)) for row in range(len(batch))]
    sides = [[p.hidden[: p.num_source] for p in alone], [p.hidden[p.num_source :] for p in alone]]
    torch.testing.assert_close(model(batch).hidden, torch.cat([*sides[0], *sides[1]]), rtol=EXACT, atol=EXACT)


@torch.no_grad()
def test_steps_give_the_logits_of_forward(model: TranslationModel, batch: Batch) -> None:
    stepped = decoder_logits(model, batch)[batch.tgt[:, 1:] != PAD]
    torch.testing.assert_close(stepped, target_logits(model, batch), rtol=EXACT, atol=EXACT)


@torch.no_grad()
def test_hypotheses_keep_their_own_past(model: TranslationModel, batch: Batch) -> None:
    """Widened, reordered, some dropped and sentences gone: each goes on as if it were alone."""
    state = model.start(batch.src, batch.src_lengths)
    hypotheses: list[tuple[int, list[int]]] = [(row, []) for row in range(3)]  # of which sentence, tokens so far
    for sentences, rows in [
        ([0, 1, 2], [0, 1, 2]),
        ([0, 1, 2], [0, 0, 1, 1, 2, 2]),
        ([2, 0], [5, 4, 5, 0, 0, 1]),
        ([0, 1], [2, 2, 0, 5, 4, 3]),
        ([1], [4, 3]),
    ]:
        state = state.select_sentences(torch.tensor(sentences)).select_hypotheses(torch.tensor(rows))
        hypotheses = [(hypotheses[row][0], [*hypotheses[row][1], token]) for token, row in enumerate(rows, 6)]
        logits, state = model.step(torch.tensor([tokens[-1] for _, tokens in hypotheses]), state)
        of_sentence = torch.tensor([row for row, _ in hypotheses])  # each now the one hypothesis of a sentence
        alone = model.start(batch.src[of_sentence], batch.src_lengths[of_sentence])
        for tokens in zip(*[tokens for _, tokens in hypotheses], strict=True):
            expected, alone = model.step(torch.tensor(tokens), alone)
        torch.testing.assert_close(logits, expected, rtol=EXACT, atol=EXACT)


@torch.no_grad()
def test_attention_maps(model: TranslationModel, batch: Batch) -> None:
    with record_attention(model) as weights:
        shown = model(batch)
    torch.testing.assert_close(shown.hidden, model(batch).hidden, rtol=EXACT, atol=EXACT)
    maps = model.attention_maps(batch)
    assert [one.name for one in maps] == list(weights)
    for attention in maps:
        assert attention.weights.shape[0] == len(batch)
        assert attention.weights.shape[3:] == (attention.query_ids.shape[1], attention.key_ids.shape[1])
        real = (attention.query_ids != PAD)[:, None, None, :].expand(attention.weights.shape[:4])
        sums = attention.weights.sum(-1)[real]
        torch.testing.assert_close(sums, torch.ones_like(sums), rtol=EXACT, atol=EXACT)
        padding = (attention.key_ids == PAD)[:, None, None, None, :]
        assert float((attention.weights * padding)[real].abs().max()) == 0


@torch.no_grad()
def test_heads_can_be_switched_off(model: TranslationModel, batch: Batch) -> None:
    """Each layer of each kind of attention does something, and nothing of it stays when all its heads are off."""
    whole = model(batch).hidden
    maps = {one.name: one.weights for one in model.attention_maps(batch)}
    attentions = recordable_attentions(model)
    assert {name: len(layers) for name, layers in attentions.items()} == {n: w.shape[1] for n, w in maps.items()}
    for name, layers in attentions.items():
        for layer in range(len(layers)):
            with ablate_heads(model, {name: {layer: torch.zeros(maps[name].shape[2])}}):
                assert not torch.allclose(model(batch).hidden, whole)
    assert torch.equal(model(batch).hidden, whole)


@torch.no_grad()
def test_flops_are_those_of_the_products(model: TranslationModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Padding is not counted: here there is none."""
    monkeypatch.setattr(sequence_layout, "COLUMNS", 1)
    batch = random_batch([(6, 5)])
    with record_attention(model), FlopCounterMode(display=False) as counter:
        prediction = model(batch)  # the fused kernel is not counted on a CPU
        _ = prediction.hidden @ prediction.weight.T
    assert model.flops(7, 7) == counter.get_total_flops()
    with FlopCounterMode(display=False) as counter:
        _ = prediction.hidden[: prediction.num_source] @ prediction.weight.T
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


class NoWaiting(TorchDispatchMode):
    """Refuses what reads values on the host, and would wait for a device.

    PyTorch's own recurrent layers read the ``batch_sizes`` of a packed batch, which are always in the host's memory.
    """

    READERS = (aten._local_scalar_dense, aten.nonzero, aten.masked_select, aten.equal, aten.is_nonzero)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket in self.READERS:
            files = {frame.f_code.co_filename for frame, _ in traceback.walk_stack(None)}
            assert torch.nn.modules.rnn.__file__ in files, func
        if func.overloadpacket in (aten.index, aten.index_put, aten.index_put_):
            assert not any(i is not None and i.dtype == torch.bool for i in args[1]), func
        return func(*args, **(kwargs or {}))


def refused(name: str) -> Callable[..., Any]:
    """A method of tensors that a training step must not call, but for PyTorch's own layers as above."""
    method = getattr(Tensor, name)

    def guarded(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        files = {frame.f_code.co_filename for frame, _ in traceback.walk_stack(None)}
        assert torch.nn.modules.rnn.__file__ in files, name
        return method(self, *args, **kwargs)

    return guarded


@pytest.mark.parametrize("autoencode", [0.0, 0.5])
def test_a_training_step_waits_for_no_device(
    model: TranslationModel, batch: Batch, autoencode: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sum(parameter.numel() for parameter in model.parameters()) > 5_000_000:
        pytest.skip("its options are held at a smaller size")
    loss = TranslationLoss(label_smoothing=0.1, mean="terms", autoencode=lambda _: autoencode)
    for name in ("tolist", "cpu", "numpy", "item", "__bool__", "__int__", "__float__"):
        monkeypatch.setattr(Tensor, name, refused(name))
    with NoWaiting(), torch.enable_grad():
        loss(model(batch), batch.step_tokens, 0.5).loss.backward()
    model.zero_grad(set_to_none=True)

"""The RNN beyond the contract: cells, scores and decoders against their formulas, every combination of options."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from operator import mul
from typing import Any

import pytest
import torch
from conftest import VOCABULARY, build_model, random_batch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from triptych.contract.batch import Batch
from triptych.contract.vocabulary import PAD, Vocabulary
from triptych.errors import UserError
from triptych.kernels.loop_matmul import loop_products, matmul
from triptych.kernels.lstm import has_padded_lstm
from triptych.layers.encoder_decoder import Memory
from triptych.layers.recurrent import RecurrentConfig, RecurrentEncoder, RecurrentLayer
from triptych.layers.rnn_attention import LUONG_SCORES, SCORES, AttendedMemory, RNNAttention
from triptych.layers.sequence_layout import SequenceLayout
from triptych.models.rnn import RNN, OuterDropoutRNN

ATTENTIONS: dict[str, dict[str, Any]] = {
    "none": {"attention": "none"},
    "bahdanau": {"attention": "bahdanau"},
    "gnmt": {"attention": "bahdanau", "attention_layer": "bottom", "bidirectional": "first"},
    "luong": {"attention": "luong"},
    "luong_dot": {"attention": "luong", "score": "dot"},
    "luong_concat": {"attention": "luong", "score": "concat", "bidirectional": "none"},
    "luong_feeding": {"attention": "luong", "score": "scaled_dot", "input_feeding": True},
}


OPTIONS: dict[str, Any] = {
    "cell": "gru",
    "encoder_layers": 3,
    "decoder_layers": 3,
    "bidirectional": "all",
    "embedding_size": 6,
    "hidden_size": 8,
    "residual": True,
    "attention": "bahdanau",
    "score": None,
    "attention_layer": "top",
    "input_feeding": False,
    "dropout": 0.0,
    "tying": "none",
}


def build(vocabulary: Vocabulary = VOCABULARY, **overrides: Any) -> RNN:
    torch.manual_seed(0)
    return RNN(vocabulary=vocabulary, **{**OPTIONS, **overrides}).double()


@pytest.fixture(params=["lstm", "gru"])
def cell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=ATTENTIONS)
def model(request: pytest.FixtureRequest, cell: str) -> RNN:
    return build(cell=cell, **ATTENTIONS[request.param])


def test_steps_are_those_of_torch(cell: str) -> None:
    layer = RecurrentLayer(cell=cell, input_size=5, hidden_size=7)
    nn.init.uniform_(layer.rnn.bias_hh_l0)
    theirs = (nn.LSTMCell if cell == "lstm" else nn.GRUCell)(5, 7)
    for name, parameter in theirs.named_parameters():
        parameter.data.copy_(getattr(layer.rnn, f"{name}_l0"))
    x, *state = (torch.randn(3, size, requires_grad=True) for size in (5, *[7] * layer.num_states))
    found = layer.step(layer.preactivations(x, layer.weights), tuple(state), layer.weights)
    expected = theirs(x, tuple(state) if cell == "lstm" else state[0])
    expected = expected if cell == "lstm" else (expected,)
    weights = [torch.randn(3, 7) for _ in found]
    ours, others = (
        torch.autograd.grad(sum((p * w).sum() for p, w in zip(parts, weights, strict=True)), [x, *state, *of])
        for parts, of in ((found, layer.weights), (expected, theirs.parameters()))
    )
    for mine, other in zip((*found, *ours), (*expected, *others), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-6)


def test_fused_layer_and_steps_agree(cell: str) -> None:
    layer = RecurrentLayer(cell=cell, input_size=5, hidden_size=7)
    x, state = torch.randn(3, 4, 5), tuple(torch.randn(3, 7) for _ in range(layer.num_states))
    outputs, last = layer(x, state)
    for t in range(4):
        state = layer.step(layer.preactivations(x[:, t], layer.weights), state, layer.weights)
        torch.testing.assert_close(state[0], outputs[:, t], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(state, last, rtol=1e-5, atol=1e-6)


def naive_score(score: str, attention: RNNAttention, s: Tensor, h: Tensor) -> Tensor:
    """e_j of one state (H,) and one position (M,), as in the papers."""
    if score == "dot":
        return s @ h
    if score == "scaled_dot":
        return s @ h / len(s) ** 0.5
    assert attention.score.key is not None
    if score == "general":
        return s @ (attention.score.key.weight @ h)
    assert attention.score.query is not None
    assert attention.score.energy is not None
    v = attention.score.energy.weight.squeeze(0)
    if score == "concat":
        return v @ torch.tanh(
            torch.cat([attention.score.query.weight, attention.score.key.weight], 1) @ torch.cat([s, h])
        )
    return v @ torch.tanh(attention.score.key.weight @ h + attention.score.query.weight @ s + attention.score.key.bias)


@pytest.mark.parametrize("bidirectional", ["all", "first", "none"])
def test_sentences_are_read_alike_with_padding_and_without(bidirectional: str) -> None:
    """In single precision by a kernel that sees padding, in double by one that does not."""
    torch.manual_seed(0)
    config = RecurrentConfig(cell="lstm", embedding_size=6, hidden_size=8, residual=True, dropout=0.0)
    encoder = RecurrentEncoder(config, num_layers=3, bidirectional=bidirectional)
    lengths = torch.tensor([5, 9, 1, 7])
    padding = (torch.arange(9) >= lengths[:, None]).unsqueeze(-1)
    x = torch.randn(4, 9, 6)
    weights = torch.randn(4, 9, encoder.memory_size)
    layout = SequenceLayout.from_lengths(lengths, lengths.numpy(), 9)

    def run(encoder: RecurrentEncoder, x: Tensor) -> list[Tensor]:
        x = x.clone().requires_grad_()
        encoder.zero_grad()
        memory: Memory = encoder(x, layout)
        states = [part for layer in memory.final_states for part in layer]
        ((memory.vectors * weights).sum() + sum(part.square().sum() for part in states)).backward()
        assert x.grad is not None
        return [memory.vectors, *states, x.grad, *(p.grad for p in encoder.parameters() if p.grad is not None)]

    ours = run(encoder, x.masked_fill(padding, 100.0))
    layer = encoder.layers[0].rnn
    assert has_padded_lstm(x, layer) == torch.backends.mkldnn.is_available()
    assert not has_padded_lstm(x.double(), layer)
    assert ours[0].masked_select(padding).eq(0).all()
    assert ours[-1 - len(list(encoder.parameters()))].masked_select(padding).eq(0).all(), "padding has no gradient"
    theirs = run(encoder.double(), x.double())
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("score", SCORES)
def test_attention_is_its_formula(score: str) -> None:
    size = 6 if SCORES[score].needs_equal_sizes else 9
    attention = RNNAttention(score=score, query_size=6, memory_size=size)
    query, memory = (torch.randn(2, *sizes, requires_grad=True) for sizes in ((3, 6), (5, size)))
    lengths = (5, 2)
    mask = (torch.arange(5) < torch.tensor(lengths)[:, None])[:, None]
    contexts, weights = attention(query, AttendedMemory(attention.keys(memory), memory, mask))
    everything = [query, memory, *attention.parameters()]
    for b, length in enumerate(lengths):
        for q in range(3):
            scores = [naive_score(score, attention, query[b, q], memory[b, j]) for j in range(length)]
            alpha = torch.stack(scores).softmax(0)
            torch.testing.assert_close(weights[b, q, :length], alpha)
            assert not weights[b, q, length:].any()
            expected = sum((a * memory[b, j] for j, a in enumerate(alpha)), torch.zeros(size))
            torch.testing.assert_close(contexts[b, q], expected)
            of = torch.randn(size)
            ours, theirs = (
                torch.autograd.grad(context @ of, everything, retain_graph=True, materialize_grads=True)
                for context in (contexts[b, q], expected)
            )
            torch.testing.assert_close(ours, theirs)


def torch_cell(layer: RecurrentLayer, entering: Tensor | None) -> nn.LSTMCell | nn.GRUCell:
    """PyTorch's cell of the layer's weights, over [x; entering] where something enters."""
    weight_ih, weight_hh, bias_ih, bias_hh = layer.weights
    weight_ih = weight_ih if entering is None else torch.cat([weight_ih, entering], 1)
    kind = nn.LSTMCell if layer.num_states == 2 else nn.GRUCell
    cell = kind(weight_ih.shape[1], weight_hh.shape[1]).double()
    theirs = (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    for parameter, value in zip(theirs, (weight_ih, weight_hh, bias_ih, bias_hh), strict=True):
        parameter.data.copy_(value)
    return cell


@pytest.mark.parametrize(("score", "layer"), [(None, "bottom"), *((score, "top") for score in (None, *LUONG_SCORES))])
def test_gradients_of_all_steps_at_once_are_autograds(score: str | None, layer: str, cell: str, batch: Batch) -> None:
    if score is None:
        model = build(cell=cell, attention_layer=layer)
    else:
        model = build(cell=cell, attention="luong", score=score, input_feeding=True, decoder_layers=2)

    def gradients() -> tuple[Tensor, ...]:
        return torch.autograd.grad(model(batch).hidden.square().sum(), list(model.parameters()), materialize_grads=True)

    ours = gradients()
    model.decoder._compiled = True  # autograd's own, which a compiler takes
    for mine, other in zip(ours, gradients(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-12)


def test_products_of_a_loop_in_half_precision_are_summed_in_single() -> None:
    generator = torch.Generator().manual_seed(0)
    matrix = torch.randn(8, 8, generator=generator, requires_grad=True)
    first = torch.randn(4, 8, generator=generator, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        with loop_products([matrix.T], first) as x:
            steps = [matmul(x * (1 + i / 100), matrix.T) for i in range(200)]
        assert {step.dtype for step in steps} == {torch.bfloat16}
    sum(step.float().sum() for step in steps).backward()
    expected = sum((first.detach() * (1 + i / 100)).sum(0) for i in range(200)).expand(8, 8)
    torch.testing.assert_close(matrix.grad, expected, rtol=0.01, atol=0.01)


@torch.no_grad()
def test_decoders_are_their_formulas(model: RNN) -> None:
    batch = random_batch([(4, 5)])
    decoder = model.decoder
    state = model.start(batch.src, batch.src_lengths)
    projection = decoder.context_projection
    entries: tuple[Tensor, ...] = () if projection is None else projection.weight.chunk(decoder.num_entered)
    cells = [torch_cell(layer, entries[i] if i < len(entries) else None) for i, layer in enumerate(decoder.layers)]
    states = [layer.unbind(1) for layer in state.hypothesis["recurrent"].unbind(1)]
    attended = AttendedMemory(**state.sentence) if state.sentence else None
    input_feed = torch.zeros(1, 6).double()
    expected = []
    for y in model.embeddings.embed_next(batch.tgt[:, :-1]).unbind(1):
        if decoder.query_before_step:
            entering, _ = decoder._attend(states[decoder.query_layer][0].unsqueeze(1), attended)
            entering = context = entering.squeeze(1)
        else:
            entering = input_feed
        x = y
        for i, torchs in enumerate(cells):
            joined = torch.cat([x, entering], 1) if i < len(entries) else x
            new = torchs(joined, states[i] if len(states[i]) == 2 else states[i][0])
            states[i] = new if isinstance(new, tuple) else (new,)
            x = states[i][0] + (x if i >= 2 else 0)
        features = [x]
        if decoder.attention is not None:
            if not decoder.query_before_step:
                context = decoder._attend(x.unsqueeze(1), attended)[0].squeeze(1)
            features += [context, y] if decoder.query_before_step else [context]
        input_feed = torch.tanh(decoder.output(torch.cat(features, 1)))
        expected.append(input_feed)
    torch.testing.assert_close(model(batch).hidden, torch.cat(expected))


@torch.no_grad()
def test_combinations_keep_the_contract(model: RNN) -> None:
    batch = random_batch([(5, 4), (2, 6), (7, 3)])
    prediction = model(batch)
    state, logits = model.start(batch.src, batch.src_lengths), []
    for token in batch.tgt[:, :-1].unbind(1):
        step, state = model.step(token, state)
        logits.append(step)
    kept = batch.tgt[:, 1:] != PAD
    torch.testing.assert_close(torch.stack(logits, 1)[kept], prediction.hidden @ prediction.weight.T)
    alone = [
        model(Batch.from_ids([src[: s - 1]], [tgt[1 : t - 1]])).hidden
        for src, tgt, s, t in zip(
            batch.src.tolist(), batch.tgt.tolist(), batch.src_lengths, batch.tgt_lengths, strict=True
        )
    ]
    torch.testing.assert_close(prediction.hidden, torch.cat(alone))
    assert prediction.num_source == 0


@torch.no_grad()
def test_later_tokens_change_nothing_earlier(model: RNN) -> None:
    batch = random_batch([(5, 6)])
    before = model(batch).hidden
    batch.tgt[0, 3] = 39 - batch.tgt[0, 3]
    after = model(batch).hidden
    assert torch.equal(before[:3], after[:3])
    assert not torch.allclose(before[3], after[3])


@torch.no_grad()
def test_flops_are_counted(model: RNN) -> None:
    batch = random_batch([(6, 4)])
    with FlopCounterMode(display=False) as counter:
        prediction = model(batch)
        _ = prediction.hidden @ prediction.weight.T
    assert model.flops(7, 6) == counter.get_total_flops()


@pytest.mark.parametrize("depths", [(1, 3), (3, 1)])
@torch.no_grad()
def test_final_states_reach_a_decoder_of_another_depth(depths: tuple[int, int]) -> None:
    model = build(attention="none", encoder_layers=depths[0], decoder_layers=depths[1])
    state = model.start(torch.tensor([[6, 7, 3]]), torch.tensor([3]))
    assert list(state.hypothesis) == ["recurrent"]
    assert not state.sentence
    other = model.start(torch.tensor([[8, 7, 3]]), torch.tensor([3]))
    assert ((state.hypothesis["recurrent"] - other.hypothesis["recurrent"]).abs() > 1e-6).all()


def test_dropout_is_for_training_alone(batch: Batch) -> None:
    model = build(dropout=0.5)
    assert not torch.equal(model(batch).hidden, model(batch).hidden)
    model.eval()
    assert torch.equal(model(batch).hidden, model(batch).hidden)


def outer_dropout(**overrides: Any) -> OuterDropoutRNN:
    rates = {"source_dropout": 0.0, "memory_dropout": 0.0, "output_dropout": 0.0}
    torch.manual_seed(0)
    return OuterDropoutRNN(vocabulary=VOCABULARY, **{**OPTIONS, **rates, **overrides}).double()


def test_without_outer_dropout_it_is_the_rnn_with_the_same_masks(batch: Batch) -> None:
    hidden = []
    for model in (outer_dropout(dropout=0.5), build(dropout=0.5)):
        torch.manual_seed(1)
        hidden.append(model(batch).hidden)
    assert torch.equal(*hidden)


def test_outer_dropout_is_around_the_encoder_and_the_decoder(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each dropout multiplies by a number of its own here."""
    model = outer_dropout()
    for place, factor in (("source", 2), ("memory", 3), ("output", 5)):
        monkeypatch.setattr(getattr(model, f"{place}_dropout"), "forward", partial(mul, factor))
    (embedded, layout), target = model.embed(batch)
    memory = model.encoder(2 * embedded, layout)
    expected = 5 * model.decoder(*target, replace(memory, vectors=3 * memory.vectors))
    torch.testing.assert_close(model(batch).hidden, expected)


@pytest.mark.parametrize("place", ["source", "memory", "output"])
def test_outer_dropout_is_for_training_alone(place: str, batch: Batch) -> None:
    model = outer_dropout(**{f"{place}_dropout": 0.5})
    assert not torch.equal(model(batch).hidden, model(batch).hidden)
    model.eval()
    assert torch.equal(model(batch).hidden, build().eval()(batch).hidden)
    with pytest.raises(UserError, match=rf"model\.{place}_dropout=1\.5 is no probability"):
        outer_dropout(**{f"{place}_dropout": 1.5})


def test_autocast(model: RNN, batch: Batch) -> None:
    model.float()
    expected = model(batch).hidden
    with torch.autocast("cpu", torch.bfloat16):
        hidden = model(batch).hidden
        logits, _ = model.step(batch.tgt[:, 0], model.start(batch.src, batch.src_lengths))
    torch.testing.assert_close(hidden.float(), expected, rtol=0.05, atol=0.05)
    assert logits.isfinite().all()
    hidden.float().square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.encoder.parameters())


@pytest.mark.parametrize("attention", ["bahdanau", "luong"])
def test_learns_to_copy(attention: str) -> None:
    torch.manual_seed(0)
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "embedding_size": 32, "hidden_size": 32}
    model = build(attention=attention, residual=False, tying="three_way", **sizes).float()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(150):
        rows = torch.randint(6, 16, (64, 3)).tolist()
        prediction = model(Batch.from_ids(rows, rows))
        loss = nn.functional.cross_entropy(prediction.hidden @ prediction.weight.T, prediction.targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.3  # (ln 6) / 4 = 0.45 is what knowing the three words, and not their order, leaves


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"cell": "elman"}, "model.cell=elman is unknown; choose one of lstm, gru."),
        ({"bidirectional": "last"}, "model.bidirectional=last is unknown; choose one of all, first, none."),
        ({"attention": "global"}, "model.attention=global is unknown; choose one of none, bahdanau, luong."),
        ({"attention": "luong", "score": "additive"}, f"choose one of {', '.join(LUONG_SCORES)}."),
        ({"score": "dot"}, "model.score=dot belongs to model.attention=luong"),
        ({"attention": "none", "score": "dot"}, "model.attention=none has no choice; set model.score=null."),
        ({"input_feeding": True}, "model.input_feeding=true needs model.attention=luong, not bahdanau"),
        ({"attention": "luong", "attention_layer": "bottom"}, "needs model.attention=bahdanau, not luong"),
        ({"attention_layer": "middle"}, "model.attention_layer=middle is unknown; choose one of top, bottom."),
        ({"hidden_size": 0}, "model.hidden_size=0 must be at least 1."),
        ({"encoder_layers": 2, "decoder_layers": 2}, "model.residual=true starts at the third layer"),
        ({"dropout": 1.0}, "model.dropout=1.0 is no probability"),
        ({"tying": "all"}, "model.tying=all is unknown"),
    ],
)
def test_impossible_choices(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as raised:
        build(**overrides)
    assert message in str(raised.value)


@pytest.mark.parametrize("num_layers", [1, 2])
def test_an_encoder_without_a_third_layer_has_no_residual_connections(num_layers: int) -> None:
    config = RecurrentConfig(cell="lstm", embedding_size=6, hidden_size=8, residual=True, dropout=0.0)
    with pytest.raises(UserError, match="residual=true starts at the third layer; set num_layers to 3 or more"):
        RecurrentEncoder(config, num_layers=num_layers, bidirectional="all")


def test_one_of_both_may_have_residual_connections() -> None:
    model = build(encoder_layers=1, decoder_layers=3)
    assert (model.encoder.residual, model.decoder.residual) == (False, True)


def test_three_way_tying_needs_one_vocabulary() -> None:
    separate = Vocabulary(src_size=40, tgt_size=30, joint=False, src_tag=4, tgt_tag=5)
    with pytest.raises(UserError, match=r"tokenizer\.joint=true"):
        build(separate, tying="three_way")
    assert build(separate, tying="decoder").embedding_parameters == (40 + 30) * 6


@pytest.mark.parametrize("attention", ["none", "bahdanau", "luong"])
def test_attention_is_one_override(attention: str) -> None:
    batch = random_batch([(3, 2)])
    maps = build_model("model=rnn", f"model.attention={attention}").attention_maps(batch)
    assert [(one.name, tuple(one.weights.shape)) for one in maps] == (
        [] if attention == "none" else [("cross", (1, 1, 1, 3, 4))]
    )


@pytest.mark.parametrize("layer", ["top", "bottom"])
def test_an_embedding_is_dropped_out_once_on_its_way_to_the_readout(
    layer: str, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build_model("model=rnn_bahdanau", f"model.attention_layer={layer}", "model.dropout=0.5").train()
    seen: list[Tensor] = []

    def readout(_: Tensor, embedded: Tensor) -> Tensor:
        seen.append(embedded)
        return embedded

    monkeypatch.setattr(model.decoder, "readout", readout)
    model(batch)
    assert torch.equal(seen[0], model.embed(batch)[1][0])

"""Every kernel against its plain PyTorch reference: values and gradients; and the choice between them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path

import pytest
import torch
from conftest import build_model, random_batch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from triptych import kernels
from triptych.contract.batch import Batch
from triptych.decoding.batches import decode
from triptych.decoding.search import Search
from triptych.errors import UserError
from triptych.kernels import (
    cpu_memory,
    dropout,
    fast_matmul,
    fused_recurrent,
    in_place,
    linear_cross_entropy,
    loop_matmul,
    lstm,
    packed_linear,
    precision,
    rows,
    thread_map,
    topk,
)
from triptych.training.loss import TranslationLoss

ARCHITECTURES = [
    "transformer",
    "transformer model.norm_position=post model.positions=sinusoidal model.activation=swiglu",
    "lm4mt",
    "lm4mt model.source_attention=bidirectional",
    "rnn_none",
    "rnn_bahdanau",
    "rnn_luong",
    "rnn_luong model.input_feeding=true model.score=general",
    "rnn model.cell=gru",
    "convs2s",
    "hybrid",
    "hybrid model/encoder=transformer model/decoder=rnn",
    "hybrid model/encoder=recurrent_blocks model/decoder=recurrent_blocks",
]


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def values_and_gradients(function: Callable[..., Tensor], *inputs: Tensor) -> list[Tensor]:
    inputs = tuple(x.clone().requires_grad_(x.is_floating_point()) for x in inputs)
    value = function(*inputs)
    weights = torch.linspace(-1, 1, value.numel()).view(value.shape).to(value.dtype)
    (value * weights).sum().backward()
    return [value.detach(), *(x.grad for x in inputs if x.grad is not None)]


def test_gather_and_scatter() -> None:
    x, some = torch.randn(9, 3), torch.tensor([7, 0, 4])
    fast = values_and_gradients(rows.gather_rows, x, some)
    plain = values_and_gradients(rows.gather_rows_reference, x, some)
    torch.testing.assert_close(fast, plain, rtol=0, atol=0)
    fast = values_and_gradients(lambda x: rows.scatter_rows(x, some, 9), x[:3])
    plain = values_and_gradients(lambda x: rows.scatter_rows_reference(x, some, 9), x[:3])
    torch.testing.assert_close(fast, plain, rtol=0, atol=0)


@pytest.mark.parametrize("width", [64 * 30, 64 * 30 + 5, 70])
@pytest.mark.parametrize("different", [10_000, 3])
def test_largest_elements(width: int, different: int) -> None:
    x = torch.randint(different, (50, width)).float()  # many are equal
    x[0, :-7] = float("-inf")
    values, columns = topk.topk(x, 10)
    expected, _ = topk.topk_reference(x, 10)
    assert torch.equal(values.sort().values, expected.sort().values)
    assert torch.equal(x.gather(1, columns), values)
    assert all(len(set(row)) == 10 for row in columns.tolist())


@pytest.fixture
def packings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of the products that weights are packed for."""
    counts: list[int] = []
    pack = torch.ops.mkldnn._reorder_linear_weight
    monkeypatch.setattr(
        torch.ops.mkldnn, "_reorder_linear_weight", lambda weight, rows: (counts.append(rows), pack(weight, rows))[1]
    )
    return counts


def test_products_with_a_packed_weight(packings: list[int]) -> None:
    weight = nn.Parameter(torch.randn(300, 48))
    with torch.inference_mode(), packed_linear.constant_weights():
        for count in (4, 200, 64, 3, 500):
            x = torch.randn(count, 48)
            with packed_linear.constant_weights():
                found = packed_linear.packed_linear(x, weight)
            torch.testing.assert_close(found, packed_linear.packed_linear_reference(x, weight))
    assert packings == ([200] if torch.backends.mkldnn.is_available() else [])


@pytest.mark.parametrize("bias", [True, False])
def test_linear_layers_of_a_search_are_packed_once(packings: list[int], bias: bool) -> None:
    layer, plain = packed_linear.Linear(48, 300, bias=bias), nn.Linear(48, 300, bias=bias)
    plain.load_state_dict(layer.state_dict())
    with packed_linear.constant_weights():
        layer(torch.randn(100, 48)).sum().backward()
        with torch.no_grad():
            for shape in ((30, 48), (5, 20, 48), (2, 3, 48)):
                x = torch.randn(shape)
                torch.testing.assert_close(layer(x), plain(x))
            with torch.autocast("cpu", torch.bfloat16):
                assert layer(x).dtype == torch.bfloat16
            torch.testing.assert_close(layer.double()(x.double()), plain.double()(x.double()))
    assert packings == ([100] if torch.backends.mkldnn.is_available() else [])


@pytest.mark.parametrize("architecture", ["transformer", "lm4mt", "convs2s"])
def test_a_search_packs_each_linear_layer(architecture: str, packings: list[int]) -> None:
    model = build_model(f"model={architecture}").float()
    sources = [[6 + (i * j) % 30 for j in range(1, 3 + i % 4)] for i in range(40)]
    search = Search(
        beam_size=2,
        length_penalty=0.6,
        max_length_ratio=1.0,
        max_length_extra=2,
        min_length=0,
        stop="exact",
        n_best=1,
    )
    with kernels.use("reference"):
        expected = decode(model, sources, search, 10_000, "cpu")
    assert not packings
    threads = torch.get_num_threads()
    for number in (1, 2):
        torch.set_num_threads(number)
        try:
            found = decode(model, sources, search, 10_000, "cpu")
        finally:
            torch.set_num_threads(threads)
        for [ours], [plain] in zip(found, expected, strict=True):
            assert ours.tokens == plain.tokens
            assert ours.log_probability == pytest.approx(plain.log_probability, abs=1e-4)
        if number == 1 and torch.backends.mkldnn.is_available():
            layers = sum(isinstance(layer, nn.Linear) for layer in model.modules())
            assert len(packings) == layers + 1, "those of the model, and the projection to the vocabulary"


def test_a_weight_may_change_between_searches() -> None:
    weight, x = nn.Parameter(torch.randn(300, 48)), torch.randn(100, 48)
    for _ in range(2):
        with torch.inference_mode(), packed_linear.constant_weights():
            found = packed_linear.packed_linear(x, weight)
            torch.testing.assert_close(found, packed_linear.packed_linear_reference(x, weight))
        weight.data.mul_(2)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_parts_on_threads(workers: int) -> None:
    """As many parts at a time as there are workers, each with this thread's settings."""
    setting, threads = ContextVar("setting", default=0), torch.get_num_threads()
    setting.set(10)
    together = threading.Barrier(workers)

    def work(part: int, check: Callable[[], None]) -> tuple[int, torch.dtype, bool]:
        check()
        together.wait(timeout=60)
        x = torch.ones(2, 2, requires_grad=True)
        product = x @ x
        return part + setting.get(), product.dtype, product.requires_grad

    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        found = list(thread_map.thread_map(work, range(6), workers))
    assert found == [(part + 10, torch.bfloat16, False) for part in range(6)]
    assert torch.get_num_threads() == threads


def test_threads_that_start_meanwhile_have_all_of_pytorchs() -> None:
    threads, found = torch.get_num_threads(), list[int]()
    torch.set_num_threads(4)
    try:

        def work(part: int, check: Callable[[], None]) -> int:
            if part == 0:
                other = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
                other.start()
                other.join()
            return torch.get_num_threads()

        assert list(thread_map.thread_map(work, range(2), 2)) == [2, 2]
        assert found == [4]
    finally:
        torch.set_num_threads(threads)


def test_a_worker_that_is_late_from_the_start_does_not_keep_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """All parts may be done before a worker has noticed that all have started; the pool then never ended, at times."""

    class Late(threading.Barrier):
        def wait(self, timeout: float | None = None) -> int:
            number = super().wait(timeout)
            if number == 0 and threading.current_thread() is not threading.main_thread():
                raise threading.BrokenBarrierError
            return number

    monkeypatch.setattr(thread_map, "Barrier", Late)
    for _ in range(50):
        assert list(thread_map.thread_map(lambda part, _: part, range(2), 2)) == [0, 1]


@pytest.mark.parametrize("failing", [0, 1])
def test_a_part_that_fails_stops_the_others(failing: int) -> None:
    begun: list[int] = []

    def work(part: int, check: Callable[[], None]) -> None:
        check()
        begun.append(part)
        if part == failing:
            raise ValueError(f"the part {failing}")
        while True:
            check()
            time.sleep(0.001)

    with pytest.raises(ValueError, match=f"the part {failing}"):
        list(thread_map.thread_map(work, range(50), 2))
    assert set(begun) <= {0, 1}


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_linear_cross_entropy(smoothing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(linear_cross_entropy.CHUNK_ELEMENTS, "cpu", 17 * 70)  # several chunks
    hidden, weight, targets = torch.randn(150, 8), torch.randn(17, 8), torch.randint(17, (150,))
    of_tokens = torch.rand(150) / 150, torch.full((150,), smoothing)

    def run(function: Callable[..., tuple[Tensor, Tensor]]) -> tuple[list[Tensor], Tensor]:
        found = values_and_gradients(lambda h, w: function(h, w, targets, *of_tokens)[0], hidden, weight)
        return found, function(hidden, weight, targets, *of_tokens)[1]

    fast, plain = (
        run(one)
        for one in (linear_cross_entropy.linear_cross_entropy, linear_cross_entropy.linear_cross_entropy_reference)
    )
    torch.testing.assert_close(fast, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("both", [False, True])
def test_padded_lstm(both: bool) -> None:
    layer = nn.LSTM(5, 7, batch_first=True, bidirectional=both)
    x, lengths = torch.randn(4, 6, 5), torch.tensor([3, 6, 1, 4])
    padding = (torch.arange(6) >= lengths[:, None]).unsqueeze(-1)

    def run(function: Callable[..., lstm.Outputs]) -> list[Tensor]:
        layer.zero_grad()

        def outputs(x: Tensor) -> Tensor:
            output, last = function(layer, x, lengths)
            return torch.cat([output.masked_fill(padding, 0).flatten(), *(part.flatten() for part in last)])

        found = values_and_gradients(outputs, x)
        return [*found, *(parameter.grad for parameter in layer.parameters() if parameter.grad is not None)]

    def packed(layer: nn.LSTM, x: Tensor, lengths: Tensor) -> lstm.Outputs:
        output, (h, c) = layer(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        padded, _ = pad_packed_sequence(output, batch_first=True, total_length=x.shape[1])
        return padded, (h.transpose(0, 1).flatten(1), c.transpose(0, 1).flatten(1))

    assert lstm.has_padded_lstm(x, layer) == torch.backends.mkldnn.is_available()
    torch.testing.assert_close(run(lstm.padded_lstm), run(packed), rtol=1e-4, atol=1e-5)


def test_products_of_a_loop() -> None:
    first, matrix, memory = torch.randn(3, 5), torch.randn(5, 5), torch.randn(3, 5, 5)

    def run(products: Callable[..., AbstractContextManager[Tensor]]) -> list[Tensor]:
        def loop(first: Tensor, matrix: Tensor, memory: Tensor) -> Tensor:
            with products([matrix.T, memory], first) as x:
                for _ in range(4):
                    x = torch.tanh(
                        loop_matmul.matmul(x, matrix.T) + loop_matmul.matmul(x.unsqueeze(1), memory).squeeze(1)
                    )
            return x

        return values_and_gradients(loop, first, matrix, memory)

    plain = run(loop_matmul.loop_products_reference)
    torch.testing.assert_close(run(loop_matmul.loop_products), plain, rtol=1e-5, atol=1e-6)


def test_products_after_a_loop_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise Refused

    monkeypatch.setattr(loop_matmul._Product, "forward", refuse)
    x, matrix = torch.randn(3, 5, requires_grad=True), torch.randn(5, 5)

    def loop() -> None:
        with loop_matmul.loop_products([matrix], x) as start:
            loop_matmul.matmul(start, matrix)

    with pytest.raises(Refused):
        loop()
    assert torch.equal(loop_matmul.matmul(x, matrix), x @ matrix)
    with torch.no_grad():
        loop()
    with kernels.use("reference"):
        loop()


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_cells_in_place(cell: str) -> None:
    gates, parts = (4, 2) if cell == "lstm" else (3, 1)
    inputs, state = torch.randn(3, gates * 5), torch.randn(parts, 3, 5)
    weight, bias = torch.randn(gates * 5, 5), torch.randn(gates * 5)

    def run(function: in_place.Cell) -> list[Tensor]:
        return values_and_gradients(
            lambda x, state, *of: torch.stack(function(x, state.unbind(), *of)), inputs, state, weight, bias
        )

    fast, plain = run(getattr(in_place, f"{cell}_cell")), run(getattr(in_place, f"{cell}_cell_reference"))
    torch.testing.assert_close(fast, plain, rtol=0, atol=0)


def test_tanh_in_place() -> None:
    x, y = torch.randn(3, 1, 5), torch.randn(4, 5)
    fast = values_and_gradients(in_place.tanh_of_sum, x, y)
    torch.testing.assert_close(fast, values_and_gradients(in_place.tanh_of_sum_reference, x, y), rtol=0, atol=0)
    x, bias = torch.randn(3, 5), torch.randn(5)
    fast = values_and_gradients(lambda x, bias: in_place.biased_tanh(x * 2, bias), x, bias)
    plain = values_and_gradients(lambda x, bias: in_place.biased_tanh_reference(x * 2, bias), x, bias)
    torch.testing.assert_close(fast, plain, rtol=0, atol=0)


def test_dropout_scales_alike() -> None:
    """The masks differ: each kernel draws its own."""
    for function in (dropout.dropout, dropout.dropout_reference):
        dropped, gradient = values_and_gradients(lambda x, of=function: of(x, 0.25), torch.ones(100_000))
        assert dropped.unique().tolist() == pytest.approx([0, 4 / 3], rel=1e-4)
        assert float((dropped == 0).float().mean()) == pytest.approx(0.25, abs=0.01)
        torch.testing.assert_close(gradient, torch.linspace(-1, 1, 100_000) * dropped)


@pytest.mark.skipif(not fast_matmul.is_faster(), reason="on this processor PyTorch's own products are used")
def test_products_by_another_library() -> None:
    one, other = torch.randn(64, 64), torch.randn(64, 64)
    found = []
    for context in (fast_matmul.fast_products, fast_matmul.products_reference):
        with context(torch.device("cpu")):
            found.append(values_and_gradients(torch.matmul, one, other))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(not precision.has_bf16(), reason="without bf16 instructions fused layers stay in single precision")
def test_precision_of_fused_layers() -> None:
    layer, x = nn.GRU(4, 4, batch_first=True), torch.randn(2, 3, 4)
    with torch.autocast("cpu", torch.bfloat16):
        with precision.fused_precision(torch.device("cpu")):
            fast = layer(x)[0].float()
        with precision.fused_precision_reference(torch.device("cpu")):
            plain = layer(x)[0]
        assert precision.cast_once(x).dtype == torch.bfloat16
        assert precision.cast_once_reference(x) is x
    torch.testing.assert_close(fast, plain, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("both", [False, True])
def test_a_layer_with_its_weights_cast(kind: type[nn.LSTM] | type[nn.GRU], both: bool) -> None:
    """In double precision, since a CPU has no fused layers in half precision; the gradients reach the layer itself."""
    layer = kind(4, 5, batch_first=True, bidirectional=both)
    x, h = torch.randn(3, 6, 4), torch.randn(1 + both, 3, 5)
    state = (h, torch.randn_like(h)) if kind is nn.LSTM else (h,)
    packed = pack_padded_sequence(x, torch.tensor([6, 4, 1]), batch_first=True)
    for inputs, before in ((x, state), (x, None), (packed, None)):
        found = fused_recurrent.run_cast(layer, inputs, before, torch.float64)
        expected = fused_recurrent.run_recurrent_reference(layer, inputs, before)
        outputs = [one if isinstance(one, torch.Tensor) else one.data for one in (found[0], expected[0])]
        gradients = [torch.autograd.grad(output.sin().sum(), layer.parameters()) for output in outputs]
        assert outputs[0].dtype == torch.float64
        torch.testing.assert_close([outputs[0], found[1]], [outputs[1], expected[1]], check_dtype=False)
        torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-5, atol=1e-5)


def test_the_reference_leaves_the_allocator_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise AssertionError("the C library was opened")

    monkeypatch.setattr(cpu_memory.ctypes, "CDLL", refuse)
    with kernels.use("reference"):
        cpu_memory.keep_freed_memory()


def test_the_choice_ends_with_its_block() -> None:
    assert kernels.fast()
    with kernels.use("reference"):
        assert not kernels.fast()
        with kernels.use("fast"):
            assert kernels.fast()
        assert not kernels.fast()
    assert kernels.fast()

    def fail() -> None:
        with kernels.use("reference"):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert kernels.fast()


def test_an_unknown_choice_is_refused() -> None:
    with pytest.raises(UserError, match=r"^strategy\.kernels=turbo is unknown; choose one of fast, reference\.$"):
        kernels.use("turbo").__enter__()


class Refused(Exception):
    """A kernel ran."""


def test_the_reference_runs_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the kernels that are made to fail here, each model uses one, and the reference uses none."""

    def refuse(*_: object, **__: object) -> None:
        raise Refused

    for owner, name in (
        (rows._Gather, "forward"),
        (rows._Scatter, "forward"),
        (linear_cross_entropy._ChunkedLinearCrossEntropy, "forward"),
        (loop_matmul._Product, "forward"),
        (torch, "lstm"),
        (dropout.np.random, "SFC64"),
    ):
        monkeypatch.setattr(owner, name, refuse)
    batch = random_batch([(5, 4), (2, 6), (7, 3)] * 5)
    for name in ("transformer", "rnn_bahdanau", "lm4mt"):
        model = build_model(f"model={name}").float().train()
        loss = TranslationLoss(label_smoothing=0.1, mean="terms", autoencode=lambda _: 0.5)
        with kernels.use("reference"):
            loss(model(batch), batch.step_tokens, 0.5).loss.backward()
        with pytest.raises(Refused):
            loss(model(batch), batch.step_tokens, 0.5).loss.backward()


def losses(architecture: str, choice: str, steps: int) -> Tensor:
    """Of so many optimizer steps in single precision, without dropout, whose masks differ."""
    torch.manual_seed(0)
    model = build_model(*f"model={architecture}".split(), "scale.dropout=0").float().train()
    loss = TranslationLoss(label_smoothing=0.1, mean="terms", autoencode=lambda progress: 1 - progress)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    found = []
    with kernels.use(choice):
        for step in range(steps):
            batch: Batch = random_batch([(5, 4), (12, 6), (7, 13), (3, 3)] * 6, seed=step)
            parts = loss(model(batch), batch.step_tokens, step / steps)
            parts.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            found.append(parts.loss.detach())
    return torch.stack(found)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_losses_are_those_of_the_reference(architecture: str) -> None:
    fast, plain = (losses(architecture, choice, steps=4) for choice in kernels.CHOICES)
    torch.testing.assert_close(fast, plain, rtol=1e-5, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_losses_of_50_steps_are_those_of_the_reference(architecture: str) -> None:
    fast, plain = (losses(architecture, choice, steps=50) for choice in kernels.CHOICES)
    torch.testing.assert_close(fast, plain, rtol=1e-5, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["transformer", "rnn_luong"])
def test_a_run_takes_the_choice_of_its_strategy(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In training, validation and search, and a later run of the process has its own."""
    from triptych.commands import cli
    from triptych.decoding import search

    seen: list[bool] = []
    limit, forward = search.Search.limit, linear_cross_entropy.LinearCrossEntropy.forward

    def spy(function: Callable[..., object]) -> Callable[..., object]:
        def spied(*args: object) -> object:
            seen.append(kernels.fast())
            return function(*args)

        return spied

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(search.Search, "limit", spy(limit))
    monkeypatch.setattr(linear_cross_entropy.LinearCrossEntropy, "forward", spy(forward))
    for choice in ("reference", "fast"):
        seen.clear()
        options = [f"model={model}", "scale=smoke", "cache=cache", f"strategy.kernels={choice}"]
        monkeypatch.setattr("sys.argv", ["triptych", "train", *options])
        assert cli.main() == 0
        assert set(seen) == {choice == "fast"}
    assert kernels.fast()

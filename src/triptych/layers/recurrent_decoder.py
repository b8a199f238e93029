"""The recurrent decoder: all steps at once where it can, one by one where attention feeds back.

B sentences, S source and T target positions, E features of an embedding, H units, M features of the memory, L layers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from triptych.contract.decoder_state import DecoderState
from triptych.kernels.dropout import Dropout
from triptych.kernels.loop_matmul import Product, Shared
from triptych.layers.recurrent import Carried, Encoder, Layer, Weights, add_residual, init_gates
from triptych.layers.rnn_attention import Alignment


class Loop(NamedTuple):
    """What every step of a decoder that goes step by step has in common.

    Attributes:
        weights: of each layer.
        state: at the start.
        product: with what the steps share.
    """

    weights: list[Weights]
    state: DecoderState
    product: Product


Step = Callable[[Tensor, list[Carried], Tensor | None, Loop], tuple[Tensor, Tensor, list[Carried], Tensor | None]]
"""One step: from what the embedding gives to the bottom layer's gates (B, G * H), what each layer carries and what is
fed back, to an output, the weights of attention (B, 1, S), and what is carried and fed back from here."""


class RecurrentDecoder(nn.Module):
    """Layers that start from the encoder's final states; attention; and the hidden vectors, tanh(W_o […] + b_o).

    What attention returns enters the gates of some layers by a matrix of its own, as in s_i = f(s_{i-1}, y_{i-1}, c_i)
    (Bahdanau et al. 2015, appendix A.2.2); whatever does not wait for it is computed for all steps in one product.

    Args:
        encoder: whose states and outputs it takes.
        cell: ``lstm`` or ``gru``.
        num_layers: L.
        embedding_size: E, also the size of the hidden vectors.
        hidden_size: H.
        residual: see ``add_residual``.
        score: None, no attention; ``additive``, the state before a step asks (Bahdanau); any other of ``Alignment``,
            the state after it asks (Luong). A product projects a memory that is not of size H.
        attention_layer: with ``additive``, whose state asks; ``top``, and the context enters the bottom layer, or
            ``bottom``, and it enters all of them.
        input_feeding: the last hidden vector enters the bottom layer; not with ``additive``.
        dropout: on whatever enters a layer or W_o.
    """

    def __init__(
        self,
        *,
        encoder: Encoder,
        cell: str,
        num_layers: int,
        embedding_size: int,
        hidden_size: int,
        residual: bool,
        score: str | None,
        attention_layer: str,
        input_feeding: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        self.hidden_size, self.residual = hidden_size, residual
        self.asks_first = score == "additive"
        self.asking = 0 if attention_layer == "bottom" else num_layers - 1
        self.dropout = Dropout(dropout)
        below = [embedding_size] + [hidden_size] * (num_layers - 1)
        self.stack = nn.ModuleList(Layer(cell=cell, input_size=size, hidden_size=hidden_size) for size in below)
        self.parts = self.layers[0].parts
        # Counted from the top, so that the encoder's highest states reach a decoder of any depth.
        self.sources = [max(0, len(encoder.layers) - num_layers + i) for i in range(num_layers)]
        self.bridges = nn.ModuleList(
            nn.Linear(encoder.layers[i].output_size, hidden_size) for i in self.sources for _ in range(self.parts)
        )
        plain_product = score in ("dot", "scaled_dot") and encoder.output_size != hidden_size
        memory_size = hidden_size if plain_product else encoder.output_size
        self.projection = nn.Linear(encoder.output_size, hidden_size, bias=False) if plain_product else None
        self.alignment = (
            None if score is None else Alignment(score=score, query_size=hidden_size, memory_size=memory_size)
        )
        context = 0 if score is None else memory_size
        self.output = nn.Linear(hidden_size + context + (embedding_size if self.asks_first else 0), embedding_size)
        self.entry = None
        if self.asks_first or input_feeding:
            gates = self.layers[0].gates * hidden_size
            self.entered = num_layers if attention_layer == "bottom" else 1
            self.entry = nn.Linear(context if self.asks_first else embedding_size, self.entered * gates, bias=False)
        self._step: Step = self._ask_first if self.asks_first else self._feed
        self._compiled = False
        for module in self.modules():
            if isinstance(module, nn.Linear):
                init_gates(module.weight, hidden_size if module is self.entry else len(module.weight))
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """The single step, where attention feeds back; whole sequences have kernels of their own."""
        if self.entry is not None:
            self._step = torch.compile(self._step, *args, **kwargs)
            self._compiled = True

    @property
    def layers(self) -> list[Layer]:
        return [layer for layer in self.stack if isinstance(layer, Layer)]

    def start(self, memory: Tensor, finals: list[Carried], mask: Tensor) -> DecoderState:
        """The state before the first step.

        Args:
            memory: (B, S, M) outputs of the encoder.
            finals: what each of its layers carries at the end.
            mask: (B, 1, S), True where the source is no padding.
        """
        parts = [part for i in self.sources for part in finals[i]]
        bridged = [torch.tanh(bridge(part)) for bridge, part in zip(self.bridges, parts, strict=True)]
        # (B, L * parts, H) -> (B, L, parts, H), in the encoder's precision also under autocast
        carried = torch.stack(bridged, 1).to(memory.dtype).reshape(len(memory), -1, self.parts, self.hidden_size)
        sentence, hypothesis = {}, {"carried": carried}
        if self.alignment is not None:
            memory = memory if self.projection is None else self.projection(memory)
            keys = self.alignment.keys(memory)
            sentence = {"keys": keys, "memory": cast_once(memory), "mask": mask}
        if self.entry is not None and not self.asks_first:
            hypothesis["fed"] = carried.new_zeros(len(memory), self.output.out_features)
        return DecoderState(sentence, hypothesis)

    def forward(self, embedded: Tensor, state: DecoderState) -> tuple[Tensor, Tensor | None, DecoderState]:
        """Some steps, one or all.

        Args:
            embedded: (B, T, E) the tokens before each; in search B = A * W, W hypotheses of each of A sentences.
            state: of ``start``, or of the call before.

        Returns:
            The hidden vectors (B, T, E), the weights (B, T, S) of attention, and the new state.
        """
        first = state.hypothesis["carried"]
        x = self.dropout(embedded)
        fed = state.hypothesis.get("fed")
        if self.entry is None:
            carried = _of_layers(first)
            hidden, weights = self._at_once(x, carried, state)
        else:
            hidden, weights, carried, fed = self._one_by_one(x, first, state, fed)
        new = {"carried": torch.stack([torch.stack(layer, 1) for layer in carried], 1)}
        return hidden, weights, DecoderState(state.sentence, new if fed is None else {**new, "fed": fed})

    def _at_once(self, x: Tensor, carried: list[Carried], state: DecoderState) -> tuple[Tensor, Tensor | None]:
        for i, layer in enumerate(self.layers):
            output, carried[i] = layer(x if i == 0 else self.dropout(x), carried[i])
            x = add_residual(x, output, i, self.residual)
        if self.alignment is None:
            return self._hidden(x), None
        context, weights = self._attend(x, state)
        return self._hidden(x, context), weights

    def _one_by_one(
        self, x: Tensor, first: Tensor, state: DecoderState, fed: Tensor | None
    ) -> tuple[Tensor, Tensor, list[Carried], Tensor | None]:
        outputs, attended = [], []
        weights = [layer.weights for layer in self.layers]
        loop = Loop(weights, state, torch.matmul)
        if torch.is_grad_enabled() and not self._compiled:
            shared = Shared(self._shared(loop))
            loop, first = loop._replace(product=shared), shared.begin(first)
        carried = _of_layers(first)
        for inputs in self.layers[0].inputs(x.transpose(0, 1), weights[0]):
            output, attention, carried, fed = self._step(inputs, carried, fed, loop)
            outputs.append(output)
            attended.append(attention)
        hidden = torch.stack(outputs, 1)
        return self._hidden(hidden, x) if self.asks_first else hidden, torch.cat(attended, 1), carried, fed

    def _shared(self, loop: Loop) -> list[Tensor]:
        """What every step multiplies by."""
        assert self.entry is not None
        assert self.alignment is not None
        of_layers = [weight_hh.T for _, weight_hh, _, _ in loop.weights]
        of_layers += [weight_ih.T for weight_ih, *_ in loop.weights[1:]]
        attended = self.alignment.shared(loop.state.sentence["keys"], loop.state.sentence["memory"])
        return [*of_layers, self.entry.weight.T, *attended, *([] if self.asks_first else [self.output.weight.T])]

    def _ask_first(
        self, inputs: Tensor, carried: list[Carried], fed: Tensor | None, loop: Loop
    ) -> tuple[Tensor, Tensor, list[Carried], Tensor | None]:
        """Bahdanau's ``Step``: the output is state and context (B, H + M), to which W_o adds the embedding."""
        context, attention = self._attend(carried[self.asking][0].unsqueeze(1), loop.state, loop.product)
        top, carried = self._through_layers(inputs, context.squeeze(1), carried, loop)
        return torch.cat([top, context.squeeze(1)], 1), attention, carried, fed

    def _feed(
        self, inputs: Tensor, carried: list[Carried], fed: Tensor | None, loop: Loop
    ) -> tuple[Tensor, Tensor, list[Carried], Tensor | None]:
        """Luong's ``Step`` with input feeding: the output is the hidden vector (B, E), which is fed back."""
        assert fed is not None
        top, carried = self._through_layers(inputs, fed, carried, loop)
        context, attention = self._attend(top.unsqueeze(1), loop.state, loop.product)
        hidden = self._hidden(top, context.squeeze(1), product=loop.product)
        return hidden, attention, carried, hidden

    def _through_layers(
        self, inputs: Tensor, entering: Tensor, carried: list[Carried], loop: Loop
    ) -> tuple[Tensor, list[Carried]]:
        """The top layer's output (B, H), and what each carries.

        Args:
            inputs: (B, G * H) what the embedding gives to the bottom layer's gates.
            entering: (B, M or E) what enters by ``entry``.
            carried: of each layer.
            loop: what the steps share.
        """
        assert self.entry is not None
        entries = loop.product(self.dropout(entering), self.entry.weight.T).chunk(self.entered, dim=-1)
        x, new = inputs, []
        for i, layer in enumerate(self.layers):
            if i > 0:
                inputs = layer.inputs(self.dropout(x), loop.weights[i], loop.product)
            if i < self.entered:
                inputs = inputs + entries[i]
            new.append(layer.step(inputs, carried[i], loop.weights[i], loop.product))
            x = add_residual(x, new[i][0], i, self.residual)
        return x, new

    def _attend(self, query: Tensor, state: DecoderState, product: Product = torch.matmul) -> tuple[Tensor, Tensor]:
        """Queries (B, T, H) to contexts (B, T, M) and weights (B, T, S); the hypotheses of a sentence ask together."""
        assert self.alignment is not None
        keys, memory, mask = (state.sentence[name] for name in ("keys", "memory", "mask"))
        together = query.reshape(len(keys), -1, query.shape[2])  # (A * W, T, H) -> (A, W * T, H)
        context, weights = self.alignment(together, keys, memory, mask, product)
        return context.view(*query.shape[:2], -1), weights.view(*query.shape[:2], -1)

    def _hidden(self, *features: Tensor, product: Product = torch.matmul) -> Tensor:
        """tanh(W_o [features] + b_o): (…, F) to (…, E)."""
        return product(self.dropout(torch.cat(features, dim=-1)), self.output.weight.T).add_(self.output.bias).tanh_()

    def flops(self, positions: int, steps: int) -> int:
        """Of ``steps`` steps over one source of ``positions``, the start included."""
        total = sum(layer.flops(steps) for layer in self.layers) + 2 * steps * self.output.weight.numel()
        total += sum(2 * weight.numel() for weight in self.bridges.parameters() if weight.dim() == 2)
        total += 0 if self.projection is None else 2 * positions * self.projection.weight.numel()
        total += 0 if self.entry is None else 2 * steps * self.entry.weight.numel()
        return total + (0 if self.alignment is None else self.alignment.flops(steps, positions))


def _of_layers(carried: Tensor) -> list[Carried]:
    """(B, L, parts, H), layer by layer."""
    return [layer.unbind(1) for layer in carried.unbind(1)]


def cast_once(x: Tensor) -> Tensor:
    """As autocast would cast it anew at every step."""
    device = x.device.type
    return x.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else x

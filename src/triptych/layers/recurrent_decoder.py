"""The recurrent decoder: without attention, with Bahdanau's, or with Luong's.

Its three steps are ``without_attention``, ``bahdanau_step`` and ``luong_step``. Where no step waits for the attention
of the step before, all of them run at once.

B sentences, S source and T target positions, E dimension of an embedding, H units, M dimension of the memory, L layers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from triptych.contract.decoder_state import DecoderState
from triptych.contract.flat_config import flat_config
from triptych.contract.gpu_shares import GpuShares
from triptych.kernels.in_place import biased_tanh
from triptych.kernels.loop_matmul import loop_products, loop_products_reference, matmul
from triptych.kernels.packed_linear import Linear
from triptych.kernels.precision import cast_once
from triptych.layers.encoder_decoder import Encoder, Memory, RecurrentState, StepwiseDecoder
from triptych.layers.recurrent import RecurrentConfig, RecurrentEncoder, Weights, init_gates
from triptych.layers.recurrent_stack import RecurrentStack, as_tensor, layer_states
from triptych.layers.rnn_attention import SCORES, AttendedMemory, RNNAttention, check_attention
from triptych.ranges import Layers


class Loop(NamedTuple):
    """What the steps of a loop have in common.

    Attributes:
        parameters: of each layer.
        attended: the source, as attention needs it.
    """

    parameters: list[Weights]
    attended: AttendedMemory


class StepResult(NamedTuple):
    """What a step of a loop gives.

    Attributes:
        output: hidden_i (B, E) with Luong; [s_i; c_i] (B, H + M) with Bahdanau, whose hidden_i is made after the loop.
        alpha: (B, 1, S) alpha_i.
        states: s_i of each layer.
        input_feed: (B, E) what the next step is fed, if anything.
    """

    output: Tensor
    alpha: Tensor
    states: list[RecurrentState]
    input_feed: Tensor | None


class RecurrentDecoder(RecurrentStack, StepwiseDecoder):
    """Recurrent layers, attention, and the hidden vectors: tanh(W_c […] + b_c), of dimension E.

    With ``residual``, s is the top layer's output plus its input. Luong's query and W_c use this sum. Bahdanau's query
    is the layer's state, without it.

    Args:
        config: what encoder and decoder share.
        num_layers: L.
        attention: ``none``, ``bahdanau`` or ``luong``.
        score: with luong, one of ``LUONG_SCORES``, or None for ``general``; must be None otherwise. ``dot`` and
            ``scaled_dot`` need M = H; otherwise the memory is first projected to H, and c_i sums the projections.
        attention_layer: with bahdanau, ``top``: the query is the top layer's previous state, and the context enters the
            bottom layer; ``bottom``: the query is the bottom layer's, and the context enters all layers (GNMT, Wu et
            al. 2016, section 3).
        input_feeding: with luong, the previous hidden vector enters the bottom layer (Luong et al. 2015, section 3.3).
        encoder: that it decodes from.

    Raises:
        UserError: a value that is not allowed, or one that the others leave without effect.
    """

    sizes = (("hidden_size",),)

    @flat_config
    def __init__(
        self,
        config: RecurrentConfig,
        *,
        num_layers: Layers,
        attention: str,
        score: str | None,
        attention_layer: str,
        input_feeding: bool,
        encoder: Encoder,
    ) -> None:
        check_attention(attention, score, attention_layer, input_feeding)
        super().__init__(config, num_layers=num_layers, encoder=encoder)
        self.query_before_step = attention == "bahdanau"
        self.query_layer = 0 if attention_layer == "bottom" else num_layers - 1
        score_name = {"none": None, "bahdanau": "additive", "luong": score or "general"}[attention]
        context_size = self._build_attention(score_name, encoder.memory_size)
        embedding = self.embedding_size if self.query_before_step else 0
        self.output = nn.Linear(self.hidden_size + context_size + embedding, self.embedding_size)  # W_c
        # The context (Bahdanau) or the input feed (Luong) enters the layers by a matrix of its own.
        self.context_projection: nn.Linear | None = None
        if self.query_before_step or input_feeding:
            self.num_entered = num_layers if attention_layer == "bottom" else 1
            gates = self.num_entered * self.layers[0].num_gates * self.hidden_size
            entering = context_size if self.query_before_step else self.embedding_size
            self.context_projection = nn.Linear(entering, gates, bias=False)
        # A function, not a method of this decoder: compiled, it must serve copies of the decoder as well.
        step = RecurrentDecoder.bahdanau_step if self.query_before_step else RecurrentDecoder.luong_step
        self._step: Callable[..., StepResult] = step
        self._compiled = False
        for module in self.modules():
            if isinstance(module, nn.Linear):
                init_gates(module.weight, self.hidden_size if module is self.context_projection else len(module.weight))
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def _build_attention(self, score: str | None, memory_size: int) -> int:
        """Return the dimension of a context."""
        self.memory_projection: nn.Linear | None = None
        self.attention: RNNAttention | None = None
        if score is None:
            return 0
        if SCORES[score].needs_equal_sizes and memory_size != self.hidden_size:
            self.memory_projection = Linear(memory_size, self.hidden_size, bias=False)
            memory_size = self.hidden_size
        self.attention = RNNAttention(score=score, query_size=self.hidden_size, memory_size=memory_size)
        return memory_size

    def gpu_shares(self, encoder: Encoder) -> GpuShares | None:
        if not isinstance(encoder, RecurrentEncoder):
            return None
        if self.context_projection is None:
            return GpuShares(training=0.273, search=0.080)
        return GpuShares(training=0.133, search=0.052)  # a loop of single steps

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the single step, where there is a loop of them; whole sequences have fused kernels."""
        if self.context_projection is not None:
            self._step = torch.compile(self._step, *args, **kwargs)
            self._compiled = True

    def start(self, memory: Memory) -> DecoderState:
        """Return the state before the first step.

        Per hypothesis: ``recurrent`` (B, L, 1 or 2, H) and, with input feeding, ``input_feed`` (B, E). Per sentence,
        with attention: ``keys`` (B, S, H), ``memory`` (B, S, M) and ``mask`` (B, 1, S).
        """
        vectors = memory.padded()
        s_0 = self.first_states(memory)
        sentence, hypothesis = {}, {"recurrent": s_0}
        if self.attention is not None:
            vectors = vectors if self.memory_projection is None else self.memory_projection(vectors)
            keys, mask = self.attention.keys(vectors), memory.layout.is_token.unsqueeze(1)
            sentence = {"keys": keys, "memory": cast_once(vectors), "mask": mask}
        if self.context_projection is not None and not self.query_before_step:
            hypothesis["input_feed"] = s_0.new_zeros(len(vectors), self.embedding_size)
        return DecoderState(sentence, hypothesis)

    def run(self, embedded: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Run some steps, one or all, from embedded tokens (B, T, E): hidden vectors (B, T, E), and the new state.

        In search, B = A * W: W hypotheses of each of A sentences.
        """
        recurrent = state.hypothesis["recurrent"]
        attended = None if self.attention is None else AttendedMemory(**state.sentence)
        if self.attention is None or attended is None:
            hidden, states = self.without_attention(self.dropout(embedded), layer_states(recurrent))
            return hidden, DecoderState(state.sentence, {"recurrent": as_tensor(states)})
        if self.context_projection is None:
            hidden, alpha, states = self.luong_at_once(self.dropout(embedded), layer_states(recurrent), attended)
            new = {"recurrent": as_tensor(states)}
        else:
            hidden, alpha, new = self._one_by_one(embedded, state, attended)
        self.attention.record(alpha.unsqueeze(1))
        return hidden, DecoderState(state.sentence, new)

    def without_attention(self, embedded: Tensor, states: list[RecurrentState]) -> tuple[Tensor, list[RecurrentState]]:
        """All steps without attention (Sutskever et al. 2014).

        s_i = f(s_{i-1}, y_{i-1})
        hidden_i = tanh(W_c s_i)
        """
        s, states = self.run_layers(embedded, states)
        return self.readout(s), states

    def bahdanau_step(
        self, inputs: Tensor, states: list[RecurrentState], input_feed: Tensor | None, loop: Loop
    ) -> StepResult:
        """One step of Bahdanau et al. 2015. The query is the state before the step.

            e_ij = a(s_{i-1}, h_j), alpha_ij = softmax_j(e_ij)    equation 6
            c_i = sum_j alpha_ij h_j                              equation 5
            s_i = f(s_{i-1}, y_{i-1}, c_i)                        section 3.1, and appendix A.2.2
            hidden_i = tanh(W_c [s_i; c_i; y_{i-1}])              g of equation 4, in ``_one_by_one``, for all steps

        Args:
            inputs: (B, G * H) W_ih y_{i-1} + b_ih of the bottom layer.
            states: s_{i-1} of each layer.
            input_feed: None; only Luong's step has one.
            loop: what all steps share.
        """
        query = states[self.query_layer][0]
        context, alpha = self._attend(query.unsqueeze(1), loop.attended)
        context = context.squeeze(1)
        s, states = self._step_layers(inputs, context, states, loop)
        return StepResult(torch.cat([s, context], 1), alpha, states, input_feed)

    def luong_step(
        self, inputs: Tensor, states: list[RecurrentState], input_feed: Tensor | None, loop: Loop
    ) -> StepResult:
        """One step of Luong et al. 2015, with input feeding. The query is the state after the step.

            s_i = f(s_{i-1}, [y_{i-1}; hidden_{i-1}])         section 3.3, in ``_step_layers``, as a sum of products
            alpha_ij = softmax_j(score(s_i, h_j))             equation 7; scores in section 3.1
            c_i = sum_j alpha_ij h_j                          section 3.1
            hidden_i = tanh(W_c [s_i; c_i])                   equation 5

        Args:
            inputs, states, loop: as of ``bahdanau_step``.
            input_feed: (B, E) hidden_{i-1}.
        """
        assert input_feed is not None
        s, states = self._step_layers(inputs, input_feed, states, loop)
        context, alpha = self._attend(s.unsqueeze(1), loop.attended)
        hidden = self.readout(s, context.squeeze(1))
        return StepResult(hidden, alpha, states, hidden)

    def luong_at_once(
        self, embedded: Tensor, states: list[RecurrentState], attended: AttendedMemory
    ) -> tuple[Tensor, Tensor, list[RecurrentState]]:
        """All of Luong's steps, which without input feeding do not wait for each other's attention."""
        s, states = self.run_layers(embedded, states)
        context, alpha = self._attend(s, attended)
        return self.readout(s, context), alpha, states

    def _one_by_one(
        self, embedded: Tensor, state: DecoderState, attended: AttendedMemory
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Run the steps in a loop: hidden vectors (B, T, E), alpha (B, T, S), and what the new state has."""
        recurrent, input_feed = state.hypothesis["recurrent"], state.hypothesis.get("input_feed")
        loop = Loop([layer.weights for layer in self.layers], attended)
        preactivations = self.layers[0].preactivations(self.dropout(embedded).transpose(0, 1), loop.parameters[0])
        outputs, alphas = [], []
        products = loop_products_reference if self._compiled else loop_products
        with products(self._loop_matrices(loop), recurrent) as first:
            states = layer_states(first)
            for inputs in preactivations:
                output, alpha, states, input_feed = self._step(self, inputs, states, input_feed, loop)
                outputs.append(output)
                alphas.append(alpha)
        collected = torch.stack(outputs, 1)
        hidden = self.readout(collected, embedded) if self.query_before_step else collected
        new = {"recurrent": as_tensor(states)}
        return hidden, torch.cat(alphas, 1), new if input_feed is None else {**new, "input_feed": input_feed}

    def _loop_matrices(self, loop: Loop) -> list[Tensor]:
        """Return the matrices that every step multiplies by."""
        assert self.context_projection is not None
        assert self.attention is not None
        recurrences = [weight_hh.T for _, weight_hh, _, _ in loop.parameters]
        inputs = [weight_ih.T for weight_ih, *_ in loop.parameters[1:]]
        output = [] if self.query_before_step else [self.output.weight.T]
        scores = self.attention.loop_matrices(loop.attended)
        return [*recurrences, *inputs, self.context_projection.weight.T, *scores, *output]

    def _step_layers(
        self, inputs: Tensor, entering: Tensor, states: list[RecurrentState], loop: Loop
    ) -> tuple[Tensor, list[RecurrentState]]:
        """Run one step of the layers, which context or input feed (B, M or E) enters by ``context_projection``."""
        assert self.context_projection is not None
        projected = matmul(self.dropout(entering), self.context_projection.weight.T)
        return self.step_layers(inputs, projected.chunk(self.num_entered, dim=-1), states, loop.parameters)

    def _attend(self, query: Tensor, attended: AttendedMemory) -> tuple[Tensor, Tensor]:
        """Attend from queries (B, T, H): contexts (B, T, M), and alpha (B, T, S)."""
        assert self.attention is not None
        by_sentence = query.reshape(len(attended.keys), -1, query.shape[2])  # (A * W, T, H) -> (A, W * T, H)
        context, alpha = self.attention(by_sentence, attended)
        return context.view(*query.shape[:2], -1), alpha.view(*query.shape[:2], -1)

    def readout(self, *parts: Tensor) -> Tensor:
        """tanh(W_c [parts] + b_c): (…, F) to (…, E)."""
        return biased_tanh(matmul(self.dropout(torch.cat(parts, dim=-1)), self.output.weight.T), self.output.bias)

    def flops(self, src_length: int, steps: int) -> int:
        total = self.layer_flops(steps) + 2 * steps * self.output.weight.numel()
        total += 0 if self.memory_projection is None else 2 * src_length * self.memory_projection.weight.numel()
        total += 0 if self.context_projection is None else 2 * steps * self.context_projection.weight.numel()
        return total + (0 if self.attention is None else self.attention.flops(steps, src_length))

"""A Transformer in the form of Hugging Face's Marian has the same log-probabilities, and other forms are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from conftest import VOCABULARY, build_model, random_batch

from triptych.errors import UserError

VASWANI = ["model=transformer", "model.norm_position=post", "model.positions=sinusoidal", "model.dropout=0"]
SEPARATE = replace(VOCABULARY, joint=False)
LENGTHS = [(5, 7), (9, 4), (1, 2)]


@pytest.mark.parametrize(
    "changes",
    [
        [],
        ["model.positions=sinusoidal_concatenated", "model.activation=gelu"],
        ["model.tying=decoder", "model.bias=false"],
        ["model.tying=none", "model.encoder_layers=1"],
    ],
)
@pytest.mark.parametrize("separate", [False, True])
def test_log_probabilities_are_the_same(changes: list[str], separate: bool) -> None:
    pytest.importorskip("transformers", reason="the extra 'export' is not installed")
    if separate and "model.tying=decoder" not in changes and "model.tying=none" not in changes:
        changes = [*changes, "model.tying=decoder"]
    options = {"vocabulary": SEPARATE} if separate else {}
    model = build_model(*VASWANI, *changes, **options).float()
    for parameter in model.parameters():  # norms and biases too
        torch.nn.init.normal_(parameter, std=0.3)
    model.eval()
    batch, exported = random_batch(LENGTHS), model.huggingface()
    found = exported(
        input_ids=batch.src,
        attention_mask=torch.arange(batch.src.shape[1]) < batch.src_lengths[:, None],
        decoder_input_ids=batch.tgt[:, :-1],
    ).logits
    prediction = model(batch)
    ours = (prediction.hidden @ prediction.weight.T).log_softmax(-1)
    theirs = torch.cat(
        [row[: length - 1] for row, length in zip(found, batch.tgt_lengths.tolist(), strict=True)]
    ).log_softmax(-1)
    torch.testing.assert_close(theirs, ours[: len(theirs)], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    "change",
    [
        "model.norm_position=pre",
        "model.norm=rms",
        "model.positions=rope",
        "model.positions=learned",
        "model.activation=swiglu",
        "model.d_k=4",
    ],
)
def test_what_marian_has_not_is_refused(change: str) -> None:
    pytest.importorskip("transformers", reason="the extra 'export' is not installed")
    with pytest.raises(UserError, match=f"as Vaswani et al. .*{change.partition('=')[0]}="):
        build_model(*VASWANI, change).huggingface()


def test_all_that_marian_has_not_is_named_at_once() -> None:
    pytest.importorskip("transformers", reason="the extra 'export' is not installed")
    named = r"model\.norm_position=pre model\.positions=rope; train one with model\.norm_position=post model\.pos"
    with pytest.raises(UserError, match=named):
        build_model(*VASWANI, "model.norm_position=pre", "model.positions=rope").huggingface()


def test_vocabularies_of_unequal_sizes_are_refused() -> None:
    pytest.importorskip("transformers", reason="the extra 'export' is not installed")
    unequal = replace(SEPARATE, src_size=45)
    with pytest.raises(UserError, match="this run's have 45 and 40 pieces"):
        build_model(*VASWANI, "model.tying=decoder", vocabulary=unequal).huggingface()

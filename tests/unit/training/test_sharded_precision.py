"""Shards whose weights are gathered in bf16: the vectors between layers are bf16, and what is summed up is not."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from conftest import build_model, compose_train, random_batch
from hydra.utils import instantiate
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.utils._pytree import tree_leaves

from triptych.contract.model import TranslationModel
from triptych.training.sharding import ShardedModel

BLOCKS = [f"model/{half}=recurrent_blocks" for half in ("encoder", "decoder")]
MODELS = {
    **{name: [f"model={name}"] for name in ("transformer", "rnn", "rnn_luong", "lm4mt", "convs2s")},
    "recurrent blocks": ["model=hybrid", *BLOCKS],
}


@pytest.fixture
def mesh(tmp_path: Path) -> Iterator[DeviceMesh]:
    """A group of one process."""
    dist.init_process_group("gloo", store=dist.FileStore(str(tmp_path / "store"), 1), rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


def loss_and_gradients(model: TranslationModel) -> tuple[torch.Tensor, torch.Tensor]:
    batch = random_batch([(5, 7), (6, 9), (3, 4)])
    with torch.autocast("cpu", torch.bfloat16):
        loss = instantiate(compose_train("scale=smoke").loss)(model(batch), batch.step_tokens, 0.0).loss
    loss.backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    whole = [g.full_tensor() if hasattr(g, "full_tensor") else g for g in gradients]
    assert {g.dtype for g in whole} == {torch.float32}
    return loss.detach(), torch.cat([g.flatten() for g in whole])


@pytest.mark.parametrize("name", MODELS)
def test_bf16_between_layers_and_in_nothing_that_is_kept(name: str, mesh: DeviceMesh) -> None:
    model = build_model(*MODELS[name]).float()
    copied = copy.deepcopy(model)
    sharded = ShardedModel(model, mesh, torch.bfloat16)
    between = []
    for layer in model.stacked_layers():
        layer.register_forward_pre_hook(lambda _, inputs: between.append(inputs[0].dtype))
    loss, gradients = loss_and_gradients(model)

    assert set(between) <= {torch.bfloat16}
    assert len(between) >= len(list(model.stacked_layers()))
    expected_loss, expected = loss_and_gradients(copied)
    torch.testing.assert_close(loss, expected_loss, rtol=5e-3, atol=0)
    assert torch.cosine_similarity(gradients, expected, dim=0) > 0.99
    for whole, before in zip(sharded.whole().parameters(), copied.parameters(), strict=True):
        torch.testing.assert_close(whole, before, rtol=0, atol=0)


def test_the_vectors_of_a_prediction_are_found() -> None:
    """PyTorch 2.11 looks for them with this function. It found none, and an RNN trained on unsummed gradients."""
    model = build_model("model=rnn")
    prediction = model(random_batch([(5, 7)]))
    assert any(leaf is prediction.hidden for leaf in tree_leaves(prediction))


def test_full_precision_is_that_of_the_model(mesh: DeviceMesh) -> None:
    model = build_model("model=transformer").float()
    copied = copy.deepcopy(model)
    ShardedModel(model, mesh, torch.float32)
    batch = random_batch([(5, 7), (6, 9)])
    torch.testing.assert_close(model(batch).hidden, copied(batch).hidden, rtol=0, atol=0)

"""Training whose weights, gradients and optimizer state are shared out between devices: PyTorch's FSDP2."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
import torch.distributed as dist
from lightning.pytorch.strategies import ModelParallelStrategy
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from torch.export import register_dataclass

from triptych.contract.batch import Prediction
from triptych.contract.model import TranslationModel

# FSDP2 starts a backward pass from the tensors of a model's output. PyTorch 2.11 finds none in a dataclass that it does
# not know; gradients would then stay on their devices.
register_dataclass(Prediction)


def sharded_strategy(devices: int) -> ModelParallelStrategy:
    """Return Lightning's strategy of sharded training.

    Checkpoints are single files of whole tensors, as those of every other strategy.

    Args:
        devices: number of all devices of all machines.
    """
    return ModelParallelStrategy(data_parallel_size=devices, tensor_parallel_size=1, save_distributed_checkpoint=False)


class ShardedModel:
    """A model whose tensors are split between the devices.

    Each of its layers is gathered before it runs, and what is outside of layers, such as embeddings, at the beginning:
    the loss uses the output projection after the model has returned.

    Args:
        model: whose parameters become shards, in place.
        mesh: the devices.
        dtype: of the gathered weights, and so of the vectors that go from layer to layer. The shards, the sums of their
            gradients over devices and the optimizer keep the dtype of the model.
    """

    def __init__(self, model: TranslationModel, mesh: DeviceMesh, dtype: torch.dtype) -> None:
        # FSDP2 forbids copies of a model that it has sharded, so this one, without memory, is made before.
        without_memory = {id(p): nn.Parameter(p.to("meta"), requires_grad=False) for p in model.parameters()}
        self._empty = copy.deepcopy(model, dict(without_memory))
        self._model = model
        policy = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=next(model.parameters()).dtype)
        for layer in model.stacked_layers():
            fully_shard(layer, mesh=mesh, mp_policy=policy)
        fully_shard(model, mesh=mesh, mp_policy=policy, reshard_after_forward=False)

    def whole(self) -> TranslationModel:
        """Return a copy of the model as it is now, not sharded, in eval mode. Collective: every rank must call it."""
        model, tensors = copy.deepcopy(self._empty), self._model.state_dict(keep_vars=True)
        gathered = {id(tensor): _whole(tensor.detach()) for tensor in tensors.values()}  # tied ones once
        model.load_state_dict({name: gathered[id(tensor)] for name, tensor in tensors.items()}, assign=True)
        return model.eval()


def _whole(tensor: Tensor) -> Tensor:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def norms(tensors: Sequence[Tensor]) -> Tensor:
    """Return the Euclidean norm of each tensor, (N,); of the whole tensor where it is sharded, and then collective."""
    local = [tensor.to_local() if isinstance(tensor, DTensor) else tensor for tensor in tensors]
    found = torch.stack(torch._foreach_norm(local))
    sharded = next((tensor for tensor in tensors if isinstance(tensor, DTensor)), None)
    if sharded is None:
        return found
    squares = found.square()
    dist.all_reduce(squares, group=sharded.device_mesh.get_group())
    return squares.sqrt()

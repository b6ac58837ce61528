"""Sharded data parallelism: weights, gradients and optimizer state are sharded among the ranks (FSDP2, fully_shard)."""

import contextlib

import plan
import torch
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


class Parallel:
    needs_autocast = False

    def __init__(self, device):
        copies = plan.DATA // plan.SHARD_GROUP
        if copies > 1:
            # HSDP: each group of neighboring ranks has all shards.
            self.mesh = init_device_mesh(device.type, (copies, plan.SHARD_GROUP), mesh_dim_names=("copies", "shards"))
            self.data_rank = self.mesh.get_local_rank("copies") * plan.SHARD_GROUP + self.mesh.get_local_rank("shards")
        else:
            self.mesh = init_device_mesh(device.type, (plan.DATA,), mesh_dim_names=("shards",))
            self.data_rank = self.mesh.get_local_rank("shards")

    def policy(self):
        half = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(plan.PRECISION)
        reduce = half if plan.GRADIENTS_IN_HALF else torch.float32
        return MixedPrecisionPolicy(param_dtype=half, reduce_dtype=reduce) if half else MixedPrecisionPolicy()

    def wrap(self, model, blocks):
        if plan.RECOMPUTE == "full":
            # Recomputes all blocks, or only the first blocks.
            again = list(blocks)[: plan.RECOMPUTE_BLOCKS or None]
            apply_activation_checkpointing(model, check_fn=lambda module: any(module is block for block in again))
        options = {"mesh": self.mesh, "reshard_after_forward": plan.RESHARD}
        for module in model.modules():
            # Batch norms compute their statistics in full precision.
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                full = MixedPrecisionPolicy(param_dtype=torch.float32, output_dtype=self.policy().param_dtype)
                fully_shard(module, **options, mp_policy=full)
        # Blocks may differ in whether they free their weights after forward (ZeRO-3) or keep them (ZeRO-2).
        reshards = getattr(plan, "RESHARD_BLOCKS", [plan.RESHARD] * len(blocks))
        for block, reshard in zip(blocks, reshards, strict=True):
            fully_shard(block, mesh=self.mesh, reshard_after_forward=reshard, mp_policy=self.policy())
        return fully_shard(model, **options, mp_policy=self.policy())

    def loss_context(self):
        return contextlib.nullcontext()

    def optimizer(self, model, build):
        return build(model.parameters())

    def exchange_gradients(self, model, last):
        """Ranks reduce-scatter the gradients of each micro-batch, so that no rank keeps whole gradients."""
        model.set_is_last_backward(last)
        return contextlib.nullcontext()

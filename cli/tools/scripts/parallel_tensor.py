"""Tensor parallelism of Llama-like transformers, alone, or with data parallelism that may shard weights (DeviceMesh)."""

import contextlib

import plan
import torch
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, loss_parallel, parallelize_module


class Parallel:
    needs_autocast = False

    def __init__(self, device):
        # Neighboring ranks are tensor-parallel.
        shape = (plan.DATA // plan.SHARD_GROUP, plan.SHARD_GROUP, plan.TENSOR)
        self.mesh = init_device_mesh(device.type, shape, mesh_dim_names=("copies", "shards", "tensor"))
        self.data_rank = self.mesh.get_local_rank("copies") * plan.SHARD_GROUP + self.mesh.get_local_rank("shards")

    def split(self, block):
        """Splits attention and MLP: first matrices by columns, last matrix by rows. So each needs a single allreduce."""
        parallelize_module(
            block,
            self.mesh["tensor"],
            {
                "self_attn.q_proj": ColwiseParallel(),
                "self_attn.k_proj": ColwiseParallel(),
                "self_attn.v_proj": ColwiseParallel(),
                "self_attn.o_proj": RowwiseParallel(),
                "mlp.gate_proj": ColwiseParallel(),
                "mlp.up_proj": ColwiseParallel(),
                "mlp.down_proj": RowwiseParallel(),
            },
        )

    def wrap(self, model, blocks):
        for block in blocks:
            self.split(block)
        parallelize_module(
            model,
            self.mesh["tensor"],
            {
                "model.embed_tokens": RowwiseParallel(input_layouts=Replicate()),
                # Each rank keeps the logits of its part of the vocabulary (loss_context).
                "lm_head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False),
            },
        )
        if model.config.tie_word_embeddings:
            # Both modules have got their own part of the same matrix.
            model.lm_head.weight = model.model.embed_tokens.weight
        if plan.RECOMPUTE == "full":
            # Recomputes all blocks, or only the first blocks.
            again = list(blocks)[: plan.RECOMPUTE_BLOCKS or None]
            apply_activation_checkpointing(model, check_fn=lambda module: any(module is block for block in again))
        # Without ZeRO, a shard group has one rank. Each rank then has whole parameters, and the
        # copies sum their gradients.
        half = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(plan.PRECISION)
        reduce = half if plan.GRADIENTS_IN_HALF else torch.float32
        policy = MixedPrecisionPolicy(param_dtype=half, reduce_dtype=reduce) if half else MixedPrecisionPolicy()
        options = {"mesh": self.mesh["copies", "shards"], "reshard_after_forward": plan.RESHARD, "mp_policy": policy}
        for block in blocks:
            fully_shard(block, **options)
        return fully_shard(model, **options)

    def loss_context(self):
        return loss_parallel()

    def optimizer(self, model, build):
        return build(model.parameters())

    def exchange_gradients(self, model, last):
        """From ZeRO-2 on, ranks exchange the gradients of each micro-batch; otherwise only after the last micro-batch."""
        model.set_is_last_backward(last)
        model.set_requires_gradient_sync(last or plan.ZERO_STAGE >= 2)
        return contextlib.nullcontext()

"""Data parallelism: every rank has the whole model, and gradients are summed while backward runs (DistributedDataParallel)."""

import contextlib

import plan
import torch.distributed as dist
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


class Parallel:
    needs_autocast = True

    def __init__(self, device):
        self.device = device
        self.data_rank = dist.get_rank()

    def wrap(self, model, blocks):
        if plan.RECOMPUTE == "full":
            # Recomputes all blocks, or only the first blocks.
            again = list(blocks)[: plan.RECOMPUTE_BLOCKS or None]
            apply_activation_checkpointing(model, check_fn=lambda module: any(module is block for block in again))
        device_ids = [self.device.index] if self.device.type == "cuda" else None
        return DistributedDataParallel(model, device_ids=device_ids, gradient_as_bucket_view=True)

    def optimizer(self, model, build):
        if plan.ZERO_STAGE == 1:
            return ShardedOptimizer(model.parameters(), build)
        return build(model.parameters())

    def exchange_gradients(self, model, last):
        """Each rank sums the gradients of its micro-batches. Ranks exchange gradients only with the last micro-batch."""
        return contextlib.nullcontext() if last else model.no_sync()


def ShardedOptimizer(parameters, build):
    """ZeRO-1: each rank updates a part of the parameters, and sends this part to the other ranks."""
    parameters = list(parameters)
    template = build(parameters)
    values = {key: value for key, value in template.defaults.items() if key in ("lr", "momentum", "weight_decay", "fused")}
    return ZeroRedundancyOptimizer(parameters, optimizer_class=type(template), parameters_as_bucket_view=True, **values)

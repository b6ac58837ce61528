"""Data parallelism: every rank has the whole model, and gradients are summed while backward runs (DistributedDataParallel)."""

import contextlib

import plan
import torch.distributed as dist
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer
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
        model = DistributedDataParallel(model, device_ids=device_ids, gradient_as_bucket_view=True)
        if plan.COMPRESSION == "fp16":
            model.register_comm_hook(None, default_hooks.fp16_compress_hook)
        elif plan.COMPRESSION == "bf16":
            model.register_comm_hook(None, default_hooks.bf16_compress_hook)
        elif plan.COMPRESSION == "powersgd":
            # The first 10 steps, which measure.py does not time, exchange whole gradients.
            state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=plan.COMPRESSION_RANK, start_powerSGD_iter=10)
            model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
        elif plan.COMPRESSION != "none":
            raise SystemExit(f"the compression {plan.COMPRESSION} is not supported by this script")
        return model

    def loss_context(self):
        return contextlib.nullcontext()

    def optimizer(self, model, build):
        if plan.ZERO_STAGE == 1:
            return ShardedOptimizer(model.parameters(), build)
        optimizer = build(model.parameters())
        if plan.LOCAL_STEPS > 1:
            # Local SGD: ranks average their weights every few steps, and exchange no gradients.
            return PostLocalSGDOptimizer(optimizer, PeriodicModelAverager(period=plan.LOCAL_STEPS, warmup_steps=0))
        return optimizer

    def exchange_gradients(self, model, last):
        """Each rank sums the gradients of its micro-batches. Ranks exchange gradients only with the last micro-batch."""
        return contextlib.nullcontext() if last and plan.LOCAL_STEPS == 1 else model.no_sync()


def ShardedOptimizer(parameters, build):
    """ZeRO-1: each rank updates a part of the parameters, and sends this part to the other ranks."""
    parameters = list(parameters)
    template = build(parameters)
    values = {key: value for key, value in template.defaults.items() if key in ("lr", "momentum", "weight_decay", "fused")}
    return ZeroRedundancyOptimizer(parameters, optimizer_class=type(template), parameters_as_bucket_view=True, **values)

"""Data parallelism, but the last linear layers are split (DTensor): plan.SPLITS has a row for each of them.

A row is empty if the layer has data parallelism like the others. Otherwise it says whether a rank has "columns" or "rows" of the
weights, and how the ranks of a split share the input and the output: each has all of it ("whole"), its "channels", or its "samples".
"""

import contextlib

import plan
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

PLACEMENTS = {"samples": Shard(0), "whole": Replicate(), "channels": Shard(-1)}


class Parallel:
    needs_autocast = True

    def __init__(self, device):
        self.device = device
        self.data_rank = dist.get_rank()
        self.is_last = True
        # Neighboring ranks split a layer. Groups of such ranks hold copies of its weights.
        shape = (plan.DEVICES // plan.SPLIT_RANKS, plan.SPLIT_RANKS)
        self.mesh = init_device_mesh(device.type, shape, mesh_dim_names=("copies", "split"))

    def wrap(self, model, blocks):
        linear = [(name, module) for name, module in model.named_modules() if isinstance(module, nn.Linear)]
        self.split_parameters = []
        for (name, module), split in zip(linear[-len(plan.SPLITS) :], plan.SPLITS):
            if not split:
                continue
            part, read, written = split
            style = {"columns": ColwiseParallel, "rows": RowwiseParallel}[part]
            is_local = written == "samples"
            layouts = {"input_layouts": PLACEMENTS[read], "output_layouts": PLACEMENTS[written], "use_local_output": is_local}
            parallelize_module(model, self.mesh["split"], {name: style(**layouts)})
            self.split_parameters += module.parameters()
        # Behind a split layer, an activation in place would overwrite a view.
        modules = list(model.modules())
        first = next(module for (_, module), split in zip(linear[-len(plan.SPLITS) :], plan.SPLITS) if split)
        for module in modules[modules.index(first) :]:
            if hasattr(module, "inplace"):
                module.inplace = False
        for parameter in self.split_parameters:
            parameter.register_post_accumulate_grad_hook(self.sum_gradient)
        own = [name for name, parameter in model.named_parameters() if isinstance(parameter, DTensor)]
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, own)
        device_ids = [self.device.index] if self.device.type == "cuda" else None
        return DistributedDataParallel(model, device_ids=device_ids, gradient_as_bucket_view=True)

    def sum_gradient(self, parameter):
        """Averages the gradient of a split layer as DistributedDataParallel does. The ranks of a split have summed their samples."""
        if not self.is_last:
            return
        gradient = parameter.grad.to_local().div_(plan.DEVICES)
        if plan.SPLIT_RANKS < plan.DEVICES:
            dist.all_reduce(gradient, group=self.mesh.get_group("copies"))

    def loss_context(self):
        return contextlib.nullcontext()

    def optimizer(self, model, build):
        # Loops over many tensors take either tensors or shards of tensors.
        whole = [parameter for parameter in model.parameters() if not isinstance(parameter, DTensor)]
        return build([{"params": whole}, {"params": self.split_parameters}])

    def exchange_gradients(self, model, last):
        """Each rank sums the gradients of its micro-batches. Ranks exchange gradients only with the last micro-batch."""
        self.is_last = last
        return contextlib.nullcontext() if last else model.no_sync()

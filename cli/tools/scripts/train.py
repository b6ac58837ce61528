"""Trains the model of plan.py in parallel, by the plan in plan.py. run.sh starts this script on every device of the plan.

plan.py contains the values of the plan, model.py the model and its samples, parallel.py the parallelism. Samples are synthetic:
replace `batches` by the real data set.
"""

import argparse
import contextlib
import os
import time

import plan
import torch
import torch.distributed as dist
from model import blocks_of, build_model, fill_model, loss_of, synthetic_batch
from parallel import Parallel


def shares(total, parts):
    """Splits `total` samples into parts that differ by at most one sample. Returns the sizes, larger parts first."""
    return [total // parts + (1 if part < total % parts else 0) for part in range(parts)]


def batches(sizes, device):
    """Yields the list of micro-batches for each step, without end.

    REAL DATA: yield lists of micro-batches of these sizes from a data loader here. Each rank of data parallelism has its own
    samples (parallel.data_rank of plan.DATA), ranks of tensor parallelism have equal samples.
    """
    batch = [synthetic_batch(size, device) for size in sizes if size > 0]
    while True:
        yield batch


def build_optimizer(parameters, learning_rate, device):
    """Returns the optimizer of the plan, with common values for settings that the plan does not give."""
    fused = {"fused": True} if device.type == "cuda" else {}
    if plan.OPTIMIZER == "sgd":
        return torch.optim.SGD(parameters, lr=learning_rate)
    if plan.OPTIMIZER == "momentum":
        return torch.optim.SGD(parameters, lr=learning_rate, momentum=0.9)
    if plan.OPTIMIZER == "adam":
        return torch.optim.Adam(parameters, lr=learning_rate, **fused)
    if plan.OPTIMIZER == "adamw":
        return torch.optim.AdamW(parameters, lr=learning_rate, weight_decay=0.1, **fused)
    if plan.OPTIMIZER == "adafactor":
        return torch.optim.Adafactor(parameters, lr=learning_rate)
    raise SystemExit(f"the optimizer {plan.OPTIMIZER} is not supported by this script")


class Training:
    """The model, its optimizer and its micro-batches on this rank."""

    def __init__(self, learning_rate=1e-3, seed=0):
        local_rank = int(os.environ["LOCAL_RANK"])
        on_gpu = torch.cuda.is_available()
        if on_gpu:
            torch.cuda.set_device(local_rank)
        self.device = torch.device("cuda", local_rank) if on_gpu else torch.device("cpu")
        dist.init_process_group("nccl" if on_gpu else "gloo", device_id=self.device if on_gpu else None)
        if dist.get_world_size() != plan.DEVICES:
            raise SystemExit(f"the plan is for {plan.DEVICES} devices, {dist.get_world_size()} were started")
        torch.set_float32_matmul_precision("high" if plan.PRECISION == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = plan.PRECISION == "tf32"
        torch.backends.cudnn.benchmark = True

        self.parallel = Parallel(self.device)
        torch.manual_seed(seed)  # equal weights on every rank
        model = build_model(self.device).train()
        parameters = sum(p.numel() for p in model.parameters())
        if abs(parameters / plan.PARAMETERS - 1) > 0.02:
            raise SystemExit(f"the model has {parameters:,} parameters, the plan was made for {plan.PARAMETERS:,}")
        if plan.CHANNELS_LAST:
            model = model.to(memory_format=torch.channels_last)
        if plan.COMPILE:
            for block in blocks_of(model):
                block.compile()
        self.model = self.parallel.wrap(model, blocks_of(model))
        fill_model(self.model, self.device)
        self.optimizer = self.parallel.optimizer(self.model, lambda parameters: build_optimizer(parameters, learning_rate, self.device))
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=plan.PRECISION == "fp16" and on_gpu)

        share = shares(plan.GLOBAL_BATCH, plan.DATA)[self.parallel.data_rank]
        torch.manual_seed(seed + 1 + self.parallel.data_rank)  # different samples on each data-parallel rank
        self.batches = batches(shares(share, plan.MICRO_BATCHES), self.device)

    def autocast(self):
        """Returns the autocast context for mixed precision; an empty context if the wrapped model needs none."""
        half = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(plan.PRECISION)
        if half is None or not self.parallel.needs_autocast:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, half)

    def step(self):
        """Runs one step: forward and backward of each micro-batch, then one update. Returns the mean loss of this rank."""
        micro_batches = next(self.batches)
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for index, (samples, targets) in enumerate(micro_batches):
            with self.parallel.exchange_gradients(self.model, index + 1 == len(micro_batches)):
                # Gradients are averaged over the data-parallel ranks. With this weight, every
                # sample counts equally.
                weight = len(samples) * plan.DATA / plan.GLOBAL_BATCH
                with self.parallel.loss_context():
                    with self.autocast():
                        loss = loss_of(self.model, samples, targets)
                    self.scaler.scale(loss * weight).backward()
            total += loss.detach() * weight
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return total

    def synchronize(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100, help="steps (%(default)s)")
    parser.add_argument("--lr", type=float, default=1e-3, help="learning rate (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights and samples (%(default)s)")
    parser.add_argument("--log-every", type=int, default=10, help="steps between two printed lines (%(default)s)")
    options = parser.parse_args()
    training = Training(options.lr, options.seed)
    began = time.perf_counter()
    for step in range(1, options.steps + 1):
        loss = training.step()
        if step % options.log_every == 0 or step == options.steps:
            mean = torch.as_tensor(float(loss), device=training.device)
            dist.all_reduce(mean)
            if dist.get_rank() == 0:
                seconds = (time.perf_counter() - began) / step
                print(f"step {step}: loss {float(mean) / dist.get_world_size():.4f}, {seconds:.4f} s a step", flush=True)
    dist.barrier()  # a rank that leaves early would close connections of other ranks
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

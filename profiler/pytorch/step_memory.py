#!/usr/bin/env python3
"""Sets the memory of training steps on a CUDA device beside predictions: peaks for ten models at two batches in fp32 and with autocast, and the
largest batch that fits for two.

    python3 step_memory.py                                  # with ddl-oracle on the PATH and a GPU
    python3 step_memory.py --program build/ddl-oracle --models resnet50,gpt2 --largest resnet50 --machine my-gpu.yaml

Steps are those of step_time.py beside it, which builds the models from what `models show --format json` says of them. Measured are
torch.cuda.max_memory_allocated and max_memory_reserved of the last two of three steps; every measurement is a process of its own. The
largest batch is bisected, from 1 up. Writes a table in CSV.
"""

import argparse
import csv
import json
import os
import subprocess
import sys

default_models = "resnet18,resnet50,vgg16,densenet121,mobilenet_v2,inception_v3,efficientnet_b0,vit_b_16,swin_t,convnext_tiny"


def measured(options, model, batch, precision):
    """Peaks in bytes, or None where the step does not fit."""
    command = [sys.executable, os.path.abspath(__file__), "--step", model, "--batch", str(batch), "--precision", precision,
               "--program", options.program]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode == 3:
        return None
    if done.returncode != 0:
        sys.exit(f"error: {model} at {batch}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def predicted(options, model, batch, precision):
    command = [options.program, "recommend", "--model", model, "--machine", options.machine, "--strategy", "data", "--degrees", "data=1",
               "--global-batch", str(batch), "--precision", precision, "--optimizer", "momentum", "--format", "json"]
    if precision != "fp32":
        command += ["--mixed-precision", "autocast"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"error: {done.stderr.strip()}")
    memory = json.loads(done.stdout)["best"]["memory"]
    return memory, done.returncode == 0


def step(options):
    """One process: three steps; ends with 3 where memory runs out."""
    import step_time
    import torch

    file = json.loads(subprocess.run([options.program, "models", "show", options.step, "--format", "json"], check=True,
                                     stdout=subprocess.PIPE, text=True).stdout)
    step_options = argparse.Namespace(seed=0, threads=None, device="cuda", precision=options.precision, benchmark=True,
                                      optimizer="momentum")
    device = step_time.set_up(step_options)
    try:
        network = step_time.Network(file, "none")
        network.to(device).train()
        training = step_time.Training(network, network.batch(options.batch, device), step_options, device)
        training.step()
        torch.cuda.reset_peak_memory_stats()
        for _ in range(2):
            training.step()
        torch.cuda.synchronize()
    except torch.cuda.OutOfMemoryError:
        sys.exit(3)
    print(json.dumps({"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}))


def largest(fits):
    """The largest batch for which fits(batch), by doubling and bisection."""
    low, high = 0, 1
    while high <= 1 << 20 and fits(high):
        low, high = high, 2 * high
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="ddl-oracle", help="the oracle (ddl-oracle)")
    parser.add_argument("--machine", default="dgx-h100", help="bundled machine or file with this GPU (dgx-h100)")
    parser.add_argument("--models", default=default_models)
    parser.add_argument("--batches", default="8,32")
    parser.add_argument("--largest", default="resnet50,vgg16", help="models whose largest batch is bisected; empty: none")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--precision", default="fp32", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        return step(options)
    table = csv.writer(sys.stdout)
    table.writerow(["model", "batch", "precision", "allocated_bytes", "predicted_bytes", "error", "reserved_bytes",
                    "predicted_reserved_bytes", "reserved_error"])
    for model in options.models.split(","):
        for precision in ("fp32", "fp16"):
            for batch in (int(text) for text in options.batches.split(",")):
                seen = measured(options, model, batch, precision)
                memory, _ = predicted(options, model, batch, precision)
                row = [model, batch, precision]
                for name in ("allocated", "reserved"):
                    ours = memory[f"peak_{name}_bytes"]
                    row += [seen[name], int(ours), f"{ours / seen[name] - 1:+.3f}"] if seen else ["", int(ours), ""]
                table.writerow(row)
                sys.stdout.flush()
    for model in filter(None, options.largest.split(",")):
        seen = largest(lambda batch: measured(options, model, batch, "fp32") is not None)
        ours = largest(lambda batch: predicted(options, model, batch, "fp32")[1])
        table.writerow([model, "largest batch", "fp32", seen, ours, f"{ours / max(1, seen) - 1:+.3f}", "", "", ""])
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures steps of train.py, and writes a row of a table of runs, which `ddl-oracle validate` and `calibrate runs` read.

Start this script by run.sh: run.sh measure.py --output runs.csv
"""

import argparse
import csv
import os
import statistics
import time

import plan
import torch
import torch.distributed as dist
from train import Training


def timed_steps(training, warmup, steps):
    """Returns the seconds of each step on the slowest rank."""
    for _ in range(warmup):
        training.step()
    seconds = []
    for _ in range(steps):
        training.synchronize()
        dist.barrier()
        began = time.perf_counter()
        training.step()
        training.synchronize()
        seconds.append(time.perf_counter() - began)
    slowest = torch.tensor(seconds, dtype=torch.float64)
    if training.device.type == "cuda":
        slowest = slowest.to(training.device)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return slowest.tolist()


def write_row(path, row):
    """Appends the row to the table. Creates the table if the file is missing or empty."""
    begins = not os.path.exists(path) or os.path.getsize(path) == 0
    if not begins:
        with open(path, newline="") as table:
            columns = next(csv.reader(table))
        if columns != list(row):
            raise SystemExit(f"{path} has other columns: give another --output")
    with open(path, "a", newline="") as table:
        writer = csv.DictWriter(table, list(row), lineterminator="\n")
        if begins:
            writer.writeheader()
        writer.writerow(row)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50, help="timed steps (%(default)s)")
    parser.add_argument("--warmup", type=int, default=10, help="steps before the timed steps (%(default)s)")
    parser.add_argument("--output", default="runs.csv", help="table to which the row is added (%(default)s)")
    options = parser.parse_args()
    training = Training()
    if training.device.type == "cpu" and not plan.ON_PROCESSOR:
        raise SystemExit(f"there is no GPU: times of a processor would be wrong in a row of {plan.ROW['machine']}")
    seconds = timed_steps(training, options.warmup, options.steps)
    if dist.get_rank() == 0:
        median = statistics.median(seconds)
        device = torch.cuda.get_device_name() if training.device.type == "cuda" else "processor"
        measured = {
            "quantity": "iter_total_s",
            "value": f"{median:.6g}",
            "n_samples_averaged": options.steps,
            "includes_io": "no",
            "notes": f"median of the slowest rank; from {min(seconds):.4g} to {max(seconds):.4g} s; PyTorch {torch.__version__}; {device}",
        }
        write_row(options.output, {**plan.ROW, **measured})
        print(f"measured {median:.4g} s, predicted {plan.PREDICTED_S:.4g} s ({plan.PREDICTED_S / median - 1:+.1%})")
        print(f"written to {options.output}; next: {plan.CALIBRATE.replace('TABLE', options.output)}")
    dist.barrier()  # a rank that leaves early would close connections of other ranks
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

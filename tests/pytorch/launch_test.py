"""Tests the files of `recommend --save-dir` for PyTorch: two processes run two steps of each type of plan, and a fit uses the row that
measure.py writes."""

import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path

MACHINE = """format: 1
machine: here
description: processes of this machine
sources: {figure: "assumed: about a core"}
device:
  name: one core
  kind: processor
  peak:
    fp32: {value: 50 GFLOP/s, source: figure}
    bf16: {value: 50 GFLOP/s, source: figure}
  memory: {value: 16 GiB, source: figure}
  memory_bandwidth: {value: 10 GB/s, source: figure}
  tile: {value: 16, source: figure}
levels:
  - name: node
    units: {value: 4, source: figure}
    latency: {value: 50 us, source: figure}
    bandwidth: {value: 1 GB/s, source: figure}
    rails: {value: 1, source: figure}
"""
LLAMA = "llama3-8b@layers=2@hidden=64@heads=4@kv_heads=2@feed_forward=128@vocabulary=256@tokens=32"
PLANS = {
    "ddp of a network": ["mobilenet_v3_small", "--strategy", "data", "--degrees", "data=2", "--precision", "fp32"],
    "fsdp with recomputation in halves": [LLAMA, "--strategy", "data", "--degrees", "data=2", "--zero", "3", "--recompute", "full"]
    + ["--software", "fsdp", "--precision", "bf16"],
    "ddp with zero-1": [LLAMA, "--strategy", "data", "--degrees", "data=2", "--zero", "1", "--optimizer", "adamw"],
    "ddp with compressed gradients": [LLAMA, "--strategy", "data", "--degrees", "data=2", "--zero", "0", "--compress", "fp16"],
    "ddp with local steps": [LLAMA, "--strategy", "data", "--degrees", "data=2", "--zero", "0", "--local-steps", "2"],
    "fsdp of a network in halves": ["resnet18", "--strategy", "data", "--degrees", "data=2", "--zero", "2", "--precision", "bf16"]
    + ["--software", "fsdp"],
    "fsdp with a second copy of weights": [LLAMA, "--strategy", "data", "--degrees", "data=4", "--zero", "3"]
    + ["--secondary-shards", "2", "--software", "fsdp", "--precision", "bf16", "--micro-batches", "1"],
    "tensor": [LLAMA, "--strategy", "tensor", "--degrees", "tensor=2", "--precision", "fp32"],
    "fully connected layers split by channels": ["alexnet", "--degrees", "data=4", "--layers", "fc1..fc2: channel=4", "--zero", "0"]
    + ["--precision", "fp32", "--micro-batches", "1"],
    "all layers on four ranks": ["resnet18", "--degrees", "data=4", "--zero", "0", "--precision", "fp32", "--micro-batches", "1"],
}
PLANS["the last layer split"] = PLANS["all layers on four ranks"] + ["--layers", "fully_connected: filter=4"]


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def has_fsdp2():
    """The scripts need FSDP2, which has its name since PyTorch 2.6. torchrun before 2.0 has other options."""
    import torch

    return tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 6)


def main():
    if not has_fsdp2():
        print("this PyTorch has no FSDP2")
        sys.exit(77)
    oracle = Path(sys.argv[1]).resolve()
    # Runs torchrun of the Python that has torch.
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "here.yaml").write_text(MACHINE)
        losses_of = {}
        for place, (name, words) in enumerate(PLANS.items()):
            saved = here / f"plan{place}"
            batches = [] if "--micro-batches" in words else ["--micro-batches", 2]
            options = ["--machine", "here.yaml", "--global-batch", 4, *batches, "--save-dir", saved]
            run(oracle, "recommend", *words, *options, cwd=here)
            lines = run(saved / "launch/run.sh", "--steps", 2, "--log-every", 1, cwd=here, env=environment).splitlines()
            assert [line.split(":")[0] for line in lines] == ["step 1", "step 2"], lines
            losses = [float(line.split()[3].rstrip(",")) for line in lines]
            assert 0 < losses[0] < 20 and losses[1] != losses[0], losses
            print(f"{name}: {lines}")
            losses_of[name] = losses
        # ResNet-18 has no dropout, so a split layer changes nothing but rounding.
        pairs = zip(losses_of["all layers on four ranks"], losses_of["the last layer split"])
        assert all(abs(whole - split) < 2e-4 for whole, split in pairs), losses_of

        # A row with a layout of its last layer is predicted.
        split = here / f"plan{list(PLANS).index('the last layer split')}/launch"
        run(split / "run.sh", "measure.py", "--steps", 1, "--warmup", 0, "--output", "split.csv", cwd=here, env=environment)
        table = run(oracle, "validate", "split.csv", "--machine", "here.yaml", "--format", "csv", cwd=here)
        assert float(next(csv.DictReader(table.splitlines()))["predicted_s"]) > 0, table

        # The rows are parsed, and a fit to the rows predicts them.
        plan = here / "plan0/launch"
        for _ in range(3):
            run(plan / "run.sh", "measure.py", "--steps", 3, "--warmup", 1, "--output", "runs.csv", cwd=here, env=environment)
        with open(here / "runs.csv", newline="") as table:
            rows = list(csv.DictReader(table))
        assert len(rows) == 3 and all(float(row["value"]) > 0 for row in rows), rows

        def errors(*more):
            text = run(oracle, "validate", "runs.csv", "--machine", "here.yaml", "--format", "csv", *more, cwd=here)
            table = list(csv.DictReader(text.splitlines()))
            return [abs(float(row["predicted_s"]) / float(row["measured_s"]) - 1) for row in table]

        before = errors()
        run(oracle, "calibrate", "runs", "runs.csv", "--machine", "here.yaml", "--output", "learned.yaml", cwd=here)
        after = errors("--coefficients", "learned.yaml")
        print(f"errors before {before}, after {after}")
        # A prediction that was correct before may only become worse by the scatter of repetitions.
        assert len(after) == 3 and sum(after) / 3 < sum(before) / 3 + 0.1, (before, after)


if __name__ == "__main__":
    main()

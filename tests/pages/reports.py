"""Commands with reports that tests read, and files with names that contain markup."""

import json
import pathlib
import subprocess

HOSTILE = "<img src=x onerror=alert(1)>'\"&|`_x_.yaml"

JOB = """format: 1
model: resnet50
machine: dgx-a100
batch_per_gpu: 64
plan: {strategy: data, gpus: 8}
"""

MODEL = """format: 1
model: "<script>alert(1)</script>&amp;"
input: {channels: 3, size: 32x32}
layers:
  - convolution: {filters: 8, kernel: 3, padding: same}
  - flatten
  - fully_connected: 10
  - loss: cross_entropy
"""

PIPELINE = ["llama3-8b", "--machine", "h100", "--strategy", "data+pipeline", "--degrees", "data=16,pipeline=4"]
PIPELINE += ["--micro-batches", "8"]

# Each command has a page and, except for the last commands, a trace.
COMMANDS = {
    "ranked": ["recommend", "llama3-8b", "--machine", "h100", "--gpus", "64"],
    "images": ["recommend", "cosmoflow-512", "--machine", "abci", "--gpus", "64"],
    "one plan": ["recommend", *PIPELINE],
    "zero bubble": ["recommend", *PIPELINE, "--schedule", "zb-v"],
    "both ways": ["recommend", *PIPELINE, "--schedule", "dualpipe"],
    "interleaved": ["recommend", *PIPELINE, "--virtual-stages", "4"],
    "input": ["recommend", "resnet50", "--machine", "abci", "--gpus", "4", "--input-exposed"],
    "explained": ["explain", *PIPELINE, "--why-not", "data"],
    "deep": ["explain", "llama3-70b", "--machine", "h100", "--plan", "dp8·pp8 z1 ac m8"],
    "checked": ["check", HOSTILE, "large.yaml"],
    "hostile": ["recommend", "--model", "./model.yaml", "--dataset", "cifar10", "--gpus", "4"],
    "impossible": ["recommend", "gpt3-175b", "--machine", "abci", "--gpus", "2"],
    "compared": ["recommend", "resnet50", "--machine", "dgx-a100,abci", "--gpus", "16"],
    "scaling": ["recommend", "llama3-8b", "--machine", "h100", "--gpus", "8..64"],
    "list": ["machines", "list"],
}
WITHOUT_STEP = {"impossible", "compared", "scaling", "list"}


def write_files(folder):
    folder = pathlib.Path(folder)
    (folder / HOSTILE).write_text(JOB)
    (folder / "large.yaml").write_text(JOB.replace("64", "4096"))
    (folder / "model.yaml").write_text(MODEL)


def report(program, folder, name, form):
    """Returns the output of a command, which must succeed, or report that a plan does not fit."""
    ran = subprocess.run([program, *COMMANDS[name], "--format", form], cwd=folder, capture_output=True, check=False, timeout=120)
    if ran.returncode not in (0, 1, 3):
        raise AssertionError(f"{name}: exit {ran.returncode}\n{ran.stderr.decode()}")
    return ran.stdout.decode()


def as_json(program, folder, name):
    return json.loads(report(program, folder, name, "json"))

#!/usr/bin/env python3
"""Compares the memory of training steps on a CUDA device with predictions.

The table has the peaks of models at two batches, in fp32 and with autocast, and the largest batches of two models.

    python3 step_memory.py                                  # with ddl-oracle on the PATH and a GPU
    python3 step_memory.py --program build/ddl-oracle --models resnet50,gpt2 --largest resnet50 --machine my-gpu.yaml
    python3 step_memory.py --check                          # without a GPU: builds every model, without computing

step_time.py in the same folder runs the steps, and builds the models from the JSON of `models show --format json`. The script
measures torch.cuda.max_memory_allocated and max_memory_reserved of the last two of three steps. Each measurement runs in its
own process. After the first step, the allocator's cache is emptied, so that the peak does not include the scratch memory of
algorithms that cuDNN tried in the first step. The largest batch is found by bisection, starting at 1. The output is a CSV
table. A measurement that failed is a row with the reason.
"""

import argparse
import csv
import json
import os
import subprocess
import sys

default_models = "resnet18,resnet50,vgg16,densenet121,mobilenet_v2,inception_v3,efficientnet_b0,vit_b_16,swin_t,convnext_tiny,gpt2"

# Messages of PyTorch, cuDNN and cuBLAS for out of memory. Only the first is a torch.cuda.OutOfMemoryError. Near the limit,
# libraries cannot allocate their scratch memory, or find no algorithm that needs no scratch memory.
words_of_no_room = ("out of memory", "alloc_failed", "allocation_failed", "unable to find an engine", "unable to find a valid cudnn algorithm")

# Exit codes of the process that runs one step.
does_not_fit, refused = 3, 4


class NotMeasured(Exception):
    """A measurement or prediction failed; the message gives the reason."""


class DoesNotFit(NotMeasured):
    pass


def first_line(text, otherwise):
    """The first line of a program's output without `error: `, or the last line of a traceback. `otherwise` if `text` is empty."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if not lines:
        return otherwise
    line = lines[-1] if lines[0].startswith("Traceback") else lines[0]
    return line[len("error: "):] if line.startswith("error: ") else line


def run(command, seconds):
    try:
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise NotMeasured(f"no answer within {seconds:g} s") from None
    except OSError as error:
        raise NotMeasured(str(error)) from None


def measured(options, model, batch, precision):
    """Measured peaks in bytes (`allocated`, `reserved`), and the memory format of images (`memory_format`)."""
    command = [sys.executable, os.path.abspath(__file__), "--step", model, "--batch", str(batch), "--precision", precision,
               "--program", options.program, "--memory-format", options.memory_format]
    done = run(command, options.seconds)
    if done.returncode == does_not_fit:
        raise DoesNotFit("does not fit: " + first_line(done.stderr, "out of memory"))
    if done.returncode != 0:
        raise NotMeasured(first_line(done.stderr, f"the step ended with code {done.returncode}"))
    try:
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        raise NotMeasured(f"not a result: {first_line(done.stdout, 'nothing')}") from None


def predicted(options, model, batch, precision):
    """The predicted memory items in bytes, and whether the batch fits."""
    # As in the measured step: one micro-batch, without recomputation.
    command = [options.program, "recommend", "--model", model, "--machine", options.machine, "--degrees", "data=1",
               "--global-batch", str(batch), "--micro-batches", "1", "--recompute", "none", "--precision", precision,
               "--optimizer", "momentum", "--format", "json"]
    if precision != "fp32":
        command += ["--mixed-precision", "autocast"]
    done = run(command, options.seconds)
    if done.returncode not in (0, 1):
        raise NotMeasured("no prediction: " + first_line(done.stderr, f"{options.program} ended with code {done.returncode}"))
    try:
        return json.loads(done.stdout)["best"]["memory"], done.returncode == 0
    except (ValueError, KeyError, TypeError):
        raise NotMeasured(f"no prediction: {options.program} wrote no memory of a plan") from None


def model_file(options, model):
    done = run([options.program, "models", "show", model, "--format", "json"], options.seconds)
    if done.returncode != 0:
        raise NotMeasured("no model: " + first_line(done.stderr, f"{options.program} ended with code {done.returncode}"))
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise NotMeasured(f"no model: {error}") from None


def step_options(step_time, device, precision, batch):
    """The options of step_time.py, with defaults except for device, precision, batch, optimizer and cuDNN's benchmark mode."""
    arguments = sys.argv
    sys.argv = ["step_time.py", "-", "--device", device, "--precision", precision, "--batch", str(batch), "--optimizer", "momentum",
                "--benchmark"]
    try:
        return step_time.parse_arguments()
    finally:
        sys.argv = arguments


def is_no_room(error):
    return any(words in str(error).lower() for words in words_of_no_room)


def as_memory_format(torch, network, batch, name):
    """Puts the channels of images and volumes last in memory if `name` says so. `batch` is a tensor, or a list of tensors. Returns
    the batch and the name of its memory format. Sequences are unchanged."""
    layouts = {4: torch.channels_last, 5: torch.channels_last_3d}
    first = batch[0] if isinstance(batch, (list, tuple)) else batch
    layout = layouts.get(first.dim()) if name == "channels_last" else None
    if layout is None:
        return batch, "contiguous"
    network.to(memory_format=layout)
    if first is batch:
        return batch.contiguous(memory_format=layout), "channels_last"
    return [x.contiguous(memory_format=layout) if x.dim() == first.dim() else x for x in batch], "channels_last"


def step(options):
    """Runs three steps on the device, in the process of one measurement. Prints the peaks as JSON. Returns the exit code: 0,
    does_not_fit or refused."""
    import step_time  # noqa: I001 - first, because step_time reports a missing PyTorch
    import torch

    try:
        file = model_file(options, options.step)
        settings = step_options(step_time, "cuda", options.precision, options.batch)
        device = step_time.set_up(settings)
        network = step_time.Network(file, "none")
        network.to(device).train()
        batch, memory_format = as_memory_format(torch, network, network.batch(options.batch, device), options.memory_format)
        training = step_time.Training(network, batch, settings, device)
        training.step()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        for _ in range(2):
            training.step()
        torch.cuda.synchronize()
    except (step_time.Refusal, NotMeasured) as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return refused
    except RuntimeError as error:
        print(f"error: PyTorch: {first_line(str(error), type(error).__name__)}", file=sys.stderr)
        return does_not_fit if is_no_room(error) else refused
    print(json.dumps({"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved(),
                      "memory_format": memory_format}))
    return 0


def check(options):
    """Builds every model of the table and runs forward on two samples, from PyTorch 2.0 on with shapes only (meta device). Shows
    without a GPU which models step_time.py or ddl-oracle refuses. Returns 0 if no model was refused, else 1."""
    import step_time  # noqa: I001 - first, because step_time reports a missing PyTorch
    import torch

    device = torch.device("meta" if hasattr(torch, "set_default_device") else "cpu")
    failed = 0
    wanted = names(options.models) + [each for each in names(options.largest) if each not in names(options.models)]
    for model in wanted:
        try:
            file = model_file(options, model)
            network = step_time.Network(file, "none")
            step_time.check_parameters(network)
            network.to(device).train()
            batch, memory_format = as_memory_format(torch, network, network.batch(2, device), options.memory_format)
            network(batch, step_time.check_shape(network, 2))
            predicted(options, model, 2, "fp32")
            print(f"{model}: {len(file['layers'])} layers, {memory_format}")
        except (step_time.Refusal, NotMeasured, RuntimeError, ValueError) as refusal:
            failed += 1
            print(f"{model}: {first_line(str(refusal), type(refusal).__name__)}")
        sys.stdout.flush()
    return 1 if failed else 0


def largest(fits):
    """The largest batch for which fits(batch), by doubling and bisection."""
    low, high = 0, 1
    while high <= 1 << 20 and fits(high):
        low, high = high, 2 * high
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def names(text):
    return [name for name in text.split(",") if name]


columns = ["model", "batch", "precision", "memory_format", "allocated_bytes", "predicted_bytes", "error", "reserved_bytes",
           "predicted_reserved_bytes", "reserved_error", "reason"]


def relative(ours, seen):
    return f"{ours / seen - 1:+.3f}" if seen else ""


def peak_row(options, model, batch, precision):
    row = dict.fromkeys(columns, "")
    row.update(model=model, batch=batch, precision=precision)
    reasons = []
    seen, memory = None, None
    try:
        seen = measured(options, model, batch, precision)
        row["memory_format"] = seen["memory_format"]
        row["allocated_bytes"], row["reserved_bytes"] = seen["allocated"], seen["reserved"]
    except NotMeasured as reason:
        reasons.append(str(reason))
    try:
        memory, _ = predicted(options, model, batch, precision)
        row["predicted_bytes"], row["predicted_reserved_bytes"] = int(memory["peak_allocated_bytes"]), int(memory["peak_reserved_bytes"])
    except NotMeasured as reason:
        reasons.append(str(reason))
    if seen and memory:
        row["error"] = relative(row["predicted_bytes"], row["allocated_bytes"])
        row["reserved_error"] = relative(row["predicted_reserved_bytes"], row["reserved_bytes"])
    row["reason"] = "; ".join(reasons)
    return row


def largest_row(options, model):
    row = dict.fromkeys(columns, "")
    row.update(model=model, batch="largest batch", precision="fp32")
    reasons = []
    formats = []

    def fits(batch):
        try:
            formats.append(measured(options, model, batch, "fp32")["memory_format"])
            return True
        except DoesNotFit:
            return False

    try:
        row["allocated_bytes"] = largest(fits)
        row["memory_format"] = formats[-1] if formats else ""
    except NotMeasured as reason:
        reasons.append(str(reason))
    try:
        row["predicted_bytes"] = largest(lambda batch: predicted(options, model, batch, "fp32")[1])
    except NotMeasured as reason:
        reasons.append(str(reason))
    if not reasons:
        row["error"] = relative(row["predicted_bytes"], row["allocated_bytes"])
    row["reason"] = "; ".join(reasons)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="ddl-oracle", help="path of ddl-oracle (ddl-oracle)")
    parser.add_argument("--machine", default="dgx-h100", help="bundled machine or machine file with the measured GPU (dgx-h100)")
    parser.add_argument("--models", default=default_models, help="names of models, separated by commas")
    parser.add_argument("--batches", default="8,32", help="samples of a step (8,32)")
    parser.add_argument("--precisions", default="fp32,fp16", help="any of fp32, fp16 and bf16; fp16 and bf16 use autocast (fp32,fp16)")
    parser.add_argument("--largest", default="resnet50,vgg16",
                        help="models for which the largest batch is searched; may be empty (resnet50,vgg16)")
    parser.add_argument("--memory-format", choices=["channels_last", "contiguous"], default="channels_last",
                        help="memory format of images and volumes (channels_last)")
    parser.add_argument("--seconds", type=float, default=300, help="time limit of one measurement in s (300)")
    parser.add_argument("--check", action="store_true", help="only build the models, without a GPU")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--precision", default="fp32", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for batch in names(options.batches):
        if not batch.isdigit() or int(batch) < 1:
            parser.error(f"--batches are whole numbers, not '{batch}'")
    for precision in names(options.precisions):
        if precision not in ("fp32", "fp16", "bf16"):
            parser.error(f"--precisions are fp32, fp16 and bf16, not '{precision}'")
    if options.check:
        return check(options)
    if options.step:
        return step(options)
    table = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
    table.writeheader()
    tried, figures = 0, 0

    def write(row):
        nonlocal tried, figures
        table.writerow(row)
        sys.stdout.flush()
        tried, figures = tried + 1, figures + (row["allocated_bytes"] != "")

    for model in names(options.models):
        for precision in names(options.precisions):
            for batch in names(options.batches):
                write(peak_row(options, model, int(batch), precision))
    for model in names(options.largest):
        write(largest_row(options, model))
    if tried and not figures:
        print("error: all measurements failed; the last column of the table gives the reasons", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

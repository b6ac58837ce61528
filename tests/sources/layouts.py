"""Compares plans with a layout for each layer with published plans: layouts.csv.

Usage: layouts.py PROGRAM [SOURCE]

A row has a source, the published plan and result, and the arguments of `recommend --per-layer`, or of `recommend --plan` if
`plan` is given. `quantity` is computed from the predictions, and must be between `least` and `most`:

- speedup: the number of GPUs, times the step of one GPU over the step of the fastest plan. One GPU has its share of the batch;
- gain: the step of the fastest plan with one layout over the step of the fastest plan;
- pflops: PFLOP/s of all GPUs for the model's FLOPs, without recomputed FLOPs;
- gib: the memory of a GPU in GiB.

Alpa's figure counts recomputed FLOPs of GPT: three quarters of them are the model's.
A plan must match the pattern `expected`. The time of the search is printed.
"""

import csv
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def plans_of(program, arguments, folder):
    """Returns the rows of a ranking, and the seconds of a processor that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = f"'{program}' recommend {arguments} --format csv -q"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rows = [row for row in csv.DictReader(done.stdout.splitlines()) if row.get("iteration_s")]
    if not rows:
        sys.exit(f"{command}: {done.stderr.strip()[:400]}")
    return rows, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def step(row):
    return float(row["iteration_s"])


def value_of(row, plans, one):
    """Returns the quantity of a row of layouts.csv. `one`: the plans of one GPU."""
    first = plans[0]
    if row["quantity"] == "speedup":
        return float(row["gpus"]) * step(one[0]) / step(first)
    if row["quantity"] == "gain":
        return min(step(each) for each in plans if not each["segments"]) / step(first)
    if row["quantity"] == "pflops":
        return float(first["model_flop_per_s_per_gpu"]) * float(row["gpus"]) / 1e15
    return float(first["total_bytes"]) / 2**30


def main(program, source=""):
    program = str(Path(program).resolve())
    with open(HERE / "layouts.csv", newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if source in row["source"]]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in HERE.glob("*.yaml"):
            (Path(folder) / name.name).write_text(name.read_text())
        for row in rows:
            gpus, batch = int(row["gpus"]), int(row["batch"])
            searches = f"--plan '{row['plan']}'" if row["plan"] else f"--gpus {gpus} --per-layer --top 2"
            plans, seconds = plans_of(program, f"{row['arguments']} --batch {batch} {searches}", folder)
            one = []
            if row["quantity"] == "speedup":
                one, _ = plans_of(program, f"{row['arguments']} --batch {batch // gpus} --gpus 1 --top 2", folder)
            value = value_of(row, plans, one)
            word = plans[0]["plan"]
            reasons = [] if float(row["least"]) <= value <= float(row["most"]) else [f"not {row['least']} to {row['most']}"]
            if not re.search(row["expected"], word):
                reasons.append(f"the plan is not {row['expected']!r}")
            failed += bool(reasons)
            said = f" FAILED: {', '.join(reasons)}" if reasons else ""
            print(f"{row['source']}, {gpus} GPUs: published {row['published']}; {row['quantity']} {value:.2f} with {word},"
                  f" {seconds:.2f} s{said}")
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ["COLUMNS"] = "200"
    sys.exit(main(*sys.argv[1:]))

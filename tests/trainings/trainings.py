"""Compares predicted GPU hours of whole trainings with published ones.

Usage: trainings.py PROGRAM [SET]

A row of trainings.csv has the options of `recommend` and the published GPU hours. README.md describes the sets.
"""

import csv
import json
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

# For each set, the range of predicted divided by published hours at the first prediction, rounded to the next 5 %.
RANGES = {"pythia": (0.60, 0.75), "llama2": (0.70, 0.90), "llama3": (0.45, 0.95), "bloom": (0.90, 0.95)}


def predicted_hours(program, row):
    command = shlex.split(row["command"])
    done = subprocess.run([program, "recommend", *command, "--format", "json"], capture_output=True, text=True, timeout=550, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{row['training']}: {done.stderr.strip()}")
    gpus = int(command[command.index("--gpus") + 1])
    return json.loads(done.stdout)["best"]["time"]["training_s"] * gpus / 3600


def main(program, only=""):
    with open(Path(__file__).parent / "trainings.csv", newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if only in row["set"]]
    with ThreadPoolExecutor(2) as pool:
        ratios = [hours / float(row["gpu_hours"]) for row, hours in zip(rows, pool.map(lambda row: predicted_hours(program, row), rows))]
    failed = False
    for row, ratio in zip(rows, ratios):
        least, most = RANGES[row["set"]]
        failed |= not least <= ratio <= most
        note = "" if least <= ratio <= most else f"  not from {least} to {most}"
        print(f"{row['training']:16}{100 * (ratio - 1):+6.1f} % of {float(row['gpu_hours']):,.0f} GPU hours{note}")
    print(f"{len(rows)} trainings: median {100 * (median(ratios) - 1):+.1f} %")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Compares the predicted energy of whole trainings with published measurements.

Usage: energy.py PROGRAM [SET]

A row of energy.csv has the options of `recommend`, and the measured energy of whole nodes (`node`) or of the devices alone
(`gpu`) while the training computes steps: logs of MLPerf contain the times of evaluations, which are left out. Estimated power
of switches is left out, too. No constant of the program is fitted to an energy. README.md describes the sets.
"""

import csv
import json
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean, median

TOLERANCE = 0.15
# For each set, the least share of rows within the tolerance, and the largest median error, when the rows were first predicted,
# rounded to the next 5 %.
BOUNDS = {
    "mlperf": (0.75, 0.15),
    "zeus-v100": (0.85, 0.10),
    "zeus-a40": (0.20, 0.20),
    "zeus-p100": (0.95, 0.15),
    "zeus-rtx6000": (0.0, 0.20),
}
MUST_HOLD = ("LoRA on 8 H100", "LoRA on 64 H100", "LoRA on 512 H100")
LEAST_WITHIN = 20


def first(value, key):
    """Returns the first value of a key in a JSON document, in its order."""
    if isinstance(value, dict):
        if value.get(key) is not None:
            return value[key]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            found = first(item, key)
            if found is not None:
                return found
    return None


def predicted(program, row):
    command = [program, "recommend", *shlex.split(row["command"]), "--pue", "1", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=550, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{row['set']}, {row['run']}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    energy, seconds = first(report, "energy"), first(report, "training_s")
    if energy is None:
        raise SystemExit(f"{row['set']}, {row['run']}: no energy")
    kilojoules = 3600 * energy["kwh"]
    if row["measures"] == "gpu":
        kilojoules = energy["device_w"] * seconds / 1000
    return kilojoules, seconds


def main(program, only=""):
    with open(Path(__file__).parent / "energy.csv", newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if only in row["set"]]
    with ThreadPoolExecutor(2) as pool:
        predictions = list(pool.map(lambda row: predicted(program, row), rows))
    errors, failed = {}, False
    for row, (kilojoules, seconds) in zip(rows, predictions):
        error = kilojoules / float(row["kilojoules"]) - 1
        errors.setdefault(row["set"], []).append(abs(error))
        power = kilojoules / seconds / (float(row["kilojoules"]) / float(row["seconds"])) - 1
        print(f"{row['set']:13}{row['run']:28} energy {100 * error:+6.1f} %  time {100 * (seconds / float(row['seconds']) - 1):+6.1f} %"
              f"  power {100 * power:+6.1f} %")
        if row["run"] in MUST_HOLD and row["measures"] == "node" and abs(error) > TOLERANCE:
            print(f"  more than {100 * TOLERANCE:.0f} % off")
            failed = True
    for name, values in errors.items():
        within = mean(value <= TOLERANCE for value in values)
        least, most = BOUNDS[name]
        print(f"{name}: {len(values)} runs, {100 * within:.0f} % within {100 * TOLERANCE:.0f} %, median error {100 * median(values):.1f} %")
        if within < least or median(values) > most:
            print(f"  worse than {100 * least:.0f} % within, or a median error of {100 * most:.0f} %")
            failed = True
    within = sum(value <= TOLERANCE for values in errors.values() for value in values)
    print(f"{within} of {len(rows)} runs within {100 * TOLERANCE:.0f} %")
    return 1 if failed or (not only and within < LEAST_WITHIN) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

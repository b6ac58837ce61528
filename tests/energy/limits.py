"""Compares predictions under reduced power limits with published measurements.

Usage: limits.py PROGRAM [SET]

A row of limits.csv has the options of `recommend`, a power limit in watts, the measured time divided by that at the device's
own limit, and the measured power of a device. README.md describes the sets.
"""

import csv
import json
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from statistics import median

# For each set, the largest median errors of the slowdown and of the power: those of the first prediction, rounded to the
# next 5 %. The clock of the least voltage is fitted to zeus-v100.
BOUNDS = {
    "zeus-v100": (0.05, 0.05),
    "zeus-a40": (0.05, 0.05),
    "zeus-p100": (0.10, 0.15),
    "zeus-rtx6000": (0.05, 0.05),
    "perseus-a100": (0.05, 0.10),
    "perseus-a40": (0.15, 0.10),
}


@lru_cache(maxsize=None)
def predicted(program, command, limit=""):
    """Returns the predicted time of a step in seconds, and the power of a device in watts."""
    call = [program, "recommend", *shlex.split(command), "--pue", "1", "--format", "json"]
    if limit:
        call += ["--power-limit", limit]
    done = subprocess.run(call, capture_output=True, text=True, timeout=550, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{shlex.join(call)}: {done.stderr.strip()}")
    best = json.loads(done.stdout)["best"]
    return best["time"]["iteration_s"], best["energy"]["device_w"]


def errors_of(program, row):
    """Returns the errors of the slowdown and of the power."""
    seconds, watts = predicted(program, row["command"], row["limit"])
    slower = seconds / predicted(program, row["command"])[0]
    return slower / float(row["slower"]) - 1, watts / float(row["device_w"]) - 1


def main(program, only=""):
    with open(Path(__file__).parent / "limits.csv", newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if only in row["set"]]
    with ThreadPoolExecutor(2) as pool:
        errors = list(pool.map(lambda row: errors_of(program, row), rows))
    sets, failed = {}, False
    for row, (slower, power) in zip(rows, errors):
        sets.setdefault(row["set"], []).append((abs(slower), abs(power)))
        print(f"{row['set']:14}{row['run']:22}{row['limit']:>4} W  time {100 * slower:+6.1f} %  power {100 * power:+6.1f} %")
    for name, values in sets.items():
        slower, power = (median(value[i] for value in values) for i in range(2))
        print(f"{name}: {len(values)} limits, median errors of {100 * slower:.1f} % of the slowdown and {100 * power:.1f} % of the power")
        most_slower, most_power = BOUNDS[name]
        if slower > most_slower or power > most_power:
            print(f"  more than {100 * most_slower:.0f} or {100 * most_power:.0f} %")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

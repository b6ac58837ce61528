"""Separates the bundled runs by whether their set has a part in a constant of the program.

  python3 unseen.py PROGRAM CONSTANTS.csv

CONSTANTS.csv names each set of runs to which a constant was fitted, the constant, and the file that has it with its source.
Widths of intervals are fitted to all sets, and are not counted. For both parts, the script prints accuracy, mean error and
coverage of `validate published-runs`. It exits with 1 if CONSTANTS.csv names a set or a file that does not exist, or if bundled
runs are from a document that a table of this folder is from.
"""

import csv
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
OBSERVATIONS = os.path.join(ROOT, "calibration", "observations")


def line(name, cases):
    errors = [case["predicted_s"] / case["measured_s"] - 1 for case in cases if case["predicted_s"] is not None]
    held = [case["held"] for case in cases if case["held"] is not None]
    accuracy = sum(1 - abs(error) for error in errors) / len(cases)
    bias, covered = 100 * sum(errors) / len(errors), 100 * sum(held) / len(held)
    return f"{name}: {len(cases):,} runs, accuracy {accuracy:.3f}, mean error {bias:+.1f} %, covered {covered:.0f} %"


def document(row):
    """The document of a row's source, `owner/name@commit: path#line`, without its version and line."""
    repository, _, path = row["source_file"].partition(": ")
    return repository.split("@")[0], path.split("#")[0]


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: unseen.py PROGRAM CONSTANTS.csv")
    program, constants = sys.argv[1:]
    with open(constants, encoding="utf-8", newline="") as file:
        seen = {row["set"]: row["file"] for row in csv.DictReader(file)}
    with open(os.path.join(OBSERVATIONS, "published-runs.csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    sets = [row["set"] for row in rows]
    bundled = {document(row): row["set"] for row in rows}
    for table in sorted(glob.glob(os.path.join(ROOT, "tests", "held_out", "*.csv"))):
        if os.path.basename(table) == os.path.basename(constants):
            continue
        with open(table, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if document(row) in bundled:
                    sys.exit(f"{row['source_file']} is held out, but the set {bundled[document(row)]} is from the same document")
    for name, path in seen.items():
        if name not in sets and not os.path.exists(os.path.join(OBSERVATIONS, name + ".csv")):
            sys.exit(f"no set or table {name}")
        if not os.path.exists(os.path.join(ROOT, path)):
            sys.exit(f"no file {path}")
    with tempfile.TemporaryDirectory() as data:
        run = subprocess.run(
            [program, "validate", "published-runs", "--coefficients", "none", "--format", "json"],
            env=dict(os.environ, DDL_ORACLE_DATA=data),
            capture_output=True,
            text=True,
            check=True,
        )
    parts = {True: [], False: []}
    for name, case in zip(sets, json.loads(run.stdout)["cases"]):
        parts[name in seen].append(case)
    print(line(f"{len(set(sets) - set(seen))} sets to which no constant is fitted", parts[False]))
    print(line(f"{len(set(sets) & set(seen))} sets to which a constant is fitted", parts[True]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

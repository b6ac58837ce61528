"""Runs `validate` on a held-out table, and prints only the error over the whole table.

  python3 held_back.py PROGRAM TABLE MACHINE BOUND

BOUND is the largest mean absolute percentage error that passes. Exits with 1 if the error is above BOUND, or if a row cannot be predicted.
"""

import csv
import json
import math
import os
import subprocess
import sys
import tempfile


def main():
    if len(sys.argv) != 5:
        sys.exit("usage: held_back.py PROGRAM TABLE MACHINE BOUND")
    program, table, machine, bound = sys.argv[1:]
    with open(table, encoding="utf-8", newline="") as file:
        rows = len(list(csv.DictReader(file)))
    with tempfile.TemporaryDirectory() as data:
        run = subprocess.run(
            [program, "validate", table, "--machine", machine, "--format", "json"],
            env=dict(os.environ, DDL_ORACLE_DATA=data),
            capture_output=True,
            text=True,
            check=False,
        )
    if run.returncode != 0:
        sys.exit(f"exit code {run.returncode}: {run.stderr}")
    report = json.loads(run.stdout)
    predicted = sum(case["predicted_s"] is not None for case in report["cases"])
    if rows == 0 or predicted != rows:
        sys.exit(f"{predicted} of {rows} rows are predicted")
    # Accuracy is the mean of 1 - |error|.
    error = 100 * (1 - report["summary"]["accuracy"])
    passes = math.isfinite(error) and error <= float(bound)
    print(f"mean absolute error {error:.1f} % over {rows} runs, {'at most' if passes else 'ABOVE'} {bound} %")
    return 0 if passes else 1


if __name__ == "__main__":
    sys.exit(main())

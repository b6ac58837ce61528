"""Runs `validate` on a held-out table, and prints only figures over whole sets.

  python3 predict_table.py PROGRAM TABLE MACHINE BOUND [REFUSED]

MACHINE is the machine of rows that name none. BOUND is the largest mean absolute percentage error over the table that passes, and
REFUSED the number of rows that cannot be predicted (default: 0). A refused row counts in the error as 100 %. Exits with 1 if the
error is above BOUND, or if more rows than REFUSED cannot be predicted.
"""

import csv
import json
import math
import os
import subprocess
import sys
import tempfile


def figures(rows, cases):
    """Returns a line of figures over some rows of the table and their cases."""
    errors = [case["predicted_s"] / case["measured_s"] - 1 for case in cases if case["predicted_s"] is not None]
    held = [case["held"] for case in cases if case.get("held") is not None]
    if not errors:
        return f"{len(rows)} runs, all refused"
    size = 100 * sum(map(abs, errors)) / len(errors)
    bias = 100 * sum(errors) / len(errors)
    covered = f"{100 * sum(held) / len(held):.0f} %" if held else "-"
    refused = len(rows) - len(errors)
    return f"{len(rows)} runs, error {size:.1f} %, mean error {bias:+.1f} %, covered {covered}, {refused} refused"


def main():
    if len(sys.argv) not in (5, 6):
        sys.exit("usage: predict_table.py PROGRAM TABLE MACHINE BOUND [REFUSED]")
    program, table, machine, bound = sys.argv[1:5]
    allowed = int(sys.argv[5]) if len(sys.argv) == 6 else 0
    with open(table, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with tempfile.TemporaryDirectory() as data:
        run = subprocess.run(
            [os.path.abspath(program), "validate", os.path.abspath(table), "--machine", machine, "--format", "json"],
            cwd=os.path.dirname(os.path.abspath(table)),  # machines of the table are files in its folder
            env=dict(os.environ, DDL_ORACLE_DATA=data),
            capture_output=True,
            text=True,
            check=False,
        )
    if run.returncode != 0:
        sys.exit(f"exit code {run.returncode}: {run.stderr}")
    report = json.loads(run.stdout)
    cases = report["cases"]
    if not rows or len(cases) != len(rows):
        sys.exit(f"{len(cases)} of {len(rows)} rows are reported")
    refused = sum(case["predicted_s"] is None for case in cases)
    # Accuracy is the mean of 1 - |error|.
    error = 100 * (1 - report["summary"]["accuracy"])
    passes = math.isfinite(error) and error <= float(bound) and refused <= allowed
    names = sorted({row.get("set", "") for row in rows})
    for name in names if len(names) > 1 else []:
        members = [index for index, row in enumerate(rows) if row.get("set", "") == name]
        print(f"{name}: {figures([rows[index] for index in members], [cases[index] for index in members])}")
    print(figures(rows, cases))
    print(f"mean absolute error {error:.1f} % over {len(rows)} runs, {'at most' if passes else 'ABOVE'} {bound} %")
    return 0 if passes else 1


if __name__ == "__main__":
    sys.exit(main())

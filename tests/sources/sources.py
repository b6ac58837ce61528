"""Runs the command of each row of rows.csv: what the talks and papers behind the program describe.

Usage: sources.py PROGRAM [SLIDE]

A row has the slide or section of a source, the claim, and a command whose output must match the pattern `expected`. If the row
has a `figure`, of the source or derived from its formula, the number that the pattern finds is at most `within` percent off. A row
without a command gives the reason: `history`, `not the program` (a fact about the source tree), or `no`, if the program does
not support it. At most 3 rows may be unsupported.
"""

import csv
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
MOST_UNSUPPORTED = 3
REASONS = ("history", "not the program", "no: ")


def failure(row, folder, environment):
    """Returns why a row fails; empty if it passes."""
    if not row["command"]:
        return "" if row["expected"].startswith(REASONS) else "neither a command nor a reason"
    work = Path(tempfile.mkdtemp(dir=folder))
    for name in HERE.glob("*.yaml"):
        (work / name.name).write_text(name.read_text())
    done = subprocess.run(row["command"], shell=True, cwd=work, env=environment, capture_output=True, text=True, timeout=550, check=False)
    if done.returncode not in (0, 1, 3):
        return f"exit code {done.returncode}: {done.stderr.strip().splitlines()[0] if done.stderr else ''}"
    found = re.search(row["expected"], done.stdout, re.MULTILINE)
    if not found:
        return f"no {row['expected']!r} in {done.stdout[:300]!r}"
    if not row["figure"]:
        return ""
    number, figure = float(found[1].replace(",", "")), float(row["figure"])
    off = 100 * abs(number / figure - 1)
    return "" if off <= float(row["within"]) + 1e-9 else f"{number} is {off:.3g} % off {figure}"


def main(program, slide=""):
    with open(HERE / "rows.csv", newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if slide in row["slide"]]
    environment = os.environ | {"PATH": f"{Path(program).parent}:{os.environ['PATH']}", "COLUMNS": "200"}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        failures = list(pool.map(lambda row: failure(row, folder, environment), rows))
    for row, reason in zip(rows, failures):
        if reason:
            print(f"{row['source']}, {row['slide']}, {row['claim']}: {row['command']}\n  {reason}")
    unsupported = sum(row["expected"].startswith("no: ") for row in rows)
    figures = sum(bool(row["figure"]) for row in rows)
    print(f"{len(rows)} rows: {sum(bool(row['command']) for row in rows)} run, {figures} check a figure, {unsupported} are not supported")
    return 1 if any(failures) or unsupported > MOST_UNSUPPORTED else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

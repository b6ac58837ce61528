"""Compares figures of reports with a table of them.

  python3 figures.py PROGRAM TABLE

TABLE is a CSV file with one figure a row: its name, the command line behind `ddl-oracle` (run in the folder of the table, with
--format json), the place of the figure in the output, its value, the relative tolerance, and where the value comes from. A place is
a list of keys with dots between them; in an array, a key is an index, or `name=conv1` for the first element whose name is conv1.

A source starts with `derivation:`, `measured:` or `regression:`. With DDL_ACCEPT=1 in the environment, the values of regressions that
differ are rewritten. A derived or measured value is never rewritten: if the figure differs, the test
fails nevertheless. Each distinct command line is run once. The script exits with 1 if a figure differs.
"""

import csv
import io
import json
import math
import os
import subprocess
import sys
import tempfile

COLUMNS = ["name", "command", "path", "value", "tolerance", "source"]
SOURCES = ("derivation: ", "measured: ", "regression: ")


def answer_of(program, command, folder, data):
    """Returns the JSON output of a command, or its error as text. Exit codes of verdicts are no errors."""
    environment = dict(os.environ, DDL_ORACLE_DATA=data)
    run = subprocess.run(
        [program, *command.split(), "--format", "json"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    try:
        return json.loads(run.stdout)
    except json.JSONDecodeError:
        return f"exit code {run.returncode}, {(run.stderr.splitlines() or ['no JSON'])[0]}"


def step(value, key):
    if isinstance(value, dict):
        return value[key]
    if isinstance(value, list) and key.isdigit():
        return value[int(key)]
    if isinstance(value, list) and "=" in key:
        name, _, wanted = key.partition("=")
        return next(each for each in value if isinstance(each, dict) and str(each.get(name)) == wanted)
    raise KeyError(key)


def figure_at(answer, path):
    """Returns the figure at this place, or an error as text."""
    if isinstance(answer, str):
        return answer
    value = answer
    for key in path.split("."):
        try:
            value = step(value, key)
        except (KeyError, IndexError, StopIteration):
            return f"there is no '{key}'"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"{json.dumps(value)[:40]} is no figure"
    return value if math.isfinite(value) else f"{value} is no finite figure"


def matches(actual, expected, tolerance):
    return abs(actual - expected) <= tolerance * abs(expected)


def read_table(path):
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != COLUMNS:
            sys.exit(f"{path}: the columns are {','.join(COLUMNS)}, not {','.join(reader.fieldnames or [])}")
        rows = list(reader)
    if not rows:
        sys.exit(f"{path}: no figures")
    names = set()
    for number, row in enumerate(rows, start=2):
        if row["name"] in names:
            sys.exit(f"{path}:{number}: there is a figure {row['name']!r} already")
        if not row["source"].startswith(SOURCES):
            sys.exit(f"{path}:{number}: the source starts with one of {', '.join(each.strip() for each in SOURCES)}")
        names.add(row["name"])
    return rows


def text_of(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: figures.py PROGRAM TABLE")
    program, table = (os.path.abspath(each) for each in sys.argv[1:])
    rows = read_table(table)
    accept = os.environ.get("DDL_ACCEPT") == "1"
    answers = {}
    missed = 0
    accepted = 0
    with tempfile.TemporaryDirectory() as data:
        for row in rows:
            command = row["command"]
            if command not in answers:
                answers[command] = answer_of(program, command, os.path.dirname(table), data)
            actual = figure_at(answers[command], row["path"])
            if not isinstance(actual, str) and matches(actual, float(row["value"]), float(row["tolerance"])):
                continue
            difference = ""
            if not isinstance(actual, str) and float(row["value"]) != 0:
                difference = f", {actual / float(row['value']) - 1:+.2%}"
            print(f"{row['name']}: expected {row['value']} within {row['tolerance']}, was {actual}{difference}")
            print(f"  {row['source']}\n  ddl-oracle {command}: {row['path']}")
            if accept and not isinstance(actual, str) and row["source"].startswith("regression: "):
                row["value"] = repr(actual)
                accepted += 1
            else:
                missed += 1
    print(f"{len(rows)} figures of {len(answers)} commands, {missed} missed, {accepted} accepted")
    if accepted > 0:
        with open(table, "w", encoding="utf-8", newline="") as file:
            file.write(text_of(rows))
    elif missed > 0 and not accept:
        print("A regression that should be so now: run the test again with DDL_ACCEPT=1, and review the change of the table.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Reads the public rows that docs/comparison.md compares, and writes the predictions of another program for them.

A row is named by its table and line, such as `published-runs.csv:812`, and by the measured value, so that a table that
changed is noticed. Only measured times of whole steps are compared.
"""

import csv
import datetime
import os

OBSERVATIONS = os.path.join(os.path.dirname(__file__), "..", "..", "calibration", "observations")
COLUMNS = ["set", "row", "measured_s", "predicted_s", "reason", "version", "command", "date"]


def group_of(table, row):
    """Returns the name of the group of rows in docs/comparison.md, or None if the page does not compare the row."""
    if row["quantity"] != "iter_total_s":
        return None
    if table == "vtrain-a100-node.csv":
        return "vTrain, 2 to 8 GPUs"
    if table == "vtrain-a100-cluster.csv":
        return "vTrain, 64 to 512 GPUs"
    if table == "paradl-abci.csv":
        return "ParaDL" if row["quality"] in ("A", "B") and row["includes_io"] == "no" else None
    if table == "megatron-a100.csv":
        return "Korthikanti 2022" if "tab5" in row["source_file"] else "SC'21, Megatron-LM"
    name = row["set"]
    if name == "sc21-table-1":
        return "SC'21, Megatron-LM"
    if name.startswith("korthikanti"):
        return "Korthikanti 2022"
    if name == "simumax-b200":
        return "SimuMax"
    if name == "torchtitan":
        return "torchtitan"
    # The others were bundled after the peers were asked, and are of kinds of networks that no peer describes.
    later = ("mlperf-0.5", "mlperf-flux", "mlperf-gnmt", "mlperf-sd")
    if name.startswith("mlperf-") and not name.startswith("mlperf-hpc") and name not in later:
        return "MLPerf"
    return None


def rows():
    """Yields (group, name of the row, row) for each compared row, in the order of the tables."""
    tables = ["vtrain-a100-node.csv", "vtrain-a100-cluster.csv", "megatron-a100.csv", "published-runs.csv", "paradl-abci.csv"]
    for table in tables:
        with open(os.path.join(OBSERVATIONS, table), encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            for row in reader:
                group = group_of(table, row)
                if group is not None:
                    row.setdefault("machine", "")
                    row["machine"] = row["machine"] or {"paradl-abci.csv": "abci"}.get(table, "dgx-a100")
                    yield group, f"{table}:{reader.line_num}", row


def degrees(row):
    """Returns the degree of each axis that a row names."""
    named = dict(part.split("=") for part in row.get("degrees", "").split(",") if part)
    return {axis: int(degree) for axis, degree in named.items()}


def parameters(row):
    """Returns the model's name and its parameters as text."""
    name, *rest = row["model"].split("@")
    return name, dict(part.split("=") for part in rest)


def read(path):
    """Returns the lines of a file of predictions by the name of their row."""
    with open(path, encoding="utf-8", newline="") as file:
        return {line["row"]: line for line in csv.DictReader(file)}


def write(path, version, command, predictions):
    """Writes (group, name, row, seconds or None, reason) tuples to a CSV file."""
    today = datetime.date.today().isoformat()
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for group, name, row, seconds, reason in predictions:
            predicted = "" if seconds is None else f"{seconds:.6g}"
            writer.writerow([group, name, row["value"], predicted, reason, version, command, today])


def keep(path, version, command, predictions):
    """Compares predictions with those in a file. If there is no file, or with DDL_ACCEPT=1, writes the file."""
    if not os.path.exists(path) or os.environ.get("DDL_ACCEPT") == "1":
        write(path, version, command, predictions)
        return 0
    lines = read(path)
    differing = 0
    for _, name, _, seconds, reason in predictions:
        line = lines.get(name, {"predicted_s": "", "reason": "no such line"})
        stored = float(line["predicted_s"]) if line["predicted_s"] else None
        same = stored == seconds if None in (stored, seconds) else abs(stored / seconds - 1) < 1e-3
        if not same or line["reason"] != reason:
            differing += 1
            print(f"{name}: {seconds} {reason}, in the file {line['predicted_s']} {line['reason']}")
    print(f"{version}: {len(predictions)} rows, {differing} differ")
    return 1 if differing else 0

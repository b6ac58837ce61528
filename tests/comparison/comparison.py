"""Compares this program with Calculon and SimuMax on public measured rows, and keeps the tables of docs/comparison.md.

  python3 comparison.py PROGRAM PAGE

Predictions of the others are data: calculon.csv and simumax.csv, written by predict_calculon.py and predict_simumax.py.
Predictions of this program come from `validate --format csv`. Each table of PAGE stands between two comments that name it.
The script exits with 1 if a word of a table differs, or a number by more than TOLERANCE. DDL_ACCEPT=1 rewrites the tables.
"""

import csv
import io
import os
import re
import subprocess
import sys
import tempfile

import peer_rows

FOLDER = os.path.dirname(os.path.abspath(__file__))
PEERS = {"Calculon": "calculon.csv", "SimuMax": "simumax.csv"}
ORACLE = "ddl-oracle"
TOLERANCE = 2  # points of percent, and rows
COMMANDS = {
    "vtrain-a100-node.csv": ["vtrain-a100-node", "--machine", "dgx-a100"],
    "vtrain-a100-cluster.csv": ["vtrain-a100-cluster", "--machine", "dgx-a100"],
    "megatron-a100.csv": ["megatron-a100", "--machine", "dgx-a100"],
    "published-runs.csv": ["published-runs", "--coefficients", "none"],
    "paradl-abci.csv": ["paradl-abci", "--coefficients", "none"],
}


def predictions_of(program, rows):
    """Returns the predicted seconds of this program by the name of the row."""
    predicted = {}
    with tempfile.TemporaryDirectory() as data:
        for table, arguments in COMMANDS.items():
            sets = sorted({row["set"] for _, name, row in rows if name.startswith(table) and row.get("set")})
            where = ["--where", "set=" + ",".join(sets)] if sets else []
            run = subprocess.run(
                [program, "validate", *arguments, *where, "--format", "csv"],
                env=dict(os.environ, DDL_ORACLE_DATA=data),
                capture_output=True,
                text=True,
                check=True,
            )
            for line in csv.DictReader(io.StringIO(run.stdout)):
                name = os.path.basename(line["origin"])
                predicted[name] = float(line["predicted_s"]) if line["predicted_s"] else None
    return predicted


def others(rows):
    """Returns the predicted seconds of each peer by the name of the row. Exits if a row is not in the peer's file."""
    found = {}
    for peer, file in PEERS.items():
        lines = peer_rows.read(os.path.join(FOLDER, file))
        found[peer] = {}
        for _, name, row in rows:
            line = lines.get(name)
            if line is None or float(line["measured_s"]) != float(row["value"]):
                sys.exit(f"{name} is not in {file}: run predict_{file[:-4]}.py again")
            found[peer][name] = float(line["predicted_s"]) if line["predicted_s"] else None
    return found


def question(row):
    """Rows that answer one question: the same training on the same machine, with different plans."""
    return tuple(row.get(key, "") for key in ("model", "gpus", "global_batch", "precision", "machine", "recompute", "set"))


def choices(rows, predicted):
    """Returns (questions, mean regret) of the plans with the shortest predicted time."""
    asked = {}
    for _, name, row in rows:
        asked.setdefault(question(row), []).append((predicted[name], float(row["value"])))
    regrets = []
    for plans in asked.values():
        if len(plans) > 1:
            regrets.append(min(plans)[1] / min(measured for _, measured in plans) - 1)
    return len(regrets), sum(regrets) / len(regrets) if regrets else 0


def errors(rows, predicted):
    """Returns (mean absolute error, mean error)."""
    found = [predicted[name] / float(row["value"]) - 1 for _, name, row in rows]
    return sum(map(abs, found)) / len(found), sum(found) / len(found)


def table(heads, lines):
    ruler = ["---"] * len(heads)
    return "".join("| " + " | ".join(line) + " |\n" for line in [heads, ruler, *lines])


def tables(rows, predicted):
    """Returns the tables of the page by their names."""
    groups = sorted({group for group, _, _ in rows}, key=[group for group, _, _ in rows].index)
    programs = [ORACLE, *PEERS]
    coverage, accuracy, choice = [], [], []
    for group in groups:
        members = [each for each in rows if each[0] == group]
        covered = {program: [each for each in members if predicted[program].get(each[1]) is not None] for program in programs}
        coverage.append([group, f"{len(members):,}", *(f"{len(covered[program]):,}" for program in programs)])
        for peer in PEERS:
            common = [each for each in covered[peer] if predicted[ORACLE].get(each[1]) is not None]
            if not common:
                continue
            ours, theirs = errors(common, predicted[ORACLE]), errors(common, predicted[peer])
            figures = [f"{100 * ours[0]:.1f} %", f"{100 * ours[1]:+.1f} %", f"{100 * theirs[0]:.1f} %", f"{100 * theirs[1]:+.1f} %"]
            accuracy.append([group, f"{len(common):,}", *figures, peer])
            asked, regret = choices(common, predicted[ORACLE])
            if asked:
                other = choices(common, predicted[peer])[1]
                choice.append([group, f"{asked:,}", f"{100 * regret:.1f} %", f"{100 * other:.1f} %", peer])
    total = [f"{sum(1 for each in rows if predicted[program].get(each[1]) is not None):,}" for program in programs]
    coverage.append(["all", f"{len(rows):,}", *total])
    reasons = {}
    for peer, file in PEERS.items():
        for line in peer_rows.read(os.path.join(FOLDER, file)).values():
            if line["reason"]:
                key = (peer, "refused by the peer" if line["reason"].startswith("refused") else line["reason"])
                reasons[key] = reasons.get(key, 0) + 1
    return {
        "coverage": table(["rows", "runs", *programs], coverage),
        "reasons": table(["peer", "not covered because", "runs"], [[*key, f"{count:,}"] for key, count in sorted(reasons.items())]),
        "error": table(["rows", "runs", ORACLE, "its mean", "peer", "its mean", "which peer"], accuracy),
        "choice": table(["rows", "questions", ORACLE, "peer", "which peer"], choice),
    }


NUMBER = re.compile(r"[+-]?[\d,]*\.?\d+")


def differ(old, new):
    """Whether a word of two texts differs, or a number by more than TOLERANCE."""
    if NUMBER.sub("#", old) != NUMBER.sub("#", new):
        return True
    pairs = zip(NUMBER.findall(old), NUMBER.findall(new))
    return any(abs(float(a.replace(",", "")) - float(b.replace(",", ""))) > TOLERANCE for a, b in pairs)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: comparison.py PROGRAM PAGE")
    program, page = sys.argv[1:]
    rows = list(peer_rows.rows())
    predicted = {ORACLE: predictions_of(program, rows), **others(rows)}
    with open(page, encoding="utf-8") as file:
        text = file.read()
    failed = 0
    for name, new in tables(rows, predicted).items():
        place = re.compile(rf"(<!-- table {name} -->\n)(.*?)(<!-- end -->)", re.DOTALL)
        found = place.search(text)
        if found is None:
            sys.exit(f"{page} has no table {name}")
        if differ(found[2], new):
            failed += 1
            print(f"table {name}:\n{new}")
        text = text[: found.start()] + found[1] + new + found[3] + text[found.end() :]
    if os.environ.get("DDL_ACCEPT") == "1":
        with open(page, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    print(f"{len(rows)} rows, {failed} tables differ from {os.path.basename(page)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

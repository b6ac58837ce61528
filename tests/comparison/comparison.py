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
import textwrap

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


def percent(figure):
    return f"{100 * figure:.1f}"


def results(rows, predicted):
    """Returns the table of coverage, error and choice: a line for each group, and for each peer that covers a part of it."""
    heads = ["rows", "runs", *PEERS, "error", "peer", "mean error", "peer", "questions", "regret", "peer"]
    lines = []
    for group in dict.fromkeys(group for group, _, _ in rows):
        members = [each for each in rows if each[0] == group]
        covered = {peer: [each for each in members if predicted[peer].get(each[1]) is not None] for peer in PEERS}
        counts = [group, f"{len(members):,}", *(f"{len(covered[peer]):,}" for peer in PEERS)]
        for peer in [peer for peer in PEERS if covered[peer]] or [None]:
            common = [each for each in covered.get(peer, []) if predicted[ORACLE].get(each[1]) is not None]
            if not common:
                lines.append([*counts, *[""] * 7])
                continue
            ours, theirs = errors(common, predicted[ORACLE]), errors(common, predicted[peer])
            asked, regret = choices(common, predicted[ORACLE])
            line = [*counts, percent(ours[0]), percent(theirs[0]), f"{100 * ours[1]:+.1f}", f"{100 * theirs[1]:+.1f}"]
            line += [f"{asked:,}", percent(regret), percent(choices(common, predicted[peer])[1])] if asked else [""] * 3
            lines.append(line)
    total = [f"{sum(1 for each in rows if predicted[peer].get(each[1]) is not None):,}" for peer in PEERS]
    lines.append(["all", f"{len(rows):,}", *total, *[""] * 7])
    ruler = "|" + "---|" * len(heads) + "\n"
    head, *body = ("| " + " | ".join(line) + " |\n" for line in [heads, *lines])
    return head + ruler + "".join(body)


def reasons():
    """Returns a line for each peer with the reasons for which it does not cover runs."""
    text = ""
    for peer, file in PEERS.items():
        counts = {}
        for line in peer_rows.read(os.path.join(FOLDER, file)).values():
            if line["reason"]:
                reason = line["reason"].split(":")[0]
                counts[reason] = counts.get(reason, 0) + 1
        listed = "; ".join(f"{reason} ({count:,})" for reason, count in sorted(counts.items(), key=lambda each: -each[1]))
        text += textwrap.fill(f"- {peer}: {listed}", 125, subsequent_indent="  ", break_on_hyphens=False) + "\n"
    return text


def tables(rows, predicted):
    """Returns the generated parts of the page by their names."""
    return {"results": results(rows, predicted), "reasons": reasons()}


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

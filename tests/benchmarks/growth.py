"""Measures how the user time of commands grows with the size of a question, and compares the times with budgets.

  python3 tests/benchmarks/growth.py PROGRAM LOOP [--turns 2] [--only TEXT] [--accept]

growth.csv has one line for each command: its series, the size of the question, the arguments, and a budget. A time is the
least user time of a command over that of LOOP (calibration_loop.cpp), both the least of all turns. The exponent of a series is
the slope of the times over the sizes, on logarithmic axes: 0 if the time does not grow, 1 if it grows like the size. A command
without a budget is only measured. --accept sets each budget to 1.5 times the present time. It is no test: exit 1 if a command
fails or exceeds its budget.
"""

import argparse
import csv
import math
import os
import shlex
import sys
import tempfile

import against

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "growth.csv")
COLUMNS = ["series", "size", "arguments", "budget"]
ROOM = 1.5


def read_table():
    with open(TABLE, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_table(rows):
    with open(TABLE, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def exponent(points):
    """The slope of log(time) over log(size); None for fewer than two sizes."""
    logs = [(math.log(size), math.log(time)) for size, time in points if time > 0]
    if len({size for size, _ in logs}) < 2:
        return None
    mean_size = sum(size for size, _ in logs) / len(logs)
    mean_time = sum(time for _, time in logs) / len(logs)
    return sum((size - mean_size) * (time - mean_time) for size, time in logs) / sum((size - mean_size) ** 2 for size, _ in logs)


def large_machine(program, folder):
    """A machine file with nodes for 720,720 devices."""
    path = os.path.join(folder, "large.yaml")
    arguments = ["machines", "new", "large", "--like", "dgx-h100", "--nodes", "90112", "--assume-gpus", "-o", path]
    _, status = against.user_time(program, arguments, folder)
    if status != 0:
        sys.exit(f"{program} machines new fails with {status}")
    return path


def measure(options, rows, folder):
    """Least user times of LOOP and of each row's command; None for a command that fails."""
    large = large_machine(options.program, folder)
    loop, times = None, [None] * len(rows)
    for _ in range(max(1, options.turns)):
        for place, row in enumerate(rows):
            seconds, status = against.user_time(options.loop, [], folder)
            if status != 0:
                sys.exit(f"{options.loop} fails with {status}")
            loop = min(loop or seconds, seconds)
            arguments = [large if word == "LARGE" else word for word in shlex.split(row["arguments"])]
            seconds, status = against.user_time(options.program, arguments, folder)
            if status <= 1:
                times[place] = min(times[place] or seconds, seconds)
    return loop, times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("loop")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--only", default="", help="series whose name has this in it")
    parser.add_argument("--accept", action="store_true", help=f"set the budgets to {ROOM} times the present times")
    options = parser.parse_args()
    table = read_table()
    rows = [row for row in table if options.only in row["series"]]
    if not rows:
        parser.error(f"no series has '{options.only}' in its name")
    with tempfile.TemporaryDirectory() as folder:
        loop, times = measure(options, rows, folder)
    failed = False
    print(f"calibration loop: {loop:.2f} s\n{'series':34}{'size':>9}{'user s':>9}{'loops':>9}{'budget':>9}{'exponent':>10}")
    for place, (row, seconds) in enumerate(zip(rows, times)):
        if seconds is None:
            failed = True
            print(f"{row['series']:34}{row['size']:>9}{'failed':>9}")
            continue
        loops = seconds / loop
        is_last = place + 1 == len(rows) or rows[place + 1]["series"] != row["series"]
        own = [(float(each["size"]), time) for each, time in zip(rows, times) if each["series"] == row["series"] and time]
        slope = exponent(own) if is_last else None
        over = row["budget"] and loops > float(row["budget"])
        failed = failed or (bool(over) and not options.accept)
        print(f"{row['series']:34}{row['size']:>9}{seconds:9.2f}{loops:9.3f}{row['budget'] or '-':>9}"
              f"{'' if slope is None else f'{slope:10.2f}'}{'  over its budget' if over else ''}")
        if options.accept:
            row["budget"] = f"{loops * ROOM:.3g}"
    if options.accept and not failed:
        write_table(table)
        print(f"accepted: {os.path.relpath(TABLE)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Compares the speed of whole commands with a committed baseline.

  python3 tests/benchmarks/baseline.py PROGRAM LOOP [--turns 5] [--only TEXT] [--accept]

A figure is the user time of a command divided by that of LOOP, a fixed amount of work (calibration_loop.cpp). Both are minima of all
turns, so a baseline roughly holds on other machines of the same type, and on a busy machine. The ratio is the
present figure divided by the baseline's: above 1, the program has become slower. Ratios from 0.8 to 1.25 say little on a busy
machine: repeat the command, or use --against. --accept rewrites the baseline. The script exits with 1 only if a command fails.
"""

import argparse
import csv
import os
import sys
import tempfile

import against

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "baseline.csv")
SECONDS_A_TURN = 0.4


def read_baseline():
    if not os.path.exists(TABLE):
        return {}
    with open(TABLE, encoding="utf-8", newline="") as file:
        return {row["command"]: float(row["loops"]) for row in csv.DictReader(file)}


def write_baseline(figures):
    with open(TABLE, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["command", "loops"])
        writer.writerows((name, f"{figure:.4g}") for name, figure in figures.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("loop")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="", help="commands whose name has this in it")
    parser.add_argument("--accept", action="store_true", help="make the present figures the baseline")
    options = parser.parse_args()
    baseline = read_baseline()
    failed = False
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        wanted = [(name, arguments) for name, arguments in against.commands(folder) if options.only in name]
        if not wanted:
            parser.error(f"no command has '{options.only}' in its name")
        loop = None
        for _ in range(max(1, options.turns)):
            for name, arguments in wanted:
                # The loop is timed next to each command, because the speed of a machine changes.
                seconds, status = against.user_time(options.loop, [], folder)
                if status != 0:
                    sys.exit(f"{options.loop} fails with {status}")
                loop = min(loop or seconds, seconds)
                spent = 0.0
                while spent < SECONDS_A_TURN:  # a short command is repeated more often
                    seconds, status = against.user_time(options.program, arguments, folder)
                    if status > 1:
                        failed = True
                        break
                    spent += seconds
                    times[name] = min(times.get(name, seconds), seconds)
    print(f"calibration loop: {loop:.2f} s\n{'command':26}{'user s':>9}{'loops':>9}{'baseline':>10}{'ratio':>8}")
    figures = {}
    for name, _ in wanted:
        if name not in times:
            print(f"{name:26}{'failed':>9}")
            continue
        figures[name] = times[name] / loop
        before = baseline.get(name)
        against_it = f"{before:10.3f}{figures[name] / before:8.2f}" if before else f"{'-':>10}{'-':>8}"
        print(f"{name:26}{times[name]:9.2f}{figures[name]:9.3f}{against_it}")
    if options.accept and not failed:
        write_baseline({name: figures.get(name, baseline.get(name)) for name in {**baseline, **figures}})
        print(f"accepted: {os.path.relpath(TABLE)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

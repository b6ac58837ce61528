"""Runs whole commands of this program and of another build in turn, and prints user times and their ratio.

  python3 tests/benchmarks/against.py THIS OTHER [--turns 3] [--only TEXT]

Each command runs as often as --turns says, THIS and OTHER in turn, so that other load on the machine affects both.
A time is the least user time of a program's turns, in seconds; the ratio is OTHER's divided by THIS's: above 1, THIS is faster.
Exits with 1 if a command of THIS fails.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile

CHAIN = "format: 1\nmodel: chain\ninput: {channels: 16, size: 32x32}\nlayers:\n"


def commands(folder):
    """Returns commands as names and arguments. The chain is a model of ten thousand layers without blocks."""
    chain = os.path.join(folder, "chain.yaml")
    with open(chain, "w", encoding="utf-8") as file:
        file.write(CHAIN + "  - convolution: {filters: 16, kernel: 3, padding: same}\n" * 10_000)
        file.write("  - flatten\n  - fully_connected: 10\n  - loss: cross_entropy\n")
    runs = ["vtrain-a100-node", "--machine", "dgx-a100"]
    return [
        ("recommend, 1,024 GPUs", ["recommend", "--gpus", "1024"]),
        ("recommend, 3,600 GPUs", ["recommend", "--gpus", "3600", "--global-batch", "3600"]),
        ("recommend, 1,000 blocks", ["recommend", "--model", "gpt3-175b@layers=1000", "--gpus", "1024", "--machine", "dgx-h100"]),
        ("recommend, 10,000 layers", ["recommend", "--model", chain, "--gpus", "64"]),
        ("calibrate runs", ["calibrate", "--runs", *runs]),
        ("leave-one-out", ["validate", *runs, "--leave-one-out"]),
    ]


def user_time(program, arguments, folder):
    """Runs a command once; returns its user time in seconds and its exit status."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    environment = dict(os.environ, DDL_ORACLE_DATA=os.path.join(folder, "data"), NO_COLOR="1")
    status = subprocess.run([program, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if status.returncode > 1:
        sys.stderr.write(status.stderr.decode(errors="replace"))
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, status.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("this")
    parser.add_argument("other")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", default="", help="commands whose name has this in it")
    options = parser.parse_args()
    for program in (options.this, options.other):
        if not os.access(program, os.X_OK):
            parser.error(f"{program} is no program that can be run")
    failed = False
    print(f"{'command':26}{'this s':>9}{'other s':>9}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in commands(folder):
            if options.only not in name:
                continue
            times = {options.this: [], options.other: []}
            for _ in range(max(1, options.turns)):
                for program, known in times.items():
                    seconds, status = user_time(program, arguments, folder)
                    if status <= 1:
                        known.append(seconds)
                    elif program == options.this:
                        failed = True
            this, other = (min(times[each], default=None) for each in (options.this, options.other))
            figure = lambda value: f"{value:9.2f}" if value is not None else f"{'-':>9}"
            ratio = f"{other / this:8.1f}" if this and other else f"{'-':>8}"
            print(f"{name:26}{figure(this)}{figure(other)}{ratio}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

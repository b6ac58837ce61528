#!/usr/bin/env python3
"""Runs many processes of ddl-oracle, one after the other and at once: load.py PROGRAM [--runs N] [--concurrent N]

Runs `check` and `recommend` N times in turn, one after the other, then `--concurrent` of them at once. Each must end with the exit
code and the output of the first. Prints the runs, those that differ, the median and longest wall time, and the most memory of one
process. Exit code 1 if any run differs, 2 if the program cannot be run.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

JOB = "format: 1\nmodel: alexnet\nmachine: abci\nbatch_per_gpu: 32\nplan: {strategy: data, gpus: 4}\n"


def ended(process):
    """Waits for a process; returns its exit code, output without times of the run, and most memory in MiB."""
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    output = re.sub(rb"[0-9.]+ ms|\"seconds\": [0-9.e-]+", b"", output)
    return process.returncode, output, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=10_000, help="of each command, one after the other")
    parser.add_argument("--concurrent", type=int, default=64, help="at once")
    asked = parser.parse_args()
    program = os.path.realpath(asked.program)
    if not os.access(program, os.X_OK):
        print(f"{program} cannot be run", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.yaml"
        job.write_text(JOB)
        commands = {"check": ["check", str(job)], "recommend": ["recommend", "--model", "alexnet", "--gpus", "8"]}

        def start(name):
            return subprocess.Popen(
                [program, *commands[name]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
            )

        differ = 0
        for name in commands:
            first = ended(start(name))
            times, most = [], first[2]
            for _ in range(asked.runs):
                begin = time.monotonic()
                code, output, memory = ended(start(name))
                times.append(time.monotonic() - begin)
                most = max(most, memory)
                differ += (code, output) != first[:2]
            concurrent = 0
            for code, output, memory in [ended(process) for process in [start(name) for _ in range(asked.concurrent)]]:
                most = max(most, memory)
                concurrent += (code, output) != first[:2]
            differ += concurrent
            print(
                f"{name}: exit {first[0]}, {asked.runs} runs in a row, median {statistics.median(times) * 1e3:.1f} ms, "
                f"longest {max(times) * 1e3:.0f} ms; {asked.concurrent} at once; most memory {most:.0f} MiB; {differ} differ so far",
                flush=True,
            )
        print(f"{differ} runs differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())

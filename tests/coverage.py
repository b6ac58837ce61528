"""Prints gcovr's summary: covered lines by folder, and the files with the most lines that no test runs.

python3 tests/coverage.py SUMMARY.json
"""

import collections
import json
import os
import sys

LISTED = 25


def row(name, covered, total):
    share = 100 * covered / total if total else 100
    print(f"{name:70}{total:8}{total - covered:10}{share:9.1f} %")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: coverage.py SUMMARY.json")
    with open(sys.argv[1], encoding="utf-8") as file:
        files = [each for each in json.load(file)["files"] if each["line_total"] > 0]
    if not files:
        sys.exit(f"{sys.argv[1]}: no lines were counted")
    folders = collections.defaultdict(lambda: [0, 0])
    for each in files:
        for name in {os.path.dirname(each["filename"]), each["filename"].split("/")[0], "all"}:
            folders[name][0] += each["line_covered"]
            folders[name][1] += each["line_total"]
    print(f"{'folder':70}{'lines':>8}{'not run':>10}{'covered':>11}")
    for name in sorted(folders, key=lambda each: (each == "all", each)):
        row(name, *folders[name])
    missed = sorted(files, key=lambda each: each["line_covered"] - each["line_total"])
    print(f"\n{'least covered files':70}{'lines':>8}{'not run':>10}{'covered':>11}")
    for each in missed[:LISTED]:
        if each["line_covered"] < each["line_total"]:
            row(each["filename"], each["line_covered"], each["line_total"])


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Prints the measurements of run.sh on one page: models compared with PyTorch, kernels, contract suite, memory, clocks, parts.

`summary.py RESULTS` needs only Python 3.6. Unreadable files are named and left out.
"""

import collections
import csv
import glob
import json
import os
import re
import sys

shown = 8  # maximum number of lines of a list

# FLOPs of the matrix product (2 m n k), and bytes of relu, which reads and writes 256 x 1,048,576 numbers of 4 bytes.
product_flops = 2 * 4096**3
memory_bytes = 2 * 256 * 1048576 * 4

# Bits of nvmlClocksEventReason* in nvml.h, with their names on the page.
reasons = [
    (0x4, "power cap"),
    (0x8, "hardware slowdown"),
    (0x10, "sync boost"),
    (0x20, "software thermal slowdown"),
    (0x40, "hardware thermal slowdown"),
    (0x80, "power brake"),
    (0x2, "clocks set by a user"),
    (0x100, "display clock"),
]
idle_reason = 0x1


def title(text):
    print("\n" + text)


def milliseconds(seconds):
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.3g} us"


def table(head, rows):
    """Prints a table. The first column is aligned left, the other columns right."""
    widths = [max(len(str(row[i])) for row in [head] + rows) for i in range(len(head))]
    for row in [head] + rows:
        cells = [str(row[0]).ljust(widths[0])] + [str(cell).rjust(width) for cell, width in list(zip(row, widths))[1:]]
        print("  " + "  ".join(cells).rstrip())


class Results:
    def __init__(self, folder):
        self.folder = folder
        self.unread = []
        self.parts = collections.OrderedDict()
        for row in self.rows("summary.csv"):
            self.parts[row.get("part")] = row

    def path(self, name):
        return os.path.join(self.folder, name)

    def names(self, pattern):
        return sorted(os.path.basename(path) for path in glob.glob(os.path.join(glob.escape(self.folder), pattern)))

    def rows(self, name):
        try:
            with open(self.path(name), newline="", errors="replace") as file:
                return list(csv.DictReader(file))
        except (OSError, csv.Error) as error:
            self.unread.append(f"{name}: {error}")
            return []

    def json(self, name):
        """The JSON object of a file, or of its unfinished version `.part`; None if neither can be read."""
        for each in (name, name + ".part"):
            if os.path.exists(self.path(each)) and os.path.getsize(self.path(each)) > 0:
                try:
                    with open(self.path(each), errors="replace") as file:
                        value = json.load(file)
                    if isinstance(value, dict):
                        return value
                    self.unread.append(f"{each}: not an object")
                except (OSError, ValueError) as error:
                    self.unread.append(f"{each}: {error}")
        return None

    def last_words(self, file):
        """The last error line of a part's log, or of its output if the log is empty; else the last line."""
        for name in (file + ".log", file + ".part"):
            try:
                with open(self.path(name), errors="replace") as stream:
                    lines = [line.strip() for line in stream if line.strip()]
            except OSError:
                continue
            if lines:
                errors = [line for line in lines if "rror" in line or "FAILED" in line]
                return (errors or lines)[-1][:300]
        return ""


def parts(results):
    title("Parts")
    ends = collections.OrderedDict()
    for name, row in results.parts.items():
        ends.setdefault(row["outcome"].split(" (")[0], []).append(name)
    for end, names in ends.items():
        seconds = sum(int(results.parts[name]["seconds"] or 0) for name in names)
        print(f"  {end}: {len(names)}" + (f", {seconds} s" if end != "not begun" else ""))
    took = [(int(row["seconds"] or 0), name, row["outcome"]) for name, row in results.parts.items()]
    ran = [each for each in took if each[2] not in ("not begun", "not run")]
    table(["part", "seconds", "outcome"], [[name, seconds, outcome] for seconds, name, outcome in ran])
    for name, row in results.parts.items():
        if row["outcome"].startswith("failed"):
            print(f"  {name}, {row['outcome']}, in {row['file']}.log: {results.last_words(row['file'])}")


def medians(value):
    return {row.get("problem", ""): row for row in value.get("rows", []) if isinstance(row, dict)}


def kernels(results):
    lines = []
    floor = results.json("kernel-floor.json")
    for row in medians(floor or {}).values():
        lines.append(("relu of 32 numbers, the shortest time of a kernel", row, ""))
    first, again = {}, {}
    for name, into in (("kernel-products.json", first), ("kernel-products-again.json", again)):
        into.update(medians(results.json(name) or {}))
    for problem, row in first.items():
        precision = re.search(r"precision=(\w+)", problem)
        what = f"product of 4096 x 4096 matrices, {precision.group(1) if precision else '?'}"
        rate = f"{product_flops / row['median_s'] / 1e12:.3g} TFLOP/s" if row.get("median_s") else ""
        later = again.get(problem, {}).get("median_s")
        if later and row.get("median_s"):
            rate += f", {100 * (later / row['median_s'] - 1):+.1f} % later"
        lines.append((what, row, rate))
    for row in medians(results.json("kernel-memory.json") or {}).values():
        rate = f"{memory_bytes / row['median_s'] / 1e9:.4g} GB/s" if row.get("median_s") else ""
        lines.append(("relu on 2.1 GB", row, rate))
    for name in ("kernel-convolution.json", "kernel-attention.json"):
        for problem, row in medians(results.json(name) or {}).items():
            given = re.search(r"pass=(\S+)", problem)
            lines.append((f"{problem.split()[0]}, {given.group(1) if given else ''}", row, ""))
    if not lines:
        return
    title("Single kernels")
    for what, row, rate in lines:
        if row.get("reason"):
            print(f"  {what}: not measured: {row['reason']}")
        else:
            print(f"  {what}: {milliseconds(row['median_s'])}" + (f", {rate}" if rate else "") + f", {row.get('algorithm', '')}")


def heads(results):
    """The lines about the event floor in the heads of profiles."""
    said = set()
    for name in results.names("*.profile") + results.names("*.profile.begun"):
        try:
            with open(results.path(name), errors="replace") as file:
                for line in file:
                    if line.startswith("---"):
                        break
                    if "event floor" in line:
                        said.add(line.strip().strip('"'))
        except OSError as error:
            results.unread.append(f"{name}: {error}")
    return sorted(said)


def models(results):
    rows, refused, unsteady = [], collections.OrderedDict(), []
    stems = []
    for name in results.parts:
        word = name.split(" ")
        if word[0] in ("profile", "pytorch") and len(word) == 4 and tuple(word[1:]) not in stems:
            stems.append(tuple(word[1:]))
    for model, precision, batch in stems:
        stem = f"{model}-{precision}-{batch}"
        ours, theirs = results.json(stem + ".profile.json"), results.json(stem + ".pytorch.json")
        if ours is None and theirs is None:
            continue
        step = (theirs or {}).get("step", {}).get("median_s")
        checks = [c for c in (ours or {}).get("sum_check", []) if str(c.get("samples")) == batch]
        whole = checks[0].get("whole_s") if checks else None
        row = [f"{model} {precision} {batch}"]
        row.append(milliseconds(whole) if whole else "-")
        row.append(f"{100 * checks[0]['error']:+.1f} %" if checks and checks[0].get("error") is not None else "-")
        row.append(milliseconds(step) if step else "-")
        row.append(f"{step / whole:.2f}" if step and whole else "-")
        if ours is None:
            row += ["-", "-"]
        else:
            row += [len(ours.get("refused", [])), ours.get("left", "-")]
            if ours.get("slow_share", 0) > 0:
                unsteady.append(f"{stem}: a repeated kernel took up to {100 * (ours['slowest_over_full_speed'] - 1):.0f} % longer "
                                f"around {100 * ours['slow_share']:.0f} % of the rows")
            for each in ours.get("refused", []):
                reason = re.sub(r"0x[0-9a-fA-F]+|\d+", "N", each.get("reason", ""))
                group = refused.setdefault(reason, [0, set(), each])
                group[0] += 1
                group[1].add(model)
        rows.append(row)
    if not rows:
        return
    title("Models: ours is the time of a whole step; sum check is the deviation of the sum of its kernels")
    table(["model", "ours", "sum check", "PyTorch", "over ours", "refused", "left"], rows)
    for line in heads(results):
        print(f"  {line}")
    if refused:
        title("Refused problems, by reason (N stands for a number)")
        for reason, (count, of, first) in sorted(refused.items(), key=lambda item: -item[1][0])[:shown]:
            print(f"  {count} x in {', '.join(sorted(of))}: {first.get('reason', '')}")
            print(f"      the first: {first.get('problem', '')}")
        if len(refused) > shown:
            print(f"  and {len(refused) - shown} more reasons, in the files *.profile.json")
    for line in unsteady[:shown]:
        print(f"  not steady: {line}")


def contract(results):
    of = [(name[len("contract "):], row) for name, row in results.parts.items() if name.startswith("contract ")]
    if not of:
        return
    title("Contract suite: outputs and gradients against the definitions")
    print(f"  {sum(row['outcome'] == 'done' for _, row in of)} of {len(of)} cases passed")
    for name, row in of:
        if row["outcome"] != "done":
            print(f"  {row['outcome']}: {name}" + (f" ({row['file']}.part)" if row["file"] else ""))


def memory(results):
    rows, without = [], []
    for name in results.names("memory-*.csv") + results.names("memory-*.csv.part"):
        for row in results.rows(name):
            what = f"{row.get('model')} {row.get('precision')} {row.get('batch')}"
            if row.get("allocated_bytes") and row.get("error"):
                unit = 1 if row.get("batch") == "largest batch" else 2**30
                form = "{:.0f}" if unit == 1 else "{:.2f} GiB"
                rows.append([what, row.get("memory_format", ""), form.format(float(row["allocated_bytes"]) / unit),
                             form.format(float(row["predicted_bytes"]) / unit), f"{100 * float(row['error']):+.1f} %"])
            else:
                without.append(f"{what}: {row.get('reason') or 'no figure'}")
    if rows or without:
        title("Peak memory in PyTorch's allocator")
    if rows:
        table(["model", "format", "measured", "predicted", "error"], rows)
    for line in without[:shown]:
        print(f"  {line}")
    if len(without) > shown:
        print(f"  and {len(without) - shown} more without a figure, in the files memory-*.csv")


def number(text):
    """The text as a number; None if the GPU does not report this value."""
    try:
        return float(text)
    except ValueError:
        return None


def clocks(results):
    if not os.path.exists(results.path("clocks.csv")):
        return
    speeds, powers, temperatures = [], [], []
    seen, busy, total = collections.Counter(), 0, 0
    with open(results.path("clocks.csv"), errors="replace") as file:
        for line in file:
            cells = [cell.strip() for cell in line.split(",")]
            if len(cells) != 8:
                continue
            speed, power, temperature = (number(cell) for cell in (cells[2], cells[4], cells[5]))
            try:
                mask = int(cells[7], 16)
            except ValueError:
                continue  # the heading, or a GPU that does not report reasons
            total += 1
            if mask & idle_reason:
                continue
            busy += 1
            for value, into in ((speed, speeds), (power, powers), (temperature, temperatures)):
                if value is not None:
                    into.append(value)
            for bit, name in reasons:
                if mask & bit:
                    seen[name] += 1
    title("Clocks while the GPU worked")
    if not busy:
        print(f"  the GPU was idle in all {total} samples")
        return
    speeds.sort()
    if speeds:
        print(f"  SM clock from {speeds[0]:.0f} to {speeds[-1]:.0f} MHz, median {speeds[len(speeds) // 2]:.0f} MHz")
    if powers:
        print(f"  power up to {max(powers):.0f} W")
    if temperatures:
        print(f"  temperature up to {max(temperatures):.0f} C")
    print(f"  busy in {busy} of {total} samples")
    for name, count in seen.most_common():
        print(f"  clocks lowered in {100 * count / busy:.0f} % of the busy samples by: {name}")
    if not seen:
        print("  clocks never lowered")


def main():
    results = Results(sys.argv[1])
    for section in (models, kernels, contract, memory, clocks, parts):
        try:
            section(results)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError) as error:
            print(f"  (the rest of this section cannot be read: {type(error).__name__}: {error})")
    for line in results.unread:
        print(f"  not read: {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

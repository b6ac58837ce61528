"""Fits kernel models to some rows of tables of measured kernels, and prints the errors of predictions for all other rows.

  python3 left_out.py PROGRAM FOLDER [WORD]

FOLDER holds published tables with the columns that docs/kernels.md names, and `source` and `gpu`: gemm.csv, attention.csv,
conv.csv, memory_bound.csv. WORD: print only lines that contain this word. Each line is one fit to the rows of some sources on one GPU.
Left out are 30 % of the rows, selected by a stable number, or all rows of a region. Lines of "constants of" fit nothing: they predict
the rows of one GPU with the bundled file of another GPU.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zlib

MACHINES = {
    "A100-SXM4-80GB": "dgx-a100",
    "A100-PCIE-40GB": "server-a100-pcie-40gb",
    "A100-PCIE-80GB": "server-a100-pcie",
    "H100-SXM5-80GB": "dgx-h100",
    "H200-SXM-141GB": "dgx-h200",
    "B200-SXM": "dgx-b200",
    "V100-SXM2": "abci",
    "V100-PCIE-32GB": "workstation-v100-pcie",
    "T4": "workstation-t4",
    "P4": "workstation-p4",
    "L4": "workstation-l4",
    "P100-PCIE-16GB": "workstation-p100-pcie",
    "MI100": "workstation-mi100",
    "MI250": "workstation-mi250",
    "GTX1080Ti": "workstation-gtx1080ti",
    "TitanXp": "workstation-titan-xp",
}
LARGE = ("A100-SXM4-80GB", "H100-SXM5-80GB", "H200-SXM-141GB", "B200-SXM")
DEVICES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "calibration", "devices")


def number(row, column):
    return float(row[column])


def flops(row):
    return 2 * number(row, "batch") * number(row, "m") * number(row, "n") * number(row, "k")


def at_least(column, bound):
    return lambda row: number(row, column) >= bound


def above(column, bound):
    return lambda row: number(row, column) > bound


def everything(_):
    return True


def is_drawn(draw):
    """Selects three of ten rows, different ones in each draw. A shape is drawn in all sources and on all GPUs, or in none."""

    def holds(row):
        shape = [value for column, value in row.items() if column not in ("source", "gpu", "time_us", "kernel", "algo")]
        return zlib.crc32(f"{draw}{','.join(shape)}".encode()) % 10 < 3

    return holds


class Case:
    """Which rows a fit may use, and which rows it predicts. With several fits, their figures are averaged."""

    def __init__(self, name, table, gpu, chosen, left_out, asked, device=None):
        self.name, self.table, self.gpu = name, table, gpu
        self.chosen, self.left_out, self.asked = chosen, left_out, asked
        self.device = device  # a file of constants, instead of a fit


def random_case(name, table, gpu, chosen, asked, draws=1):
    return Case(name, table, gpu, chosen, [is_drawn(draw) for draw in range(draws)], asked)


def region_case(name, table, gpu, chosen, region):
    return Case(name, table, gpu, chosen, [region], {"all": everything})


def transfer_case(name, table, gpu, chosen, device):
    asked = {f"constants of {device}": everything}
    return Case(name, table, gpu, chosen, [everything], asked, os.path.join(DEVICES, device + ".yaml"))


def has(**wanted):
    def holds(row):
        return all(any(part in row[column] for part in parts.split("|")) for column, parts in wanted.items())

    return holds


def both(first, second):
    return lambda row: first(row) and second(row)


def all_cases():
    cases = []
    sizes = {
        "all": everything,
        "m >= 256": at_least("m", 256),
        ">= 60 GFLOP": lambda row: flops(row) >= 60e9,
    }
    lengths = {"all": everything, "seq >= 256": at_least("seq", 256)}
    for gpu in LARGE:
        sglang = has(source="sglang")
        rows = both(sglang, at_least("m", 256))
        cases.append(random_case("products, bf16", "gemm", gpu, sglang, sizes))
        cases.append(region_case("products, k > 4096", "gemm", gpu, rows, above("k", 4096)))
        cases.append(region_case("products, m > 8192", "gemm", gpu, rows, above("m", 8192)))
        cases.append(region_case("products, n > 8192", "gemm", gpu, rows, above("n", 8192)))
        # A single kernel: on B200 three others were timed for comparison.
        causal = both(sglang, has(causal="1", kernel="flash_attention|trtllm_mha"))
        cases.append(random_case("attention, causal", "attention", gpu, causal, lengths))
        twice = both(causal, lambda row: number(row, "seq") <= 6144)
        cases.append(region_case("attention, 3072 < seq <= 6144", "attention", gpu, twice, above("seq", 3072)))
        cases.append(region_case("attention, seq > 3072", "attention", gpu, causal, above("seq", 3072)))
        if gpu in ("H200-SXM-141GB", "B200-SXM"):
            for device in ("h100-sxm", "a100-sxm"):
                cases.append(transfer_case("products, bf16, m >= 256", "gemm", gpu, rows, device))
                long = both(causal, at_least("seq", 256))
                cases.append(transfer_case("attention, causal, seq >= 256", "attention", gpu, long, device))
        if gpu != "A100-SXM4-80GB":
            encoder = both(sglang, has(causal="0"))
            cases.append(random_case("attention, not causal", "attention", gpu, encoder, lengths))
        for source in ("vllm", "trtllm"):
            cases.append(random_case(f"products, bf16, {source}", "gemm", gpu, has(source=source, dtype="bf16"), sizes))
        cases.append(random_case("attention, vllm", "attention", gpu, has(source="vllm"), lengths))
        if gpu != "A100-SXM4-80GB":
            cases.append(random_case("products, fp8", "gemm", gpu, has(dtype="fp8"), sizes))
    for gpu in ("V100-SXM2", "T4", "P100-PCIE-16GB"):
        for dtype in ("fp32", "fp16-tc-fp32acc"):
            for kernel_pass in ("fwd", "bwd_data", "bwd_weight"):
                rows = lambda row, d=dtype, p=kernel_pass: row["source"] == "deepbench" and row["dtype"] == d and row["pass"] == p
                cases.append(random_case(f"convolution, {dtype}, {kernel_pass}", "conv", gpu, rows, {"all": everything}, 8))
    for gpu in ("V100-PCIE-32GB", "A100-PCIE-80GB", "T4", "P100-PCIE-16GB", "P4"):
        rows = has(source="neusight-train")
        cases.append(random_case("convolution, fp32, 3x3, fwd", "conv", gpu, rows, {"all": everything}))
        cases.append(region_case("convolution, 3x3, C > 512", "conv", gpu, rows, above("C", 512)))
    for gpu in ("A100-PCIE-40GB", "V100-PCIE-32GB", "T4", "P100-PCIE-16GB", "P4", "MI100"):
        for group, names in (
            ("elementwise", ("add", "mul", "addu", "mulu", "relu", "gelu", "tanh")),
            ("layer norm", ("ln_fwd",)),
            ("softmax", ("softmax_fwd",)),
        ):
            rows = lambda row, n=names: row["op"] in n and row["source"].startswith("neusight-")
            cases.append(random_case(f"{group}, fp32", "memory_bound", gpu, rows, {"all": everything}))
    return cases


class Runner:
    def __init__(self, program, folder, work):
        self.program, self.folder, self.work = program, folder, work
        self.tables = {}

    def rows(self, table):
        if table not in self.tables:
            with open(os.path.join(self.folder, table + ".csv"), encoding="utf-8", newline="") as file:
                self.tables[table] = list(csv.DictReader(file))
        return self.tables[table]

    def write(self, name, rows):
        path = os.path.join(self.work, name)
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        return path

    def ask(self, *arguments):
        run = subprocess.run(
            [self.program, *arguments, "--format", "json"],
            env=dict(os.environ, DDL_ORACLE_DATA=self.work),
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode != 0:
            raise RuntimeError(run.stderr)
        return json.loads(run.stdout)

    def figures(self, case, left_out):
        """Median and 90th percentile of |error|, and the median ratio, for each group of predicted rows."""
        rows = [row for row in self.rows(case.table) if row["gpu"] == case.gpu and case.chosen(row)]
        fitted = [row for row in rows if not left_out(row)]
        left = [row for row in rows if left_out(row)]
        if not left or (len(fitted) < 8 and not case.device):
            return {}
        device = os.path.join(self.work, "device.yaml")
        if os.path.exists(device):
            os.remove(device)
        machine = os.path.join(self.work, "machine.yaml")
        base = MACHINES[case.gpu]
        if case.device:
            shutil.copy(case.device, device)
        else:
            self.ask("calibrate", "kernels", self.write("fitted.csv", fitted), "--machine", base, "-o", device)
        with open(machine, "w", encoding="utf-8") as file:
            file.write(f"format: 1\nmachine: fitted\nextends: {base}\ndescription: a part\ndevice:\n  kernels: device.yaml\n")
        found = {}
        for name, asked in case.asked.items():
            part = [row for row in left if asked(row)]
            if not part:
                continue
            groups = self.ask("validate", "kernels", self.write("left.csv", part), "--machine", machine)["groups"]
            if len(groups) == 1:
                own = groups[0]
                found[name] = (len(fitted), own["rows"], own["median_error"], own["p90_error"], own["median_ratio"])
        return found

    def run(self, case):
        fits = [self.figures(case, left_out) for left_out in case.left_out]
        for name in case.asked:
            found = [fit[name] for fit in fits if name in fit]
            if not found:
                continue
            rows, left, median, p90, ratio = (sum(column) / len(found) for column in zip(*found))
            print(
                f"{case.name} | {name} | {case.gpu} | {rows:.0f} | {left:.0f} | "
                f"{100 * median:.1f} | {100 * p90:.1f} | {ratio:.2f}",
                flush=True,
            )


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: left_out.py PROGRAM FOLDER [WORD]")
    word = sys.argv[3] if len(sys.argv) == 4 else ""
    print("kernels | rows asked for | GPU | fitted | left out | median % | 90 % | predicted / measured")
    with tempfile.TemporaryDirectory() as work:
        runner = Runner(sys.argv[1], sys.argv[2], work)
        for case in all_cases():
            if word in f"{case.name} {case.gpu}":
                runner.run(case)


if __name__ == "__main__":
    main()

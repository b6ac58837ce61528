"""Runs ddl-oracle, which predicts time and memory of parallel trainings, and returns its reports as Python objects.

>>> import ddl_oracle
>>> answer = ddl_oracle.recommend(model="llama3-8b", machine="h100", gpus=64, global_batch=128)
>>> answer.best.strategy, answer.best.iteration_s, answer.best.verdict
>>> answer.best.explain().phases
>>> answer.to_frame()  # with pandas
>>> answer  # in a notebook: the page of `--format html`, with its plots

The options of a command are keywords: `batch_per_gpu=32` is `--batch-per-gpu 32`, `no_overlap=True` is `--no-overlap`,
`for_="torchtitan"` is `--for torchtitan`. `raw` holds the program's whole JSON report.
"""

from __future__ import annotations

import errno
import html
import json
import numbers
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    import pandas

__all__ = ["Check", "Explanation", "OracleError", "Plan", "Recommendation", "check", "explain", "program", "recommend", "run"]

Option = Union[str, int, float, bool, "os.PathLike[str]", Sequence[Union[str, int, "os.PathLike[str]"]], Mapping[str, Any], None]

# Options that are repeated for each value. For all other options, values are joined by commas.
_REPEATED = ("layers", "leave_out", "problem", "profile", "set", "setting", "splits", "what_if", "where")
# Options with the value `yes` or `no`. All other options that are True or False have no value.
_YES_OR_NO = ("offload_activations", "reshard_after_forward", "sequence_parallel")
# Options of `recommend` that are about its search, not about a plan. `explain` does not have them. A plan's report contains
# the answers of `for` and `like`.
_OF_SEARCH = ("all", "allow_risk", "budget", "deadline", "for", "gpus", "like", "missing", "objective", "overwrite",
              "per_layer", "risk", "save_dir", "save_job", "set", "strategies", "strategy", "time_limit", "top")
# Options that fix a part of a plan, which the plan's notation contains.
_OF_PLAN = ("context_exchange", "degrees", "expert_tensor", "first_stage_blocks", "last_stage_blocks", "layers",
            "micro_batches", "offload", "offload_activations", "placement", "plan", "recompute", "recompute_blocks",
            "recompute_modules", "reshard_after_forward", "row", "schedule", "secondary_shards", "sequence_parallel", "shard_group",
            "tables", "virtual_stages", "zero")


class OracleError(Exception):
    """The question cannot be answered. `hint` suggests a remedy, or is empty."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}\nhint: {hint}" if hint else message)
        self.message = message
        self.hint = hint


def program() -> Path:
    """Path of the program: $DDL_ORACLE, else the ddl-oracle installed with this module, else ddl-oracle on the PATH."""
    named = os.environ.get("DDL_ORACLE")
    if named:
        return Path(named)
    folders = [
        Path(sysconfig.get_path("scripts")),
        Path(sysconfig.get_path("scripts", f"{os.name}_user")),
        Path(sys.prefix) / "bin",
        # `pip install --target FOLDER` and `--prefix FOLDER`.
        Path(__file__).resolve().parents[1] / "bin",
        Path(__file__).resolve().parents[min(4, len(Path(__file__).resolve().parents) - 1)] / "bin",
    ]
    for folder in folders:
        if (folder / "ddl-oracle").is_file():
            return folder / "ddl-oracle"
    found = shutil.which("ddl-oracle")
    if found is None:
        raise OracleError("there is no ddl-oracle", "install the wheel again, or name the program in DDL_ORACLE")
    return Path(found)


def _words(options: Mapping[str, Option]) -> list[str]:
    words: list[str] = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if isinstance(value, bool) and name in _YES_OR_NO:
            words += [option, "yes" if value else "no"]
        elif value is None or value is False:
            continue
        elif value is True:
            words.append(option)
        elif isinstance(value, (str, numbers.Number, os.PathLike)):
            words += [option, str(os.fspath(value) if isinstance(value, os.PathLike) else value)]
        elif name in _REPEATED:
            for each in value:
                words += [option, str(each)]
        else:
            words += [option, ",".join(str(each) for each in value)]
    return words


@contextmanager
def _files(options: Mapping[str, Option]) -> Iterator[dict[str, Option]]:
    """The options, with each mapping replaced by the path of a JSON file with its contents."""
    with tempfile.TemporaryDirectory() as folder:
        named = dict(options)
        for name, value in options.items():
            if isinstance(value, Mapping):
                path = Path(folder) / f"{name}.json"
                path.write_text(json.dumps(value), encoding="utf-8")
                named[name] = path
        yield named


@contextmanager
def _started(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raises OracleError if the program at `path` cannot be started."""
    try:
        yield
    except OSError as error:
        hint = "name the program ddl-oracle in DDL_ORACLE, or unset DDL_ORACLE to look for it"
        if error.errno == errno.E2BIG:
            hint = "give fewer or shorter arguments"
        raise OracleError(f"cannot run '{os.fspath(path)}': {error.strerror}", hint) from error


def _report(command: Sequence[str | os.PathLike[str]], options: Mapping[str, Option], form: str) -> str:
    """The report of `ddl-oracle COMMAND... --format FORM`. Raises OracleError if there is no report."""
    for name in ("format", "output"):
        if name in options:
            raise TypeError(f"'{name}' is not an option here: the report is returned")
    with _files(options) as named:
        words = [str(program()), *(os.fspath(each) for each in command), *_words(named), "--format", form]
        with _started(words[0]):
            ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", check=False)
    if ended.stdout.strip():
        return ended.stdout
    text = ended.stderr.strip()
    message, _, hint = text.partition("\nhint: ")
    if ended.returncode < 0:
        raise OracleError(f"ddl-oracle was ended by signal {-ended.returncode}")
    raise OracleError(message[message.find("error: ") + len("error: ") :] if "error: " in message else message, hint)


def run(*command: str | os.PathLike[str], **options: Option) -> dict[str, Any]:
    """The JSON report of `ddl-oracle COMMAND... --format json`. Raises OracleError if there is no report."""
    report: dict[str, Any] = json.loads(_report(command, options, "json"))
    return report


def _framed(page: str) -> str:
    """A page as an element of a notebook. The frame keeps the styles of page and notebook apart."""
    return f'<iframe srcdoc="{html.escape(page)}" style="width:100%;height:60rem;border:0"></iframe>'


def _plan(values: Mapping[str, Any], question: dict[str, Option] | None, inputs: dict[str, Any] | None) -> Plan:
    """A plan of a report. Missing keys become None; keys without a field are only in `raw`."""
    given = ("raw", "question", "inputs")
    known = {each.name: values.get(each.name) for each in fields(Plan) if each.name not in given}
    return Plan(**known, raw=dict(values), question=question, inputs=inputs)


@dataclass(frozen=True)
class Plan:
    """A plan and its predicted time in seconds and memory in bytes of one device."""

    rank: int | None
    strategy: str
    degrees: dict[str, Any]
    feasible: bool
    verdict: str  # FITS, AT-RISK or DOES-NOT-FIT
    reasons: list[Any]
    global_batch: int
    micro_batches: int
    schedule: str
    zero_stage: int
    recompute: str
    precision: str
    optimizer: str
    efficiency: float | None
    cost: float | None
    time: dict[str, Any] | None  # time, memory and throughput are None for an impossible plan
    memory: dict[str, Any] | None
    throughput: dict[str, Any] | None
    interval: dict[str, Any] | None  # interval of time and cost that covers `level` (0.9) of measured steps
    raw: dict[str, Any] = field(repr=False)
    question: dict[str, Option] | None = field(repr=False)  # options of recommend() or explain(); None from check()
    inputs: dict[str, Any] | None = field(repr=False)  # of the report with the plan; None from check()

    def explain(self, **options: Option) -> Explanation:
        """This plan in detail, for the same model, machine, batch and settings. `options` are added to those of the question."""
        if self.question is None:
            raise OracleError("the plan of a job file has no question",
                              "name its model and machine: ddl_oracle.explain(model, machine=..., plan=plan.raw['plan'])")
        left_out = (*_OF_SEARCH, *_OF_PLAN, "batch", "batch_per_gpu", "global_batch")
        asked = {name: value for name, value in self.question.items() if name.rstrip("_") not in left_out}
        asked["plan"] = {"best": self.raw, "inputs": self.inputs}
        return explain(**{**asked, **options})  # type: ignore[arg-type]

    @property
    def notation(self) -> str:
        """The plan in the notation of reports, which explain(plan=...) reads: 'dp32·tp2 z1 m4'."""
        return str(self.raw["plan"])

    def __str__(self) -> str:
        return f"{self.notation}: {self.verdict or 'not possible'}" + (f", {self.iteration_s:.4g} s per step" if self.time else "")

    @property
    def iteration_s(self) -> float | None:
        return self.time["iteration_s"] if self.time else None

    @property
    def epoch_s(self) -> float | None:
        return self.time["epoch_s"] if self.time else None

    @property
    def memory_bytes(self) -> float | None:
        return self.memory["total_bytes"] if self.memory else None

    @property
    def mfu(self) -> float | None:
        return self.throughput["mfu"] if self.throughput else None

    def row(self) -> dict[str, Any]:
        """The plan as a flat dictionary, with the column names of `--format csv`."""
        flat: dict[str, Any] = {}
        for key, value in self.raw.items():
            if key in ("degrees", "time", "memory", "throughput", "interval"):
                flat.update(value or {})
            elif key not in ("findings", "reasons"):
                flat[key] = value
        return flat


@dataclass(frozen=True)
class Recommendation:
    """Ranked plans. `best` is None if no plan is feasible. `plans` has the feasible plans by rank, then for each other strategy the
    plan that comes closest to fitting."""

    best: Plan | None
    plans: list[Plan]
    inputs: dict[str, Any]
    search: dict[str, Any]
    raw: dict[str, Any] = field(repr=False)
    question: dict[str, Option] = field(repr=False)

    def page(self) -> str:
        """The answer as an HTML page with plots, which needs no other file. Asks the question again."""
        return _report(["recommend"], self.question, "html")

    def _repr_html_(self) -> str:
        return _framed(self.page())

    def to_frame(self) -> pandas.DataFrame:
        """A row for each plan. Needs pandas."""
        import pandas

        return pandas.DataFrame([plan.row() for plan in self.plans])


@dataclass(frozen=True)
class Explanation:
    """One plan, layer by layer and phase by phase."""

    plan: Plan
    phases: list[dict[str, Any]]
    layers: list[dict[str, Any]]
    exchanges: list[dict[str, Any]]
    raw: dict[str, Any] = field(repr=False)
    question: dict[str, Option] = field(repr=False)

    def page(self) -> str:
        """The explanation as an HTML page with plots, which needs no other file. Asks the question again."""
        return _report(["explain"], self.question, "html")

    def _repr_html_(self) -> str:
        return _framed(self.page())

    def to_frame(self) -> pandas.DataFrame:
        """A row for each layer. Needs pandas."""
        import pandas

        return pandas.json_normalize(self.layers, sep="_")


@dataclass(frozen=True)
class Check:
    """The verdict for the training of a job file. If the job cannot be checked, `plan` is None and `problem` gives the reason.
    `passed` is whether the program would exit with 0: a job fails although it fits if it grew by more than `max_increase`."""

    file: str
    verdict: str
    problem: Any
    plan: Plan | None
    passed: bool
    against: dict[str, Any] | None = field(repr=False)  # the increase of memory; None without the option `against`
    raw: dict[str, Any] = field(repr=False)


def recommend(model: str | None = None, *, machine: str | None = None, gpus: int | None = None, **options: Option) -> Recommendation:
    """The plans for training `model` on `gpus` GPUs, ranked as by `ddl-oracle recommend`."""
    question: dict[str, Option] = {"model": model, "machine": machine, "gpus": gpus, **options}
    report = run("recommend", **question)
    if "plans" not in report:
        raise OracleError("this question has several answers, so its report has no list of plans",
                          "name one model, one machine, one number of GPUs and one batch without a budget or deadline, or "
                          "call run('recommend', ...)")
    plans = [_plan(each, question, report["inputs"]) for each in report["plans"]]
    best = _plan(report["best"], question, report["inputs"]) if report["best"] is not None else None
    return Recommendation(best, plans, report["inputs"], report["search"], report, question)


def explain(model: str | None = None, *, machine: str | None = None, **options: Option) -> Explanation:
    """One plan in detail, as from `ddl-oracle explain`. Options name the plan: `plan="dp64 z3"`, `degrees="data=8,tensor=8"`,
    or `gpus=64`, with or without `strategy="data"`, for the best plan."""
    question: dict[str, Option] = {"model": model, "machine": machine, **options}
    report = run("explain", **question)
    plan = _plan(report["plan"], question, report["inputs"])
    return Explanation(plan, report["phases"], report["layers"], report["exchanges"], report, question)


def check(*jobs: str | os.PathLike[str], **options: Option) -> list[Check]:
    """A verdict for each job file or configuration of another tool, as from `ddl-oracle check`."""
    command = [os.fspath(each) for each in jobs]
    report = run("check", *(each if not each.startswith("-") else f"./{each}" for each in command), **options)

    def plan_of(job: Mapping[str, Any]) -> Plan | None:
        return _plan(job["plan"], None, None) if job.get("plan") else None

    against = report.get("against") or [None] * len(report["jobs"])
    return [Check(each["file"], each["verdict"], each["problem"], plan_of(each), each["exit"] == 0, earlier, each)
            for each, earlier in zip(report["jobs"], against)]

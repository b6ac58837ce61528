"""Tests of figures.py, with a program that answers with a file."""

import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "figures.py")
HEADER = "name,command,path,value,tolerance,source\n"
ANSWER = '{"time": {"step_s": 2.0, "bad": NaN}, "layers": [{"name": "a", "n": 3}, {"name": "b", "n": 4}], "word": "7", "flag": true}'


class Figures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.table = os.path.join(folder.name, "table.csv")
        self.program = os.path.join(folder.name, "program")
        self.runs = os.path.join(folder.name, "runs")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho \"$*\" >>'{self.runs}'\n[ \"$1\" = broken ] && exit 2\necho '{ANSWER}'\n")
        os.chmod(self.program, 0o755)

    def ends_with(self, rows, accept=False):
        with open(self.table, "w", encoding="utf-8") as file:
            file.write(HEADER + rows)
        environment = dict(os.environ, DDL_ACCEPT="1" if accept else "")
        run = subprocess.run(
            [sys.executable, SCRIPT, self.program, self.table], env=environment, capture_output=True, text=True, check=False
        )
        self.output = run.stdout + run.stderr
        return run.returncode

    def test_a_figure_within_its_tolerance_passes(self):
        self.assertEqual(self.ends_with("x,ask,time.step_s,2.0,0,derivation: one and one\n"), 0)
        self.assertEqual(self.ends_with("x,ask,time.step_s,2.1,0.05,measured: a clock\n"), 0)
        self.assertEqual(self.ends_with("x,ask,layers.1.n,4,0,measured: a\ny,ask,layers.name=b.n,4,0,measured: a\n"), 0)

    def test_a_figure_outside_its_tolerance_fails(self):
        self.assertEqual(self.ends_with("x,ask,time.step_s,2.2,0.05,measured: a clock\n"), 1)
        self.assertIn("expected 2.2 within 0.05, was 2.0, -9.09%", self.output)
        self.assertEqual(self.ends_with("x,ask,time.step_s,0,0.05,measured: a clock\n"), 1)

    def test_what_is_no_figure_fails(self):
        for path in ("time", "word", "flag", "none", "time.bad", "layers.5.n", "layers.name=c.n", "time.step_s.more"):
            self.assertEqual(self.ends_with(f"x,ask,{path},7,10,measured: a\n"), 1, path)

    def test_a_command_that_fails_fails(self):
        self.assertEqual(self.ends_with("x,broken,time.step_s,2.0,0,measured: a\n"), 1)
        self.assertEqual(self.ends_with("x,broken,time.step_s,2.0,0,regression: r\n", accept=True), 1)

    def test_a_command_runs_once(self):
        self.assertEqual(self.ends_with("x,ask,time.step_s,2.0,0,measured: a\ny,ask,layers.0.n,3,0,measured: a\n"), 0)
        with open(self.runs, encoding="utf-8") as file:
            self.assertEqual(file.read(), "ask --format json\n")

    def test_accepting_rewrites_regressions_alone(self):
        rows = "x,ask,time.step_s,3.0,0,regression: r\ny,ask,layers.0.n,3,0,measured: a\n"
        self.assertEqual(self.ends_with(rows), 1)
        self.assertEqual(self.ends_with(rows, accept=True), 0)
        with open(self.table, encoding="utf-8") as file:
            self.assertEqual(file.read(), HEADER + rows.replace("3.0,0", "2.0,0"))
        for source in ("measured: a", "derivation: d"):
            self.assertEqual(self.ends_with(f"x,ask,time.step_s,3.0,0,{source}\n", accept=True), 1)

    def test_a_table_that_says_less_is_refused(self):
        self.assertEqual(self.ends_with("x,ask,time.step_s,2.0,0,somewhere\n"), 1)
        self.assertEqual(self.ends_with("x,ask,time.step_s,2.0,0,measured: a\n" * 2), 1)
        self.assertEqual(self.ends_with(""), 1)


if __name__ == "__main__":
    unittest.main()

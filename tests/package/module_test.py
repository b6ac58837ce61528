"""Tests the module ddl_oracle with the program in $DDL_ORACLE: python3 module_test.py, with the module on PYTHONPATH."""

import fractions
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import ddl_oracle

try:
    import pandas
except ImportError:
    pandas = None

JOB = "format: 1\nmodel: resnet50\nmachine: dgx-a100\nbatch_per_gpu: {batch}\nplan: {{strategy: data, gpus: 8}}\n"


class Answers(unittest.TestCase):
    def test_a_recommendation_is_the_report_as_objects(self):
        answer = ddl_oracle.recommend(model="resnet50", machine="dgx-a100", gpus=8, top=3)
        self.assertEqual([plan.rank for plan in answer.plans[:3]], [1, 2, 3])
        self.assertEqual(answer.best, answer.plans[0])
        self.assertEqual(answer.best.strategy, answer.raw["best"]["strategy"])
        self.assertEqual(answer.best.iteration_s, answer.raw["best"]["time"]["iteration_s"])
        self.assertEqual(answer.best.memory_bytes, answer.raw["best"]["memory"]["total_bytes"])
        self.assertEqual(answer.inputs["gpus"], 8)
        self.assertEqual(answer.best.notation, "dp8")
        self.assertTrue(str(answer.best).startswith("dp8: FITS, "))
        again = ddl_oracle.explain("resnet50", machine="dgx-a100", plan=answer.best.notation)
        self.assertEqual(again.plan.iteration_s, answer.best.iteration_s)

    def test_rows_have_the_columns_of_csv(self):
        options = ["recommend", "resnet50", "--gpus", "8", "--format", "csv"]
        table = subprocess.run([ddl_oracle.program(), *options], capture_output=True, text=True, check=True).stdout
        columns = set(table.splitlines()[0].split(","))
        row = ddl_oracle.recommend("resnet50", gpus=8).best.row()
        # CSV has the findings, reasons and segments as text. JSON has more figures of the memory.
        self.assertLessEqual(set(row) - columns, {"workspace_is", "level", "reason_codes"})
        # JSON has the ratios of all plans in a separate list.
        ratios = {column for column in columns if column.startswith("ratio_to_first")}
        self.assertLessEqual(columns - set(row), {"findings", "reasons", "segments"} | ratios)

    def test_where_nothing_fits_there_is_no_best(self):
        answer = ddl_oracle.recommend("llama3-405b", machine="dgx-a100", gpus=8)
        self.assertIsNone(answer.best)
        self.assertTrue(all(not plan.feasible for plan in answer.plans))
        self.assertTrue(any(plan.iteration_s is None for plan in answer.plans))
        for plan in answer.plans:
            plan.row()
            self.assertIn(": DOES-NOT-FIT" if plan.time else ": not possible", str(plan))

    def test_options_are_keywords(self):
        answer = ddl_oracle.recommend("resnet50", gpus=8, batch_per_gpu=16, no_overlap=True, ideal=False, strategies=["data", "tensor"])
        self.assertEqual(answer.inputs["global_batch"], 128)
        self.assertEqual(answer.inputs["defaults"].get("overlap"), None)
        self.assertLessEqual({plan.strategy for plan in answer.plans}, {"data", "tensor"})

    def test_an_explanation_has_layers(self):
        explanation = ddl_oracle.explain("resnet50", strategy="data", gpus=8)
        self.assertEqual(explanation.plan.strategy, "data")
        self.assertEqual(explanation.layers[0]["name"], "conv1")

    def test_a_plan_explains_itself_for_its_question(self):
        answer = ddl_oracle.recommend("gpt2", machine="h100", gpus=8, batch_per_gpu=4, top=3, zero=1, risk=0.9)
        for plan in answer.plans[:3]:
            explanation = plan.explain(seq=512)
            self.assertEqual(explanation.plan.raw["plan"], plan.raw["plan"])
            self.assertEqual(explanation.plan.global_batch, 32)
            self.assertLess(explanation.plan.iteration_s, plan.iteration_s)
        same = answer.best.explain()
        self.assertEqual(same.plan.iteration_s, answer.best.iteration_s)
        self.assertEqual(same.plan.explain().plan.iteration_s, answer.best.iteration_s)

    def test_the_options_that_fix_a_plan_are_those_of_the_program(self):
        text = subprocess.run([ddl_oracle.program(), "explain", "--help-all"], capture_output=True, text=True, check=True).stdout
        group = text.split("Choices of the plan:", 1)[1].split("\n\n", 1)[0]
        options = {name.replace("-", "_") for name in re.findall(r"^ +--([a-z-]+)", group, re.MULTILINE)}
        self.assertGreater(len(options), 15)
        self.assertEqual(options, set(ddl_oracle._OF_PLAN))

    def test_lists_and_booleans_are_those_of_the_program(self):
        options = (["recommend"], ["explain"], ["check"], ["validate"], ["profile"], ["predict", "kernels"], ["calibrate", "runs"])
        words = [[ddl_oracle.program(), *command, "--help-all"] for command in options]
        text = "".join(subprocess.run(each, capture_output=True, text=True, check=True).stdout for each in words)
        def named(value):
            return {name.replace("-", "_") for name in re.findall(rf"^ +--([a-z-]+)\s+{value}", text, re.MULTILINE)}
        self.assertEqual(named(r"[A-Z=]+\.\.\."), set(ddl_oracle._REPEATED))
        self.assertEqual(named(r"(?:yes\|no|no\|yes)"), set(ddl_oracle._YES_OR_NO))

    def test_values_are_written_as_the_program_reads_them(self):
        layers = ["fc1: channel=8", "fc2: tensor=8"]
        laid_out = ddl_oracle.explain("vgg16", machine="a100", degrees="data=8", layers=layers)
        self.assertIn("from", laid_out.plan.raw["plan"])
        kept = ddl_oracle.recommend("gpt2", machine="h100", gpus=8, zero=3, reshard_after_forward=False, top=1)
        self.assertIn("kw", kept.best.raw["plan"])
        split = ddl_oracle.recommend("gpt2", machine="h100", gpus=fractions.Fraction(8), strategies="data+tensor",
                                     sequence_parallel=True, batch=32, top=1)
        self.assertIn(" sp", split.best.raw["plan"])
        self.assertEqual(split.best.explain().plan.global_batch, 32)

    def test_notebooks_show_the_page_with_its_plots(self):
        answer = ddl_oracle.recommend("resnet50", gpus=8, top=3)
        for shown in (answer, answer.best.explain()):
            self.assertIn("<svg", shown.page())
            self.assertTrue(shown._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;'))

    def test_a_name_of_python_is_written_with_an_underscore(self):
        answer = ddl_oracle.recommend("llama3-8b", machine="h100", gpus=8, for_="torchtitan", top=1)
        self.assertEqual(answer.search["framework"], "torchtitan")
        self.assertEqual(answer.best.explain().plan.iteration_s, answer.best.iteration_s)
        self.assertEqual(answer.best.explain().plan.memory_bytes, answer.best.memory_bytes)

    def test_a_plan_for_a_configuration_is_explained(self):
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "run.sh"
            script.write_text("torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
                              "--seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 4 --global-batch-size 64 --bf16\n")
            answer = ddl_oracle.recommend(like=script, machine="h100", top=1)
            self.assertEqual(answer.best.explain().plan.iteration_s, answer.best.iteration_s)

    def test_checks_are_verdicts_in_order(self):
        with tempfile.TemporaryDirectory() as folder:
            names = []
            for name, batch in (("a", 64), ("b", 4096)):
                names.append(Path(folder) / f"{name}.job.yaml")
                names[-1].write_text(JOB.format(batch=batch))
            checks = ddl_oracle.check(*names, margin="2GiB")
            grown = ddl_oracle.check(names[0], against=names[0], max_increase="1GiB")
            names[1].write_text(JOB.format(batch=128))
            grown += ddl_oracle.check(names[1], against=names[0], max_increase="1MiB")
        self.assertEqual([each.passed for each in grown], [True, False])
        self.assertTrue(grown[1].against["grew_too_much"])
        self.assertEqual([each.verdict for each in checks], ["FITS", "DOES-NOT-FIT"])
        self.assertEqual(checks[0].plan.strategy, "data")
        with self.assertRaisesRegex(ddl_oracle.OracleError, "has no question"):
            checks[0].plan.explain()

    def test_an_error_has_its_hint(self):
        with self.assertRaises(ddl_oracle.OracleError) as raised:
            ddl_oracle.recommend("resnt50", gpus=8)
        self.assertEqual(raised.exception.message, "unknown model 'resnt50'")
        self.assertEqual(raised.exception.hint, "did you mean 'resnet50'?")

    def test_several_studies_are_refused_with_a_way_out(self):
        with self.assertRaisesRegex(ddl_oracle.OracleError, "one model, one machine"):
            ddl_oracle.recommend("resnet50,vgg16", gpus=8)
        self.assertIn("schema", ddl_oracle.run("recommend", "resnet50,vgg16", gpus=8))

    def test_the_form_of_the_report_is_no_option(self):
        with self.assertRaises(TypeError):
            ddl_oracle.recommend("resnet50", gpus=8, format="csv")

    def test_a_program_that_is_missing_is_an_error(self):
        with mock.patch.dict(os.environ, {"PATH": ""}), mock.patch("pathlib.Path.is_file", return_value=False):
            del os.environ["DDL_ORACLE"]
            with self.assertRaisesRegex(ddl_oracle.OracleError, "there is no ddl-oracle"):
                ddl_oracle.program()

    def test_a_program_that_cannot_run_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            for path, reason in ((Path(folder) / "none", "No such file"), (Path(folder), "Permission denied")):
                environment = {**os.environ, "DDL_ORACLE": str(path)}
                expected = self.assertRaisesRegex(ddl_oracle.OracleError, f"cannot run '{path}': {reason}")
                with mock.patch.dict(os.environ, environment), expected as raised:
                    ddl_oracle.run("backends")
                self.assertIn("DDL_ORACLE", raised.exception.hint)
                ran = subprocess.run([sys.executable, "-m", "ddl_oracle"], env=environment, capture_output=True, text=True, check=False)
                self.assertEqual(ran.returncode, 2)
                self.assertTrue(ran.stderr.startswith(f"error: cannot run '{path}': {reason}"), ran.stderr)

    def test_the_module_runs_as_the_program(self):
        ran = subprocess.run([sys.executable, "-m", "ddl_oracle", "--version"], capture_output=True, text=True, check=True)
        self.assertTrue(ran.stdout.startswith("ddl-oracle "))

    @unittest.skipIf(pandas is None, "needs pandas")
    def test_plans_are_a_frame(self):
        frame = ddl_oracle.recommend("resnet50", gpus=8).to_frame()
        self.assertEqual(frame["rank"].iloc[0], 1)
        self.assertIn("iteration_s", frame.columns)


if __name__ == "__main__":
    unittest.main()

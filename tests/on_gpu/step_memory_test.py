"""usage: step_memory_test.py STEP_MEMORY [DDL_ORACLE]. Tests the script with stand-ins for PyTorch, step_time.py and the oracle;
also tests its commands with the true oracle."""

import argparse
import csv
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

script = sys.argv[1]
oracle = sys.argv[2] if len(sys.argv) > 2 else None

# Counts the allocator's requests; a step needs 100 bytes per sample, and 1000 more until the cache is emptied.
torch_double = """
    class OutOfMemory(RuntimeError):
        pass
    class Version:
        cuda = "13.0"
    version = Version
    channels_last, channels_last_3d = "nhwc", "ndhwc"
    def device(name):
        return name
    class cuda:
        cached, peak = 1000, 0
        OutOfMemoryError = OutOfMemory
        @staticmethod
        def synchronize(): pass
        @staticmethod
        def empty_cache(): cuda.cached = 0
        @staticmethod
        def reset_peak_memory_stats(): cuda.peak = cuda.cached
        @staticmethod
        def max_memory_allocated(): return cuda.peak
        @staticmethod
        def max_memory_reserved(): return cuda.peak + 7
"""
step_time_double = """
    import argparse
    import torch
    class Refusal(Exception):
        pass
    def parse_arguments():
        parser = argparse.ArgumentParser()
        parser.add_argument("model")
        for name in ("device", "precision", "batch", "optimizer"):
            parser.add_argument("--" + name)
        parser.add_argument("--benchmark", action="store_true")
        parser.add_argument("--new-option", default="of step_time")
        return parser.parse_args()
    def set_up(options):
        assert options.new_option == "of step_time" and options.benchmark and options.optimizer == "momentum"
        return options.device
    class Batch:
        def __init__(self, samples, dims):
            self.samples, self.dims, self.format = samples, dims, "nchw"
        def dim(self):
            return self.dims
        def contiguous(self, memory_format):
            self.format = memory_format
            return self
    class Network:
        def __init__(self, file, gelu):
            self.file, self.format = file, "nchw"
            if file["name"] == "strange":
                raise Refusal("an operation is not in this script")
        def to(self, device=None, memory_format=None):
            self.format = memory_format or self.format
            return self
        def train(self):
            return self
        def batch(self, samples, device):
            made = Batch(samples, len(self.file["input"]) + 1)
            return [made, Batch(samples, 2)] if self.file["name"] == "two_inputs" else made
        def __call__(self, batch, check):
            check(0, batch)
    def check_parameters(network):
        pass
    def check_shape(network, samples):
        return lambda i, out: None
    class Training:
        def __init__(self, network, batch, options, device):
            self.network, self.batch = network, batch[0] if isinstance(batch, list) else batch
            assert network.format == self.batch.format
            assert not isinstance(batch, list) or batch[1].format == "nchw"
        def step(self):
            name, samples = self.network.file["name"], self.batch.samples
            limit = {"cudnn": 20, "cublas": 20, "full": 20, "broken": 0}.get(name, 1 << 30)
            if samples > limit:
                raise {
                    "cudnn": RuntimeError("GET was unable to find an engine to execute this computation"),
                    "cublas": RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)"),
                    "full": torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
                    "broken": RuntimeError("CUDA error: an illegal memory access was encountered"),
                }[name]
            torch.cuda.peak = max(torch.cuda.peak, torch.cuda.cached + 100 * samples)
"""
# Predicts 110 bytes per sample and a largest batch of 16; `unpriced` and `absent` are unknown to it.
oracle_double = """\
#!/bin/sh
case "$*" in
  *absent*) echo "error: no model is called 'absent'" >&2; exit 2 ;;
  'models show tokens'*) echo '{"name": "tokens", "input": [1, 8], "layers": []}'; exit 0 ;;
  'models show'*) echo "{\\"name\\": \\"$3\\", \\"input\\": [3, 8, 8], \\"layers\\": []}"; exit 0 ;;
  *'--model unpriced'*) echo 'error: nobody knows its price' >&2; exit 2 ;;
esac
batch=$(echo "$*" | sed 's/.*--global-batch \\([0-9]*\\).*/\\1/')
echo "{\\"best\\": {\\"memory\\": {\\"peak_allocated_bytes\\": $((batch * 110)), \\"peak_reserved_bytes\\": $((batch * 120))}}}"
[ "$batch" -le 16 ]
"""


class StepMemory(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(script, os.path.join(self.folder, "step_memory.py"))
        for name, text in (("torch.py", textwrap.dedent(torch_double)), ("step_time.py", textwrap.dedent(step_time_double)),
                           ("oracle", oracle_double)):
            with open(os.path.join(self.folder, name), "w") as file:
                file.write(text)
        os.chmod(os.path.join(self.folder, "oracle"), 0o755)

    def call(self, *arguments, code=0):
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
        environment.pop("PYTHONPATH", None)
        done = subprocess.run([sys.executable, os.path.join(self.folder, "step_memory.py"), "--program",
                               os.path.join(self.folder, "oracle"), *arguments],
                              check=False, capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def table(self, *arguments, code=0):
        return list(csv.DictReader(self.call(*arguments, code=code).stdout.splitlines()))

    def test_peaks_stand_beside_predictions_without_what_the_first_step_tried(self):
        row, = self.table("--models", "images", "--batches", "8", "--precisions", "fp32", "--largest", "")
        self.assertEqual((row["allocated_bytes"], row["predicted_bytes"], row["error"]), ("800", "880", "+0.100"))
        self.assertEqual((row["reserved_bytes"], row["predicted_reserved_bytes"]), ("807", "960"))
        self.assertEqual((row["memory_format"], row["reason"]), ("channels_last", ""))

    def test_the_memory_format_is_asked_for_and_only_images_have_one(self):
        row, = self.table("--models", "images", "--batches", "8", "--precisions", "fp32", "--largest", "", "--memory-format", "contiguous")
        self.assertEqual(row["memory_format"], "contiguous")
        row, = self.table("--models", "tokens", "--batches", "8", "--precisions", "fp32", "--largest", "")
        self.assertEqual(row["memory_format"], "contiguous")

    def test_a_model_may_have_several_inputs(self):
        row, = self.table("--models", "two_inputs", "--batches", "8", "--precisions", "fp32", "--largest", "")
        self.assertEqual((row["allocated_bytes"], row["memory_format"], row["reason"]), ("800", "channels_last", ""))

    def test_a_model_that_cannot_be_measured_is_a_row_with_its_reason_and_the_rest_goes_on(self):
        rows = self.table("--models", "strange,broken,absent,unpriced,images", "--batches", "8", "--precisions", "fp32", "--largest", "")
        self.assertEqual([row["model"] for row in rows], ["strange", "broken", "absent", "unpriced", "images"])
        self.assertEqual(rows[0]["reason"], "an operation is not in this script")
        self.assertEqual(rows[0]["predicted_bytes"], "880")
        self.assertIn("illegal memory access", rows[1]["reason"])
        self.assertNotIn("does not fit", rows[1]["reason"])
        self.assertIn("no model is called 'absent'", rows[2]["reason"])
        self.assertEqual((rows[3]["allocated_bytes"], rows[3]["error"]), ("800", ""))
        self.assertEqual(rows[3]["reason"], "no prediction: nobody knows its price")
        self.assertEqual(rows[4]["error"], "+0.100")

    def test_libraries_that_find_no_room_mean_that_it_does_not_fit(self):
        rows = self.table("--models", "cudnn,cublas,full", "--batches", "8,32", "--precisions", "fp32", "--largest", "")
        self.assertEqual([row["reason"][:12] for row in rows], ["", "does not fit"] * 3)
        rows = self.table("--models", "", "--largest", "cudnn,cublas,full,broken,images")
        self.assertEqual([row["allocated_bytes"] for row in rows[:3]], ["20", "20", "20"])
        self.assertEqual([row["predicted_bytes"] for row in rows[:3]], ["16", "16", "16"])
        self.assertEqual(rows[0]["error"], "-0.200")
        self.assertIn("illegal memory access", rows[3]["reason"])
        self.assertEqual(rows[3]["allocated_bytes"], "")

    def test_nothing_measured_is_a_failure(self):
        self.table("--models", "strange", "--batches", "8", "--precisions", "fp32", "--largest", "", code=1)

    def test_a_program_that_is_not_there_is_a_reason(self):
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run([sys.executable, os.path.join(self.folder, "step_memory.py"), "--program", "/nowhere/oracle", "--models",
                               "images", "--largest", "images", "--batches", "8"], check=False, capture_output=True, text=True,
                              env=environment)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/oracle", done.stdout)
        self.assertNotIn("Traceback", done.stderr)

    def test_check_builds_every_model_without_a_gpu(self):
        done = self.call("--check", "--models", "images,strange,tokens", "--largest", "images", code=1)
        self.assertEqual(done.stdout, "images: 0 layers, channels_last\nstrange: an operation is not in this script\n"
                                      "tokens: 0 layers, contiguous\n")
        self.call("--check", "--models", "images,tokens", "--largest", "")

    @unittest.skipUnless(oracle, "no oracle was given")
    def test_the_oracle_answers_what_it_is_asked(self):
        spec = importlib.util.spec_from_file_location("step_memory", script)
        step_memory = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(step_memory)
        options = argparse.Namespace(program=oracle, machine="dgx-h100", seconds=120)
        for precision in ("fp32", "fp16", "bf16"):
            small, fits = step_memory.predicted(options, "resnet50", 8, precision)
            large, _ = step_memory.predicted(options, "resnet50", 32, precision)
            self.assertTrue(fits)
            self.assertLess(small["peak_allocated_bytes"], large["peak_allocated_bytes"])
            self.assertLessEqual(large["peak_allocated_bytes"], large["peak_reserved_bytes"])
        # A batch that does not fit is neither divided, nor recomputed in backward.
        self.assertFalse(step_memory.predicted(options, "resnet50", 100000, "fp32")[1])
        self.assertEqual(step_memory.model_file(options, "gpt2")["name"], "gpt2")

    def test_batches_are_whole_numbers(self):
        self.assertIn("not 'many'", self.call("--batches", "many", code=2).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

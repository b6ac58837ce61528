"""usage: step_time_test.py DDL_ORACLE STEP_TIME. Runs the script on small models of every family that it has to know."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

import torch

oracle, script = sys.argv[1:3]
spec = importlib.util.spec_from_file_location("step_time", script)
step_time = importlib.util.module_from_spec(spec)
spec.loader.exec_module(step_time)

# The bundled families at sizes that take no time.
models = {
    "resnet": "family: resnet\ninput: {channels: 3, size: 32x32}\n"
    "parameters: {unit: bottleneck, stage1: 2, stage2: 1, stage3: 1, stage4: 1, classes: 10}\n",
    "densenet": "family: densenet\ninput: {channels: 3, size: 64x64}\n"
    "parameters: {growth: 8, first: 16, block1: 2, block2: 3, block3: 1, block4: 2, classes: 10}\n",
    "vit": "family: vit\ninput: {channels: 3, size: 32x32}\n"
    "parameters: {size: 32, patch: 8, layers: 2, hidden: 32, heads: 4, classes: 10, fused: no}\n",
    "gpt": "family: gpt\nparameters: {layers: 2, hidden: 32, heads: 4, vocabulary: 100, tokens: 16}\n",
    "bert": "family: bert\n"
    "parameters: {layers: 2, hidden: 32, heads: 4, vocabulary: 100, tokens: 16, fused: no}\n",
    "volume": """input: {channels: 2, size: 9x8x8}
layers:
  - convolution: {filters: 4, kernel: 2, padding: same}
  - activation: {kind: leaky_relu, in_place: yes}
  - pool: {kind: average, kernel: 2}
  - convolution: {filters: 8, kernel: 2, stride: 2, padding: same}
  - flatten
  - fully_connected: 4
  - loss: mse
""",
    # Operations and ways of writing them that the families above lack.
    "parts": """input: {channels: 4, size: 9x9}
layers:
  - convolution: {filters: 8, kernel: 3, padding: same, stride: 2, groups: 4, bias: no}
  - norm: {kind: group, groups: 2}
  - activation: silu
  - convolution: {filters: 8, kernel: 2, padding: same}
  - norm: batch
  - activation: relu6
  - add:
      branches: [[], [{scale: trained}], [{pool: {kind: max, kernel: 3, stride: 1, padding: 1}}]]
  - multiply:
      branches: [[], [{pool: {kind: average, global: yes}}, {activation: hardsigmoid}, {flatten: }]]
  - channel_shuffle: 2
  - concat:
      branches: [[{slice: {first: 2, channels: 4}}], []]
  - transposed_convolution: {filters: 6, kernel: 2, stride: 2}
  - resize: {kind: linear, factor: 2}
  - crop: 6x6
  - norm: layer
  - dropout: {rate: 0.5, of: samples}
  - flatten
  - fully_connected: {features: 3, bias: no}
  - softmax
  - loss: mse
""",
}
for name, text in models.items():
    models[name] = f"format: 1\nmodel: {name}\n{text}"


def show(folder, name, text=None):
    """What `models show` says, in a file."""
    path = os.path.join(folder, name)
    with open(path + ".yaml", "w") as file:
        file.write(text or models[name])
    with open(path + ".json", "w") as file:
        subprocess.run([oracle, "models", "show", path + ".yaml", "--format", "json"], stdout=file, check=True)
    return path + ".json"


def run(*arguments, **options):
    command = [sys.executable, script, *arguments, "--threads", "1"]
    return subprocess.run(command, capture_output=True, text=True, **options)


def network_of(path):
    with open(path) as file:
        return step_time.Network(json.load(file), "none")


class StepTime(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.set_num_threads(1)
        torch.manual_seed(0)
        cls.scratch = tempfile.TemporaryDirectory()
        cls.files = {name: show(cls.scratch.name, name) for name in models}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_parameters_and_shapes_of_every_model_are_those_of_the_file(self):
        for name, path in self.files.items():
            with self.subTest(name):
                network = network_of(path).train()
                step_time.check_parameters(network)
                loss = network(network.batch(2, torch.device("cpu")), step_time.check_shape(network, 2))
                loss.backward()
                for parameter in network.parameters():
                    self.assertIsNotNone(parameter.grad)
                    self.assertTrue(torch.isfinite(parameter.grad).all())

    def test_a_file_with_another_count_or_shape_is_refused(self):
        with open(self.files["resnet"]) as file:
            changed = json.load(file)
        changed["layers"][0]["parameters"] += 1
        self.refuse(changed, "conv1 has 9408 parameters here, 9409 in the file")
        changed["layers"][0]["parameters"] -= 1
        changed["layers"][0]["output"][1] += 1
        self.refuse(changed, "conv1 makes [1, 64, 16, 16] here, [1, 64, 17, 16] by the file")
        changed["layers"][0]["operation"] = "fourier"
        self.refuse(changed, "conv1: the operation 'fourier' is not in this script")
        self.refuse([], "not the JSON of a model")

    def refuse(self, model, message):
        done = run("-", "--check", input=json.dumps(model))
        self.assertEqual(done.returncode, 1)
        self.assertIn(message, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_works_in_place_where_torchvision_does(self):
        network = network_of(self.files["resnet"])
        in_place = {n: m.inplace for n, m in zip(network.names, network.layers) if isinstance(m, torch.nn.ReLU)}
        self.assertTrue(all(in_place.values()))
        adds = [m for i, m in enumerate(network.layers) if network.operation(i) == "add"]
        a, b = torch.ones(2), torch.ones(2)
        self.assertTrue(all(add(a, b) is a for add in adds))

        network = network_of(self.files["bert"])
        adds = [m for i, m in enumerate(network.layers) if network.operation(i) == "add"]
        self.assertFalse(any(add(a, b) is a for add in adds))

    def test_a_dense_block_concatenates_all_that_its_layers_made(self):
        network = network_of(self.files["densenet"])
        widths = [len(network.flattened[i]) for i in range(len(network.layers)) if network.operation(i) == "concat"]
        self.assertEqual(widths, [2, 3, 2, 3, 4, 2, 2, 3])

    def test_attention_is_that_of_its_definition(self):
        torch.manual_seed(0)
        x = torch.randn(2, 5, 24)
        for causal in (False, True):
            for images in (False, True):
                attention = step_time.Attention(2, 2, 4, 5, causal, 0.0, False, images)
                out = attention(x)
                for n in range(2):
                    for head in range(2):
                        q, k, v = (x[n, :, 8 * part + 4 * head : 8 * part + 4 * head + 4] for part in range(3))
                        for i in range(5):
                            seen = i + 1 if causal else 5
                            weights = torch.softmax(k[:seen] @ q[i] / 2, 0)
                            expected = weights @ v[:seen]
                            torch.testing.assert_close(out[n, i, 4 * head : 4 * head + 4], expected)

    def test_fused_attention_is_that_of_pytorch_2(self):
        path = show(self.scratch.name, "fused", models["gpt"].replace("tokens: 16", "tokens: 16, fused: yes"))
        done = run(path, "--check")
        if hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            self.assertEqual(done.returncode, 0, done.stderr)
        else:
            self.assertEqual(done.stderr, "error: layer0.attention1: fused attention needs PyTorch 2.0 or newer\n")

    def test_the_tied_head_reads_the_embedding(self):
        network = network_of(self.files["gpt"])
        tied = [module for module in network.layers if isinstance(module, step_time.Tied)]
        self.assertEqual(len(tied), 1)
        self.assertIs(tied[0].owner[0], network.layers[0])

    def test_intervals_are_those_of_order_statistics(self):
        # n = 6: 2 / 2^6 = 3.1 % outside of all six; n = 20: ranks 6 and 15 (Conover, table A3).
        self.assertEqual(step_time.median_interval([3, 1, 2, 6, 5, 4]), (1, 6))
        self.assertEqual(step_time.median_interval(list(range(1, 21))), (6, 15))
        self.assertEqual(step_time.median_interval([2, 1]), (1, 2))

    def test_phases_make_up_the_step(self):
        options = ("--batch", "2", "--steps", "6", "--phases", "--optimizer", "adam", "--json")
        done = run(self.files["vit"], *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result["steps"], 6)
        for name in ("step", "forward", "backward", "update"):
            self.assertLessEqual(0, result[name]["low_s"])
            self.assertLessEqual(result[name]["low_s"], result[name]["median_s"])
            self.assertLessEqual(result[name]["median_s"], result[name]["high_s"])
        lows = sum(result[name]["low_s"] for name in ("forward", "backward", "update"))
        self.assertLessEqual(lows, result["step"]["high_s"])

    def test_steps_become_a_profile(self):
        path, profile = (os.path.join(self.scratch.name, name) for name in ("steps.json", "steps.profile"))
        for keeps in (False, True):
            environment = {**os.environ, **({"MALLOC_MMAP_MAX_": "0"} if keeps else {})}
            done = run(self.files["resnet"], "--batch", "2", "--steps", "6", "--json", env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads(done.stdout)
            self.assertEqual(result["keeps_memory"], keeps)
            for name in ("step", "forward", "backward", "update"):
                self.assertEqual(len(result[name]["samples_s"]), 6)
            with open(path, "w") as file:
                file.write(done.stdout)
            model = os.path.join(self.scratch.name, "resnet.yaml")
            command = [oracle, "profile", "import", path, "--model", model, "--output", profile]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(profile) as file:
                rows = [line for line in file if line.startswith("sequence model=resnet samples=2 ")]
            self.assertEqual(len(rows), 3)
            self.assertEqual([" memory=kept" in row for row in rows], 3 * [keeps])

    def test_bf16_and_channels_last(self):
        done = run(self.files["resnet"], "--batch", "2", "--steps", "2", "--precision", "bf16", "--channels-last", "--optimizer", "momentum")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("resnet, batch 2, bf16, momentum", done.stdout)

    def test_operators_are_written_as_a_table_and_as_a_trace(self):
        table, trace = (os.path.join(self.scratch.name, name) for name in ("operators.csv", "trace.json"))
        done = run(self.files["gpt"], "--layers", table, "--layer-steps", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(table) as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[0], "operator,shapes,calls,self_cpu_us,self_device_us")
        self.assertTrue(any(line.startswith("aten::addmm,") for line in lines))
        done = run(self.files["gpt"], "--layers", trace, "--layer-steps", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(trace) as file:
            names = [event.get("name", "") for event in json.load(file)["traceEvents"]]
        self.assertEqual(len({name for name in names if name.startswith("ProfilerStep#")}), 2)

    def test_wrong_options_are_refused(self):
        for options, message in (
            (("--batch", "0"), "--batch is at least 1"),
            (("--precision", "fp16"), "fp16 needs --device cuda"),
            (("--layers", "here.txt"), "ends in .json or .csv"),
            (("--seconds", "nan"), "at least 0"),
        ):
            done = run(self.files["gpt"], *options)
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

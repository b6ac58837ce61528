"""usage: step_time_test.py DDL_ORACLE STEP_TIME. Runs the script on small models of every family that the script has to support."""

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
import unittest

import torch

oracle, script = sys.argv[1:3]
sys.path.insert(0, os.path.dirname(script))
import step_modules  # their folder is an argument
import step_time

# The bundled families at sizes that take no time.
models = {
    "resnet": "family: resnet\ninput: {channels: 3, size: 32x32}\n"
    "parameters: {unit: bottleneck, stage1: 2, stage2: 1, stage3: 1, stage4: 1, classes: 10}\n",
    "densenet": "family: densenet\ninput: {channels: 3, size: 64x64}\n"
    "parameters: {growth: 8, first: 16, block1: 2, block2: 3, block3: 1, block4: 2, classes: 10}\n",
    "vit": "family: vit\ninput: {channels: 3, size: 32x32}\n"
    "parameters: {size: 32, patch: 8, layers: 2, hidden: 32, heads: 4, classes: 10, fused: no}\n",
    "gpt": "family: gpt\nparameters: {layers: 2, hidden: 32, heads: 4, vocabulary: 100, tokens: 16}\n",
    "llama": "family: llama\nparameters: {layers: 2, hidden: 32, heads: 4, kv_heads: 2, feed_forward: 48, vocabulary: 100, tokens: 16, "
    "fused: no}\n",
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
    # These operations, and variants of operations, are missing in the families above.
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
    """Writes the output of `models show` to a file."""
    path = os.path.join(folder, name)
    with open(path + ".yaml", "w") as file:
        file.write(text or models[name])
    with open(path + ".json", "w") as file:
        subprocess.run([oracle, "models", "show", path + ".yaml", "--format", "json"], stdout=file, check=True)
    return path + ".json"


def run(*arguments, **options):
    command = [sys.executable, script, *arguments, "--threads", "1"]
    return subprocess.run(command, check=False, capture_output=True, text=True, **options)


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
        self.refuse(changed, "error: resnet: conv1: the operation 'fourier' is not supported by this script")
        changed["layers"][0]["operation"] = "convolution"
        changed["layers"][0]["attributes"] = "filters=64 kernel=seven"
        self.refuse(changed, "error: resnet: conv1: 'convolution filters=64 kernel=seven' is not understood")
        del changed["layers"][0]["attributes"]
        self.refuse(changed, "a layer lacks one of the keys name, operation, attributes")
        self.refuse({**changed, "layers": {}}, "'layers' has the wrong type")
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
            for style in ("images", "gpt", "bert", "llama"):
                if style == "bert" and causal:
                    continue
                attention = step_modules.Attention(2, 2, 4, 5, causal, 0.0, False, style)
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
        self.assertEqual(run(path, "--check").returncode, 0)
        done = run(path, "--steps", "1", "--warm-up", "0")
        if step_modules.has_fused_attention:
            self.assertEqual(done.returncode, 0, done.stderr)
        else:
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, "error: gpt: layer0.attention1: fused attention needs PyTorch 2.0 or newer; for eager attention, "
                                          "use gpt@fused=no\n")

    @unittest.skipUnless(step_modules.has_fused_attention, "needs PyTorch 2.0")
    def test_fused_attention_computes_what_eager_attention_does(self):
        torch.manual_seed(0)
        x = torch.randn(2, 6, (4 + 2 * 2) * 8)
        for window in (0, 3):
            outs = [step_modules.Attention(4, 2, 8, 6, True, 0.0, fused, "llama", window)(x) for fused in (False, True)]
            torch.testing.assert_close(*outs)

    def test_grouped_heads_and_windows_of_tokens_are_those_of_their_definition(self):
        torch.manual_seed(0)
        heads, kv_heads, size, tokens, window = 4, 2, 3, 5, 2
        x = torch.randn(1, tokens, (heads + 2 * kv_heads) * size)
        out = step_modules.Attention(heads, kv_heads, size, tokens, True, 0.0, False, "llama", window)(x)
        q, k, v = x[0].split([heads * size, kv_heads * size, kv_heads * size], dim=1)
        for head in range(heads):
            own = slice(head * size, (head + 1) * size)
            shared = slice(head // 2 * size, (head // 2 + 1) * size)
            for i in range(tokens):
                seen = slice(max(0, i - window + 1), i + 1)
                weights = torch.softmax(k[seen, shared] @ q[i, own] / size**0.5, 0)
                torch.testing.assert_close(out[0, i, own], weights @ v[seen, shared])

    def test_rotary_positions_turn_pairs_by_angles_that_grow_with_the_position(self):
        torch.manual_seed(0)
        x = torch.randn(1, 4, 3 * 6)
        q, k, v = step_modules.Rotary(1, 1, 6, 4, 4)(x)
        torch.testing.assert_close(v[0, 0], x[0, :, 12:])
        torch.testing.assert_close(k[0, 0, 0], x[0, 0, 6:12])
        torch.testing.assert_close(q[0, 0, :, 4:], x[0, :, 4:6])
        for position in range(4):
            for pair, speed in ((0, 1.0), (1, 10000**-0.5)):
                a, b = x[0, position, pair], x[0, position, pair + 2]
                angle = torch.tensor(position * speed)
                torch.testing.assert_close(q[0, 0, position, pair], a * angle.cos() - b * angle.sin())
                torch.testing.assert_close(q[0, 0, position, pair + 2], b * angle.cos() + a * angle.sin())

    def test_distances_fall_into_buckets_as_t5_has_them(self):
        # By Raffel et al., section 2.1, and the reference, half of the buckets have one distance
        # each. The distances of the others grow to 128.
        back = step_modules.distance_buckets(200, 200, False, 32, torch.device("cpu"))
        self.assertEqual(back[150, :16].unique().tolist(), [31])
        self.assertEqual([back[150, 150 - d].item() for d in (0, 1, 15, 16, 20, 127)], [0, 1, 15, 16, 17, 31])
        self.assertEqual(back[0, 1:].unique().tolist(), [0])
        both = step_modules.distance_buckets(9, 9, True, 32, torch.device("cpu"))
        self.assertEqual([both[4, 4 + d].item() for d in (-4, -1, 0, 1, 4)], [4, 1, 0, 17, 20])

    def test_attention_in_windows_is_that_of_its_definition(self):
        torch.manual_seed(0)
        samples, channels, side, window = 2, 4, 4, 2
        for shift in (0, 1):
            linear = torch.nn.Linear(channels, 3 * channels)
            into = step_modules.IntoWindows(linear, (window, window), (shift, shift))
            heads = step_modules.WindowAttention(2, 2, [side, side], (window, window), (shift, shift))
            x = torch.randn(samples, channels, side, side)
            out = heads(into(x))
            self.assertEqual(list(out.shape), list(x.shape))
            qkv = linear(x.movedim(1, -1))

            def window_of(place, shift=shift):  # of the rolled image; a rolled edge separates items that were not neighbours
                rolled = [(p - shift) % side for p in place]
                wrapped = [p < shift for p in place] if shift else [False, False]
                return [r // window for r in rolled] + wrapped

            def cell(place, shift=shift):
                return [(p - shift) % side % window for p in place]

            places = [(i, j) for i in range(side) for j in range(side)]
            for n in range(samples):
                for i in places:
                    seen = [j for j in places if window_of(j) == window_of(i)]
                    for head in range(2):
                        q = qkv[n][i][2 * head : 2 * head + 2]
                        k = torch.stack([qkv[n][j][4 + 2 * head : 6 + 2 * head] for j in seen])
                        v = torch.stack([qkv[n][j][8 + 2 * head : 10 + 2 * head] for j in seen])
                        apart = [[a - b for a, b in zip(cell(i), cell(j))] for j in seen]
                        bias = torch.stack([heads.table[(a + window - 1) * (2 * window - 1) + b + window - 1, head] for a, b in apart])
                        weights = torch.softmax(k @ q / 2**0.5 + bias, 0)
                        torch.testing.assert_close(out[n, 2 * head : 2 * head + 2, i[0], i[1]], weights @ v, atol=1e-5, rtol=1e-4)

    def test_experts_see_their_tokens_and_count_by_their_weights(self):
        torch.manual_seed(0)
        router, experts = step_modules.Router(6, 4, 2), step_modules.ExpertLinear(4, 6, 6, False)
        x = torch.randn(2, 5, 6)
        choice = router(x)
        groups = step_modules.Dispatch()(x, choice)
        self.assertEqual(sum(len(group) for group in groups), 2 * 5 * 2)
        out = step_modules.Combine(5)(experts(groups), choice)
        for token, made in zip(x.view(-1, 6), out.view(-1, 6)):
            weights, chosen = torch.softmax(router.gate(token), 0).topk(2)
            expected = sum(w / weights.sum() * experts.experts[e](token) for w, e in zip(weights, chosen))
            torch.testing.assert_close(made, expected)

    def test_additive_attention_and_interaction_are_those_of_their_definition(self):
        torch.manual_seed(0)
        queries, keys = torch.randn(1, 3, 4), torch.randn(1, 5, 2)
        attention = step_modules.AdditiveAttention(4, 2, 6, True)
        out = attention(queries, keys)
        vector = attention.vector / attention.vector.norm() * attention.length
        for i in range(3):
            scores = torch.stack([
                vector @ torch.tanh(attention.of_queries(queries[0, i]) + attention.of_keys(keys[0, j]) + attention.bias) for j in range(5)
            ])
            torch.testing.assert_close(out[0, i], torch.softmax(scores, 0) @ keys[0])
        a, b, c = torch.randn(3, 2, 4)
        out = step_modules.Interaction(3)(a, b, c)
        products = [(b * a).sum(1), (c * a).sum(1), (c * b).sum(1)]
        torch.testing.assert_close(out, torch.cat([a, torch.stack(products, 1)], 1))

    def test_projections_are_products_of_their_own_where_the_reference_has_them(self):
        for name, parts in (("gpt", 0), ("bert", 3), ("llama", 3)):
            network = network_of(self.files[name])
            separate = [m for m in network.layers if isinstance(m, step_modules.SeparateLinear)]
            self.assertEqual([len(m.parts) for m in separate], 2 * [parts] if parts else [], name)

    def test_optimizers_are_those_that_were_asked_for(self):
        network = network_of(self.files["gpt"])

        def optimizer(kind, implementation):
            return step_time.make_optimizer(
                argparse.Namespace(optimizer=kind, optimizer_implementation=implementation, graph=False), network
            ).defaults

        for kind in ("sgd", "momentum", "adam"):
            self.assertFalse(optimizer(kind, "default").get("fused"))
            self.assertIsNone(optimizer(kind, "default")["foreach"])
            self.assertTrue(optimizer(kind, "foreach")["foreach"])
            self.assertFalse(optimizer(kind, "single")["foreach"])
        for implementation in ("foreach", "single"):
            options = ("--optimizer", "adam", "--optimizer-implementation", implementation, "--steps", "1", "--json")
            done = run(self.files["gpt"], *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["optimizer_implementation"], implementation)
        done = run(self.files["gpt"], "--optimizer-implementation", "fused", "--steps", "1")
        if "fused" in inspect.signature(torch.optim.SGD.__init__).parameters:
            self.assertEqual(done.returncode, 0, done.stderr)
        else:
            self.assertEqual(done.returncode, 1)
            self.assertIn("error: gpt: SGD of PyTorch", done.stderr)

    def test_memory_that_runs_out_has_an_exit_code_of_its_own(self):
        for error in (
            RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
            RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
            RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
            RuntimeError("[enforce fail at alloc_cpu.cpp:75] . DefaultCPUAllocator: not enough memory: you tried to allocate 4 bytes"),
            MemoryError(),
        ):
            self.assertTrue(step_time.is_out_of_memory(error), error)
        self.assertFalse(step_time.is_out_of_memory(RuntimeError("unable to find an engine to execute this computation")))
        # The input alone of this batch is larger than any machine's memory.
        done = run(self.files["resnet"], "--batch", str(10**12))
        self.assertEqual(done.returncode, step_time.memory_ran_out, done.stderr)
        self.assertEqual(done.stderr, f"error: resnet: memory of the device ran out with a batch of {10**12}\n")

    def test_sequences_have_no_channels_to_put_last(self):
        done = run(self.files["gpt"], "--channels-last")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "error: gpt: --channels-last is for images and volumes, and its samples are sequences or vectors: "
                                      "leave it out\n")

    def test_the_tied_head_reads_the_embedding(self):
        network = network_of(self.files["gpt"])
        tied = [module for module in network.layers if isinstance(module, step_modules.Tied)]
        self.assertEqual(len(tied), 1)
        self.assertIs(tied[0].owner[0], network.layers[0])

    def test_intervals_are_those_of_order_statistics(self):
        # n = 6: 2 / 2^6 = 3.1 % of medians are outside of all six values; n = 20: ranks 6 and 15
        # (Conover, table A3).
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
            command = [oracle, "profile", "import", path, "--model", model, "--output", profile, "--overwrite"]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
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
            (("--graph",), "--graph needs --device cuda"),
            (("--graph", "--device", "cuda", "--layers", "a.json"), "leave --graph or --layers out"),
            (("--graph", "--device", "cuda", "--precision", "fp16"), "--graph with fp16 needs --optimizer-implementation fused"),
            (("--sparse-tables", "--optimizer", "adam"), "--sparse-tables is for --optimizer sgd"),
        ):
            done = run(self.files["gpt"], *options)
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

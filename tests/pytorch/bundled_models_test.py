"""usage: bundled_models_test.py DDL_ORACLE STEP_TIME MODELS. Runs one training step of every bundled model at a small size, and compares
each model at its own size with the output of `models show`. MODELS is the folder of the model files."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import torch

oracle, script, folder = sys.argv[1:4]
sys.path.insert(0, os.path.dirname(script))
import step_time  # its folder is an argument

# These are small sizes: parameters of families, and inputs of images. Sizes of 64x64 are small
# enough for all other models.
parameters_of_families = {
    "bert": {"layers": 2, "hidden": 32, "heads": 4, "vocabulary": 50, "tokens": 12},
    "convnext": {"width": 16, "units3": 2},
    "gpt": {"layers": 2, "hidden": 32, "heads": 4, "vocabulary": 50, "tokens": 12},
    "llama": {"layers": 2, "hidden": 32, "heads": 4, "kv_heads": 2, "feed_forward": 48, "vocabulary": 50, "tokens": 12},
    "swin": {"hidden": 16, "heads": 1, "pairs": 1},
    "t5": {"layers": 2, "hidden": 32, "heads": 4, "head_size": 8, "feed_forward": 48, "vocabulary": 50, "tokens": 12, "target_tokens": 9},
    "vit": {"size": 32, "patch": 8, "layers": 2, "hidden": 32, "heads": 4},
    None: {},
}
# These families have operations that PyTorch's step does not support yet, or no small size. Skipped
# families are printed.
families_without_a_step = {"bloom", "deepseek", "falcon", "fpn_detector", "gemma", "gpt-neox", "gpt-oss", "grok", "mpt", "nemotron", "nemotron-h",
                           "opt", "phi"}
# Norms of queries and keys, and a head with 96 rotated channels, which is more than a small head
# has.
models_without_a_step = ("qwen3-", "phi-4-mini")
parameters = {"gnmt": {"hidden": 16, "vocabulary": 50, "tokens": 7}, "cosmoflow-512": {"padding": "same"}}
# Swin's windows of 7 and of 12 do not divide a smaller image. The auxiliary classifier of
# inception_v3 has kernels of 5x5, and SSD's last kernel only fits its own input. Mixers mix the
# positions of images of their own size.
images = {
    "cosmoflow": "128x128x128",
    "deepcam": "64x96",
    "inception_resnet_v2": "75x75",
    "inception_v3": "299x299",
    "keras-inception-v3": "107x107",
    "mixer": "224x224",
    "ssd300": "300x300",
    "swin": "224x224",
    "swin_base_patch4_window12_384": "384x384",
    "swin_large_patch4_window12_384": "384x384",
    "unet": "188x188",
    "unet3d": "32x32x64",
    "vit": "32x32",
}


# These files have sizes that depend on their own input, and layers that are only large because of
# their parameters.
pieces = {
    "deepcam": ((r"48x72", "4x6"), (r"192x288", "16x24"), (r"768x1152", "64x96")),
    "cosmoflow": ((r"filters: \d+", "filters: 4"),),
    "dlrm": ((r"rows: (\d\d)\d+", r"rows: \1"),),
    "unet": ((r"crop: \d+", "crop: 8"),),
    "alexnet": ((r"fully_connected: 4096", "fully_connected: 64"),),
    "vgg": ((r"fully_connected: 4096", "fully_connected: 64"),),
}


def replaced(text, name):
    for pattern, by in pieces.get(name, ()):
        text = re.sub(pattern, by, text)
    return text


def family_of(name):
    with open(os.path.join(folder, name + ".yaml")) as file:
        found = re.search(r"^family: (\S+)", file.read(), re.MULTILINE)
    return found.group(1) if found else None


def bundled():
    listed = subprocess.run([oracle, "models", "list", "--format", "json"], capture_output=True, text=True, check=True)
    return [model["name"] for model in json.loads(listed.stdout)["models"]]


def kind_of(name):
    """Returns the properties of a model of a family that are no numbers: models with equal properties differ only in numbers."""
    family = family_of(name)
    if family is None:
        return name
    with open(os.path.join(folder, name + ".yaml")) as file:
        given = re.search(r"^parameters: \{(.*?)\}", file.read(), re.MULTILINE | re.DOTALL)
    keys = re.findall(r"(\w+):", given.group(1)) if given else []
    return (family, *sorted(keys))


def show(model):
    shown = subprocess.run([oracle, "models", "show", model, "--format", "json"], check=False, capture_output=True, text=True)
    if shown.returncode != 0:
        raise AssertionError(shown.stderr)
    return json.loads(shown.stdout)


def small(name, scratch):
    """Returns the model's file with another input and smaller numbers, as the program reads it."""
    with open(os.path.join(folder, name + ".yaml")) as file:
        text = replaced(file.read(), name)
    family = family_of(name)
    lines = text
    if family is not None:
        with open(os.path.join(folder, "families", family + ".yaml")) as file:
            of_family = file.read()
        lines = text + of_family
        if family in pieces:
            with open(os.path.join(scratch, "family.yaml"), "w") as file:
                file.write(replaced(of_family, family))
            text = text.replace(f"family: {family}", "family: ./family.yaml")
    channels = re.search(r"^input: \{channels: (\d+), size:", lines, re.MULTILINE)
    if channels:
        size = images.get(name, images.get(family, "64x64"))
        text = re.sub(r"^input: .*\n", "", text, flags=re.MULTILINE)
        text += f"input: {{channels: {channels.group(1)}, size: {size}}}\n"
    path = os.path.join(scratch, name + ".yaml")
    with open(path, "w") as file:
        file.write(text)
    given = {**parameters_of_families.get(family, {}), **parameters.get(name, {})}
    if "experts" in text:
        given.update(experts=4, active=2)
    if family == "llama" and "kv_heads" not in text:
        del given["kv_heads"]
    return show(path + "".join(f"@{key}={value}" for key, value in given.items()))


class BundledModels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.set_num_threads(1)
        cls.models = bundled()

    def test_all_of_them_are_here(self):
        self.assertGreaterEqual(len(self.models), 72)

    def test_a_step_of_each_at_a_small_size(self):
        options = argparse.Namespace(precision="fp32", optimizer="sgd")
        cpu = torch.device("cpu")
        with tempfile.TemporaryDirectory() as scratch:
            for name in sorted({kind_of(name): name for name in reversed(self.models)}.values()):
                with self.subTest(name):
                    if family_of(name) in families_without_a_step or name.startswith(models_without_a_step):
                        self.skipTest("the step of PyTorch does not know this family, or one of its operations")
                    torch.manual_seed(0)
                    network = step_time.Network(small(name, scratch)).train()
                    step_time.check_parameters(network)
                    training = step_time.Training(network, network.batch(2, cpu), options, cpu)
                    loss = training.forward(step_time.check_shape(network, 2))
                    self.assertTrue(torch.isfinite(loss))
                    training.backward(loss)
                    for parameter in network.parameters():
                        if parameter.grad is not None:
                            self.assertTrue(torch.isfinite(parameter.grad).all())
                    without = [i for i, layer in enumerate(network.layers) if any(p.grad is None for p in layer.parameters())]
                    self.assertEqual([network.file["layers"][i]["name"] for i in without], [])
                    training.update()

    @unittest.skipUnless(hasattr(torch, "set_default_device"), "needs PyTorch 2.0, to build models without their memory")
    def test_each_kind_is_at_its_own_size_what_the_file_says(self):
        meta = torch.device("meta")
        # Only the last model of each family is included, because the others differ only in numbers.
        # The model with experts differs in more.
        kinds = {family_of(name) or name: name for name in self.models}
        for name in {*kinds.values(), "mixtral-8x7b"}:
            with self.subTest(name), meta:
                network = step_time.Network(show(name)).train()
                step_time.check_parameters(network)
                network(network.batch(2, meta), step_time.check_shape(network, 2))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

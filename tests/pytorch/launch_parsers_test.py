"""Tests that a runtime's own parser reads the files of `recommend --save-dir`. Exits with 77 if the runtime is not installed.

usage: launch_parsers_test.py deepspeed|torchtitan|megatron ORACLE; Megatron-LM is the checkout that $MEGATRON names.
"""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
PLANS = {
    "deepspeed": [
        "llama2-7b --machine dgx-a100 --strategy data --degrees data=16 --zero 2 --global-batch 64 --micro-batches 2 --optimizer adamw",
        "resnet50 --machine dgx-1-v100 --strategy data --degrees data=8 --batch-per-gpu 64 --precision fp16",
        "gpt2 --strategy data --degrees data=16 --zero 3 --software fsdp --global-batch 64",
    ],
    "torchtitan": [
        "llama3-8b --machine h100 --software torchtitan --strategy data --degrees data=64 --zero 3 --shard-group 8 --global-batch 128",
        (
            "llama3-70b --machine h100 --software torchtitan --strategy data+pipeline+tensor --degrees data=8,pipeline=4,tensor=8 --zero 2"
            " --global-batch 64 --micro-batches 8 --sequence-parallel yes --recompute selective --optimizer adamw"
        ),
    ],
    "megatron": [
        (
            "gpt3-13b --machine dgx-a100 --software megatron --strategy data+pipeline+tensor --degrees data=4,pipeline=2,tensor=8"
            " --global-batch 64 --micro-batches 8 --zero 1 --recompute full --sequence-parallel yes --virtual-stages 2"
        ),
        (
            "mixtral-8x7b@tokens=4096 --machine h100 --software megatron-core --strategy data+expert+pipeline"
            " --degrees data=2,expert=8,pipeline=4 --zero 1 --global-batch 256 --micro-batches 16"
        ),
        (
            "llama3-8b --machine h100 --software megatron-core --strategy data+context+tensor --degrees data=4,context=2,tensor=2"
            " --sequence-parallel yes --zero 1 --global-batch 16 --micro-batches 2 --precision fp8"
        ),
    ],
}


def read_deepspeed(folder, plan):
    from deepspeed.runtime import config

    devices = plan["gpus"]
    config.dist.get_rank = lambda *_, **__: 0
    config.dist.get_world_size = lambda *_, **__: devices
    read = config.DeepSpeedConfig(str(folder / "launch/deepspeed.json"))
    assert read.world_size == devices and read.train_batch_size == plan["global_batch"], vars(read)
    assert read.zero_optimization_stage == plan["zero_stage"]


def read_torchtitan(folder, plan):
    from torchtitan.config.manager import ConfigManager

    read = ConfigManager().parse_args([f"--job.config_file={folder / 'launch/torchtitan.toml'}"])
    assert read.training.global_batch_size == plan["global_batch"]
    sides = read.parallelism
    data = sides.data_parallel_replicate_degree * sides.data_parallel_shard_degree
    assert data * sides.tensor_parallel_degree * sides.pipeline_parallel_degree * sides.context_parallel_degree == plan["gpus"]


def read_megatron(folder, plan):
    text = (folder / "launch/megatron.sh").read_text()
    words = shlex.split(re.search(r"arguments=\(\n(.*?)\n\)", text, re.DOTALL).group(1))
    sys.path.insert(0, os.environ["MEGATRON"])
    from megatron.training.arguments import parse_args

    sys.argv = ["pretrain_gpt.py", *words]
    read = parse_args()
    assert read.global_batch_size == plan["global_batch"]
    model = read.tensor_model_parallel_size * read.pipeline_model_parallel_size * read.context_parallel_size
    assert plan["gpus"] % model == 0 and read.use_distributed_optimizer == (plan["zero_stage"] == 1)


def plan_of(text):
    words = text.split()
    value = {key: words[words.index(option) + 1] for key, option in (("batch", "--global-batch"), ("zero", "--zero")) if option in words}
    gpus = 1
    for degree in words[words.index("--degrees") + 1].split(","):
        gpus *= int(degree.split("=")[1])
    batch = int(value["batch"]) if "batch" in value else gpus * int(words[words.index("--batch-per-gpu") + 1])
    return {"gpus": gpus, "global_batch": batch, "zero_stage": int(value.get("zero", 0))}


def main():
    runtime, oracle = sys.argv[1], Path(sys.argv[2]).resolve()
    missing = "MEGATRON" not in os.environ if runtime == "megatron" else importlib.util.find_spec(runtime) is None
    if missing:
        print(f"{runtime} is not here")
        sys.exit(SKIPPED)
    read = {"deepspeed": read_deepspeed, "torchtitan": read_torchtitan, "megatron": read_megatron}[runtime]
    with tempfile.TemporaryDirectory() as place:
        for index, words in enumerate(PLANS[runtime]):
            folder = Path(place) / str(index)
            done = subprocess.run([oracle, "recommend", *words.split(), "--save-dir", folder], check=False, capture_output=True, text=True)
            assert folder.exists(), done.stdout + done.stderr
            read(folder, plan_of(words))
            print(f"read: {words}")


if __name__ == "__main__":
    main()

"""Predicts the compared rows with SimuMax, from its public repository, and its own system file of B200.

  python3 predict_simumax.py CHECKOUT FILE.csv

CHECKOUT is a checkout of github.com/MooreThreads/SimuMax. If FILE.csv exists, the predictions are compared with it;
DDL_ACCEPT=1 rewrites it. A row that SimuMax cannot express is written with the reason. The
options are those of its own comparison with B200 (tools/b200/run_megatron_perf_real_pipeline.py): cross entropy is fused,
exchanges of a pipeline are not overlapped, and experts have a capacity of 1.
"""

import os
import re
import subprocess
import sys
import tempfile

import peer_rows

SYSTEMS = {"dgx-b200": "b200_bf16_ceperm"}
# Our model with its layers and hidden size, and the model file of SimuMax.
MODELS = {("llama3-8b", "8192"): "llama3-70b", ("llama3-8b", "16384"): "llama3-405b_padding_128"}
MIXTURES = {"deepseek-v2": "deepseekv2", "deepseek-v3": "deepseekv3"}


def express(row):
    """Returns model file, system file, and the values to set in model and strategy, or the reason why the row has none."""
    name, values = peer_rows.parameters(row)
    axes = peer_rows.degrees(row)
    if not name.startswith(("gpt", "llama", "deepseek")):
        return "no such kind of network"
    if "lora" in values:
        return "no adapters"
    if row["machine"] not in SYSTEMS:
        return "no system file"
    if row["precision"] != "bf16":
        return "no efficiencies of this precision in the system file"
    model = MIXTURES.get(name) or MODELS.get((name, values.get("hidden")))
    if model is None:
        return "no such model"
    model_values = {"layer_num": int(values["layers"]), "padded_vocab_size": True, "make_vocab_size_divisible_by": 128}
    if name in MIXTURES:
        model_values.update(moe_pad_expert_input_to_capacity=True, capacity=1)
        if "dense_layers" in values:
            model_values["dense_layers"] = int(values["dense_layers"])
    data = axes.get("data", 1) * axes.get("expert", 1)
    strategy_values = {
        "seq_len": int(values["tokens"]),
        "world_size": int(row["gpus"]),
        "tp_size": axes.get("tensor", 1),
        "pp_size": axes.get("pipeline", 1),
        "cp_size": axes.get("context", 1),
        "ep_size": axes.get("expert", 1),
        "micro_batch_size": int(row["micro_batch"]),
        "micro_batch_num": int(row["global_batch"]) // (int(row["micro_batch"]) * data),
        "interleaving_size": int(row["virtual_stages"] or 1),
        "pp_comm_async": False,
        "cross_entropy_loss_fusion": True,
        "te_version": "2.11.0",
    }
    if name in MIXTURES:
        strategy_values["dispatch_probs"] = True
    return model, SYSTEMS[row["machine"]], model_values, strategy_values


def predict(folder, row):
    """Returns the time of a step in seconds, or the reason why there is none."""
    from simumax.core.perf_llm import PerfLLM

    expressed = express(row)
    if isinstance(expressed, str):
        return None, expressed
    model, system, model_values, strategy_values = expressed
    perf = PerfLLM()
    perf.configure(
        strategy_config=os.path.join(folder, "configs", "strategy", "tp1_pp1_dp8_mbs1.json"),
        model_config=os.path.join(folder, "configs", "models", model + ".json"),
        system_config=os.path.join(folder, "configs", "system", system + ".json"),
        debug_points=[],
    )
    for key, value in strategy_values.items():
        setattr(perf.strategy, key, value)
    for key, value in model_values.items():
        setattr(perf.model_config, key, value)
    try:
        perf.run_estimate()
        time = perf.analysis_cost().data["duration_time_per_iter"]
    except (AssertionError, ValueError, KeyError) as error:
        return None, f"refused: {(str(error).splitlines() or ['assertion'])[0]}"
    number, unit = re.match(r"([\d.]+) *(\w+)", str(time)).groups()
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit], ""


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: predict_simumax.py CHECKOUT OUTPUT.csv")
    folder, output = (os.path.abspath(path) for path in sys.argv[1:])
    sys.path.insert(0, folder)
    git = subprocess.run(["git", "-C", folder, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
    predictions = []
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)  # SimuMax writes files into the folder in which it runs
        for group, name, row in peer_rows.rows():
            seconds, reason = predict(folder, row)
            predictions.append((group, name, row, seconds, reason))
    return peer_rows.keep(output, f"MooreThreads/SimuMax {git.stdout.strip()}", "tests/comparison/predict_simumax.py", predictions)


if __name__ == "__main__":
    sys.exit(main())

"""Predicts the compared rows with Calculon, from its public repository, and its own system files.

  python3 predict_calculon.py CHECKOUT FILE.csv

CHECKOUT is a checkout of github.com/calculon-ai/calculon. If FILE.csv exists, the predictions are compared with it;
DDL_ACCEPT=1 rewrites it. A row that Calculon cannot express is written with the reason.
Systems: `a100_80g`, which is closer to the rows than `a100_80e`, and `h100_80g_nvl8`. Options are those of its validation of
Megatron-LM; optimizer sharding is that of the row.
"""

import json
import logging
import os
import subprocess
import sys

import peer_rows

SYSTEMS = {"dgx-a100": "a100_80g", "dgx-h100": "h100_80g_nvl8"}
DATATYPES = {"fp16": "float16", "bf16": "float16", "fp8": "float8"}
NODE = 8  # the GPUs of the first network of both systems


def networks(tensor, pipeline, data):
    """Returns the networks of the axes: inside the node while the axes fit in it, from tensor outward."""
    inside, chosen = 1, []
    for degree in (tensor, pipeline, data):
        fits = inside * degree <= NODE and NODE % (inside * degree) == 0
        chosen.append(0 if fits else 1)
        inside = inside * degree if fits else NODE + 1
    return chosen


def express(row):
    """Returns the model and the execution of a row as dictionaries of Calculon, or the reason why it has none."""
    name, values = peer_rows.parameters(row)
    axes = peer_rows.degrees(row)
    if not name.startswith(("gpt", "llama", "deepseek", "bert")):
        return "no such kind of network"
    if name != "gpt3-175b":
        return "no gated perceptron, grouped heads, encoder or expert"
    if row["machine"] not in SYSTEMS:
        return "no system file"
    if set(axes) - {"data", "pipeline", "tensor"}:
        return "no such axis"
    if row.get("zero_stage") in ("2", "3"):
        return "no such sharding"
    tensor, pipeline, data = (axes.get(axis, 1) for axis in ("tensor", "pipeline", "data"))
    nets = networks(tensor, pipeline, data)
    sequence = row.get("sequence_parallel") == "yes" and tensor > 1
    recompute = {"": "none", "none": "none", "full": "full", "selective": "attn_only"}[row["recompute"]]
    hidden, heads = int(values["hidden"]), int(values["heads"])
    model = {
        "hidden": hidden,
        "feedforward": 4 * hidden,
        "seq_size": int(values["tokens"]),
        "attn_heads": heads,
        "attn_size": hidden // heads,
        "num_blocks": int(values["layers"]),
    }
    execution = {
        "num_procs": int(row["gpus"]),
        "tensor_par": tensor,
        "pipeline_par": pipeline,
        "data_par": data,
        "tensor_par_net": nets[0],
        "pipeline_par_net": nets[1],
        "data_par_net": nets[2],
        "batch_size": int(row["global_batch"]),
        "microbatch_size": int(row["micro_batch"] or int(row["global_batch"]) // data),
        "datatype": DATATYPES[row["precision"]],
        "fused_activation": False,
        "attention_type": "multihead",
        "activation_recompute": recompute,
        "pipeline_interleaving": int(row.get("virtual_stages") or 1),
        "optimizer_sharding": row.get("zero_stage") == "1" and data > 1,
        "tensor_par_comm_type": "rs_ag" if sequence else "ar",
        "tensor_par_overlap": "none",
        "seq_par_ag_redo": sequence and recompute != "full",
        "data_par_overlap": False,
        "weight_offload": False,
        "activations_offload": False,
        "optimizer_offload": False,
        "training": True,
    }
    return model, execution


def predict(folder, row):
    """Returns the time of a step in seconds, or the reason why there is none."""
    from calculon.llm import Llm, System

    expressed = express(row)
    if isinstance(expressed, str):
        return None, expressed
    model, execution = expressed
    with open(os.path.join(folder, "systems", SYSTEMS[row["machine"]] + ".json"), encoding="utf-8") as file:
        system = System(json.load(file))
    try:
        llm = Llm(Llm.Application(model), logging.getLogger("calculon"))
        llm.compile(system, Llm.Execution.from_json(execution))
        llm.run(system)
    except AssertionError as error:
        return None, f"refused: {str(error).splitlines()[0] if str(error) else 'assertion'}"
    except Llm.Error as error:
        return None, f"refused: {str(error).splitlines()[0]}"
    return llm.get_stats_json(False)["total_time"], ""


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: predict_calculon.py CHECKOUT OUTPUT.csv")
    folder, output = sys.argv[1:]
    sys.path.insert(0, folder)
    git = subprocess.run(["git", "-C", folder, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
    predictions = []
    for group, name, row in peer_rows.rows():
        seconds, reason = predict(folder, row)
        predictions.append((group, name, row, seconds, reason))
    return peer_rows.keep(output, f"calculon-ai/calculon {git.stdout.strip()}", "tests/comparison/predict_calculon.py", predictions)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Writes the ONNX files in this folder that no exporter of torch 1.13 writes: newer opsets, dynamic sizes.

Needs the packages onnx and numpy. Run: make_operator_nets.py [FOLDER]
Prints name, parameters and multiply-adds of one sample at the sizes given, for networks.csv.
"""
import pathlib
import sys

from onnx import TensorProto, checker, helper, save

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)


def tensor(name, *shape):
    """Returns a float input. Weights are inputs of the graph, so that the file contains no weights."""
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def write(name, opset, nodes, inputs, outputs):
    """Writes the file after checking it."""
    graph = helper.make_graph(nodes, name, inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="make_operator_nets")
    model.ir_version = 10
    checker.check_model(model)
    save(model, folder / f"{name}.onnx")


def open_op18():
    """A detector: boxes from two scales of one image are concatenated, and a suppression without weights selects boxes."""
    nodes = [
        helper.make_node("Conv", ["x", "stem"], ["a"], name="stem", strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("LeakyRelu", ["a"], ["b"], name="act", alpha=0.1),
        helper.make_node("MaxPool", ["b"], ["c"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["b", "fine"], ["d"], name="fine"),
        helper.make_node("Conv", ["c", "coarse"], ["e"], name="coarse"),
        helper.make_node("Constant", [], ["shape"], value_ints=[0, 5, -1]),
        helper.make_node("Reshape", ["d", "shape"], ["f"]),
        helper.make_node("Reshape", ["e", "shape"], ["g"]),
        helper.make_node("Concat", ["f", "g"], ["h"], name="join", axis=2),
        helper.make_node("Split", ["h"], ["boxes", "score"], axis=1, num_outputs=2),
        helper.make_node("Split", ["boxes"], ["one", "two", "three"], axis=1, num_outputs=3),
        helper.make_node("NonMaxSuppression", ["boxes", "score"], ["kept"], name="nms"),
    ]
    weights = [tensor("stem", 8, 3, 3, 3), tensor("fine", 5, 8, 1, 1), tensor("coarse", 5, 8, 1, 1)]
    kept = helper.make_tensor_value_info("kept", TensorProto.INT64, ["n", 3])
    write("open_op18", 18, nodes, [tensor("x", "batch", 3, "height", "width"), *weights], [kept])
    print("open_op18", 216 + 40 + 40, 16 * 24 * 216 + (384 + 96) * 40, sep=",")


open_op18()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes xor.onnx: a network of two layers whose weights are exact, so that its
answers are."""
import onnx
from onnx import TensorProto, helper


def weight(name, dims, values):
    return helper.make_tensor(name, TensorProto.FLOAT, dims, values)


graph = helper.make_graph(
    [helper.make_node("Gemm", ["x", "w1", "b1"], ["sums"]),
     helper.make_node("Relu", ["sums"], ["hidden"]),
     helper.make_node("MatMul", ["hidden", "w2"], ["y"])],
    "xor",  # the name of the function
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 2])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 1])],
    [weight("w1", [2, 2], [1, 1, 1, 1]), weight("b1", [2], [0, -1]),
     weight("w2", [2, 1], [1, -2])])
model = helper.make_model(
    graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "xor.onnx")

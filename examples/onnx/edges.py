#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes edges.onnx: a convolution that answers where images get brighter to the right
and downwards, for any number of images. Its weights are exact, so that its answers
are."""
import onnx
from onnx import TensorProto, helper

RIGHT = [-1, 0, 1, -2, 0, 2, -1, 0, 1]
DOWN = [-1, -2, -1, 0, 0, 0, 1, 2, 1]

graph = helper.make_graph(
    [helper.make_node("Conv", ["images", "kernels"], ["slopes"]),
     helper.make_node("Relu", ["slopes"], ["edges"])],
    "edges",  # the name of the function
    [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["n", 1, 4, 5])],
    [helper.make_tensor_value_info("edges", TensorProto.FLOAT, ["n", 2, 2, 3])],
    [helper.make_tensor("kernels", TensorProto.FLOAT, [2, 1, 3, 3], RIGHT + DOWN)])
model = helper.make_model(
    graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "edges.onnx")

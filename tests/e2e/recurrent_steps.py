# SPDX-License-Identifier: Apache-2.0
"""recurrent_steps.py MODEL OUTPUT STEPS: writes an LSTM with random weights as ONNX,
and what onnxruntime computes in STEPS steps whose state is fed back. OUTPUT gets the
`inputs`, the `outputs`, and the last `h` and `c`."""
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

INPUT, HIDDEN = 8, 16
model, output, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
random = np.random.default_rng(34)


def weights(name, *shape):
    return numpy_helper.from_array(random.uniform(-.6, .6, shape).astype("f4"), name)


def value(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


graph = helper.make_graph(
    [helper.make_node("LSTM", ["x", "W", "R", "B", "", "h", "c"], ["y", "next_h", "next_c"],
                      hidden_size=HIDDEN)],
    "lstm",
    [value("x", 1, 1, INPUT), value("h", 1, 1, HIDDEN), value("c", 1, 1, HIDDEN)],
    [value("y", 1, 1, 1, HIDDEN), value("next_h", 1, 1, HIDDEN),
     value("next_c", 1, 1, HIDDEN)],
    [weights("W", 1, 4 * HIDDEN, INPUT), weights("R", 1, 4 * HIDDEN, HIDDEN),
     weights("B", 1, 8 * HIDDEN)])
made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(made)
onnx.save(made, model)

session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
inputs = random.standard_normal((steps, 1, 1, INPUT)).astype("f4")
h = c = np.zeros((1, 1, HIDDEN), "f4")
outputs = []
for x in inputs:
    y, h, c = session.run(None, {"x": x, "h": h, "c": c})
    outputs.append(y)
np.savez(output, inputs=inputs, outputs=np.stack(outputs), h=h, c=c)

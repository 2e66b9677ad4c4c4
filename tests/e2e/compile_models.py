# SPDX-License-Identifier: Apache-2.0
"""Run by the Python of FARCALL_ONNX: writes the models of test_compile_onnx.py into the
folder that is named, as NAME.onnx, each with onnxruntime's answers in NAME.json."""
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T, helper

FOLDER = pathlib.Path(sys.argv[1])
RANDOM = np.random.default_rng(7)


def weight(name, *shape):
    values = RANDOM.standard_normal(shape).astype(np.float32)
    return onnx.numpy_helper.from_array(values, name)


def value(name, kind, shape, doc=""):
    return helper.make_tensor_value_info(name, kind, shape, doc_string=doc)


def save(name, nodes, inputs, outputs, weights=(), opset=17, doc="", domain="",
         producer=""):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(weights),
                              doc_string=doc)
    opsets = [helper.make_opsetid("", opset)]
    if domain:
        opsets.append(helper.make_opsetid(domain, 1))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8,
                              producer_name=producer)
    onnx.save(model, FOLDER / f"{name}.onnx")


def answer(name, *calls):
    """Writes calls by keyword, with the answers of onnxruntime."""
    session = onnxruntime.InferenceSession(FOLDER / f"{name}.onnx",
                                           providers=["CPUExecutionProvider"])
    rows = [{"kwargs": {key: each.tolist() for key, each in call.items()},
             "results": [each.tolist() for each in session.run(None, call)]}
            for call in calls]
    (FOLDER / f"{name}.json").write_text(json.dumps(rows))


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


save("mlp",
     [helper.make_node("Gemm", ["x", "w", "b"], ["sums"]),
      helper.make_node("Relu", ["sums"], ["hidden"]),
      helper.make_node("MatMul", ["hidden", "v"], ["scores"]),
      helper.make_node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0)],
     [value("x", T.FLOAT, ["batch", 4], "four measures")],
     [value("label", T.INT64, ["batch"]), value("scores", T.FLOAT, ["batch", 3])],
     [weight("w", 4, 8), weight("b", 8), weight("v", 8, 3)], doc="which of three")
answer("mlp", {"x": floats(1, 4)}, {"x": floats(5, 4)})

save("pool",
     [helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2],
                       pads=[0, 0, 1, 1])],
     [value("x", T.FLOAT, [1, 1, 4, 6])], [value("y", T.FLOAT, [1, 1, 2, 3])])
answer("pool", {"x": -1 - abs(floats(1, 1, 4, 6))})

save("sum", [helper.make_node("Add", ["left", "right"], ["total"])],
     [value("left", T.FLOAT, ["n", 3]), value("right", T.FLOAT, ["n", 3])],
     [value("total", T.FLOAT, ["n", 3])])
answer("sum", {"left": floats(2, 3), "right": floats(2, 3)})

# Columns of a table, as skl2onnx exports them: no dim has a name. Then two products of
# matrices whose first dims differ: one of another exporter, one in which the dim has a
# name.
save("columns", [helper.make_node("Concat", ["age", "fare"], ["row"], axis=1)],
     [value("age", T.FLOAT, [None, 1]), value("fare", T.FLOAT, [None, 1])],
     [value("row", T.FLOAT, [None, 2])], producer="skl2onnx")
answer("columns", {"age": floats(3, 1), "fare": floats(3, 1)})
for name, dim, producer in ("product", None, "pytorch"), ("apart", "rows", "skl2onnx"):
    save(name, [helper.make_node("Transpose", ["b"], ["t"]),
                helper.make_node("MatMul", ["a", "t"], ["c"])],
         [value("a", T.FLOAT, [dim, 3]), value("b", T.FLOAT, [None, 3])],
         [value("c", T.FLOAT, [None, None])], producer=producer)
    answer(name, {"a": floats(2, 3), "b": floats(4, 3)})

# These names of dims do not count as names, so their sizes may differ.
save("nameless", [helper.make_node("Add", ["x", "x"], ["twice"])],
     [value("x", T.FLOAT, ["?", "-1", "", "?"])],
     [value("twice", T.FLOAT, ["?", "-1", "", "?"])])
answer("nameless", {"x": floats(1, 2, 3, 4)})

# The operators that replace the tree ensemble do not exist in opset 9: it must be
# lifted first.
save("trees", [helper.make_node(
    "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1,
    nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[1, 0, 0],
    nodes_values=[0.5, 0.0, 0.0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
    nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], target_treeids=[0, 0],
    target_nodeids=[1, 2], target_ids=[0, 0], target_weights=[-1.5, 2.5])],
     [value("x", T.FLOAT, ["rows", 2])], [value("y", T.FLOAT, ["rows", 1])], opset=9,
     domain="ai.onnx.ml")
answer("trees", {"x": floats(6, 2)})

save("bytes", [helper.make_node("BitwiseNot", ["pixels"], ["inverted"])],
     [value("pixels", T.UINT8, [2, 3])], [value("inverted", T.UINT8, [2, 3])],
     opset=18)
answer("bytes", {"pixels": np.array([[0, 1, 127], [128, 200, 255]], np.uint8)})

save("double", [helper.make_node("Mul", ["x", "x"], ["square"])],
     [value("x", T.DOUBLE, [2])], [value("square", T.DOUBLE, [2])])
answer("double", {"x": np.array([1e-200, 1 + 2**-40])})

# In opset 8, Sum and Upsample have forms that later opsets no longer have.
save("old",
     [helper.make_node("Upsample", ["image"], ["large"], scales=[1.0, 1.0, 2.0, 2.0],
                       mode="nearest"),
      helper.make_node("Sum", ["large", "large"], ["twice"])],
     [value("image", T.FLOAT, [1, 1, 2, 3])], [value("twice", T.FLOAT, [1, 1, 4, 6])],
     opset=8)
answer("old", {"image": floats(1, 1, 2, 3)})

save("edges", [helper.make_node("Conv", ["images", "kernels"], ["slopes"])],
     [value("images", T.FLOAT, ["images", 1, 4, 5])],
     [value("slopes", T.FLOAT, ["images", 2, 2, 3])], [weight("kernels", 2, 1, 3, 3)])
answer("edges", *({"images": floats(size, 1, 4, 5)} for size in (1, 2, 4)))

save("strange", [helper.make_node("Fold", ["x"], ["y"], domain="com.example")],
     [value("x", T.FLOAT, [2])], [value("y", T.FLOAT, [2])], domain="com.example")

save("grouped", [helper.make_node("Conv", ["x", "w", "b"], ["y"], group=2, pads=[1] * 4)],
     [value("x", T.FLOAT, [1, 4, 2, 3])], [value("y", T.FLOAT, [1, 6, 2, 3])],
     [weight("w", 6, 2, 3, 3), weight("b", 6)])
answer("grouped", {"x": floats(1, 4, 2, 3)})

save("line", [helper.make_node("Conv", ["x", "w", "b"], ["t"], pads=[2, 1], strides=[2],
                               dilations=[2], kernel_shape=[3]),
              helper.make_node("Conv", ["t", "v"], ["y"], group=2, auto_pad="SAME_UPPER")],
     [value("x", T.FLOAT, ["n", 4, 9])], [value("y", T.FLOAT, ["n", 6, 4])],
     [weight("w", 4, 4, 3), weight("b", 4), weight("v", 6, 2, 3)])
answer("line", *({"x": floats(size, 4, 9)} for size in (1, 3)))

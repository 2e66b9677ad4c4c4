# SPDX-License-Identifier: Apache-2.0
"""Writes files that are broken, files that no compiler here accepts, and valid ones:
doctor_files.py FOLDER. Run by the Python that has ONNX."""
import pathlib
import pickle
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

X = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 4])
Y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 4])


def graph(nodes, inputs=(X,), outputs=(Y,), weights=(), name="g"):
    return helper.make_graph(nodes, name, list(inputs), list(outputs), list(weights))


def model(nodes, *arguments, opset=18, domains=(), **options):
    made = helper.make_model(
        graph(nodes, *arguments, **options), ir_version=9,
        opset_imports=[helper.make_opsetid("", opset),
                       *(helper.make_opsetid(each, 1) for each in domains)])
    return made.SerializeToString()


def node(operator, inputs=("x",), outputs=("y",), **attributes):
    return helper.make_node(operator, list(inputs), list(outputs),
                            name=f"the_{operator.lower()}", **attributes)


def value(name, type_, shape=("rows", 4)):
    return helper.make_tensor_value_info(name, type_, shape)


def typed(name, kind):
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    return onnx.ValueInfoProto(name=name, type=kind(tensor))


def outside(location, length=64):
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4, 4],
                         data_location=TensorProto.EXTERNAL)
    for key, entry in (("location", location), ("length", str(length))):
        weight.external_data.add(key=key, value=entry)
    return model([node("MatMul", ["x", "w"])], weights=[weight])


def heavy():
    weights = [numpy_helper.from_array(numpy.ones((4, 300000), "f4"), "w"),
               numpy_helper.from_array(numpy.ones((300000, 4), "f4"), "v")]
    return model([node("MatMul", ["x", "w"], ["z"]), node("Gemm", ["z", "v"])],
                 (value("x", TensorProto.FLOAT, (150, 4)),),
                 (value("y", TensorProto.FLOAT, (150, 4)),), weights)


def short_weight():
    weight = numpy_helper.from_array(numpy.ones((4, 4), "f4"), "w")
    weight.dims[0] = 5
    return model([node("MatMul", ["x", "w"])], weights=[weight])


def nested():
    body = graph([node("If", ["c"], ["b"],
                       then_branch=graph([node("Constant", [], ["t"], value_float=1.0)],
                                         [], [value("t", TensorProto.FLOAT, [])]),
                       else_branch=graph([node("Blurring", ["x"], ["e"])],
                                         [], [value("e", TensorProto.FLOAT, [])]))],
                 [], [value("b", TensorProto.FLOAT, [])])
    return model([node("If", ["c"], then_branch=body, else_branch=body)],
                 [X, value("c", TensorProto.BOOL, [])])


def sparse():
    whole = onnx.ModelProto.FromString(model([node("Relu")]))
    weight = whole.graph.sparse_initializer.add()
    weight.values.CopyFrom(numpy_helper.from_array(numpy.ones(1, "f4"), "s"))
    weight.indices.CopyFrom(numpy_helper.from_array(numpy.zeros(1, "i8")))
    weight.dims.append(4)
    return whole.SerializeToString()


RELU = model([node("Relu")])
MLIR = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n%s  return %x : tensor<4xf32>\n}\n"


def mlir(line):
    return MLIR.replace("%s", f"  {line}\n" if line else "").encode()


FILES = {
    # Damaged ONNX files
    "cut.onnx": RELU[:-9],
    "no_graph.onnx": onnx.ModelProto(
        ir_version=9, graph=onnx.GraphProto(name="g"),
        opset_import=[helper.make_opsetid("", 18)]).SerializeToString(),
    "dangling.onnx": model([node("Add", ["x", "nothing"])]),
    "unmade.onnx": model([node("Relu", ["x"], ["z"])]),
    "order.onnx": model([node("Relu", ["z"]), node("Abs", ["x"], ["z"])]),
    "short_weight.onnx": short_weight(),
    "weights_elsewhere.onnx": outside("gone.bin"),
    "weights_above.onnx": outside("../../etc/passwd"),
    "weights_short.onnx": outside("short.bin"),
    "heavy.onnx": heavy(),
    "sparse.onnx": sparse(),
    # ONNX files that compilers do not accept
    "unknown.onnx": model([node("Sofmax")]),
    "custom.onnx": model([node("Warp", domain="my.ops")], domains=["my.ops"]),
    "attention.onnx": model([node("Attention", ["x", "x", "x"], q_num_heads=1,
                                  kv_num_heads=1)], opset=23),
    "fused.onnx": model([node("FusedConv", domain="com.microsoft")],
                        domains=["com.microsoft"]),
    "dictionary.onnx": model([node("DictVectorizer", domain="ai.onnx.ml")],
                             domains=["ai.onnx.ml"]),
    "training.onnx": model([node("Adam", domain="ai.onnx.preview.training")],
                           domains=["ai.onnx.preview.training"]),
    "nested.onnx": nested(),
    "softsign.onnx": model([node("Softsign")], opset=18),
    "future.onnx": model([node("Relu")], opset=99),
    "text.onnx": model([node("StringNormalizer", ["x"])],
                       [value("x", TensorProto.STRING)],
                       [value("y", TensorProto.STRING)]),
    "sequence.onnx": model([node("SequenceAt", ["x", "i"])],
                           [typed("x", helper.make_sequence_type_proto),
                            value("i", TensorProto.INT64, [])]),
    "optional.onnx": model([node("OptionalGetElement")],
                           [typed("x", helper.make_optional_type_proto)]),
    "nibbles.onnx": model([node("Cast", to=TensorProto.FLOAT)],
                          [value("x", TensorProto.INT4)]),
    # MLIR files
    "gpu.mlir": mlir("%0 = gpu.thread_id x"),
    "cuda.mlir": mlir('util.global @d = #hal.device.target<"cuda"> : !hal.device'),
    "tf.mlir": mlir("%0 = tf.Relu %x"),
    "mhlo.mlir": mlir("%0 = mhlo.add %x, %x : tensor<4xf32>"),
    "lapack.mlir": mlir("%0 = stablehlo.custom_call @lapack_sgesdd_ffi(%x) : "
                        "(tensor<4xf32>) -> tensor<4xf32>"),
    "reduce.mlir": mlir('%0 = "stablehlo.all_reduce"(%x) : (tensor<4xf32>) -> ()'),
    "private.mlir": mlir("").replace(b"@f", b"private @f"),
    "open.mlir": mlir("")[:-2],
    "quote.mlir": mlir('%0 = "arith.addf(%x, %x)'),
    "wide.mlir": mlir("").replace(b"f32", b"f128"),
    # Files of other formats
    "empty.onnx": b"",
    "weights.pkl": pickle.dumps({"w": 1}, protocol=4),
    "model.pt": b"PK\x03\x04\x14\x00" + bytes(24) + b"archive/data.pkl",
    "model.h5": b"\x89HDF\r\n\x1a\n" + bytes(64),
    "module.vmfb": b"\x40\x00\x00\x00IREE" + bytes(64),
    "module.so": b"\x7fELF\x02\x01\x01" + bytes(64),
    # Valid files
    "relu.onnx": RELU,
    "unnamed.onnx": model([node("Relu")], [value("x", TensorProto.FLOAT, [None, 4])]),
    "double.onnx": model([node("Relu")], [value("x", TensorProto.DOUBLE)],
                         [value("y", TensorProto.DOUBLE)]),
    # The two branches of the If have results of different ranks, which IREE cannot
    # lower.
    "ranks.onnx": model(
        [node("If", ["which"], ["z"], then_branch=helper.make_graph(
            [node("Relu", outputs=["a"])], "then", [],
            [value("a", TensorProto.FLOAT, [2, 4])]),
            else_branch=helper.make_graph(
                [node("ReduceMax", outputs=["b"], keepdims=0)], "else", [],
                [value("b", TensorProto.FLOAT, [])])),
         node("Flatten", ["z"])],
        [value("x", TensorProto.FLOAT, [2, 4]), value("which", TensorProto.BOOL, [])],
        [value("y", TensorProto.FLOAT, [None, None])]),
    "loop.onnx": model([node("NonZero", ["x"], ["z"]), node("Relu")]),
    "add.mlir": mlir("// gpu.launch \"is only a comment\n  "
                     "%0 = arith.addf %x, %x : tensor<4xf32>"),
}


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    (folder / "short.bin").write_bytes(bytes(8))
    for name, data in FILES.items():
        (folder / name).write_bytes(data)

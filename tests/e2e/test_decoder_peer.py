# SPDX-License-Identifier: Apache-2.0
"""A decoder whose functions write into their cache, over HTTP against iree.runtime: the
cache is `inout`, so each call answers the one that the next call is given. Logits and
caches have the same bits in every step."""
import base64
import gzip
import json
import subprocess

import numpy
import pytest

from conftest import ROOT

TOY = ROOT / "tests/corpus/llm/toy"
PROMPT = [0, 208, 214, 29, 19, 86, 176, 120]
STEPS = 64
FLAGS = ["--iree-hal-target-device=local",
         "--iree-hal-local-target-device-backends=llvm-cpu",
         "--iree-llvmcpu-target-cpu=generic"]


@pytest.fixture(scope="module")
def toy(iree):
    return iree.compile_text(
        "toy", gzip.decompress((TOY / "model.mlir.gz").read_bytes()).decode(), *FLAGS)


def tensor(array):
    names = {"float16": "f16", "int64": "i64"}
    return {"dtype": names[array.dtype.name], "shape": array.shape,
            "b64": base64.b64encode(array.tobytes()).decode()}


def array(value, dtype=numpy.float16):
    return numpy.frombuffer(base64.b64decode(value["b64"]), dtype).reshape(value["shape"])


def i64(value):
    return numpy.array(value, numpy.int64)


def test_every_step_has_the_bits_of_the_reference(serve, iree, toy, tmp_path):
    done = subprocess.run(
        [iree.folder / "python", ROOT / "tests/e2e/decoder_steps.py", toy,
         TOY / "weights.irpa", TOY / "config.json", str(STEPS), tmp_path / "steps.npz",
         *map(str, PROMPT)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    expected = numpy.load(tmp_path / "steps.npz")
    module = tmp_path / "toy.vmfb"
    module.symlink_to(toy)
    server = serve(module, f"--parameters=model={TOY / 'weights.irpa'}")
    for name in ("prefill_bs1", "decode_bs1"):
        arguments = server.get(f"/api/v1/functions/toy/{name}").json["arguments"]
        assert [each["role"] for each in arguments] == ["in"] * 4 + ["inout"]
        assert arguments[4]["certain"]
    cache = numpy.zeros_like(expected["cache0"])
    stride, count = 16, len(PROMPT)
    given = [i64([PROMPT + [0] * (stride - count)]), i64([0]), i64([count]), i64([[0]])]
    tokens = []
    for step in range(STEPS + 1):
        reply = server.call(f"toy/{'decode_bs1' if step else 'prefill_bs1'}", {
            "args": [tensor(each) for each in (*given, cache)],
            "options": {"results": "b64"}})
        assert reply.status == 200, reply.body
        logits, cache = map(array, reply.json["results"])
        assert logits.tobytes() == expected[f"logits{step}"].tobytes(), step
        assert cache.tobytes() == expected[f"cache{step}"].tobytes(), step
        count += 1
        tokens.append(int(logits[0, -1].argmax()))
        given = [i64([[tokens[-1]]]), i64([count]), i64([count - 1]),
                 i64([list(range(-(-count // stride)))])]
    assert len(set(tokens)) > STEPS / 4  # it does not say one thing for ever

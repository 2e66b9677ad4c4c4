# SPDX-License-Identifier: Apache-2.0
"""A decoder whose functions write into their cache, called over HTTP and compared with
iree.runtime. The cache is `inout`, so each answer contains the cache for the next
call; or it is kept in a session. Logits and caches have the same bits in every step."""
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


@pytest.fixture(scope="module")
def steps(iree, toy, tmp_path_factory):
    """What iree.runtime computes in each step."""
    out = tmp_path_factory.mktemp("steps") / "steps.npz"
    done = subprocess.run(
        [iree.folder / "python", ROOT / "tests/e2e/decoder_steps.py", toy,
         TOY / "weights.irpa", TOY / "config.json", str(STEPS), out,
         *map(str, PROMPT)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return numpy.load(out)


def inputs(tokens, stride=16):
    """The inputs of the step after these tokens. The first step gets the whole prompt."""
    count = len(PROMPT) + len(tokens)
    if not tokens:
        return [i64([PROMPT + [0] * (stride - count)]), i64([0]), i64([count]), i64([[0]])]
    return [i64([[tokens[-1]]]), i64([count]), i64([count - 1]),
            i64([list(range(-(-count // stride)))])]


def name_of(step):
    return "decode_bs1" if step else "prefill_bs1"


def test_every_step_has_the_bits_of_the_reference(serve, toy, steps, tmp_path):
    module = tmp_path / "toy.vmfb"
    module.symlink_to(toy)
    server = serve(module, f"--parameters=model={TOY / 'weights.irpa'}")
    for name in ("prefill_bs1", "decode_bs1"):
        arguments = server.get(f"/api/v1/functions/toy/{name}").json["arguments"]
        assert [each["role"] for each in arguments] == ["in"] * 4 + ["inout"]
        assert arguments[4]["certain"]
    cache, tokens = numpy.zeros_like(steps["cache0"]), []
    for step in range(STEPS + 1):
        reply = server.call(f"toy/{name_of(step)}", {
            "args": [tensor(each) for each in (*inputs(tokens), cache)],
            "options": {"results": "b64"}})
        assert reply.status == 200, reply.body
        logits, cache = map(array, reply.json["results"])
        assert logits.tobytes() == steps[f"logits{step}"].tobytes(), step
        assert cache.tobytes() == steps[f"cache{step}"].tobytes(), step
        tokens.append(int(logits[0, -1].argmax()))
    assert len(set(tokens)) > STEPS / 4  # it does not say one thing for ever


def curl(*words):
    done = subprocess.run(["curl", "-sS", *words], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), len(done.stdout)


def test_curl_has_them_with_a_session(serve, toy, steps, tmp_path):
    """No byte of the cache is sent: each answer is little more than the logits."""
    module = tmp_path / "toy.vmfb"
    module.symlink_to(toy)
    cache = steps[f"cache{STEPS}"]
    state = {"kv": {"argument": 4, "initial": "zeros", "shape": cache.shape}}
    (tmp_path / "toy.farcall.json").write_text(json.dumps({
        "farcall": 1, "abi": "module",
        "functions": [{"name": name_of(step), "state": state} for step in (0, 1)]}))
    server = serve(module, f"--parameters=model={TOY / 'weights.irpa'}")
    sessions = f"http://{server.host}:{server.port}/api/v1/modules/toy/sessions"
    session = curl("-XPOST", sessions)[0]["session"]
    tokens = []
    for step in range(STEPS + 1):
        body = json.dumps({"args": [tensor(each) for each in inputs(tokens)],
                           "options": {"results": "b64"}})
        answer, size = curl(
            f"http://{server.host}:{server.port}/api/v1/functions/toy/{name_of(step)}",
            "-H", f"Farcall-Session: {session}", "-d", body)
        (logits,) = map(array, answer["results"])
        assert logits.tobytes() == steps[f"logits{step}"].tobytes(), step
        assert len(body) + size < 2 * logits.nbytes + 2000 < cache.nbytes
        tokens.append(int(logits[0, -1].argmax()))
    said, _ = curl(f"{sessions}/{session}")
    assert said["step"] == STEPS + 1
    assert said["bytes"] == -(-cache.nbytes // 4096) * 4096
    kept, _ = curl(f"{sessions}/{session}/values/kv")
    numpy.testing.assert_array_equal(
        numpy.array(kept["results"][0]["data"], numpy.float16).view("u2"), cache.view("u2"))

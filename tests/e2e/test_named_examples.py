# SPDX-License-Identifier: Apache-2.0
"""The named examples of a sidecar: who returns them, who makes their calls, and what
those of the modules in examples/ show."""
import json
import shutil

import pytest

from conftest import ROOT

MATMUL = ROOT / "examples/iree/matmul.vmfb"
SCALARS = ROOT / "tests/corpus/iree/releases/scalars-3.13.0.vmfb"
FACT = {"function": "fact", "name": "ten", "args": [10], "results": [3628800]}
HYP = {"function": "hyp", "name": "a/b & c", "args": [3, 4]}


@pytest.fixture
def module(tmp_path):
    """Writes m.vmfb with a sidecar of these examples. Returns its path."""
    shutil.copy(SCALARS, tmp_path / "m.vmfb")

    def put(*examples):
        (tmp_path / "m.farcall.json").write_text(json.dumps(
            {"farcall": 1, "abi": "module", "functions": [], "examples": examples}))
        return tmp_path / "m.vmfb"
    return put


def test_a_server_gives_them_out(serve, module):
    six = {**FACT, "name": "six", "args": [6], "results": [720]}
    server = serve(module(FACT, HYP, six))
    path = "/api/v1/functions/m/fact"
    assert server.get(path).json["examples"] == ["ten", "six"]
    assert "examples" not in server.get("/api/v1/functions/m/divide").json
    assert server.get(f"{path}/example").json == {"args": [10]}
    assert server.get(f"{path}/example?name=six").json == {"args": [6]}
    assert server.get("/api/v1/functions/m/hyp/example?name=a%2Fb%20%26%20c").json == \
        {"args": [3, 4]}
    # Clients write a space as '+'.
    assert server.get("/api/v1/functions/m/hyp/example?name=a/b+%26+c").json == \
        {"args": [3, 4]}
    unknown = server.get(f"{path}/example?name=seven")
    assert (unknown.status, unknown.json["code"]) == (400, "unknown_field")
    assert unknown.json["detail"] == \
        "no example 'seven' of function 'fact': there is 'ten', 'six'"
    sums = serve(module({**FACT, "name": "5+1"}, {**FACT, "name": "5 1", "args": [5],
                                                  "results": [120]}))
    assert [sums.get(f"{path}/example?name={name}").json["args"]
            for name in ("5+1", "5%2B1", "5%201")] == [[10], [10], [5]]
    operation = server.get("/openapi.json").json["paths"][path]["post"]
    shown = operation["requestBody"]["content"]["application/json"]["examples"]
    assert shown == {"ten": {"value": {"args": [10]}}, "six": {"value": {"args": [6]}}}


def test_another_example_has_another_tag(serve, module):
    def tag():
        return serve(module(FACT)).get("/api/v1/functions/m/fact/example").headers["ETag"]
    first = tag()
    assert tag() == first
    FACT["args"], FACT["results"] = [9], [362880]
    try:
        assert tag() != first
    finally:
        FACT["args"], FACT["results"] = [10], [3628800]


def test_results_are_tested_before_the_module_is_served(serve, module):
    wrong = {**FACT, "results": [3628801]}
    server = serve(module(wrong), "--allow-empty")
    refused = server.call("m/fact", [10])
    assert (refused.status, refused.json["code"]) == (503, "module_unavailable")
    assert "self-test, example 'ten' ('fact'), /results/0: expected 3628801, got 3628800" \
        in refused.json["detail"]


def test_what_does_not_fit_is_named(farcall, module):
    done = farcall("sig", module(FACT, {**HYP, "args": [3, "x"]}))
    assert done.returncode and "m.vmfb: its sidecar, /examples/1/args/1: " \
        "example 'a/b & c': " in done.stderr, done.stderr


def test_they_are_called_by_name(farcall, serve, module):
    path = module(FACT, HYP)
    url = f"--server={serve(path).url}"
    for words in (["call", url, "m/fact"], ["run", path, "fact"]):
        done = farcall(*words, "--example")
        assert done.stdout == '{"results":[3628800]}\n', done.stderr
        done = farcall(*words, "--example=six")
        assert done.returncode and "there is 'ten'" in done.stderr
        for more in ("--input=1", "--json=[1]"):
            done = farcall(*words, "--example", more)
            assert done.returncode == 64 and "--example is the whole document: leave out " \
                f"{more.split('=')[0]}" in done.stderr, done.stderr
    done = farcall("call", url, "m/hyp", "--example=a/b & c")
    assert done.stdout == '{"results":[5.0]}\n', done.stderr
    done = farcall("call", url, "m/fact", "--example", "--curl")
    assert "'{\"args\":[10]}'" in done.stdout, done.stdout
    done = farcall("bench", url, "m/hyp", "--example=a/b & c", "--duration=100ms",
                   "--warmup=0s", "--save=-")
    saved = json.loads(done.stdout)
    assert (saved["input"], saved["example"]) == ("given", "a/b & c"), done.stderr
    assert "the example 'a/b & c', " in done.stderr
    done = farcall("bench", url, "m/fact", "--duration=100ms", "--warmup=0s", "--save=-")
    assert json.loads(done.stdout)["example"] == "ten", done.stderr


def test_diff_makes_their_calls(farcall, module, tmp_path):
    wrong = {"function": "divide", "name": "by nothing", "args": [1, 0]}
    old = module(FACT, wrong, {**FACT, "name": "three", "args": [3], "results": [6]})
    done = farcall("diff", old, old)
    assert done.returncode == 0, done.stdout
    untried = [line for line in done.stdout.splitlines() if line.startswith("untried")]
    assert untried == ["untried   divide: neither file answers its example, but call_failed"]


# An answer of zeros shows nothing: each shipped function has an example with a telling
# result.
@pytest.mark.parametrize("name, function, shows", [
    ("mandelbrot", "render", lambda image: len({each for row in image for each in row}) > 20),
    ("matmul", "matmul", lambda product: product == [[19.0, 22.0], [43.0, 50.0]]),
    ("filter", "edges", lambda image: {max(row) for row in image} >= {4.0}),
    ("filter", "fir", lambda signal: signal == [2.0, 4.5, 6.5, 4.5, 2.0]),
    ("digits", "classify", lambda read: read["digit"] == 7),
    ("digits", "batch", lambda digits: digits == [7, 3])])
def test_what_is_shipped_shows_something(serve, name, function, shows):
    server = serve(ROOT / f"examples/iree/{name}.vmfb")
    body = server.get(f"/api/v1/functions/{name}/{function}/example").body
    answer = server.request("POST", f"/api/v1/functions/{name}/{function}", body)
    assert answer.status == 200 and shows(answer.json["results"][0]), answer.body

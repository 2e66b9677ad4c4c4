# SPDX-License-Identifier: Apache-2.0
"""Profiles of calls: their contents, for small and for hostile modules, from a server
and from `farcall profile`. Who may get one is tested in http/transcripts."""
import gzip
import json
import re

import pytest

from conftest import ROOT
from console import user_environment
from otlp import Collector, attributes
from reloading import wait_until

DIGITS = ROOT / "examples/iree/digits.vmfb"
SEVEN = (ROOT / "examples/digits/seven.json").read_text()
OPS = ROOT / "tests/corpus/vm/ops.vmfb"
CONTROL = ROOT / "tests/modules/iree/control.mlir"
VMVX = ["--iree-hal-target-backends=vmvx"]


def check(profile):
    """Checks what holds for every profile. Returns its rows by kind."""
    rows = profile["rows"]
    assert rows[0]["kind"] == "call" and "parent" not in rows[0]
    assert rows[0]["ns"] == profile["ns"] == sum(row["self_ns"] for row in rows)
    below = [0] * len(rows)
    for number, row in enumerate(rows[1:], 1):
        assert 0 <= row["parent"] < number
        assert rows[row["parent"]]["kind"] != "dispatch"
        below[row["parent"]] += row["ns"]
    kinds = {"call": [], "function": [], "import": [], "dispatch": []}
    for row, ns in zip(rows, below):
        assert row["count"] > 0 and row["ns"] == row["self_ns"] + ns
        assert ("grid" in row) == ("bytes" in row) == (row["kind"] == "dispatch")
        kinds[row["kind"]].append(row)
    assert sum(row["ns"] for row in kinds["dispatch"]) <= profile["ns"]
    return kinds


@pytest.fixture
def ask(serve):
    def start(*modules):
        server = serve(*modules, "--admin=loopback")

        def call(function, body, status=200, headers=None):
            reply = server.request(
                "POST", f"/api/v1/functions/{function}?profile=1", body, headers or {})
            assert reply.status == status, reply.body
            return reply
        return server, call
    return start


def test_a_network(ask):
    server, call = ask(DIGITS)
    plain = server.results("digits/classify", SEVEN)
    for _ in range(3):
        reply = call("digits/classify", SEVEN)
        answer = reply.json
        assert list(answer) == ["results", "profile"] and answer["results"] == plain
        kinds = check(answer["profile"])
        assert answer["profile"]["dropped"] == 0
        assert [row["name"] for row in kinds["call"]] == ["classify"]
        assert len(kinds["dispatch"]) >= 2
        assert all(row["bytes"] > 0 and min(row["grid"]) > 0
                   for row in kinds["dispatch"])
        assert any(row["name"].startswith("hal.") for row in kinds["import"])
        spent = re.search(r"call;dur=([\d.]+)", reply.headers["Server-Timing"])
        assert answer["profile"]["ns"] / 1e6 <= float(spent[1]) + 0.001
    assert "profile" not in server.call("digits/classify", SEVEN).json


def test_beside_raw_bytes(ask):
    _, call = ask(ROOT / "examples/iree/matmul.vmfb")
    reply = call("matmul/matmul", "[[[1,2]],[[3],[4]]]",
                 headers={"Accept": "application/octet-stream"})
    size = int(reply.headers["Inference-Header-Content-Length"])
    document = json.loads(reply.body[:size])
    assert document["results"] == [
        {"dtype": "f32", "shape": [1, 1], "binary_data_size": 4}]
    assert reply.body[size:] == b"\x00\x00\x30\x41"  # 11
    assert check(document["profile"])["dispatch"]


def test_recursion_and_failure(ask):
    """A failed call has only an error, and the next call gets a profile of its own."""
    _, call = ask(OPS)
    for _ in range(2):
        kinds = check(call("ops/call.deep", "[]").json["profile"])
        assert [row["count"] for row in kinds["function"]] == [1, 1001]
        failed = call("ops/call.too.deep", "[]", 503).json
        assert failed["code"] == "call_failed" and "profile" not in failed


def test_a_hundred_thousand_dispatches(ask, iree):
    """Neither the profile nor the answer grows with the number of dispatches."""
    _, call = ask(iree.compile(CONTROL, *VMVX))
    module = iree.compile(CONTROL, *VMVX).stem
    body = json.dumps([[1.0] * 3, 100000])
    reply = call(f"{module}/power", body)
    kinds = check(reply.json["profile"])
    assert sum(row["count"] for row in kinds["dispatch"]) == 100000
    assert len(reply.body) < 16384


TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize("accept", ["application/json", "application/octet-stream"])
@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_dispatches_are_spans_of_a_sampled_call(serve, accept, coding):
    collector = Collector()
    server = serve(DIGITS, "--admin=loopback", f"--otlp={collector.url}",
                   "--trace-sample=0", "--lane=never")

    def call(sampled, query):
        return server.request(
            "POST", "/api/v1/functions/digits/classify" + query, SEVEN,
            {"traceparent": f"00-{TRACE}-{CALLER}-0{sampled}", "Accept": accept,
             "Accept-Encoding": coding})
    replies = [call(0, "?profile=1"), call(1, ""), call(1, "?profile=1")]
    for reply in replies:
        assert reply.status == 200
    document = replies[2].body
    if replies[2].headers.get("Content-Encoding") == "gzip":
        document = gzip.decompress(document)
    size = replies[2].headers.get("Inference-Header-Content-Length")
    profile = json.loads(document[:int(size)] if size else document)["profile"]
    rows = [row for row in check(profile)["dispatch"]]
    # When the server ends, it waits for the spans for a second, which may be too short.
    # So wait here.
    wait_until(lambda: sum(each["kind"] == 2 for each in collector.spans) == 2)
    assert server.stop() == 0
    roots = [each for each in collector.spans if each["kind"] == 2]
    assert len(roots) == 2
    dispatches = [each for each in collector.spans
                  if attributes({"attributes": each.get("attributes", [])}).get(
                      "farcall.span") == "dispatch"]
    assert len(dispatches) == sum(row["count"] for row in rows) <= 64
    assert {each["name"] for each in dispatches} == {row["name"] for row in rows}
    assert sum(int(each["endTimeUnixNano"]) - int(each["startTimeUnixNano"])
               for each in dispatches) == sum(row["ns"] for row in rows)
    stage, = {each["parentSpanId"] for each in dispatches}
    stage, = (each for each in collector.spans if each["spanId"] == stage)
    assert stage["name"] == "call" and stage["traceId"] == TRACE
    last = int(stage["startTimeUnixNano"])
    for each in dispatches:
        assert last <= int(each["startTimeUnixNano"])
        last = int(each["endTimeUnixNano"])
    assert last <= int(stage["endTimeUnixNano"])
    told = attributes(dispatches[0])
    assert [int(told[f"farcall.grid.{axis}"]) for axis in "xyz"] in \
        [row["grid"] for row in rows]
    collector.close()
    collector.check()


def read_speedscope(path):
    """(the stacks of names, the time of each) in a file of speedscope's format."""
    file = json.loads(path.read_text())
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    names = [frame["name"] for frame in file["shared"]["frames"]]
    profile, = file["profiles"]
    assert (profile["type"], profile["unit"]) == ("sampled", "nanoseconds")
    assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
    return [[names[frame] for frame in stack] for stack in profile["samples"]], \
        profile["weights"]


def test_the_command_line(farcall, serve, tmp_path):
    socket = tmp_path / "s"
    serve(DIGITS, f"--listen=unix:{socket}")
    document = f"--json=@{ROOT / 'examples/digits/seven.json'}"
    file = tmp_path / "digits.json"
    server = f"--server=unix:{socket}"
    runs = [
        farcall("profile", DIGITS, "classify", document, f"--speedscope={file}"),
        farcall("profile", DIGITS, "-f", "classify", document),
        farcall("profile", "digits/classify", document, server),
    ]
    for done in runs:
        assert (done.returncode, done.stderr) == (0, "")
        head, first, *rows = done.stdout.splitlines()
        assert head.split() == ["TIME", "SELF", "COUNT", "BYTES", "WHAT"]
        assert first.endswith(" call classify")
        assert sum(" dispatch " in row for row in rows) >= 2
    # The rows of the table in order, each below its callers.
    stacks, weights = read_speedscope(file)
    shown = [row[43:] for row in runs[0].stdout.splitlines()[1:]]
    assert [("  " * (len(stack) - 1), stack[-1]) for stack in stacks] == \
        [(row[:len(row) - len(row.lstrip())], row.split()[1]) for row in shown]
    assert stacks[0] == ["classify"] and min(weights) >= 0 < weights[0]
    named = farcall("profile", "digits/classify", document,
                    env={**user_environment(), "FARCALL_SERVER": server.split("=", 1)[1]})
    assert named.returncode == 0 and "classify" in named.stdout, named.stderr
    several = farcall("profile", "digits", document, server)
    assert (several.returncode, several.stdout) == (64, "")
    assert "'digits' is no MODULE/FUNCTION: it has 2 functions" in several.stderr
    plain = farcall("call", "digits/classify", document, server)
    both = farcall("call", "digits/classify", document, server, "--profile",
                   f"--speedscope={tmp_path / 'b.json'}")
    assert both.returncode == 0 and both.stdout == plain.stdout
    assert " call classify" in both.stderr
    assert len(read_speedscope(tmp_path / "b.json")[0]) > 3


def test_the_only_function_of_a_module_needs_no_name(farcall, serve, tmp_path, monkeypatch):
    socket = tmp_path / "s"
    serve(ROOT / "examples/iree/matmul.vmfb", f"--listen=unix:{socket}")
    (tmp_path / "matmul").write_text("a name alone is no file")
    monkeypatch.chdir(tmp_path)
    for words in (["matmul", f"--server=unix:{socket}"], ["matmul"]):
        done = farcall("profile", *words, "--input=[[1,2]]", "--input=[[3],[4]]",
                       env={**user_environment(), "FARCALL_SERVER": f"unix:{socket}"})
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[1].endswith(" call matmul")
    done = farcall("profile", "matmul", f"--server=unix:{socket}", "--example")
    assert done.returncode == 0 and " call matmul" in done.stdout, done.stderr
    done = farcall("profile", ROOT / "examples/iree/matmul.vmfb", "--example=two by two")
    assert done.returncode == 0 and " call matmul" in done.stdout, done.stderr
    done = farcall("profile", ROOT / "examples/iree/matmul.vmfb", "--example=two")
    assert done.returncode == 64 and "there is 'two by two'" in done.stderr
    # An option that only makes sense for a file has the name read as a file.
    done = farcall("profile", "matmul", "-f", "matmul")
    assert done.returncode == 65 and "matmul: not a module" in done.stderr, done.stderr


def test_what_the_command_line_says_where_it_cannot(farcall, serve):
    over_tcp = serve(DIGITS)
    document = f"--json=@{ROOT / 'examples/digits/seven.json'}"
    done = farcall("call", "digits/classify", document, "--profile",
                   f"--server={over_tcp.url}")
    assert done.returncode == 1 and done.stdout == ""
    assert "forbidden" in done.stderr and "--admin=loopback" in done.stderr
    done = farcall("call", "digits/classify", document, "--speedscope=x.json",
                   f"--server={over_tcp.url}")
    assert done.returncode == 64 and "--profile" in done.stderr
    done = farcall("profile", DIGITS, "clasify", document)
    assert done.returncode == 64 and "did you mean 'classify'" in done.stderr
    done = farcall("profile", OPS, "call.too.deep", "--json=[]")
    assert done.returncode == 1 and "call_failed" in done.stderr
    assert " call call.too.deep" in done.stdout and "function" in done.stdout
    done = farcall("call", "digits/classify", document, "--profile", "--curl",
                   f"--server={over_tcp.url}")
    assert "/digits/classify?profile=1'" in done.stdout


def test_a_shared_object_is_one_row(ask, farcall, corpus):
    _, call = ask(corpus / "tensor.so")
    answer = call("tensor/matmul", "[[[1,2]],[[3],[4]]]").json
    assert answer["results"] == [[[11.0]]]
    assert [row["kind"] for row in answer["profile"]["rows"]] == ["call"]

# SPDX-License-Identifier: Apache-2.0
"""/metrics as scrapers read it: both formats, how calls change it, and its limit.
test_metrics_peer.py lets Prometheus itself read it."""
import json
import re
import shutil

import pytest

from conftest import ROOT

SCALARS = ROOT / "tests/corpus/vmfb/scalars-3.13.0.vmfb"
OPEN = ("application/openmetrics-text;version=1.0.0,"
        "application/openmetrics-text;version=0.0.1;q=0.75,"
        "text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
SAMPLE = re.compile(r'([a-z][a-z0-9_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? '
                    r'(\d+(?:\.\d+)?)$')
STAGES = ["read", "route", "admit", "queue", "decode", "call", "encode", "write"]


def read(text):
    """{name: {labels: value}}. Every line must be well-formed, the samples of a name
    must follow its type in one group, and no sample may occur twice."""
    samples, types, done, family = {}, {}, set(), None
    for line in text.splitlines():
        if line == "# EOF":
            assert text.endswith("\n# EOF\n")
            continue
        if line.startswith("# HELP "):
            continue
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split()
            assert family not in types, f"{family} comes twice"
            types[family] = kind
            continue
        found = SAMPLE.match(line)
        assert found, line
        name, labels, value = found[1], found[2] or "", float(found[3])
        assert name.startswith(family) and (types[family] == "histogram" or
                                            name in (family, family + "_total")), line
        assert labels not in samples.setdefault(name, {}), line
        samples[name][labels] = value
    return samples, types


def labels(**pairs):
    return ",".join(f'{key}="{value}"' for key, value in pairs.items())


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "s.vmfb"
    shutil.copy(SCALARS, path)
    return path


def test_calls_are_counted(serve, module):
    server = serve(module)
    for _ in range(3):
        server.results("s/fact", [5])
    assert server.call("s/fact", [5, 6]).status == 422
    assert server.call("s/fact", "[").status == 400
    assert server.call("s/nothing", [5]).status == 404
    checked = server.request("POST", "/api/v1/functions/s/fact?validate=only", "[5]")
    assert checked.status == 204
    samples, types = read(server.get("/metrics").body.decode())
    mine = dict(module="s", function="fact")
    assert samples["farcall_calls_total"] == {
        labels(**mine, code="ok"): 3, labels(**mine, code="extra_argument"): 1,
        labels(**mine, code="json_syntax"): 1}
    assert samples["farcall_call_received_bytes_total"] == {labels(**mine): 16}
    assert samples["farcall_call_sent_bytes_total"][labels(**mine)] > 3 * 15
    assert types["farcall_call_duration_seconds"] == "histogram"
    for stage in [None, *STAGES]:
        name = "farcall_call_stage_duration_seconds" if stage else \
            "farcall_call_duration_seconds"
        all_labels = {**mine, **({"stage": stage} if stage else {})}
        assert samples[name + "_count"][labels(**all_labels)] == 3
        total = samples[name + "_sum"][labels(**all_labels)]
        buckets = [(key, value) for key, value in samples[name + "_bucket"].items()
                   if key.startswith(labels(**all_labels) + ',le=')]
        assert len(buckets) == (27 if stage else 52)
        counts = [value for _, value in buckets]
        assert counts == sorted(counts) and counts[-1] == 3
        assert 'le="+Inf"' in buckets[-1][0]
        assert 0 <= total < 60


def test_the_answer_is_what_accept_asks_for(serve, module):
    server = serve(module)
    server.results("s/fact", [5])
    rows = {None: "text/plain; version=0.0.4", "*/*": "text/plain; version=0.0.4",
            OPEN: "application/openmetrics-text; version=1.0.0",
            "text/plain": "text/plain; version=0.0.4",
            "application/openmetrics-text;q=0.1, text/plain": "text/plain; version=0.0.4"}
    for accept, wanted in rows.items():
        reply = server.request("GET", "/metrics", headers={"Accept": accept} if accept else {})
        assert reply.headers["Content-Type"] == wanted + "; charset=utf-8", accept
        samples, types = read(reply.body.decode())
        is_open = "openmetrics" in wanted
        assert reply.body.endswith(b"# EOF\n") == is_open
        assert ("farcall_calls" in types) == is_open
        assert "farcall_calls_total" in samples


def test_triton_names_on_request(serve, module):
    assert b"nv_" not in serve(module).get("/metrics").body
    server = serve(module, "--metrics-triton")
    server.results("s/fact", [5])
    server.call("s/fact", [5, 6])
    server.call("s/divide", [1, 0])
    samples, _ = read(server.get("/metrics").body.decode())
    fact, divide = (labels(model=f"s.{name}", version="1") for name in ("fact", "divide"))
    assert samples["nv_inference_request_success"] == {fact: 1, divide: 0}
    assert samples["nv_inference_count"] == samples["nv_inference_exec_count"] == \
        {fact: 1, divide: 0}
    failures = samples["nv_inference_request_failure"]
    assert failures[fact + ',reason="OTHER"'] == 1
    assert failures[divide + ',reason="BACKEND"'] == 1
    assert samples["nv_inference_pending_request_count"] == {labels(model="s", version="1"): 0}
    for part in "request", "queue", "compute_input", "compute_infer", "compute_output":
        assert fact in samples[f"nv_inference_{part}_duration_us"]
    _, types = read(server.request("GET", "/metrics", headers={"Accept": OPEN}).body.decode())
    assert types["nv_inference_count"] == "unknown"


def test_triton_times_have_the_loops_that_are_counted(serve, module):
    server = serve(module, "--metrics-triton")
    path = "/api/v1/functions/s/fact"
    body = {"args": [3], "repeat": {"times": 2, "feed": {"0": 0}, "emit": []}}
    reply = server.request("POST", f"{path}?iterate", json.dumps(body))
    assert reply.status == 200, reply.body
    (stats,) = server.get("/v2/models/s.fact/stats").json["model_stats"]
    samples, _ = read(server.get("/metrics").body.decode())
    fact = labels(model="s.fact", version="1")
    assert samples["nv_inference_request_success"][fact] == 1
    assert samples["farcall_call_duration_seconds_count"][
        labels(module="s", function="fact")] == 0
    parts = "queue", "compute_input", "compute_infer", "compute_output"
    told = {"request": "success", **{part: part for part in parts}}
    got = {name: samples[f"nv_inference_{name}_duration_us"][fact] for name in told}
    assert got == {name: stats["inference_stats"][of]["ns"] // 1000
                   for name, of in told.items()}
    assert got["request"] > 0


def test_functions_beyond_the_bound_are_summed(serve, module):
    server = serve(module, "--metrics-functions=1")
    server.results("s/add_total", [5])
    for _ in range(2):
        server.results("s/fact", [5])
    server.results("s/hyp", [3, 4])
    samples, _ = read(server.get("/metrics").body.decode())
    assert samples["farcall_calls_total"] == {
        labels(module="s", function="add_total", code="ok"): 1,
        labels(module="(other)", function="(other)", code="ok"): 3}
    counts = samples["farcall_call_duration_seconds_count"]
    assert sorted(counts.values()) == [1, 3]
    assert samples["farcall_functions_counted"] == {"": 1}
    # The statistics of /v2 are still separate for each function.
    stats = server.get("/v2/models/s.fact/stats").json["model_stats"][0]
    assert stats["inference_count"] == 2


def test_a_reload_begins_again(serve, numbered):
    server = serve(numbered.path, "--admin=loopback")
    for _ in range(2):
        server.results("numbered/number", [1])
    name = labels(module="numbered", function="number", code="ok")

    def count():
        return read(server.get("/metrics").body.decode())[0].get(
            "farcall_calls_total", {}).get(name)
    assert count() == 2
    numbered.put(1)
    assert server.request("POST", "/api/v1/reload").status == 200
    assert count() is None
    server.results("numbered/number", [1])
    assert count() == 1


def test_processor_time_of_modules(serve, farcall, tmp_path):
    """A function loops for a while, and its module's processor time grows by that."""
    source = tmp_path / "m.mlir"
    source.write_text("""func.func @spin(%n: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %from = arith.constant 0 : index
  %step = arith.constant 1 : index
  %to = arith.index_cast %n : i64 to index
  %sum = scf.for %i = %from to %to step %step iter_args(%a = %one) -> i64 {
    %k = arith.index_cast %i : index to i64
    %b = arith.muli %a, %k : i64
    %c = arith.xori %b, %a : i64
    %d = arith.addi %c, %one : i64
    scf.yield %d : i64
  }
  return %sum : i64
}""")
    assert farcall("compile", source, "-o", tmp_path / "m.so").returncode == 0
    server = serve(tmp_path / "m.so")
    key = labels(module="m")

    def taken():
        return read(server.get("/metrics").body.decode())[0][
            "farcall_module_cpu_seconds_total"][key]
    before = taken()
    server.results("m/spin", [200_000_000])
    after = taken()
    assert after > before + 0.05

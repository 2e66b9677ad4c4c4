# SPDX-License-Identifier: Apache-2.0
"""Sends the same requests to two servers: one with every module in threads, one with
every module in worker processes. Status, headers, bodies, log lines and metrics must
be equal, except for times, request ids and what is said of processes. Also tests
which host a module gets by default."""
import json
import re

import pytest

from conftest import RELEASES, ROOT, Server, end_servers
from corpus import CASES, Case
from test_iree_releases import TABLES
from test_wrong_input import ROWS

HOSTS = "thread", "process"
VMVX = ["--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=vmvx"]
# Ends at its deadline, or after some minutes.
ENDLESS = """
func.func @endless(%n: i32) -> i32 {
  %c1 = arith.constant 1 : i32
  %r = scf.while (%i = %n) : (i32) -> i32 {
    %c = arith.cmpi ne, %i, %c1 : i32
    scf.condition(%c) %i : i32
  } do {
  ^bb0(%i: i32):
    %j = arith.addi %i, %c1 : i32
    %k = arith.muli %j, %i : i32
    scf.yield %k : i32
  }
  return %r : i32
}
"""
FILES = [*sorted(RELEASES.glob("*-3.13.0*.vmfb")), ROOT / "examples/iree"]
FORMATS = "json", "text", "mlir", "sip", "v1", "jsonschema"

def calls():
    """The calls, each with function, body and headers."""
    for case in CASES:
        if isinstance(case, Case):
            yield case.function, json.dumps(case.arguments), {}
            typed = {"args": case.arguments, "options": {"results": "typed"}}
            yield case.function, json.dumps(typed), {}
            yield case.function + "?validate=only", json.dumps(case.arguments), {}
    for row in ROWS:
        yield row.function, row.body, {}
        yield row.function + "?validate=only", row.body, {}
    for path in FILES[:-1]:
        for function, arguments, _ in TABLES[path.stem.split("-")[0]]:
            yield f"{path.stem}/{function}", json.dumps(arguments), {}
    yield "ownership/dangling", "[]", {}
    for matmul in [[[[1, 2, 3]], [[1], [2]]], [[[1]], [[2]]]]:
        yield "matmul/matmul", json.dumps(matmul), {}
    yield "filter/edges", "[[[1,2,3]]]", {}
    yield "abi/s_i32", "[1]", {"If-Match": '"none"'}
    yield "abi/s_i32", "[1]", {"Farcall-Timeout-Ms": "0"}
    yield "abi/s_i32", "[1]", {"Farcall-Timeout-Ms": "x"}
    yield "abi/s_i32", "[1]", {"Content-Type": "text/html"}
    yield "abi/s_i32", "[1]", {"Accept": "image/png"}


def requests(functions, lacking, endless):
    for function, body, headers in calls():
        yield "POST", "/api/v1/functions/" + function, body, headers
    yield "POST", f"/api/v1/functions/{endless}/endless", "[2]", {
        "Farcall-Timeout-Ms": "50"}
    yield "POST", f"/api/v1/functions/{lacking}/get_total", "[]", {}
    yield "GET", "/api/v1/modules", None, {}
    yield "GET", "/api/v1/modules?signatures=1", None, {}
    for name in sorted({name.split("/")[0] for name in functions}):
        yield "GET", "/api/v1/modules/" + name, None, {}
    for name in functions:
        for form in FORMATS:
            yield "GET", f"/api/v1/functions/{name}?format={form}", None, {}
        yield "GET", f"/api/v1/functions/{name}/example", None, {}
        yield "HEAD", f"/api/v1/functions/{name}", None, {}
    for path in "/livez", "/readyz", "/api/v1/nothing", "/api/v1/modules/none":
        yield "GET", path, None, {}


def comparable(reply):
    """An answer without what differs between requests or hosts."""
    headers = {name: value for name, value in reply.headers.items()
               if name not in ("Date", "X-Request-Id")}
    timing = headers.get("Server-Timing")
    if timing:
        headers["Server-Timing"] = re.sub(r"dur=[\d.]+", "dur=", timing)
    body = re.sub(rb'"request_id":"\w+"', b'"request_id":""', reply.body)
    if b',"host":{' in body:  # of a module: what runs it
        del headers["Content-Length"]
        body = json.loads(body)
        assert body.pop("host")["isolation"] in HOSTS
    return reply.status, headers, body


@pytest.fixture(scope="module")
def pair(corpus, iree):
    """Two servers. One of their modules lacks its weights, another has a call that does
    not end."""
    bare = iree.compile(ROOT / "tests/modules/iree/parameters.mlir", *VMVX)
    endless = iree.compile_text("endless", ENDLESS, *VMVX)
    servers = [Server(f"--isolation={host}", "--access-log=on", "--log-format=json",
                      "--crash-limit=0", *FILES, corpus, bare, endless)
               for host in HOSTS]
    servers[0].special = bare.stem, endless.stem
    yield servers
    end_servers(servers)


@pytest.fixture(scope="module")
def functions(pair):
    modules = [each.get("/api/v1/modules").json["modules"] for each in pair]
    assert modules[0] == modules[1]
    failed = [module for module in modules[0] if module["state"] == "failed"]
    assert len(failed) == 1 and "--parameters" in failed[0]["reason"]
    return [f"{module['name']}/{function}"
            for module in modules[0] for function in module["functions"]]


def test_answers(pair, functions):
    count, statuses = 0, set()
    for method, path, body, headers in requests(functions, *pair[0].special):
        thread, process = (
            comparable(each.request(method, path, body and body.encode(), headers))
            for each in pair)
        assert thread == process, f"{method} {path} {body}"
        statuses.add(thread[0])
        count += 1
    print(f"{count} requests, answered {sorted(statuses)}")
    assert count > 1000
    assert statuses >= {200, 400, 404, 406, 412, 415, 422, 500, 501, 503, 504}


def metrics(server):
    """The metrics, except those of time, memory and processes."""
    lines = server.get("/metrics").body.decode().splitlines()
    return [line for line in lines if not re.match(
        "process_|farcall_(uptime_seconds|memory_bytes|module_(memory_)?bytes|"
        "module_cpu|worker_processes|worker_restarts|"
        "call_(stage_)?duration_seconds_(bucket|sum))", line)]


def test_metrics(pair):
    thread, process = map(metrics, pair)
    assert thread == process
    assert f'farcall_call_timeouts_total{{module="{pair[0].special[1]}"}} 1' in thread


def logged(server):
    """The logged requests, without times and ids. Errors come first: a module that
    cannot be loaded is logged when loading it was tried, which may be early or late."""
    requests, errors = [], []
    for line in server.lines:
        if not line.startswith("{"):
            continue
        fields = {name: value for name, value in json.loads(line).items()
                  if not re.fullmatch("ts|request_id|us", name)}
        if fields.get("route") in ("/api/v1/modules/{module}", "/metrics"):
            del fields["bytes_out"]  # they tell of processes and memory
        if fields["level"] == "error":
            errors.append(fields)
        elif fields["msg"] in ("request", "module loaded"):
            requests.append({name: value for name, value in fields.items()
                             if not name.endswith("_us")})
            requests[-1]["stops"] = [name for name in fields if name.endswith("_us")]
    return errors + requests


def test_log_and_end(pair):
    assert [each.stop() for each in pair] == [0, 0]
    thread, process = map(logged, pair)
    assert len(thread) > 1000 and thread[0]["level"] == "error"
    for ours, theirs in zip(thread, process):
        assert ours == theirs
    assert len(thread) == len(process)


def test_machine_code_has_processes_and_bytecode_threads(serve, corpus):
    server = serve("--isolation=auto", *FILES, corpus)
    for module, host in [
            ("tensor", "process"), ("mandelbrot-x86", "process"),
            ("mandelbrot", "thread"), ("scalars-3.13.0", "thread"),
            ("versions-3.13.0-vmvx", "thread"),
            ("versions-3.13.0-llvm-cpu", "process")]:
        about = server.get("/api/v1/modules/" + module).json
        assert about["host"]["isolation"] == host, module
    assert server.stop() == 0

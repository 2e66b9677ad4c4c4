# SPDX-License-Identifier: Apache-2.0
"""Traces: what happens to `traceparent`, what is exported and to which trace it
belongs, and a collector that is slow, refuses, ends and comes back. No call is
affected."""
import contextlib
import json
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse

import pytest

from conftest import BIN, ROOT
from console import user_environment
from otlp import Collector, attributes
from reloading import wait_until
from test_metrics import OPEN, read

SCALARS = ROOT / "tests/corpus/vmfb/scalars-3.13.0.vmfb"
TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = f"00-{TRACE}-{CALLER}-01"
STAGES = {"read", "route", "admit", "queue", "decode", "call", "encode", "write"}


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "s.vmfb"
    shutil.copy(SCALARS, path)
    return path


@pytest.fixture
def collectors():
    made = []

    def make(*arguments, **options):
        made.append(Collector(*arguments, **options))
        return made[-1]
    yield make
    for each in made:
        each.close()
        each.check()


def call(server, traceparent=None, body="[5]", function="s/fact"):
    headers = {"traceparent": traceparent} if traceparent else {}
    return server.request("POST", f"/api/v1/functions/{function}", body, headers)


def numbers(server):
    return {name: found.get("") for name, found in
            read(server.get("/metrics").body.decode())[0].items()}


def test_a_call_and_its_stages(serve, module, collectors):
    collector = collectors()
    server = serve(module, f"--otlp={collector.url}", "--trace-sample=0")
    before = time.time_ns()
    assert call(server, SAMPLED).status == 200
    reply = call(server, SAMPLED, "[5, 6]")
    assert reply.status == 422
    wait_until(lambda: len([each for each in collector.spans if each["kind"] == 2]) == 2)
    after = time.time_ns()
    roots = [each for each in collector.spans if each["kind"] == 2]
    assert len(roots) == 2
    good, bad = sorted(roots, key=lambda each: int(each["startTimeUnixNano"]))
    for root in roots:
        assert root["traceId"] == TRACE and root["parentSpanId"] == CALLER
        assert root["name"] == "POST /api/v1/functions/{module}/{function}"
        assert before <= int(root["startTimeUnixNano"]) <= \
            int(root["endTimeUnixNano"]) <= after
        assert "status" not in root
    told = attributes(good)
    assert told == {"url.scheme": "http", "http.request.method": "POST",
                    "http.route": "/api/v1/functions/{module}/{function}",
                    "http.response.status_code": "200", "http.request.body.size": "3",
                    "http.response.body.size": told["http.response.body.size"],
                    "farcall.module": "s", "farcall.function": "fact"}
    assert attributes(bad)["error.type"] == "extra_argument"
    stages = [each for each in collector.spans
              if each.get("parentSpanId") == good["spanId"]]
    assert {each["name"] for each in stages} <= STAGES
    assert {"read", "decode", "call", "encode"} <= {each["name"] for each in stages}
    stages.sort(key=lambda each: int(each["startTimeUnixNano"]))
    assert stages[0]["startTimeUnixNano"] == good["startTimeUnixNano"]
    for one, next_one in zip(stages, stages[1:]):
        assert one["endTimeUnixNano"] == next_one["startTimeUnixNano"]
    assert int(stages[-1]["endTimeUnixNano"]) <= int(good["endTimeUnixNano"])
    ids = [each["spanId"] for each in collector.spans]
    assert len(set(ids)) == len(ids)


def test_an_answer_in_parts(serve, module, collectors):
    collector = collectors()
    server = serve(module, f"--otlp={collector.url}", "--trace-sample=0", "--access-log=on",
                   "--log-format=json")
    body = '{"args":[3,4],"repeat":{"times":50000,"feed":{"0":1},"emit":[]}}'
    reply = call(server, SAMPLED, body, "s/hyp?iterate")
    wait_until(lambda: any(each["kind"] == 2 for each in collector.spans))
    assert server.stop() == 0
    root, = [each for each in collector.spans if each["kind"] == 2]
    line, = [each for each in map(json.loads, server.lines) if each.get("function") == "hyp"]
    told = attributes(root)
    assert told["http.response.body.size"] == str(len(reply.body))
    assert told["farcall.parts"] == str(line["parts"]) and line["parts"] > 1
    assert told["farcall.first_part_us"] == str(line["first_us"])
    assert {"read", "queue", "call", "write"} <= {
        each["name"] for each in collector.spans if each.get("parentSpanId") == root["spanId"]}


@pytest.mark.parametrize("sample, traceparent, exported", [
    ("0", None, False), ("1", None, True),
    ("1", f"00-{TRACE}-{CALLER}-00", False), ("0", SAMPLED, True),
    ("0", f"cc-{TRACE}-{CALLER}-01-more", True),
    ("1", f"00-{'0' * 32}-{CALLER}-01", True),  # none that is valid: one of its own
    ("0", f"00-{'0' * 32}-{CALLER}-01", False)])
def test_who_is_sampled(serve, module, collectors, sample, traceparent, exported):
    collector = collectors()
    server = serve(module, f"--otlp={collector.url}", f"--trace-sample={sample}")
    reply = call(server, traceparent)
    told = reply.headers.get("traceresponse")
    valid = traceparent and "0" * 32 not in traceparent
    assert (told is not None) == bool(valid or exported)
    if told:
        version, trace, span, flags = told.split("-")
        assert (version, flags) == ("00", "01" if exported else "00")
        assert (trace == TRACE) == bool(valid) and span != CALLER
    wait_until(lambda: not exported or collector.spans)
    assert server.stop() == 0
    roots = [each for each in collector.spans if each["kind"] == 2]
    assert [(each["traceId"], each["spanId"]) for each in roots] == \
        ([(trace, span)] if exported else [])
    if exported and not valid:
        assert "parentSpanId" not in roots[0]


def test_spans_are_sent_at_the_end(serve, module, collectors):
    """At its end the server waits for a collector that answers, but not for long. A
    collector that gets no processor time may be too late."""
    for _ in range(5):
        collector = collectors()
        server = serve(module, f"--otlp={collector.url}", "--trace-sample=1")
        call(server)
        assert server.stop() == 0
        if collector.spans:
            return
    raise AssertionError("they were not sent")


def test_log_and_exemplars(serve, module):
    server = serve(module, "--access-log=on", "--log-format=json")
    told = call(server, SAMPLED).headers["traceresponse"].split("-")
    call(server)
    lines = None

    def logged():
        nonlocal lines
        lines = [json.loads(line) for line in server.lines if '"msg":"request"' in line]
        return len(lines) == 2
    wait_until(logged)
    assert (lines[0]["trace_id"], lines[0]["span_id"]) == (TRACE, told[2])
    assert "trace_id" not in lines[1]
    text = server.request("GET", "/metrics", headers={"Accept": OPEN}).body.decode()
    found = [line for line in text.splitlines() if " # " in line]
    assert len(found) == 1 and found[0].startswith("farcall_call_duration_seconds_bucket{")
    labels, value, at = found[0].split(" # ")[1].split()
    assert labels == f'{{trace_id="{TRACE}"}}'
    bound = float(found[0].split(',le="')[1].split('"')[0])
    assert bound / 2 < float(value) <= bound
    assert abs(float(at) - time.time()) < 60
    assert b" # " not in server.get("/metrics").body


def test_times_of_the_log(serve, tmp_path):
    """Times are in microseconds. A call of 50 ms takes at least that long, and at most
    as long as its client waits for the log line."""
    source = tmp_path / "spins.c"
    source.write_text("""
#include <time.h>
long long _mlir_ciface_spin(long long ns) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000000LL + now.tv_nsec - begin.tv_nsec < ns);
  return ns;
}""")
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", tmp_path / "spins.so", source],
                   check=True)
    (tmp_path / "spins.farcall.json").write_text(json.dumps({
        "farcall": 1, "abi": "mlir-memref", "functions": [
            {"name": "spin", "symbol": "_mlir_ciface_spin", "cc": "ciface",
             "args": [{"type": "i64"}], "results": [{"type": "i64"}]}]}))
    server = serve(tmp_path / "spins.so", "--access-log=on", "--log-format=json")
    begin = time.monotonic()
    reply = server.call("spins/spin", "[50000000]")
    wait_until(lambda: any('"msg":"request"' in line for line in server.lines))
    most = (time.monotonic() - begin) * 1e6
    (line,) = [json.loads(line) for line in server.lines if '"msg":"request"' in line]
    stages = {name: line[name + "_us"] for name in
              ("read", "route", "admit", "queue", "decode", "call", "encode", "write")}
    assert 50_000 <= stages["call"] <= sum(stages.values()) <= line["us"] + len(stages)
    assert 50_000 <= line["us"] <= most
    assert (line["bytes_in"], line["bytes_out"]) == (len("[50000000]"), len(reply.body))
    assert line["status"] == 200


def test_several_traceparents_are_none(serve, module):
    server = serve(module)
    with socket.create_connection((server.host, server.port)) as client:
        client.sendall(f"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                       f"traceparent: {SAMPLED}\r\ntraceparent: {SAMPLED}\r\n\r\n".encode())
        answer = b""
        while part := client.recv(65536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 200 ") and b"traceresponse" not in answer


def test_a_document_is_sent_again(serve, module, collectors):
    collector = collectors(answers=[503])
    server = serve(module, f"--otlp={collector.url}", "--trace-sample=1")
    call(server)
    wait_until(lambda: collector.spans)
    assert collector.documents == 2 and collector.connections == 1
    found = numbers(server)
    assert found["farcall_span_export_failures_total"] == 1
    assert found["farcall_spans_dropped_total"] == 0
    wait_until(lambda: any("spans are not taken" in line for line in server.lines))


def test_a_refused_document_is_dropped(serve, module, collectors):
    collector = collectors(answers=[400])
    server = serve(module, f"--otlp={collector.url}", "--trace-sample=1")
    call(server)
    wait_until(lambda: collector.documents == 1)
    wait_until(lambda: numbers(server)["farcall_spans_dropped_total"] > 0)
    assert collector.spans == []


def test_calls_do_not_wait_for_a_collector(serve, module, collectors):
    """First the collector answers nothing, so the ring fills; then it goes on."""
    collector = collectors()
    collector.hold.clear()
    server = serve(module, f"--otlp={collector.url}", "--trace-sample=1")
    slowest = 0
    for _ in range(2500):
        began = time.monotonic()
        assert call(server).status == 200
        slowest = max(slowest, time.monotonic() - began)
    assert slowest < 9  # an answer of the collector is waited for for 10 s
    found = numbers(server)
    assert found["farcall_spans_dropped_total"] > 0
    collector.hold.set()
    wait_until(lambda: numbers(server)["farcall_spans_exported_total"] > 2000)
    collector.check()


def test_a_collector_that_ends_and_comes_back(serve, module, collectors):
    first = collectors()
    server = serve(module, f"--otlp={first.url}", "--trace-sample=1")
    call(server)
    wait_until(lambda: first.spans)
    first.close()
    assert call(server).status == 200
    wait_until(lambda: any("spans are not taken" in line for line in server.lines))
    second = collectors(first.port)
    wait_until(lambda: second.spans)
    wait_until(lambda: any("spans are taken again" in line for line in server.lines))


class Early:
    """A collector that answers a long document after reading only its head, and leaves
    the rest unread. Its segments are short, so that a server cannot send such a
    document at once."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 256)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen()
        self.url = "http://127.0.0.1:%d" % self.socket.getsockname()[1]
        self.connections, self.early, self.after = [], 0, []
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        with contextlib.suppress(OSError):  # close() ends the thread
            while True:
                self.connections.append(self.socket.accept()[0])
                while self.answer(self.connections[-1]):
                    pass

    def answer(self, connection):
        text = b""
        while b"\r\n\r\n" not in text:
            part = connection.recv(65536)
            if not part:
                return False
            text += part
        head, body = text.split(b"\r\n\r\n", 1)
        size = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
        early = size > 50000 and not self.early
        while not early and len(body) < size:
            body += connection.recv(65536)
        if self.early:
            self.after.append(json.loads(body))
        self.early += early
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        return not early

    def close(self):
        for each in [self.socket, *self.connections]:
            each.close()


def test_an_answer_before_the_document_is_sent(serve, module):
    collector = Early()
    server = serve(module, f"--otlp={collector.url}", "--trace-sample=1")

    def went_on():
        """Makes so many calls at once that a single document contains them all."""
        with socket.create_connection((server.host, server.port), timeout=60) as client:
            head = b"POST /api/v1/functions/s/fact HTTP/1.1\r\nHost: localhost\r\n"
            client.sendall((head + b"Content-Length: 3\r\n\r\n[5]") * 99 +
                           head + b"Connection: close\r\nContent-Length: 3\r\n\r\n[5]")
            while client.recv(65536):
                pass
        return collector.after
    wait_until(went_on)
    assert collector.early == 1 and len(collector.connections) == 2
    assert numbers(server)["farcall_span_export_failures_total"] == 0
    collector.close()


class Scripted:
    """A collector that answers each document with the next text, and closes the
    connection after those with `True`. It listens at the last address of a host
    name."""

    def __init__(self, *answers, host="127.0.0.1"):
        self.answers, self.documents = list(answers), []
        family, _, _, _, address = socket.getaddrinfo(
            host, 0, type=socket.SOCK_STREAM)[-1]
        self.socket = socket.socket(family)
        self.socket.bind(address)
        self.socket.listen()
        self.url = f"http://{host}:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                connection = self.socket.accept()[0]
                with connection, connection.makefile("rb") as reader:
                    while self.answer(connection, reader):
                        pass

    def answer(self, connection, reader):
        size = 0
        while (line := reader.readline()) != b"\r\n":
            if not line:
                return False
            name, _, value = line.partition(b": ")
            size = int(value) if name == b"Content-Length" else size
        self.documents.append(json.loads(reader.read(size)))
        text, closes = self.answers.pop(0) if self.answers else (SHORT, False)
        connection.sendall(text)
        return not closes


SHORT = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize("host, answer, closes", [
    ("127.0.0.1", b"HTTP/1.0 200 OK\r\n\r\n{}", True),  # it has no length
    ("127.0.0.1", b"HTTP/1.1 102 Processing\r\n\r\n" + SHORT, False),
    ("localhost", SHORT, False)])
def test_answers_that_are_taken(serve, module, host, answer, closes):
    collector = Scripted((answer, closes), host=host)
    server = serve(module, f"--otlp={collector.url}", "--trace-sample=1")
    for number in (1, 2):
        call(server)
        wait_until(lambda: len(collector.documents) == number)
        time.sleep(0.1)
    found = numbers(server)
    assert found["farcall_span_export_failures_total"] == 0
    assert found["farcall_spans_dropped_total"] == 0
    collector.socket.close()


def test_a_long_name_is_cut_between_characters(serve, module, collectors):
    collector = collectors()
    server = serve(module, f"--otlp={collector.url}", "--trace-sample=1",
                   "--admin=loopback")
    name = "a" + 60 * "é"
    server.request("POST", f"/api/v1/modules/{urllib.parse.quote(name)}/unload", "{}")
    wait_until(lambda: collector.spans or collector.faults)
    collector.check()
    roots = [each for each in collector.spans if each["kind"] == 2]
    assert attributes(roots[0])["farcall.module"] == name[:48]


@pytest.mark.parametrize("url", ["https://localhost:4318", "localhost:4318", "http://",
                                 "http://a:0", "http://a:65536", "http://a b", "http://a?b"])
def test_no_collector(url):
    done = subprocess.run([BIN / "farcalld", "-t", f"--otlp={url}"], text=True,
                          capture_output=True, timeout=60, env=user_environment())
    assert done.returncode == 64 and "no address of a collector" in done.stderr

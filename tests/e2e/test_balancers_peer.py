# SPDX-License-Identifier: Apache-2.0
"""config/haproxy and config/nginx, as they are shipped, over four farcalld in network
namespaces of their own. Servers are replaced, killed, cut off, slowed and told to
read their modules again; the balancer is reloaded, too. No call fails that may be
made twice. A call that may not is sent once, and a fleet that is full gets no
repeated calls.
"""
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from certificates import Authority
from conftest import ROOT
from fleet import (NAMES, THREADS, HAProxy, Load, Load2, Network, Nginx, Node, Waiting,
                   until)

SLOW = """
#include <time.h>
long long _mlir_ciface_wait(long long ms) {
  nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, 0);
  return ms;
}
"""
SIDECAR = {"farcall": 1, "abi": "mlir-memref", "functions": [
    {"name": "wait", "symbol": "_mlir_ciface_wait", "cc": "ciface",
     "args": [{"type": "i64"}], "results": [{"type": "i64"}]}]}


@pytest.fixture(scope="module")
def served(corpus, tmp_path_factory):
    """The modules of each server: bytecode, machine code, and a function that waits."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copy(ROOT / "examples/iree/matmul.vmfb", folder)
    for each in corpus.glob("tensor.*"):
        shutil.copy(each, folder)
    (folder / "slow.c").write_text(SLOW)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "slow.so",
                    folder / "slow.c"], check=True, timeout=60)
    (folder / "slow.c").unlink()
    (folder / "slow.farcall.json").write_text(json.dumps(SIDECAR))
    return folder


@pytest.fixture
def network():
    made = Network()
    yield made
    made.close()


@pytest.fixture(params=[HAProxy, Nginx], ids=["haproxy", "nginx"])
def kind(request):
    return request.param


@pytest.fixture
def fleet(network, kind, served, tmp_path):
    """Starts four servers and the balancer, and ends them."""
    nodes, balancers = [], []

    def start(*words):
        nodes.extend(Node(network, name, ["--isolation=auto", *kind.words, *words, served])
                     for name in NAMES)
        balancers.append(kind(network, tmp_path))
        return nodes, balancers[0]
    yield start
    for each in balancers:
        each.stop()
    statuses = [each.server.stop() for each in nodes]
    assert statuses == [0] * len(nodes)


class Stages:
    """Records each stage of a test: seconds, good answers, calls sent again."""

    def __init__(self, balancer, load):
        self.balancer, self.load, self.lines = balancer, load, []
        self.before = self.now()

    def now(self):
        return time.monotonic(), sum(self.load.counts()), self.balancer.sent_again()

    def __call__(self, what):
        """Ends a stage. Returns how many of its calls were sent again."""
        now = self.now()
        seconds, calls, again = (a - b for a, b in zip(now, self.before))
        self.lines.append(f"{what}: {seconds:.0f} s, {calls} calls, {again} sent again")
        self.before = now
        return again


def replace_all(nodes, balancer, load):
    """Ends each server by SIGTERM while it runs a call that takes longer than the
    balancer needs to notice. That call is still answered."""
    for node in nodes:
        waiting = Waiting(node, 5000)
        node.replace()
        waiting.check()
        until(balancer.all_up)
        load.go_on()


def reload_all(nodes, served):
    """Writes the file of matmul again; each server loads it."""
    def generation(node):
        return re.search(r'farcall_module_generation{module="matmul"} (\d+)',
                         node.curl("/metrics").stdout)[1]
    before = [generation(node) for node in nodes]
    shutil.copy(ROOT / "examples/iree/matmul.vmfb", served / "new")
    (served / "new").rename(served / "matmul.vmfb")
    for node in nodes:
        node.server.process.send_signal(signal.SIGHUP)
    for node, old in zip(nodes, before):
        until(lambda: generation(node) != old)


def test_no_call_fails(fleet, network, kind, served, tmp_path, capfd):
    nodes, balancer = fleet()
    load = Load(network, tmp_path)
    try:
        load.go_on()
        stage = Stages(balancer, load)
        replace_all(nodes, balancer, load)
        again = stage("four replaced")
        # HAProxy notices that a server is leaving before the server refuses anything.
        assert kind is Nginx or again == 0
        for node in nodes:
            node.kill()
            until(balancer.all_up)
            load.go_on()
        stage("four killed")
        for name in NAMES:
            with network.cut(name):
                balancer.away(name)
                load.go_on()
            until(balancer.all_up)
            load.go_on()
        stage("four cut off")
        with network.slow("three", "200kbit"):
            load.go_on(200)
        until(balancer.all_up)
        stage("one slow")
        for _ in range(5):
            reload_all(nodes, served)
            load.go_on()
        stage("twenty reloads")
        for _ in range(3):
            balancer.reload()
            load.go_on()
    finally:
        result = load.end()
        with capfd.disabled():
            print(f"\n{kind.__name__}: {result}", *stage.lines, sep="\n  ")
    assert result["failed"] == []
    assert result["calls"] > 20 * THREADS * 10
    # Only a balancer that reloads closes clients' connections: each at most once.
    assert result["closed"] <= 3 * THREADS


def test_no_call_of_grpc_fails(fleet, network, kind):
    """gRPC, HTTP/1.1 and, if the balancer tells them apart, HTTP/2 at the same time,
    while servers are replaced."""
    folder = os.environ.get("FARCALL_CLIENTS")
    if not folder:
        pytest.skip("FARCALL_CLIENTS is not set: scripts/test installs clients")
    nodes, balancer = fleet()
    with subprocess.Popen(
            [*network.within(network.middle), pathlib.Path(folder) / "python",
             ROOT / "tests/e2e/fleet_grpc.py", balancer.grpc, "127.0.0.1:8000"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as load:
        def go_on():
            load.stdin.write("\n")
            load.stdin.flush()
            assert load.stdout.readline() == "good\n"
        load2 = Load2(network) if kind is HAProxy else None
        try:
            go_on()
            for node in nodes:
                node.replace()
                until(lambda: balancer.all_up("grpc"))
                go_on()
        finally:
            failed = load2.end() if load2 else []
            load.stdin.close()
            result = json.loads(load.stdout.readline())
    print(result)
    assert failed + result["failed"] == []
    assert not load2 or load2.good > 5 * Load2.CALLS
    # HAProxy sends nothing to a server that is not ready.
    assert kind is Nginx or "again" not in result["calls"]
    assert result["calls"]["grpc"] > 500 and result["calls"]["http1"] > 100
    # Each connection's calls were spread over all servers.
    for node in nodes:
        counted = re.findall(r'farcall_calls_total{module="matmul".*} (\d+)',
                             node.curl("/metrics").stdout)
        assert sum(map(int, counted)) > 20


def test_no_call_fails_where_versions_are_mixed(network, served, tmp_path):
    """Clients of HTTP/1.1 and HTTP/2, and servers to which HAProxy speaks either."""
    nodes = [Node(network, name, ["--isolation=auto", *HAProxy.words, served])
             for name in NAMES]
    balancer = HAProxy(network, tmp_path, NAMES[::2])
    load, load2 = Load(network, tmp_path), Load2(network)
    try:
        load.go_on()
        replace_all(nodes, balancer, load)
        for node in nodes:
            node.kill()
            until(balancer.all_up)
            load.go_on()
        reload_all(nodes, served)
        load.go_on()
    finally:
        failed, result = load2.end(), load.end()
        balancer.stop()
        statuses = [each.server.stop() for each in nodes]
    assert (failed, result["failed"], statuses) == ([], [], [0] * len(nodes))
    assert load2.good > 5 * Load2.CALLS and result["calls"] > 20 * THREADS * 5


@pytest.fixture
def with_tls(kind, monkeypatch, tmp_path):
    """The shipped file, changed as its comment says, so that it also listens with TLS."""
    certificate, key = Authority(tmp_path).sign("proxy")
    both = tmp_path / "both.pem"
    both.write_text(certificate.read_text() + key.read_text())
    name = "haproxy/haproxy.cfg" if kind is HAProxy else "nginx/farcall.conf"
    text = (ROOT / "config" / name).read_text()
    if kind is HAProxy:
        ((line, path),) = re.findall(r"TLS: '(bind .* crt (\S+) .*)'", text)
        lines = "bind :8000", f"  {line}".replace(path, str(both))
    else:
        (line,) = re.findall(r"TLS: (listen .*; ssl_certificate …; ssl_certificate_key …;)",
                             text)
        lines = "listen 8000;", line.replace("…", str(both))
    text = text.replace(f"  {lines[0]}\n", f"  {lines[0]}\n{lines[1]}\n")
    assert str(both) in text
    (tmp_path / "config" / name).parent.mkdir(parents=True)
    (tmp_path / "config" / name).write_text(text)
    monkeypatch.setattr("fleet.ROOT", tmp_path)


@pytest.mark.parametrize("page, status", [
    ("https://127.0.0.1:8443", 200), ("http://127.0.0.1:8443", 403),
    ("http://127.0.0.1:8000", 200), ("https://127.0.0.1:8000", 403)])
def test_a_page_calls_its_own_server(fleet, network, with_tls, page, status):
    """With and without TLS: the balancer tells the server which scheme was used, and
    the server refuses a page of the other scheme."""
    fleet("--trusted-proxy=192.0.2.1")
    scheme = "https" if ":8443" in page else "http"
    done = subprocess.run(
        [*network.within(network.middle), "curl", "-sk", "-m", "60", "-H",
         f"Origin: {page}", "-w", "\n%{http_code}", "-d", "[[[2]],[[3]]]",
         f"{scheme}://{page.partition('://')[2]}/api/v1/functions/matmul/matmul"],
        capture_output=True, text=True)
    body, _, got = done.stdout.rpartition("\n")
    assert got == str(status), done
    assert json.loads(body).get("code") == (None if status == 200 else
                                            "origin_not_allowed")


class Fake(http.server.BaseHTTPRequestHandler):
    """Says that it is ready, but breaks the connection of every call after reading it,
    at once or later."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path != "/readyz":
            return self.do_POST()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        print(self.command, self.path, flush=True)
        if self.path.endswith("/silent"):
            time.sleep(12)  # the balancers wait for 10
        self.close_connection = True

    def log_message(self, *_):
        pass


CALLED_AGAIN = [("POST", "/api/v1/functions/matmul/matmul"),
                ("POST", "/v2/models/matmul/infer"), ("GET", "/v2/models/matmul"),
                ("POST", "/v2/models/m/versions/2/infer"),
                ("POST", "/v1/models/matmul:predict"), ("GET", "/api/v1/modules")]
CALLED_ONCE = [("POST", "/api/v1/functions/counter/counter"),
               ("POST", "/api/v1/functions/counter@2/counter"),
               ("POST", "/api/v1/functions/counter/silent"),
               ("POST", "/v2/models/counter/infer"),
               ("POST", "/v2/models/counter.counter/infer"),
               ("POST", "/v1/models/counter:predict"),
               ("POST", "/api/v1/functions/matmul/matmul?session=0"),
               ("POST", "/api/v1/modules/matmul/load"), ("POST", "/api/v1/reload"),
               ("POST", "/v2/repository/models/matmul/unload")]


def test_who_is_asked_twice(network, kind, tmp_path):
    """All servers break the connection after reading the request: to how many is it
    sent?"""
    started = []
    heard = tmp_path / "heard"
    with heard.open("w") as output:
        for number, name in enumerate(NAMES):
            started.append(subprocess.Popen(
                [*network.within(network.space(name)), sys.executable, __file__,
                 f"192.0.2.{11 + number}"], stdout=output,
                cwd=ROOT / "tests/e2e"))
    balancer = None
    try:
        balancer = kind(network, tmp_path)
        for method, path in CALLED_AGAIN + CALLED_ONCE:
            until(balancer.all_up)
            before = heard.read_text().count("\n")
            done = subprocess.run(
                [*network.within(network.middle), "curl", "-s", "-o", "/dev/null", "-w",
                 "%{http_code} %header{retry-after}", "-X", method, "-m", "60", "-d", "[]",
                 f"http://127.0.0.1:8000{path}"], capture_output=True, text=True)
            asked = heard.read_text().splitlines()[before:]
            assert set(asked) == {f"{method} {path}"}
            again = (method, path) in CALLED_AGAIN
            assert (len(asked) > 1) == again, (path, asked)
            # The client is not told to come again: the request itself may have broken
            # the connections.
            wanted = "504" if path.endswith("/silent") else "502"
            assert done.stdout == f"{wanted} ", (path, done)
        # With no server at all, clients are told to come again, in the words of a
        # server.
        for each in started:
            each.kill()
            each.wait(timeout=60)
        for name in NAMES:
            balancer.away(name)
        for method, path in CALLED_AGAIN + CALLED_ONCE:
            done = subprocess.run(
                [*network.within(network.middle), "curl", "-si", "-m", "60", "-X", method,
                 "-d", "[]", f"http://127.0.0.1:8000{path}"],
                capture_output=True, text=True)
            head, _, body = done.stdout.partition("\n\n")
            assert " 503 " in head and "retry-after: 1" in head.lower(), (path, done)
            assert json.loads(body)["code"] == "overloaded"
    finally:
        if balancer:
            balancer.stop()
        for each in started:
            each.terminate()
            each.wait(timeout=60)


def test_a_full_fleet_is_asked_once(fleet, network, tmp_path):
    """More calls come than there is room for. Each is answered or told when to come
    again, and no server sees a call twice."""
    nodes, _ = fleet("--workers=1", "--queue=4")
    answers, count = [], 100

    def call():
        answers.append(subprocess.run(
            [*network.within(network.middle), "curl", "-s", "-m", "60", "-D", "-", "-o",
             "/dev/null", "-d", "[500]",
             "http://127.0.0.1:8000/api/v1/functions/slow/wait"],
            capture_output=True, text=True, timeout=120).stdout)
    callers = [threading.Thread(target=call) for _ in range(count)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    statuses = [each.split()[1] for each in answers]
    assert set(statuses) == {"200", "503"}
    assert all("retry-after:" in each.lower() for each in answers if " 503 " in each)
    seen = 0
    for node in nodes:
        for line in node.curl("/metrics").stdout.splitlines():
            if line.startswith('farcall_calls_total{module="slow"'):
                seen += int(float(line.split()[-1]))
    print(statuses.count("200"), "answered,", count - statuses.count("200"), "held back,",
          seen, "seen by servers")
    assert statuses.count("200") <= seen <= count


def test_calls_of_a_session_reach_its_server(fleet, network, kind):
    """A session is recognized by the field, the query or the path, for several clients
    at once, and also after the balancer was reloaded."""
    nodes, balancer = fleet()

    def ask(client, method, path, *words):
        done = subprocess.run(
            [*network.within(network.middle), "curl", "-s", "-m", "60", "--interface",
             f"127.0.0.{client}", "-X", method, *words, f"http://127.0.0.1:8000{path}"],
            capture_output=True, text=True, timeout=120)
        return json.loads(done.stdout)
    clients = range(2, 18)
    sessions = {client: ask(client, "POST", "/api/v1/modules/matmul/sessions")["session"]
                for client in clients}
    call = "/api/v1/functions/matmul/matmul"

    def use(step):
        for client, session in sessions.items():
            for words in ([f"{call}", "-H", f"Farcall-Session: {session}"],
                          [f"{call}?session={session}"]):
                path, *fields = words
                said = ask(client, "POST", path, *fields, "-d", "[[[2]],[[3]]]")
                assert said == {"results": [[[6.0]]]}, said
            path = f"/api/v1/modules/matmul/sessions/{session}"
            assert ask(client, "GET", path)["step"] == step
    for step in 2, 4:
        use(step)
    balancer.reload()
    use(6)
    have = [int(re.search(r"^farcall_sessions (\d+)", node.curl("/metrics").stdout, re.M)[1])
            for node in nodes]
    assert sum(have) == len(sessions) and sorted(have)[-2] > 0, have
    for client, session in sessions.items():
        path = f"/api/v1/modules/matmul/sessions/{session}"
        assert ask(client, "DELETE", path) == {"ended": True}


if __name__ == "__main__":
    http.server.ThreadingHTTPServer((sys.argv[1], 8000), Fake).serve_forever()

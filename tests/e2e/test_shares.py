# SPDX-License-Identifier: Apache-2.0
"""How much of a shared server one client may use: whose calls run next, how many calls
a client may have, and what it is answered beyond that."""
import hashlib
import http.client
import json
import os
import socket
import struct
import threading

import pytest

from conftest import RELEASES, Server, end_servers
from gated import Gated
from reloading import wait_until

MODULE = RELEASES / "scalars-3.13.0.vmfb"
PASS = "/api/v1/functions/gated/pass"


@pytest.fixture
def gated(tmp_path):
    return Gated(tmp_path)


@pytest.fixture
def tokens(tmp_path):
    """The secrets a, b and c. Token c may choose its priority."""
    lines = [f"{name} call,read,metrics {hashlib.sha256(name.encode()).hexdigest()} {more}\n"
             for name, more in (("a", ""), ("b", ""), ("c", "priority=-2..3"))]
    path = tmp_path / "tokens"
    path.write_text("".join(lines))
    path.chmod(0o600)
    return f"--token-file={path}"


class Caller(threading.Thread):
    """One call in a thread of its own. `done` is its answer."""

    def __init__(self, server, token, number, **fields):
        super().__init__(daemon=True)
        self.server, self.number, self.done = server, number, None
        self.fields = {"Authorization": f"Bearer {token}",
                       **{name.replace("_", "-"): value for name, value in fields.items()}}
        self.start()

    def run(self):
        self.done = self.server.request("POST", PASS, f"[{self.number}]", self.fields)


def host_of(server):
    document = server.request("GET", "/api/v1/modules/gated", None,
                              {"Authorization": "Bearer a"}).json
    return document["host"]


def put(server, callers, token, number, **fields):
    """Sends a call and waits until the server has it."""
    before = sum(host_of(server)[each] for each in ("waiting", "running"))
    caller = Caller(server, token, number, **fields)
    wait_until(lambda: caller.done or
               sum(host_of(server)[each] for each in ("waiting", "running")) > before)
    if not callers:  # the others are to wait behind it
        wait_until(lambda: host_of(server)["running"] == 1)
    callers.append(caller)
    return caller


def finish(gated, callers):
    gated.open()
    for each in callers:
        each.join(timeout=60)
    return [each.done.status for each in callers]


# One call runs, and the process gets no second one to continue with, so the others
# wait.
FLAGS = ("--isolation=process", "--fresh=call", "--workers=1")


def test_callers_take_turns(serve, gated, tokens):
    server = serve(*FLAGS, tokens, *gated.words)
    callers = []
    for number in range(12):
        put(server, callers, "a", number)
    for number in range(100, 104):
        put(server, callers, "b", number)
    assert set(finish(gated, callers)) == {200}
    assert gated.order() == [0, 1, 100, 2, 101, 3, 102, 4, 103, 5, 6, 7, 8, 9, 10, 11]


def test_higher_priorities_go_first(serve, gated, tokens):
    server = serve(*FLAGS, tokens, *gated.words)
    callers = []
    for number in range(4):
        put(server, callers, "a", number)
    put(server, callers, "c", 100, Farcall_Priority="-1")
    put(server, callers, "c", 101)
    put(server, callers, "c", 102, Farcall_Priority="3")
    assert set(finish(gated, callers)) == {200}
    assert gated.order() == [0, 102, 1, 101, 2, 3, 100]


@pytest.mark.parametrize("token, priority, status, said", [
    ("c", "3", 200, None), ("c", "-2", 200, None),
    ("c", "4", 403, "'Farcall-Priority' is 4, this client may choose from -2 to 3"),
    ("a", "0", 200, None), ("a", "1", 200, None),
    ("a", "-1", 403, "may choose from 0 to 1"),
    ("a", "", 400, "whole number from -4 to 4"),
    ("a", "high", 400, "whole number from -4 to 4"),
    ("c", "5", 400, "whole number from -4 to 4"),
])
def test_priorities_have_ranges(serve, tokens, token, priority, status, said):
    server = serve("--isolation=process", tokens, "--priority=0..1", MODULE)
    reply = server.request("POST", "/api/v1/functions/scalars-3.13.0/fact", "[5]",
                           {"Authorization": f"Bearer {token}",
                            "Farcall-Priority": priority})
    assert reply.status == status
    assert said is None or said in reply.json["detail"]


def test_a_full_queue_keeps_a_place_for_others(serve, gated, tokens):
    server = serve(*FLAGS, "--queue=4", tokens, *gated.words)
    callers = []
    for number in range(6):  # one runs, and four wait
        put(server, callers, "a", number)
    alone = callers.pop()
    assert (alone.done.status, alone.done.json["code"]) == (503, "overloaded")
    for number in (100, 101):
        put(server, callers, "b", number)
    for token, number, answer in ("a", 7, (429, "too_many_requests")), \
            ("b", 102, (429, "too_many_requests")):
        refused = Caller(server, token, number)
        refused.join(timeout=60)
        assert (refused.done.status, refused.done.json["code"]) == answer
        assert int(refused.done.headers["Retry-After"]) >= 1
    assert set(finish(gated, callers)) == {200}
    assert gated.order() == [0, 1, 100, 2, 101, 3, 4]


def test_one_client_has_so_many_calls(serve, gated, tokens):
    server = serve(*FLAGS, "--client-calls=3", tokens, *gated.words)
    callers = []
    for number in range(3):
        put(server, callers, "a", number)
    refused = Caller(server, "a", 3)
    refused.join(timeout=60)
    assert (refused.done.status, refused.done.json["code"]) == (429, "too_many_requests")
    assert "3 calls of this client wait or run, the limit" in refused.done.json["detail"]
    assert "Retry-After" in refused.done.headers
    for number in range(100, 103):
        put(server, callers, "b", number)
    assert set(finish(gated, callers)) == {200}
    assert len(gated.order()) == 6
    # A call that was answered no longer counts, and neither does one whose client has
    # left.
    again = Caller(server, "a", 4)
    again.join(timeout=60)
    assert again.done.status == 200


def test_who_has_gone_counts_no_more(serve, gated, tokens):
    server = serve(*FLAGS, "--client-calls=3", tokens, *gated.words)
    callers, gone = [], []
    put(server, callers, "b", 0)
    put(server, callers, "b", 1)
    head = (f"POST {PASS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\n"
            "Content-Length: 3\r\n\r\n")
    for body in "[2]", "[3]", "[4":  # the last one is not complete
        connection = socket.create_connection((server.host, server.port))
        connection.sendall((head + body).encode())
        gone.append(connection)
    wait_until(lambda: host_of(server)["waiting"] == 3)
    refused = Caller(server, "a", 5)
    refused.join(timeout=60)
    assert refused.done.status == 429
    for each in gone:
        each.close()
    wait_until(lambda: host_of(server)["waiting"] == 1)
    put(server, callers, "a", 6)
    assert set(finish(gated, callers)) == {200}
    assert gated.order() == [0, 1, 6]


@pytest.mark.parametrize("host", ["thread", "process"])
def test_a_running_call_counts_until_it_ends(serve, gated, tokens, host):
    """Otherwise a client that resets its connections could have as many running calls
    as there are workers."""
    server = serve(f"--isolation={host}", "--workers=2", "--client-calls=1",
                   "--access-log=on", tokens, *gated.words)
    head = (f"POST {PASS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\n"
            "Content-Length: 3\r\n\r\n")
    gone = socket.create_connection((server.host, server.port))
    gone.sendall((head + "[1]").encode())
    wait_until(gated.has_begun)  # one that has not is taken back
    gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    gone.close()
    wait_until(lambda: any('"status":499' in each for each in server.lines))
    refused = Caller(server, "a", 2)
    refused.join(timeout=60)
    assert refused.done.status == 429
    other = Caller(server, "b", 3)
    gated.open()
    other.join(timeout=60)
    assert other.done.status == 200
    wait_until(lambda: host_of(server)["running"] == 0)
    again = Caller(server, "a", 4)
    again.join(timeout=60)
    assert again.done.status == 200


def test_one_address_has_so_many_connections(serve):
    server = serve("--isolation=process", "--client-connections=2", MODULE)
    first = [socket.create_connection((server.host, server.port)) for _ in range(2)]
    for each in first:
        each.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert each.recv(4096).startswith(b"HTTP/1.1 200")
    refused = http.client.HTTPConnection(server.host, server.port, timeout=60)
    refused.request("GET", "/livez")
    answer = refused.getresponse()
    assert answer.status == 429 and answer.getheader("Retry-After")
    assert json.loads(answer.read())["code"] == "too_many_requests"
    # Another address of this machine is another client.
    other = socket.create_connection((server.host, server.port),
                                     source_address=("127.0.0.2", 0))
    other.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert other.recv(4096).startswith(b"HTTP/1.1 200")
    refused.close()
    for each in first:
        each.close()

    def is_let_in():
        with socket.create_connection((server.host, server.port)) as connection:
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return connection.recv(4096).startswith(b"HTTP/1.1 200")
    wait_until(is_let_in)


def asked(server, *, address="127.0.0.1", fields=""):
    """A connection on which one request was made, and the status of its answer."""
    connection = socket.create_connection((server.host, server.port),
                                          source_address=(address, 0))
    connection.sendall(f"GET /livez HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode())
    return connection, int(connection.recv(4096)[9:12])


def test_one_address_has_half_of_the_connections(serve):
    server = serve("--isolation=process", "--connections=100", MODULE)
    held = [asked(server) for _ in range(52)]
    assert [status for _, status in held] == [200] * 50 + [429] * 2
    held += [asked(server, address="127.0.0.2") for _ in range(50)]
    assert {status for _, status in held[52:]} == {200}
    for connection, _ in held:
        connection.close()


def test_a_trusted_proxy_is_no_client(serve):
    server = serve("--isolation=process", "--connections=100", MODULE,
                   "--trusted-proxy=127.0.0.2")
    held = [asked(server, address="127.0.0.2") for _ in range(100)]
    assert {status for _, status in held} == {200}
    for connection, _ in held:
        connection.close()


@pytest.mark.parametrize("fields", ["Authorization: Bearer a\r\n",
                                    "X-Forwarded-For: 192.0.2.1\r\n"])
def test_one_client_has_half_of_the_calls(serve, gated, tokens, fields):
    """From whichever address it connects: it is known by its token or by a trusted
    proxy."""
    words = [tokens] if "Bearer" in fields else ["--trusted-proxy=127.0.0.2/31"]
    server = serve(*FLAGS, "--connections=40", "--queue=100", *words, *gated.words)
    head = (f"POST {PASS} HTTP/1.1\r\nHost: localhost\r\n{fields}"
            "Content-Length: 3\r\n\r\n")
    callers = []
    for number in range(22):
        connection = socket.create_connection(
            (server.host, server.port), source_address=(f"127.0.0.{2 + number % 2}", 0))
        connection.sendall(f"{head}[1]".encode())
        callers.append(connection)
    wait_until(lambda: sum(host_of(server)[each] for each in ("waiting", "running")) == 20)
    gated.open()
    answers = [int(each.recv(4096)[9:12]) for each in callers]
    assert sorted(answers) == [200] * 20 + [429] * 2
    for each in callers:
        each.close()


def test_listeners_have_limits_of_their_own(tmp_path):
    path = tmp_path / "farcalld.conf"
    unix = tmp_path / "socket"
    path.write_text(json.dumps({
        "isolation": "process", "paths": [str(MODULE)], "client-connections": 1,
        "listeners": [{"address": "127.0.0.1:0"},
                      {"address": f"unix:{unix}", "client-connections": 0,
                       "priority": "-4..4"}]}))
    server = Server("--isolation=process", "-c", path, listen=())
    held = [socket.create_connection((server.host, server.port)) for _ in range(2)]
    for each in held:
        each.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert [each.recv(4096)[9:12] for each in held] == [b"200", b"429"]
    for _ in range(3):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(os.fspath(unix))
        connection.sendall(b"POST /api/v1/functions/scalars-3.13.0/fact HTTP/1.1\r\n"
                           b"Host: x\r\nFarcall-Priority: 4\r\nContent-Length: 3\r\n"
                           b"\r\n[5]")
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        held.append(connection)
    for each in held:
        each.close()
    end_servers([server])

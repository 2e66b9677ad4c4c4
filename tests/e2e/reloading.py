# SPDX-License-Identifier: Apache-2.0
"""A module that returns its number and can be replaced; calls over many connections
that verify each answer; and the system resources that a server uses."""
import json
import os
import selectors
import socket
import struct
import subprocess
import threading
import time

from processes import children_of

MARK = 0x5EED5EED5EED5EED
SOURCE = """
static volatile const long long number = %dLL;
long long _mlir_ciface_number(long long x) { return x * 1000000 + number; }
""" % MARK
SIDECAR = {"farcall": 1, "abi": "mlir-memref", "functions": [
    {"name": "number", "symbol": "_mlir_ciface_number", "cc": "ciface",
     "args": [{"type": "i64"}], "results": [{"type": "i64"}]}]}
FUNCTION = "/api/v1/functions/numbered/number"


class Numbered:
    """The module `numbered` in a folder."""

    def __init__(self, folder, work):
        source, self.template = work / "numbered.c", work / "numbered.template"
        self.path = folder / "numbered.so"
        source.write_text(SOURCE)
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", self.template, source],
                       check=True)
        self.bytes = self.template.read_bytes()
        assert self.bytes.count(struct.pack("<q", MARK)) == 1
        (folder / "numbered.farcall.json").write_text(json.dumps(SIDECAR))

    def put(self, number):
        other = self.path.with_name("next")
        other.write_bytes(self.bytes.replace(struct.pack("<q", MARK),
                                             struct.pack("<q", number)))
        other.rename(self.path)


class Callers:
    """`count` connections that call all the time. Each answer must come from a
    generation that served while the request was made."""

    def __init__(self, server, count=64):
        self.address = (server.host, server.port)
        self.count = count
        # An answer may come from any generation from `oldest`, the last one that became
        # ready, to `newest`, the last one that began to load.
        self.oldest = self.newest = 0
        self.calls, self.wrong, self.times = 0, [], []
        self.over = False
        self.thread = threading.Thread(target=self.run)

    def send(self, connection):
        self.calls += 1
        connection.asked = (self.calls % 9000000, self.oldest, time.monotonic())
        body = b"[%d]" % connection.asked[0]
        connection.socket.sendall(
            b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
            % (FUNCTION.encode(), len(body), body))

    def check(self, connection, answer):
        x, oldest, began = connection.asked
        self.times.append(time.monotonic() - began)
        head, _, body = answer.partition(b"\r\n\r\n")
        try:
            assert head.startswith(b"HTTP/1.1 200 ")
            value = json.loads(body)["results"][0]
            assert value // 1000000 == x and oldest <= value % 1000000 <= self.newest
        except (AssertionError, ValueError, KeyError):
            self.wrong.append((connection.asked, self.newest, answer))

    def run(self):
        class Connection:
            pass

        selector = selectors.DefaultSelector()
        for _ in range(self.count):
            connection = Connection()
            connection.socket = socket.create_connection(self.address)
            connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.got = b""
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            self.send(connection)
        left = self.count
        while left:
            ready = selector.select(60)
            if not ready:
                self.wrong.append("nothing came for a minute")
                return
            for key, _ in ready:
                connection = key.data
                data = connection.socket.recv(65536)
                connection.got += data
                head, mark, body = connection.got.partition(b"\r\n\r\n")
                if data and not (mark and body.endswith(b"}")):
                    continue
                self.check(connection, connection.got)
                connection.got = b""
                if data and not self.over:
                    self.send(connection)
                    continue
                selector.unregister(connection.socket)
                connection.socket.close()
                left -= 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.thread.join()

    def p99_ms(self):
        times = sorted(self.times)
        return 1000 * times[len(times) * 99 // 100]


def wait_until(said):
    """Waits until `said()` is true, and returns its result. No other time is asserted:
    on a slow machine, only what never happens fails."""
    end = time.monotonic() + 60
    while not (found := said()):
        assert time.monotonic() < end, "it did not happen in a minute"
        time.sleep(0.01)
    return found


def steady(count):
    """The result of `count()` once it has not changed for half a second: what was about
    to end has ended, and its replacement has begun."""
    seen = [object()] * 10

    def is_steady():
        time.sleep(0.05)
        seen.append(count())
        return seen[-10:] == [seen[-1]] * 10
    wait_until(is_steady)
    return seen[-1]


def post_act(server, path, body=None):
    """Requests an act. Repeats that while another act is in progress: a look at watched
    files, or a decision that is being saved."""
    def answer():
        reply = server.request("POST", path, body)
        return reply if reply.status != 409 or \
            reply.json["code"] != "reload_in_progress" else None
    return wait_until(answer)


def taken(pid):
    """(resident KiB, descriptors, mappings, processes) of a server."""
    def count(path):
        try:
            return len(os.listdir(path))
        except PermissionError:  # the server is not dumpable
            return 0

    with open(f"/proc/{pid}/statm") as file:
        resident = int(file.read().split()[1]) * 4
    try:
        with open(f"/proc/{pid}/maps") as file:
            mappings = len(file.readlines())
    except PermissionError:
        mappings = 0
    return resident, count(f"/proc/{pid}/fd"), mappings, len(children_of(pid))

# SPDX-License-Identifier: Apache-2.0
"""Many sessions, whose answers are all compared with a model to the bit, while worker
processes are ended and the module is replaced. Nothing may be left behind."""
import json
import os
import re
import shutil
import socket
import subprocess
import threading

import pytest

from conftest import BIN, ROOT, Server
from fleet import until
from reloading import steady
from test_chaos import SANITIZED, measure, workers

ROLES = ROOT / "tests/corpus/iree/roles/roles.vmfb"


def bump(number):
    """The function of generation `number`. In two of three generations the state
    survives. So sessions sometimes move to the new generation and sometimes stay
    with the old one."""
    return {"name": "bump", "doc": f"generation {number}",
            "state": {"c": {"argument": 1, "shape": [4], "survives": number % 3 > 0}}}


class Counts:
    """The module `counts` in a folder."""

    def __init__(self, folder):
        self.sidecar = folder / "counts.farcall.json"
        shutil.copy(ROLES, folder / "counts.vmfb")
        self.number = 0
        self.put()

    def put(self):
        """Makes it a different module by changing its `doc`."""
        self.number += 1
        other = self.sidecar.with_name("next")
        other.write_text(json.dumps({"farcall": 1, "abi": "module", "functions": [bump(self.number)]}))
        other.rename(self.sidecar)


class Reloads:
    """Replaces the module at once and then each `seconds` during the load, until
    sessions have moved at least once and have stayed at least once."""

    def __init__(self, server, counts, seconds):
        self.server, self.counts, self.seconds = server, counts, seconds
        self.made, self.refused, self.over = 0, None, threading.Event()
        self.stayed, self.went_over = 0, 0
        self.thread = threading.Thread(target=self.run)

    def run(self):
        sessions = "/api/v1/modules/counts/sessions"
        while True:
            session = self.server.request("POST", sessions).json["session"]
            self.counts.put()
            reply = self.server.request("POST", "/api/v1/reload")
            # A session that has stayed ends with its generation.
            stays = "ends_ms" in self.server.get(f"{sessions}/{session}").json
            self.server.request("DELETE", f"{sessions}/{session}")
            if reply.status == 200:
                self.made += 1
                self.stayed += stays
                self.went_over += not stays
            elif b"while it was loaded" not in reply.body:  # no kill met its process
                self.refused = reply.body
                return
            if self.over.wait(self.seconds) and self.stayed and self.went_over:
                return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def load(server, count, sessions, kill_ms):
    """Runs sessions.c, which checks every answer itself. Returns its figures."""
    done = subprocess.run(
        [BIN.parent / "tests/sessions", *map(str, (
            server.port, server.process.pid, count, sessions, kill_ms))],
        capture_output=True, text=True, timeout=3000)
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout)
    assert figures["sent"] >= count and figures["sessions"] >= sessions
    return figures


def mappings(pid):
    return len(open(f"/proc/{pid}/maps").read().splitlines())


def taken(server):
    """Descriptors, processes, mappings, memory, and pages of unnamed files."""
    pid = server.process.pid
    files = [f"/proc/{pid}/fd/{each}" for each in os.listdir(f"/proc/{pid}/fd")]
    pages = 0
    for each in files:
        try:
            if os.readlink(each).startswith("/memfd:"):
                pages += os.stat(each).st_blocks * 512 // 1024
        except FileNotFoundError:
            continue
    return {**measure(server), "mappings": mappings(pid), "shared_kib": pages}


def ended(server):
    text = server.get("/metrics").body
    return b"\nfarcall_sessions 0\n" in text and b"\nfarcall_session_bytes 0\n" in text


def under_load(server, counts, count, sessions, kill_ms, reload_seconds):
    with Reloads(server, counts, reload_seconds) as reloads:
        figures = load(server, count, sessions, kill_ms)
    print(f"{reloads.made} reloads: {reloads.stayed} sessions stayed, "
          f"{reloads.went_over} went over")
    assert reloads.refused is None and reloads.stayed and reloads.went_over
    until(lambda: ended(server))
    return figures


SPARE = {"files": 0, "processes": 0, "shared_kib": 1024}
WORKERS = 2
if not SANITIZED:  # they map what they like
    # A thread keeps 192 values mapped, each followed by a guard page, until it needs
    # other ones.
    SPARE["mappings"] = WORKERS * 192 * 2 + 16


def check_load(server, counts, count, sessions, kill_ms, reload_seconds):
    # A first, shorter load allocates what the server keeps.
    under_load(server, counts, 8 * sessions, sessions, kill_ms, reload_seconds)
    steady(lambda: [taken(server)[name] for name in SPARE])
    before = taken(server)
    figures = under_load(server, counts, count, sessions, kill_ms, reload_seconds)
    after = {}

    def is_flat():
        after.update(taken(server))
        return all(after[name] <= before[name] + spare for name, spare in SPARE.items())
    try:
        until(is_flat)
    finally:
        print(before, after)
    assert SANITIZED or after["rss_kib"] <= before["rss_kib"] + 4096
    return figures


HOSTS = [("process", 100), ("thread", 0)]


@pytest.fixture
def start(tmp_path):
    running = []

    def one(host, *options):
        counts = Counts(tmp_path)
        server = Server(f"--isolation={host}", "--crash-limit=0", "--admin=loopback",
                        f"--workers={WORKERS}", *options, tmp_path)
        running.append(server)
        return server, counts
    yield one
    for each in running:
        assert each.stop() == 0, "".join(each.lines[-20:])


@pytest.mark.parametrize("host, kill_ms", HOSTS)
def test_each_answer_is_of_its_session(start, host, kill_ms):
    check_load(*start(host), 20000, 256, kill_ms, 0.2)


@pytest.mark.parametrize("host, kill_ms", HOSTS)
def test_a_million_calls_of_a_thousand_sessions(start, host, kill_ms):
    figures = check_load(*start(host), 10**6, 1024, kill_ms, 5)
    assert figures["right"] > 10**6 * 9 // 10


# ---------------------------------------------------------------------------
# The resources of a session


def in_turn(server, requests):
    """The answers to requests over one connection, a hundred at a time."""
    found = []
    with socket.create_connection((server.host, server.port), timeout=120) as connection:
        stream = connection.makefile("rb")
        for first in range(0, len(requests), 100):
            part = requests[first:first + 100]
            connection.sendall(b"".join(
                f"POST {path} HTTP/1.1\r\nHost: localhost\r\nFarcall-Session: {session}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
                for path, session, body in part))
            for _ in part:
                status = stream.readline().split()[1]
                size = 0
                while (line := stream.readline()) != b"\r\n":
                    if line.lower().startswith(b"content-length:"):
                        size = int(line.split(b":")[1])
                body = stream.read(size)
                assert status in (b"200", b"201"), body
                found.append(json.loads(body))
    return found


def use_sessions(server, count):
    """Makes `count` sessions, and a first and a second call in each."""
    made = [each["session"] for each in in_turn(
        server, [("/api/v1/modules/counts/sessions", "", "{}")] * count)]
    assert len(set(made)) == count
    for turn in (1, 2):
        replies = in_turn(server, [("/api/v1/functions/counts/bump", session, f"[[{i // 100},{i % 100},0,0]]")
                                   for i, session in enumerate(made)])
        for i, reply in enumerate(replies):
            assert reply == {"results": [
                [turn * (i // 100) ** 2, turn * (i % 100) ** 2, 0, 0]]}
    return made


def own_kib(server):
    found = re.search(r"RssAnon:\s*(\d+)", open(f"/proc/{server.process.pid}/status").read())
    return int(found[1])


@pytest.mark.parametrize("host", ["process", "thread"])
def test_a_session_takes_its_pages_and_little_more(start, host):
    count = 1000 if SANITIZED else 10000
    server, _ = start(host, f"--sessions={8 * count}", "--session-memory=1G")
    use_sessions(server, 300)  # more than a worker keeps mapped
    before, before_kib = taken(server), own_kib(server)
    use_sessions(server, count - 300)
    after, after_kib = taken(server), own_kib(server)
    print(before, before_kib, after, after_kib)
    text = server.get("/metrics").body.decode()
    assert f"\nfarcall_sessions {count}\n" in text
    assert f"\nfarcall_session_bytes {count * 4096}\n" in text
    more = count - 300
    assert after["shared_kib"] - before["shared_kib"] <= 4 * more + 1024
    assert SANITIZED or after_kib - before_kib <= 2 * more
    # Descriptors and mappings do not grow with the number of sessions.
    limit = int(open("/proc/sys/vm/max_map_count").read())
    assert after["files"] <= before["files"] + 4
    for pid in [server.process.pid, *workers(server)]:
        assert mappings(pid) < min(limit, 2000)

# SPDX-License-Identifier: Apache-2.0
"""Many sessions, of whose answers each is compared with a model to the bit, while worker
processes are ended and the module is replaced; and what they leave behind: nothing.
test_session_load_peer.py is the same for longer."""
import json
import os
import shutil
import subprocess
import threading

import pytest

from conftest import BIN, ROOT, Server
from fleet import until
from reloading import steady
from test_chaos import SANITIZED, measure

ROLES = ROOT / "tests/corpus/iree/roles/roles.vmfb"
BUMP = {"name": "bump", "state": {"c": {"argument": 1, "shape": [4]}}}


class Counts:
    """The module `counts` in a folder: a new `doc` makes it another."""

    def __init__(self, folder):
        self.sidecar = folder / "counts.farcall.json"
        shutil.copy(ROLES, folder / "counts.vmfb")
        self.put(0)

    def put(self, number):
        other = self.sidecar.with_name("next")
        other.write_text(json.dumps({"farcall": 1, "abi": "module", "functions": [
            {**BUMP, "doc": f"generation {number}"}]}))
        other.rename(self.sidecar)


class Reloads:
    """Replaces the module at once and each `seconds`, beside the load."""

    def __init__(self, server, counts, seconds):
        self.server, self.counts, self.seconds = server, counts, seconds
        self.made, self.refused, self.over = 0, None, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while True:
            self.counts.put(self.made + 1)
            reply = self.server.request("POST", "/api/v1/reload")
            if reply.status != 200:
                self.refused = reply.body
                return
            self.made += 1
            if self.over.wait(self.seconds):
                return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def load(server, count, sessions, kill_ms):
    """What sessions.c says of its run; it has judged every answer itself."""
    done = subprocess.run(
        [BIN.parent / "tests/sessions", *map(str, (
            server.port, server.process.pid, count, sessions, kill_ms))],
        capture_output=True, text=True, timeout=3000)
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout)
    assert figures["sent"] >= count and figures["sessions"] >= sessions
    return figures


def taken(server):
    """Descriptors, processes, mappings and memory; and pages of files without a name."""
    pid = server.process.pid
    maps = open(f"/proc/{pid}/maps").read().splitlines()
    files = [f"/proc/{pid}/fd/{each}" for each in os.listdir(f"/proc/{pid}/fd")]
    pages = 0
    for each in files:
        try:
            if os.readlink(each).startswith("/memfd:"):
                pages += os.stat(each).st_blocks * 512 // 1024
        except FileNotFoundError:
            continue
    return {**measure(server), "mappings": len(maps), "shared_kib": pages}


def ended(server):
    text = server.get("/metrics").body
    return b"\nfarcall_sessions 0\n" in text and b"\nfarcall_session_bytes 0\n" in text


def under_load(server, counts, count, sessions, kill_ms, reload_seconds):
    with Reloads(server, counts, reload_seconds) as reloads:
        figures = load(server, count, sessions, kill_ms)
    assert reloads.refused is None and reloads.made
    until(lambda: ended(server))
    return figures


SPARE = {"files": 0, "processes": 0, "mappings": 16, "shared_kib": 1024}


def check_load(server, counts, count, sessions, kill_ms, reload_seconds):
    # What the server keeps is there after a first, shorter one.
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

    def one(host):
        counts = Counts(tmp_path)
        server = Server(f"--isolation={host}", "--crash-limit=0", "--admin=loopback",
                        "--workers=2", tmp_path)
        running.append(server)
        return server, counts
    yield one
    for each in running:
        assert each.stop() == 0, "".join(each.lines[-20:])


@pytest.mark.parametrize("host, kill_ms", HOSTS)
def test_each_answer_is_of_its_session(start, host, kill_ms):
    check_load(*start(host), 20000, 256, kill_ms, 0.2)

# SPDX-License-Identifier: Apache-2.0
"""Sessions while their module is replaced: they move to the new version if their state
may survive; otherwise they stay with the old one. Also sessions whose process is
killed during a call."""
import concurrent.futures
import json
import os
import shutil
import signal
import subprocess

import pytest

from fleet import until

SESSIONS = "/api/v1/modules/sum/sessions"
FUNCTION = "/api/v1/functions/sum/add"
# add(0) creates the file `begun` and waits for the file `gate`.
SOURCE = """
#include <fcntl.h>
#include <unistd.h>
void add(const long long *x, long long *sum, long long *out) {
  if (!*x) {
    close(open("%(folder)s/begun", O_WRONLY | O_CREAT, 0600));
    while (access("%(folder)s/gate", F_OK)) usleep(1000);
  }
  *out = *sum += *x;
}
long long _mlir_ciface_version(void) { return %(number)d; }
"""


def sidecar(survives, dims="1"):
    return {"farcall": 1, "abi": "mlir-memref", "functions": [
        {"name": "add", "symbol": "add", "cc": "bareptr",
         "state": {"sum": {"argument": 1, "survives": survives}}, "args": [
             {"type": "memref<1xi64>"}, {"type": f"memref<{dims}xi64>", "role": "inout"},
             {"type": "memref<1xi64>", "role": "out"}], "results": []},
        {"name": "version", "symbol": "_mlir_ciface_version", "cc": "ciface", "args": [],
         "results": [{"type": "i64"}]}]}


class Summing:
    """The module `sum`, whose versions have numbers."""

    def __init__(self, work):
        self.work, self.folder = work, work / "modules"
        self.folder.mkdir()
        self.number = 0

    def put(self, description):
        self.number += 1
        source = self.work / "sum.c"
        source.write_text(SOURCE % {"folder": self.work, "number": self.number})
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", self.work / "sum.so", source],
                       check=True)
        text = self.folder / "sum.farcall.json"
        (self.work / "text").write_text(json.dumps(description))
        (self.work / "text").rename(text)
        shutil.move(self.work / "sum.so", self.folder / "new")
        (self.folder / "new").rename(self.folder / "sum.so")

    def replace(self, server, description):
        self.put(description)
        assert server.request("POST", "/api/v1/reload").status == 200
        assert server.results("sum/version", []) == [self.number]

    def start(self, serve, description, *options):
        self.put(description)
        # Without a sandbox: its calls open files.
        return serve("--admin=loopback", "--sandbox=off", "--workers=2",
                     "--session-drain=60m", *options, self.folder)


@pytest.fixture
def summing(tmp_path):
    return Summing(tmp_path)


def make(server, **body):
    return server.request("POST", SESSIONS, json.dumps(body)).json["session"]


def call(server, session, function, *args):
    reply = server.request("POST", f"/api/v1/functions/sum/{function}", json.dumps(args),
                           {"Farcall-Session": session})
    assert reply.status == 200, reply.body
    return reply.json["results"][0]


def add(server, session, number):
    return call(server, session, "add", [number])[0]


def states(server):
    return sorted(each["state"] for each in server.get("/api/v1/modules").json["modules"])


def show(server, session):
    return server.get(f"{SESSIONS}/{session}").json


@pytest.mark.parametrize("checkpoint, load", [
    (False, "start"), (True, "start"), (False, "demand")])
def test_state_goes_over_to_the_new_version(serve, summing, checkpoint, load):
    server = summing.start(serve, sidecar(True), f"--load={load}")
    made = [make(server, checkpoint=checkpoint) for _ in range(3)]
    for step in range(3):
        assert [add(server, each, n + 1) for n, each in enumerate(made)] == [
            (step + 1) * (n + 1) for n in range(3)]
    for step in range(3, 6):
        before = [show(server, each) for each in made]
        summing.replace(server, sidecar(True))
        for n, each in enumerate(made):
            after = show(server, each)
            for what in "session", "step", "values", "bytes", "max_bytes":
                assert after[what] == before[n][what]
            assert "ends_ms" not in after
            assert call(server, each, "version") == summing.number
            assert add(server, each, n + 1) == (step + 1) * (n + 1)
    fork = server.request("POST", f"{SESSIONS}/{made[0]}/fork").json["session"]
    assert (add(server, fork, 1), add(server, made[0], 2)) == (7, 8)
    assert add(server, make(server), 5) == 5
    until(lambda: states(server) == ["ready"])  # nothing holds the versions before
    for each in (*made, fork):
        assert server.request("DELETE", f"{SESSIONS}/{each}").status == 200
    assert server.stop() == 0


@pytest.mark.parametrize("old, new", [
    (sidecar(True), sidecar(False)), (sidecar(False), sidecar(True)),
    (sidecar(False), sidecar(False)), (sidecar(True), sidecar(True, "2"))],
    ids=["the new one does not say so", "the old one does not", "neither does", "other type"])
def test_state_stays_where_it_is(serve, summing, old, new):
    server = summing.start(serve, old)
    session = make(server)
    assert add(server, session, 3) == 3
    summing.replace(server, new)
    assert call(server, session, "version") == 1 and "draining" in states(server)
    assert add(server, session, 4) == 7
    assert 0 < show(server, session)["ends_ms"] <= 3600_000
    other = make(server)
    assert (call(server, other, "version"), add(server, other, 5)) == (2, 5)
    # It does not move to a later version, either.
    summing.replace(server, old)
    assert call(server, session, "version") == 1
    assert add(server, session, 1) == 8
    assert server.stop() == 0


def test_a_call_that_runs_keeps_its_place(serve, summing):
    """Calls that come after the replacement belong to the new version, and wait for the
    running call."""
    server = summing.start(serve, sidecar(True))
    session = make(server)
    assert add(server, session, 1) == 1
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        running = pool.submit(add, server, session, 0)
        until((summing.work / "begun").exists)
        summing.replace(server, sidecar(True))
        said = server.get("/api/v1/modules/sum").json
        waiting = []
        for n in range(1, 5):
            waiting.append(pool.submit(add, server, session, n))
            until(lambda: server.get("/api/v1/modules/sum").json["host"]["waiting"] == n)
        last = pool.submit(call, server, session, "version")
        until(lambda: server.get("/api/v1/modules/sum").json["host"]["waiting"] == 5)
        assert not running.done() and said["state"] == "ready"
        (summing.work / "gate").touch()
        assert running.result() == 1
        assert [each.result() for each in waiting] == [2, 4, 7, 11]
        assert last.result() == 2
    assert show(server, session)["step"] == 7
    assert server.stop() == 0


def kill_workers(server):
    for each in server.get("/api/v1/modules/sum").json["host"]["workers"]:
        os.kill(each["pid"], signal.SIGKILL)


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_kill_meets_a_call_that_runs(process_server, summing, checkpoint):
    """The process is killed while the call is certainly inside the function."""
    server = summing.start(process_server, sidecar(True))
    session, other = make(server, checkpoint=checkpoint), make(server)
    assert (add(server, session, 5), add(server, other, 7)) == (5, 7)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(server.request, "POST", FUNCTION, "[[0]]",
                              {"Farcall-Session": session})
        until((summing.work / "begun").exists)
        kill_workers(server)
        assert running.result().status == 502
    (summing.work / "gate").touch()
    if checkpoint:
        assert show(server, session)["step"] == 1
        assert add(server, session, 1) == 6
    else:
        reply = server.get(f"{SESSIONS}/{session}")
        assert (reply.status, reply.json["code"]) == (410, "session_lost")
        assert "'add' at step 1" in reply.json["detail"]
    assert add(server, other, 1) == 8
    assert server.stop() == 0

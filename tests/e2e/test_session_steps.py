# SPDX-License-Identifier: Apache-2.0
"""?iterate in a session: many steps are one call in the session's order. The oracle
makes one call for each step in another session."""
import concurrent.futures
import http.client
import json
import os
import shutil
import signal
import socket

import pytest

from conftest import ROOT
from fleet import until
from test_iterate import ask, split
from test_sessions import MODULES, call, expect, make, sessions, show

ROLES = ROOT / "tests/corpus/iree/roles"
X = [1.0, 2.0, 3.0, 4.0]
C = {"ref": "c"}
BEGIN = {"c": {"dtype": "f32", "shape": [4], "data": [0.0] * 4}}


@pytest.fixture
def roles(tmp_path):
    """bump(x, cache) adds x to the cache, and returns x times the new cache. In the
    second module the cache is state."""
    for name in ("roles", "counts"):
        shutil.copy(ROLES / "roles.vmfb", tmp_path / f"{name}.vmfb")
    (tmp_path / "counts.farcall.json").write_text(json.dumps({
        "farcall": 1, "abi": "module", "functions": [
            {"name": "bump", "state": {"c": {"argument": 1, "shape": [4]}}}]}))
    return [tmp_path / "roles.vmfb", tmp_path / "counts.vmfb"]


def begin(server, module="roles", values=BEGIN):
    reply = server.request("POST", sessions(module), json.dumps({"values": values}))
    assert reply.status == 201, reply.body
    return reply.json["session"]


def loop(server, session, args, repeat, function="roles/bump", **options):
    reply = server.request(
        "POST", f"/api/v1/functions/{function}?iterate",
        json.dumps({"args": args, "repeat": repeat, "options": options}),
        {"Farcall-Session": session})
    return reply


def steps(reply):
    assert reply.status == 200, reply.body
    *lines, last = split(reply.body)
    assert last == {"done": "times", "steps": len(lines)}
    return [line["results"] for line in lines]


def results(server, session, args, function="roles/bump", **options):
    reply = call(server, session, function, json.dumps({"args": args, "options": options}))
    assert reply.status == 200, reply.body
    return reply.json["results"]


def value(server, session, name="c", module="roles"):
    return server.get(sessions(module, session, "values", name)).json["results"][0]["data"]


@pytest.mark.parametrize("times", [1, 7, 3000])
def test_a_loop_writes_where_the_value_lies(serve, roles, times):
    server = serve(*roles)
    one, other = begin(server), begin(server)
    reply = loop(server, one, [X, C], {"times": times})
    assert reply.headers["Farcall-Session"] == one
    sums = [0.0] * 4
    expected = []
    for _ in range(times):
        sums = [a + b for a, b in zip(sums, X)]
        expected.append([a * b for a, b in zip(sums, X)])
    made = steps(reply)
    assert [each[0] for each in made] == expected
    assert all(each[1]["ref"] == "c" for each in made)
    assert value(server, one) == sums
    said = show(server, one, "roles").json
    assert (said["step"], list(said["values"])) == (1, ["c"])
    if times < 10:
        assert made == [results(server, other, [X, C]) for _ in range(times)]


def test_what_is_fed_is_a_copy(serve, roles):
    """The value itself does not change."""
    server = serve(*roles)
    session = begin(server, values={"c": {"dtype": "f32", "shape": [4], "data": X}})
    made = steps(loop(server, session, [X, C], {"times": 3, "feed": {"1": 1}}))
    assert [each[1] for each in made] == [[n * x for x in X] for n in (2, 3, 4)]
    assert value(server, session) == X


def test_results_are_kept_at_the_end(serve, roles):
    server = serve(*roles)
    session = begin(server)
    made = steps(loop(server, session, [X, [0.0] * 4],
                      {"times": 5, "feed": {"1": 1}}, keep={"1": "sum", "0": "product"}))
    assert made[3] == [[4 * x * x for x in X], [4 * x for x in X]]
    assert [each["ref"] for each in made[4]] == ["product", "sum"]
    assert value(server, session, "sum") == [5 * x for x in X]
    assert value(server, session, "product") == [5 * x * x for x in X]
    reply = loop(server, session, [X, C], {"times": 2, "emit": []}, keep={"0": "sum"},
                 if_absent=True)
    expect(reply, 412, "precondition_failed")
    assert value(server, session) == [0.0] * 4
    reply = loop(server, session, [X, C], {"times": 2, "emit": []}, keep={"0": "sum"})
    assert split(reply.body)[:2] == [{"step": 1, "results": []}, {"step": 2, "results": []}]
    assert value(server, session, "sum") == [2 * x * x for x in X]


def test_state_goes_on_from_step_to_step(serve, roles):
    server = serve(*roles)
    session = make(server, "counts")
    made = steps(loop(server, session, [X], {"times": 2000}, "counts/bump"))
    assert [each[0] for each in made] == [[n * x * x for x in X] for n in range(1, 2001)]
    assert value(server, session, "c", "counts") == [2000 * x for x in X]
    assert results(server, session, [X], "counts/bump") == [[2001 * x * x for x in X]]
    assert show(server, session, "counts").json["step"] == 2


def test_other_calls_wait_for_the_loop(serve, roles):
    server = serve("--workers=2", *roles)
    session = begin(server)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = list(pool.map(
            lambda i: loop(server, session, [X, C], {"times": 300}) if i % 4 == 0 else
            call(server, session, "roles/bump", json.dumps([X, C])), range(40)))
    assert all(reply.status == 200 for reply in made)
    found = []
    for i, reply in enumerate(made):
        if i % 4:
            found.append(reply.json["results"][0][0])
            continue
        firsts = [each[0][0] for each in steps(reply)]
        assert firsts == [firsts[0] + n for n in range(300)], "another was between"
        found += firsts
    assert sorted(found) == list(range(1, 10 * 300 + 30 + 1))
    assert show(server, session, "roles").json["step"] == 40


def test_a_step_that_fails_leaves_what_was_written(serve, roles):
    server = serve(*roles)
    session = begin(server)
    expect(loop(server, session, [[C], C], {"times": 2}), 422, "type_mismatch")
    expect(loop(server, session, [X, {"ref": "d"}], {"times": 2}), 422, "reference_unknown")
    expect(loop(server, session, [C, C], {"times": 2}), 422, "duplicate_argument")
    assert show(server, session, "roles").json["step"] == 0
    assert value(server, session) == [0.0] * 4


def leave(server, session):
    """A client that reads the first step and leaves."""
    body = json.dumps({"args": [X, C], "repeat": {"times": 10_000_000}})
    client = socket.create_connection((server.host, server.port), timeout=60)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.sendall((f"POST /api/v1/functions/roles/bump?iterate&session={session} HTTP/1.1\r\n"
                    f"Host: {server.host}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
                    ).encode())
    read = b""
    while b'{"step":1,' not in read:
        read += client.recv(4096)
        assert read.startswith(b"HTTP/1.1 200 "), read
    return client


def test_a_client_that_leaves_ends_its_loop_between_two_steps(serve, roles):
    server = serve(*roles)
    session = begin(server)
    for _ in range(3):
        client = leave(server, session)
        waiting = concurrent.futures.ThreadPoolExecutor(1).submit(value, server, session)
        client.close()
        sums = waiting.result(60)
        assert sums == [sums[0] * x for x in X] and sums[0] >= 1
    assert results(server, session, [X, C])[0][0] == sums[0] + 1
    assert show(server, session, "roles").json["step"] == 4


def test_a_session_that_ends_ends_its_loop(serve, roles):
    server = serve(*roles)
    session = begin(server)
    client = leave(server, session)
    assert server.request("DELETE", sessions("roles", session)).json == {"ended": True}
    read = b""
    while got := client.recv(1 << 16):
        read = (read + got)[-4096:]
    assert b'"code":"session_not_found"' in read
    expect(show(server, session, "roles"), 404, "session_not_found")
    until(lambda: b"\nfarcall_session_bytes 0\n" in server.get("/metrics").body)


def test_a_process_that_ends_in_a_loop_loses_the_session(process_server):
    server = process_server("--crash-limit=0", "--workers=1", MODULES / "crash.so")
    session, other = make(server, "crash"), make(server, "crash")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        made = pool.submit(loop, server, session, [20], {"times": 1_000_000}, "crash/spin")

        def kill():
            for each in server.get("/api/v1/modules/crash").json["host"]["workers"]:
                os.kill(each["pid"], signal.SIGKILL)
            return show(server, session, "crash").status == 410
        until(kill)  # meets a turn
        try:
            assert made.result(60).status == 502
        except http.client.IncompleteRead as cut:
            assert json.loads(cut.partial.splitlines()[-1])["status"] == 502
    expect(call(server, session, "crash/add", "[1,2]"), 410, "session_lost")
    assert call(server, other, "crash/add", "[1,2]").json == {"results": [3]}


def test_a_loop_is_made_once(serve):
    server = serve(MODULES / "scalars.so")
    session = make(server)
    body = json.dumps({"args": [21], "repeat": {"times": 3}})
    path = f"/api/v1/functions/scalars/s_i32?iterate&session={session}"
    assert server.request("POST", path, body, {"Farcall-Session-Step": "0"}).status == 200
    expect(server.request("POST", path, body, {"Farcall-Session-Step": "0"}), 409,
           "session_busy")
    assert steps(ask(server, "scalars/s_i32", [21], {"times": 3})) == [[42]] * 3


# ---------------------------------------------------------------------------
# Checkpoints


def keeping(server, module, **more):
    reply = server.request("POST", sessions(module), json.dumps(
        {"checkpoint": True, **more}))
    assert reply.status == 201 and reply.json["checkpoint"] is True, reply.body
    return reply.json["session"]


def test_a_crash_loses_no_session_with_checkpoints(process_server):
    server = process_server(MODULES / "crash.so")
    one, other = keeping(server, "crash"), keeping(server, "crash")
    assert call(server, one, "crash/add", "[1,2]").json == {"results": [3]}
    expect(call(server, one, "crash/stop", "[11]"), 502, "worker_crashed")
    said = show(server, one, "crash").json
    assert (said["step"], said["checkpoint"]) == (1, True)
    # This call is refused at this step, but no other call is.
    expect(call(server, one, "crash/stop", "[11]", Farcall_Session_Step=1), 422,
           "call_quarantined")
    expect(call(server, other, "crash/stop", "[11]"), 502, "worker_crashed")
    assert call(server, one, "crash/add", "[1,2]").json == {"results": [3]}
    expect(call(server, one, "crash/stop", "[11]"), 502, "worker_crashed")
    fork = server.request("POST", sessions("crash", one, "fork")).json
    assert (fork["step"], fork["checkpoint"]) == (2, True)


def test_a_deadline_loses_no_session_with_checkpoints(serve):
    """Neither in bytecode, which stops, nor in a process, which is killed."""
    server = serve("--timeout=500ms", ROOT / "tests/corpus/iree/releases/scalars-3.13.0.vmfb")
    module = "scalars-3.13.0"
    session = keeping(server, module, values=BEGIN)
    expect(call(server, session, f"{module}/fact", "[2432902008176640000]"), 504, "deadline_exceeded")
    assert show(server, session, module).json["step"] == 0
    assert value(server, session, "c", module) == [0.0] * 4
    lost = begin(server, module)
    expect(call(server, lost, f"{module}/fact", "[2432902008176640000]"), 504, "deadline_exceeded")
    until(lambda: show(server, lost, module).status == 410)


def test_a_loop_with_checkpoints_is_whole_steps(process_server, roles):
    server = process_server("--crash-limit=0", "--workers=1", *roles)
    session = keeping(server, "roles", values=BEGIN)
    for n in range(3):
        client = leave(server, session)
        for each in server.get("/api/v1/modules/roles").json["host"]["workers"]:
            os.kill(each["pid"], signal.SIGKILL)
        client.close()
        sums = value(server, session)
        assert sums == [sums[0] * x for x in X] and sums[0] >= 1
    assert results(server, session, [X, C])[0][0] == sums[0] + 1
    assert 4096 == show(server, session, "roles").json["bytes"]

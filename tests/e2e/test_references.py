# SPDX-License-Identifier: Apache-2.0
"""Opaque references as values of sessions: what is made in one call is changed and read in
later ones, by the worker that has it. A stack's sum is the oracle's, in plain arithmetic."""
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import signal
import threading

import pytest

from conftest import ROOT
from fleet import until
from test_sessions import call, expect, make, sessions, show

STACK = ROOT / "tests/corpus/iree/references/stack.vmfb"
LIST = {"kind": "opaque", "type": "!vm.list<i32>"}


def ask(server, session, function, *args, keep=None, **fields):
    options = {"keep": {"0": keep}} if keep else {}
    return call(server, session, f"stack/{function}",
                json.dumps({"args": args, "options": options}), **fields)


def results(*args, **options):
    reply = ask(*args, **options)
    assert reply.status == 200, reply.body
    return reply.json["results"]


def ref(name):
    return {"ref": name}


def references(server):
    """How many references workers have, dropped ones included until they are freed."""
    return int(re.search(rb"\nfarcall_session_references (\d+)\n",
                         server.get("/metrics").body)[1])


def begin(server, name="h", **body):
    session = make(server, "stack", body or None)
    assert results(server, session, "make", keep=name) == [{**ref(name), "type": LIST}]
    return session


def test_a_reference_is_made_changed_and_read(serve):
    server = serve("--workers=2", STACK)
    made = {begin(server): [] for _ in range(6)}
    for step in range(60):
        for number, (session, stack) in enumerate(made.items()):
            stack.append(step * 7 - 100 * number)
            assert results(server, session, "push", ref("h"), stack[-1]) == [len(stack)]
            assert results(server, session, "sum", ref("h")) == [sum(stack)]
    session, stack = made.popitem()
    assert results(server, session, "make", keep="other")[0]["ref"] == "other"
    assert results(server, session, "push", ref("other"), 5) == [1]
    assert results(server, session, "sum", ref("h")) == [sum(stack)]
    assert show(server, session, "stack").json["values"] == {
        "h": {"type": LIST, "bytes": 0}, "other": {"type": LIST, "bytes": 0}}
    assert references(server) == 7
    assert server.stop() == 0


def test_sessions_side_by_side_have_their_own(serve):
    """More than a process has room for: the others wait, and hold nobody up."""
    server = serve("--workers=2", STACK)

    def use(number):
        session = begin(server)
        for i in range(25):
            assert results(server, session, "push", ref("h"), number) == [i + 1]
            assert results(server, session, "sum", ref("h")) == [number * (i + 1)]
        assert server.request("DELETE", sessions("stack", session)).status == 200
    with concurrent.futures.ThreadPoolExecutor(48) as pool:
        list(pool.map(use, range(48)))
    until(lambda: references(server) == 0)
    assert server.stop() == 0


LEFT = [
    ("the value is removed", lambda s, each: s.request(
        "DELETE", sessions("stack", each, "values", "h"))),
    ("the session is reset", lambda s, each: s.request(
        "POST", sessions("stack", each, "reset"))),
    ("the session ends", lambda s, each: s.request("DELETE", sessions("stack", each))),
    ("bytes take its name", lambda s, each: s.request(
        "PUT", sessions("stack", each, "values", "h"), b'{"bytes":"x"}',
        {"Content-Type": "application/json"})),
    ("null takes its name", lambda s, each: ask(s, each, "none", keep="h")),
]


@pytest.mark.parametrize("leave", [row[1] for row in LEFT], ids=[row[0] for row in LEFT])
def test_what_nobody_has_is_freed(serve, leave):
    server = serve(STACK)
    made = [begin(server) for _ in range(20)]
    results(server, made[0], "make", keep="h")  # another one in its place
    until(lambda: references(server) == 20)
    for each in made:
        assert leave(server, each).status == 200
    until(lambda: references(server) == 0)
    for each in made:
        assert ask(server, each, "sum", ref("h")).status in (404, 422)
    again = begin(server)
    assert results(server, again, "sum", ref("h")) == [0]
    assert server.stop() == 0


def test_a_call_that_fails_keeps_none(serve):
    server = serve("--max-memory=64M", STACK)
    session = begin(server)
    reply = ask(server, session, "lie", keep="h")
    expect(reply, 500, "bad_result")
    assert "!vm.buffer where !vm.list<i32> is declared" in reply.json["detail"]
    for _ in range(3):
        body = {"args": [], "options": {"keep": {"0": "h"}, "if_absent": True}}
        expect(call(server, session, "stack/make", json.dumps(body)),
               412, "precondition_failed")
    until(lambda: references(server) == 1)
    assert results(server, session, "push", ref("h"), 3) == [1]


def test_what_is_refused_says_why(serve):
    server = serve(STACK)
    session = begin(server)
    results(server, session, "buffer", 7, keep="b")
    assert results(server, session, "load", ref("b")) == [7]
    put = server.request("PUT", sessions("stack", session, "values", "x"),
                         b'{"dtype":"i32","shape":[1],"data":[1]}',
                         {"Content-Type": "application/json"})
    assert put.status == 200
    path = sessions("stack", session)
    rows = [
        (ask(server, session, "sum", ref("b")), 422, "type_mismatch",
         "value 'b' is an opaque reference (!vm.buffer): expected an opaque reference "
         "(!vm.list<i32>)"),
        (ask(server, session, "sum", ref("x")), 422, "type_mismatch",
         "expected an opaque reference (!vm.list<i32>)"),
        (ask(server, session, "push", ref("h"), ref("h")), 422, "type_mismatch",
         "value 'h' is an opaque reference (!vm.list<i32>): expected a scalar i32"),
        (ask(server, session, "sum", ref("nobody")), 422, "reference_unknown", "nobody"),
        (ask(server, session, "sum", {"ref": 1}), 422, "type_mismatch", "name of a value"),
        (ask(server, session, "sum", [1]), 422, "type_mismatch", "null or {\"ref\""),
        (server.request("POST", path + "/fork"), 422, "type_mismatch", "value 'h'"),
        (server.get(path + "/export"), 422, "type_mismatch", "value 'h'"),
        (server.get(path + "/values/h"), 422, "type_mismatch", "value 'h'"),
        (server.request("PUT", path + "/values/copy", b'{"ref":"h"}',
                        {"Content-Type": "application/json"}), 422, "type_mismatch", ""),
        (server.call("stack/make", []), 501, "unsupported_type", "keep"),
        (server.call("stack/make", {"args": [], "options": {"keep": {"0": "h"}}}),
         422, "reference_unknown", "belongs to none"),
        (server.call("stack/sum", [ref("h")]), 422, "reference_unknown", "no session"),
        (server.request("POST", "/api/v1/functions/stack/sum?iterate", json.dumps(
            {"args": [ref("h")], "repeat": {"times": 3}}), {"Farcall-Session": session}),
         501, "unsupported_type", "repeated"),
    ]
    for reply, status, code, detail in rows:
        expect(reply, status, code)
        assert detail in reply.json["detail"], reply.body
    checkpointed = make(server, "stack", {"checkpoint": True})
    reply = expect(ask(server, checkpointed, "make", keep="h"), 422, "type_mismatch")
    assert "'h'" in reply.json["detail"] and "checkpoint" in reply.json["detail"]
    assert results(server, session, "push", ref("h"), 3) == [1]  # as it was
    assert references(server) == 2
    assert server.call("stack/none", []).json == {"results": [None]}
    assert server.stop() == 0


def test_null_is_a_reference_too(serve):
    server = serve(STACK)
    session = make(server, "stack")
    assert results(server, session, "none", keep="h") == [{**ref("h"), "type": LIST}]
    assert results(server, session, "next", 4) == [4]
    reply = ask(server, session, "sum", ref("h"))
    assert (reply.status, reply.json["code"]) == (422, "call_failed"), reply.body
    assert references(server) == 1  # the state's


def test_state_may_be_a_reference(serve):
    """next(x) pushes x onto a stack that nobody names."""
    server = serve(STACK)
    assert server.get("/api/v1/functions/stack/next").json["state"] == [
        {"name": "kept", "argument": 0, "result": 0}]
    made = [make(server, "stack") for _ in range(3)]
    for number in range(10):
        for step, session in enumerate(made):
            assert results(server, session, "next", number + step) == [
                sum(i + step for i in range(number + 1))]
    assert results(server, made[0], "sum", ref("kept")) == [45]
    assert server.results("stack/next", [5]) == [5]  # of its own
    assert server.results("stack/next", [6]) == [6]
    for each in made:
        server.request("DELETE", sessions("stack", each))
    until(lambda: references(server) == 0)
    assert server.stop() == 0


def workers(server):
    return server.get("/api/v1/modules/stack").json["host"]["workers"]


def test_a_worker_takes_the_sessions_along_that_it_has(process_server):
    """One process has a call without end, so another makes what comes then."""
    server = process_server("--workers=2", "--timeout=10m", "--crash-limit=0", STACK)
    runs, idle = begin(server), begin(server)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = pool.submit(ask, server, runs, "endless", ref("h"))
        until(lambda: [each["state"] for each in workers(server)].count("busy"))
        first = workers(server)[0]["pid"]
        other = begin(server)
        assert results(server, other, "push", ref("h"), 9) == [1]
        waits = pool.submit(ask, server, idle, "sum", ref("h"))
        until(lambda: len(workers(server)) == 2)
        os.kill(first, signal.SIGKILL)
        assert running.result().status in (410, 502)
        assert waits.result().status in (410, 502)
    for session in (runs, idle):
        expect(ask(server, session, "sum", ref("h")), 410, "session_lost")
        expect(show(server, session, "stack"), 410, "session_lost")
        expect(server.request("POST", sessions("stack", session, "fork")),
               410, "session_lost")
    assert results(server, other, "sum", ref("h")) == [9]
    assert references(server) == 1
    assert server.stop() == 0


def test_an_idle_worker_that_ends_loses_its_sessions(process_server):
    server = process_server("--workers=1", "--crash-limit=0", STACK)
    lost, kept = begin(server), make(server, "stack")
    assert results(server, lost, "push", ref("h"), 1) == [1]
    os.kill(workers(server)[0]["pid"], signal.SIGKILL)
    until(lambda: show(server, lost, "stack").status == 410)
    reply = expect(ask(server, lost, "sum", ref("h")), 410, "session_lost")
    assert reply.json["detail"] == (
        "the session is lost: its call at step 2 has left opaque references in a worker "
        "process that has ended")
    text = server.get("/metrics").body.decode()
    assert '\nfarcall_sessions_ended_total{reason="worker"} 1\n' in text
    assert results(server, kept, "make", keep="h")[0]["ref"] == "h"  # it had none there
    assert references(server) == 1
    assert server.stop() == 0


def test_a_session_stays_with_the_generation_that_has_its_references(serve, tmp_path):
    module = tmp_path / "stack.vmfb"
    sidecar = module.with_suffix(".farcall.json")
    shutil.copy(STACK, module)
    shutil.copy(STACK.with_suffix(".farcall.json"), sidecar)
    server = serve("--admin=loopback", "--session-drain=60m", tmp_path)
    session = begin(server)
    assert results(server, session, "push", ref("h"), 2) == [1]
    sidecar.write_text(sidecar.read_text().replace(
        '"name": "make",', '"name": "make", "doc": "newer",'))
    assert server.request("POST", "/api/v1/reload").status == 200
    assert results(server, session, "push", ref("h"), 3) == [2]
    assert results(server, session, "sum", ref("h")) == [5]
    other = begin(server)
    assert results(server, other, "sum", ref("h")) == [0]
    assert references(server) == 2
    for each in (session, other):
        assert server.request("DELETE", sessions("stack", each)).status == 200
    until(lambda: references(server) == 0)
    until(lambda: len(server.get("/api/v1/modules").json["modules"]) == 1)
    assert server.stop() == 0


def test_a_process_that_makes_one_call_keeps_none(process_server):
    server = process_server("--fresh=call", STACK)
    session = make(server, "stack")
    reply = expect(ask(server, session, "make", keep="h"), 501, "unsupported_type")
    assert "--fresh" in reply.json["detail"]
    assert server.stop() == 0


def test_threads_that_share_no_instance_keep_none(serve):
    server = serve("--vm-state=private", "--isolation=thread", STACK)
    session = make(server, "stack")
    reply = expect(ask(server, session, "make", keep="h"), 501, "unsupported_type")
    assert "--vm-state=private" in reply.json["detail"]
    assert server.stop() == 0


def test_no_worker_keeps_more_than_it_may(serve, tmp_path):
    """4,096, and 512 for a client: eight of nine clients fill it."""
    names = [f"client{number}" for number in range(9)]
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(
        f"{name} call,read,metrics {hashlib.sha256(name.encode()).hexdigest()}\n"
        for name in names))
    tokens.chmod(0o600)
    server = serve("--workers=1", f"--token-file={tokens}", STACK)

    def of(name):
        return {"Authorization": f"Bearer {name}"}

    def begin_as(name):
        return server.request("POST", sessions("stack"), None, of(name)).json["session"]

    def keep(name, session, number):
        return ask(server, session, "make", keep=f"h{number}", **of(name))

    def count():
        text = server.request("GET", "/metrics", None, of(names[0])).body
        return int(re.search(rb"\nfarcall_session_references (\d+)\n", text)[1])

    for name in names[:8]:
        for _ in range(8):  # sessions of 64 values
            session = begin_as(name)
            for number in range(64):
                assert keep(name, session, number).status == 200
        last = begin_as(name)
        reply = expect(keep(name, last, 0), 429, "too_many_requests")
        assert "for the client" in reply.json["detail"] and "512" in reply.json["detail"]
    assert count() == 4096
    other = begin_as(names[8])
    reply = expect(keep(names[8], other, 0), 429, "too_many_requests")
    assert "4096" in reply.json["detail"]
    ended = server.request("DELETE", sessions("stack", session), None, of(names[7]))
    assert ended.status == 200
    until(lambda: count() == 4032)
    assert keep(names[7], last, 0).status == keep(names[8], other, 0).status == 200
    assert server.stop() == 0


def test_kills_lose_what_they_must_and_nothing_else(process_server):
    """Each answer is what its own session's calls have made, or says that it is lost."""
    server = process_server("--workers=3", "--crash-limit=0", STACK)
    kills, killed = 12, threading.Event()

    def use(number):
        made = 0
        while not killed.is_set() or made < 3:
            made += 1
            session, stack = make(server, "stack"), []
            reply = ask(server, session, "make", keep="h")
            while reply.status == 200 and len(stack) < 20:
                stack.append(number + len(stack))
                reply = ask(server, session, "push", ref("h"), stack[-1])
                assert reply.status != 200 or reply.json["results"] == [len(stack)]
            if reply.status == 200:
                reply = ask(server, session, "sum", ref("h"))
                assert reply.status != 200 or reply.json["results"] == [sum(stack)]
            if reply.status != 200:
                assert reply.status in (410, 502), reply.body
                assert reply.status == 410 or show(server, session, "stack").status == 410
            server.request("DELETE", sessions("stack", session))

    def kill():
        for _ in range(kills):
            before = [each["pid"] for each in workers(server)]
            if before:
                os.kill(before[0], signal.SIGKILL)
                until(lambda: before[0] not in [each["pid"] for each in workers(server)])
            until(lambda: workers(server))
            results(server, begin(server), "push", ref("h"), 1)
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        running = [pool.submit(use, 1000 * number) for number in range(12)]
        kill()
        killed.set()
        for each in running:
            each.result()
    for each in server.get(sessions("stack")).json["sessions"]:
        assert each["values"] or each["lost"]
    until(lambda: references(server) <= kills)
    assert server.stop() == 0

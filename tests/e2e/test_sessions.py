# SPDX-License-Identifier: Apache-2.0
"""Sessions over HTTP: who finds them, in which order their calls run, and how they end."""
import concurrent.futures
import hashlib
import http.client
import json
import shutil
import signal
import socket

import pytest

from conftest import BIN, ROOT, Server
from fleet import until

MODULES = BIN.parent / "tests/modules/native"
SCALARS, CRASH = MODULES / "scalars.so", MODULES / "crash.so"


def sessions(module, *rest):
    return "/".join(["/api/v1/modules", module, "sessions", *rest])


def make(server, module="scalars", body=None):
    reply = server.request("POST", sessions(module), body and json.dumps(body))
    assert reply.status == 201, reply.body
    assert reply.json["step"] == 0 and reply.json["values"] == {}
    return reply.json["session"]


def call(server, session, function="scalars/s_i32", body="[21]", **fields):
    return server.request("POST", "/api/v1/functions/" + function, body, {
        "Farcall-Session": session,
        **{name.replace("_", "-"): str(value) for name, value in fields.items()}})


def show(server, session, module="scalars"):
    return server.get(sessions(module, session))


def expect(reply, status, code):
    assert (reply.status, reply.json.get("code")) == (status, code), reply.body
    return reply


def test_a_session_is_made_shown_and_ended(serve):
    server = serve(SCALARS)
    session = make(server, body={"ttl_ms": 60000, "max_bytes": 8192})
    assert len(session) == 32 and make(server) != session
    said = show(server, session).json
    assert (said["ttl_ms"], said["max_bytes"], said["bytes"]) == (60000, 8192, 0)
    for step in range(3):
        assert show(server, session).json["step"] == step
        assert call(server, session).json == {"results": [42]}
    # The query may name the session, too, for clients that cannot set headers.
    path = f"/api/v1/functions/scalars/s_i32?session={session}"
    assert server.request("POST", path, "[21]").json == {"results": [42]}
    assert show(server, session).json["step"] == 4
    assert server.request("DELETE", sessions("scalars", session)).json == {"ended": True}
    for reply in (show(server, session), call(server, session),
                  server.request("DELETE", sessions("scalars", session))):
        expect(reply, 404, "session_not_found")
    assert server.stop() == 0


@pytest.fixture
def roles(tmp_path):
    path = tmp_path / "roles.vmfb"
    shutil.copy(ROOT / "tests/corpus/iree/roles/roles.vmfb", path)
    return path


def test_values_stay_and_are_written_in_place(serve, roles):
    """bump(x, cache) adds x to the cache, and returns x times the new cache."""
    server = serve(roles)
    x, cache = [1, 2, 3, 4], {}
    kept = {"ref": "c", "type": {"kind": "tensor", "dtype": "f32", "shape": [4]}}

    def bump(session, argument, **options):
        reply = call(server, session, "roles/bump", json.dumps(
            {"args": [x, argument], "options": options}))
        assert reply.status == 200, reply.body
        cache[session] = [a + b for a, b in zip(cache[session], x)]
        assert reply.json["results"] == [
            [a * b for a, b in zip(cache[session], x)], kept]
    made = [make(server, "roles") for _ in range(3)]
    for i, session in enumerate(made):
        cache[session] = [i] * 4
        bump(session, cache[session], keep={"1": "c"})
    for step in range(30):
        bump(made[step * 7 % 3], {"ref": "c"})
    reply = server.request("POST", sessions("roles", made[0], "fork"))
    fork = reply.json["session"]
    assert reply.json["values"] == {"c": {"type": kept["type"], "bytes": 16}}
    cache[fork] = cache[made[0]]
    for step in range(30):
        bump([made[0], fork][step % 2], {"ref": "c"})
        bump(made[1], {"ref": "c"})
    expect(call(server, made[0], "roles/bump", json.dumps([x, {"ref": "d"}])),
           422, "reference_unknown")
    expect(server.call("roles/bump", [x, {"ref": "c"}]), 422, "reference_unknown")
    expect(call(server, made[0], "roles/bump", json.dumps(
        {"args": [x, {"ref": "c"}], "options": {"keep": {"0": "c"}, "if_absent": True}})),
        412, "precondition_failed")
    bump(made[0], {"ref": "c"})
    path = sessions("roles", made[0], "values", "c")
    assert server.request("DELETE", path).json["values"] == {}
    expect(call(server, made[0], "roles/bump", json.dumps([x, {"ref": "c"}])),
           422, "reference_unknown")
    assert server.stop() == 0


def test_values_without_bytes(serve):
    """Values whose names sort after an empty value's are complete."""
    server = serve(MODULES / "owner.so")
    session = make(server, "owner")

    def use(function, *args, keep="v"):
        reply = call(server, session, "owner/" + function, json.dumps(
            {"args": args, "options": {"keep": {"0": keep}} if keep else {}}))
        assert reply.status == 200, reply.body
        return reply.json["results"][0]
    for count in (4, 5000, 4):
        for _ in range(3):
            assert use("empty")["type"]["shape"] == [0, 3]
            assert show(server, session, "owner").json["bytes"] == 0
            use("fresh", count)
            use("fresh", 7, keep="w")
            assert use("alias_arg", {"ref": "v"}, keep=None) == [5] * count
            path = sessions("owner", session, "values", "w")
            assert server.request("DELETE", path).status == 200
    assert server.request("DELETE", sessions("owner", session)).status == 200
    assert server.stop() == 0


def test_values_have_their_limit(serve, roles):
    server = serve("--session-memory=64K", roles)  # two pages for one client
    session = make(server, "roles")

    def keep(name):
        return call(server, session, "roles/bump", json.dumps(
            {"args": [[1] * 4, [1] * 4], "options": {"keep": {"1": name}}}))
    assert [keep(name).status for name in "aba"] == [200] * 3
    expect(keep("c"), 429, "too_many_requests")
    assert show(server, session, "roles").json["bytes"] == 8192
    server.request("DELETE", sessions("roles", session, "values", "a"))
    assert keep("c").status == 200


def test_a_step_is_made_once(serve):
    server = serve(SCALARS)
    session = make(server)
    assert call(server, session, Farcall_Session_Step=0).status == 200
    reply = expect(call(server, session, Farcall_Session_Step=0), 409, "session_busy")
    assert reply.json["detail"] == "the call is for step 0, the session is at step 1"
    assert call(server, session, Farcall_Session_Step=1).status == 200
    # A call that is refused before the function runs is no step.
    expect(call(server, session, body='["x"]'), 422, "type_mismatch")
    assert show(server, session).json["step"] == 2
    for wrong in ("", "x", "-1", "1" * 30):
        expect(call(server, session, Farcall_Session_Step=wrong), 400, "http_syntax")
    reply = server.request("POST", "/api/v1/functions/scalars/s_i32", "[21]",
                           {"Farcall-Session-Step": "2"})
    expect(reply, 400, "http_syntax")


def test_a_step_is_made_once_by_calls_side_by_side(serve):
    """The heads of all calls come before any body."""
    server = serve(SCALARS)
    session = make(server)
    calls = [http.client.HTTPConnection(server.host, server.port, timeout=60)
             for _ in range(3)]
    for each in calls:
        each.putrequest("POST", "/api/v1/functions/scalars/s_i32")
        for name, value in {"Farcall-Session": session, "Farcall-Session-Step": "0",
                            "Content-Length": "4", "Expect": "100-continue"}.items():
            each.putheader(name, value)
        each.endheaders()
        assert each.sock.recv(4096).startswith(b"HTTP/1.1 100 ")
    for each in calls:
        each.send(b"[21]")
    assert sorted(each.getresponse().status for each in calls) == [200, 409, 409]
    assert show(server, session).json["step"] == 1


def test_a_fork_goes_its_own_way(serve):
    server = serve(SCALARS)
    session = make(server)
    call(server, session)
    reply = server.request("POST", sessions("scalars", session, "fork"))
    assert reply.status == 201 and reply.json["step"] == 1
    fork = reply.json["session"]
    call(server, fork)
    assert show(server, fork).json["step"] == 2
    assert show(server, session).json["step"] == 1
    reply = server.request("POST", sessions("scalars", session, "reset"))
    assert reply.status == 200 and reply.json["values"] == {}
    expect(server.request("DELETE", sessions("scalars", session, "values", "kv")),
           422, "reference_unknown")


def test_what_names_no_session_is_refused(serve):
    server = serve(SCALARS, MODULES / "conventions.so")
    session = make(server)
    wrong = ["", "0", "%zz", "0" * 32, session[:-1], session.upper() + "0", "x" * 32]
    for each in wrong:
        expect(call(server, each), 404, "session_not_found")
    for each in wrong[1:2] + wrong[3:]:
        expect(show(server, each), 404, "session_not_found")
    # The session belongs to its own module only.
    expect(show(server, session, "conventions"), 404, "session_not_found")
    expect(server.request("POST", sessions("nobody")), 404, "module_not_found")
    for method, path in [("DELETE", sessions("scalars")),
                         ("POST", sessions("scalars", session)),
                         ("DELETE", sessions("scalars", session, "fork")),
                         ("PUT", sessions("scalars", session))]:
        expect(server.request(method, path), 405, "method_not_allowed")
    for body, status, code in [("[]", 400, "json_schema"), ("{", 400, "json_syntax"),
                               ('{"ttl":1}', 400, "unknown_field"),
                               ('{"ttl_ms":0}', 422, "out_of_range"),
                               ('{"ttl_ms":-1}', 422, "out_of_range"),
                               ('{"ttl_ms":"x"}', 422, "type_mismatch"),
                               ('{"max_bytes":1e30}', 422, "out_of_range")]:
        expect(server.request("POST", sessions("scalars"), body), status, code)
    expect(server.request("POST", sessions("scalars") + "?x=1"), 400, "unknown_field")


def test_no_more_than_there_may_be(serve):
    server = serve("--sessions=16", SCALARS)
    mine = [make(server), make(server)]
    reply = expect(server.request("POST", sessions("scalars")), 429, "too_many_requests")
    assert reply.json["detail"] == "the client has 2 sessions, and may have 2"
    server.request("DELETE", sessions("scalars", mine[0]))
    make(server)
    expect(serve("--sessions=0", SCALARS).request("POST", sessions("scalars")),
           503, "overloaded")


def test_an_idle_session_ends(serve):
    server = serve(SCALARS)
    session = make(server, body={"ttl_ms": 1})
    until(lambda: b"\nfarcall_sessions 0\n" in server.get("/metrics").body)
    expect(call(server, session), 404, "session_not_found")


BOUND = {"ends_with_connection": True}


def bound(client, path, body=None):
    """Makes a session that ends with this connection."""
    client.request("POST", path, body and json.dumps(body))
    reply = client.getresponse()
    made = json.loads(reply.read())
    assert (reply.status, made.get("ends_with_connection")) == (201, True), made
    return made["session"]


def is_over(server, session):
    return show(server, session).status == 404


def test_a_session_ends_with_its_connection(serve):
    server = serve(SCALARS)
    other = make(server)
    assert "ends_with_connection" not in show(server, other).json
    ends = [http.client.HTTPConnection(server.host, server.port, timeout=60) for _ in range(2)]
    x = {"dtype": "f32", "shape": [1], "data": [1]}
    made = [bound(ends[0], sessions("scalars"), {**BOUND, "values": {"x": x}}),
            bound(ends[0], sessions("scalars") + "?ends_with_connection=true"),
            bound(ends[0], sessions("scalars"), BOUND)]
    stays = bound(ends[1], sessions("scalars", made[0], "fork"))
    server.request("DELETE", sessions("scalars", made[1]))
    assert call(server, made[0]).json == {"results": [42]}  # others may name it
    ends[0].close()
    for session in made:
        until(lambda: is_over(server, session))
    assert show(server, stays).json["values"]["x"]["bytes"] == 4
    ends[1].close()
    until(lambda: is_over(server, stays))
    assert show(server, other).status == 200
    text = server.get("/metrics").body.decode()
    assert '\nfarcall_sessions_ended_total{reason="connection"} 3\n' in text
    assert "\nfarcall_sessions 1\n" in text and "\nfarcall_session_bytes 0\n" in text
    for wrong, code in ("1", "type_mismatch"), ('"x"', "type_mismatch"):
        body = f'{{"ends_with_connection":{wrong}}}'
        expect(server.request("POST", sessions("scalars"), body), 422, code)
    path = sessions("scalars") + "?ends_with_connection=1"
    expect(server.request("POST", path), 400, "unknown_field")


def test_a_token_owns_what_it_made(serve, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(
        f"{name} call,read {hashlib.sha256(name.encode()).hexdigest()}\n"
        for name in ("anna", "bert")))
    tokens.chmod(0o600)
    server = serve(f"--token-file={tokens}", SCALARS)

    def ask(method, path, token, body=None, **fields):
        return server.request(method, path, body, {
            "Authorization": f"Bearer {token}", **fields})
    session = ask("POST", sessions("scalars"), "anna").json["session"]
    path = sessions("scalars", session)
    assert ask("GET", path, "anna").status == 200
    for method in ("GET", "DELETE"):
        expect(ask(method, path, "bert"), 404, "session_not_found")
    expect(ask("POST", "/api/v1/functions/scalars/s_i32", "bert", "[1]",
               **{"Farcall-Session": session}), 404, "session_not_found")
    assert ask("DELETE", path, "anna").status == 200


def test_calls_of_a_session_take_turns(serve):
    server = serve("--workers=4", SCALARS)
    made = [make(server) for _ in range(4)]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda i: call(server, made[i % 4]), range(200)))
    assert all(reply.json == {"results": [42]} for reply in replies)
    assert [show(server, each).json["step"] for each in made] == [50] * 4
    assert server.stop() == 0


def test_numbers_and_logs_of_sessions(serve):
    server = serve("--access-log=on", SCALARS)
    made = [make(server) for _ in range(3)]
    call(server, made[0])
    server.request("DELETE", sessions("scalars", made[1]))
    text = server.get("/metrics").body.decode()
    for line in ("farcall_sessions 2", "farcall_sessions_limit 10000",
                 "farcall_session_bytes 0", "farcall_sessions_made_total 3",
                 'farcall_sessions_ended_total{reason="deleted"} 1',
                 'farcall_sessions_ended_total{reason="crash"} 0'):
        assert f"\n{line}\n" in text, line
    assert server.stop() == 0
    log = "".join(server.lines)
    for session in made:  # an id is a right: it is told to nobody
        assert session not in log
    digest = hashlib.sha256(bytes.fromhex(made[0])).hexdigest()[:12]
    assert f'"session":"{digest}"' in log


def test_a_crash_loses_the_session_alone(process_server):
    server = process_server("--crash-limit=0", CRASH)
    lost, kept = make(server, "crash"), make(server, "crash")
    assert call(server, lost, "crash/add", "[1,2]").json == {"results": [3]}
    expect(call(server, lost, "crash/stop", "[11]"), 502, "worker_crashed")
    reply = expect(call(server, lost, "crash/add", "[1,2]"), 410, "session_lost")
    assert reply.json["detail"] == (
        "the session is lost: its call of 'stop' at step 1 crashed")
    expect(show(server, lost, "crash"), 410, "session_lost")
    expect(server.request("POST", sessions("crash", lost, "fork")), 410, "session_lost")
    assert call(server, kept, "crash/add", "[1,2]").json == {"results": [3]}
    assert server.request("DELETE", sessions("crash", lost)).status == 200
    expect(show(server, lost, "crash"), 404, "session_not_found")
    # The same body is not refused in another session.
    expect(call(server, kept, "crash/stop", "[11]"), 502, "worker_crashed")
    assert server.stop() == 0


def test_an_answer_without_room_leaves_no_values(serve):
    server = serve("--max-memory=16M", "--client-memory=16M", "--max-body=15M",
                   "--session-memory=1G", MODULES / "owner.so")
    session = make(server, "owner")
    held = []
    for n in range(64):  # others take the memory that answers need
        reply = call(server, session, "owner/two_same", json.dumps(
            {"args": [600000], "options": {"keep": {"0": f"v{n}"}}}))
        if reply.status != 200:
            break
        held.append(socket.create_connection((server.host, server.port)))
        held[-1].sendall(b"POST /api/v1/functions/owner/two_same HTTP/1.1\r\n"
                         b"Host: localhost\r\nContent-Length: 1000000\r\n\r\n" + b" " * 900000)
    expect(reply, 503, "overloaded")
    assert reply.json["stop"] == "encode"
    said = show(server, session, "owner").json
    assert (said["step"], sorted(said["values"])) == (
        n + 1, sorted(f"v{i}" for i in range(n)))


def test_a_session_keeps_its_generation(serve, numbered):
    server = serve("--admin=loopback", numbered.path.parent)
    listed = server.get("/api/v1/functions").json
    module = listed["functions"][0]["module"]
    function = f"{module}/{listed['functions'][0]['name']}"
    session = make(server, module)
    assert call(server, session, function, "[0]").json == {"results": [0]}
    numbered.put(1)
    assert server.request("POST", "/api/v1/reload").status == 200
    assert server.results(function, [0]) == [1]
    assert call(server, session, function, "[0]").json == {"results": [0]}
    other = make(server, module)
    assert call(server, other, function, "[0]").json == {"results": [1]}
    assert server.request("DELETE", sessions(module, session)).status == 200
    # No PATH contains the module any more.
    for file in (SCALARS, SCALARS.with_suffix(".farcall.json")):
        shutil.copy(file, numbered.path.parent)
    numbered.path.unlink()
    numbered.path.with_suffix(".farcall.json").unlink()
    assert server.request("POST", "/api/v1/reload").status == 200
    until(lambda: b"\nfarcall_sessions 0\n" in server.get("/metrics").body)
    assert server.stop() == 0


def test_a_session_is_told_when_it_ends_with_its_generation(serve, numbered):
    server = serve("--admin=loopback", "--session-drain=60m", numbered.path.parent)
    module = server.get("/api/v1/functions").json["functions"][0]["module"]
    session = make(server, module)
    assert "ends_ms" not in show(server, session, module).json
    numbered.put(1)
    assert server.request("POST", "/api/v1/reload").status == 200
    assert 0 < show(server, session, module).json["ends_ms"] <= 3600_000
    assert "ends_ms" not in show(server, make(server, module), module).json


def test_a_list_has_a_limit(serve):
    server = serve("--sessions=9000", SCALARS)
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)

    def ask(method):
        connection.request(method, sessions("scalars"))
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    for count in range(1, 1003):
        assert ask("POST")[0] == 201
        if count in (1, 1000, 1002):
            said = ask("GET")[1]
            assert (len(said["sessions"]), said["count"]) == (min(count, 1000), count)
    connection.close()
    assert server.stop() == 0


def test_a_server_that_is_leaving_says_when():
    server = Server("--pre-drain=60m", "--drain=60m", SCALARS)
    session = make(server)
    server.process.terminate()
    until(lambda: server.get("/readyz").status == 503)
    for reply in (server.get("/readyz"), server.request("POST", sessions("scalars")),
                  server.request("POST", sessions("scalars", session, "fork"))):
        expect(reply, 503, "shutting_down")
        assert 3600 < int(reply.headers["Retry-After"]) <= 7200
    assert 3600_000 < show(server, session).json["ends_ms"] <= 7200_000
    assert call(server, session).json == {"results": [42]}
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(60) == 130  # at once


@pytest.mark.parametrize("body", [None, {"ttl_ms": 60000}])
def test_a_module_is_loaded_for_its_session(serve, body):
    server = serve("--load=demand", SCALARS)
    assert server.get("/api/v1/modules/scalars").json["state"] == "described"
    session = make(server, body=body)
    assert server.get("/api/v1/modules/scalars").json["state"] == "ready"
    assert call(server, session).json == {"results": [42]}

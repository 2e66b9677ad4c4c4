# SPDX-License-Identifier: Apache-2.0
"""POST …/functions/{m}/{f}?iterate: the server calls a function many times in a row.
The oracle makes the same number of calls over HTTP, each from the previous answer."""
import http.client
import json
import os
import re
import signal
import socket
import struct
import threading
import time

import pytest

from conftest import ROOT

IREE = ROOT / "tests/corpus/iree"
LINES, EVENTS = "application/x-ndjson", "text/event-stream"


@pytest.fixture
def both(serve, corpus):
    """Bytecode and machine code, in the host of this run."""
    return serve(corpus, IREE / "releases/scalars-3.13.0.vmfb", IREE / "dims/dims-vmvx.vmfb",
                 IREE / "roles/roles.vmfb", ROOT / "examples/iree/matmul.vmfb",
                 ROOT / "examples/iree/filter.vmfb", "--write-timeout=2s")


def ask(server, function, args, repeat, accept=LINES, **headers):
    return server.request(
        "POST", f"/api/v1/functions/{function}?iterate",
        json.dumps({"args": args, "repeat": repeat}), {"Accept": accept, **headers})


def split(body, accept=LINES):
    """The documents of an answer."""
    text = body.decode()
    if accept == LINES:
        assert text.endswith("\n")
        return [json.loads(line) for line in text.splitlines()]
    events = text.split("\n\n")
    assert events.pop() == "" and all(each.startswith("data: ") for each in events)
    return [json.loads(each.removeprefix("data: ")) for each in events]


SCALARS = "scalars-3.13.0"
ENDLESS = {"times": 3, "feed": {"0": 0}}  # of fact: the second step counts down from 20!
MATRIX = [[0.5, 1.25], [-1.5, 0.75]]
ROWS = [
    (f"{SCALARS}/fact", [3], {"times": 5, "feed": {"0": 0}}),
    (f"{SCALARS}/hyp", [3, 4], {"times": 50, "feed": {"0": 1}}),
    (f"{SCALARS}/pair", [3, 4.5], {"times": 3}),
    (f"{SCALARS}/swap", [{"p": -0.0, "q": 7}], {"times": 3}),
    ("matmul/matmul", [MATRIX, MATRIX], {"times": 20, "feed": {"0": 1}}),
    ("filter/edges", [[[(3 * i * j) % 7 for j in range(12)] for i in range(12)]],
     {"times": 5, "feed": {"0": 0}}),
    ("dims-vmvx/add", [[[1, 2, 3]], [[0.25, 0.5, 0.125]]], {"times": 9, "feed": {"0": 0}}),
    ("roles/bump", [[1, 2, 3, 4], [5, 6, 7, 8]], {"times": 6, "feed": {"1": 1}}),
    ("roles/bump", [[1, 2, 3, 4], [5, 6, 7, 8]], {"times": 6}),
    ("tensor/matmul", [[[1, 2], [3, 4]], [[0.5, 1], [-1, 2]]], {"times": 12, "feed": {"0": 0}}),
    ("tensor/scale_inplace", [[1, 2, 3], 1.5], {"times": 12, "feed": {"0": 0}}),
    ("tensor/softmax", [[[1, 2, 3, 4]]], {"times": 12, "feed": {"0": 0}}),
]


def calls(server, function, args, repeat):
    """Makes the calls one by one. Yields the lines that the loop must write."""
    for step in range(1, repeat["times"] + 1):
        results = server.results(function, {"args": args})
        yield {"step": step, "results": results}
        args = list(args)
        for result, argument in repeat.get("feed", {}).items():
            args[argument] = results[int(result)]
    yield {"done": "times", "steps": repeat["times"]}


@pytest.mark.parametrize("accept", [LINES, EVENTS])
def test_a_loop_is_so_many_calls(both, accept):
    for function, args, repeat in ROWS:
        reply = ask(both, function, args, repeat, accept)
        assert reply.status == 200, (function, reply.body)
        assert reply.headers["Content-Type"] == accept
        # Compared as text: 0 is not -0, and 5 is not 5.0.
        assert (repr(split(reply.body, accept))
                == repr(list(calls(both, function, args, repeat)))), function


def test_until_and_emit(both):
    until_met = {"times": 99, "feed": {"0": 0}, "until": {"result": 0, "equals": 720}, "emit": []}
    assert split(ask(both, f"{SCALARS}/fact", [3], until_met).body) == [
        {"step": 1, "results": []}, {"step": 2, "results": []}, {"done": "until", "steps": 2}]


def test_many_steps_come_in_many_parts(both):
    """The steps take more time than one turn may, and than one client may delay others."""
    times = 100_000
    lines = split(ask(both, f"{SCALARS}/hyp", [3, 4], {"times": times, "feed": {"0": 1}}).body)
    assert [line.get("step") for line in lines] == [*range(1, times + 1), None]
    assert lines[-1] == {"done": "times", "steps": times}
    assert lines[-2]["results"] == both.results(
        f"{SCALARS}/hyp", [3, lines[-3]["results"][0]])


@pytest.mark.parametrize("function, args, repeat, code, pointer", [
    ("fact", [1], {"times": 10_000_001}, "out_of_range", "/repeat/times"),
    ("fact", [1], {"times": 2, "feed": {"0": 9}}, "out_of_range", "/repeat/feed/0"),
    ("pair", [1, 2], {"times": 2, "feed": {"0": 1}}, "type_mismatch", "/repeat/feed/0"),
    ("fact", [1], {"times": 2, "until": {"result": 0, "above": 9}}, "unknown_key",
     "/repeat/until/above"),
    ("fact", [1], {}, "missing_key", "/repeat"),
    ("fact", [True], {"times": 1}, "type_mismatch", "/args/0")])
def test_what_cannot_be_is_refused_before_the_first_step(both, function, args, repeat, code,
                                                         pointer):
    reply = ask(both, f"{SCALARS}/{function}", args, repeat)
    assert (reply.status, reply.json["code"]) == (422, code), reply.body
    assert reply.json["pointer"] == pointer


@pytest.mark.parametrize("most", [5, 10**12])
def test_how_many_steps_a_server_allows(serve, most):
    server = serve(IREE / "releases/scalars-3.13.0.vmfb", f"--max-steps={most}")
    reply = ask(server, f"{SCALARS}/fact", [1], {"times": most + 1})
    assert (reply.status, reply.json["code"]) == (422, "out_of_range"), reply.body
    assert reply.json["expected"] == f"1 to {most}"
    begin(server, most).close()
    assert alone(server)
    schema = server.get("/openapi.json").json["components"]["schemas"]["Repeat"]
    assert schema["properties"]["times"]["maximum"] == most


@pytest.mark.parametrize("query, headers, status, code", [
    ("?iterate=2", {}, 400, "unknown_field"),
    ("?iterate&iterate=1", {}, 400, "unknown_field"),
    ("?iterate&validate=only", {}, 400, "unknown_field"),
    ("?timing=1", {}, 400, "unknown_field"),
    ("?iterate&timing=2", {}, 400, "unknown_field"),
    ("?iterate", {"Accept": "application/json"}, 406, "not_acceptable"),
    ("?iterate", {"Content-Type": "application/x-npy"}, 415, "unsupported_media_type"),
    ("", {}, 400, "unknown_field")])
def test_heads(both, query, headers, status, code):
    reply = both.request("POST", f"/api/v1/functions/{SCALARS}/fact{query}",
                         '{"args":[1],"repeat":{"times":1}}', headers)
    assert (reply.status, reply.json["code"]) == (status, code), reply.body


def ask_in_vain(server, function, args, repeat, accept, **headers):
    """The documents of a loop that fails half-way. If they are events, the answer is
    not cut: an event names its own kind."""
    asked = server, function, args, repeat, accept
    if accept == EVENTS:
        return split(ask(*asked, **headers).body, accept)
    with pytest.raises(http.client.IncompleteRead) as cut:
        ask(*asked, **headers)
    return split(cut.value.partial)


@pytest.mark.parametrize("accept", [LINES, EVENTS])
def test_a_step_that_fails_is_the_last(both, accept):
    reply = ask(both, f"{SCALARS}/divide", [3, 0], {"times": 3}, accept)
    assert (reply.status, reply.json["code"]) == (422, "call_failed")
    assert reply.json["detail"].startswith("step 1: ")
    # The steps are 0 = 3 / 4, then 3 / 0.
    first, last = ask_in_vain(both, f"{SCALARS}/divide", [3, 4], {"times": 9, "feed": {"0": 1}},
                              accept)
    assert first == {"step": 1, "results": [0]}
    assert (last["code"], last["step"]) == ("call_failed", 2)
    assert last["detail"].startswith("step 2: ")
    assert both.results(f"{SCALARS}/divide", [8, 4]) == [2]


# ---------------------------------------------------------------------------
# What logs and headers say of an answer in parts


STAGES = ["read", "route", "admit", "queue", "decode", "call", "encode", "write"]
TIMED = f"{SCALARS}/hyp?iterate&timing=1"


@pytest.mark.parametrize("accept", [LINES, EVENTS])
@pytest.mark.parametrize("times", [1, 100_000])
def test_the_end_says_where_the_time_went(both, accept, times):
    """The answer has one part, or many."""
    body = json.dumps({"args": [3, 4], "repeat": {"times": times, "feed": {"0": 1}, "emit": []}})
    began = time.monotonic()
    reply = both.request("POST", f"/api/v1/functions/{TIMED}", body, {"Accept": accept})
    ms = (time.monotonic() - began) * 1e3
    assert reply.headers.get("X-Accel-Buffering") == (None if times == 1 else "no")
    *steps, last = split(reply.body, accept)
    assert steps == [{"step": step, "results": []} for step in range(1, times + 1)]
    timing = last.pop("timing")
    assert last == {"done": "times", "steps": times}
    assert list(timing) == STAGES and all(each >= 0 for each in timing.values())
    # Rounding makes each time less than a microsecond too small.
    assert 0 < sum(timing.values()) <= ms, (timing, ms)
    if times == 1:
        said = dict(each.split(";dur=") for each in reply.headers["Server-Timing"].split(","))
        assert timing == {name: float(each) for name, each in said.items()}


def test_an_end_by_an_error_has_no_times(both):
    with pytest.raises(http.client.IncompleteRead) as cut:
        both.request("POST", f"/api/v1/functions/{SCALARS}/divide?iterate&timing=1", json.dumps(
            {"args": [3, 4], "repeat": {"times": 9, "feed": {"0": 1}}}))
    first, last = split(cut.value.partial)
    assert "timing" not in first and "timing" not in last and last["step"] == 2


def metrics(server):
    text = server.get("/metrics").body.decode()
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("farcall_"))


def test_log_metrics_and_answer_say_the_same(serve):
    server = serve(IREE / "releases/scalars-3.13.0.vmfb", "--access-log=on", "--log-format=json")
    reply = ask(server, f"{SCALARS}/hyp", [3, 4], {"times": 100_000, "feed": {"0": 1}})
    found = metrics(server)
    assert server.stop() == 0
    line, = [each for each in map(json.loads, server.lines) if each.get("function") == "hyp"]
    assert line["status"] == 200 and line["bytes_out"] == len(reply.body)
    assert 1 < line["parts"] <= 100_000 and 0 < line["first_us"] <= line["us"]
    assert [float(found[f"farcall_{name}"]) for name in (
        "answers_in_parts_total", "answers_in_parts_open", "answers_cut_total", "parts_total",
        "parts_bytes_total")] == [1, 0, 0, line["parts"], len(reply.body)]
    assert int(float(found["farcall_first_part_seconds_total"]) * 1e6) == \
        pytest.approx(line["first_us"], abs=1)
    place = f'{{module="{SCALARS}",function="hyp"'
    assert float(found[f'farcall_call_sent_bytes_total{place}}}']) == len(reply.body)
    assert float(found[f'farcall_calls_total{place},code="ok"}}']) == 1
    assert float(found[f"farcall_call_duration_seconds_count{place}}}"]) == 0


@pytest.mark.parametrize("accept", [LINES, EVENTS])
def test_log_and_metrics_say_what_ended_it(serve, accept):
    server = serve(IREE / "releases/scalars-3.13.0.vmfb", "--access-log=on", "--log-format=json")
    first, last = ask_in_vain(server, f"{SCALARS}/fact", [20], ENDLESS, accept,
                              **{"Farcall-Timeout-Ms": "500"})
    assert first["step"] == 1
    assert (last["code"], last["status"], last["step"]) == ("deadline_exceeded", 504, 2)
    found = metrics(server)
    assert server.stop() == 0
    line, = [each for each in map(json.loads, server.lines) if each.get("function") == "fact"]
    assert (line["status"], line["code"], line["level"]) == (200, "deadline_exceeded", "warn")
    assert found["farcall_answers_cut_total"] == "1"


# ---------------------------------------------------------------------------
# Clients that leave, and slow clients


def begin(server, times, room=4096):
    return begin_with(server, "hyp", [3, 4], {"times": times, "feed": {"0": 1}}, room)


def begin_with(server, function, args, repeat, room=4096):
    """A client that has read the first line and does not read further."""
    body = json.dumps({"args": args, "repeat": repeat})
    client = socket.create_connection((server.host, server.port), timeout=60)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    client.sendall(f"POST /api/v1/functions/{SCALARS}/{function}?iterate HTTP/1.1\r\n"
                   f"Host: {server.host}\r\nContent-Length: {len(body)}\r\n\r\n"
                   f"{body}".encode())
    read = b""
    while b'{"step":1,' not in read:
        read += client.recv(4096)
        assert read.startswith(b"HTTP/1.1 200 "), read
    return client


def alone(server):
    """Waits until only this request's connection is left."""
    deadline = time.monotonic() + 60
    while server.get("/api/v1").json["in_flight"]["connections"] > 1:
        assert time.monotonic() < deadline, "a loop goes on"
        time.sleep(0.02)
    return True


def test_a_client_that_leaves_ends_its_loop(both):
    clients = [begin(both, 10_000_000) for _ in range(3)]
    for client in clients:
        client.close()
    assert alone(both)
    assert both.results(f"{SCALARS}/hyp", [3, 4]) == [5.0]


def test_the_first_step_does_not_wait_for_the_second(both):
    reset(begin_with(both, "fact", [20], ENDLESS))
    assert alone(both)


def reset(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def test_a_client_that_sends_no_more_reads_to_the_end(both):
    """The client's FIN comes while the server waits until it reads. Only a reset would
    end the loop."""
    client, end = begin(both, 200_000, 1 << 18), b""
    stall(both)
    client.shutdown(socket.SHUT_WR)
    while got := client.recv(1 << 16):
        end = (end + got)[-200:]
    client.close()
    assert end.endswith(b'{"done":"times","steps":200000}\n\r\n0\r\n\r\n')
    client = begin(both, 10_000_000)
    client.shutdown(socket.SHUT_WR)
    reset(client)
    assert alone(both)


def stall(server):
    """Waits until the server makes no more parts, because the client has no room for
    one."""
    last, running = None, f'farcall_calls_running{{module="{SCALARS}"}}'
    while last != (last := parts(server)) or float(metrics(server)[running]):
        time.sleep(0.1)


def kill_workers(server):
    for each in server.get(f"/api/v1/modules/{SCALARS}").json["host"]["workers"]:
        os.kill(each["pid"], signal.SIGKILL)


def test_a_process_that_ends_between_two_turns_is_not_missed(serve):
    server = serve(IREE / "releases/scalars-3.13.0.vmfb", "--isolation=process",
                   "--workers=1")
    ends = []
    for kill in False, True:
        client, end = begin(server, 200_000, 1 << 18), b""
        stall(server)
        if kill:
            kill_workers(server)
        while got := client.recv(1 << 16):
            end = (end + got)[-4096:]
            if end.endswith(b"\r\n0\r\n\r\n"):
                break
        client.close()
        ends.append(end[-500:])
    assert b'{"done":"times","steps":200000}\n' in ends[0]
    assert ends[1][-100:] == ends[0][-100:]
    restarts = re.search(rf'^farcall_worker_restarts_total{{module="{SCALARS}"}} (\d+)$',
                         server.get("/metrics").body.decode(), re.MULTILINE)
    assert int(restarts[1]) == 1


def test_a_process_that_ends_in_a_turn_ends_the_loop(serve):
    server = serve(IREE / "releases/scalars-3.13.0.vmfb", "--isolation=process",
                   "--workers=1", "--crash-limit=0")
    client, end = begin(server, 10_000_000, 1 << 20), b""
    killer = threading.Timer(0, kill_workers, [server])
    killer.start()
    while got := client.recv(1 << 16):  # until a kill meets a turn
        end = (end + got)[-4096:]
        if not killer.is_alive():
            killer = threading.Timer(0.01, kill_workers, [server])
            killer.start()
    client.close()
    killer.join()
    *told, error = [json.loads(line) for line in end.splitlines()
                    if line.startswith(b"{") and line.endswith(b"}")]
    # The second code: processes were killed three times before they began the turn.
    assert error["code"] in ("worker_out_of_memory", "worker_crashed")
    assert not end.endswith(b"0\r\n\r\n")
    # The steps of the turn that was lost are not in the answer.
    assert error["step"] > (told[-1]["step"] if told else 1)
    assert server.results(f"{SCALARS}/hyp", [3, 4]) == [5.0]
    assert alone(server)


def test_a_drain_says_why_it_ends_loops(serve):
    server = serve(IREE / "releases/scalars-3.13.0.vmfb", "--drain=100ms", "--access-log=on",
                   "--workers=2")
    client = begin(server, 10_000_000)
    stall(server)
    assert server.stop() == 0
    client.close()
    ends = [json.loads(line) for line in server.lines if '"parts":' in line]
    assert [(each["status"], each["code"], each["level"])
            for each in ends] == [(200, "shutting_down", "warn")]


def parts(server):
    return re.search(r"^farcall_parts_total (\d+)$", server.get("/metrics").body.decode(),
                     re.MULTILINE)[1]


def test_a_client_that_does_not_read_holds_nobody_up(both):
    clients = [begin(both, 10_000_000) for _ in range(3)]
    for _ in range(50):
        assert both.results(f"{SCALARS}/hyp", [3, 4]) == [5.0]
    # --write-timeout ends the loops.
    assert alone(both)
    for client in clients:
        client.close()

# SPDX-License-Identifier: Apache-2.0
"""Steps of scenarios (scenarios.py) about answers in parts: loops on the server that
are read to the end, or whose client leaves in each state."""
import json
import re
import socket
import struct

from traced import PATIENCE, Torn

LOOP = "/api/v1/functions/s/hyp?iterate"
TIMES = 3000  # more than a turn has time for


def document(times):
    return json.dumps({"args": [3, 4], "repeat": {"times": times, "feed": {"0": 1}}})


def is_whole(got):
    lines = got.body.replace(b"data: ", b"").split()
    return (len(lines) == TIMES + 1 and lines[0] == b'{"step":1,"results":[5.0]}'
            and json.loads(lines[-1]) == {"done": "times", "steps": TIMES})


def loop(client):
    client.ask("POST", LOOP, document(TIMES), {"Accept": "application/x-ndjson"}, want=is_whole)


def says_what_failed(got):
    """True if the events end properly although a step failed: the last one is the
    error. The steps of a lost turn are not in the answer."""
    *steps, error = map(json.loads, got.body.replace(b"data: ", b"").split(b"\n\n")[:-1])
    return (error.get("error") and error["status"] >= 400 and error["code"] != "internal"
            and 0 < len(steps) < error["step"] <= TIMES
            and [each.get("step") for each in steps] == list(range(1, len(steps) + 1)))


def loop_of_events(client):
    got = client.ask("POST", LOOP, document(TIMES), {"Accept": "text/event-stream"},
                     want=lambda got: is_whole(got) or not client.calm and says_what_failed(got))
    if not is_whole(got):
        client.outcomes["refused"] += 1
        raise Torn(repr(got.body[-300:]))


def loop_afresh(client):
    """Each step runs in a process of its own."""
    client.ask("POST", "/api/v1/functions/tensor/matmul?iterate", json.dumps(
        {"args": [[[1, 1], [1, 0]]] * 2, "repeat": {"times": 3, "feed": {"0": 0}}}),
        want=lambda got: b"[5.0,3.0]" in got.body and b'"done"' in got.body)


# How far a client reads before it leaves: before the first part, after it, when the
# server waits for the reader, and after the last part.
STATES = (b"", b'"step":1,', b"stalled", b'{"done"')


def leave(client, state):
    times = TIMES if state == STATES[-1] else 10_000_000
    body = document(times).encode()
    with socket.socket() as connection:
        connection.settimeout(PATIENCE)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(client.server.address)
        connection.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
                           % (LOOP.encode(), len(body), body))
        read = b""
        while state not in read and state != b"stalled":
            part = connection.recv(65536)
            if not part:
                raise OSError(f"closed after {read[-80:]!r}")
            read = read[-200:] + part
        if state == b"stalled":
            still(client)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def number(client, name):
    found = []
    client.ask("GET", "/metrics", want=lambda got: found.append(
        re.search(rf"^{re.escape(name)} (\d+)$", got.body.decode(), re.M)) or found[-1])
    return int(found[-1][1])


def still(client):
    """Waits until no more parts are made."""
    last = []

    def same():
        last.append(number(client, "farcall_parts_total"))
        return len(last) > 1 and last[-1] == last[-2]
    client.until(same, "the end of parts")


def loops_left(client):
    """The next call works, and none of the earlier loops still runs."""
    for state in STATES:
        try:
            leave(client, state)
        except OSError as error:
            client.outcomes["closed"] += 1
            raise Torn(repr(error)) from None
    client.call("s/fact", [5], [120])
    for name in "farcall_answers_in_parts_open", 'farcall_calls_running{module="s"}':
        client.until(lambda name=name: number(client, name) == 0, f"0 {name}")

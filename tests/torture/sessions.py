# SPDX-License-Identifier: Apache-2.0
"""Steps of scenarios (scenarios.py) about values that stay: a session with a value, its
fork, calls that write into both, and the end of both."""
import json

SESSIONS = "/api/v1/modules/roles/sessions"
BEGIN = {"ttl_ms": 60000, "values": {"c": {"dtype": "f32", "shape": [4], "data": [0] * 4}}}
KEPT = {"ref": "c", "type": {"kind": "tensor", "dtype": "f32", "shape": [4]}}


def make(client, path, body=b""):
    reply = client.ask("POST", path, body, status=201)
    return reply.json["session"]


def bump(client, session, times):
    """Call number `times`, which adds 1, 2, 3, 4 to the value."""
    client.call("roles/bump", [[1, 2, 3, 4], {"ref": "c"}],
                [[times * x * x for x in (1.0, 2.0, 3.0, 4.0)], KEPT],
                fields={"Farcall-Session": session, "Farcall-Session-Step": str(times - 1)})


def session(client):
    one = make(client, SESSIONS, json.dumps(BEGIN))
    bump(client, one, 1)
    other = make(client, f"{SESSIONS}/{one}/fork")
    bump(client, other, 2)
    bump(client, other, 3)
    bump(client, one, 2)
    client.ask("GET", f"{SESSIONS}/{other}/values/c", want={"results": [
        {"dtype": "f32", "shape": [4], "data": [3.0, 6.0, 9.0, 12.0]}]})
    client.ask("GET", f"{SESSIONS}/{one}/export", want=lambda got: len(got.body) > 16)
    for each in one, other:
        client.ask("DELETE", f"{SESSIONS}/{each}", want={"ended": True})

# SPDX-License-Identifier: Apache-2.0
"""The access log: what the line of a failed request says, and at which level."""
import json

import pytest

from conftest import ROOT
from reloading import wait_until

SCALARS = ROOT / "tests/corpus/iree/releases/scalars-3.13.0.vmfb"


@pytest.fixture
def requests(serve):
    """Starts a server, lets `act` make requests, and returns their log lines by
    request_id."""
    def make(*options, act):
        server = serve("--log-format=json", "--access-log=on", *options)
        wanted = act(server)

        def lines():
            read = [json.loads(line) for line in list(server.lines) if line.startswith("{")]
            return {each["request_id"]: each for each in read if each["msg"] == "request"}
        wait_until(lambda: wanted <= lines().keys())
        return lines()
    return make


def ask(server, ident, method, path, body=None):
    return server.request(method, path, body, {"X-Request-Id": ident})


def test_a_line_says_what_the_client_was_told(requests):
    told = {}

    def act(server):
        for ident, method, path, body in [
                ("good", "POST", "/api/v1/functions/scalars-3.13.0/fact", "[5]"),
                ("type", "POST", "/api/v1/functions/scalars-3.13.0/fact", '["x"]'),
                ("fail", "POST", "/api/v1/functions/scalars-3.13.0/divide", "[1,0]"),
                ("none", "GET", "/api/v1/modules/none", None)]:
            told[ident] = ask(server, ident, method, path, body)
        return told.keys()
    found = requests(SCALARS, act=act)
    assert "detail" not in found["good"] and found["good"]["level"] == "info"
    for ident, status in [("type", 422), ("fail", 422), ("none", 404)]:
        line = found[ident]
        assert (line["status"], line["level"]) == (status, "info")
        assert line["detail"] == told[ident].json["detail"]


def test_what_is_the_servers_fault_is_a_warning(requests, tmp_path):
    (tmp_path / "broken.vmfb").write_bytes(SCALARS.read_bytes()[:1000])
    told = {}

    def act(server):
        told["it"] = ask(server, "it", "POST", "/api/v1/functions/broken/f", "[]")
        return {"it"}
    line = requests("--allow-empty", tmp_path / "broken.vmfb", act=act)["it"]
    assert (line["status"], line["level"]) == (503, "warn")
    assert line["detail"] == told["it"].json["detail"] and "broken" in line["detail"]

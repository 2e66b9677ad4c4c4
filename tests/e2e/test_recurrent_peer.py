# SPDX-License-Identifier: Apache-2.0
"""An LSTM, exported to ONNX and compiled, whose state is kept in a session. In each of
a thousand steps only the input is sent. The results must be those of onnxruntime,
which is given the state in each step."""
import json
import subprocess

import numpy
import pytest

from conftest import BIN, ROOT

STEPS = 1000
STATE = {"h": {"argument": 1, "result": 1}, "c": {"argument": 2, "result": 2}}


@pytest.fixture(scope="module")
def lstm(onnx_tools, tmp_path_factory):
    """(the module, the results of onnxruntime for the inputs)"""
    folder = tmp_path_factory.mktemp("lstm")
    subprocess.run([onnx_tools / "python3", ROOT / "tests/e2e/recurrent_steps.py",
                    folder / "lstm.onnx", folder / "steps.npz", str(STEPS)],
                   check=True, timeout=300)
    subprocess.run([BIN / "farcall", "compile", folder / "lstm.onnx", "--tools", onnx_tools,
                    "-o", folder / "lstm.vmfb"], check=True, timeout=300)
    sidecar = folder / "lstm.farcall.json"
    description = json.loads(sidecar.read_text())
    description["functions"][0]["state"] = STATE
    sidecar.write_text(json.dumps(description))
    return folder / "lstm.vmfb", numpy.load(folder / "steps.npz")


def close(got, expected):
    numpy.testing.assert_allclose(numpy.array(got, "f4").reshape(expected.shape), expected,
                                  rtol=1e-4, atol=1e-5)


def begin(server):
    reply = server.request("POST", "/api/v1/modules/lstm/sessions")
    return reply.json["session"]


def step(server, session, x, **fields):
    reply = server.request("POST", "/api/v1/functions/lstm/lstm", json.dumps([x.tolist()]),
                           {"Farcall-Session": session, **fields})
    assert reply.status == 200, reply.body
    (y,) = reply.json["results"]
    return y


def check_values(server, session, expected):
    for name in STATE:
        reply = server.get(f"/api/v1/modules/lstm/sessions/{session}/values/{name}")
        close(reply.json["results"][0]["data"], expected[name])


def test_a_thousand_steps_are_those_of_onnxruntime(serve, lstm):
    module, expected = lstm
    server = serve("--workers=2", module)
    said = server.get("/api/v1/functions/lstm/lstm").json
    assert [each["name"] for each in said["state"]] == list(STATE)
    session, other = begin(server), begin(server)
    for n, x in enumerate(expected["inputs"]):
        close(step(server, session, x, **{"Farcall-Session-Step": str(n)}),
              expected["outputs"][n])
        if n % 10 == 0:  # one beside it with inputs of its own leaves it alone
            step(server, other, -x)
    check_values(server, session, expected)


def test_without_a_session_each_call_begins_anew(serve, lstm):
    module, expected = lstm
    server = serve(module)
    session = begin(server)
    for n in range(5):
        close(step(server, session, expected["inputs"][n]), expected["outputs"][n])
        (y,) = server.results("lstm/lstm", [expected["inputs"][0].tolist()])
        close(y, expected["outputs"][0])

# SPDX-License-Identifier: Apache-2.0
"""Many modules, loaded when they are asked for: what is loaded keeps within the memory
that modules may take, calls go on, and what is unloaded is given back."""
import json
import random

import pytest

from demanding import LIMIT, Many, farm, within
from reloading import taken

COUNT = 60


@pytest.fixture
def many(tmp_path):
    return Many(farm(tmp_path, COUNT, 5, 300000), COUNT)


def test_modules_take_turns(serve, many):
    server = serve("--load=demand", f"--module-memory={LIMIT}", many.folder)
    order = [random.Random(7).randrange(COUNT) for _ in range(4 * COUNT)]
    for number in order:
        assert server.results(*many.call(number)) == many.answer(number)
        within(server)
    metrics = server.get("/metrics").body.decode()
    assert "farcall_module_load_failures_total 0" in metrics
    states = [each["state"] for each in server.get("/api/v1/modules").json["modules"]]
    assert states.count("ready") + states.count("described") >= COUNT
    assert "described" in states
    before = taken(server.pid)
    for number in order:
        assert server.results(*many.call(number)) == many.answer(number)
    after = taken(server.pid)
    print(f"{len(order)} calls more: {before} -> {after}")


def test_each_protocol_has_a_module_loaded(serve, many):
    """Each asks for modules of its own, which nobody has asked for before."""
    server = serve("--load=demand", many.folder)
    asked = {
        "native": lambda number: server.results(*many.call(number))[0],
        "oip": lambda number: server.request("POST", f"/v2/models/m{number}/infer", json.dumps(
            {"inputs": [{"name": "0", "shape": [], "datatype": "INT64", "data": [number]}]})
        ).json["outputs"][0]["data"][0],
        "tf": lambda number: server.request(
            "POST", f"/v1/models/m{number}:predict", json.dumps({"inputs": number})
        ).json["outputs"],
        "tf, a version": lambda number: server.request(
            "POST", f"/v1/models/m{number}/versions/1:predict",
            json.dumps({"inputs": number})).json["outputs"],
    }
    for at, call in enumerate(asked.values()):
        for number in range(at, COUNT, 20):
            state = server.get(f"/api/v1/modules/m{number}").json["state"]
            assert state == "described"
            assert [call(number)] == many.answer(number)
            state = server.get(f"/api/v1/modules/m{number}").json["state"]
            assert state == "ready"
    for number in (40, 41):  # its documents read the file and load nothing
        assert server.get(f"/v1/models/m{number}/metadata").json["model_spec"]["version"] == "1"
        assert server.get(f"/v1/models/m{number}").json["ready"] in (True, False)
    assert server.get("/v1/models/none").status == 404


def test_calls_from_many_sides(serve, many):
    server = serve("--load=demand", f"--module-memory={LIMIT}", many.folder)
    wrong = many.call_all(server, threads=8, rounds=2)
    assert wrong == []
    within(server)


def test_a_start_that_is_full_loads_no_more(serve, many):
    server = serve(f"--module-memory={LIMIT}", many.folder)
    assert server.get("/readyz").json == {"status": "ready", "modules": COUNT,
                                          "failed": 0}
    for number in range(COUNT):
        assert server.results(*many.call(number)) == many.answer(number)
    within(server)

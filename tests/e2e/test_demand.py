# SPDX-License-Identifier: Apache-2.0
"""Many modules, loaded when they are asked for: what is loaded keeps within the memory
that modules may take, calls go on, and what is unloaded is given back."""
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

# SPDX-License-Identifier: Apache-2.0
"""--fresh=call: each call gets a process of its own, which was started before the call
came."""
import json
import threading

from conftest import RELEASES
from gated import Gated
from reloading import wait_until

MODULE = RELEASES / "scalars-3.13.0.vmfb"


def processes(server, name="gated"):
    return server.get(f"/api/v1/modules/{name}").json["host"]["workers"]


def states(server):
    return sorted(each["state"] for each in processes(server))


def test_nothing_of_a_call_is_there_for_the_next(serve, tmp_path):
    gated = Gated(tmp_path)
    gated.open()
    kept = serve("--isolation=process", "--workers=1", *gated.words)
    assert [kept.results("gated/pass", [0]) for _ in range(3)] == [[1], [2], [3]]
    fresh = serve("--fresh=call", "--isolation=process", "--workers=2", *gated.words)
    assert [fresh.results("gated/pass", [0]) for _ in range(20)] == [[1]] * 20
    metrics = fresh.get("/metrics").body.decode()
    assert 'farcall_worker_restarts_total{module="gated"} 0' in metrics
    assert not any("crashed" in each for each in fresh.lines)


def test_each_step_of_a_loop_is_a_call(serve, tmp_path):
    gated = Gated(tmp_path)
    gated.open()
    loop = json.dumps({"args": [0], "repeat": {"times": 3}})
    for fresh, counted in (("off", [1, 2, 3]), ("call", [1, 1, 1])):
        server = serve(f"--fresh={fresh}", "--isolation=process", "--workers=1", *gated.words)
        reply = server.request("POST", "/api/v1/functions/gated/pass?iterate", loop)
        *steps, done = [json.loads(each) for each in reply.body.splitlines()]
        assert [each["results"] for each in steps] == [[each] for each in counted]
        assert done == {"done": "times", "steps": 3}


def test_the_next_process_is_ready_while_a_call_runs(serve, tmp_path):
    gated = Gated(tmp_path)
    server = serve("--fresh=call", "--isolation=process", "--workers=2", *gated.words)
    wait_until(lambda: states(server) == ["idle", "idle"])
    calls = [threading.Thread(target=server.call, args=("gated/pass", [each]))
             for each in range(5)]
    for each in calls:
        each.start()
    # At most two calls run, and a process is ready for each of the next two.
    wait_until(lambda: states(server) == ["busy", "busy", "idle", "idle"])
    host = server.get("/api/v1/modules/gated").json["host"]
    wait_until(lambda: server.get("/api/v1/modules/gated").json["host"]["waiting"] == 3)
    assert host["running"] == 2
    pids = {each["pid"] for each in processes(server)}
    gated.open()
    for each in calls:
        each.join(timeout=60)
    assert sorted(gated.order()) == [0, 1, 2, 3, 4]
    wait_until(lambda: states(server) == ["idle", "idle"])
    assert not {each["pid"] for each in processes(server) if each["calls"]}
    assert len(pids) == 4


def test_bytecode_too(serve):
    """With --fresh=call bytecode runs in processes, whatever --isolation says."""
    server = serve("--fresh=call", "--isolation=thread", "--workers=1", MODULE)
    for _ in range(3):
        assert server.results("scalars-3.13.0/fact", [5]) == [120]
    host = server.get("/api/v1/modules/scalars-3.13.0").json["host"]
    assert host["isolation"] == "process"


def test_one_module_alone(serve, tmp_path):
    gated = Gated(tmp_path)
    gated.open()
    path = tmp_path / "farcalld.conf"
    path.write_text(json.dumps({"paths": [str(gated.folder), str(MODULE)],
                                "isolation": "process", "workers": 1,
                                "modules": {"gated": {"fresh": "call", "sandbox": "off"}}}))
    server = serve("--isolation=process", "-c", path)
    assert [server.results("gated/pass", [0]) for _ in range(3)] == [[1]] * 3
    hosts = {name: server.get(f"/api/v1/modules/{name}").json["host"]
             for name in ("gated", "scalars-3.13.0")}
    assert {name: (each["fresh"], each["sandbox"]) for name, each in hosts.items()} == {
        "gated": ("call", "off"), "scalars-3.13.0": ("off", "auto")}
    for _ in range(3):
        server.results("scalars-3.13.0/fact", [5])
    assert [each["calls"] for each in processes(server, "scalars-3.13.0")] == [3]


def test_large_bodies_and_answers(serve, modules):
    """In processes, large ones are in files, which the module's next processes get, too."""
    server = serve("--fresh=call", "--isolation=process", "--workers=1",
                   modules / "corpus" / "tensor.so")
    for each in range(3):
        values = [each + 0.5] * 300000
        assert server.results("tensor/identity", [values]) == [values]


def test_a_crash_costs_its_call_alone(serve, tmp_path):
    gated = Gated(tmp_path)
    gated.open()
    server = serve("--fresh=call", "--isolation=process", "--workers=2", *gated.words)
    for each in range(3):
        assert server.call("gated/crash", [each]).status == 502
        assert server.results("gated/pass", [each]) == [1]

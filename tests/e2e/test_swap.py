# SPDX-License-Identifier: Apache-2.0
"""A new file must prove itself before it serves. If it is broken, lacks functions, has
one wrong value, crashes late or hangs, it is refused with a reason, and the old one
goes on serving."""
import json
import os
import signal
import subprocess

from conftest import Server, end_servers
from reloading import Callers, SIDECAR, post_act, wait_until

RELOAD = "/api/v1/modules/numbered/reload"
TESTS = [{"args": [x], "results": [x * 1000000], "tolerance": {"abs": 999999}}
         for x in (0, 1, 7)]


def expect(module, *calls):
    module.path.with_name("numbered.tests.jsonl").write_text(
        "\n".join(json.dumps(each) for each in calls))


def build(module, work, body):
    """Replaces the module's file by one whose function has this body."""
    source, made = work / "other.c", module.path.with_name("next")
    source.write_text(f"#include <unistd.h>\nlong long _mlir_ciface_number(long long x) {{ {body} }}")
    subprocess.run(["cc", "-O0", "-fPIC", "-shared", "-o", made, source], check=True)
    made.rename(module.path)


def refused(server, detail, code="self_test_failed", status=422):
    first = server.get("/api/v1/modules/numbered").json["generation"]
    answer = server.request("POST", RELOAD)
    assert (answer.status, answer.json["code"]) == (status, code), answer.body
    assert detail in answer.json["detail"], answer.json
    document = server.get("/api/v1/modules/numbered").json
    assert document["refused"]["detail"] == answer.json["detail"]
    assert (document["generation"], document["state"]) == (first, "ready")
    return answer.json


def test_what_is_broken_never_serves(serve, numbered, tmp_path):
    expect(numbered, *TESTS)
    server = serve("--admin=loopback", numbered.path.parent)
    with Callers(server, 16) as callers:
        build(numbered, tmp_path, "return x == 7 ? x : x * 1000000;")
        problem = refused(server, "self-test, line 3, /results/0: expected 7000000, got 7")
        assert problem["pointer"] == "/results/0"
        assert (problem["expected"], problem["got"]) == ("7000000", "7")
        build(numbered, tmp_path, "return x == 1 ? *(volatile int *)8 : x * 1000000;")
        refused(server, "self-test, line 2: worker_crashed: function 'number' was stopped "
                        "by signal 11 (SIGSEGV)")
        numbered.path.with_name("next").write_bytes(numbered.bytes[:1000])
        numbered.path.with_name("next").rename(numbered.path)
        refused(server, "numbered.so", "module_load")
        sidecar = numbered.path.with_name("numbered.farcall.json")
        narrowed = json.loads(json.dumps(SIDECAR).replace("i64", "i32"))
        sidecar.write_text(json.dumps(narrowed))
        numbered.put(1)
        refused(server, "argument 0: was i64, is i32", "signature_narrowed", 409)
        sidecar.write_text(json.dumps(SIDECAR))
        callers.newest = 2
        numbered.put(2)
        assert server.request("POST", RELOAD).status == 200
        callers.oldest = 2
        wait_until(lambda: callers.calls > 64)
    assert callers.wrong == []
    assert server.stop() == 0
    told = "".join(server.lines)
    for said in ["expected 7000000, got 7", "line 2: worker_crashed", "is i32"]:
        assert told.count(said) >= 2  # of the module, and of the act
    assert '"self-test passed"' in told


def test_what_cannot_be_tested_is_refused(serve, numbered):
    server = serve("--admin=loopback", numbered.path.parent)
    numbered.put(1)
    expect(numbered, {"result": [1]})
    refused(server, "numbered.tests.jsonl: line 1: no member 'result': did you mean")
    expect(numbered, {"function": "nummer"})
    refused(server, "self-test, line 1 ('nummer'): function_not_found")
    expect(numbered, {"args": ["x"], "error": "call_failed"})
    refused(server, "type_mismatch")
    expect(numbered, {"args": ["x"], "error": "type_mismatch"})
    assert server.request("POST", RELOAD).status == 200


def test_a_sidecar_says_how_it_is_tried(serve, numbered):
    sidecar = numbered.path.with_name("numbered.farcall.json")
    sidecar.write_text(json.dumps({**SIDECAR, "self_test": TESTS, "warm_up": 3}))
    expect(numbered, {"args": [1], "results": ["never read"]})
    server = serve("--admin=loopback", numbered.path.parent)
    assert server.results("numbered/number", [1]) == [1000000]
    for said, member in [("'warm_up' must be", {"warm_up": -1}),
                         ("/self_test must be", {"self_test": 1}),
                         ("'rollback' must be", {"rollback": True}),
                         ("line 1, /results/0: expected 3, got 0",
                          {"self_test": [{"args": [0], "results": [3]}]})]:
        sidecar.write_text(json.dumps({**SIDECAR, **member}))
        refused(server, said)


def test_a_module_is_ready_when_it_is_warm(serve, numbered, tmp_path):
    """The process that was warmed up is the one that serves: a client's first call is
    its third."""
    sidecar = numbered.path.with_name("numbered.farcall.json")
    sidecar.write_text(json.dumps({**SIDECAR, "warm_up": 2}))
    build(numbered, tmp_path, "static long long calls; return ++calls;")
    server = serve("--workers=1", numbered.path.parent)
    assert server.get("/readyz").status == 200
    assert server.results("numbered/number", [5]) == [3]


CRASHES = "if (x == -1) __builtin_trap(); return x * 1000000 + 1;"


def crash(server):
    """Makes calls until the old file serves again. The bodies differ, because a body
    that has crashed is refused."""
    statuses = []

    def is_back():
        body = "[-1]" + " " * len(statuses)
        statuses.append(server.call("numbered/number", body).status)
        return statuses[-1] == 200
    wait_until(is_back)
    return statuses


def test_a_file_that_crashes_on_first_use_goes_back(numbered, tmp_path, process_server):
    sidecar = numbered.path.with_name("numbered.farcall.json")
    sidecar.write_text(json.dumps({**SIDECAR, "rollback": "on-crash"}))
    state = tmp_path / "state"
    state.mkdir()
    words = ["--admin=loopback", "--state-dir", state, numbered.path.parent]
    server = process_server(*words)
    first = server.get("/api/v1/modules/numbered").json["sha256"]
    build(numbered, tmp_path, CRASHES)
    assert server.request("POST", RELOAD).status == 200
    second = server.get("/api/v1/modules/numbered").json["sha256"]
    assert server.results("numbered/number", [1]) == [1000001]
    statuses = crash(server)
    assert statuses.count(502) >= 3, statuses
    assert server.results("numbered/number", [-1]) == [-1000000]
    # The decision is in force once it is saved, and calls do not wait for that.
    wait_until(lambda: "refused" in server.get("/api/v1/modules/numbered").json)
    document = server.get("/api/v1/modules/numbered").json
    assert document["sha256"] == first and document["state"] == "ready"
    assert document["refused"]["code"] == "worker_crashed"
    assert "was rolled back: it crashed 3 times in its first 4 calls" in \
        document["refused"]["detail"]
    metrics = server.get("/metrics").body
    assert b"farcall_module_rollbacks_total 1" in metrics
    assert b'farcall_module_refused{module="numbered"} 1' in metrics
    # After a reload and after a restart, the file that was taken back is still refused,
    # until it changes.
    assert post_act(server, "/api/v1/reload").json["unchanged"] == 1
    assert server.get("/api/v1/modules/numbered").json["sha256"] == first
    assert server.stop() == 0
    acts = [json.loads(line) for line in server.lines if '"act":"rollback"' in line]
    assert len(acts) == 1 and acts[0]["code"] == "ok", acts
    assert (acts[0]["before"], acts[0]["after"]) == (second, first)
    assert sum("what served before serves again" in line for line in server.lines) == 1
    again = process_server(*words)
    document = again.get("/api/v1/modules/numbered").json
    assert document["state"] == "failed"
    assert "'numbered.so' was rolled back and has not changed" in document["reason"]
    assert again.get("/readyz").status == 503
    numbered.put(5)
    assert again.request("POST", "/api/v1/reload").json["loaded"] == 1
    assert again.results("numbered/number", [1]) == [1000005]


def go_back(server, numbered, tmp_path):
    """Lets a new file crash until the old one serves again and the decision is saved,
    or cannot be saved."""
    build(numbered, tmp_path, CRASHES)
    assert post_act(server, RELOAD).status == 200
    crash(server)
    wait_until(lambda: any('"act":"rollback"' in line for line in server.lines))
    assert server.results("numbered/number", [-1]) == [-1000000]


def test_what_cannot_be_saved_is_refused_all_the_same(numbered, tmp_path, process_server):
    sidecar = numbered.path.with_name("numbered.farcall.json")
    sidecar.write_text(json.dumps({**SIDECAR, "rollback": "on-crash"}))
    (tmp_path / "state/modules.new").mkdir(parents=True)
    server = process_server("--admin=loopback", "--state-dir", tmp_path / "state",
                            numbered.path.parent)
    go_back(server, numbered, tmp_path)
    assert server.request("POST", "/api/v1/reload").json["unchanged"] == 1
    assert server.results("numbered/number", [-1]) == [-1000000]
    assert server.stop() == 0
    acts = [json.loads(line) for line in server.lines if '"act":"rollback"' in line]
    assert [each["code"] for each in acts] == ["module_unavailable"]
    assert "cannot write" in acts[0]["reason"]


def test_what_was_brought_back_makes_no_room(numbered, tmp_path, process_server):
    """Its file has changed since, so it could not be loaded again."""
    sidecar = numbered.path.with_name("numbered.farcall.json")
    sidecar.write_text(json.dumps({**SIDECAR, "rollback": "on-crash"}))
    server = process_server("--admin=loopback", "--module-memory=1G", numbered.path.parent)
    go_back(server, numbered, tmp_path)
    wait_until(lambda: b'"state":"draining"' not in server.get("/api/v1/modules").body)
    taken = server.get("/api/v1/modules/numbered?memory=1").json["memory"]
    other = numbered.path.with_name("other.so")
    other.write_bytes(numbered.bytes)
    sidecar.with_name("other.farcall.json").write_text(json.dumps(SIDECAR))
    os.truncate(other, (1 << 30) * 15 // 16 - taken * 3 // 2)  # room for it alone
    assert server.request("POST", "/api/v1/modules/other/load").json["code"] == \
        "memory_budget"
    assert server.get("/api/v1/modules/numbered").json["state"] == "ready"
    assert server.results("numbered/number", [-1]) == [-1000000]


def test_what_was_brought_back_is_not_tried(numbered, tmp_path, process_server):
    """It is not warmed up again: its first call is a client's."""
    config = tmp_path / "farcalld.conf"
    config.write_text(json.dumps({"modules": {"numbered": {
        "warm-up": 2, "rollback": "on-crash", "workers": 1}}}))
    build(numbered, tmp_path, "static long long calls; return ++calls;")
    server = process_server("--admin=loopback", "-c", config, numbered.path.parent)
    assert server.results("numbered/number", [0]) == [3]
    build(numbered, tmp_path, CRASHES)
    assert server.request("POST", RELOAD).status == 200
    assert crash(server)[-1] == 200  # the first
    assert server.results("numbered/number", [0]) == [2]


def test_who_is_to_be_hosted_otherwise_can_go_back_still(numbered, tmp_path, process_server):
    """If a module cannot be loaded again after SIGHUP, it goes on with the file that it
    has."""
    config = tmp_path / "farcalld.conf"

    def configure(workers):
        config.write_text(json.dumps({"modules": {"numbered": {
            "rollback": "on-crash", "workers": workers}}}))

    configure(1)
    server = process_server("--admin=loopback", "-c", config, numbered.path.parent)
    numbered.path.with_name("next").write_bytes(b"no module")
    numbered.path.with_name("next").rename(numbered.path)
    configure(2)
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "refused" in server.get("/api/v1/modules/numbered").json)
    go_back(server, numbered, tmp_path)


def test_who_goes_back_gets_a_process_for_each_call(numbered, tmp_path):
    """The old file ran in a thread, before the option asked for a process for each
    call."""
    config = tmp_path / "farcalld.conf"

    def configure(**more):
        config.write_text(json.dumps({"modules": {"numbered": {
            "rollback": "on-crash", **more}}}))

    configure()
    build(numbered, tmp_path, "static long long calls; return ++calls;")
    server = Server("--isolation=thread", "--admin=loopback", "-c", config,
                    numbered.path.parent)
    assert [server.results("numbered/number", [0]) for _ in range(2)] == [[1], [2]]
    build(numbered, tmp_path, CRASHES)
    configure(fresh="call")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.call("numbered/number", [1]).json == {"results": [1000001]})
    crash(server)
    host = server.get("/api/v1/modules/numbered").json["host"]
    assert (host["isolation"], host["fresh"]) == ("process", "call")
    assert [server.results("numbered/number", [0]) for _ in range(2)] == [[1], [1]]
    end_servers([server])


def test_who_goes_back_leaves_the_threads(numbered, tmp_path):
    """The old file ran in a thread, which the configuration no longer allows."""
    config = tmp_path / "farcalld.conf"

    def configure(**more):
        config.write_text(json.dumps({"modules": {"numbered": {
            "rollback": "on-crash", **more}}}))

    configure()
    server = Server("--isolation=thread", "--admin=loopback", "-c", config,
                    numbered.path.parent)
    assert server.get("/api/v1/modules/numbered").json["host"]["isolation"] == "thread"
    build(numbered, tmp_path, CRASHES)
    configure(isolation="process")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.call("numbered/number", [1]).json == {"results": [1000001]})
    crash(server)
    wait_until(lambda: any('"act":"rollback"' in line for line in server.lines))
    assert server.results("numbered/number", [-1]) == [-1000000]
    assert server.get("/api/v1/modules/numbered").json["host"]["isolation"] == "process"
    end_servers([server])


def test_what_has_proved_itself_does_not_go_back(numbered, tmp_path, process_server):
    sidecar = numbered.path.with_name("numbered.farcall.json")
    sidecar.write_text(json.dumps({**SIDECAR, "rollback": "on-crash"}))
    server = process_server("--admin=loopback", "--crash-limit=10", numbered.path.parent)
    build(numbered, tmp_path, CRASHES)
    assert server.request("POST", RELOAD).status == 200
    for x in range(101):
        server.results("numbered/number", [x + 100])
    for space in range(3):
        assert server.call("numbered/number", "[-1]" + " " * space).status == 502
    assert server.results("numbered/number", [1]) == [1000001]
    assert b"farcall_module_rollbacks_total 0" in server.get("/metrics").body


def test_a_test_that_does_not_end_is_refused(serve, numbered, tmp_path):
    expect(numbered, *TESTS)
    server = serve("--admin=loopback", "--timeout=5s", numbered.path.parent)
    build(numbered, tmp_path, "while (x == 7) sleep(1); return x * 1000000;")
    refused(server, "self-test, line 3: deadline_exceeded")
    assert server.results("numbered/number", [7]) == [7000000]


def test_the_configuration_says_how_a_module_is_tried(serve, numbered, tmp_path):
    calls = tmp_path / "calls.jsonl"
    calls.write_text(json.dumps({"args": [2], "results": [2000003]}))
    expect(numbered, {"args": [1], "results": ["never read"]})
    config = tmp_path / "farcalld.conf"
    config.write_text(json.dumps({"modules": {"numbered": {
        "self-test": str(calls), "warm-up": 2}}}))
    numbered.put(3)
    server = serve("--admin=loopback", "--config", config, numbered.path.parent)
    assert server.results("numbered/number", [1]) == [1000003]
    numbered.put(4)
    refused(server, "self-test, line 1, /results/0: expected 2000003, got 2000004")
    build(numbered, tmp_path, "static long long calls; return 2000003 + calls++;")
    assert server.request("POST", RELOAD).status == 200
    # The process in which the file was tested has left no traces.
    assert server.results("numbered/number", [1]) == [2000005]


def test_what_crashes_at_once_goes_back_under_load(numbered, tmp_path, process_server):
    """Calls that crash are lost, but no answer is wrong, and after the rollback no more
    calls are lost."""
    sidecar = numbered.path.with_name("numbered.farcall.json")
    sidecar.write_text(json.dumps({**SIDECAR, "rollback": "on-crash"}))
    server = process_server("--admin=loopback", numbered.path.parent)
    first = server.get("/api/v1/modules/numbered").json
    with Callers(server, 16) as callers:
        build(numbered, tmp_path, "__builtin_trap();")
        assert server.request("POST", RELOAD).status == 200
        wait_until(lambda: server.get("/api/v1/modules/numbered").json["sha256"] ==
                   first["sha256"])
    assert len(callers.wrong) >= 3
    assert [each[2].split()[1] for each in callers.wrong
            if each[2].split()[1] not in (b"502", b"503")] == []
    with Callers(server, 16) as callers:
        wait_until(lambda: callers.calls > 64)
    assert callers.wrong == []


def test_calls_that_crash_as_expected_are_no_mistake(serve, numbered, tmp_path):
    """The module is not quarantined for these crashes, and the warm-up omits them."""
    crash_call = {"args": [-1], "error": "worker_crashed"}
    sidecar = numbered.path.with_name("numbered.farcall.json")
    sidecar.write_text(json.dumps({**SIDECAR, "warm_up": 2, "self_test": [
        *[crash_call] * 12, {"args": [1], "results": [1000001]}]}))
    build(numbered, tmp_path, CRASHES)
    server = serve("--admin=loopback", numbered.path.parent)
    assert server.results("numbered/number", [1]) == [1000001]


def test_what_cannot_be_sent_is_no_call(serve, numbered):
    server = serve("--admin=loopback", "--max-body=1k", numbered.path.parent)
    expect(numbered, {"args": [1], "results": [1000000]}, {"args": ["x" * 2000]})
    refused(server, "self-test, line 2: body_too_large: the call has 2013 bytes")
    numbered.path.with_name("numbered.tests.jsonl").write_text("")
    assert server.request("POST", RELOAD).status == 200
    expect(numbered, {"args": ["x" * 1100000]})
    refused(server, "line 1: 1100014 bytes, at most 1048576 are read")


def test_the_configuration_comes_before_the_sidecar(numbered, tmp_path, process_server):
    sidecar = numbered.path.with_name("numbered.farcall.json")
    sidecar.write_text(json.dumps({**SIDECAR, "warm_up": 2, "self_test": [],
                                   "rollback": "on-crash"}))
    build(numbered, tmp_path, "static long long calls; if (x == -1) __builtin_trap(); "
                              "return ++calls;")
    server = process_server("--admin=loopback", numbered.path.parent)
    assert server.results("numbered/number", [1]) == [3]
    config = tmp_path / "farcalld.conf"
    config.write_text(json.dumps({"modules": {"numbered": {
        "warm-up": 0, "rollback": "never"}}}))
    server = process_server("--admin=loopback", "--crash-limit=20", "--config", config,
                            numbered.path.parent)
    assert server.results("numbered/number", [1]) == [1]
    assert server.request("POST", RELOAD).status == 200
    for space in range(4):
        assert server.call("numbered/number", "[-1]" + " " * space).status == 502
    assert b"farcall_module_rollbacks_total 0" in server.get("/metrics").body

# SPDX-License-Identifier: Apache-2.0
"""Modules are reloaded during calls: by a signal, by HTTP, and by farcall over a Unix
socket. A failure changes nothing, and nothing is left behind."""
import json
import os
import signal
import subprocess
import time

from conftest import BIN, user_environment
from reloading import Callers, taken, wait_until

RELOAD = "/api/v1/modules/numbered/reload"
SANITIZED = b"__asan_init" in (BIN / "farcalld").read_bytes()  # keeps memory


def farcall(*words):
    return subprocess.run([BIN / "farcall", *words], capture_output=True, text=True,
                          env=user_environment())


def reload_under_calls(server, module, callers, count, pause):
    for number in range(1, count + 1):
        module.put(number)
        callers.newest = number
        answer = server.request("POST", RELOAD)
        assert answer.status == 200, answer.body
        assert answer.json["state"] == "ready"
        callers.oldest = number
        time.sleep(pause)


def test_no_call_is_lost_while_modules_are_replaced(serve, numbered):
    server = serve("--admin=loopback", numbered.path.parent)
    with Callers(server) as callers:
        reload_under_calls(server, numbered, callers, 15, 0.05)
    assert callers.wrong == []
    assert callers.calls > 64
    refused = server.request("POST", RELOAD, headers={"X-Forwarded-For": "::1"})
    assert refused.status == 403


def leaves_nothing(server, module, count):
    def once(number):
        module.put(number)
        assert server.request("POST", RELOAD).status == 200
        assert server.results("numbered/number", [1]) == [1000000 + number]
        for verb, state in [("unload", "unloaded"), ("load", "ready")]:
            path = f"/api/v1/modules/numbered/{verb}"
            answer = server.request("POST", path)
            assert answer.json["state"] == state, answer.body

    def quiet():
        modules = server.get("/api/v1/modules").json["modules"]
        return len(modules) == 1

    for number in range(30):
        once(number)
    wait_until(quiet)
    before = taken(server.pid)
    for number in range(count):
        once(number)
    wait_until(quiet)
    # A difference of two is allowed: at either count a connection or a process may have
    # been about to end.
    wait_until(lambda: all(now <= then + 2 for now, then in
                           zip(taken(server.pid)[1:], before[1:])))
    after = taken(server.pid)
    print(f"{count} reloads, unloads and loads: {before} -> {after}")
    return after[0] - before[0]


def check_reloads_under_calls(serve, numbered, seconds):
    server = serve("--admin=loopback", numbered.path.parent)
    with Callers(server) as alone:
        time.sleep(seconds / 3)
    assert alone.wrong == []
    with Callers(server) as callers:
        reload_under_calls(server, numbered, callers, seconds, 1)
    assert callers.wrong == []
    print(f"p99 {alone.p99_ms():.2f} ms of {alone.calls} calls without reloads, "
          f"{callers.p99_ms():.2f} ms of {callers.calls} calls with {seconds}")


def test_reloads_leave_nothing(serve, numbered):
    server = serve("--admin=loopback", numbered.path.parent)
    assert leaves_nothing(server, numbered, 100) < 4096 or SANITIZED


def test_what_fails_changes_nothing(serve, numbered):
    folder = numbered.path.parent
    server = serve("--admin=loopback", folder)
    first = server.get("/api/v1/modules/numbered").json["generation"]
    numbered.path.with_name("next").write_bytes(numbered.bytes[:1000])
    numbered.path.with_name("next").rename(numbered.path)
    answer = server.request("POST", RELOAD)
    assert answer.status == 422 and answer.json["module"] == "numbered"
    document = server.get("/api/v1/modules/numbered").json
    assert document["refused"]["detail"] == answer.json["detail"]
    assert document["generation"] == first and document["state"] == "ready"
    assert server.results("numbered/number", [7]) == [7000000]
    assert b'farcall_module_refused{module="numbered"} 1' in server.get("/metrics").body
    numbered.put(5)
    os.kill(server.pid, signal.SIGHUP)
    wait_until(lambda: server.results("numbered/number", [7]) == [7000005])
    wait_until(lambda: any('"by":"SIGHUP"' in line for line in server.lines))
    document = server.get("/api/v1/modules/numbered").json
    assert "refused" not in document and document["generation"] > first
    assert server.stop() == 0
    acts = [line for line in server.lines if '"act"' in line]
    assert any('"by":"SIGHUP"' in each and '"loaded":1' in each for each in acts)
    failed = json.loads(next(each for each in acts if '"code":"ok"' not in each))
    assert failed["act"] == "reload" and failed["by"].startswith("127.0.0.1, request ")
    assert len(failed["before"]) == 64 and "after" not in failed


def test_farcall_over_a_unix_socket(serve, numbered, tmp_path):
    socket = tmp_path / "admin.sock"
    serve("--listen", f"unix:{socket}", numbered.path.parent)
    where = f"--server=unix:{socket}"

    def told(*words):
        done = farcall(*words, where)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert told("reload") == "loaded 0, unchanged 1, unloaded 0\n"
    assert told("reload", "numbered") == "numbered  ready  generation 2\n"
    assert json.loads(told("call", "numbered/number", "--json=[3]"))["results"] == [3000000]
    wait_until(lambda: len(told("ls", "--long").splitlines()) == 2)  # the first is gone
    head, row = told("ls", "--long").splitlines()
    assert head.split() == ["MODULE", "STATE", "VERSION", "GENERATION", "MEMORY", "CALLS",
                            "CONDITIONS"]
    name, state, version, generation, memory, calls, error = row.split()
    assert [name, state, version, generation, calls, error] == \
        ["numbered", "ready", "1", "2", "1", "-"]
    assert memory[-1] in "kMG" and float(memory[:-1]) > 0
    numbered.path.write_bytes(b"nonsense")
    done = farcall("load", "numbered", where)
    assert done.returncode == 1 and "422 module_load" in done.stderr
    assert "numbered.so" in told("ls", "-l")
    assert told("unload", "numbered") == "numbered  unloaded\n"
    wait_until(lambda: told("ls") == "")  # it is listed until its process has ended
    assert farcall("unload", "numbered", where).returncode == 1
    assert farcall("load", where).returncode == 64
    curl = told("call", "numbered/number", "--json=[3]", "--curl")
    assert f"--unix-socket '{socket}' 'http://localhost/api/" in curl
    assert farcall("ls", "--server=unix:/nonexistent/s").returncode == 69

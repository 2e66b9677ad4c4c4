# SPDX-License-Identifier: Apache-2.0
"""A load whose every answer is compared, while a worker process is killed every 100 ms;
and that crashes and restarts leave nothing behind. test_chaos_slow.py does the same
for longer."""
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from conftest import BIN, Server, count_files
from processes import children_of
from reloading import steady, wait_until

SANITIZED = b"__asan_init" in (BIN / "farcalld").read_bytes()
OBJECTS = BIN.parent / "tests/modules/hostile"
NULL_READ = {"farcall": 1, "abi": "mlir-memref", "functions": [
    {"name": name, "symbol": "_mlir_ciface_" + name, "cc": "ciface",
     "args": [{"type": "i32"}], "results": [{"type": "i32"}]}
    for name in ("null_read", "fine")]}


@pytest.fixture(scope="module")
def add(tmp_path_factory):
    """A directory with `add`, a module that works."""
    folder = tmp_path_factory.mktemp("add")
    for name in ("add.so", "add.farcall.json"):
        shutil.copy(OBJECTS / name, folder)
    return folder


@pytest.fixture(scope="module")
def both(add, tmp_path_factory):
    """A directory with `add`, and with `faults`, which crashes."""
    folder = tmp_path_factory.mktemp("both")
    shutil.copytree(add, folder, dirs_exist_ok=True)
    shutil.copy(OBJECTS / "faults.so", folder)
    (folder / "faults.farcall.json").write_text(json.dumps(NULL_READ))
    return folder


@pytest.fixture
def start():
    """Starts a server whose modules may crash any number of times."""
    running = []

    def one(folder):
        running.append(Server("--isolation=process", "--crash-limit=0", folder))
        return running[-1]
    yield one
    for each in running:
        assert each.stop() == 0, "".join(each.lines[-20:])


def chaos(server, count, seconds, kill_ms):
    """Runs chaos.c, which checks every answer itself. Returns its figures."""
    done = subprocess.run(
        [BIN.parent / "tests/chaos", *map(str, (
            server.port, server.process.pid, count, seconds, kill_ms))],
        capture_output=True, text=True, timeout=seconds + 120)
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def workers(server):
    return children_of(server.process.pid)


def measure(server):
    """Descriptors, processes and memory of the server's own process."""
    pid = server.process.pid
    rss = re.search(r"VmRSS:\s*(\d+)", open(f"/proc/{pid}/status").read())
    return {"files": count_files(pid),
            "processes": len(workers(server)), "rss_kib": int(rss[1])}


def counts(server):
    return count_files(server.process.pid), len(workers(server))


def crash(server, times):
    for _ in range(times):
        reply = server.call("faults/null_read", [0])
        assert (reply.status, reply.json["code"]) == (502, "worker_crashed")


def restart(server, times):
    """Kills an idle worker again and again. Its replacement must answer."""
    for i in range(times):
        before = set(workers(server))
        os.kill(int(sorted(before)[i % len(before)]), signal.SIGKILL)
        assert server.results("add/add", [i, 1]) == [i + 1]
        assert server.results("faults/fine", [i]) == [i + 1]


def check_nothing_stays(server, crashes, restarts):
    """The first crashes allocate memory that the server keeps. After them nothing may
    grow."""
    if SANITIZED:  # slow, and never gives memory back
        crashes, restarts = crashes // 5, restarts // 5
    crash(server, 20)
    restart(server, 20)
    steady(lambda: counts(server))
    before = measure(server)
    crash(server, crashes)
    restart(server, restarts)
    wait_until(lambda: all(now <= then for now, then in
                           zip(counts(server), (before["files"], before["processes"]))))
    after = measure(server)
    print(before, after)
    assert SANITIZED or after["rss_kib"] <= before["rss_kib"] + 4096


def check_load(server, count, seconds):
    calm = chaos(server, 20000, 5, 0)
    assert calm["crashed"] == 0
    # A busy machine may need longer than this to start the next worker.
    for kill_ms in (100, 500, 2500):
        figures = chaos(server, count, seconds, kill_ms)
        assert figures["kills"] > 1
        if figures["crashed"] > 0:
            break
    assert figures["crashed"] > 0, "no kill has hit a call: nothing was tested"
    # What killed workers left has been cleared: the next calls work.
    again = chaos(server, 20000, 5, 0)
    assert again["crashed"] == 0
    return figures


def test_exactly_the_running_calls_fail(start, add):
    figures = check_load(start(add), 10**9, 10)
    assert figures["sent"] > 1000


def test_crashes_and_restarts_leave_nothing(start, both):
    check_nothing_stays(start(both), 100, 200)

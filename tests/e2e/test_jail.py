# SPDX-License-Identifier: Apache-2.0
"""--sandbox and --worker-user: what is in force, what is stopped and how often that is
logged, what ordinary modules can still do, and servers on kernels that lack a part."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

from conftest import BIN, Server, end_servers, user_environment
from reloading import wait_until
from test_hostile import OBJECTS, SANITIZED, children, sidecar
from test_policies import hang_up

NATIVE = BIN.parent / "tests/modules/native"
STOPPED = "a worker says that the jail stopped a system call of its module"
LANDLOCK, UNSHARE = 444, 97 if os.uname().machine == "aarch64" else 272
# Runs a program as on a kernel that refuses one system call with this error.
REFUSE = """
import ctypes, os, struct, sys
number, error = int(sys.argv[1]), int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
code = b"".join(struct.pack("HBBI", *each) for each in [
    (0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, 0x50000 | error),
    (6, 0, 0, 0x7fff0000)])
kept = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(kept)))
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, ctypes.byref(program), 0, 0):
    sys.exit(os.strerror(ctypes.get_errno()))
os.execv(sys.argv[3], sys.argv[3:])
"""


def without(number, error):
    return [sys.executable, "-c", REFUSE, str(number), str(error)]


def sandbox(server):
    return server.get("/api/v1").json["sandbox"]


def stops(server):
    """The calls that the log reports as stopped: (module, call)."""
    said = [json.loads(line) for line in server.lines if STOPPED in line]
    return [(each["module"], each["call"]) for each in said]


@pytest.fixture
def serve():
    running = []

    def start(*arguments, **options):
        running.append(Server(*arguments, **options))
        return running[-1]
    yield start
    end_servers(running)


@pytest.fixture
def folder(tmp_path):
    """Both modules have the function `bus`, which makes a file in memory."""
    for name in ("jailed", "other"):
        shutil.copy(OBJECTS / "faults.so", tmp_path / f"{name}.so")
        (tmp_path / f"{name}.farcall.json").write_text(
            sidecar([("bus", ["i32"]), ("fine", ["i32"])]))
    return tmp_path


def test_each_module_has_its_sandbox(serve, folder):
    config = folder / "farcalld.conf"
    config.write_text(json.dumps({
        "paths": [str(folder)], "isolation": "process", "sandbox": "basic",
        "workers": 1, "modules": {"jailed": {"sandbox": "auto"}}}))
    server = serve("-c", config, "--isolation=process")
    assert sandbox(server)["mode"] == "basic"
    for _ in range(3):
        assert server.results("jailed/bus", [0]) == [-1]
    assert server.call("other/bus", [0]).status == 502
    wait_until(lambda: any(STOPPED in line for line in server.lines))
    assert server.results("jailed/fine", [41]) == [42]
    assert server.stop() == 0
    # Each is logged once, not three times.
    assert sorted(stops(server)) == [("jailed", "ftruncate"), ("jailed", "memfd_create")]


def test_it_says_what_it_has(serve, folder):
    said = sandbox(serve("--isolation=process", folder / "jailed.so"))
    assert said["mode"] == "auto"
    assert "seccomp" in said["parts"]
    assert not set(said["parts"]) & {each["part"] for each in said["lacks"]}


@pytest.mark.parametrize("number, error, part, needed", [
    (LANDLOCK, 38, "landlock", True),
    (LANDLOCK, 1, "landlock", True),
    (UNSHARE, 1, "network-namespace", False)])
def test_a_kernel_that_lacks_a_part(serve, folder, number, error, part, needed):
    under = without(number, error)
    tried = subprocess.run([*under, "/bin/true"], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"SKIPPED: no filters here: {tried.stderr.strip()}")
    server = serve("--isolation=process", folder / "jailed.so", under=under)
    assert part in {each["part"] for each in sandbox(server)["lacks"]}
    said = [line for line in server.lines if f'"part":"{part}"' in line]
    assert len(said) == (1 if needed or os.geteuid() == 0 else 0)
    assert server.results("jailed/bus", [0]) == [-1]
    assert server.stop() == 0
    strict = subprocess.run(
        [*under, str(BIN / "farcalld"), "-t", "--sandbox=strict"], text=True,
        capture_output=True, env=user_environment())
    if needed:
        assert strict.returncode == 64
        assert "--sandbox=strict cannot be kept: the kernel refuses" in strict.stderr
        basic = serve("--isolation=process", "--sandbox=basic", folder / "jailed.so",
                      under=under)
        assert basic.results("jailed/fine", [41]) == [42]


def test_a_file_that_asks_for_too_much_says_nothing_else(serve, folder):
    """SIGHUP takes nothing over, so no key is said to need a restart."""
    under = without(LANDLOCK, 38)
    tried = subprocess.run([*under, "/bin/true"], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"SKIPPED: no filters here: {tried.stderr.strip()}")
    config = folder / "farcalld.conf"

    def write(**keys):
        config.write_text(json.dumps({"paths": [str(folder / "jailed.so")], **keys}))

    write()
    server = serve("-c", config, "--isolation=process", under=under)
    write(sandbox="strict", connections=7)
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: any("nothing has changed" in line for line in server.lines))
    assert not any("needs a restart" in line for line in server.lines)
    write(connections=7)
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: any('"act":"reload"' in line for line in server.lines))
    assert sum("needs a restart" in line for line in server.lines) == 1
    assert server.stop() == 0


def test_a_module_finds_its_libraries(serve):
    """The libraries are found by $ORIGIN, the module's own folder."""
    server = serve("--isolation=process", NATIVE / "origin.so")
    (function,) = server.get("/api/v1/functions/origin").json["functions"]
    example = server.get(f"/api/v1/functions/origin/{function['name']}/example").json
    assert server.call(f"origin/{function['name']}", example).status == 200
    assert server.stop() == 0
    assert stops(server) == []


OPENMP = """
#include <stdint.h>
#include <omp.h>
__attribute__((visibility("default"))) int32_t _mlir_ciface_count(int32_t n) {
  int32_t sum = 0;
  #pragma omp parallel for reduction(+ : sum) num_threads(3)
  for (int32_t i = 0; i < n; i++) sum += 1;
  return sum;
}
"""


def test_threads_of_openmp(serve, tmp_path):
    """Uses a library of the system, and threads that begin in a call."""
    (tmp_path / "omp.c").write_text(OPENMP)
    done = subprocess.run(["cc", "-fopenmp", "-shared", "-fPIC", "-o", tmp_path / "omp.so",
                           tmp_path / "omp.c"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"SKIPPED: no OpenMP here: {done.stderr[-200:]}")
    (tmp_path / "omp.farcall.json").write_text(sidecar([("count", ["i32"])]))
    server = serve("--isolation=process", tmp_path / "omp.so")
    for _ in range(3):
        assert server.results("omp/count", [1000]) == [1000]


def status_of(pid, key):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    (line,) = [each for each in text.splitlines() if each.startswith(key + ":")]
    return line.split()[1:]


def test_workers_of_root_run_as_somebody_else(serve, folder):
    options = ["--isolation=process", "--worker-user=65534", folder / "jailed.so"]
    if os.geteuid():
        done = subprocess.run([BIN / "farcalld", *options], text=True,
                              capture_output=True, env=user_environment())
        assert done.returncode == 64
        assert "only a server that runs as root" in done.stderr
        return
    server = serve(*options)
    assert server.results("jailed/fine", [41]) == [42]
    (worker, *_) = children(server.process.pid)  # one that is begun is root's still
    wait_until(lambda: set(status_of(worker, "Uid")) == {"65534"})
    assert status_of(worker, "Groups") == []
    assert set(status_of(worker, "CapPrm")) == {"0000000000000000"}


@pytest.mark.parametrize("user", ["root", "0", "nobody-of-this-name", ":65534"])
def test_workers_are_not_roots(user):
    done = subprocess.run([BIN / "farcalld", "-t", f"--worker-user={user}"], text=True,
                          capture_output=True, env=user_environment())
    assert done.returncode == 64
    assert "--worker-user" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"),
                    reason="needs root and setpriv")
@pytest.mark.parametrize("lacks", ["kill", "setuid", "setgid"])
def test_workers_of_another_user_can_be_ended(lacks):
    done = subprocess.run(["setpriv", f"--bounding-set=-{lacks}", f"--inh-caps=-{lacks}",
                           BIN / "farcalld", "-t", "--worker-user=65534"], text=True,
                          capture_output=True, env=user_environment())
    assert done.returncode == 64
    assert "CAP_KILL" in done.stderr


def test_processor_time_is_bounded(serve, tmp_path):
    """The limit is for all calls of a process. The next process starts with no time
    used."""
    (tmp_path / "spin.c").write_text(
        "#include <time.h>\n"
        "long long _mlir_ciface_spin(long long s) {"
        " while (clock() < s * CLOCKS_PER_SEC) continue; return s; }\n")
    folder = tmp_path / "modules"
    folder.mkdir()
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", folder / "spin.so",
                    tmp_path / "spin.c"], check=True)
    (folder / "spin.farcall.json").write_text(json.dumps(
        {"farcall": 1, "abi": "mlir-memref", "functions": [
            {"name": "spin", "symbol": "_mlir_ciface_spin", "cc": "ciface",
             "args": [{"type": "i64"}], "results": [{"type": "i64"}]}]}))
    server = serve("--isolation=process", "--worker-cpu-time=1s", "--crash-limit=2",
                   "--timeout=300s", folder)
    for _ in range(3):
        answer = server.call("spin/spin", [1000])
        assert (answer.status, answer.json["code"]) == (502, "worker_crashed")
        assert "has taken 1 s of processor time, the limit (--worker-cpu-time)" in \
            answer.json["detail"]
        # The call itself is not blamed: other calls may have used the time.
        assert server.results("spin/spin", [0]) == [0]
    # The module is not blamed, either.
    assert server.get("/api/v1/modules/spin").json["host"]["crashes"] == 0


@pytest.mark.parametrize("mode", ["auto", "strict"])
def test_control_groups_hold_or_their_lack_is_said(serve, folder, mode):
    config = folder / "farcalld.conf"
    config.write_text(json.dumps({
        "isolation": "process", "sandbox": mode,
        "modules": {"jailed": {"group-tasks": 64, "group-cpu": 100}}}))
    server = serve("--isolation=process", "-c", config, folder / "jailed.so",
                   folder / "other.so")
    groups = sandbox(server)["groups"]
    assert set(groups) == {"memory", "pids", "cpu"}
    lacks = [each for each in ("pids", "cpu") if groups[each]]
    said = [json.loads(line) for line in server.lines if "limit of control groups" in line]
    assert [(each["controller"], each["reason"]) for each in said] == \
        [(each, groups[each]) for each in lacks]
    assert server.results("other/fine", [41]) == [42]
    if lacks and mode == "strict":
        document = server.get("/api/v1/modules/jailed").json
        assert document["state"] == "failed" and groups[lacks[0]] in document["reason"]
    else:
        assert server.results("jailed/fine", [41]) == [42]
    if not lacks:
        (worker, *_) = [each["pid"] for each in
                        server.get("/api/v1/modules/jailed").json["host"]["workers"]]
        assert "/module-jailed." in pathlib.Path(f"/proc/{worker}/cgroup").read_text()
    assert not sandbox(serve("--isolation=process", folder / "other.so")).get("groups")


def groups_of(server, module):
    """The control groups of a module's processes."""
    return {pathlib.Path(f"/proc/{each['pid']}/cgroup").read_text() for each in
            server.get(f"/api/v1/modules/{module}").json["host"]["workers"]}


@pytest.mark.parametrize("before, after", [
    ({"group-tasks": 64}, {"group-tasks": 80}),
    ({"group-tasks": 64}, {"group-tasks": 64, "group-memory": "1G"}),
    ({"group-cpu": 100}, {}),
    ({}, {"group-cpu": 100})])
def test_limits_of_groups_change_by_sighup(serve, folder, before, after):
    """A module whose limits change is loaded again, also if a limit does not work on
    this machine. Other modules stay as they are."""
    config = folder / "farcalld.conf"

    def write(limits):
        config.write_text(json.dumps({"modules": {
            "jailed": {"sandbox": "auto", **limits}, "other": {"group-tasks": 90}}}))
    write(before)
    server = serve("--isolation=process", "-c", config, folder / "jailed.so",
                   folder / "other.so")

    def generations():
        return [server.get(f"/api/v1/modules/{name}").json["generation"]
                for name in ("jailed", "other")]
    old = generations()
    hang_up(server, '"act":"reload","by":"SIGHUP"')
    assert generations() == old
    write(after)
    said = hang_up(server, '"act":"reload","by":"SIGHUP"')
    assert generations()[0] > old[0] and generations()[1] == old[1]
    assert not any("needs a restart" in line for line in said)
    assert server.results("jailed/fine", [41]) == [42]
    reasons = sandbox(server)["groups"]
    controllers = {"group-tasks": "pids", "group-memory": "memory", "group-cpu": "cpu"}
    if any(not reasons[controllers[each]] for each in after):
        (group,) = groups_of(server, "jailed")
        assert f"/module-jailed.{generations()[0]}" in group
    for each in after:
        reason = reasons[controllers[each]]
        assert not reason or any(reason in line for line in server.lines)


def test_a_limit_that_strict_cannot_keep_changes_nothing(serve, folder):
    """The new configuration is refused, and the modules are served as before."""
    config = folder / "farcalld.conf"
    config.write_text(json.dumps({"modules": {"jailed": {"sandbox": "strict"}}}))
    server = serve("--isolation=process", "-c", config, folder / "jailed.so")
    assert server.results("jailed/fine", [41]) == [42]
    config.write_text(json.dumps({"modules": {
        "jailed": {"sandbox": "strict", "group-tasks": 64}}}))
    hang_up(server, "no module had such limits then")
    assert server.results("jailed/fine", [41]) == [42]
    assert server.get("/api/v1/modules/jailed").json["state"] == "ready"


LEAK = """
#include <stdlib.h>
#include <string.h>
int _mlir_ciface_fill(int n) {
  for (size_t size = 1 << 20; size >= 64; size /= 2)
    for (char *at; (at = malloc(size));) memset(at, 1, 64);
  return n;
}
struct vector { float *base, *data; long long offset, size, stride; };
int _mlir_ciface_size(const struct vector *x) { return (int)x->size; }
"""


@pytest.mark.skipif(SANITIZED, reason="the sanitizers have no limit of addresses")
def test_a_process_without_memory_is_replaced(serve, tmp_path):
    """The module never frees memory. A call that is too large is followed by small
    ones."""
    (tmp_path / "leak.c").write_text(LEAK)
    folder = tmp_path / "modules"
    folder.mkdir()
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-fno-builtin", "-o", folder / "leak.so",
                    tmp_path / "leak.c"], check=True)
    (folder / "leak.farcall.json").write_text(json.dumps(
        {"farcall": 1, "abi": "mlir-memref", "functions": [
            {"name": name, "symbol": "_mlir_ciface_" + name, "cc": "ciface",
             "args": [{"type": type}], "results": [{"type": "i32"}]}
            for name, type in {"fill": "i32", "size": "memref<?xf32>"}.items()]}))
    server = serve("--isolation=process", "--workers=1", "--worker-memory=300M", folder)
    for times in range(1, 4):
        server.call("leak/fill", [1])
        answer = server.call("leak/size", [[0] * 200000])
        assert (answer.status, answer.json["code"]) == (503, "out_of_memory")
        wait_until(lambda: server.call("leak/size", [[0] * 200000]).status == 200)
        host = server.get("/api/v1/modules/leak").json["host"]
        assert (host["restarts"], host["crashes"]) == (times, 0)
    assert server.stop() == 0

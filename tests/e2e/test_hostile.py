# SPDX-License-Identifier: Apache-2.0
"""Modules that crash, hang, exit and reach for what is not theirs. Each call gets the
promised answer, the module's next call works, and a module that is called all the
time beside them has no error at all."""
import dataclasses
import http.client
import itertools
import json
import os
import re
import shutil
import threading
import time
import typing

import pytest

from conftest import BIN, Server, count_files, end_servers
from processes import children_of
from reloading import steady

OBJECTS = BIN.parent / "tests/modules/hostile"
# Tests what the server itself withstands: in the strict jail most of these modules
# reach nothing.
BASIC = "--sandbox=basic"
CRASHED, DEADLINE = (502, "worker_crashed"), (504, "deadline_exceeded")
FINE = (200, None)
UNLOADED = (503, "module_unavailable")
QUARANTINED = (503, "module_quarantined")


@dataclasses.dataclass
class Kind:
    """A function of an object, which is the only function of a module with its name."""
    name: str
    source: str
    promised: tuple             # status and code, or several of those
    detail: str = ""            # a pattern the answer's detail must have
    result: typing.Optional[int] = None
    argument: int = 0
    function: str = ""          # "": the function is called `name`, too
    timeout_ms: typing.Optional[int] = None
    later: bool = False         # may also end calls after it
    libc: bool = False          # of the C library: the sanitizers bring another

    def __post_init__(self):
        self.function = self.function or self.name

    @property
    def answers(self):
        return [self.promised] if isinstance(self.promised[0], int) else self.promised


def faults(name, detail, source="faults", **more):
    return Kind(name, source, CRASHED, detail, **more)


def slow(name, source, **more):
    return Kind(name, source, DEADLINE, timeout_ms=300, **more)


def fine(name, source, **more):
    return Kind(name, source, FINE, **more)


def unloaded(name, detail="", **more):
    return Kind(name, name, UNLOADED, detail, **{"function": "fine", **more})


def loaded(name, **more):
    return Kind(name, name, FINE, **{"function": "fine", **more})


KINDS = [
    # Faults of the processor, aborts, signals
    faults("null_read", "SIGSEGV"),
    faults("null_write", "SIGSEGV"),
    faults("wild_write", "SIGSEGV"),
    faults("wild_jump", "SIGSEGV"),
    faults("write_code", "SIGSEGV"),
    faults("run_data", "SIGSEGV"),
    faults("divide_by_zero", "SIGFPE"),
    faults("divide_overflow", "SIGFPE"),
    faults("illegal", "SIGILL"),
    faults("breakpoint", "SIGTRAP"),
    faults("bus", "SIGBUS"),
    faults("abort", "SIGABRT"),
    faults("stack_overflow", "SIGSEGV"),
    faults("stack_at_once", "SIGSEGV"),
    faults("heap_corruption", "SIGABRT|SIGSEGV", libc=True),
    faults("stack_smash", "SIGABRT|SIGSEGV", libc=True),
    faults("free_wild", "SIGABRT|SIGSEGV"),
    Kind("send_kill", "faults", (502, "worker_out_of_memory"), "SIGKILL"),
    faults("send_term", "SIGTERM"),
    faults("send_sys", "SIGSYS"),
    slow("send_stop", "faults"),

    # Ends its process, does not return, or leaves a thread or process behind
    Kind("exit_0", "leave", CRASHED, r"exit\(0\)", libc=True),
    Kind("exit_7", "leave", CRASHED, r"exit\(7\)", libc=True),
    Kind("exit_at_once", "leave", CRASHED, r"exit\(0\)"),
    Kind("exit_thread", "leave", CRASHED, libc=True),
    Kind("exit_past_libc", "leave", CRASHED),
    fine("exec_true", "leave", result=-1),
    fine("exec_sleep", "leave", result=-1),
    slow("endless_loop", "leave"),
    slow("endless_sleep", "leave"),
    slow("deaf_sleep", "leave"),
    slow("fault_for_ever", "leave"),
    fine("wait_for_input", "leave", result=0),
    fine("fork_child", "leave", result=-1),
    fine("fork_daemon", "leave", result=-1),
    fine("fork_twice", "leave"),
    fine("thread_spins", "leave", result=0),
    fine("thread_faults_later", "leave", result=0, later=True),
    fine("kill_parent", "leave", result=-1),
    fine("own_by_parent", "leave", result=-1),
    fine("block_bell", "leave", result=-1),
    fine("kill_everybody", "leave", result=-1),
    fine("limit_parent", "leave", result=-1),
    fine("trace_parent", "leave", result=-1),
    fine("forget_parent", "leave"),

    # Reaches for the region and the descriptors
    Kind("ring_zeros", "reach", CRASHED),
    Kind("ring_ones", "reach", CRASHED),
    Kind("ring_letters", "reach", CRASHED),
    Kind("ring_numbers", "reach", CRASHED),
    # A thread that writes later races with the call. So there may even be an answer,
    # but only of this module.
    Kind("ring_numbers_later", "reach", (CRASHED, FINE), later=True),
    Kind("ring_taken", "reach", CRASHED, "took more of the memory"),
    fine("ring_taken_later", "reach", result=0, later=True),
    # There may still be an answer: the thread may run before or after the end of the
    # call.
    Kind("ring_cancelled_later", "reach", (CRASHED, FINE), later=True),
    Kind("ring_late_later", "reach", (CRASHED, FINE), later=True),
    Kind("ring_unmapped", "reach", CRASHED, "SIGSEGV"),
    fine("ring_truncated", "reach"),
    fine("ring_grown", "reach"),
    fine("close_all", "reach", result=1),
    fine("replace_all", "reach", result=1),
    fine("open_all", "reach", result=1),
    fine("bell_flooded", "reach", result=1),
    fine("bell_drained", "reach", result=0),
    fine("bell_rung", "reach", result=0, later=True),

    # Changes settings of the whole process, takes all there is, or prints too much
    fine("rounding", "habits", result=0),
    fine("traps", "habits"),
    fine("denormals", "habits", result=1),
    fine("x87_control", "habits", result=1),
    fine("direction_flag", "habits", result=1),
    fine("signals_ignored", "habits", result=1),
    fine("signals_blocked", "habits", result=0),
    faults("signals_blocked_then_fault", "SIGSEGV", source="habits"),
    fine("no_signal_stack", "habits", result=0),
    fine("alarm_later", "habits", result=0, later=True),
    faults("alarm_now", "SIGALRM", source="habits"),
    fine("folder", "habits"),
    fine("environment", "habits"),
    fine("limits", "habits", result=1),
    slow("no_cpu", "habits"),
    fine("politeness", "habits"),
    fine("name", "habits", result=0),
    fine("reserve_all", "habits", result=1, libc=True),
    fine("use_all", "habits", result=-2, argument=2048, libc=True),
    faults("use_unchecked", "SIGSEGV", source="habits"),
    fine("print_long_line", "habits", result=1),
    fine("print_errors", "habits", result=1),
    fine("print_empty_lines", "habits", result=1),
    fine("print_escapes", "habits", result=1),
    fine("print_as_us", "habits", result=1),
    faults("print_last_words", "SIGABRT", source="habits"),

    # While the module is loaded, or unloaded
    unloaded("before_fault", "SIGSEGV"),
    unloaded("before_hang"),
    unloaded("before_leave", r"exit\(0\)", libc=True),
    unloaded("before_give_up", "SIGABRT"),
    unloaded("before_stop"),
    # The module closes all its descriptors, so the server never hears that it has
    # loaded.
    Kind("before_close_all", "before_close_all", (UNLOADED, QUARANTINED),
         function="fine"),
    loaded("before_talk"),
    loaded("before_fork_child"),
    unloaded("resolve_fault", "SIGSEGV", function="call_resolved"),
    loaded("after_fault"),
    loaded("after_hang"),
    loaded("after_leave"),
    loaded("at_exit_hang", function="register_exit"),
]

def sidecar(functions):
    return json.dumps({"farcall": 1, "abi": "mlir-memref", "functions": [
        {"name": name, "symbol": "_mlir_ciface_" + name, "cc": "ciface",
         "args": [{"type": t} for t in types], "results": [{"type": types[0]}]}
        for name, types in functions]})


SANITIZED = b"__asan_init" in (BIN / "farcalld").read_bytes()


class Beside:
    """Calls `add` on one connection all the time, and counts wrong answers. It pauses for
    a millisecond after each call: without that it takes a processor for itself, and the
    tests beside this one wait for it."""

    def __init__(self, server):
        self.server = server
        self.calls = 0
        self.wrong = []
        self.slowest_ms = 0
        self.going = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        connection = http.client.HTTPConnection(
            self.server.host, self.server.port, timeout=60)
        while self.going:
            a, b = self.calls * 7919, self.calls - 5
            begin = time.monotonic()
            try:
                connection.request("POST", "/api/v1/functions/add/add",
                                   f"[{a},{b}]")
                answer = connection.getresponse()
                status, body = answer.status, answer.read()
            except OSError as error:
                self.wrong.append(repr(error))
                connection.close()
                continue
            self.calls += 1
            if status != 200 or json.loads(body) != {"results": [a + b]}:
                self.wrong.append(f"{a}+{b}: {status} {body}")
            self.slowest_ms = max(self.slowest_ms,
                                  (time.monotonic() - begin) * 1000)
            time.sleep(0.001)
        connection.close()

    def stop(self):
        self.going = False
        self.thread.join(timeout=60)


def children(pid):
    """All descendants of this process, zombies included."""
    found, rest = [], [pid]
    while rest:
        try:
            below = [int(child) for child in children_of(rest.pop())]
        except OSError:
            continue
        found += below
        rest += below
    return found


def exists(pid):
    """True while the process exists, even as a zombie."""
    return os.path.exists(f"/proc/{pid}")


def until(condition, seconds=60):
    """Polls: only the parent of a process is told of its end."""
    end = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return met


def counts(pid):
    """The numbers of descriptors and of descendants."""
    return count_files(pid), len(children(pid))


def resident_kib(pid):
    return int(re.search(r"VmRSS:\s*(\d+)", open(f"/proc/{pid}/status").read())[1])


NUMBERS = itertools.count(1)


def call(server, module, function, argument, timeout_ms=None):
    """Each call has a different body, because a body that has crashed its module is
    refused."""
    headers = {"Farcall-Timeout-Ms": str(timeout_ms)} if timeout_ms else {}
    return server.request("POST", f"/api/v1/functions/{module}/{function}",
                          f"[{argument}{' ' * next(NUMBERS)}]", headers)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directory with a module of each kind, and `add`."""
    folder = tmp_path_factory.mktemp("hostile")

    def put(name, source, functions):
        shutil.copy(OBJECTS / f"{source}.so", folder / f"{name}.so")
        (folder / f"{name}.farcall.json").write_text(sidecar(functions))
    for kind in KINDS:
        put(kind.name, kind.source,
            [(name, ["i32"]) for name in sorted({kind.function, "fine"})])
    put("add", "add", [("add", ["i64", "i64"])])
    return folder


@pytest.fixture(scope="module")
def running(folder):
    """One server of all these modules. During the tests `add` is called all the time."""
    server = Server("--isolation=process", BASIC, "--worker-memory=1GiB", folder)
    server.beside = Beside(server)
    server.descendants = set()
    yield server
    server.beside.stop()
    end_servers([server])


def attack(server, kind):
    """Makes the call, and checks its answer and the next call's."""
    if SANITIZED and kind.libc:
        pytest.skip("the sanitizer answers for malloc, exit and the stack")
    begin = time.monotonic()
    reply = call(server, kind.name, kind.function, kind.argument, kind.timeout_ms)
    took_ms = (time.monotonic() - begin) * 1000
    server.descendants |= set(children(server.process.pid))
    document = reply.json
    got = (reply.status, document.get("code"))
    assert got in kind.answers, (document, server.lines[-20:])
    assert re.search(kind.detail, document.get("detail", "")), document
    if kind.result is not None:
        assert document == {"results": [kind.result]}
    if got == DEADLINE:
        assert kind.timeout_ms - 1 <= took_ms
    if got not in (UNLOADED, QUARANTINED):
        assert until(lambda: works(server, kind))


def works(server, kind):
    reply = call(server, kind.name, "fine", 41, 60000)
    good = (reply.status, reply.body) == (200, b'{"results":[42]}')
    # Only kinds with `later` may also end the next call.
    assert good or kind.later, reply.body
    return good


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_answer_is_as_promised(running, kind):
    attack(running, kind)


def test_they_settle(running):
    assert running.beside.wrong == []
    running.before = steady(lambda: counts(running.process.pid))
    running.rss_kib = resident_kib(running.process.pid)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_and_again(running, kind):
    attack(running, kind)


def test_nothing_is_left(running):
    """After all attacks, descriptors, processes and memory are as before."""
    pid = running.process.pid
    before = running.before
    until(lambda: all(now <= then for now, then in zip(counts(pid), before)))
    after, grown_kib = counts(pid), resident_kib(pid) - running.rss_kib
    print(before, after, grown_kib)
    assert all(now <= then for now, then in zip(after, before)), (before, after)
    assert SANITIZED or grown_kib <= 8192


def test_their_words_are_only_words(running):
    """What modules print is logged: cut, escaped, and only a limited number of lines."""
    text = "".join(running.lines)
    assert "last words" in text
    assert not re.search(r"[^\n -~]", text)
    assert sum("evil" in line for line in running.lines) <= 4
    for line in running.lines:
        assert not line.startswith("listening on http://evil")
        assert not line.startswith('{"level":"error","msg":"listening')
    assert len(text) < 1 << 20


def test_who_keeps_crashing_is_quarantined_alone(running):
    for _ in range(15):
        assert call(running, "null_read", "fine", 1).status == 200
    codes = [call(running, "null_read", "null_read", 0).json["code"]
             for _ in range(8)]
    assert codes[-1] == "module_quarantined"
    assert set(codes) == {"worker_crashed", "module_quarantined"}
    reply = call(running, "null_read", "fine", 1)
    assert (reply.status, reply.json["code"]) == (503, "module_quarantined")
    assert int(reply.headers["Retry-After"]) >= 1
    assert call(running, "null_write", "fine", 1).status == 200


def test_it_ends(running):
    running.beside.stop()
    print(f"{running.beside.calls} calls beside, "
          f"slowest {running.beside.slowest_ms:.1f} ms")
    assert running.beside.wrong == []
    assert running.beside.calls > 100
    running.descendants |= set(children(running.process.pid))
    assert running.stop() == 0, "".join(running.lines[-20:])
    assert not any("calls still run" in line for line in running.lines)
    stay = lambda: [pid for pid in running.descendants if exists(pid)]
    assert until(lambda: not stay()), stay()


def test_nobody_takes_memory_while_idle(serve, folder):
    """A thread that stayed after its call touches the whole region."""
    server = serve("--isolation=process", BASIC, "--workers=1",
                   folder / "ring_taken_later.so")
    first = set(children(server.process.pid))
    assert call(server, "ring_taken_later", "ring_taken_later", 0).status == 200
    assert until(lambda: not any(map(exists, first)))
    assert until(lambda: "took more of the memory" in "".join(server.lines))
    assert call(server, "ring_taken_later", "fine", 1).status == 200
    assert server.stop() == 0


@pytest.mark.parametrize("name", ["ring_cancelled_later", "ring_late_later"])
def test_who_ends_its_own_calls_is_replaced(serve, folder, name):
    """The module ends calls that the server has not cancelled and whose deadline is far
    away."""
    server = serve("--isolation=process", BASIC, "--workers=1", "--crash-limit=0",
                   folder / f"{name}.so")
    crashes = 0
    for _ in range(5):
        replies = [call(server, name, name, 0)]
        replies += [call(server, name, "fine", 41) for _ in range(40)]
        got = [(reply.status, reply.json.get("code")) for reply in replies]
        assert set(got) <= {FINE, CRASHED}, set(got)
        assert got.count(CRASHED) <= 1, "it was not replaced at the first"
        crashes += got.count(CRASHED)
    assert crashes
    assert "wrote over the memory" in "".join(server.lines)
    assert server.stop() == 0


def test_who_rings_for_nothing_is_replaced(serve, folder):
    """The ringing thread would keep the server's loop busy for ever."""
    server = serve("--isolation=process", BASIC, "--workers=1", folder / "bell_rung.so")
    # There may also be children for a moment in which the server tries the kernel's
    # jails.
    (ringing,) = until(lambda: len(children(server.process.pid)) == 1 and
                       children(server.process.pid))
    assert call(server, "bell_rung", "bell_rung", 0).status == 200
    assert until(lambda: not exists(ringing))
    assert until(lambda: "woke the server for nothing" in "".join(server.lines))
    assert call(server, "bell_rung", "fine", 41).json == {"results": [42]}
    assert server.stop() == 0


def serve_files(serve, tmp_path, name):
    """A server of the module `name`, which has the functions `name`, `fine` and
    `large`."""
    shutil.copy(OBJECTS / "files.so", tmp_path / f"{name}.so")
    functions = json.loads(sidecar([(name, ["i32"]), ("fine", ["i32"]),
                                    ("large", ["i32"]), ("large_filled", ["i32"])]))
    for function in functions["functions"][2:]:
        function["results"] = [{"type": "memref<?xi32>"}]
    (tmp_path / f"{name}.farcall.json").write_text(json.dumps(functions))
    return serve("--isolation=process", BASIC, "--workers=1", "--crash-limit=0",
                 tmp_path / f"{name}.so")


def call_largely(server, module, function, argument):
    """The body has 1 MiB, so a process gets it in a file."""
    return server.request("POST", f"/api/v1/functions/{module}/{function}",
                          f"[{argument}{' ' * ((1 << 20) + next(NUMBERS))}]", {})


STOLEN = (503, "out_of_memory")
SPOILED = (400, "json_syntax")


@pytest.mark.parametrize("name", ["inbox_flooded", "inbox_shut", "inbox_closed",
                                  "files_spoiled"])
def test_files_of_calls_are_the_modules_own_loss(serve, tmp_path, name):
    """Whatever a module does to the files of calls, it harms only that module's calls,
    not the server."""
    server = serve_files(serve, tmp_path, name)
    numbers = list(range(7, 1000007))
    for function, argument, result in [("fine", 41, 42), ("large", 7, numbers)] * 3:
        reply = call_largely(server, name, function, argument)
        assert (reply.status, reply.json) == (200, {"results": [result]})
    def files():
        """The number of descriptors of the server after a call: by then the process has
        a file for its next answer."""
        assert call(server, name, "fine", 41).status == 200
        return count_files(server.process.pid)
    before = files()
    for _ in range(3):
        reply = call(server, name, name, 0)
        assert reply.status == 200, reply.body
        for function, argument, result in [("fine", 41, 42),
                                           ("large", 7, numbers)] * 5:
            reply = call_largely(server, name, function, argument)
            got = FINE if reply.status == 200 else (reply.status,
                                                    reply.json["code"])
            # A body that was spoiled before it was read is not JSON. If the file
            # disappears while it is spoiled, the process ends.
            expected = {FINE, STOLEN, SPOILED}
            if name == "files_spoiled":
                expected.add((502, "worker_crashed"))
            assert got in expected, reply.body[:200]
            # A module that spoils files can only change the answers of its own calls.
            if got == FINE and name != "files_spoiled":
                assert reply.json == {"results": [result]}
            assert server.get("/livez").status == 200
    assert until(lambda: files() <= before)
    assert server.stop() == 0


def test_files_of_calls_count_as_memory_taken(serve, tmp_path):
    server = serve_files(serve, tmp_path, "files_filled")
    (greedy,) = until(lambda: len(children(server.process.pid)) == 1 and
                      children(server.process.pid))
    assert call(server, "files_filled", "files_filled", 0).status == 200
    assert until(lambda: not exists(greedy))
    assert until(lambda: "took more of the memory" in "".join(server.lines))
    assert call(server, "files_filled", "fine", 41).json == {"results": [42]}
    # The file of an answer must not use much more memory than the answer needs.
    reply = call(server, "files_filled", "large_filled", 7)
    assert (reply.status, reply.json["code"]) == CRASHED
    assert call(server, "files_filled", "fine", 41).json == {"results": [42]}
    assert server.stop() == 0


def test_a_lost_bell_is_noticed(serve, folder):
    """The module closes the bell, and no other traffic wakes the loop. The end of the
    worker does wake it, and then the worker's answer counts. If the loop slept on,
    it would answer 504."""
    server = serve("--isolation=process", BASIC, folder / "close_all.so")
    reply = call(server, "close_all", "close_all", 0, 20000)
    assert (reply.status, reply.json) == (200, {"results": [1]})
    assert server.stop() == 0

# SPDX-License-Identifier: Apache-2.0
"""What people see at a terminal: colours, the texts of `farcall explain`, completions
in shells, hints about variables."""
import json
import os
import pty
import re
import shlex
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from conftest import BIN, CORPUS, ROOT
from console import user_environment


def at_terminal(*arguments, **variables):
    """What `farcall` writes to a terminal, and its exit status."""
    pid, terminal = pty.fork()
    if pid == 0:
        environment = {**user_environment(), "TERM": "xterm", **variables}
        os.execve(BIN / "farcall", ["farcall", *map(str, arguments)], environment)
    said = b""
    while True:
        try:
            more = os.read(terminal, 65536)
        except OSError:  # EIO: the other end is closed
            break
        if not more:
            break
        said += more
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return said.decode().replace("\r\n", "\n"), os.waitstatus_to_exitcode(status)


@pytest.mark.once
@pytest.mark.parametrize("arguments, seen", [
    (["frobnicate"], "\x1b[1;31mfarcall:\x1b[0m no verb"),
    (["--help"], "\x1b[1mcompile"),
    (["explain", "base64"], "\x1b[1mbase64\x1b[0m: Invalid base64"),
])
def test_colours_are_for_terminals(farcall, arguments, seen):
    assert seen in at_terminal(*arguments)[0]
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in at_terminal(*arguments, **variables)[0]
    assert seen in at_terminal(*arguments, NO_COLOR="")[0]
    done = farcall(*arguments, env={**user_environment(), "TERM": "xterm"})
    assert "\x1b" not in done.stdout + done.stderr


def test_an_error_at_a_terminal_says_where_more_is(farcall, server):
    call = ["call", "tensor/softmax", "--input=1", f"--server={server.url}"]
    said, status = at_terminal(*call)
    assert status == 1
    assert "farcall explain shape_mismatch says more" in said
    assert farcall("explain", "shape_mismatch").returncode == 0
    # Programs read the last line, which is the error itself.
    done = farcall(*call)
    assert done.stderr.startswith("farcall: 422 shape_mismatch: ")
    assert done.stderr.count("\n") == 1


class Hostile:
    """A server whose answers have farcalld's form, but with names and words of an
    attacker."""

    def __init__(self, word, status=200):
        function = {"name": word, "text": f"{word}()", "callable": True}
        module = {"name": word, "kind": "vm", "state": word, "reason": word,
                  "version": word, "functions": [{**function, "module": word}]}
        document = {"code": word, "detail": "d", "version": word, "uptime_ms": 1,
                    "modules": [module, {**module, "state": "ready"}],
                    "model_stats": [{"name": word}]}

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = "http://127.0.0.1:%d" % self.http.server_port
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def hostile():
    """Makes servers of an attacker."""
    made = []

    def make(*arguments):
        made.append(Hostile(*arguments))
        return made[-1]
    yield make
    for each in made:
        each.http.shutdown()
        each.http.server_close()


@pytest.mark.once
@pytest.mark.parametrize("verb, status", [
    (["top", "--once"], 200), (["ls"], 200), (["ls", "--long"], 200), (["sig"], 200),
    (["ls"], 503), (["health"], 503)])
def test_no_text_of_a_server_commands_the_terminal(hostile, verb, status):
    server = hostile("\x1b]0;x\x07\x9bm", status)
    said, _ = at_terminal(*verb, f"--server={server.url}")
    assert "\\u001b]0;x\\u0007\\u009bm" in said
    assert not re.search("\x1b[^[]|\x07|\x9b", said), said
    assert "farcall explain" not in said  # it does not know such a code


def codes():
    table = (ROOT / "include/farcall/error.def").read_text()
    return [each for each in re.findall(r'^FC_CODE\(\w+, "(\w+)"', table, re.M)
            if each != "ok"]


@pytest.mark.once
def test_every_code_is_explained(farcall):
    errors, _conditions = farcall("explain").stdout.split("\n\n")
    listed = [line.split()[0] for line in errors.splitlines()]
    assert sorted(listed) == sorted(codes()) and len(listed) > 60
    texts = set()
    for code in listed:
        done = farcall("explain", code)
        assert done.returncode == 0
        # After these come the texts of a condition with the same name.
        title, meaning, hint, *_ = done.stdout.strip().split("\n\n")
        assert title.startswith(f"{code}: ") and hint.startswith("try: ")
        texts |= {meaning, hint}
        # The commands and options in the hint exist.
        for verb in re.findall(r"farcall (?!--)([a-z]+)", hint):
            assert farcall("help", verb).returncode == 0, hint
        for option in re.findall(r"--([a-z-]+)[^.;]* of farcalld", hint):
            table = (ROOT / "server/config/options.def").read_text()
            assert f'"{option}"' in table, hint
    assert len(texts) > 2 * len(listed) - 12  # a few share their hint


def test_codes_that_are_no_codes(farcall):
    done = farcall("explain", "urn:farcall:error:base64")
    assert done.stdout.startswith("base64: ")
    done = farcall("explain", "shape_mismach")
    assert done.returncode == 64 and "did you mean 'shape_mismatch'?" in done.stderr
    done = farcall("explain", "xyzzy")
    assert done.returncode == 64 and "farcall explain lists them" in done.stderr
    assert farcall("explain", "base64", "base64").returncode == 64


def test_a_variable_with_a_slip_gets_a_hint(farcall, server):
    def call(*arguments, **variables):
        return farcall("health", *arguments, env={**user_environment(), **variables})
    done = call("--timeout=1", FARCALL_SERVR=server.url)
    assert ("farcall: note: no variable 'FARCALL_SERVR': did you mean "
            "'FARCALL_SERVER'?\n") in done.stderr
    for variables in ({"FARCALL_SERVER": server.url, "FARCALL_SERVR": "x"},
                      {"FARCALL_SERVER": server.url, "FARCALL_LISTEN": "x"}):
        done = call(**variables)
        assert (done.returncode, done.stderr) == (0, "")
    done = call(f"--server={server.url}", FARCALL_SERVR="x")
    assert (done.returncode, done.stderr) == (0, "")
    # Variables that other programs set for their own purposes
    done = call("--timeout=1", FARCALL_LISTEN="x", FARCALL_SERVICE_HOST="h",
                FARCALL_PORT_80_TCP="p", FARCALL_WORKERS="2")
    assert "note" not in done.stderr


def test_top(farcall, serve, corpus):
    server = serve(corpus)
    for _ in range(7):
        server.results("tensor/matmul", [[[1]], [[2]]])
    assert server.call("tensor/matmul", [1, 2]).status == 422
    once = farcall("top", "--once", f"--server={server.url}")
    assert once.returncode == 0, once.stderr
    head, load, _, titles, *rows = once.stdout.splitlines()
    assert re.match(r"farcalld \S+, up \d+ s, ready, 7 modules, \d+ workers", head)
    assert load.startswith("connections ") and load.endswith(", rates since the start")
    assert titles.split()[:3] == ["FUNCTION", "CALLS/S", "FAILED/S"]
    assert rows[0].split()[0] == "tensor.matmul"  # nothing else was called
    assert float(rows[0].split()[1]) > 0
    end = rows.index("")
    assert end > 30 and rows[1].split()[3:] == ["-", "-", "-"]
    assert rows[end + 1].split()[:5] == ["MODULE", "STATE", "PROCESSES", "WAITING",
                                         "RUNNING"]
    modules = {row.split()[0]: row.split()[1:] for row in rows[end + 2:]}
    assert sorted(modules) == sorted(CORPUS)
    state, processes, waiting, running, refused, memory = modules["tensor"]
    assert (state, waiting, running, refused) == ("ready", "0", "0", "0.0")
    assert float(memory) > 0
    isolation = server.get("/api/v1/modules/tensor").json["host"]["isolation"]
    assert (int(processes) > 0) == (isolation == "process")
    assert farcall("top", "x").returncode == 64
    assert farcall("top", "--once", "--server=http://127.0.0.1:1").returncode == 69


TOLD = {
    "/api/v1": {"version": "9.8.7", "uptime_ms": 20000, "ready": True, "modules": 1,
                "workers": 3, "in_flight": {"connections": 4, "waiting": 5, "running": 6,
                                            "bytes": 7 << 20}},
    "/v2/models/stats": {"model_stats": [{"name": "m.f", "inference_stats": {
        "success": {"count": 400, "ns": 4_000_000}, "fail": {"count": 50, "ns": 9},
        "queue": {"count": 400, "ns": 800_000},
        "compute_infer": {"count": 400, "ns": 1_200_000}}}]},
    "/api/v1/modules?memory=1&conditions=1": {
        "conditions": [{"code": "memory_full", "severity": "warning", "text": "calls hold"}],
        "modules": [{"name": "m", "label": "m", "state": "ready", "memory": 8_000_000,
                     "conditions": [{"code": "quarantined", "severity": "critical",
                                     "text": "calls are refused", "detail": "why"}]}]},
    "/metrics": 'farcall_calls_total{module="m",function="f",code="ok"} 400\n'
                'farcall_calls_total{module="m",function="f",code="overloaded"} 30\n'
                'farcall_calls_total{module="m",function="f",code="call_quarantined"} 2\n'
                'farcall_calls_total{module="o",function="f",code="overloaded"} 1000\n'
                'farcall_calls_waiting{module="m"} 11\n'
                'farcall_calls_running{module="m"} 12\n'
                'farcall_worker_processes{module="m"} 13\n'}


@pytest.mark.once
def test_top_shows_each_figure_in_its_place(farcall):
    class Told(BaseHTTPRequestHandler):
        def do_GET(self):
            told = TOLD[self.path]
            body = (told if isinstance(told, str) else json.dumps(told)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass
    with ThreadingHTTPServer(("127.0.0.1", 0), Told) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        once = farcall("top", "--once", f"--server=http://127.0.0.1:{server.server_port}")
        server.shutdown()
    assert once.returncode == 0, once.stderr
    head, load, _, _, function, _, _, module, _, *faults = once.stdout.splitlines()
    assert head == "farcalld 9.8.7, up 20 s, ready, 1 modules, 3 workers"
    assert load == "connections 4, waiting 5, running 6, memory of requests 7.0 MiB, " \
                   "rates since the start"
    assert function.split() == ["m.f", "20.0", "2.5", "10.0", "2.0", "3.0"]
    assert module.split() == ["m", "quarantined", "13", "11", "12", "1.6", "8000"]
    assert faults == ["warning  the server memory_full: calls hold",
                      "critical m quarantined: why"]


def test_top_shows_what_was_called_since_the_last_second(serve, corpus):
    server = serve(corpus)
    server.results("tensor/softmax", [[[1]]])
    process = subprocess.Popen([BIN / "farcall", "top", f"--server={server.url}"],
                               stdout=subprocess.PIPE, text=True)

    def busiest():
        for line in process.stdout:
            if line.startswith("FUNCTION"):
                return process.stdout.readline().split()
    try:
        assert busiest()[0] == "tensor.softmax"
        server.results("tensor/matmul", [[[1]], [[2]]])
        for first in iter(busiest, None):
            if first[0] == "tensor.matmul":  # in one view alone: then it is idle
                break
            assert first[1:3] == ["0.0", "0.0"]
        assert float(first[1]) > 0
        assert busiest()[1:3] == ["0.0", "0.0"]
    finally:
        process.kill()
        process.communicate()


def test_a_load_shows_itself_while_it_runs(farcall, server):
    bench = ["bench", "tensor/softmax", f"--server={server.url}", "--duration=500ms",
             "--warmup=0", "--slo=p50<60s"]
    said, status = at_terminal(*bench)
    assert status == 0, said
    lines = said.split("\r\x1b[K")
    assert len(lines) >= 3  # one for each 100 ms, of which a busy machine misses some
    for line in lines[1:-1]:
        assert re.match(r"0\.\d of 0\.5 s  \d+/s  p50 .* p99 .* max ", line), line
    # The status line is erased before the report is printed.
    assert lines[-1].startswith("/api/v1/functions/tensor/softmax of ")
    assert "p50<60s: \x1b[32mmet\x1b[0m" in lines[-1]
    assert "\r" not in farcall(*bench).stderr


@pytest.fixture
def slow_tools(tmp_path):
    """A folder in which mlir-opt takes three seconds and then fails."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("mlir-opt", "mlir-translate", "opt", "llc"):
        tool = folder / name
        tool.write_text("#!/bin/sh\nsleep 3\nexit 1\n")
        tool.chmod(0o755)
    return folder


@pytest.mark.once
def test_a_long_compilation_says_that_it_goes_on(farcall, slow_tools, tmp_path):
    (tmp_path / "m.mlir").write_text("func.func @f() { return }\n")
    compile = ["compile", tmp_path / "m.mlir", f"--tools={slow_tools}"]
    said, status = at_terminal(*compile)
    assert status != 0
    assert re.search("\r\x1b\\[Kmlir-opt, [1-9] s", said), said
    # The status line is erased before the error is printed.
    assert re.search("\r\x1b\\[K\x1b\\[1;31mfarcall:", said), said
    assert "\r" not in farcall(*compile).stderr


def environment_of(server):
    return {**user_environment(), "PATH": f"{BIN}:{os.environ['PATH']}",
            "FARCALL_SERVER": server.url}


def bash_offers(server, line):
    words = shlex.split(line.replace("=", " = ")) + ([""] if line.endswith(" ") else [])
    script = "\n".join([
        "source <(farcall completion bash)",
        "compopt() { :; }",
        f"COMP_WORDS=({' '.join(map(shlex.quote, words))})",
        f"COMP_CWORD={len(words) - 1}",
        "_farcall",
        "printf '%s\\n' \"${COMPREPLY[@]}\""])
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True,
                          env=environment_of(server), cwd=ROOT, timeout=60)
    assert done.stderr == ""
    return done.stdout.split()


def fish_offers(server, line):
    script = f"farcall completion fish | source; complete -C {shlex.quote(line)}"
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True,
                          text=True, env=environment_of(server), cwd=ROOT, timeout=60)
    assert done.stderr == ""
    return [each.split("\t")[0] for each in done.stdout.splitlines()]


def zsh_offers(server, line):
    """What the function passes to zsh's own functions, which do the rest."""
    words = line.split(" ")
    script = "\n".join([
        "_arguments() { print -rl -- \"$@\"; local a=${@[-1]##*:}; $=a }",
        "_describe() { print -rl -- ${(P)2} }", "_files() { }",
        "compadd() { shift; print -rl -- \"$@\" }", "'(bash'() { }",
        f"words=({' '.join(map(shlex.quote, words))}) CURRENT={len(words)}",
        "source <(farcall completion zsh)"])
    done = subprocess.run(["zsh", "-fc", script], capture_output=True, text=True,
                          env=environment_of(server), cwd=ROOT, timeout=60)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_bash_completes(server):
    assert bash_offers(server, "farcall be") == ["bench"]
    assert {"compile", "call", "explain"} < set(bash_offers(server, "farcall "))
    assert bash_offers(server, "farcall bench --ste") == ["--steps="]
    assert bash_offers(server, "farcall ls --lo") == ["--long"]
    assert bash_offers(server, "farcall call tensor/mat") == ["tensor/matmul"]
    assert bash_offers(server, "farcall load tens") == ["tensor"]
    assert bash_offers(server, "farcall explain shape") == ["shape_mismatch"]
    assert bash_offers(server, "farcall completion f") == ["fish"]
    assert bash_offers(server, "farcall run --parameters=READ") == ["README.md"]


def test_fish_completes(server):
    assert fish_offers(server, "farcall be") == ["bench"]
    assert fish_offers(server, "farcall bench --ste") == ["--steps"]
    assert "tensor/matmul" in fish_offers(server, "farcall call tensor/mat")
    assert fish_offers(server, "farcall explain shape") == ["shape_mismatch"]
    assert fish_offers(server, "farcall completion ") == ["bash", "fish", "zsh"]


def test_zsh_completes(server):
    verbs = zsh_offers(server, "farcall ")
    assert "bench:put load on a function of a server, and measure" in verbs
    offered = zsh_offers(server, "farcall call t")
    assert "tensor/matmul" in offered
    assert any(each.startswith("*--timeout=[") for each in offered)
    # Brackets and colons in a help text must not end a part of zsh's specification.
    (listed,) = [each for each in offered if each.startswith("*--input=[")]
    plain = re.sub(r"\\.", "", listed)
    assert plain.count("[") == plain.count("]") == 1 and plain.count(":") == 2
    assert "tensor" in zsh_offers(server, "farcall load t")


@pytest.mark.once
@pytest.mark.parametrize("offers", [bash_offers, fish_offers, zsh_offers])
@pytest.mark.parametrize("verb", ["call", "load"])
def test_no_shell_runs_what_a_server_names(hostile, tmp_path, offers, verb):
    ran = tmp_path / "ran"
    for word in (f"`>{ran}`", f"$(>{ran})", f"t;>{ran}", f"'>{ran}'", f'">{ran}"',
                 f"${{x[$(>{ran})]}}", "~", "*"):
        offered = offers(hostile(word), f"farcall {verb} ")
        assert not ran.exists(), word
        if offers is bash_offers:  # bash inserts an offer as it is
            done = subprocess.run(["bash", "-c", f"printf '%s\\n' {' '.join(offered)}"],
                                  capture_output=True, text=True, timeout=60)
            offered = done.stdout.splitlines()
            assert not ran.exists(), word
        name = word.partition("(")[0] if verb == "call" else word
        assert any(each.startswith(name) for each in offered), offered
    assert "zzz" not in " ".join(offers(hostile("\x1b]zzz"), f"farcall {verb} "))


def test_no_other_shell_completes(farcall):
    assert farcall("completion", "csh").returncode == 64

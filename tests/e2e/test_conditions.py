# SPDX-License-Identifier: Apache-2.0
"""One view of health: each condition of server/dialect/condition.def is caused, and
must be shown by ls, top, health, /readyz?verbose, /metrics, by a rule that alerts,
and by the explorer if tests/browser/conditions provides a browser. A row is a
server, what is done to it, and the module that the condition is about."""
import hashlib
import http.client
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from certificates import Authority
from conftest import BIN, ROOT
from console import user_environment

DEFINED = (ROOT / "server/dialect/condition.def").read_text()
TABLE = {code: (about, severity.lower(), seen_by == "ALL") for about, code, severity, seen_by in
         re.findall(r'^FC_CONDITION\(\w+, (\w+), "(\w+)", (\w+), (\w+),', DEFINED, re.M)}
TEXTS = dict(re.findall(r'^FC_CONDITION\(.*?"(\w+)".*"(.*)"\)$', DEFINED, re.M))
RULES = (ROOT / "config/prometheus/farcall.rules.yml").read_text()

SOURCE = """
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
long long _mlir_ciface_fine(long long x) { return x; }
long long _mlir_ciface_crash(long long x) { return *(volatile char *)0 + x; }
long long _mlir_ciface_killed(long long x) { kill(getpid(), SIGKILL); return x; }
long long _mlir_ciface_spin(long long x) { for (volatile int on = 1; on;) {} return x; }
long long _mlir_ciface_gate(long long x) {
  close(open(GATE ".begun", O_WRONLY | O_CREAT, 0600));
  while (access(GATE, F_OK)) usleep(1000);
  return x;
}
#ifdef AT_LOAD
__attribute__((constructor)) static void load(void) { _mlir_ciface_ ## AT_LOAD(0); }
#endif
"""
FUNCTIONS = ["fine", "crash", "killed", "spin", "gate"]
SIDECAR = {"farcall": 1, "abi": "mlir-memref", "functions": [
    {"name": name, "symbol": f"_mlir_ciface_{name}", "cc": "ciface",
     "args": [{"type": "i64"}], "results": [{"type": "i64"}]} for name in FUNCTIONS]}


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(str(self.path))


class Browser:
    """Shows the explorer in a browser, with tests/browser/conditions.mjs."""

    def __init__(self, program):
        self.process = subprocess.Popen(["node", program], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0


class Watched:
    """A server of the module `m` on a Unix socket. With a browser it also has a port,
    and the page is shown from the start."""

    def __init__(self, folder, browser=None):
        self.browser = browser
        self.folder, self.modules = folder, folder / "modules"
        self.socket, self.gate = folder / "socket", folder / "gate"
        self.modules.mkdir()
        self.process, self.open_sockets, self.threads = None, [], []

    def compile(self, at_load=None):
        source = SOURCE.replace("_mlir_ciface_ ## AT_LOAD", f"_mlir_ciface_{at_load}")
        (self.folder / "m.c").write_text(source)
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", f'-DGATE="{self.gate}"',
                        *(["-DAT_LOAD"] if at_load else []), "-o", self.modules / "m.so",
                        self.folder / "m.c"], check=True)
        (self.modules / "m.farcall.json").write_text(json.dumps(SIDECAR))

    def start(self, *arguments):
        isolation = [] if any(a.startswith("--isolation") for a in arguments) else \
            ["--isolation=process"]
        self.process = subprocess.Popen(
            [BIN / "farcalld", f"--listen=unix:{self.socket}", "--sandbox=off", *isolation,
             *(["--listen=http://127.0.0.1:0"] if self.browser else []), *arguments, self.modules],
            env=user_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(self.folder / "log", "w"))
        until(self.has_started)
        if self.browser:
            log = (self.folder / "log").read_text()
            self.browser.ask("open", re.search(r"http://127[0-9.:]+", log)[0])

    def has_started(self):
        try:
            return self.get("/startupz")[0] == 200
        except OSError:  # it does not listen yet
            return False

    def ask(self, method, path, body=None, **headers):
        connection = Connection(self.socket)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def get(self, path):
        return self.ask("GET", path)

    def call(self, function, value=0, **headers):
        """The error code of the answer, or "ok" if it has results."""
        status, body = self.ask("POST", f"/api/v1/functions/m/{function}", f"[{value}]",
                                **headers)
        return "ok" if status == 200 else json.loads(body)["code"]

    def call_beside(self, *arguments):
        self.threads.append(threading.Thread(target=self.call, args=arguments))
        self.threads[-1].start()

    def connect(self):
        self.open_sockets.append(socket.socket(socket.AF_UNIX))
        self.open_sockets[-1].connect(str(self.socket))
        return self.open_sockets[-1]

    def farcall(self, *words):
        return subprocess.run([BIN / "farcall", *words, f"--server=unix:{self.socket}"],
                              text=True, capture_output=True, timeout=60,
                              env=user_environment())

    def end(self):
        self.gate.touch()
        for thread in self.threads:
            thread.join(60)
        for each in self.open_sockets:
            each.close()
        if self.process:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(timeout=60)
            finally:
                self.process.kill()


def until(holds):
    end = time.monotonic() + 60
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < end, "it did not come in a minute"
        time.sleep(0.05)


@pytest.fixture(scope="session")
def browser():
    program = os.environ.get("FARCALL_PAGES")
    made = Browser(program) if program else None
    yield made
    if made:
        made.end()


@pytest.fixture
def watched(tmp_path, browser):
    made = Watched(tmp_path, browser)
    yield made
    made.end()


# ---------------------------------------------------------------------------
# How each condition is caused

def crash(watched):
    watched.compile()
    watched.start()
    assert watched.call("crash", 1) == "worker_crashed"


def crash_again(watched):
    crash(watched)
    assert watched.call("crash", 1) == "call_quarantined"


def crash_until_quarantined(watched):
    watched.compile()
    watched.start()
    for value in range(20):
        assert watched.call("fine", value) == "ok"
    values = iter(range(100))
    until(lambda: watched.call("crash", next(values)) == "module_quarantined")


def crash_until_paused(watched):
    """Crashes too rarely for a quarantine, but so often that the next process starts
    seconds later."""
    watched.compile()
    watched.start("--crash-limit=64")
    for _ in range(6):
        crash_anew(watched)


def be_killed(watched):
    watched.compile()
    watched.start()
    assert watched.call("killed") == "worker_out_of_memory"


def take_too_long(watched):
    watched.compile()
    watched.start("--worker-cpu-time=1s")
    assert watched.call("spin") == "worker_crashed"


def crash_at_load(watched):
    watched.compile("crash")
    watched.start()


def be_killed_at_load(watched):
    watched.compile("killed")
    watched.start()


def be_overloaded(watched):
    watched.compile()
    watched.start("--workers=1", "--queue=1")
    for value in range(8):
        watched.call_beside("gate", value)
    until(lambda: '"overloaded"' in watched.get("/metrics")[1])


def be_left(watched):
    watched.compile()
    watched.start()
    assert watched.call("gate", 0, **{"Farcall-Timeout-Ms": "100"}) == "deadline_exceeded"


def lose_a_thread(watched):
    watched.compile()
    watched.start("--isolation=thread", "--timeout=100ms")
    assert watched.call("gate") == "deadline_exceeded"


def refuse(watched):
    (watched.modules / "new").write_bytes(b"nonsense")
    (watched.modules / "new").rename(watched.modules / "m.so")
    assert watched.farcall("load", "m").returncode == 1


def refuse_a_file(watched):
    watched.compile()
    watched.start()
    refuse(watched)


def have_a_certificate(watched, days):
    file, key = Authority(watched.folder).sign("server", days=days)
    watched.compile()
    watched.start("--listen=https://127.0.0.1:0", f"--tls-cert={file}", f"--tls-key={key}")


def misspell(watched):
    config = watched.folder / "farcalld.conf"
    config.write_text("{}")
    watched.compile()
    watched.start(f"--config={config}")
    config.write_text("{")
    watched.process.send_signal(signal.SIGHUP)
    until(lambda: listed(watched, "reread_refused"))


def fill_memory(watched):
    watched.compile()
    watched.start("--body-timeout=600s", "--max-memory=70M", "--client-memory=70M",
                  "--max-body=64M")
    filler = watched.connect()
    size = 62_000_000
    filler.sendall(b"POST /api/v1/functions/m/fine HTTP/1.1\r\nHost: localhost\r\n"
                   b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                   % (size + 1000) + b" " * size)


def fill_connections(watched):
    watched.compile()
    watched.start("--connections=8", "--client-connections=8", "--head-timeout=600s",
                  "--idle-timeout=600s")
    fill_up(watched)


def fill_up(watched):
    """One connection is the request's, and some are the page's."""
    def are_full():
        status, text = watched.get("/metrics")
        if status != 200:
            if watched.open_sockets:
                watched.open_sockets.pop().close()
            return False
        count = int(re.search(r"\nfarcall_connections (\d+)", text)[1])
        if count < 8:
            watched.connect()
        return count == 8
    until(lambda: are_full() and are_full())  # those before may not have been closed yet


WAYS = {
    "quarantined": crash_until_quarantined,
    "load_failed": crash_at_load,
    "retrying": be_killed_at_load,
    "restarting": crash_until_paused,
    "overloaded": be_overloaded,
    "worker_stuck": be_left,
    "file_refused": refuse_a_file,
    "memory_limit": be_killed,
    "budget_used": take_too_long,
    "bodies_refused": crash_again,
    "crashed": crash,
    "certificate_ended": lambda watched: have_a_certificate(watched, -1),
    "reread_refused": misspell,
    "certificate_ends": lambda watched: have_a_certificate(watched, 5),
    "threads_lost": lose_a_thread,
    "memory_full": fill_memory,
    "connections_full": fill_connections,
}
VALUES = itertools.count(1000)


def crash_anew(watched):
    assert watched.call("crash", next(VALUES)) == "worker_crashed"


def crash_twice(watched):
    value = next(VALUES)
    watched.call("crash", value)
    watched.call("crash", value)


# These conditions hold only for a minute. On a slow machine they are caused again like
# this.
AGAIN = {
    "restarting": crash_anew,
    "overloaded": lambda watched: [watched.call_beside("gate", next(VALUES)) for _ in range(4)],
    "memory_limit": lambda watched: watched.call("killed", next(VALUES)),
    "budget_used": lambda watched: watched.call("spin", next(VALUES)),
    "bodies_refused": crash_twice,
    "connections_full": fill_up,
}
# What the detail must contain, if it is known.
DETAILS = {
    "quarantined": "function 'crash' was stopped by signal 11 (SIGSEGV) at offset 0x",
    "crashed": "function 'crash' was stopped by signal 11 (SIGSEGV) at offset 0x",
    "restarting": "function 'crash' was stopped by signal 11 (SIGSEGV) at offset 0x",
    "load_failed": "while it was loaded it was stopped by signal 11 (SIGSEGV), address near",
    "retrying": "its process was killed from outside (SIGKILL)",
    "certificate_ended": "has ended on 20", "certificate_ends": "ends on 20",
    "reread_refused": "farcalld.conf:1:2: ",
    "file_refused": "m.so", "threads_lost": "1 threads", "worker_stuck": "1 of its workers",
}


def test_each_has_a_row():
    assert list(WAYS) and set(WAYS) == set(TABLE)


@pytest.mark.parametrize("code", TABLE)
def test_explain_knows_it(code):
    done = subprocess.run([BIN / "farcall", "explain", code], text=True, capture_output=True,
                          env=user_environment())
    assert done.returncode == 0
    assert f"{code}: Condition" in done.stdout and f"\n\n{TEXTS[code]}\n\ntry: " in done.stdout


def find(conditions, code):
    return next((each for each in conditions if each["code"] == code), None)


def listed(watched, code):
    return listed_in(watched.farcall("ls", "--json").stdout, code)


def alerts(metric, severity):
    """The rules that fire if the metric has samples above 0 with this severity."""
    return [name for name, rule in re.findall(r"- alert: (\w+)\n(.*?)(?=\n      - |\Z)", RULES,
                                              re.S)
            if f'{metric}{{severity="{severity}"}} >= 1' in rule]


DOCUMENTS = {"ls": ("ls", "--json"), "long": ("ls", "--long"), "top": ("top", "--once"),
             "health": ("health",), "ready": "/readyz?verbose", "metrics": "/metrics"}


def line_of(code):
    """The beginning of the page's line about the condition."""
    return ("m: " if TABLE[code][0] == "MODULE" else "") + TEXTS[code]


def look_at_page(watched, code):
    """The page's lines two seconds later. The page has its own connection, so no
    request is needed for it when connections are full."""
    if code == "connections_full":
        watched.connect()
    lines = watched.browser.ask("wait", line_of(code))
    if code == "connections_full":
        watched.open_sockets.pop().close()
    return lines


def take(watched, names, code):
    """Takes the documents one right after the other: some conditions hold only for a
    minute."""
    taken = {}
    for name in names:
        asked = DOCUMENTS.get(name)
        if name == "page":
            taken[name] = look_at_page(watched, code)
        elif isinstance(asked, str):
            taken[name] = watched.get(asked)
        else:
            done = watched.farcall(*asked)
            taken[name] = done.returncode, done.stdout + done.stderr
    return taken


def sample(code):
    about, severity, _ = TABLE[code]
    module = 'module="m",' if about == "MODULE" else ""
    metric = "farcall_module_condition" if about == "MODULE" else "farcall_condition"
    return f'{metric}{{{module}code="{code}",severity="{severity}"}}'


def listed_in(text, code):
    """The condition in the output of ls --json."""
    document = json.loads(text)
    if TABLE[code][0] == "SERVER":
        return find(document["conditions"], code)
    return find(document["modules"][0]["conditions"], code) if document["modules"] else None


def missed(documents, code):
    """The documents that do not show the condition. A document for which there was no
    connection is not counted."""
    about, severity, for_all = TABLE[code]
    named = f"{'m' if about == 'MODULE' else 'the server'} {code}: "
    ready = documents["ready"][1]
    shown = {
        "ls": documents["ls"][0] == 0 and listed_in(documents["ls"][1], code),
        "long": code in documents["long"][1],
        "top": re.search(f"^{severity} +{named}", documents["top"][1], re.M),
        "ready": '"conditions"' in ready and
        (find(json.loads(ready)["conditions"], code) if for_all else json.loads(ready)["more"]),
        "health": (f"{severity}  {code}: " if for_all else " more: farcall ls --long\n")
        in documents["health"][1],
        "metrics": f"\n{sample(code)} 1\n" in documents["metrics"][1],
        "page": "page" not in documents or
        any(each.startswith(line_of(code)) for each in documents["page"]),
    }
    return [name for name, is_shown in shown.items() if not is_shown]


@pytest.mark.parametrize("code", WAYS)
def test_it_is_seen_everywhere(watched, code):
    about, severity, for_all = TABLE[code]
    WAYS[code](watched)

    documents = take(watched, [*DOCUMENTS, *(["page"] if watched.browser else [])], code)

    def seen():
        names = missed(documents, code)
        if names:
            AGAIN.get(code, lambda _: None)(watched)
            documents.update(take(watched, names, code))
        return not names
    until(seen)
    found = listed_in(documents["ls"][1], code)
    assert found["severity"] == severity and found["text"]
    assert DETAILS.get(code, "") in found.get("detail", "")
    status, text = documents["ready"]
    verbose = json.loads(text)
    assert (status == 200) == (verbose["status"] == "ready") == (not verbose["reason"])
    shown = find(verbose["conditions"], code)
    assert bool(shown) == for_all
    if shown:
        assert (shown["severity"], shown["count"]) == (severity, 1)
        assert "m" not in shown  # not which module it is
    assert alerts(sample(code).split("{")[0], severity)


def samples(watched):
    """The lines of modules' conditions in /metrics. None may be there twice."""
    found = re.findall(r'\nfarcall_module_condition\{module="(.*?)",code="(.*?)",'
                       r'severity="(\w+)"\} (\d+)', watched.get("/metrics")[1])
    assert len({each[:2] for each in found if each[0] != "(other)"}) == \
        len([each for each in found if each[0] != "(other)"])
    return {tuple(each[:3]): int(each[3]) for each in found}


def summary(watched):
    return {each["code"]: each["count"]
            for each in json.loads(watched.get("/readyz?verbose")[1])["conditions"]}


def test_a_refused_file_is_told_while_its_module_sleeps(watched):
    config = watched.folder / "farcalld.conf"
    config.write_text("{}")
    watched.compile()
    watched.start(f"--config={config}")
    refuse(watched)
    assert listed(watched, "file_refused")
    config.write_text('{"idle-unload": "1s"}')
    watched.process.send_signal(signal.SIGHUP)
    until(lambda: json.loads(watched.get("/api/v1/modules")[1])["modules"][0]["state"]
          == "described")
    assert listed(watched, "file_refused")["detail"]
    assert samples(watched) == {("m", "file_refused", "warning"): 1}


def test_files_that_have_a_served_name_are_told_by_all(watched):
    watched.compile()
    others = [watched.folder / name for name in ("b", "c")]
    for other in others:
        shutil.copytree(watched.modules, other)
    watched.start(*map(str, others))
    assert watched.call("fine") == "ok"
    conditions = [[each["code"] for each in module["conditions"]] for module in json.loads(
        watched.farcall("ls", "--json").stdout)["modules"]]
    assert sorted(conditions) == [[], ["load_failed"], ["load_failed"]]
    assert summary(watched) == {"load_failed": 2}
    assert samples(watched) == {("m", "load_failed", "critical"): 1}


def test_files_that_were_refused_are_told_until_they_are_right(watched):
    file, key = Authority(watched.folder).sign("server")
    trust = watched.folder / "trust"
    config = watched.folder / "farcalld.conf"
    config.write_text("{}")
    watched.compile()
    trust.write_text(f"{hashlib.sha256((watched.modules / 'm.so').read_bytes()).hexdigest()}\n")
    watched.start(f"--config={config}", "--listen=https://127.0.0.1:0", f"--trust={trust}",
                  f"--tls-cert={file}", f"--tls-key={key}")
    for each, reason in (config, "farcalld.conf:1:"), (key, "server.key"), (trust, "trust"):
        good = each.read_text()
        each.write_text("{nonsense")
        watched.process.send_signal(signal.SIGHUP)
        found = until(lambda: listed(watched, "reread_refused"))
        assert reason in found["detail"] and found["at"]
        each.write_text(good)
        watched.process.send_signal(signal.SIGHUP)
        until(lambda: not listed(watched, "reread_refused"))


def test_of_what_drains_only_a_stuck_worker_is_told(watched):
    watched.compile()
    watched.start("--isolation=thread", "--workers=2")
    assert watched.call("gate", 0, **{"Farcall-Timeout-Ms": "100"}) == "deadline_exceeded"
    until(lambda: "worker_stuck" in summary(watched))
    watched.compile("fine")
    assert watched.farcall("load", "m").returncode == 0
    states = [(module["state"], [each["code"] for each in module["conditions"]])
              for module in json.loads(watched.farcall("ls", "--json").stdout)["modules"]]
    assert sorted(states) == [("draining", ["worker_stuck"]), ("ready", [])]
    assert summary(watched)["worker_stuck"] == 1
    assert samples(watched) == {("m", "worker_stuck", "warning"): 1}


def test_those_without_a_line_are_counted_by_severity(watched):
    """Only a thousand of them get lines of their own."""
    for number in range(1003):
        (watched.modules / f"bad{number}.so").write_bytes(b"nonsense")
    watched.start()
    watched.compile()
    assert watched.farcall("load", "m").returncode == 0
    refuse(watched)
    found = samples(watched)
    assert len(found) == 1002
    assert found["(other)", "(other)", "critical"] == 3
    assert found["(other)", "(other)", "warning"] == 1


def test_nothing_is_wrong_with_a_server_that_is_well(watched):
    watched.compile()
    watched.start()
    assert watched.call("fine") == "ok"
    document = json.loads(watched.farcall("ls", "--json").stdout)
    assert document["conditions"] == document["modules"][0]["conditions"] == []
    assert json.loads(watched.get("/readyz?verbose")[1]) == {
        "status": "ready", "reason": None, "modules": 1, "failed": 0, "conditions": [],
        "more": 0}
    assert watched.get("/readyz")[1] == '{"status":"ready","modules":1,"failed":0}'
    text = watched.get("/metrics")[1]
    assert "farcall_module_condition{" not in text
    samples = re.findall(r'\nfarcall_condition\{code="(\w+)",severity="\w+"\} (\d)', text)
    assert samples == [(code, "0") for code in TABLE if TABLE[code][0] == "SERVER"]
    assert watched.farcall("health").stdout == "ready\n"


def test_versions_are_told_apart(watched):
    """ls, top and the conditions show the version."""
    watched.compile()
    for version in "1", "2":
        place = watched.modules / "m" / version
        place.mkdir(parents=True)
        for name in "m.so", "m.farcall.json":
            shutil.copy(watched.modules / name, place / name.replace("m.", "model.", 1))
    for name in "m.so", "m.farcall.json":
        (watched.modules / name).unlink()
    watched.start()
    names = [line.split()[0] for line in watched.farcall("ls").stdout.splitlines()]
    assert sorted(names) == ["m@1", "m@2"]
    assert watched.call("crash", 1) == "worker_crashed"  # the name leads to the highest
    once = until(lambda: (said := watched.farcall("top", "--once").stdout).count("crashed:") == 1
                 and said)
    assert re.search("^warning +m@2 crashed: function 'crash' was stopped", once, re.M)
    assert re.search("^m@2 +ready", once, re.M) and re.search("^m@1 +ready", once, re.M)
    assert re.search("^m.fine@2 ", once, re.M) and re.search("^m.fine ", once, re.M)

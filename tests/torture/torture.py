# SPDX-License-Identifier: Apache-2.0
"""Makes the n-th system call, or the n-th allocation, of a scenario fail, for n = 1, 2, …
until the scenario runs without meeting the fault, and says what came of it.

    torture.py BIN TOOLS [--short] [--jobs N] [--only SCENARIO] [--fault FAULT] [--list]

BIN has farcalld and farcall, TOOLS torture_tracer, libtorture_preload.so and
farcall_embed. scenarios.py is the table of scenarios, faults.def that of faults. Of one
scenario and one fault every n is counted, and those are tried that are the first and the
last of their site, which is the call and the callers on the stack, until the site has
failed --everywhere times in all scenarios of one process; with --most at most so many of
them, drawn with a fixed seed.

Each run must end in time and by no signal; what it answers is right, or an error that
says what is wrong; after it the same works without the fault, and no descriptor, process
or memory is left behind. Status 1: it did not; 77: this machine does not let processes be
traced."""
import argparse
import collections
import ctypes
import http.client
import json
import mmap
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

SKIPPED = 77
FOREVER = 2**64 - 1
SITES_MAX = 1 << 17  # of control.h
LEAK = 70  # status of farcall_embed that found one
PATIENCE = 15  # seconds that one step may take
FATAL = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE,
         signal.SIGSYS, signal.SIGTRAP, signal.SIGPIPE, signal.SIGXFSZ}


class Page(ctypes.Structure):
    """control.h"""
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "fault", "start", "times", "seen", "injected", "pid")] + [
        (name, ctypes.c_int64) for name in ("blocks", "calendar_ns", "monotonic_ns")] + [
        ("where", ctypes.c_char * 1024), ("sites", ctypes.c_uint32 * SITES_MAX)]


Fault = collections.namedtuple("Fault", "name number times place")


class Defect(Exception):
    """What must not happen."""


class Torn(Exception):
    """The scenario cannot go on: an error was told, or the connection was closed."""


# ---------------------------------------------------------------------------
# A traced program

class Tracer:
    """The tracer, and the page and the log of one program."""

    def __init__(self, tools, folder, preload):
        self.tools, self.folder = tools, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.log = folder / "control", folder / "log"
        self.path.write_bytes(bytes(ctypes.sizeof(Page)))
        self.log.write_bytes(b"")
        with open(self.path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), ctypes.sizeof(Page))
        self.page = Page.from_buffer(self.memory)
        self.preload = str(tools / "libtorture_preload.so") if preload else ""
        self.read = 0
        self.end = None

    @property
    def words(self):
        return [str(self.tools / "torture_tracer"), str(self.path), str(self.log),
                self.preload]

    def arm(self, fault, start):
        """Has the calls from number `start` on fail; 0: they are only counted."""
        self.page.fault = 0
        self.page.where = b""
        self.page.start, self.page.times = start, fault.times
        self.page.seen = self.page.injected = 0
        self.page.fault = fault.number

    @property
    def sites(self):
        """Of the calls that were only counted, who made each; the first is number 1."""
        return self.page.sites[1:min(self.page.seen + 1, SITES_MAX)]

    def arm_shortage(self, fault, start):
        """The same, but what lasts ends after half a second: a server may wait for it."""
        self.arm(fault, start)
        self.end = threading.Timer(0.5, self.relent) if fault.times == FOREVER else None
        if self.end:
            self.end.start()

    def relent(self):
        self.page.fault = 0

    def disarm(self):
        if self.end:
            self.end.cancel()
            self.end.join()
            self.end = None
        self.page.fault = 0
        self.page.calendar_ns = 0
        return self.page.seen, self.page.injected

    def where(self, program):
        text = self.page.where.decode(errors="replace")
        return symbols(text, program)

    def endings(self):
        """What the log says since it was read last: (who, signal or 0, stack)."""
        with open(self.log) as file:
            file.seek(self.read)
            lines = file.readlines()
            self.read = file.tell()
        found = []
        for line in lines:
            ended = re.match(r"ended (\w+) by signal (\d+): (.*)", line)
            if ended:
                found.append((ended[1], int(ended[2]), ended[3]))
            else:
                found.append((line.split()[1], 0, ""))
        return found


def symbols(text, program):
    """The functions of the addresses in `text`."""
    addresses = re.findall(r"0x[0-9a-f]+", text)
    prefix = text.split("0x")[0]
    if not addresses:
        return text
    done = subprocess.run(["addr2line", "-f", "-e", program, *addresses[:14]], text=True,
                          capture_output=True)
    lines = done.stdout.splitlines()
    shown = []
    for function, place in zip(lines[::2], lines[1::2]):
        name = f"{function}:{place.rsplit(':', 1)[-1].split()[0]}"
        if function != "??" and name not in shown:
            shown.append(name)
    return prefix + " < ".join(shown)


# ---------------------------------------------------------------------------
# What one step of a scenario finds

class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    """Asks one server. `calm`: nothing may go wrong; else each request may be
    answered with an error that says what is wrong, or its connection be closed."""

    def __init__(self, server):
        self.server = server
        self.calm = True
        self.outcomes = collections.Counter()
        self.said = None  # the last error

    def connection(self):
        address = self.server.address
        if isinstance(address, str):
            made = http.client.HTTPConnection("localhost", timeout=PATIENCE)
            made.sock = socket.socket(socket.AF_UNIX)
            made.sock.settimeout(PATIENCE)
            made.sock.connect(address)
            return made
        if self.server.tls:
            return http.client.HTTPSConnection(*address, timeout=PATIENCE,
                                               context=self.server.tls)
        return http.client.HTTPConnection(*address, timeout=PATIENCE)

    def ask(self, method, path, body=None, fields=(), status=200, want=None, clear=True,
            **options):
        """The answer. `want`: what is true of the right one, or its JSON."""
        connection = None
        try:
            connection = self.connection()
            connection.request(method, path, body, dict(fields), **options)
            got = connection.getresponse()
            reply = Reply(got.status, dict(got.getheaders()), got.read())
        except (TimeoutError, socket.timeout):
            raise Defect(f"{method} {path}: no answer in {PATIENCE} s") from None
        except (OSError, http.client.HTTPException) as error:
            if self.calm:
                raise Torn(f"{method} {path}: {error!r}") from None
            self.outcomes["closed"] += 1
            raise Torn(repr(error)) from None
        finally:
            if connection:
                connection.close()
        return self.judge(f"{method} {path}", reply, status, want, clear)

    def judge(self, what, reply, status, want, clear):
        if reply.status == status:
            right = want is None or (want(reply) if callable(want) else reply.json == want)
            if not right:
                raise Defect(f"{what}: a wrong answer: {reply.body[:300]}")
            self.outcomes["answered"] += 1
            return reply
        self.said = f"{what}: {reply.status} {reply.body[:300]}"
        if self.calm:
            raise Torn(self.said)
        if reply.status < 400 or reply.status == 500:
            raise Defect(f"an answer that says our own mistake: {self.said}")
        if clear and method_has_body(what):
            try:
                error = reply.json.get("error")
            except ValueError:
                raise Defect(f"not an error document: {self.said}") from None
            if not error:
                raise Defect(f"an error without a text: {self.said}")
        self.outcomes["refused"] += 1
        raise Torn(self.said)

    def attempt(self, *words, **options):
        """A step that others do not need."""
        try:
            return self.ask(*words, **options)
        except Torn:
            if self.calm:
                raise
            return None

    def call(self, function, arguments, want, **options):
        return self.ask("POST", f"/api/v1/functions/{function}", json.dumps(arguments),
                        {"Content-Type": "application/json", **options.pop("fields", {})},
                        want={"results": want}, **options)

    def until(self, true, what):
        """Waits: for what must come if calm, else for what may."""
        end = time.monotonic() + (PATIENCE if self.calm else 0.3)
        while not true():
            if time.monotonic() > end:
                if self.calm:
                    raise Torn(f"{what} did not come")
                return False
            time.sleep(0.005)
        return True


def method_has_body(what):
    return not what.startswith("HEAD")


# ---------------------------------------------------------------------------
# A server that is tortured while it runs

class Server:
    """A traced farcalld."""

    def __init__(self, bench, words, files=None):
        self.bench = bench
        self.tracer = bench.tracer()
        self.tls, self.address, self.lines = None, None, []
        environment = bench.environment()
        self.process = subprocess.Popen(  # which ends when this process does
            [*self.tracer.words, str(bench.bin / "farcalld"), *map(str, words)],
            env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL, text=True, errors="replace")
        self.listening = threading.Event()
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()

    def listen(self):
        for line in self.process.stderr:
            self.lines.append(line)
            del self.lines[:-200]
            found = re.search(r"listening on (?:https?://([^:/]+):(\d+)|unix:([^\"\s]+))",
                              line)
            if found and not self.address:
                self.address = found[3] or (found[1], int(found[2]))
                self.listening.set()
        self.listening.set()

    def wait(self):
        """Whether the server listens; else it has ended."""
        if not self.listening.wait(PATIENCE):
            raise Defect("the server neither listens nor ends")
        return self.address is not None

    @property
    def pid(self):
        return self.tracer.page.pid

    def signal(self, number):
        os.kill(self.pid, number)

    def taken(self):
        """(descriptors, processes) of the server."""
        pid = self.pid
        files = len(os.listdir(f"/proc/{pid}/fd"))
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return files, len(file.read().split())

    def check(self, signals=()):
        """No process may have ended by a signal but those of `signals`."""
        for who, number, stack in self.tracer.endings():
            if number == signal.SIGKILL and who != "program":
                continue  # by the server
            if number in signals and who == "worker":
                continue
            shown = symbols(stack, self.bench.bin / "farcalld")
            raise Defect(f"{who} ended by signal {number}: {shown}" if number
                         else f"{who} was left running")
        if self.process.poll() is not None:
            raise Defect("the server ended: " + "".join(self.lines[-3:]))

    def stop(self, signals=()):
        """Ends it as an operator does."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Defect("the server does not end") from None
        self.reader.join(PATIENCE)
        for who, number, stack in self.tracer.endings():
            if who == "program" or number not in (signal.SIGKILL, *signals):
                shown = symbols(stack, self.bench.bin / "farcalld")
                raise Defect(f"{who} ended by signal {number} at the end: {shown}"
                             if number else f"{who} was left running")
        return status

    def kill(self):
        self.process.kill()  # its tracees end with the tracer
        self.process.wait()
        self.reader.join(PATIENCE)


class Running:
    """A scenario of a server that runs: `steps(client)` while the fault is armed."""

    def __init__(self, name, words, steps, signals=(), prepare=None, skips=()):
        self.name, self.words, self.steps = name, words, steps
        self.signals, self.prepare, self.skips = signals, prepare, skips

    def open(self, bench):
        words = self.words(bench) if callable(self.words) else self.words
        if not any(str(each).startswith("--listen") for each in words):
            words = ["--listen=127.0.0.1:0", *words]
        self.server = Server(bench, ["--access-log=off", *words])
        if not self.server.wait():
            raise Defect("does not start: " + "".join(self.server.lines[-5:]))
        if self.prepare:
            self.prepare(self.server, bench)
        self.client = Client(self.server)
        self.rest()
        self.rest()
        self.rest()
        self.before = self.settle()

    def close(self):
        if self.server.process.poll() is None:
            status = self.server.stop(self.signals)
            if status:
                raise Defect(f"the server ended with {status}")

    def drop(self):
        self.server.kill()

    def rest(self):
        """The steps without a fault: they must work, soon at least."""
        self.client.calm = True
        end, late = time.monotonic() + 25, False
        while True:
            try:
                self.steps(self.client)
                return late
            except Torn as torn:
                self.server.check(self.signals)
                if time.monotonic() > end:
                    raise Defect(f"does not recover: {torn}") from None
                late = True
                time.sleep(0.02)

    def settle(self):
        """What the server has taken, once that is still."""
        last, since = self.server.taken(), time.monotonic()
        while time.monotonic() - since < 0.15:
            time.sleep(0.02)
            now = self.server.taken()
            if now != last:
                last, since = now, time.monotonic()
        return last

    def grown(self):
        """What the server has too much of, if that does not pass."""
        end = time.monotonic() + 2.5
        while True:
            now = self.server.taken()
            if all(have <= had for have, had in zip(now, self.before)):
                return None
            if time.monotonic() > end:
                return now
            time.sleep(0.01)

    def count(self, fault):
        self.server.tracer.arm(fault, 0)
        self.client.calm = True
        try:
            self.steps(self.client)
        finally:
            seen, _ = self.server.tracer.disarm()
        self.sites = self.server.tracer.sites
        self.rest()
        return seen

    def once(self, fault, start):
        """(outcome, whether the fault was met)"""
        self.client.calm = False
        self.client.outcomes.clear()
        self.server.tracer.arm_shortage(fault, start)
        try:
            self.steps(self.client)
        except Torn:
            pass
        finally:
            _, injected = self.server.tracer.disarm()
        outcomes = self.client.outcomes
        outcome = ("closed" if outcomes["closed"] else
                   "refused" if outcomes["refused"] else "done")
        self.server.check(self.signals)
        late = self.rest()
        self.server.check(self.signals)
        return ("late" if late else outcome), injected

    def run(self, fault, start):
        outcome, injected = self.once(fault, start)
        if not injected:
            return outcome, injected
        grown = self.grown()
        if grown:
            # More may have become usual. What is lost each time is a leak.
            steps = 0
            for _ in range(4):
                self.once(fault, start)
                time.sleep(0.2)
                now = self.server.taken()
                steps += any(have > had for have, had in zip(now, grown))
                grown = now
            if steps >= 3:
                raise Defect(f"descriptors and processes grow: {self.before} -> {grown}")
            self.before = grown
        return outcome, injected

    def blocks(self):
        return self.server.tracer.page.blocks


class Starting(Running):
    """A server is started, asked and ended, all with the fault armed."""

    def open(self, bench):
        self.bench = bench
        self.server = None

    def close(self):
        pass

    def drop(self):
        if self.server and self.server.process.poll() is None:
            self.server.kill()

    def blocks(self):
        return 0

    def begin(self, fault, start):
        words = self.words(self.bench) if callable(self.words) else self.words
        if not any(str(each).startswith("--listen") for each in words):
            words = ["--listen=127.0.0.1:0", *words]
        tracer = self.bench.next_tracer()
        (tracer.arm_shortage if start else tracer.arm)(fault, start)
        self.server = Server(self.bench, ["--access-log=off", *words])
        self.client = Client(self.server)
        return self.server.wait()

    def count(self, fault):
        if not self.begin(fault, 0):
            raise Defect("does not start: " + "".join(self.server.lines[-5:]))
        if self.prepare:
            self.prepare(self.server, self.bench)
        self.rest()
        self.server.signal(signal.SIGTERM)
        self.server.process.wait(PATIENCE)
        self.sites = self.server.tracer.sites
        return self.server.tracer.disarm()[0]

    def run(self, fault, start):
        listens = self.begin(fault, start)
        tracer = self.server.tracer
        if not listens:
            status = self.server.process.wait(PATIENCE)
            _, injected = tracer.disarm()
            if status == SKIPPED:
                raise SystemExit(SKIPPED)
            if status == 0 or not "".join(self.server.lines).strip():
                raise Defect(f"status {status} and not a word")
            self.server.reader.join(PATIENCE)
            self.ended(tracer)
            return "ended", injected
        if self.prepare:
            self.prepare(self.server, self.bench)
        self.client.calm = False
        end = time.monotonic() + 1
        outcome = "refused"
        while time.monotonic() < end:
            try:
                self.steps(self.client)
                outcome = "done"
                break
            except Torn:
                self.server.check(self.signals)
                if self.has_failed():
                    outcome = "failed"
                    break
                time.sleep(0.01)
        if tracer.page.start and fault.times == FOREVER:
            tracer.relent()
        if outcome == "failed" or (outcome == "refused" and self.has_failed()):
            self.reload()
        self.rest()
        self.server.check(self.signals)
        self.server.signal(signal.SIGTERM)
        try:
            status = self.server.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Defect("the server does not end") from None
        injected = tracer.page.injected
        tracer.disarm()
        self.ended(tracer)
        if status:
            raise Defect(f"the server ended with {status}: "
                         + "".join(self.server.lines[-3:]))
        return outcome, injected

    def ended(self, tracer):
        for who, number, stack in tracer.endings():
            if number == signal.SIGKILL and who != "program":
                continue
            if number in self.signals and who == "worker":
                continue
            shown = symbols(stack, self.bench.bin / "farcalld")
            raise Defect(f"{who} ended by signal {number}: {shown}" if number
                         else f"{who} was left running")

    def modules(self):
        try:
            calm, self.client.calm = self.client.calm, False
            got = self.client.ask("GET", "/api/v1/modules", fields=self.fields())
            return got.json["modules"]
        except Torn:
            return None
        finally:
            self.client.calm = calm

    def fields(self):
        return getattr(self.server, "fields", {})

    def has_failed(self):
        """A module may fail to load at the start, if the server says why."""
        modules = self.modules()
        if modules == [] and '"level":"error"' in "".join(self.server.lines):
            return True  # PATHs could not be listed, and the log says so
        failed = [each for each in modules or () if each["state"] == "failed"]
        for each in failed:
            if not each.get("reason"):
                raise Defect(f"a module failed without a word: {each}")
        return bool(failed)

    def reload(self):
        """As an operator does who has read why a module was not loaded."""
        self.server.signal(signal.SIGHUP)


# ---------------------------------------------------------------------------
# A command

class Command:
    """A program that ends by itself. Its output goes to a file. `made`: files that it
    writes. A run that succeeds must have printed and written what one without a fault
    does, or `alike` says that the output is right."""

    signals, skips = (), ()

    def __init__(self, name, words, status=0, made=(), alike=None, given=None, skips=(),
                 program="farcall"):
        self.name, self.words, self.status, self.made = name, words, status, made
        self.alike, self.given, self.skips = alike, given, skips
        self.program = program

    def open(self, bench):
        self.bench = bench
        self.folder = bench.folder / "work"
        self.right = None
        words = self.words(bench) if callable(self.words) else self.words
        if self.program == "farcall_embed":
            self.line = [str(bench.tools / self.program), *map(str, words)]
        else:
            self.line = [str(bench.bin / self.program), *map(str, words)]
        self.right = self.execute(None, 0)
        if self.right[0] != self.status:
            raise Defect(f"without a fault: {self.right}")

    def close(self):
        pass

    def drop(self):
        pass

    def blocks(self):
        return 0

    def execute(self, fault, start):
        """(status, output, errors, files)"""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        tracer = self.bench.tracer()
        if fault:
            tracer.arm(fault, start)
        self.tracer = tracer
        environment = {**self.bench.environment(), "TMPDIR": str(self.folder)}
        output = self.bench.folder / "output"
        with open(output, "w+b") as file:
            process = subprocess.Popen([*tracer.words, *self.line], cwd=self.folder,
                                       env=environment, stdout=file,
                                       stdin=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                errors = process.communicate((self.given or "").encode(), timeout=30)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise Defect("does not end") from None
            except BrokenPipeError:
                errors = process.stderr.read()
                process.wait()
            file.seek(0)
            printed = file.read()
        for who, number, stack in tracer.endings():
            if who == "other":
                continue
            shown = symbols(stack, self.line[0])
            raise Defect(f"{who} ended by signal {number}: {shown}" if number
                         else f"{who} was left running")
        files = {str(each.relative_to(self.folder)): each.read_bytes()
                 for each in self.folder.rglob("*") if each.is_file()}
        return process.returncode, printed, errors, files

    def count(self, fault):
        self.execute(fault, 0)
        self.sites = self.tracer.sites
        return self.tracer.disarm()[0]

    def run(self, fault, start):
        status, printed, errors, files = self.execute(fault, start)
        _, injected = self.tracer.disarm()
        if status == SKIPPED:
            raise SystemExit(SKIPPED)
        if not injected:
            return "done", injected
        extra = set(files) - set(self.made)
        if extra and fault.times != FOREVER:  # or else removing them may be refused too
            raise Defect(f"leaves {sorted(extra)}; it said {errors[-300:]!r}")
        if status == LEAK:
            raise Defect(f"a leak: {errors[-300:]!r}")
        if status == self.status:
            alike = (self.alike(printed.decode(errors="replace")) if self.alike else
                     (printed, files) == (self.right[1], self.right[3]))
            if not alike and not (self.status and (errors or printed)):
                raise Defect(f"status {status} with another output: "
                             f"{printed[-200:]!r} {errors[-200:]!r} {sorted(files)}")
            return "done", injected
        if not errors.strip() and not printed.strip():
            raise Defect(f"status {status} and not a word")
        return "ended", injected


# ---------------------------------------------------------------------------
# All of it

class Bench:
    """What scenarios share: programs, modules, certificates, folders."""

    def __init__(self, arguments, folder):
        self.bin, self.tools = arguments.bin.resolve(), arguments.tools.resolve()
        self.folder = folder
        self.sanitized = b"__asan_init" in (self.bin / "farcalld").read_bytes()
        self.made, self.pending = 0, None

    def environment(self):
        found = {name: value for name, value in os.environ.items()
                 if not name.startswith("FARCALL_")}
        if self.sanitized:  # leaks cannot be looked for in a process that is traced
            found["ASAN_OPTIONS"] = "detect_leaks=0:abort_on_error=1:handle_abort=0"
        return found

    def next_tracer(self):
        """The tracer of the next program, to be armed before that starts."""
        self.made += 1
        self.pending = Tracer(self.tools, self.folder / f"tracer{self.made % 50}",
                              not self.sanitized)
        return self.pending

    def tracer(self):
        made, self.pending = self.pending or self.next_tracer(), None
        return made


class Choice:
    """Which values of n are tried."""

    def __init__(self, most, everywhere, seed):
        self.most, self.everywhere, self.seed = most, everywhere, seed
        self.tried = collections.Counter()

    def make(self, scenario, fault, count, sites):
        ends = {}  # the first and the last call of each site
        for number, site in enumerate(sites, 1):
            ends[site] = (ends.get(site, (number,))[0], number)
        chosen = set(range(len(sites) + 1, count + 1))  # more than sites are kept of
        for site, numbers in ends.items():
            tried = self.tried[fault.name, site]
            if tried < self.everywhere:
                chosen.update(numbers)
                self.tried[fault.name, site] += len(set(numbers))
        chosen = sorted(chosen)
        if not self.most or len(chosen) <= self.most:
            return chosen
        drawn = random.Random(f"{scenario.name} {fault.name} {self.seed}")
        first = chosen[:self.most // 3]
        return first + sorted(drawn.sample(chosen[len(first):], self.most - len(first)))


class Torture:
    def __init__(self, bench, arguments):
        self.bench, self.arguments = bench, arguments
        self.choice = Choice(arguments.most, arguments.everywhere, arguments.seed)
        self.outcomes = collections.Counter()
        self.runs = self.injected = self.pairs = self.all = self.sites = 0
        self.defects = []
        self.faults = []
        listed = subprocess.run([str(bench.tools / "torture_tracer"), "--faults"],
                                capture_output=True, text=True, check=True)
        for number, line in enumerate(listed.stdout.splitlines(), 1):
            name, times, place = line.split()
            self.faults.append(Fault(name, number,
                                     FOREVER if times == "-1" else int(times), place))

    def faults_of(self, scenario, at):
        chosen = [each for each in self.faults
                  if each.name not in scenario.skips
                  and not (each.place == "preload" and self.bench.sanitized)
                  and not (self.bench.sanitized and each.name not in SANITIZED)]
        if self.arguments.fault:
            chosen = [each for each in chosen if each.name in self.arguments.fault]
        elif self.arguments.short:
            count = 1 if self.bench.sanitized else 2
            chosen = [chosen[(2 * at + i * 7) % len(chosen)] for i in range(count)]
        return chosen

    def note(self, scenario, fault, start, defect):
        where = ""
        try:
            tracer = (scenario.server.tracer if getattr(scenario, "server", None)
                      else scenario.tracer)
            program = (scenario.line[0] if isinstance(scenario, Command)
                       else self.bench.bin / "farcalld")
            where = tracer.where(program)
        except AttributeError:
            pass
        lines = getattr(getattr(scenario, "server", None), "lines", [])
        if lines:
            where += "\n    " + "    ".join(lines[-6:])
        self.defects.append(f"{scenario.name} {fault.name if fault else ''} {start}: "
                            f"{defect}\n    {where}")
        print("DEFECT " + self.defects[-1], flush=True)

    def pair(self, scenario, fault):
        """Returns whether the scenario's server is as before."""
        start = 0
        try:
            count = scenario.count(fault)
            self.pairs += 1
            self.all += count
            sites = scenario.sites
            self.sites += len(set(sites))
            chosen = ([int(each) for each in self.arguments.n] if self.arguments.n
                      else self.choice.make(scenario, fault, count, sites))
            before = scenario.blocks()
            for start in chosen:
                began = time.monotonic()
                outcome, injected = scenario.run(fault, start)
                if type(scenario) is Running and time.monotonic() - began > 2:
                    # The time until a worker starts again has been doubled; so that
                    # it does not add up, another server takes over.
                    scenario.close()
                    scenario.open(self.bench)
                    before = scenario.blocks()
                self.runs += 1
                self.injected += injected
                self.outcomes[outcome if injected else "not met"] += 1
            grown = scenario.blocks() - before
            if grown > max(20, 0.8 * len(chosen)):
                self.look_for_leak(scenario, fault, chosen)
            return True
        except (Defect, OSError) as defect:
            self.runs += 1
            self.note(scenario, fault, start, defect)
            scenario.drop()
            return False

    def look_for_leak(self, scenario, fault, chosen):
        for start in chosen:
            counts = [scenario.blocks()]
            for _ in range(6):
                scenario.once(fault, start)
                counts.append(scenario.blocks())
            if all(a < b for a, b in zip(counts[1:], counts[2:])):
                self.note(scenario, fault, start, Defect(f"heap blocks grow: {counts}"))
                return

    def scenario(self, scenario, at):
        began, runs, opened = time.monotonic(), self.runs, False
        for fault in self.faults_of(scenario, at):
            try:
                if not opened:
                    scenario.open(self.bench)
                opened = True
            except (Defect, Torn) as defect:
                self.note(scenario, None, 0, defect)
                scenario.drop()
                return
            started = time.monotonic()
            opened = self.pair(scenario, fault)
            if time.monotonic() - started > 20:
                print(f"  {fault.name} took {time.monotonic() - started:.0f} s", flush=True)
        try:
            if opened:
                scenario.close()
        except Defect as defect:
            self.note(scenario, None, 0, defect)
            scenario.drop()
        print(f"{scenario.name}: {self.runs - runs} runs, "
              f"{time.monotonic() - began:.1f} s", flush=True)


# Of these the address sanitizer's own calls are no part.
SANITIZED = {"emfile", "enfile", "enospc", "enospc_watch", "eagain", "less", "less_on",
             "reset", "aborted", "eintr"}


def torture_some(arguments, names, next_one, ends):
    """One process of --jobs: takes scenarios until there are no more."""
    import scenarios
    table = {each.name: each for each in scenarios.SCENARIOS}
    with tempfile.TemporaryDirectory(prefix="torture") as folder:
        os.chmod(folder, 0o711)  # workers of another user find what is theirs
        bench = Bench(arguments, pathlib.Path(folder))
        try:
            scenarios.prepare(bench)
            torture = Torture(bench, arguments)
            while True:
                with next_one.get_lock():
                    at = next_one.value
                    next_one.value += 1
                if at >= len(names):
                    break
                torture.scenario(table[names[at]], at)
            ends.put({name: getattr(torture, name) for name in SUMS})
        except SystemExit as end:
            ends.put(end.code)
        except BaseException:
            ends.put(1)
            raise
        finally:
            scenarios.finish(bench)


SUMS = ("pairs", "all", "sites", "runs", "injected", "outcomes", "defects")


def all_of(arguments, names):
    """Torture of all scenarios. What each process found is put together, or a number: the
    status of one that could not go on."""
    next_one, ends = multiprocessing.Value("q", 0), multiprocessing.Queue()
    processes = [multiprocessing.Process(target=torture_some,
                                         args=(arguments, names, next_one, ends))
                 for _ in range(arguments.jobs)]
    for each in processes:
        each.start()
    found = [ends.get() for _ in processes]
    for each in processes:
        each.join()
    for each in found:
        if not isinstance(each, dict):
            return each
    sums = found[0]
    for more in found[1:]:
        for name in SUMS:
            sums[name] += more[name]
    return sums


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("tools", type=pathlib.Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", action="append")
    parser.add_argument("--fault", action="append")
    parser.add_argument("--n", action="append")
    parser.add_argument("--most", type=int)
    parser.add_argument("--everywhere", type=int, default=6)
    parser.add_argument("--seed", default=1)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.short and not arguments.most:
        arguments.most = 2
    return arguments


def main():
    arguments = parse()
    import scenarios
    slow = ("watched", "compile.*", "large_json.*", "late.*", ".*fresh") if arguments.short else ()
    names = [each.name for each in scenarios.SCENARIOS]
    chosen = [each for each in names
              if not arguments.only or any(re.fullmatch(one, each)
                                           for one in arguments.only)]
    chosen = [each for each in chosen if not any(re.fullmatch(one, each) for one in slow)]
    if arguments.list:
        print("\n".join(chosen))
        return 0
    began = time.monotonic()
    sums = all_of(arguments, chosen)
    if not isinstance(sums, dict):
        return sums
    print(f"{len(chosen)} scenarios: {sums['pairs']} pairs with a fault, {sums['all']} calls "
          f"that could fail at {sums['sites']} sites, {sums['runs']} runs, "
          f"{sums['injected']} faults put in, {time.monotonic() - began:.0f} s")
    print("outcomes: " + ", ".join(f"{count} {name}" for name, count
                                   in sums["outcomes"].most_common()))
    print(f"{len(sums['defects'])} defects")
    for each in sums["defects"]:
        print("- " + each)
    return 1 if sums["defects"] or not sums["runs"] else 0


if __name__ == "__main__":
    sys.modules["torture"] = sys.modules["__main__"]
    sys.exit(main())

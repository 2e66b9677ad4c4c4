# SPDX-License-Identifier: Apache-2.0
"""Shared by torture.py and the kinds of scenarios: a traced program, a client of a
server, and the ways in which a run may end."""
import collections
import ctypes
import http.client
import json
import mmap
import os
import re
import signal
import socket
import subprocess
import threading
import time

from processes import children_of

SKIPPED = 77
FOREVER = 2**64 - 1
SITES_MAX = 1 << 17  # of control.h
PATIENCE = 15  # seconds that one step may take


class Page(ctypes.Structure):
    """The struct of control.h."""
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "fault", "start", "times", "seen", "injected", "pid")] + [
        (name, ctypes.c_int64) for name in ("blocks", "calendar_ns", "monotonic_ns")] + [
        ("where", ctypes.c_char * 1024), ("sites", ctypes.c_uint32 * SITES_MAX)]


Fault = collections.namedtuple("Fault", "name number times place")


class Defect(Exception):
    """Something happened that must not happen."""


class Torn(Exception):
    """The scenario cannot go on: an error was answered, or the connection was closed."""


# ---------------------------------------------------------------------------
# A traced program

class Tracer:
    """A tracer with the page and the log of one program."""

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
        """Makes the calls from number `start` on fail. 0: they are only counted."""
        self.page.fault = 0
        self.page.where = b""
        self.page.start, self.page.times = start, fault.times
        self.page.seen = self.page.injected = 0
        self.page.fault = fault.number

    @property
    def sites(self):
        """The site of each counted call, from call number 1 on."""
        return self.page.sites[1:min(self.page.seen + 1, SITES_MAX)]

    def arm_shortage(self, fault, start):
        """The same, but a lasting fault ends after half a second: a server may wait for
        its end."""
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
        """The new lines of the log: (who, signal or 0, stack)."""
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
    """The functions at the addresses in `text`."""
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
# The client and the answers of a step

class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    """Makes requests to one server. `calm`: nothing may go wrong. Otherwise each
    request may be answered with an error that says what is wrong, or its connection
    may be closed."""

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
        """Returns the answer. `want`: a condition for the right answer, or its JSON."""
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
        """A request whose failure does not stop the scenario."""
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
        """Waits for something that must come if calm; otherwise it may not come."""
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
        """Returns whether the server listens. False: it has ended."""
        if not self.listening.wait(PATIENCE):
            raise Defect("the server neither listens nor ends")
        return self.address is not None

    @property
    def pid(self):
        return self.tracer.page.pid

    def signal(self, number):
        os.kill(self.pid, number)

    def taken(self):
        """The number of descriptors and child processes of the server."""
        pid = self.pid
        files = len(os.listdir(f"/proc/{pid}/fd"))
        return files, len(children_of(pid))

    def check(self, signals=()):
        """No process may have ended by a signal, except by those of `signals`."""
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
        """Ends the server as an operator does."""
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

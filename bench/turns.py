# SPDX-License-Identifier: Apache-2.0
"""turns.py FARCALLD PRELOAD WORK [BASE]: measures how long other requests wait during
attacks, with each host, for one build or for two that take turns. See bench/turns.
"""
import collections
import contextlib
import hashlib
import itertools
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

FARCALLD, PRELOAD = sys.argv[1:3]
WORK = pathlib.Path(sys.argv[3])
BUILDS = [("base", sys.argv[4]), ("now", FARCALLD)] if sys.argv[4:] else [("now", FARCALLD)]
SECONDS = float(os.environ.get("SECONDS_EACH", "3"))
ONLY = os.environ.get("ONLY", ".")
EACH_S = 0.01  # how often /livez is asked
SCALARS = pathlib.Path("tests/corpus/vmfb/scalars-3.13.0.vmfb").resolve()
MODULES = 10_000
SECRET = "turns-of-the-loop"
CPUS = sorted(os.sched_getaffinity(0))
LOOP, OTHERS = CPUS[0], CPUS[-1]
ALONE = LOOP != OTHERS
SHARE_SAID = 0.1  # of a turn, that a kind of work is named


# Files and modules

def write_files():
    """Writes files into WORK, which already has attacks.so and slow.so: a folder with
    MODULES links, one with a few large modules, tokens, a certificate."""
    shutil.copy(SCALARS, WORK / "scalars.vmfb")
    os.link(WORK / "attacks.farcall.json", WORK / "slow.farcall.json")
    many, large = WORK / "many", WORK / "large"
    many.mkdir()
    large.mkdir()
    for i in range(MODULES):
        os.link(WORK / "attacks.so", many / f"module{i}.so")
        os.link(WORK / "attacks.farcall.json", many / f"module{i}.farcall.json")
    for i in range(6):
        shutil.copy(SCALARS, large / f"m{i}.vmfb")
        os.truncate(large / f"m{i}.vmfb", 512 << 20)
    digest = hashlib.sha256(SECRET.encode()).hexdigest()
    (WORK / "tokens").write_text(f"all call,read,admin,metrics,profile {digest}\n")
    (WORK / "tokens").chmod(0o600)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-keyout", WORK / "key.pem", "-out",
                    WORK / "cert.pem"], check=True, capture_output=True)


# The server

class Server:
    """A farcalld. Its log and the lines of the preloaded library go to files, so that
    nobody must read them."""

    def __init__(self, program, host, options, files):
        self.log, self.said = WORK / "log", WORK / "turns"
        self.said.unlink(missing_ok=True)
        environment = {"LD_PRELOAD": PRELOAD, "TURNS_FILE": str(self.said)}
        if ALONE:
            environment["TURNS_CPUS"] = f"{LOOP},{OTHERS}"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [program, "--listen=http://127.0.0.1:0", "--workers=2", "--access-log=off",
                 f"--isolation={host}", *options, *map(str, files)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
                env=environment)
        secure = any("https" in each for each in options)
        self.port = self.find(r"listening on http://127.0.0.1:(\d+)")
        self.secure = self.find(r"listening on https://127.0.0.1:(\d+)") if secure else None

    def find(self, pattern):
        for _ in range(6000):
            if found := re.search(pattern, self.log.read_text(errors="replace")):
                return int(found[1])
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise SystemExit(f"farcalld does not start:\n{self.log.read_text()}")

    def turns(self):
        """The report about the turns since the last report."""
        before = self.said.read_text() if self.said.exists() else ""
        self.process.send_signal(signal.SIGRTMIN)
        for _ in range(6000):
            if self.process.poll() is not None:
                raise SystemExit(f"farcalld ended:\n{self.log.read_text()[-2000:]}")
            with contextlib.suppress(OSError):
                exchange(self.port, b"GET /livez")  # ends the turn of the loop
            text = self.said.read_text() if self.said.exists() else ""
            if len(text) > len(before) and text.endswith("\n"):
                return json.loads(text.splitlines()[-1])
            time.sleep(0.01)
        raise SystemExit("the loop says nothing")

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


# Requests

ANSWERS = collections.Counter()  # of this process, by status


def connect(port):
    s = socket.create_connection(("127.0.0.1", port), timeout=60)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def request(line, body=b"", headers=()):
    fields = "".join(f"{each}\r\n" for each in headers).encode()
    size = b"Content-Length: %d\r\n" % len(body) if line.startswith(b"POST") else b""
    return line + b" HTTP/1.1\r\nHost: localhost\r\n" + size + fields + b"\r\n" + body


def exchange(port, line, body=b"", headers=()):
    """Makes a request. Returns (the first bytes of the answer, its size)."""
    with connect(port) as s:
        s.sendall(request(line, body, (*headers, "Connection: close")))
        buffer, size, head = bytearray(1 << 20), 0, b""
        while got := s.recv_into(buffer):
            head = head or bytes(buffer[:4096])
            size += got
    ANSWERS[head[9:12].decode()] += 1
    return head, size


class Client:
    """A client that keeps its connection."""

    def __init__(self, port):
        self.port, self.socket = port, connect(port)

    def ask(self, line, body=b"", headers=()):
        """The head of the answer."""
        try:
            self.socket.sendall(request(line, body, headers))
            got = self.socket.recv(1 << 16)
            if not got:
                raise ConnectionError
            head, _, rest = got.partition(b"\r\n\r\n")
            ANSWERS[head[9:12].decode()] += 1
            size = re.search(rb"(?i)content-length: (\d+)", head)
            if size:
                left = int(size[1]) - len(rest)
                while left > 0:
                    left -= len(self.socket.recv(1 << 16)) or left
            else:
                while not rest.endswith(b"0\r\n\r\n"):
                    rest = rest[-8:] + (self.socket.recv(1 << 16) or b"0\r\n\r\n")
            if b"onnection: close" in head:
                raise ConnectionError
            return head
        except OSError:
            self.socket.close()
            self.socket = connect(self.port)
            return b""


def call(function):
    return f"POST /api/v1/functions/{function}".encode()


# The attacks. Each runs in its own processes and gets the number of its process. It must
# end when `over` says so.

def nothing(server, over, number):
    time.sleep(SECONDS)


def endless_call(server, over, number):
    """Quick calls, so that the function may run on the loop, and then a call without an
    end."""
    client = Client(server.port)
    for _ in range(60):
        client.ask(call("scalars/fact"), b"[5]")
    client.ask(call("scalars/fact"), b"[1000000000000]")
    time.sleep(max(0.0, over.left()))


def misses(*headers):
    def attack(server, over, number):
        client = Client(server.port)
        for i in itertools.count():
            if over():
                return
            client.ask(call(f"modul{number}x{i}/zeros"), b"[1]", headers)
    return attack


def short_deadlines(server, over, number):
    """Calls with deadlines of 2 ms, of a module that loads for two seconds, because one
    process makes it crash."""
    client = Client(server.port)
    while not over():
        if number == 0:
            client.ask(call("slow/crash"), b"[1]")
            continue
        client.ask(call("slow/zeros"), b"[1]", ["Farcall-Timeout-Ms: 2"])
        time.sleep(0.05)


def calls(function, body):
    def attack(server, over, number):
        client = Client(server.port)
        while not over():
            client.ask(call(function), body)
    return attack


def crashes(server, over, number):
    """Crashes on a busy machine: a process that the loop has started waits for a
    processor."""
    if number < 4:
        return calls("attacks/crash", b"[1]")(server, over, number)
    while not over():
        pass


def hang_up_and_statistics(server, over, number):
    client = Client(server.port)
    while not over():
        if number:
            client.ask(b"GET /v2/models/stats")
        else:
            os.kill(server.process.pid, signal.SIGHUP)
            time.sleep(0.3)


def large_json(server, over, number):
    body = b"[" + b",".join([b"[1.25,-7.5e3]"] * 3_000_000) + b"]"
    while not over():
        exchange(server.port, call("attacks/firsts"), b"[" + body + b"]",
                 ["Farcall-Timeout-Ms: 500"])


def small_tensors(server, over, number):
    body = b'{"instances":[' + b",".join([b'{"rows":[1,2]}'] * 20_000) + b"]}"
    client = Client(server.port)
    while not over():
        client.ask(b"POST /v1/models/attacks.firsts:predict", body)


def half_hellos(server, over, number):
    kept = []
    while not over():
        if len(kept) < 1500:
            kept.append(connect(server.secure))
            kept[-1].sendall(bytes.fromhex("1603010200010001fc0303") + bytes(100))
        else:
            kept.pop(0).close()


def handshakes(server, over, number):
    context = ssl.create_default_context(cafile=WORK / "cert.pem")
    context.check_hostname = False
    while not over():
        with context.wrap_socket(connect(server.secure)) as s:
            s.sendall(request(b"GET /livez"))
            s.recv(4096)


def reload(server, over, number):
    if number:
        return calls("attacks/zeros", b"[4]")(server, over, number)
    for i in itertools.count():
        if over():
            return
        draft = WORK / "served/draft"
        draft.write_bytes((WORK / "attacks.so").read_bytes() + b"%d" % i)
        draft.rename(WORK / "served/attacks.so")
        os.kill(server.process.pid, signal.SIGHUP)
        time.sleep(0.3)


def demand(server, over, number):
    client = Client(server.port)
    for i in itertools.count(number * MODULES // 2):
        if over():
            return
        client.ask(call(f"module{i % MODULES}/zeros"), b"[4]")


def answers(server, over, number):
    while not over():
        exchange(server.port, call("attacks/zeros"), b"[25000000]")


def loops(server, over, number):
    """Iterations without an end. Every second client reads as fast as it can; the others
    read nothing."""
    body = b'{"args":[3,4],"repeat":{"times":10000000,"feed":{"0":1}}}'
    with connect(server.port) as s:
        s.sendall(request(call("scalars/hyp") + b"?iterate", body))
        while not over():
            if number % 2:
                time.sleep(0.1)
            else:
                s.recv(1 << 20)


def bodies(server, over, number):
    while not over():
        exchange(server.port, call("attacks/zeros"), b"[" + b" " * 60_000_000 + b"3]")


# work: what a process does. count: how many processes do it. options: of farcalld. files:
# in WORK, served by farcalld. hosts: where modules run.
Row = collections.namedtuple("Row", "name work count options files hosts",
                             defaults=([], ["attacks.so"], ("thread", "process")))
DEMAND = ["--load=demand"]
TOKENS = [f"--token-file={WORK}/tokens"]
TLS = ["--listen=https://127.0.0.1:0", f"--tls-cert={WORK}/cert.pem",
       f"--tls-key={WORK}/key.pem"]
CRASHES = ["--crash-limit=0", "--sandbox=basic"]
PROCESS = ("process",)
ROWS = [
    Row("nothing", nothing, 1),
    # The operator's deadline ends the call, which would otherwise run for the default of
    # 30 s.
    Row("quick calls, then an endless one", endless_call, 1,
        [f"--timeout={SECONDS:g}s"], ["scalars.vmfb"]),
    Row("404s beside 10,000 modules", misses(f"Authorization: Bearer {SECRET}"), 8,
        DEMAND + TOKENS, ["many"]),
    Row("the same without token", misses(), 8, DEMAND + TOKENS, ["many"]),
    Row("deadlines of 2 ms, slow loading", short_deadlines, 3, CRASHES, ["slow.so"],
        PROCESS),
    Row("a module that prints", calls("attacks/prints", b"[1000]"), 2),
    Row("its threads print later", calls("attacks/prints_later", b"[1000]"), 1, CRASHES),
    Row("crashes, a busy machine", crashes, 6, CRASHES, hosts=PROCESS),
    Row("a module that fills its memory", calls("attacks/fills", b"[1]"), 2, CRASHES,
        hosts=PROCESS),
    Row("SIGHUP, stats of 10,000 modules", hang_up_and_statistics, 2, DEMAND, ["many"]),
    Row("large JSON, 500 ms", large_json, 2),
    Row("small tensors of unknown size", small_tensors, 4),
    Row("half TLS hellos", half_hellos, 2, TLS),
    Row("TLS handshakes", handshakes, 4, TLS),
    Row("reloads", reload, 2, [], ["served"]),
    Row("loading on demand", demand, 2, DEMAND + ["--module-memory=16M"], ["many"]),
    Row("loading 3 GB", nothing, 1, [], ["large"]),
    Row("100 MB answers", answers, 2),
    Row("60 MB bodies", bodies, 2),
    Row("loops, half of them unread", loops, 8, [], ["scalars.vmfb"]),
]


# Measuring

class Over:
    """Called, it tells whether it is time to end."""

    def __init__(self):
        self.end = time.monotonic() + SECONDS

    def left(self):
        return self.end - time.monotonic()

    def __call__(self):
        return self.left() < 0


def queued_ms(schedstat):
    """How many ms the process has waited on the run queue, from its open
    /proc/self/schedstat."""
    return int(os.pread(schedstat.fileno(), 100, 0).split()[1]) / 1e6


def probe(port, ended, took):
    """Requests /livez every 10 ms, if possible with priority over all others on its
    processor. Sends how long each request took, and the same without the time that
    this process waited on the run queue. A request that was delayed by the previous
    answer counts from when it was due."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    found = []
    ask = request(b"GET /livez")
    with connect(port) as s, open("/proc/self/schedstat", "rb", buffering=0) as own:
        due, queued = time.monotonic(), queued_ms(own)
        while not ended.is_set():
            began = due
            if (left := due - time.monotonic()) > 0:
                time.sleep(left)
                queued, began = queued_ms(own), time.monotonic()
            s.sendall(ask)
            assert s.recv(4096).startswith(b"HTTP/1.1 200")
            took_ms = (time.monotonic() - began) * 1000
            found.append((took_ms, max(0.0, took_ms - (queued_ms(own) - queued))))
            due = began + EACH_S
    took.send([sorted(column) for column in zip(*found)])


def attack(row, server, over, number, answers):
    os.sched_setaffinity(0, {OTHERS})
    ANSWERS.clear()
    with contextlib.suppress(OSError):  # of a server that is ending, or has no room
        row.work(server, over, number)
    answers.put(ANSWERS)


def measure(program, row, host):
    shutil.rmtree(WORK / "served", ignore_errors=True)
    (WORK / "served").mkdir()
    shutil.copy(WORK / "attacks.so", WORK / "served")
    shutil.copy(WORK / "attacks.farcall.json", WORK / "served")
    server = Server(program, host, row.options, [WORK / each for each in row.files])
    if row.name != "loading 3 GB":
        time.sleep(0.3)
    server.turns()
    ended, (mine, others) = multiprocessing.Event(), multiprocessing.Pipe()
    prober = multiprocessing.Process(target=probe, args=(server.port, ended, others))
    prober.start()
    over, answers = Over(), multiprocessing.SimpleQueue()
    attackers = [multiprocessing.Process(target=attack,
                                         args=(row, server, over, number, answers))
                 for number in range(row.count)]
    for each in attackers:
        each.start()
    time.sleep(max(0.0, over.left()))
    ended.set()
    took = mine.recv()
    prober.join()
    said = server.turns()
    for each in attackers:
        each.join(5)
        each.kill()
        each.join()
    server.end()
    got = collections.Counter()
    while not answers.empty():
        got += answers.get()
    return said, took, got


def name_looks(program, looks):
    """The functions of the program that were found running, with what they had called."""
    def is_ours(frame):
        return os.path.exists(frame[0]) and os.path.samefile(frame[0], program)

    # The first two frames belong to the sampling itself.
    found = [(look[2], next(filter(is_ours, look[2:]), None)) for look in looks if look[2:]]
    listed = sorted({ours[1] for _, ours in found if ours})
    said = subprocess.run(  # the instruction before one that is returned to is the call
        ["addr2line", "-f", "-e", program, *(hex(at - 1) for at in listed)],
        capture_output=True, text=True).stdout.splitlines()[::2]
    names = dict(zip(listed, said))
    counted = collections.Counter()
    for frame, ours in found:
        words = [names.get(ours[1], "?").partition(".")[0]] if ours else []
        if frame != ours:
            words.append(frame[2] or pathlib.Path(frame[0]).name.split(".")[0])
        counted[": ".join(words)] += 1
    return counted


def kind_of(program, said):
    """What the longest turn did, for example "posix_spawn 80%, own code 15% (decode)"."""
    shares = {name: ns / max(said["wall_ns"], 1) for name, (ns, _) in said["calls"].items()}
    shares["own code"] = 1 - sum(shares.values()) - said["queue_ns"] / max(said["wall_ns"], 1)
    words = []
    for name, share in sorted(shares.items(), key=lambda each: -each[1]):
        if share < SHARE_SAID:
            break
        words.append(f"{name} {share:.0%}")
        if name == "own code" and said["looks"]:
            named = name_looks(program, said["looks"]).most_common(2)
            words[-1] += " (" + ", ".join(each for each, _ in named) + ")"
    return ", ".join(words)


def percentile(took, share):
    return took[min(len(took) - 1, int(len(took) * share))]


HEAD = ("attack", "host", "build", "turn", "queued", "ran", ">5 ms", "late", "p50", "p99", "worst",
        "own p99", "worst")
FORMAT = "{:<33}{:<8}{:<5}{:>9}{:>8}{:>9}{:>6}{:>8} |{:>8}{:>9}{:>9}{:>9}{:>9} | {} | {}"


def main():
    write_files()
    os.sched_setaffinity(0, {OTHERS})
    print("ms. turn: the longest turn of the loop; queued: of it on the run queue; ran: the\n"
          "longest without that, and what it did; late: the longest on the run queue in a\n"
          "turn and before it; p50, p99, worst: of /livez each 10 ms;\n"
          "own: without what its asker stood on the run queue.\n"
          + ("" if ALONE else "One processor: the loop shares it with all others.\n"))
    print(FORMAT.format(*HEAD, "what ran longest", "answers to the attack"), flush=True)
    for row in ROWS:
        if not re.search(ONLY, row.name):
            continue
        for host, (build, program) in itertools.product(row.hosts, BUILDS):
            said, took, got = measure(program, row, host)
            ms = [f"{said[key] / 1e6:.2f}" for key in ("most_ns", "most_queue_ns")]
            ms.append(f"{(said['wall_ns'] - said['queue_ns']) / 1e6:.2f}")
            print(FORMAT.format(row.name, host, build, *ms, said["over_5"],
                                f"{said['late_ns'] / 1e6:.2f}",
                                *(f"{percentile(took[0], share):.2f}"
                                  for share in (0.5, 0.99)), f"{took[0][-1]:.2f}",
                                f"{percentile(took[1], 0.99):.2f}", f"{took[1][-1]:.2f}",
                                kind_of(program, said),
                                " ".join(f"{status}x{count}" for status, count
                                         in sorted(got.items()))), flush=True)


main()

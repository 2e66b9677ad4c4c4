# SPDX-License-Identifier: Apache-2.0
"""Four farcalld, each in its own network namespace, and a load balancer in a fifth one
with a bridge. The addresses are those of config/haproxy and config/nginx, so both
files are used as they are shipped."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from conftest import ROOT, Server

NAMES = ["one", "two", "three", "four"]
THREADS = 8


def program(name, package):
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not found:
        pytest.skip(f"SKIPPED: no {name}: scripts/deps {package}")
    return found


def until(said, seconds=120):
    """Waits until `said` returns something true, and returns that."""
    ends = time.monotonic() + seconds
    while not (got := said()):
        assert time.monotonic() < ends
        time.sleep(0.05)
    return got


class Network:
    """A namespace for each server, and one for the balancer and its clients."""

    def __init__(self):
        if os.geteuid():
            pytest.skip("SKIPPED: only root may make networks")
        self.ip, self.tc = program("ip", "peers"), program("tc", "peers")
        self.middle = f"fc{os.getpid()}"
        self.made = []
        try:
            self.make()
        except BaseException:
            self.close()
            raise

    def make(self):
        self.add(self.middle)
        self.run("-n", self.middle, "link", "add", "bridge", "type", "bridge")
        self.run("-n", self.middle, "addr", "add", "192.0.2.1/24", "dev", "bridge")
        self.run("-n", self.middle, "link", "set", "bridge", "up")
        for number, name in enumerate(NAMES):
            space = self.space(name)
            self.add(space)
            self.run("-n", self.middle, "link", "add", name, "type", "veth", "peer",
                     "name", "out", "netns", space)
            self.run("-n", self.middle, "link", "set", name, "master", "bridge", "up")
            self.run("-n", space, "addr", "add", f"192.0.2.{11 + number}/24", "dev", "out")
            self.run("-n", space, "link", "set", "out", "up")

    def add(self, space):
        self.run("netns", "add", space)
        self.made.append(space)
        self.run("-n", space, "link", "set", "lo", "up")

    def run(self, *words):
        subprocess.run([self.ip, *words], check=True, timeout=60)

    def space(self, name):
        return self.middle + name

    def within(self, space):
        """The words that start a program in this namespace."""
        return (self.ip, "netns", "exec", space)

    @contextlib.contextmanager
    def cut(self, name):
        """Cuts the connection: no packet passes, and neither side is told."""
        self.run("-n", self.middle, "link", "set", name, "down")
        yield
        self.run("-n", self.middle, "link", "set", name, "up")

    @contextlib.contextmanager
    def slow(self, name, rate):
        """Limits the rate of bytes to the server and back."""
        ends = [(self.middle, name), (self.space(name), "out")]
        for space, device in ends:
            subprocess.run([self.tc, "-n", space, "qdisc", "add", "dev", device, "root",
                            "tbf", "rate", rate, "burst", "4kb", "latency", "400ms"],
                           check=True, timeout=60)
        yield
        for space, device in ends:
            subprocess.run([self.tc, "-n", space, "qdisc", "del", "dev", device, "root"],
                           check=True, timeout=60)

    def close(self):
        for space in reversed(self.made):
            subprocess.run([self.ip, "netns", "del", space], timeout=60)


class Node:
    """A place in the network for one farcalld at a time."""

    def __init__(self, network, name, words):
        self.network, self.name, self.words = network, name, words
        self.address = f"192.0.2.{11 + NAMES.index(name)}"
        self.start()

    def start(self):
        self.server = Server(
            *self.words, under=self.network.within(self.network.space(self.name)),
            listen=("--listen", f"{self.address}:8000", "--allow-insecure-bind"))

    def replace(self):
        """Replaces the server as an operator does: SIGTERM, and a new one after it has
        ended."""
        assert self.server.stop() == 0, "".join(self.server.lines)
        self.start()

    def kill(self, seconds=1):
        """Ends the server as a fault does. A supervisor starts the next one after a
        second."""
        self.server.process.kill()
        self.server.process.wait(timeout=60)
        time.sleep(seconds)
        self.start()

    def curl(self, *words):
        return subprocess.run(
            [*self.network.within(self.network.middle), "curl", "-sS", "-m", "60",
             *words[:-1], f"http://{self.address}:8000{words[-1]}"],
            capture_output=True, text=True, timeout=120)


class Balancer:
    """A balancer that runs in the middle of the network, on port 8000."""

    def __init__(self, network, command):
        self.process = subprocess.Popen([*network.within(network.middle), *command],
                                        stdin=subprocess.DEVNULL)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(timeout=60)


class HAProxy(Balancer):
    words = ("--pre-drain=3s", "--timeout=8s")
    grpc = "127.0.0.1:8000"

    def __init__(self, network, work, http2=()):
        """`http2`: the servers to which HAProxy speaks HTTP/2."""
        self.socket = work / "admin.sock"
        text = (ROOT / "config/haproxy/haproxy.cfg").read_text()
        assert text.count("/run/haproxy/admin.sock mode") == 1
        for name in http2:
            text, count = re.subn(f"(?m)^  server {name} .*", r"\g<0> proto h2", text, 1)
            assert count == 1
        file = work / "haproxy.cfg"
        file.write_text(text.replace("/run/haproxy/admin.sock mode",
                                     f"{self.socket} mode"))
        haproxy = program("haproxy", "peers")
        done = subprocess.run([haproxy, "-c", "-f", file], capture_output=True, text=True)
        assert done.returncode == 0 and "warning" not in done.stderr.lower(), done.stderr
        super().__init__(network, [haproxy, "-W", "-db", "-f", file])
        until(self.all_up)

    def rows(self):
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(str(self.socket))
            asked.sendall(b"show stat\n")
            text = b"".join(iter(lambda: asked.recv(65536), b"")).decode()
        lines = text.lstrip("# ").splitlines()
        names = lines[0].split(",")
        rows = [dict(zip(names, line.split(","))) for line in lines[1:] if line]
        return {(row["pxname"], row["svname"]): row for row in rows
                if row["pxname"] in ("calls", "grpc")}

    def states(self):
        try:
            return {(side, name): row["status"]
                    for (side, name), row in self.rows().items() if name in NAMES}
        except OSError:  # it has not begun to listen
            return {}

    def all_up(self, side="calls"):
        return [status for (each, _), status in self.states().items() if each == side] == (
            ["UP"] * len(NAMES))

    def away(self, name):
        until(lambda: self.states().get(("calls", name), "").startswith("DOWN"))

    def sent_again(self):
        return sum(int(row["wretr"] or 0) for (_, name), row in self.rows().items()
                   if name in NAMES)

    def reload(self):
        self.process.send_signal(signal.SIGUSR2)
        time.sleep(1)
        until(self.all_up)


class Nginx(Balancer):
    words = ("--timeout=8s",)
    grpc = "127.0.0.1:8001"
    top = """daemon off; worker_processes 2; error_log {work}/errors;
pid {work}/pid; events {{ worker_connections 4096; }}
http {{
  log_format attempts '$upstream_addr';
  access_log {work}/access attempts;
  client_body_temp_path {work}/bodies; proxy_temp_path {work}/answers;
  fastcgi_temp_path {work}/f; uwsgi_temp_path {work}/u; scgi_temp_path {work}/s;
  include {shipped};
}}
"""

    def __init__(self, network, work):
        (work / "nginx.conf").write_text(self.top.format(
            work=work, shipped=ROOT / "config/nginx/farcall.conf"))
        self.log = work / "access"
        super().__init__(network, [program("nginx", "peers"), "-e", f"{work}/errors",
                                   "-c", f"{work}/nginx.conf"])
        until((work / "pid").exists)

    def all_up(self, side="calls"):
        """nginx does not report this. It tries a server that failed again after 5
        seconds."""
        time.sleep(6)
        return True

    def away(self, name):
        pass

    def sent_again(self):
        return sum(line.count(",") for line in self.log.read_text().splitlines())

    def reload(self):
        self.process.send_signal(signal.SIGHUP)
        time.sleep(1)


class Load:
    """Runs fleet_load.py until `end` is called."""

    def __init__(self, network, work):
        self.work = work
        self.process = subprocess.Popen(
            [*network.within(network.middle), sys.executable,
             str(ROOT / "tests/e2e/fleet_load.py"), "127.0.0.1", "8000", str(work),
             str(THREADS)], stdout=subprocess.PIPE, text=True)
        until((work / "progress").exists)

    def counts(self):
        return json.loads((self.work / "progress").read_text())

    def go_on(self, count=20):
        """Waits until each thread has this many more good answers."""
        before = self.counts()

        def have():
            assert self.process.poll() is None
            return all(now >= then + count for now, then in zip(self.counts(), before))
        until(have, 300)

    def end(self):
        (self.work / "stop").touch()
        told, _ = self.process.communicate(timeout=120)
        return json.loads(told)


class Load2(threading.Thread):
    """Calls over HTTP/2, made by node until `end` is called: many at a time on a
    connection, and many connections."""
    CALLS = 50
    SCRIPT = """
const http2 = require('http2');
const client = http2.connect(process.argv[1]);
let left = CALLS;
const fail = what => { console.log(String(what)); process.exit(1); };
client.on('error', fail);
for (let i = 0; i < CALLS; i++) {
  const stream = client.request({ ':method': 'POST',
    ':path': '/api/v1/functions/matmul/matmul', 'content-type': 'application/json' });
  let body = '';
  stream.on('error', fail);
  stream.on('data', piece => { body += piece; });
  stream.on('end', () => {
    if (body !== `{"results":[[[${i + 8}.0]]]}`) fail(body || stream.rstCode);
    if (--left === 0) client.close();
  });
  stream.end(`[[[1,2]],[[${i}],[4]]]`);
}
"""

    def __init__(self, network):
        super().__init__()
        self.command = [*network.within(network.middle), program("node", "peers"), "-e",
                        self.SCRIPT.replace("CALLS", str(self.CALLS)), "http://127.0.0.1:8000"]
        self.good, self.failed, self.over = 0, [], False
        self.start()

    def run(self):
        while not self.over:
            done = subprocess.run(self.command, capture_output=True, text=True, timeout=600)
            if done.returncode or done.stdout:
                self.failed.append(done.stdout + done.stderr)
            else:
                self.good += self.CALLS

    def end(self):
        self.over = True
        self.join()
        return self.failed


class Waiting(threading.Thread):
    """One call of slow/wait directly to a node, which must be answered."""

    def __init__(self, node, milliseconds):
        super().__init__()
        self.node, self.milliseconds = node, milliseconds
        self.start()
        until(lambda: 'farcall_calls_running{module="slow"} 1' in
              node.curl("/metrics").stdout)

    def run(self):
        self.got = self.node.curl("-d", f"[{self.milliseconds}]",
                                  "/api/v1/functions/slow/wait")

    def check(self):
        self.join(timeout=120)
        assert self.got.stdout == '{"results":[%d]}' % self.milliseconds, self.got

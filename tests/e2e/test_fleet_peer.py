# SPDX-License-Identifier: Apache-2.0
"""HAProxy over one Triton and two farcalld that serve the same model, while every kind
of client calls it. Triton is drained and one farcalld is replaced, and no client
notices."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import pytest

import triton
from conftest import Server

CLIENTS = {
    "tritonclient": """
import tritonclient.http as client
made = client.InferenceServerClient(address)
def call():
    inputs = [client.InferInput(n, [1, 16], "INT32") for n in ("INPUT0", "INPUT1")]
    for each in inputs: each.set_data_from_numpy(VALUE, binary_data=RAW)
    outputs = [client.InferRequestedOutput(n, binary_data=RAW)
               for n in ("OUTPUT0", "OUTPUT1")]
    answer = made.infer("simple", inputs, outputs=outputs, **CODING)
    return [answer.as_numpy(n) for n in ("OUTPUT0", "OUTPUT1")]
""",
    "requests": """
import requests
session = requests.Session()
def call():
    answer = session.post(f"http://{address}/v2/models/simple/infer", json={"inputs": [
        {"name": n, "shape": [1, 16], "datatype": "INT32", "data": VALUE[0].tolist()}
        for n in ("INPUT0", "INPUT1")]})
    answer.raise_for_status()
    return [numpy.array(each["data"]).reshape(1, 16) for each in answer.json()["outputs"]]
""",
    "kserve": """
import asyncio, kserve
made = kserve.InferenceRESTClient(kserve.RESTConfig(protocol="v2"))
loop = asyncio.new_event_loop()
def call():
    inputs = []
    for n in ("INPUT0", "INPUT1"):
        inputs.append(kserve.InferInput(n, [1, 16], "INT32"))
        inputs[-1].set_data_from_numpy(VALUE, binary_data=RAW)
    answer = loop.run_until_complete(made.infer(
        f"http://{address}", kserve.InferRequest(model_name="simple", infer_inputs=inputs),
        model_name="simple"))
    return [each.as_numpy().reshape(1, 16) for each in answer.outputs]
""",
}
KINDS = [("tritonclient", True, {}), ("tritonclient", False, {}),
         ("tritonclient", True, {"request_compression_algorithm": "gzip",
                                 "response_compression_algorithm": "deflate"}),
         ("requests", False, {}), ("kserve", True, {}), ("kserve", False, {})]
RUN = """
import os, sys, time
import numpy
address = sys.argv[1]
VALUE = numpy.arange(16, dtype=numpy.int32).reshape(1, 16)
RAW, CODING = {raw}, {coding}
{client}
count = 0
while os.getppid() == {parent} and not os.path.exists({stop!r}):
    total, difference = call()
    assert (total == 2 * VALUE).all() and (difference == 0).all(), (total, difference)
    count += 1
    with open({progress!r}, "w") as file:
        file.write(str(count))
    time.sleep(0.002)
"""


class Proxy:
    """HAProxy over named servers, whose states are changed through its socket."""

    def __init__(self, work, servers):
        program = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")
        if not program:
            pytest.skip("haproxy is not installed: scripts/deps peers")
        self.host, self.port, self.socket = "127.0.0.1", triton.free_port(), work / "admin"
        lines = "".join(
            f"  server {name} {each.host}:{each.port} check inter 100ms fall 2 rise 1\n"
            for name, each in servers.items())
        (work / "haproxy.cfg").write_text(f"""
global
  stats socket {self.socket} mode 600 level admin
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout check 5s
  option redispatch
  retries 3
listen models
  bind {self.host}:{self.port}
  balance roundrobin
  option httpchk GET /v2/health/ready
  http-check expect status 200
{lines}""")
        self.process = subprocess.Popen([program, "-db", "-f", work / "haproxy.cfg"],
                                        stdin=subprocess.DEVNULL)
        ends = time.monotonic() + 120
        while not self.answers():
            assert self.process.poll() is None and time.monotonic() < ends
            time.sleep(0.05)

    def answers(self):
        try:
            return "triton" in self.ask("show stat")
        except OSError:  # it has not begun to listen
            return False

    def ask(self, command):
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(str(self.socket))
            asked.sendall(command.encode() + b"\n")
            return b"".join(iter(lambda: asked.recv(65536), b"")).decode()

    def numbers(self):
        """The row of `show stat` for each server."""
        lines = self.ask("show stat").lstrip("# ").splitlines()
        names = lines[0].split(",")
        rows = [dict(zip(names, line.split(","))) for line in lines[1:] if line]
        return {row["svname"]: row for row in rows}

    def until(self, what, seconds=120):
        ends = time.monotonic() + seconds
        while not what(self.numbers()):
            assert time.monotonic() < ends, self.ask("show stat")
            time.sleep(0.05)

    def drain(self, name):
        """Sends nothing new to the server, and waits until everything sent before is
        answered."""
        self.ask(f"set server models/{name} state drain")
        self.until(lambda rows: rows[name]["scur"] == "0")

    def back(self, name):
        self.ask(f"set server models/{name} state ready")
        self.until(lambda rows: rows[name]["status"] == "UP")


class Clients:
    """One process for each kind of client; each makes calls until `end`."""

    def __init__(self, python, proxy, work):
        self.stop, self.files, self.started = work / "stop", [], []
        for number, (client, raw, coding) in enumerate(KINDS):
            self.files.append(work / f"progress{number}")
            program = RUN.format(raw=raw, coding=coding, client=CLIENTS[client],
                                 parent=os.getpid(), stop=str(self.stop),
                                 progress=str(self.files[-1]))
            self.started.append(subprocess.Popen(
                [python, "-c", program, f"{proxy.host}:{proxy.port}"],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))

    def counts(self):
        """The number of good answers of each so far. A file that is just being written
        counts as 0."""
        return [int(each.read_text() or 0) if each.exists() else 0 for each in self.files]

    def go_on(self, proxy, names, count=20):
        """Waits until each client has this many more answers, and each server has given
        some."""
        answers, before = self.counts(), proxy.numbers()

        def all_have():
            assert all(each.poll() is None for each in self.started), "one has ended"
            return all(now >= then + count for now, then in zip(self.counts(), answers))
        proxy.until(lambda rows: all_have() and all(
            int(rows[name]["stot"]) >= int(before[name]["stot"]) + count for name in names))

    def end(self):
        """Ends the clients. Returns what failed, by kind of client."""
        self.stop.touch()
        told = [each.communicate(timeout=120)[1] for each in self.started]
        return [(kind, wrong) for kind, each, wrong in zip(KINDS, self.started, told)
                if each.returncode]


def test_servers_are_replaced_beneath_clients(tmp_path):
    folder = os.environ.get("FARCALL_CLIENTS")
    if not folder:
        pytest.skip("FARCALL_CLIENTS is not set: scripts/test installs clients")
    ours = [Server("--drain=60s", triton.MODULES / "simple.so") for _ in range(2)]
    beside = triton.Triton(tmp_path / "triton", ["simple"])
    proxy = Proxy(tmp_path, {"triton": beside, "one": ours[0], "two": ours[1]})
    clients, failed = None, []
    try:
        proxy.until(lambda rows: all(rows[name]["status"] == "UP"
                                     for name in ("triton", "one", "two")))
        clients = Clients(pathlib.Path(folder) / "python", proxy, tmp_path)
        clients.go_on(proxy, ["triton", "one", "two"])
        proxy.drain("triton")
        beside.stop()
        clients.go_on(proxy, ["one", "two"])
        proxy.drain("one")
        port = ours[0].port
        assert ours[0].stop() == 0
        ours.append(Server("--drain=60s", triton.MODULES / "simple.so",
                           listen=("--listen", f"127.0.0.1:{port}")))
        clients.go_on(proxy, ["two"])
        proxy.back("one")
        clients.go_on(proxy, ["one", "two"])
    finally:
        if clients:
            failed = clients.end()
            print(failed)
        try:
            rows = proxy.numbers()
        finally:
            proxy.process.send_signal(signal.SIGTERM)
            proxy.process.wait(timeout=60)
            beside.stop()
    bad = {name: row for name, row in rows.items()
           if row["eresp"] not in ("", "0") or row["hrsp_5xx"] not in ("", "0")}
    statuses = [each.stop() for each in ours[1:]]
    assert failed == [] and bad == {} and statuses == [0, 0]

# SPDX-License-Identifier: Apache-2.0
"""HAProxy over one Triton and two farcalld that serve the same model, while every kind
of client calls it: Triton is drained and one farcalld is replaced, and nobody notices."""
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
    time.sleep(0.002)
print(count)
"""


class Proxy:
    """HAProxy over servers by name, whose state its own socket changes."""

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

    def ask(self, command):
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(str(self.socket))
            asked.sendall(command.encode() + b"\n")
            return b"".join(iter(lambda: asked.recv(65536), b"")).decode()

    def numbers(self):
        """Of each server: its row of `show stat`."""
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
        """Nothing new is sent there, and what was sent has been answered."""
        self.ask(f"set server models/{name} state drain")
        self.until(lambda rows: rows[name]["scur"] == "0")

    def back(self, name):
        self.ask(f"set server models/{name} state ready")
        self.until(lambda rows: rows[name]["status"] == "UP")


def served_more(proxy, names, count=50):
    """Each of these has answered so many calls from now on."""
    before = proxy.numbers()
    proxy.until(lambda rows: all(
        int(rows[name]["stot"]) >= int(before[name]["stot"]) + count for name in names))


def begin(python, proxy, stop):
    started = []
    for client, raw, coding in KINDS:
        program = RUN.format(raw=raw, coding=coding, client=CLIENTS[client],
                             parent=os.getpid(), stop=str(stop))
        started.append(subprocess.Popen(
            [python, "-c", program, f"{proxy.host}:{proxy.port}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    return started


def test_servers_are_replaced_beneath_clients(tmp_path):
    folder = os.environ.get("FARCALL_CLIENTS")
    if not folder:
        pytest.skip("FARCALL_CLIENTS is not set: scripts/test installs clients")
    ours = [Server("--drain=60s", triton.MODULES / "simple.so") for _ in range(2)]
    beside = triton.Triton(tmp_path / "triton", ["simple"])
    proxy = Proxy(tmp_path, {"triton": beside, "one": ours[0], "two": ours[1]})
    clients, stop = [], tmp_path / "stop"
    try:
        time.sleep(0.5)
        proxy.until(lambda rows: all(rows[name]["status"] == "UP"
                                     for name in ("triton", "one", "two")))
        clients = begin(pathlib.Path(folder) / "python", proxy, stop)
        served_more(proxy, ["triton", "one", "two"])
        proxy.drain("triton")
        beside.stop()
        served_more(proxy, ["one", "two"])
        proxy.drain("one")
        port = ours[0].port
        assert ours[0].stop() == 0
        ours.append(Server("--drain=60s", triton.MODULES / "simple.so",
                           listen=("--listen", f"127.0.0.1:{port}")))
        proxy.back("one")
        served_more(proxy, ["one", "two"])
    finally:
        stop.touch()
        told = [each.communicate(timeout=120) for each in clients]
        failed = {name: row for name, row in proxy.numbers().items()
                  if row["eresp"] not in ("", "0") or row["hrsp_5xx"] not in ("", "0")}
        proxy.process.send_signal(signal.SIGTERM)
        proxy.process.wait(timeout=60)
        beside.stop()
    statuses = [each.stop() for each in ours[1:]]
    for (client, raw, coding), each, (said, wrong) in zip(KINDS, clients, told):
        assert each.returncode == 0, (client, raw, coding, wrong)
        assert int(said) > 20, (client, raw, coding)
    assert failed == {} and statuses == [0, 0]

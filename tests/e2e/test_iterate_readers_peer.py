# SPDX-License-Identifier: Apache-2.0
"""Unmodified clients read the steps of a loop as they come: curl, node's fetch, httpx,
requests and aiohttp, directly and through HAProxy and nginx as they are shipped. The
second step takes half a minute: a client or proxy that buffers answers has nothing
to show before. tests/browser tests browsers."""
import json
import os
import pathlib
import re
import socket
import subprocess
import urllib.request

import pytest

from conftest import ROOT
from fleet import Nginx, program, until

SLOW = """
#include <time.h>
long long _mlir_ciface_wait(long long ms) {
  nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, 0);
  return 30000;
}
"""
SIDECAR = {"farcall": 1, "abi": "mlir-memref", "functions": [
    {"name": "wait", "symbol": "_mlir_ciface_wait", "cc": "ciface",
     "args": [{"type": "i64"}], "results": [{"type": "i64"}]}]}
WAITING = {"args": [1], "repeat": {"times": 2, "feed": {"0": 0}}}
FIRST = '{"step":1,"results":[30000]}'
SCALARS = ROOT / "tests/corpus/iree/releases/scalars-3.13.0.vmfb"
LONG = {"args": [3, 4], "repeat": {"times": 50_000, "feed": {"0": 1}}}

# Each prints what it reads, line by line, as it comes.
PYTHON = {
    "httpx": """
import httpx, sys
with httpx.stream("POST", sys.argv[1], content=sys.argv[2], timeout=60) as answer:
    for line in answer.iter_lines():
        print(line, flush=True)
""",
    "requests": """
import requests, sys
answer = requests.post(sys.argv[1], sys.argv[2], stream=True, timeout=60)
for line in answer.iter_lines(chunk_size=None):
    print(line.decode(), flush=True)
""",
    "aiohttp": """
import aiohttp, asyncio, sys
async def main():
    async with aiohttp.ClientSession() as session:
        async with session.post(sys.argv[1], data=sys.argv[2]) as answer:
            async for line in answer.content:
                print(line.decode(), end="", flush=True)
asyncio.run(main())
"""}
NODE = """
const answer = await fetch(process.argv[1], { method: "POST", body: process.argv[2] });
const decoder = new TextDecoder();
for await (const each of answer.body) process.stdout.write(decoder.decode(each, { stream: true }));
"""


def words(reader):
    """The command; an address and a document are appended to it."""
    if reader == "curl":
        return [program("curl", "peers"), "-sSN", "--url"]
    if reader == "node":
        return [program("node", "node"), "--input-type=module", "-e", NODE]
    folder = os.environ.get("FARCALL_CLIENTS")
    if not folder:
        pytest.skip("SKIPPED: FARCALL_CLIENTS is not set: scripts/test installs clients")
    return [pathlib.Path(folder) / "python", "-c", PYTHON[reader]]


def start(reader, url, document):
    body = ["-d"] if reader == "curl" else []
    return subprocess.Popen([*words(reader), url, *body, json.dumps(document)],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slow")
    (folder / "slow.c").write_text(SLOW)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "slow.so", folder / "slow.c"],
                   check=True, timeout=60)
    (folder / "slow.farcall.json").write_text(json.dumps(SIDECAR))
    return folder / "slow.so"


@pytest.fixture
def server(serve, slow):
    return serve(slow, SCALARS, "--isolation=process", "--cancel=kill",
                 "--allow-host=farcall")  # so HAProxy asks whether it is ready


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def one_server(text, server, port):
    """A shipped configuration with a single server on a port of this machine. Each of
    its pools names the servers."""
    text, count = re.subn(r"(?m)^(  server \w*)( ?)192\.0\.2\.11:8000", rf"\g<1>\g<2>127.0.0.1:{server.port}",
                          text)
    assert count >= 1
    text = re.sub(r"(?m)^  server \w* ?192\.0\.2\.1[234]:8000.*\n", "", text)
    text, count = re.subn(r"(?m)^  (bind :|listen )8000", rf"  \g<1>{port}", text)
    assert count == 1
    return text.replace("bind :", "bind 127.0.0.1:")


def is_ready(url):
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=60) as answer:
            return answer.status == 200
    except OSError:  # it does not listen, or has not looked at the server yet
        return False


@pytest.fixture(params=["direct", "haproxy", "nginx", "nginx and HTTP/1.0"])
def url(request, server, tmp_path):
    if request.param == "direct":
        yield server.url
        return
    port = free_port()
    if request.param == "haproxy":
        text = (ROOT / "config/haproxy/haproxy.cfg").read_text()
        text = text.replace("/run/haproxy/admin.sock mode", f"{tmp_path}/admin.sock mode")
        (tmp_path / "haproxy.cfg").write_text(one_server(text, server, port))
        command = [program("haproxy", "peers"), "-W", "-db", "-f", tmp_path / "haproxy.cfg"]
    else:
        text = (ROOT / "config/nginx/farcall.conf").read_text()
        if request.param != "nginx":  # what nginx speaks if nobody says otherwise
            text = text.replace("proxy_http_version 1.1", "proxy_http_version 1.0")
        (tmp_path / "farcall.conf").write_text(one_server(text, server, port))
        (tmp_path / "nginx.conf").write_text(Nginx.top.format(
            work=tmp_path, shipped=tmp_path / "farcall.conf"))
        command = [program("nginx", "peers"), "-e", f"{tmp_path}/errors", "-c",
                   tmp_path / "nginx.conf"]
    proxy = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        until(lambda: is_ready(address), 60)
        yield address
    finally:
        proxy.terminate()
        proxy.wait(60)


def open_answers(server):
    found = re.search(r"(?m)^farcall_answers_in_parts_open (\d+)$",
                      server.get("/metrics").body.decode())
    return int(found[1])


READERS = ["curl", "node", *PYTHON]


@pytest.mark.parametrize("reader", READERS)
def test_the_first_step_is_read_while_the_second_is_made(server, url, reader):
    child = start(reader, f"{url}/api/v1/functions/slow/wait?iterate", WAITING)
    line = child.stdout.readline()
    assert line == FIRST + "\n", child.stderr.read()
    assert open_answers(server) == 1  # the second step goes on
    child.kill()
    child.communicate()
    # When a client leaves, its loop ends, also behind a proxy.
    until(lambda: open_answers(server) == 0, 60)


@pytest.mark.parametrize("reader", READERS)
def test_all_steps_are_read(server, url, reader):
    place = f"/api/v1/functions/{SCALARS.stem}/hyp?iterate"
    whole = server.request("POST", place, json.dumps(LONG)).body.decode()
    child = start(reader, url + place, LONG)
    out, err = child.communicate(timeout=120)
    assert (child.returncode, err) == (0, "")
    assert out == whole and out.endswith('{"done":"times","steps":50000}\n')


@pytest.mark.parametrize("reader", READERS)
def test_an_answer_that_is_cut_is_no_answer(server, url, reader):
    """The steps are 0 = 3 / 4, then 3 / 0. A reader notices the failure by the last
    line and the cut."""
    child = start(reader, f"{url}/api/v1/functions/{SCALARS.stem}/divide?iterate",
                  {"args": [3, 4], "repeat": {"times": 9, "feed": {"0": 1}}})
    out, err = child.communicate(timeout=120)
    assert child.returncode != 0 and err, out
    assert "call_failed" not in out or out.startswith('{"step":1,"results":[0]}\n')

# SPDX-License-Identifier: Apache-2.0
"""A module whose answers are all compared (chaos.c), beside modules that print, hang,
leak, make threads and crash. Each second it is reloaded and, with worker processes,
every 100 ms one of them is killed. test_neighbours_peer.py does the same for ten
minutes."""
import collections
import json
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import pytest

from conftest import Server
from test_chaos import OBJECTS, chaos

HERE = pathlib.Path(__file__).parent
# For each function: its argument, and the allowed statuses. A neighbour's own calls may
# fail, each in its own way. Any other status is an error of the server.
NEIGHBOURS = {
    "prints": (256, {200}),
    "hangs": (0, {503, 504}),
    "leaks": (64, {200, 502, 503}),
    "threads": (100, {200, 502}),
    "crashes": (0, {502}),
}
BUSY = {503, 504}  # of a worker that was killed, or on a busy machine
IN_THREADS = ["prints", "hangs", "threads"]  # whoever leaks or crashes takes the server along


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A folder with `add`, and with each neighbour as a module of its own."""
    folder = tmp_path_factory.mktemp("house")
    for name in ("add.so", "add.farcall.json"):
        shutil.copy(OBJECTS / name, folder)
    library = folder / "library"
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", library, HERE / "neighbours.c"],
                   check=True)
    for name in NEIGHBOURS:
        shutil.copy(library, folder / f"{name}.so")
        (folder / f"{name}.farcall.json").write_text(json.dumps({
            "farcall": 1, "abi": "mlir-memref", "functions": [
                {"name": name, "symbol": "_mlir_ciface_" + name, "cc": "ciface",
                 "args": [{"type": "i32"}], "results": [{"type": "i32"}]}]}))
    library.unlink()
    return folder


class Beside:
    """Calls `names` all the time, each in a thread of its own, and replaces `add.so`
    each second."""

    def __init__(self, server, folder, names):
        self.server, self.folder = server, folder
        self.over = threading.Event()
        self.seen = {name: collections.Counter() for name in names}
        self.reloads = 0
        self.threads = [threading.Thread(target=self.call, args=(name,)) for name in names]
        self.threads.append(threading.Thread(target=self.reload))

    def call(self, name):
        while not self.over.is_set():
            reply = self.server.request("POST", f"/api/v1/functions/{name}/{name}",
                                        json.dumps([NEIGHBOURS[name][0]]))
            self.seen[name][reply.status] += 1
            if reply.status != 200:
                time.sleep(0.05)

    def reload(self):
        while not self.over.wait(1):
            other = self.folder / "next"
            shutil.copy(self.folder / "add.so", other)
            other.rename(self.folder / "add.so")
            self.server.process.send_signal(signal.SIGHUP)
            self.reloads += 1

    def __enter__(self):
        for each in self.threads:
            each.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for each in self.threads:
            each.join()


def check_neighbours(house, isolation, seconds):
    processes = isolation == "process"
    names = NEIGHBOURS if processes else IN_THREADS
    paths = [house / f"{name}.so" for name in ("add", *names)]
    server = Server(f"--isolation={isolation}", "--crash-limit=0", "--timeout=3s",
                    "--worker-memory=1G", "--access-log=off", *paths)
    try:
        with Beside(server, house, names) as beside:
            figures = chaos(server, 10**9, seconds, 100 if processes else 0)
        assert figures["sent"] > 1000
        assert beside.reloads >= seconds // 2
        print({name: dict(counts) for name, counts in beside.seen.items()})
        for name, counts in beside.seen.items():
            allowed = NEIGHBOURS[name][1] | (BUSY | {502} if processes else BUSY)
            assert counts and set(counts) <= allowed, (name, counts)
        assert chaos(server, 20000, 5, 0)["crashed"] == 0
    finally:
        assert server.stop() == 0, "".join(server.lines[-20:])


@pytest.mark.parametrize("isolation", ["thread", "process"])
def test_neighbours_change_no_answer(house, isolation):
    check_neighbours(house, isolation, 4)

# SPDX-License-Identifier: Apache-2.0
"""Many modules, loaded on demand: the loaded ones stay within the memory limit for
modules, calls continue, and the memory of unloaded ones is given back."""
import json
import os
import random
import signal
import socket
import subprocess

import pytest

from demanding import LIMIT, Many, farm, within
from reloading import taken, wait_until

COUNT = 60


@pytest.fixture
def many(tmp_path):
    return Many(farm(tmp_path, COUNT, 5, 300000), COUNT)


def test_modules_take_turns(serve, many):
    server = serve("--load=demand", f"--module-memory={LIMIT}", many.folder)
    order = [random.Random(7).randrange(COUNT) for _ in range(4 * COUNT)]
    for number in order:
        assert server.results(*many.call(number)) == many.answer(number)
        within(server)
    metrics = server.get("/metrics").body.decode()
    assert "farcall_module_load_failures_total 0" in metrics
    states = [each["state"] for each in server.get("/api/v1/modules").json["modules"]]
    assert states.count("ready") + states.count("described") >= COUNT
    assert "described" in states
    before = taken(server.pid)
    for number in order:
        assert server.results(*many.call(number)) == many.answer(number)
    after = taken(server.pid)
    print(f"{len(order)} calls more: {before} -> {after}")


def test_each_protocol_has_a_module_loaded(serve, many):
    """Each protocol calls modules that nothing has called before."""
    server = serve("--load=demand", many.folder)
    asked = {
        "native": lambda number: server.results(*many.call(number))[0],
        "oip": lambda number: server.request("POST", f"/v2/models/m{number}/infer", json.dumps(
            {"inputs": [{"name": "0", "shape": [], "datatype": "INT64", "data": [number]}]})
        ).json["outputs"][0]["data"][0],
        "tf": lambda number: server.request(
            "POST", f"/v1/models/m{number}:predict", json.dumps({"inputs": number})
        ).json["outputs"],
        "tf, a version": lambda number: server.request(
            "POST", f"/v1/models/m{number}/versions/1:predict",
            json.dumps({"inputs": number})).json["outputs"],
    }
    for at, call in enumerate(asked.values()):
        for number in range(at, COUNT, 20):
            state = server.get(f"/api/v1/modules/m{number}").json["state"]
            assert state == "described"
            assert [call(number)] == many.answer(number)
            state = server.get(f"/api/v1/modules/m{number}").json["state"]
            assert state == "ready"
    for number in (40, 41):  # its documents read the file and load nothing
        assert server.get(f"/v1/models/m{number}/metadata").json["model_spec"]["version"] == "1"
        assert server.get(f"/v1/models/m{number}").json["ready"] in (True, False)
    assert server.get("/v1/models/none").status == 404


def test_calls_from_many_sides(serve, many):
    server = serve("--load=demand", f"--module-memory={LIMIT}", many.folder)
    wrong = many.call_all(server, threads=8, rounds=2)
    assert wrong == []
    within(server)


def test_a_start_that_is_full_loads_no_more(serve, many):
    server = serve(f"--module-memory={LIMIT}", many.folder)
    assert server.get("/readyz").json == {"status": "ready", "modules": COUNT,
                                          "failed": 0}
    for number in range(COUNT):
        assert server.results(*many.call(number)) == many.answer(number)
    within(server)


SLOW = """
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void load(void) {
  close(open("%(work)s/begun", O_CREAT | O_WRONLY, 0600));
  while (access("%(work)s/gate", F_OK)) usleep(1000);
}
float _mlir_ciface_f(float x) { return x; }
"""
ROWS = """
typedef struct { float *allocated, *aligned; long offset, size, stride; } row_t;
float _mlir_ciface_f(row_t *row) { return row->aligned[row->offset]; }
"""


def test_dims_that_change_while_a_module_is_described(serve, tmp_path):
    """If a sidecar changes after the loader has read it, it is read again. Here a
    module that loads slowly keeps the loader busy. The listing of one reload and the
    description are still to be done when the next reload brings other names."""
    folder = tmp_path / "modules"
    folder.mkdir()

    def describe(name, argument):
        (folder / "next").write_text(json.dumps(
            {"farcall": 1, "abi": "mlir-memref", "functions": [
                {"name": "f", "symbol": "_mlir_ciface_f", "cc": "ciface",
                 "args": [argument], "results": [{"type": "f32"}]}]}))
        (folder / "next").rename(folder / f"{name}.farcall.json")

    def name_dim(name):
        describe("rows", {"type": "memref<?xf32>", "dims": [name]})
    for name, source in ("slow", SLOW % {"work": tmp_path}), ("rows", ROWS):
        (tmp_path / f"{name}.c").write_text(source)
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", folder / f"{name}.so",
                        tmp_path / f"{name}.c"], check=True)
    describe("slow", {"type": "f32"})
    name_dim("old")
    server = serve("--isolation=thread", "--load=demand", folder)

    def send(method, path, body=""):
        client = socket.create_connection((server.host, server.port), timeout=60)
        client.sendall(f"{method} /api/v1/functions/{path} HTTP/1.1\r\nHost: localhost\r\n"
                       f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        return client

    def settle():  # what was sent before has been begun when these are answered
        for _ in range(3):
            server.get("/livez")
    with send("POST", "slow/f", "[1]"):
        wait_until((tmp_path / "begun").exists)
        os.kill(server.pid, signal.SIGHUP)
        settle()
        with send("GET", "rows/f") as client:
            settle()
            name_dim("new")
            os.kill(server.pid, signal.SIGHUP)
            settle()
            (tmp_path / "gate").touch()
            assert b"f(tensor<[new]xf32>) -> f32" in client.recv(65536)
    assert "[new]" in server.get("/api/v1/functions/rows/f").json["text"]

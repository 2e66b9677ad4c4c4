# SPDX-License-Identifier: Apache-2.0
"""The same calls over HTTP, and the server that the package starts."""
import asyncio
import inspect
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

import farcall
import httpx
import numpy
import pytest

from calls import A, B, CALLS, REFUSED, UNBOUND, X, Y, check_uncallable, same
from conftest import EXAMPLES, HALF, SCALARS, VERSIONS

FILES = sorted({row[0] for row in CALLS + REFUSED} | {HALF})


@pytest.fixture(scope="module")
def server():
    with farcall.serve(*FILES) as running:
        yield running
    assert running.process.returncode == 0, running.lines


@pytest.fixture(scope="module")
def client(server):
    with server.client() as one:
        yield one


@pytest.mark.parametrize("row", range(len(CALLS)))
def test_calls(client, row):
    path, name, args, kwargs, wanted = CALLS[row]
    got = client[path.stem][name](*args, **kwargs)
    assert same(got, wanted), f"{name}: {got}"


@pytest.mark.parametrize("row", range(len(REFUSED)))
def test_refusals(client, row):
    path, name, args, code, words = REFUSED[row]
    with pytest.raises(farcall.Error) as caught:
        client[path.stem][name](*args)
    assert caught.value.code == code, caught.value
    for word in words:
        assert re.search(word, str(caught.value)), caught.value


@pytest.mark.parametrize("row", range(len(UNBOUND)))
def test_names_of_arguments(client, row):
    """The client itself refuses these calls, with the server's error."""
    path, name, args, kwargs, code, message, pointer = UNBOUND[row]
    with pytest.raises(farcall.Error) as caught:
        client[path.stem][name](*args, **kwargs)
    error = caught.value
    assert (error.code, str(error), error.pointer) == (code, message, pointer)
    answer = client.http.post(f"/api/v1/functions/{path.stem}/{name}",
                              json={"args": args, "kwargs": kwargs}).json()
    assert (answer["code"], answer["detail"]) == (code, message)
    assert (answer.get("expected"), answer.get("got")) == (error.expected, error.got)


def test_they_look_alike(client):
    for path in FILES:
        here, there = farcall.load(path), client.module(path.stem)
        assert list(here.functions) == list(there.functions)
        for name in here.functions:
            assert inspect.signature(here[name]) == inspect.signature(there[name])
            assert here[name].__doc__ == there[name].__doc__
    assert set(client.modules()) == {path.stem for path in FILES}


def test_functions_that_cannot_be_called(some_so):
    with farcall.serve(some_so) as server, server.client() as client:
        check_uncallable(client["some"])


def test_same_bits(client):
    """Floats sent as bytes keep their bits, which JSON would round."""
    a = numpy.random.default_rng(3).standard_normal((33, 21)).astype(numpy.float32)
    a[0, :3] = numpy.nan, numpy.inf, -0.0
    b = numpy.ones((21, 7), numpy.float32)
    here = farcall.load(VERSIONS).matmul(a, b)
    assert client[VERSIONS.stem].matmul(a, b).tobytes() == here.tobytes()
    h = numpy.array([1.5, -2], numpy.float16)
    for one, other in zip(farcall.load(HALF).twice(h, [0.5, 3]),
                          client[HALF.stem].twice(h, [0.5, 3])):
        assert one.dtype == other.dtype and one.tobytes() == other.tobytes()


@pytest.mark.parametrize("size", [1, 300, 600])
def test_results_may_be_written_to(client, size):
    a = numpy.arange(size * size, dtype=numpy.float32).reshape(size, size)
    result = client[VERSIONS.stem].matmul(numpy.ones((1, size), "f4"), a)
    wanted = a.sum(0)
    result += 1
    assert numpy.allclose(result, wanted + 1, 1e-5)


def test_large_arguments(server, client):
    """Large arrays are sent in pieces, whatever their elements and strides."""
    wanted = [(numpy.full((1, k), 2, numpy.float32), numpy.full((k, 3), 3, numpy.float32))
              for k in (1, 1 << 15, (1 << 16) + 3, 1 << 17)]

    async def calls():
        async with server.async_client() as other:
            matmul = (await other.module(VERSIONS.stem)).matmul
            return await asyncio.gather(*(matmul(a, b) for a, b in wanted))
    for (a, b), there in zip(wanted, asyncio.run(calls())):
        for given in (b, b.T.copy().T, numpy.repeat(b, 2, 0)[::2]):
            assert same(client[VERSIONS.stem].matmul(a, given), a @ b)
        assert same(there, a @ b)
    with pytest.raises(farcall.Error) as caught:
        client[VERSIONS.stem].matmul(*wanted[3][::-1])
    assert caught.value.code == "call_failed"


def test_large_arguments_are_sent_again():
    """httpx sends a body twice if a server asks for authentication."""
    a, b, bodies = numpy.ones((1, 1 << 17), "f4"), numpy.ones((1 << 17, 1), "f4"), []
    signature = farcall.load(VERSIONS).matmul.signature.document

    def answer(request):
        if request.method == "GET":
            return httpx.Response(200, json={"functions": [signature]})
        bodies.append(request.read())
        assert request.headers["content-length"] == str(len(bodies[-1]))
        fields = {"WWW-Authenticate": 'Digest realm="r", nonce="n", qop="auth"'}
        return httpx.Response(401, headers=fields) if len(bodies) == 1 else \
            httpx.Response(200, json={"results": [
                {"dtype": "f32", "shape": [0, 1], "binary_data_size": 0}]})
    for kind in farcall.Client, farcall.AsyncClient:
        bodies.clear()
        other = kind("http://other", transport=httpx.MockTransport(answer),
                     auth=httpx.DigestAuth("user", "password"))

        async def call():
            return await (await other.module("m")).matmul(a, b)
        got = asyncio.run(call()) if kind is farcall.AsyncClient else \
            other["m"].matmul(a, b)
        assert got.shape == (0, 1)
        assert bodies[0] == bodies[1] and a.tobytes() + b.tobytes() in bodies[0]


def test_errors_of_the_server(client):
    with pytest.raises(farcall.Error) as caught:
        client[SCALARS.stem].divide(7, 0)
    assert (caught.value.code, caught.value.http_status) == ("call_failed", 422)
    with pytest.raises(farcall.Error) as caught:
        client.module("scalar")
    assert (caught.value.code, caught.value.http_status) == ("module_not_found", 404)
    with pytest.raises(AttributeError, match="fakt"):
        client[SCALARS.stem].fakt


def test_async(server):
    async def calls():
        async with server.async_client() as client:
            assert VERSIONS.stem in await client.modules()
            m = await client.module(VERSIONS.stem)
            got = await asyncio.gather(*(m.matmul(A * k, B) for k in range(20)))
            assert all(same(each, A @ B * k) for k, each in enumerate(got))
            with pytest.raises(farcall.Error) as caught:
                await m.mul4(X)
            assert caught.value.code == "missing_argument"
            return await m.mul4(X, Y)
    assert same(asyncio.run(calls()), X * Y)


def test_a_client_for_many_threads(client):
    matmul, wrong = client[VERSIONS.stem].matmul, []

    def work(k):
        for _ in range(10):
            if not same(matmul(A * k, B), A @ B * k):
                wrong.append(k)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_deadline(server):
    with farcall.Client(server.url, timeout=1e-3) as client:
        a = numpy.ones((700, 700), numpy.float32)
        with pytest.raises(farcall.Error) as caught:
            for _ in range(50):
                client[VERSIONS.stem].matmul(a, a)
        assert caught.value.code == "deadline_exceeded"
        assert caught.value.http_status == 504


@pytest.mark.parametrize("timeout, told", [
    (1.5, "1500"), (30, "30000"), (0.0004, "1"), (0.0025, "2"), (None, None)])
def test_the_server_is_told_the_deadline(server, timeout, told):
    """The time-out is sent in milliseconds. No real server answers the call."""
    asked = []

    def answer(request):
        if request.method == "GET":
            return httpx.get(server.url + request.url.raw_path.decode())
        asked.append(request.headers.get("Farcall-Timeout-Ms"))
        return httpx.Response(503, json={"code": "shutting_down", "detail": "no"})
    with farcall.Client("http://localhost", timeout=timeout,
                        transport=httpx.MockTransport(answer)) as client:
        with pytest.raises(farcall.Error):
            client[VERSIONS.stem].matmul(A, B)
    assert asked == [told]


def test_unix_socket(tmp_path):
    path = tmp_path / "socket"
    options = [f"--listen=unix:{path}"]
    with farcall.serve(SCALARS, options=options):
        with farcall.Client(f"unix:{path}") as client:
            assert client[SCALARS.stem].fact(10) == 3628800

        async def call():
            async with farcall.AsyncClient(f"unix:{path}") as client:
                return await (await client.module(SCALARS.stem)).fact(5)
        assert asyncio.run(call()) == 120


def test_versions(tmp_path):
    for version, source in ("1", SCALARS), ("2", SCALARS.with_name("scalars-2.9.0.vmfb")):
        folder = tmp_path / "m" / version
        folder.mkdir(parents=True)
        (folder / "model.vmfb").write_bytes(source.read_bytes())
    with farcall.serve(tmp_path) as server, server.client() as client:
        assert client["m@1"].add_total(5) == 5
        assert client["m@2"].add_total(7) == 7
        assert client["m"].add_total(0) == 7


def test_what_does_not_start(tmp_path):
    with pytest.raises(farcall.Error) as caught:
        farcall.serve(SCALARS, options=["--no-such-option"])
    assert caught.value.code == "not_ready" and "no-such-option" in str(caught.value)
    bad = tmp_path / "bad.vmfb"
    bad.write_bytes(b"no module")
    with pytest.raises(farcall.Error) as caught:
        farcall.serve(bad)
    assert caught.value.code == "not_ready" and "bad.vmfb" in str(caught.value)


def test_a_server_ends_with_its_program():
    code = f"""
import farcall
server = farcall.serve({str(SCALARS)!r})
print(server.process.pid)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          check=True, timeout=60)
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def test_stop_is_orderly():
    server = farcall.serve(SCALARS)
    assert "farcalld" in repr(server) and server.url in repr(server)
    assert server.stop() == 0
    assert server.stop() == 0
    assert server.process.returncode != -signal.SIGKILL


def test_stop_waits_for_no_other_process(monkeypatch, tmp_path):
    """A process other than farcalld has the log open: a module may start such."""
    program, other = tmp_path / "farcalld", tmp_path / "pid"
    program.write_text(f"#!/bin/sh\nsleep 600 & echo $! >{other}\n"
                       f'exec {farcall.program("farcalld")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr("farcall._serve.program", lambda name: str(program))
    server = farcall.serve(SCALARS)
    stopped = threading.Thread(target=server.stop, daemon=True)
    stopped.start()
    stopped.join(timeout=60)
    hangs = stopped.is_alive()
    os.kill(int(other.read_text()), signal.SIGKILL)
    assert not hangs and server.process.returncode == 0


def test_stop_ends_what_does_not_listen(monkeypatch):
    monkeypatch.setattr("farcall._serve._END_SECONDS", 0.1)
    server = farcall.serve(SCALARS)
    os.kill(server.process.pid, signal.SIGSTOP)
    assert server.stop() == -signal.SIGKILL


@pytest.mark.parametrize("name", ["farcalld", "farcall"])
def test_commands(name):
    command = pathlib.Path(sys.executable).with_name(name)
    done = subprocess.run([command, "--version"], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0 and farcall.__version__ in done.stdout, done
    if name == "farcall":
        done = subprocess.run([command, "sig", EXAMPLES / "matmul.vmfb"],
                              capture_output=True, text=True, timeout=60)
        assert "matmul(a: tensor<" in done.stdout, done


def test_answers_that_are_none(client):
    """A broken or foreign server may send these answers. Each raises Error; nothing
    crashes."""
    from farcall import _wire
    signature = client[VERSIONS.stem].mul4.signature
    good = b'{"results":[{"dtype":"f32","shape":[4],"binary_data_size":16}]}'
    assert _wire.read(signature, str(len(good)), good + bytes(16)).tolist() == [0] * 4
    for head, rest in [(b"", b""), (b"[]", b""), (good, bytes(15)), (good[:-1], b""),
                       (b'{"results":[]}', b""), (b'{"results":[1]}', b""),
                       (good.replace(b"16", b"-1"), bytes(16)),
                       (good.replace(b"[4]", b"[5]"), bytes(16)),
                       (good.replace(b"f32", b"f99"), bytes(16))]:
        with pytest.raises(farcall.Error) as caught:
            _wire.read(signature, str(len(head)), head + rest)
        assert caught.value.code == "bad_result"


def test_half_a_character(client):
    """Text of Python or JSON may have a surrogate, which UTF-8 does not have: this raises
    Error too."""
    half = "\ud83d"
    with pytest.raises(farcall.Error) as caught:
        client.module(half)
    assert caught.value.http_status in (400, 404), caught.value
    function = {"name": half, "text": half, "callable": True, "arguments": [],
                "results": [{"type": {"kind": "bytes", "encoding": "utf8"}}]}

    def answer(request):
        body = {"functions": [function]} if request.method == "GET" else \
            {"results": [half]}
        return httpx.Response(200, content=json.dumps(body))
    with farcall.Client("http://other", transport=httpx.MockTransport(answer)) as other:
        with pytest.raises(farcall.Error) as caught:
            other.module(half)[half]()
    assert caught.value.code == "bad_result"

# SPDX-License-Identifier: Apache-2.0
"""`iterate` of functions in this process, of a server, and of a server with asyncio. The
results have the same bits as single calls in this process.
"""
import asyncio
import gzip
import json
import socket
import threading
import time

import farcall
import httpx
import numpy
import pytest

from calls import X, Y, same
from conftest import EXAMPLES, HALF, ROOT, SCALARS, VERSIONS

F32 = numpy.float32
MATMUL, FILTER = EXAMPLES / "matmul.vmfb", EXAMPLES / "filter.vmfb"
ROLES = ROOT / "tests/corpus/iree/roles/roles.vmfb"
FILES = [VERSIONS, SCALARS, HALF, MATMUL, FILTER, ROLES]


@pytest.fixture(scope="module")
def server(tensor_so):
    with farcall.serve(*FILES, tensor_so) as running:
        yield running


@pytest.fixture(scope="module")
def here(tensor_so):
    return {path.stem: farcall.load(path) for path in [*FILES, tensor_so]}


class Waiting:
    """The function of an AsyncClient, with `for` instead of `async for`."""

    def __init__(self, url, module, name):
        self.where = url, module, name

    def iterate(self, *args, **options):
        async def steps():
            url, module, name = self.where
            async with farcall.AsyncClient(url) as client:
                function = (await client.module(module))[name]
                return [each async for each in function.iterate(*args, **options)]
        return asyncio.run(steps())


@pytest.fixture(scope="module", params=["here", "there", "async"])
def functions(request, server, here):
    """A function by the names of its module and its own."""
    if request.param == "here":
        yield lambda module, name: here[module][name]
    elif request.param == "async":
        yield lambda module, name: Waiting(server.url, module, name)
    else:
        with server.client() as client:
            yield lambda module, name: client[module][name]


SIGNAL = numpy.linspace(-1, 1, 12, dtype=F32)
MATRIX = numpy.array([[0.5, 1.25], [-1.5, 0.75]], F32)
NAN = numpy.array([0x7FC12345, 0x7F800000, 0xFF800000, 0x80000000], numpy.uint32).view(F32)
# (module, function, arguments, options)
ROWS = [
    (SCALARS.stem, "fact", (3,), {"times": 4, "feed": {0: 0}}),
    (SCALARS.stem, "hyp", (3, 4), {"times": 50, "feed": {0: 1}}),
    (SCALARS.stem, "pair", (3, 4.5), {"times": 3}),
    (VERSIONS.stem, "mul4", (X, Y), {"times": 9, "feed": {0: 0}}),
    (VERSIONS.stem, "mul4", (NAN, [1, 1, 1, 1]), {"times": 3, "feed": {0: 0}}),
    (VERSIONS.stem, "mixed", ([1, 2, 3], [7, 8], 14, 1.5),
     {"times": 5, "feed": {0: 0, 1: 1, 2: 2, 3: 3}}),
    (VERSIONS.stem, "mixed", ([1, 2, 3], [7, 8], 14, 1.5),
     {"times": 5, "feed": {3: 3}, "emit": [3, 0]}),
    (VERSIONS.stem, "mixed", ([1, 2, 3], [7, 8], 14, 1.5), {"times": 2, "emit": []}),
    ("matmul", "matmul", (MATRIX, MATRIX), {"times": 20, "feed": {0: "b"}}),
    ("filter", "edges", (numpy.arange(144).reshape(12, 12) % 7,),
     {"times": 5, "feed": {0: 0}}),
    ("roles", "bump", ([1, 2, 3, 4], [5, 6, 7, 8]), {"times": 6, "feed": {1: 1}}),
    ("tensor", "matmul", (MATRIX, MATRIX), {"times": 12, "feed": {0: 0}}),
    ("tensor", "scale_inplace", ([1, 2, 3], 1.5), {"times": 12, "feed": {0: 0}}),
]


def calls(function, args, times, feed=None, emit=None):
    """The same steps, each as a single call."""
    args = list(args)
    for _ in range(times):
        got = function(*args)
        several = len(function.outputs) > 1
        results = list(got) if several else [got]
        for result, argument in (feed or {}).items():
            args[1 if argument == "b" else argument] = results[result]
        if emit is None:
            yield got
        else:
            yield tuple(results[each] for each in emit) if emit else None


def bits(value):
    """A value in a form that compares types, shapes and bits."""
    if isinstance(value, numpy.ndarray):
        return value.dtype.name, value.shape, value.tobytes()
    if isinstance(value, (list, tuple)):
        return [bits(each) for each in value]
    if isinstance(value, dict):
        return {key: bits(each) for key, each in value.items()}
    return type(value).__name__, repr(value)


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_steps_are_calls(functions, here, row):
    module, name, args, options = ROWS[row]
    wanted = list(calls(here[module][name], args, **options))
    got = list(functions(module, name).iterate(*args, **options))
    assert list(map(bits, got)) == list(map(bits, wanted))


@pytest.mark.parametrize("module, name, args", [
    ("matmul", "matmul", (MATRIX, MATRIX)), ("tensor", "scale_inplace", ([1, 2, 3], 1.5))])
def test_what_a_step_gave_is_the_callers(functions, module, name, args):
    """Writing to a result of a step changes no later step, and no later step writes to
    it."""
    iterate = functions(module, name).iterate
    wanted = [numpy.copy(each) for each in iterate(*args, times=4, feed={0: 0}, emit=[0])]
    assert all(map(same, list(iterate(*args, times=4, feed={0: 0}, emit=[0])), wanted))
    for got, each in zip(iterate(*args, times=4, feed={0: 0}, emit=[0]), wanted):
        assert same(got, each)
        got[...] = 3


def test_names_of_results_stay(functions, here):
    wanted = here["matmul"].matmul(MATRIX, MATRIX)
    first, = functions("matmul", "matmul").iterate(b=MATRIX, a=MATRIX, times=1)
    assert same(first, wanted)


@pytest.mark.parametrize("name, args, until, steps", [
    ("fact", (3,), (0, 720), 2), ("fact", (3,), (0, numpy.int64(6)), 1),
    ("fact", (3,), (0, 5), 4), ("hyp", (3, 4), (0, 5.0), 1),
    ("hyp", (float("nan"), 4), (0, float("nan")), 1), ("hyp", (0.0, 0.0), (0, -0.0), 1)])
def test_until(functions, name, args, until, steps):
    options = {"times": 4, "until": until, "feed": {0: 0}} if name == "fact" else \
        {"times": 4, "until": until}
    assert len(list(functions(SCALARS.stem, name).iterate(*args, **options))) == steps


@pytest.mark.parametrize("name, args, options, code", [
    ("fact", (1,), {"times": 0}, "out_of_range"),
    ("fact", (1,), {"times": 10_000_001}, "out_of_range"),
    ("fact", (1,), {"times": 1.5}, "type_mismatch"),
    ("fact", (1,), {"times": 2, "feed": {9: 0}}, "out_of_range"),
    ("fact", (1,), {"times": 2, "feed": {0: 1}}, "out_of_range"),
    ("fact", (1,), {"times": 2, "feed": {0: -1}}, "out_of_range"),
    ("fact", (1,), {"times": 2, "feed": {"r": 0}}, "unknown_key"),
    ("fact", (1,), {"times": 2, "emit": [0, 0]}, "duplicate_argument"),
    ("fact", (1,), {"times": 2, "emit": [1]}, "out_of_range"),
    ("fact", (1,), {"times": 2, "until": (1, 0)}, "out_of_range"),
    ("fact", (1,), {"times": 2, "until": (0, 0.5)}, None),
    ("fact", (1,), {"times": 2, "until": (0, [[6]])}, "type_mismatch"),
    ("fact", (1,), {"times": 2, "until": (0, "x")}, "type_mismatch"),
    ("fact", (1,), {"times": 2, "until": (0,)}, "type_mismatch"),
    ("fact", (1,), {"times": 2, "until": 5}, "type_mismatch"),
    ("pair", (1, 2), {"times": 2, "until": (0, 0.5)}, "type_mismatch"),
    ("pair", (1, 2), {"times": 2, "feed": {0: 1}}, "type_mismatch"),
    ("fact", ("x",), {"times": 1}, "type_mismatch"),
    ("fact", (), {"times": 1}, "missing_argument")])
def test_refusals(functions, name, args, options, code):
    with pytest.raises(farcall.Error) as caught:
        list(functions(SCALARS.stem, name).iterate(*args, **options))
    assert code in (None, caught.value.code), caught.value
    assert "'repeat'" not in str(caught.value)


def test_a_step_that_fails_is_the_last(functions):
    got = []
    with pytest.raises(farcall.Error, match="^step 2: integer division by zero") as caught:
        for each in functions(SCALARS.stem, "divide").iterate(3, 4, times=9, feed={0: 1}):
            got.append(each)
    assert caught.value.code == "call_failed" and got in ([0], [])  # async gives all or none


def test_a_function_that_cannot_be_called(some_so, server):
    with pytest.raises(farcall.Error) as caught:
        farcall.load(some_so).wide.iterate(1, times=2)
    assert caught.value.code == "unsupported_type"


# ---------------------------------------------------------------------------
# Steps of a server


def connections(client):
    return client.http.get("/api/v1").json()["in_flight"]["connections"]


def test_a_loop_that_is_closed_ends(server):
    with server.client() as client:
        own = connections(client)
        steps = client[SCALARS.stem].hyp.iterate(3, 4, times=10_000_000, feed={0: 1})
        assert next(steps) == 5.0
        assert connections(client) == own + 1
        steps.close()
        deadline = time.monotonic() + 60
        while connections(client) > own:
            assert time.monotonic() < deadline, "the loop goes on"
            time.sleep(0.02)


def test_an_async_loop_that_is_closed_ends(server):
    async def first():
        async with farcall.AsyncClient(server.url) as client:
            function = (await client.module(SCALARS.stem)).hyp
            steps = function.iterate(3, 4, times=10_000_000, feed={0: 1})
            got = [await anext(steps), await anext(steps)]
            await steps.aclose()
            return got
    one, two = asyncio.run(first())
    assert one == 5.0 and two > 5.0
    with server.client() as client:
        deadline = time.monotonic() + 60
        while connections(client) > 1:
            assert time.monotonic() < deadline, "the loop goes on"
            time.sleep(0.02)


def test_steps_come_before_the_end(server):
    """A server that never ends its answer: the steps that came are yielded."""
    step = b'{"step":1,"results":[5.0]}\n'
    with socket.create_server(("127.0.0.1", 0)) as listener, server.client() as real:
        signature = real[SCALARS.stem].hyp.signature.document
        over = threading.Event()

        def serve_one():
            with listener.accept()[0] as peer:
                request = b""
                while b"}" not in request:
                    request += peer.recv(65536)
                peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                             b"%x\r\n%s\r\n" % (len(step), step))
                over.wait(60)
        thread = threading.Thread(target=serve_one)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        from farcall import _client
        with farcall.Client(url) as client:
            module = _client.RemoteModule(client, "m", {"functions": [signature]},
                                          _client.RemoteFunction)
            steps = module.hyp.iterate(3, 4, times=9)
            assert next(steps) == 5.0
            over.set()
            with pytest.raises(httpx.RemoteProtocolError):
                next(steps)
        thread.join()


STEP = '{"step":1,"results":[5.0]}\n'
DONE = '{"done":"times","steps":1}\n'


@pytest.mark.parametrize("answer, got, code", [
    (STEP + DONE, 1, None), (STEP, 1, "bad_result"), ("", 0, "bad_result"),
    (STEP + '{"code":"call_failed","detail":"step 2: no"}\n', 1, "call_failed"),
    (STEP + "[]\n", 1, "internal"), (STEP + "{\n", 1, "internal"),
    ('{"step":1,"results":[5.0,1]}\n' + DONE, 0, "bad_result"),
    ('{"step":1,"results":3}\n' + DONE, 0, "bad_result"),
    ('{"step":1,"results":["x"]}\n' + DONE, 0, "bad_result")])
@pytest.mark.parametrize("cut", [1, 7, 1 << 20])
@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_answers_of_others(here, answer, got, code, cut, coding):
    document = here[SCALARS.stem].hyp.signature.document

    def reply(request):
        if request.method == "GET":
            return httpx.Response(200, content=json.dumps({"functions": [document]}))
        assert request.headers["Accept-Encoding"] == "identity"
        text = answer.encode() if coding == "identity" else gzip.compress(answer.encode())
        return httpx.Response(200, headers={"Content-Encoding": coding}, content=(
            text[at:at + cut] for at in range(0, len(text), cut)))
    steps = []
    with farcall.Client("http://other", transport=httpx.MockTransport(reply)) as client:
        try:
            for each in client["m"].hyp.iterate(3, 4, times=9):
                steps.append(each)
        except farcall.Error as error:
            assert error.code == code
        else:
            assert code is None
    assert steps == [5.0] * got

# SPDX-License-Identifier: Apache-2.0
"""The same calls over gRPC, with the package's server and with a foreign one, which the
Python of tests/requirements-clients.txt runs (tests/e2e/grpc_server.py).
"""
import asyncio
import contextlib
import hashlib
import pathlib
import pickle
import re
import subprocess
import sys

import farcall
import numpy
import pytest

from calls import A, B, CALLS, REFUSED, X, Y, same
from conftest import BUILD, CLIENTS, HALF, ROOT, SANITIZED, SCALARS, VERSIONS

if not CLIENTS or SANITIZED:
    pytest.skip("no grpcio: scripts/test installs it", allow_module_level=True)
sys.path += map(str, pathlib.Path(CLIENTS).parent.glob("lib/python3*/site-packages"))
import grpc  # noqa: E402
from farcall import _arrays, _message  # noqa: E402
from farcall._structure import Type  # noqa: E402

# Over gRPC, structured values are passed as separate leaves, and INT8 is not UINT8.
PARTS = {"pair", "swap"}
SAME = [row for row in CALLS if row[1] not in PARTS and not any(
    getattr(each, "dtype", None) == numpy.uint8 for each in row[2])]
NATIVE = BUILD / "tests/modules/native"


# Without ml_dtypes, two types share a dtype.
@pytest.mark.parametrize("name", _message._BY_TEXT.values())
def test_a_declared_type_is_sent_as_such(name):
    text = next(each for each, there in _message._BY_TEXT.items() if there == name)
    node = Type("tensor", text, (2,))
    array = numpy.zeros(2, _arrays.dtype(text))
    assert _message._tensor(node, array, "0", "no")[0] == name


def grpc_url(server):
    return server.url.replace("http:", "grpc:")


@pytest.fixture(scope="module")
def server():
    with farcall.serve(*sorted({row[0] for row in CALLS}), HALF,
                       NATIVE / "sequence.so") as running:
        yield running
    assert running.process.returncode == 0, running.lines


@pytest.fixture(scope="module")
def client(server):
    with farcall.Client(grpc_url(server)) as one:
        yield one


@contextlib.contextmanager
def started(*files):
    with subprocess.Popen(
            [pathlib.Path(CLIENTS) / "python", ROOT / "tests/e2e/grpc_server.py", *files],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        try:
            yield f"localhost:{program.stdout.readline().strip()}"
        finally:
            program.stdin.close()


@pytest.fixture(scope="module")
def other():
    with started() as address, farcall.Client(f"grpc://{address}") as one:
        yield one


def refused(call, *args, **named):
    with pytest.raises(farcall.Error) as caught:
        call(*args, **named)
    return caught.value


@pytest.mark.parametrize("row", range(len(SAME)))
def test_calls(client, row):
    path, name, args, kwargs, wanted = SAME[row]
    got = client[path.stem][name](*args, **kwargs)
    assert same(got, wanted), f"{name}: {got}"


@pytest.mark.parametrize("row", range(len(REFUSED)))
def test_refusals(client, row):
    path, name, args, code, words = REFUSED[row]
    error = refused(client[path.stem][name], *args)
    if name in PARTS:
        assert error.code == "missing_argument"
        return
    assert error.code == code, error
    for word in words:
        assert re.search(word.replace("i8", "si8").replace("i64", "si64"), str(error)), error


def test_results_are_those_of_http(server, client):
    a = numpy.random.default_rng(3).standard_normal((33, 21)).astype(numpy.float32)
    a[0, :3] = numpy.nan, numpy.inf, -0.0
    h = numpy.array([1.5, -2], numpy.float16)
    with server.client() as http:
        for module, name, args in ((VERSIONS.stem, "matmul", (a, numpy.ones((21, 7), "f4"))),
                                   (HALF.stem, "twice", (h, [0.5, 3]))):
            there = http[module][name](*args)
            here = client[f"{module}.{name}"](*args)
            for one, two in zip(*(each if isinstance(each, tuple) else (each,)
                                  for each in (there, here))):
                assert (one.dtype, one.tobytes()) == (two.dtype, two.tobytes())
                two += 1  # it may be written to
        assert {each.split(".")[0] for each in client.modules()} == {
            each.split(".")[0] for each in http.modules()}


def test_parts_are_leaves(client):
    pair, swap = client[SCALARS.stem].pair, client[SCALARS.stem].swap
    assert pair(3, b=2.5) == (3, 2.5)
    assert [each.name for each in pair.outputs] == ["0/a", "0/b"]
    assert swap(**{"x/p": 1.5, "x/q": 3}) == (3, 1.5)
    error = refused(pair, 1, c=2)
    assert (error.code, error.pointer) == ("unknown_argument", "/c")


def test_large_arguments(client):
    a, b = numpy.full((1, 1 << 19), 2, "f4"), numpy.full((1 << 19, 3), 3, "f4")
    assert same(client[VERSIONS.stem].matmul(a, numpy.repeat(b, 2, 0)[::2]), a @ b)


def test_errors(client):
    error = refused(client[SCALARS.stem].divide, 7, 0)
    assert (error.code, error.__cause__.code()) == (
        "call_failed", grpc.StatusCode.OUT_OF_RANGE)
    error = refused(client["nobody"], 1)
    assert (type(error), error.code) == (farcall.NameUnknownError, "module_not_found")
    error = refused(client["half\ud83d"], 1)
    assert error.code == "type_mismatch"
    with pytest.raises(AttributeError):
        client[SCALARS.stem]._fact
    # The client cannot see this error. The server names the input.
    known = client[f"{VERSIONS.stem}.mul4"]._model
    wrong = _message.request(known, f"{VERSIONS.stem}.mul4", "", (X, Y), {}, {})
    error = refused(client._ask, "ModelInfer", wrong.replace(b"FP32", b"FP64"))
    assert (error.code, error.pointer) == ("dtype_mismatch", "/inputs/0"), error


def test_nobody_listens():
    with farcall.Client("grpc://127.0.0.1:1", timeout=60) as none:
        assert refused(none.modules).code == "unavailable"


def test_what_says_its_type_itself(lists):
    with farcall.serve(lists) as server, farcall.Client(grpc_url(server)) as client:
        anything, data = client["lists"].anything, client["lists"].same
        for given, wanted in ((b"a\0", b"a\0"), ("\u00e4", "\u00e4".encode()),
                              ([b"a", "b"], [b"a", b"b"]), (MANY, MANY),
                              (numpy.int8([[-1]]), numpy.int8([[-1]]))):
            assert same(anything(given), wanted)
        assert data(b"a\0") == b"a\0" and data("text") == b"text"
        assert client["lists"].nothing() is None
        for call, given, code in ((data, ["a", "b"], "type_mismatch"),
                                  (data, 3, "type_mismatch"), (anything, 3, "untyped_value"),
                                  (anything, numpy.zeros(1, "c8"), "unsupported_type")):
            assert refused(call, given).code == code


def test_a_token(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"a call,read {hashlib.sha256(b'secret').hexdigest()}\n")
    tokens.chmod(0o600)
    with farcall.serve(SCALARS, options=[f"--token-file={tokens}"]) as server:
        with farcall.Client(grpc_url(server)) as none:
            assert refused(none[SCALARS.stem].fact, 5).code == "unauthorized"
        with farcall.Client(grpc_url(server),
                            headers={"Authorization": "Bearer secret"}) as client:
            assert client[SCALARS.stem].fact(5) == 120
            again = pickle.loads(pickle.dumps(client[SCALARS.stem].fact))
            assert again(5) == 120 and again._client is not client
            again._client.close()


def test_sequences(client):
    one, two = client.sequence("sequence", "one"), client.sequence("sequence")
    assert [one.add([5]), two.add([7]), one.add([1])] == [5, 7, 6]
    # Any client that knows the id can continue the sequence.
    more = client.sequence("sequence", "one", begun=True)
    assert more.add([10]) == 16 and one.add([1], last=True) == 17
    assert refused(one.add, [1]).code == "session_not_found"
    assert two.add([1], last=True) == 8
    # A first call that is refused does not begin the sequence.
    named = client.sequence("sequence")
    assert refused(named.divide, [0]).code
    assert named.add([2], last=True) == 2
    assert client["sequence"].add([3]) == 3


def test_async(server):
    async def calls():
        async with farcall.AsyncClient(grpc_url(server)) as client:
            assert f"{VERSIONS.stem}.matmul" in await client.modules()
            m = await client.module(VERSIONS.stem)
            assert refused(lambda: m.matmul.signature).code == "not_ready"
            got = await asyncio.gather(*(m.matmul(A * k, B) for k in range(20)))
            assert all(same(each, A @ B * k) for k, each in enumerate(got))
            assert len((await m.matmul.ask()).inputs) == 2
            with pytest.raises(farcall.Error) as caught:
                await m.mul4(X)
            assert caught.value.code == "missing_argument"
            with pytest.raises(farcall.Error) as caught:
                await (await client.module(SCALARS.stem)).divide(7, 0)
            assert caught.value.code == "call_failed"
            added = client.sequence("sequence").add
            return [await added([1]), await added([2], last=True)]
    assert asyncio.run(calls()) == [1, 3]


# ---------------------------------------------------------------------------
# A foreign server

MANY = numpy.arange(8, dtype="f4").reshape(4, 2)


@pytest.mark.parametrize("name", ["echo", "echo@7"])
def test_another_server(other, name):
    got = other[name](MANY, [1, 2, 65535], ["a", b"\xff\0", ""])
    assert same(got.x, MANY) and got.n.dtype == numpy.uint16 and got.n.tolist() == [1, 2, 65535]
    assert got.t == [b"a", b"\xff\0", b""]
    assert str(other[name].signature) == (
        "echo(x: tensor<?x2xf32>, n: tensor<3xui16>, t: list<bytes>) -> "
        "(x: tensor<?x2xf32>, n: tensor<3xui16>, t: list<bytes>)")


def test_fields_of_their_type(other):
    got = other["fields"](MANY, [-1, 1 << 62], ["a", "\u00e4"])
    assert same(got.x, MANY)
    assert (got.n.tolist(), got.t) == ([-1, 1 << 62], [b"a", "\u00e4".encode()])


def test_what_it_takes(other):
    assert other["one"]("text") == b"text" and other["one"](b"") == b""
    assert refused(other["one"], ["a", "b"]).code == "type_mismatch"
    assert refused(other["one"], 1).code == "type_mismatch"
    assert refused(other["one"], "\ud83d").code == "type_mismatch"
    assert refused(other["echo"], MANY, [1, 2, 3], [1]).code == "type_mismatch"
    assert refused(other["echo"], MANY, [1, 2, 65536], []).code == "out_of_range"
    assert same(other["empty"](numpy.zeros(0, "f4")), numpy.zeros(0, "f4"))
    assert [int(each[0]) for each in other["names"]([1], [2], [3], [4])] == [1, 2, 3, 4]
    assert [int(each[0]) for each in other["many"](*([k % 100] for k in range(200)))] == [
        k % 100 for k in range(200)]
    error = refused(other["other"], [1])
    assert error.code == "unsupported_type" and "FP128" in str(error)


def test_its_errors(other):
    error = refused(other["refuses"], [1])
    assert (error.code, str(error)) == ("resource_exhausted", "not now")
    error = refused(other["nobody"], [1])
    assert (error.code, str(error)) == ("not_found", "no 'nobody' \u00e4 100%")
    assert refused(other["lies"], [1]).code == "bad_result"
    assert same(other["packed"]([1.5]), numpy.array([1.5], "f4"))
    assert other.modules() == ["echo", "longer\x1b"]


def test_the_deadline(other):
    with farcall.Client(other.url, timeout=5) as short:
        assert refused(short["hangs"], [1]).code == "deadline_exceeded"


def test_tls(tmp_path):
    sys.path.append(str(ROOT / "tests/e2e"))
    from certificates import Authority
    authority = Authority(tmp_path)
    with started(*authority.sign("server")) as address:
        trust = grpc.ssl_channel_credentials(authority.file.read_bytes())
        with farcall.Client(f"grpcs://{address}", credentials=trust) as client:
            assert client["one"]("a") == b"a"
        with farcall.Client(f"grpcs://{address}") as client:
            assert refused(client["one"], "a").code == "unavailable"


# ---------------------------------------------------------------------------
# Messages

HEAD = b"\n\x011\x12\x04FP32\x1a\x01\x04"


def test_answers_that_are_none(client):
    """A broken or foreign server may send these answers. Each raises Error; nothing
    crashes."""
    known = client[f"{VERSIONS.stem}.mul4"]._model
    head = HEAD.replace(b"\x011", b"\x07output0")
    good = bytes([0x2a, len(head)]) + head + bytes([0x32, 16]) + bytes(16)
    assert _message.answer(known, good).tolist() == [0] * 4
    for bad in [b"", good[:-1], good[:20], b"\x0a", b"\x0b", 11 * b"\xff", b"\x28\x01",
                good.replace(b"FP32", b"FP99"), good.replace(b"output0", b"output1"),
                good.replace(b"\x1a\x01\x04", b"\x1a\x01\x05"), good + b"\x32\x00",
                good.replace(b"\x1a\x01\x04", b"\x1a\x01\xff"), b"\x32\x00"]:
        assert refused(_message.answer, known, bad).code == "bad_result"
        assert refused(_message.metadata, "m", b"\x22\x7f" + bad, "safe").code == "bad_result"
        assert refused(_message.names, b"\x0a\x7f" + bad).code == "bad_result"
        assert _message.pointer(b"\x1a\x7f" + bad) is None
    for size in range(len(good)):
        assert refused(_message.answer, known, good[:size]).code == "bad_result"


def test_numbers_of_both_kinds():
    """Packed numbers and single ones; negative numbers have ten bytes."""
    minus = b"\xff" * 9 + b"\x01"
    wanted = [1, -1, 300]
    packed = memoryview(b"\x01" + minus + b"\xac\x02")
    assert list(_message._numbers([packed])) == wanted
    assert list(_message._numbers([1, (1 << 64) - 1, 300])) == wanted
    assert list(_message._numbers([(1 << 64) - 1], False)) == [(1 << 64) - 1]

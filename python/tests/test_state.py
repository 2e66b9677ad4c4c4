# SPDX-License-Identifier: Apache-2.0
"""Values that stay between calls: in this process, and in sessions of a server."""
import asyncio
import concurrent.futures
import json
import os
import pickle
import shutil

import farcall
import httpx
import numpy
import pytest

from conftest import BUILD, ROOT

NATIVE = BUILD / "tests/modules/native"
SIZE = 1 << 14  # elements: results of so many stay where they are, if they may


def write(path, functions):
    path.with_suffix(".farcall.json").write_text(
        json.dumps({"farcall": 1, "functions": functions}))
    return path


@pytest.fixture
def roles(tmp_path):
    """bump(x, cache) adds x to the cache, and returns x times the new cache."""
    return shutil.copy(ROOT / "tests/corpus/iree/roles/roles.vmfb", tmp_path / "roles.vmfb")


@pytest.fixture
def kept(tmp_path):
    """bump(x), whose cache is state."""
    path = tmp_path / "kept.vmfb"
    shutil.copy(ROOT / "tests/corpus/iree/roles/roles.vmfb", path)
    path.with_suffix(".farcall.json").write_text(json.dumps({
        "farcall": 1, "abi": "module", "functions": [{"name": "bump", "state": {
            "cache": {"argument": 1, "initial": "zeros", "shape": [4]}}}]}))
    return path


@pytest.fixture
def axpy(tmp_path):
    """axpy(a, x) adds a times x to the state y. alias() returns y, in the state's own
    memory."""
    path = tmp_path / "axpy.so"
    shutil.copy(NATIVE / "owner.so", path)
    vector, y = {"type": "memref<?xf32>"}, {"initial": "zeros", "shape": [SIZE]}
    return write(path, [
        {"name": "axpy", "symbol": "_mlir_ciface_axpy", "cc": "ciface",
         "args": [{"type": "f32"}, vector, vector], "results": [],
         "state": {"y": {"argument": 2, **y}}},
        {"name": "alias", "symbol": "_mlir_ciface_alias_arg", "cc": "ciface",
         "args": [vector], "results": [vector], "state": {"y": {"argument": 0, **y}}}])


def inputs(count):
    return numpy.random.default_rng(7).standard_normal((count, 4)).astype("f4")


def test_values_stay(kept):
    m, cache = farcall.load(kept), numpy.zeros(4, "f4")
    assert [each.shape for each in m.bump.inputs] == [(4,)]
    with m.state() as state, m.state() as other:
        for x in inputs(20):
            cache += x
            assert numpy.array_equal(state.bump(x), cache * x)
            assert numpy.array_equal(m.bump(x), x * x)  # a fresh one for that call
        assert numpy.array_equal(state["cache"], cache)
        assert state.bytes == 4096 and other.bytes == 0
        with pytest.raises(farcall.Error) as caught:
            other["cache"]
        assert caught.value.code == "reference_unknown"
        mine = state["cache"]
        mine += 1  # a copy
        assert numpy.array_equal(state["cache"], cache)
        state.reset()
        assert state.bytes == 0
        assert numpy.array_equal(state.functions["bump"](x), x * x)
        with pytest.raises(farcall.ArgumentTypeError):
            state.bump()
        with pytest.raises(AttributeError):
            state.nothing
    for use in (lambda: state.bump(x), lambda: state["cache"], state.reset):
        with pytest.raises(ValueError, match="the state is closed"):
            use()
    state.close()


def test_one_name_is_one_value(axpy):
    x = numpy.arange(SIZE, dtype="f4")
    with farcall.load(axpy) as m, m.state() as state:
        assert state.axpy(2, x) is None
        y = state.alias()
        state.axpy(1, x)
        # A result in the state's memory is copied, so no later call changes it.
        assert numpy.array_equal(y, 2 * x) and y.flags.writeable
        assert numpy.array_equal(state["y"], 3 * x)
        assert numpy.array_equal(state.alias(), 3 * x)
        first = state.alias()
    assert numpy.array_equal(first, 3 * x) and numpy.array_equal(y, 2 * x)
    with pytest.raises(ValueError, match="is closed"):
        state.alias()


def test_what_a_state_is_not_for(kept, axpy):
    m, other = farcall.load(kept), farcall.load(axpy)
    for size in 0, -1, 1 << 64:
        with pytest.raises(ValueError):
            m.state(max_bytes=size)
    with pytest.raises(TypeError):
        pickle.dumps(m.state())
    with pytest.raises(farcall.Error) as caught:
        other.state(max_bytes=4096).axpy(1, numpy.ones(SIZE, "f4"))
    assert caught.value.code == "out_of_memory"
    with pytest.raises(ValueError, match="another module's"):
        m.bump.call_with(farcall._farcall.State(other._core, 4096), ([1] * 4,), {})
    with pytest.raises(TypeError):
        farcall.load(kept).bump(farcall.Ref("cache"))
    m.close()
    with pytest.raises(ValueError, match="the module is closed"):
        m.state()


def test_threads_take_turns(kept):
    with farcall.load(kept).state() as state, \
            concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: state.bump([1] * 4), range(400)))
        assert sorted(each[0] for each in results) == list(range(1, 401))
        assert state["cache"].tolist() == [400] * 4


def test_a_fork_has_no_state(kept):
    """A forked process cannot use the state: it would write to its parent's memory."""
    with farcall.load(kept).state() as state:
        state.bump([1] * 4)
        child = os.fork()
        if not child:
            refused = 0
            for use in (lambda: state.bump([1] * 4), lambda: state["cache"], state.reset):
                try:
                    use()
                except ValueError as error:
                    refused += str(error) == "the state is another process's"
            state.close()
            os._exit(0 if refused == 3 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert state.bump([1] * 4).tolist() == [2] * 4


def test_a_call_within_a_call(kept):
    """An argument that calls a function with the same state while it is read."""
    with farcall.load(kept).state() as state:
        class Asks:
            def __array__(self, dtype=None, copy=None):
                return state.bump([1] * 4)
        assert state.bump(Asks()).tolist() == [2] * 4  # 1 + 1, times 1


@pytest.fixture(params=["thread", "process"])
def serve(request):
    servers = []

    def start(*files, options=()):
        servers.append(farcall.serve(
            *files, options=[f"--isolation={request.param}", *options]))
        return servers[-1]
    yield start
    for each in servers:
        each.stop()


def test_sessions_have_the_same_bits(serve, kept):
    xs = inputs(30)
    with farcall.load(kept).state() as state:
        wanted = [state.bump(x).tobytes() for x in xs]
    server = serve(kept)
    with server.client() as client, client.session("kept") as session:
        assert [session.bump(x).tobytes() for x in xs] == wanted

    async def calls():
        async with server.async_client() as client, client.session("kept") as session:
            return [(await session.bump(x)).tobytes() for x in xs]
    assert asyncio.run(calls()) == wanted


def test_a_session_keeps_opaque_references(serve, tmp_path):
    """What has no bytes is named as any value is."""
    for name in "stack.vmfb", "stack.farcall.json":
        shutil.copy(ROOT / "tests/corpus/iree/references" / name, tmp_path / name)
    server = serve(tmp_path / "stack.vmfb")
    with server.client() as client, client.session("stack") as session:
        ref = session.make(keep={0: "h"})
        assert ref == session["h"] and ref.type.kind == "opaque"
        assert [session.push(ref, x) for x in (3, 4, 5)] == [1, 2, 3]
        assert session.sum(h=session["h"]) == 12
        with pytest.raises(farcall.Error) as refused:
            session.get("h")
        assert refused.value.code == "type_mismatch"


def test_a_session_and_its_values(serve, roles):
    x, cache = numpy.array([1, 2, 3, 4], "f4"), numpy.ones(4, "f4")
    server = serve(roles)
    with server.client() as client:
        with client.session("roles", ttl=60, max_bytes=1 << 20) as session:
            made = session.describe()
            assert (made["ttl_ms"], made["max_bytes"], made["step"]) == (60000, 1 << 20, 0)
            assert "checkpoint" not in made
            product, ref = session.bump(x, cache, keep={1: "c"}, step=0)
            cache = cache + x
            assert numpy.array_equal(product, cache * x)
            assert ref == session["c"] == farcall.Ref("c")
            assert str(ref.type) == "tensor<4xf32>"
            for step in range(1, 5):
                product, ref = session.bump(x, ref, step=step)
                cache = cache + x
                assert numpy.array_equal(product, cache * x)
            fork = session.fork()
            assert session.describe()["values"] == fork.describe()["values"]
            assert numpy.array_equal(fork.bump(x, fork["c"])[0], (cache + x) * x)
            assert numpy.array_equal(session.bump(x, ref)[0], (cache + x) * x)
            again = pickle.loads(pickle.dumps(session.functions["bump"]))
            assert numpy.array_equal(again(x, ref)[0], (cache + 2 * x) * x)
            other = client.session("roles", id=session.id)
            assert other.describe()["step"] == 7
            session.remove("c")
            assert session.describe()["values"] == {}
            fork.reset()
            assert fork.describe()["values"] == {}
            fork.end()
        with pytest.raises(KeyError):  # its block has ended
            other.describe()


def test_values_are_read_and_put(serve, roles):
    rng = numpy.random.default_rng(3)
    values = [rng.standard_normal((5, 7, 3)).astype("f4"), numpy.arange(6).reshape(2, 3),
              numpy.zeros((0, 3), "f2"), numpy.array([[True], [False]]), b"bytes\0",
              numpy.float64(2.5), rng.standard_normal(100_000).astype("f8")]
    server = serve(roles)
    with server.client() as client, client.session("roles") as session:
        for value in values:
            ref = session.put("v", value)
            assert ref == session["v"]
            got = session.get("v")
            if isinstance(value, bytes):
                assert got == value
                continue
            got = numpy.asarray(got)
            assert (got.dtype, got.shape) == (value.dtype, value.shape)
            assert got.tobytes() == value.tobytes()
        session.put("v", values[0])
        assert numpy.array_equal(session.get("v", "2,0:4"), values[0][2:3, 0:4])
        cache = session.put("c", numpy.ones(4, "f4"))
        copy = session.put("d", cache)
        session.bump([1, 2, 3, 4], cache)
        assert session.get("c").tolist() == [2, 3, 4, 5]
        assert session.get("d").tolist() == [1] * 4
        assert session.bump([0] * 4, copy)[0].tolist() == [0] * 4
        got = session.get("c")
        got += 1  # nobody else's
        with client.session("roles", data=session.export()) as other:
            assert other.describe()["values"] == session.describe()["values"]
            assert other.get("v").tobytes() == values[0].tobytes()
        for use, code in [
                (lambda: session.get("none"), "reference_unknown"),
                (lambda: session.put("c", 1), "untyped_value"),
                (lambda: session.get("v", "9"), "unknown_field"),
                (lambda: session.put("c", numpy.ones(1), if_absent=True), "precondition_failed"),
                (lambda: session.put("a/b", numpy.ones(1)), "json_schema"),
                (lambda: client.session("roles", data=b"no file"), "binary_framing")]:
            with pytest.raises(farcall.Error) as caught:
                use()
            assert caught.value.code == code, caught.value
        with client.session("roles", data=session.export(), ttl=60, max_bytes=1 << 20,
                            checkpoint=True) as other:
            made = other.describe()
            assert (made["ttl_ms"], made["max_bytes"], made["checkpoint"]) == (
                60000, 1 << 20, True)
            assert made["values"] == session.describe()["values"]

    async def use():
        async with server.async_client() as client, client.session("roles") as session:
            ref = await session.put("c", numpy.ones(4, "f4"))
            await session.bump([1, 2, 3, 4], ref)
            async with client.session("roles", data=await session.export()) as other:
                return await other.get("c", "1:")
    assert asyncio.run(use()).tolist() == [3, 4, 5]


REFUSED = [  # arguments, keyword arguments, code, what Python calls it
    (([1] * 4, farcall.Ref("d")), {}, "reference_unknown", TypeError),
    (([1] * 4, farcall.Ref("c")), {"keep": {0: "c"}, "if_absent": True},
     "precondition_failed", farcall.Error),
    (([1] * 4, [1] * 4), {"keep": {0: "a/b"}}, "json_schema", farcall.Error),
    (([1] * 4, [1] * 4), {"keep": {9: "c"}}, "out_of_range", ValueError),
    (([1] * 4, [1] * 4), {"keep": {"none": "c"}}, "unknown_key", ValueError),
    (([1] * 4, farcall.Ref("c")), {"step": 0}, "session_busy", farcall.Error),
    (([1] * 3, farcall.Ref("c")), {}, "shape_mismatch", ValueError),
]


def test_what_sessions_refuse(serve, roles):
    server = serve(roles)
    with server.client() as client:
        with client.session("roles") as session:
            session.bump([1] * 4, [1] * 4, keep={1: "c"})
            for args, kwargs, code, kind in REFUSED:
                with pytest.raises(kind) as caught:
                    session.bump(*args, **kwargs)
                assert caught.value.code == code, caught.value
            assert session.describe()["step"] == 1
            assert not hasattr(session.bump, "iterate")
            with pytest.raises(TypeError):  # a call without a session has no values
                client["roles"].bump([1] * 4, session["c"])
            session.end()  # so the block has nothing to end
        for use in (session.describe, session.fork, lambda: session.bump([1] * 4, [1] * 4)):
            with pytest.raises(farcall.NameUnknownError) as caught:
                use()
            assert (caught.value.code, caught.value.http_status) == ("session_not_found", 404)
        with pytest.raises(farcall.NameUnknownError):
            client.session("nobody")
        with pytest.raises(ZeroDivisionError):
            with client.session("roles") as session:
                1 // 0
        with pytest.raises(KeyError):
            session.describe()


def test_a_session_that_is_lost():
    with farcall.serve(NATIVE / "crash.so",
                       options=["--isolation=process", "--crash-limit=0"]) as server:
        with server.client() as client, client.session("crash") as session:
            assert session.add(1, 2) == 3
            with pytest.raises(farcall.Error) as caught:
                session.stop(11)
            assert caught.value.code == "worker_crashed"
            for use in (session.describe, session.fork, lambda: session.add(1, 2)):
                with pytest.raises(farcall.Error) as caught:
                    use()
                assert (caught.value.code, caught.value.http_status) == ("session_lost", 410)


def test_what_went_wrong_is_said():
    """If the `with` block cannot end its session, the exception that left the block is
    raised."""
    signature = {"functions": []}

    def answer(request):
        if request.method == "DELETE":
            raise httpx.ConnectError("gone")
        return httpx.Response(200, json=signature) if request.method == "GET" else \
            httpx.Response(201, json={"session": "0" * 32})
    transport = httpx.MockTransport(answer)
    client = farcall.Client("http://other", transport=transport)
    with pytest.raises(httpx.ConnectError), client.session("m"):
        pass
    with pytest.raises(ZeroDivisionError), client.session("m"):
        1 // 0

    async def block(wrong):
        async with farcall.AsyncClient("http://other", transport=transport) as other:
            async with other.session("m"):
                1 // wrong
    for wrong, error in (1, httpx.ConnectError), (0, ZeroDivisionError):
        with pytest.raises(error):
            asyncio.run(block(wrong))


def test_sessions_of_asyncio(serve, roles):
    x = numpy.array([1, 2, 3, 4], "f4")
    server = serve(roles)

    async def use():
        async with server.async_client() as client:
            async with client.session("roles", ttl=60, checkpoint=True) as session:
                assert (await session.describe())["checkpoint"] is True
                await session.bump(x, x, keep={1: "c"})
                fork = await session.fork()
                products = await asyncio.gather(*(
                    each.bump(x, each["c"]) for each in (session, session, fork, fork)))
                assert sorted(tuple(each[0]) for each in products) == sorted(
                    tuple(x * x * k) for k in (3, 4, 3, 4))
                assert (await session.describe())["step"] == 3
                await session.remove("c")
                await fork.reset()
                assert (await session.describe())["values"] == {}
                await fork.end()
                with pytest.raises(TypeError):
                    pickle.dumps(session)
            with pytest.raises(farcall.NameUnknownError):
                await session.describe()
            session = await client.session("roles")
            async with session:
                await session.end()
    asyncio.run(use())

# SPDX-License-Identifier: Apache-2.0
"""Examples of a module: they are the same in this process, with a server, and with
asyncio. Each is also sent as the server writes it.
"""
import asyncio
import html
import json
import math
import re
import shutil

import farcall
import httpx
import numpy
import pytest
from farcall import _example
from farcall._structure import Signature

from conftest import EXAMPLES, HALF, SCALARS, VERSIONS

F32 = numpy.float32


def f32(*values):
    return numpy.array(values, F32)


BITS = "AAAAAAAAgD8BAMB/AAAAQA=="  # 0, 1, a NaN of its own, 2
# (module, function, name, its form in the sidecar, the arguments)
ROWS = [
    (VERSIONS, "mul4", "odd ones", {"args": [["NaN", "-Infinity", 0.5, 1], [1, 2, 3, 4]]},
     ((f32(math.nan, -math.inf, 0.5, 1), f32(1, 2, 3, 4)), {})),
    (VERSIONS, "mul4", "'typed' & <b>", {"args": [
        {"dtype": "float32", "shape": [4], "data": [1, "Infinity", 3, 1e-45]},
        {"dtype": "f32", "shape": [4], "b64": BITS}]},
     ((f32(1, math.inf, 3, 1e-45), numpy.array([0, 0x3f800000, 0x7fc00001, 0x40000000],
                                               numpy.uint32).view(F32)), {})),
    (VERSIONS, "matmul", "nothing", {"args": [
        {"dtype": "f32", "shape": [0, 2], "data": []}, [[1], [2]]]},
     ((numpy.empty((0, 2), F32), f32([1], [2])), {})),
    (VERSIONS, "mixed", "integers", {"args": [[-128, 1.0, 127], [1e3, -5],
                                              "9007199254740993", 0.1]},
     ((numpy.array([-128, 1, 127], numpy.int8), numpy.array([1000, -5], numpy.int16),
       9007199254740993, float(F32(0.1))), {})),
    (SCALARS, "pair", "by name", {"kwargs": {"b": 0.5, "a": 3}}, ((), {"a": 3, "b": 0.5})),
    (SCALARS, "swap", "a dict", {"args": [{"q": 2, "p": 1.5}]}, (({"p": 1.5, "q": 2},), {})),
    (SCALARS, "hyp", "no number", {"args": ["NaN", 1]}, ((math.nan, 1.0), {})),
    (HALF, "twice", "halves", {"args": [[0.1, 65504], {"shape": [2], "dtype": "bf16",
                                                      "data": [0.1, "-Infinity"]}]},
     ((numpy.array([0.1, 65504], "f2"),
       numpy.array([0.1, -math.inf]).astype(farcall.dtype("bf16"))), {})),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The modules, each with its rows in a sidecar."""
    folder, found = tmp_path_factory.mktemp("shown"), {}
    for source in dict.fromkeys(row[0] for row in ROWS):
        found[source] = folder / f"{source.stem.split('-')[0]}.vmfb"
        shutil.copy(source, found[source])
        examples = [{"function": function, "name": name, **call}
                    for module, function, name, call, _ in ROWS if module == source]
        found[source].with_suffix(".farcall.json").write_text(json.dumps(
            {"farcall": 1, "abi": "module", "functions": [], "examples": examples}))
    return found


@pytest.fixture(scope="module")
def server(files):
    with farcall.serve(*files.values()) as running:
        yield running


@pytest.fixture(params=["here", "there", "asyncio"])
def example(request, server):
    """(file, function, name) -> the example."""
    async def asked(file, function, name):
        async with server.async_client() as client:
            return await (await client.module(file.stem))[function].example(name)
    return {"here": lambda file, function, name: farcall.load(file)[function].example(name),
            "there": lambda file, function, name:
                server.client()[file.stem][function].example(name),
            "asyncio": lambda *what: asyncio.run(asked(*what))}[request.param]


def check(got, wanted):
    assert type(got) is type(wanted), (got, wanted)
    if isinstance(wanted, numpy.ndarray):
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        assert got.tobytes() == wanted.tobytes(), (got, wanted)
    elif isinstance(wanted, dict):
        assert got.keys() == wanted.keys()
        for key in wanted:
            check(got[key], wanted[key])
    elif isinstance(wanted, tuple):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted):
            check(one, other)
    else:
        assert got == wanted or got != got and wanted != wanted


def agree(value, written):
    """Compares a result with JSON: an f32 is the float nearest to the text in JSON."""
    if isinstance(value, dict):
        value, written = list(value.values()), list(written.values())
    if isinstance(value, list):
        assert len(value) == len(written)
        for one, other in zip(value, written):
            agree(one, other)
    elif isinstance(value, int):
        assert value == written
    else:
        kind = getattr(value, "dtype", F32)
        read = numpy.array(written, float).astype(kind).reshape(numpy.shape(value))
        assert numpy.array_equal(numpy.asarray(value, kind), read, equal_nan=True)


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_what_a_module_shows(files, server, example, row):
    source, function, name, _, (args, kwargs) = ROWS[row]
    got = example(files[source], function, name)
    assert type(got) is farcall.Example
    check(tuple(got), (args, kwargs))
    # Sent unchanged, the example has the same result.
    path = f"{server.url}/api/v1/functions/{files[source].stem}/{function}"
    body = httpx.get(f"{path}/example", params={"name": name}).content
    sent = httpx.post(path, content=body, headers={"Content-Type": "application/json"})
    assert sent.status_code == 200, sent.text
    with server.client() as client:
        answer = client[files[source].stem][function](*got.args, **got.kwargs)
    answers = answer if isinstance(answer, tuple) else [answer]
    for one, other in zip(answers, sent.json()["results"], strict=True):
        agree(one, other)


@pytest.fixture(params=["here", "there"])
def load(request, files, server):
    if request.param == "here":
        return lambda source: farcall.load(files[source])
    return lambda source: server.client()[files[source].stem]


def test_their_names(load):
    module = load(VERSIONS)
    assert module.mul4.examples == ["odd ones", "'typed' & <b>"]
    assert module.next.examples == [] and "Examples" not in module.next.__doc__
    assert module.mul4.__doc__.endswith("""

Examples: 'odd ones', "'typed' & <b>\"""")
    shown = module.mul4._repr_html_()
    assert shown.count("<tr>") == 6 and "<b>" not in shown
    text = html.unescape(re.sub(r"<[^>]*>", " ", shown))
    assert ".example('odd ones')" in text and """.example("'typed' & <b>")""" in text


def test_the_first_and_what_stands_for_it(load):
    module = load(VERSIONS)
    check(tuple(module.mul4.example()), ROWS[0][4])
    assert module.next.example() == ((), {})
    assert module.fact.example() == ((), {"input0": 0})
    check(tuple(module.pair.example()), ((), {"a": 0, "b": 0.0}))


def test_a_name_that_there_is_not(load):
    for name, said in (("odd one", "there is no example 'odd one'; did you mean 'odd ones'?"),
                       ("\ud83d", "there is no example '?'; there are ")):
        with pytest.raises(KeyError) as caught:
            load(VERSIONS).mul4.example(name)
        assert caught.value.code == "unknown_field" and said in str(caught.value)
    with pytest.raises(farcall.NameUnknownError, match="the function has none"):
        load(VERSIONS).next.example("any")


def test_a_module_that_is_closed(files):
    module = farcall.load(files[VERSIONS])
    mul4 = module.mul4
    module.close()
    assert mul4.examples == ["odd ones", "'typed' & <b>"]
    with pytest.raises(ValueError, match="closed"):
        mul4.example()


def test_a_session_has_them(files, server):
    with server.client() as client, client.session(files[VERSIONS].stem) as session:
        check(tuple(session.mul4.example()), ROWS[0][4])

    async def asked():
        async with server.async_client() as client:
            async with client.session(files[VERSIONS].stem) as session:
                return await session.mul4.example("odd ones")
    check(tuple(asyncio.run(asked())), ROWS[0][4])


def test_a_state_has_them(files):
    module = farcall.load(files[VERSIONS])
    with module.state() as state:
        assert state.mul4.examples == module.mul4.examples
        check(tuple(state.mul4.example()), ROWS[0][4])


# (type of an argument, a value in a document, the value in Python)
VALUES = [
    ({"kind": "tensor", "dtype": "complex<f32>", "shape": [None]}, [[1, -2], ["NaN", 0]],
     numpy.array([1 - 2j, complex(math.nan, 0)], "c8")),
    ({"kind": "tensor", "dtype": "complex<f64>", "shape": []}, [1, 2], numpy.array(1 + 2j)),
    ({"kind": "scalar", "dtype": "complex<f32>"}, [0.5, 2], 0.5 + 2j),
    ({"kind": "tensor", "dtype": "i1", "shape": [3]}, [True, False, 1],
     numpy.array([True, False, True])),
    ({"kind": "scalar", "dtype": "i1"}, 1, True),
    ({"kind": "bytes", "encoding": "utf8"}, "é", "é"),
    ({"kind": "bytes", "encoding": "raw"}, {"b64": "/wA="}, b"\xff\0"),
    ({"kind": "bytes", "encoding": "i8"}, [-1, 255, 7], b"\xff\xff\x07"),
    ({"kind": "list", "items": {"kind": "scalar", "dtype": "ui64"}}, ["18446744073709551615"],
     [2**64 - 1]),
    ({"kind": "unknown"}, {"dtype": "f64", "shape": [2], "data": [0.1, 2]},
     numpy.array([0.1, 2])),
    ({"kind": "null"}, None, None),
]


def signature(node):
    return Signature({"name": "f", "text": "f", "callable": True, "results": [], "arguments": [
        {"name": "x", "keyword": True, "role": "in", "type": node}]}, "same_kind")


@pytest.mark.parametrize("row", range(len(VALUES)))
def test_values_of_each_type(row):
    node, written, value = VALUES[row]
    for document in ({"args": [written]}, {"args": [], "kwargs": {"x": written}}):
        got = _example.read(signature(node), json.dumps(document))
        check([*got.args, *got.kwargs.values()][0], value)


@pytest.mark.parametrize("text", [
    "", "[]", "7", '{"args":7}', '{"args":[[1,[2]]]}', '{"args":["x"]}', '{"args":[{}]}',
    '{"kwargs":{"y":1}}', '{"args":[{"shape":[3],"data":[1]}]}', '{"args":[[1e99]]}',
    '{"args":[{"shape":[1],"b64":"?"}]}', '{"args":[' + "[" * 9999 + "]" * 9999 + "]}"])
def test_documents_that_are_none(text):
    node = {"kind": "tensor", "dtype": "f32", "shape": [None]}
    with pytest.raises(farcall.Error):
        _example.read(signature(node), text)

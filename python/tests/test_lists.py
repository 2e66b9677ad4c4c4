# SPDX-License-Identifier: Apache-2.0
"""Lists of any length, here and over HTTP, and functions without results."""
import json

import farcall
import numpy
import pytest

ARRAYS = [numpy.arange(n, dtype=numpy.float32) for n in (3, 0, 17)]


@pytest.fixture(scope="module", params=["here", "there"])
def module(request, lists):
    if request.param == "here":
        yield farcall.load(lists)
        return
    with farcall.serve(lists) as server, server.client() as client:
        yield client["lists"]


def equal(got, wanted):
    return len(got) == len(wanted) and all(
        one.dtype == other.dtype and (one == other).all() and one.shape == other.shape
        for one, other in zip(got, wanted))


def test_arrays(module):
    assert equal(module.arrays(ARRAYS), ARRAYS)
    assert equal(module.arrays(l=[[0, 1, 2], [], range(17)]), ARRAYS[:1] + [
        numpy.zeros(0, numpy.float32), ARRAYS[2]])
    assert module.arrays([]) == []
    strided = [numpy.arange(10, dtype=numpy.float32)[::3]]
    assert equal(module.arrays(strided), strided)


def test_lists_stay_in_a_session(lists):
    with farcall.serve(lists) as server, server.client() as client, \
            client.session("lists") as s:
        kept = s.arrays(ARRAYS, keep={0: "l"})
        assert str(kept.type) == "list<unknown>" and equal(s.arrays(kept), ARRAYS)
        assert equal(s.anything(s["l"]), ARRAYS) and equal(s.get("l"), ARRAYS)
        s.records([{"n": 1, "x": 2}], keep={0: "r"})
        assert s.records(s["r"]) == [{"n": 1, "x": 2.0}]
        with pytest.raises(farcall.Error, match="expected a list") as caught:
            s.records(s["l"])
        assert caught.value.code == "type_mismatch"
        s.put("l", [b"x", [None, ARRAYS[2]]])
        text, (nothing, array) = s.anything(s["l"])
        assert (text, nothing) == (b"x", None) and equal([array], ARRAYS[2:])


def test_records(module):
    rows = [{"n": n, "x": n / 2} for n in range(-3, 9)]
    assert module.records(rows) == rows
    assert module.records([{"x": 1, "n": numpy.int32(7)}]) == [{"n": 7, "x": 1.0}]


def test_values_that_bring_their_types(module):
    values = [ARRAYS[0], None, b"bytes", [b"", [None, ARRAYS[2].astype("i8")]]]
    got = module.anything(values)
    assert equal(got[:1], ARRAYS[:1])
    assert got[1:3] == [None, b"bytes"] and got[3][0] == b"" and got[3][1][0] is None
    assert equal(got[3][1][1:], [ARRAYS[2].astype("i8")])


def test_large_arrays_outlive_the_call(module):
    large = [numpy.arange(8192, dtype=numpy.float32) + n for n in range(3)]
    kept = [(module.arrays(large), module.anything(large)) for _ in range(4)]
    del large
    for lists in kept:
        for got in lists:
            for n, each in enumerate(got):
                assert (each == numpy.arange(8192, dtype=numpy.float32) + n).all()


def test_nothing(module):
    assert module.nothing() is None


@pytest.mark.parametrize("name,value,code,pointer", [
    ("arrays", 5, "type_mismatch", "/l"),
    ("arrays", [ARRAYS[0], "x"], "type_mismatch", "/l/1"),
    ("arrays", [ARRAYS[0].astype("c8")], "dtype_mismatch", "/l/0"),
    ("arrays", [[[1]]], "shape_mismatch", "/l/0"),
    ("records", [{"n": 1}], "missing_key", "/0/0"),
    ("records", [{"n": 1 << 31, "x": 1}], "out_of_range", "/0/0/n"),
    ("records", [{"n": 1, "x": 1e40}], "out_of_range", "/0/0/x"),
    ("anything", [{"a": 1}], "untyped_value", None),
])
def test_refusals(module, name, value, code, pointer):
    with pytest.raises(farcall.Error) as caught:
        module[name](value)
    assert caught.value.code == code, caught.value
    assert pointer in (None, caught.value.pointer)


@pytest.mark.parametrize("depth", [100, 100_000])
def test_depth(module, depth):
    value = None
    for _ in range(depth):
        value = [value]
    with pytest.raises(farcall.Error, match="deeper than 32") as caught:
        module.anything(value)
    assert caught.value.code == "type_mismatch"


def test_strings_without_a_type(module):
    assert module.anything(["é", ["ü"]]) == ["é".encode(), ["ü".encode()]]
    with pytest.raises(farcall.Error, match="surrogate") as caught:
        module.anything([None, ["half of one: \ud83d"]])
    assert caught.value.code == "type_mismatch"
    assert caught.value.pointer.endswith("/1/0")


@pytest.fixture(scope="module", params=["here", "there"])
def texts(request, lists):
    """A module whose sidecar declares bytes as text."""
    path = lists.with_name("texts.vmfb")
    path.write_bytes(lists.read_bytes())
    text, raw = ({"kind": "bytes", "encoding": each} for each in ("utf8", "raw"))
    path.with_suffix(".farcall.json").write_text(json.dumps({
        "farcall": 1, "abi": "module", "functions": [
            {"name": "same", "arguments": [{"name": "t", "type": text}],
             "results": [{"type": text}]},
            {"name": "read", "arguments": [{"name": "b", "type": raw}],
             "results": [{"type": text}]}]}))
    if request.param == "here":
        yield farcall.load(path)
        return
    with farcall.serve(path) as server, server.client() as client:
        yield client["texts"]


def test_text(texts):
    for each in ("", "plain", "é ü 日本 \U0001f600", "a\0b", '"\\/\n'):
        assert texts.same(each) == each == texts.same(each.encode())
        assert texts.read(each.encode()) == each


@pytest.mark.parametrize("value", ["\udcff", "half \ud83d", b"\xff", b"ok \xc3"])
def test_what_is_no_text(texts, value):
    with pytest.raises(farcall.Error) as caught:
        texts.same(value)
    assert caught.value.code == "type_mismatch", caught.value
    assert caught.value.pointer == "/t"


def test_a_result_that_is_no_text(texts):
    with pytest.raises(farcall.Error) as caught:
        texts.read(b"ok \xff")
    assert caught.value.code == "bad_result", caught.value

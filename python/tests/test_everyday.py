# SPDX-License-Identifier: Apache-2.0
"""What people do first with arrays, errors, notebooks and pools of processes: the same in
this process and with a server.
"""
import asyncio
import copy
import errno
import gc
import html
import json
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import weakref

import farcall
import numpy
import pytest

from calls import X, Y, same
from conftest import EXAMPLES, ROOT, SCALARS, VERSIONS

F32 = numpy.float32
MATMUL = EXAMPLES / "matmul.vmfb"


@pytest.fixture(scope="module")
def server(tensor_so):
    with farcall.serve(VERSIONS, SCALARS, MATMUL, tensor_so) as running:
        yield running


@pytest.fixture(scope="module", params=["here", "there"])
def load(request, server, tensor_so):
    """Modules by the stem of their files."""
    files = {path.stem: path for path in (VERSIONS, SCALARS, MATMUL, tensor_so)}
    if request.param == "here":
        yield lambda path, **options: farcall.load(files[path.stem], **options)
        return
    yield lambda path, **options: server.client(**options)[path.stem]


# ---------------------------------------------------------------------------
# Errors


# (the code that fails, its exception in Python, the error code)
ERRORS = [
    (lambda m: m["mul5"], KeyError, "function_not_found"),
    (lambda m: m.mul4(X), TypeError, "missing_argument"),
    (lambda m: m.mul4(X, Y, Y), TypeError, "extra_argument"),
    (lambda m: m.mul4(X, z=Y), TypeError, "unknown_argument"),
    (lambda m: m.mul4(X, "abcd"), TypeError, "type_mismatch"),
    (lambda m: m.mul4(X, Y.astype(complex)), TypeError, "dtype_mismatch"),
    (lambda m: m.mul4(X, Y[:3]), ValueError, "shape_mismatch"),
    (lambda m: m.mul4(X, [1, 2, 3, 1e39]), ValueError, "out_of_range"),
]


@pytest.mark.parametrize("row", range(len(ERRORS)))
def test_errors_are_what_python_calls_them(load, row):
    call, kind, code = ERRORS[row]
    with pytest.raises(kind) as caught:
        call(load(VERSIONS))
    error = caught.value
    assert isinstance(error, farcall.Error) and error.code == code
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) == error.message
    assert (again.code, again.pointer) == (code, error.pointer)


def test_a_module_that_is_not_there(server, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        farcall.load(tmp_path / "none.vmfb")
    error = caught.value
    assert (error.code, error.errno, error.filename) == \
        ("module_path", errno.ENOENT, str(tmp_path / "none.vmfb"))
    assert "none.vmfb" in str(error) and isinstance(error, farcall.Error)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error) and str(again) == str(error)
        assert (again.code, again.errno, again.filename, again.args) == \
            (error.code, error.errno, error.filename, error.args)
    assert error.args[:2] == (error.message, "module_path")
    with pytest.raises(KeyError) as caught:
        server.client()["none"]
    assert caught.value.code == "module_not_found"


@pytest.mark.parametrize("kind", [
    farcall.Error, farcall.FileMissingError, farcall.NameUnknownError,
    farcall.ArgumentTypeError, farcall.ArgumentValueError])
def test_pickles_of_errors(kind):
    error = kind("words", "internal", "/a", "one", "other", 500)
    error.add_note("a note")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and again.args == error.args and len(again.args) == 6
    assert vars(again) == vars(error) and str(again) == "words"


def test_other_errors_are_no_kind_of_pythons(tmp_path):
    (tmp_path / "m.vmfb").write_bytes(b"no module")
    with pytest.raises(farcall.Error) as caught:
        farcall.load(tmp_path / "m.vmfb")
    assert type(caught.value) is farcall.Error


def test_a_refusal_names_the_argument_and_the_remedy(load):
    with pytest.raises(farcall.Error) as caught:
        load(MATMUL).matmul(a=numpy.zeros((2, 2), complex), b=[[1]])
    assert str(caught.value) == \
        "argument 'a': elements of complex128, the function takes f32"
    assert (caught.value.pointer, caught.value.expected, caught.value.got) == \
        ("/a", "f32", "complex128")
    with pytest.raises(farcall.Error, match=r": astype\('float32'\) makes them that$"):
        load(MATMUL, casting="no").matmul(a=numpy.zeros((2, 2)), b=[[1]])


# ---------------------------------------------------------------------------
# Casting


def test_strict_casting(load):
    strict = load(VERSIONS, casting="no")
    assert same(strict.mul4(X, Y), X * Y) and same(strict.mul4(X, [1, 1, 1, 1]), X)
    for given in (Y.astype(float), numpy.array([1, 2, 3, 4]), Y.astype("f2")):
        with pytest.raises(farcall.Error, match=given.dtype.name) as caught:
            strict.mul4(X, given)
        assert caught.value.code == "dtype_mismatch"
    safe = load(VERSIONS, casting="safe")
    assert same(safe.mul4(X, Y.astype("f2")), X * Y.astype("f2").astype(F32))
    with pytest.raises(farcall.Error, match="float64"):
        safe.mul4(X, Y.astype(float))
    with pytest.raises(ValueError, match="'unsafe' is none of no, equiv, safe"):
        load(VERSIONS, casting="unsafe")


def test_the_callers_array_is_not_changed(load):
    given = numpy.array([1, 2, 3, 4.0])
    load(VERSIONS).mul4(given, given)
    assert given.dtype == float and given.tolist() == [1, 2, 3, 4]


# ---------------------------------------------------------------------------
# Results


def test_results_with_names(load):
    got = load(type(VERSIONS)("tensor")).stats(numpy.array([1, 2, 3, 4], F32))
    names = [each.name for each in load(type(VERSIONS)("tensor")).stats.outputs]
    assert list(got._fields) == [name or f"_{at}" for at, name in enumerate(names)] \
        if any(names) else type(got) is tuple
    assert got[0] == 10 and got[1].tolist() == [1, 4, 9, 16]


NAMED = """
func.func @divide(%a: i32, %b: i32)
    -> (i32 {farcall.name = "quotient"}, i32 {farcall.name = "class"}, i32) {
  %q = arith.divsi %a, %b : i32
  %r = arith.remsi %a, %b : i32
  return %q, %r, %a : i32, i32, i32
}
"""


@pytest.fixture(scope="module")
def named_so(tmp_path_factory):
    folder = tmp_path_factory.mktemp("named")
    (folder / "named.mlir").write_text(NAMED)
    done = subprocess.run([farcall.program("farcall"), "compile", "named.mlir"],
                          cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder / "named.so"


def test_named_results(named_so):
    with farcall.serve(named_so) as server, server.client() as client:
        for divide in (farcall.load(named_so).divide, client["named"].divide):
            got = divide(17, 5)
            # A keyword of Python, or a missing name, becomes `_` and the number.
            assert got == (3, 2, 17) and got._fields == ("quotient", "_1", "_2")
            assert got.quotient == 3 and isinstance(got, tuple)
            again = pickle.loads(pickle.dumps(got))
            assert again == got and again.quotient == 3


# (names of results, names in the tuple). Python's parser normalizes names to NFKC.
NAMES = [
    (("a", "a"), ("a", "_1")),
    (("\ufb01", "x"), ("fi", "x")),
    (("\ufb01", "fi"), ("fi", "_1")),
    (("\uff43lass", "_x", "", "1"), ("_0", "_1", "_2", "_3")),
    (("\u212b", "\u00c5", "A\u030a"), ("\u00c5", "_1", "_2")),
]


@pytest.mark.parametrize("names, fields", NAMES)
def test_names_of_results(names, fields):
    from farcall._structure import results_of
    got = results_of(names)(range(len(names)))
    assert got._fields == fields
    assert [getattr(got, each) for each in fields] == list(range(len(names)))
    assert pickle.loads(pickle.dumps(got)) == got


# ---------------------------------------------------------------------------
# Modules


def test_what_a_function_takes_and_gives(load):
    matmul = load(MATMUL).matmul
    assert [(each.name, each.shape, each.dtype) for each in matmul.inputs] == \
        [(name, (None, None), numpy.dtype("f4")) for name in "ab"]
    assert [(each.shape, each.dtype) for each in matmul.outputs] == \
        [((None, None), numpy.dtype("f4"))]
    swap = load(SCALARS).swap
    assert [str(each) for each in swap.inputs] == ["x: dict<p: f32, q: i32>"]
    assert swap.inputs[0].dtype is None and swap.inputs[0].shape is None
    pair = load(SCALARS).pair
    assert [(each.name, each.shape, each.dtype.name) for each in pair.inputs] == \
        [("a", (), "int32"), ("b", (), "float32")]


def test_what_is_printed_is_short(load):
    module = load(SCALARS)
    assert repr(module.pair.inputs) == "[<a: i32>, <b: f32>]"
    assert repr(module.swap.inputs[0].type) == "<type dict<p: f32, q: i32>>"
    with pytest.raises(KeyError) as caught:
        module["pairs"]
    assert str(caught.value) == "there is no function 'pairs'; did you mean 'pair'?"
    assert repr(farcall.load(MATMUL).functions) == "<functions matmul>"


def test_dir_is_what_a_caller_uses(load):
    names = dir(load(SCALARS))
    assert not [name for name in names if name.startswith("_")]
    assert {"fact", "swap", "functions", "name"} <= set(names)
    assert set(dir(farcall)) == {*farcall.__all__, "__version__"}


def test_notebooks(load):
    module = load(SCALARS)
    text = html.unescape(re.sub(r"<[^>]*>", " ", module._repr_html_()))
    for name in module:
        assert re.search(rf"\b{name}\b", text), text
    assert "<p: f32, q: i32>" not in module._repr_html_()  # escaped
    shown = module.swap._repr_html_()
    assert shown.count("<tr>") == 3 and "dict&lt;p: f32, q: i32&gt;" in shown


def test_close():
    with farcall.load(MATMUL) as module:
        matmul = module.matmul
        kept = matmul(numpy.ones((100, 1), F32), numpy.ones((1, 100), F32))
    for call in (lambda: matmul([[1]], [[1]]), lambda: module.matmul([[1]], [[1]])):
        with pytest.raises(ValueError, match="closed"):
            call()
    assert kept.sum() == 10000 and module.name == "matmul"
    del kept
    gc.collect()
    module.close()
    fresh = farcall.load(SCALARS)
    fresh.close()
    with pytest.raises(ValueError, match="closed"):
        fresh["fact"]
    with pytest.raises(AttributeError, match="closed"):
        fresh.fact
    assert not hasattr(fresh, "fact") and getattr(fresh, "hyp", None) is None
    assert "fact" in fresh and "fact" in dir(fresh) and "fact" in repr(fresh)
    shown = fresh._repr_html_()
    assert "closed" in shown and "fact" in shown
    assert "closed" not in farcall.load(SCALARS)._repr_html_()
    assert same(farcall.load(MATMUL).matmul([[2]], [[3]]), numpy.array([[6]], F32))


def test_close_while_a_call_runs():
    import threading
    module = farcall.load(MATMUL)
    a = numpy.ones((200, 200), F32)
    matmul, answers = module.matmul, []

    def call():
        try:
            while True:
                answers.append(matmul(a, a)[0, 0])
        except ValueError as error:
            answers.append(str(error))
    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    while not answers:
        threads[0].join(0.01)
    module.close()
    for thread in threads:
        thread.join()
    assert answers.count("the module is closed") == 3
    assert set(answers) == {200.0, "the module is closed"}


def test_bytes(tmp_path):
    data = MATMUL.read_bytes()
    for given in (data, bytearray(data), memoryview(data)):
        module = farcall.load(given, name="product")
        assert (module.name, module.path, repr(module)) == \
            ("product", "", "<module product: matmul>")
        assert module.sha256 == farcall.load(MATMUL).sha256
        assert same(module.matmul([[2]], [[3]]), numpy.array([[6]], F32))
    with pytest.raises(farcall.Error) as caught:
        farcall.load(b"no module", name="product")
    assert str(caught.value).startswith("product: not a module")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        farcall.load(data)
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before


ODD = ["", "x" * 1000, "\U0001f600" * 99, "é" * 125, "a/b", "half of one: \ud83d"]


@pytest.mark.parametrize("row", range(len(ODD)))
def test_names_of_bytes(row):
    name = ODD[row]
    module = farcall.load(MATMUL.read_bytes(), name=name)
    assert module.name == name and module.matmul([[2]], [[3]]).tolist() == [[6]]


def test_a_name_with_a_zero():
    with pytest.raises(ValueError, match=r"name 'a\\x00b' has a zero byte"):
        farcall.load(MATMUL.read_bytes(), name="a\0b")


def test_native_bytes(tensor_so):
    module = farcall.load(tensor_so.read_bytes())
    assert module.kind == "native"
    assert same(module.identity([1, 2]), numpy.array([1, 2], F32))


# ---------------------------------------------------------------------------
# Pickles


def test_pickles(load, monkeypatch, tmp_path):
    module = load(SCALARS)
    monkeypatch.chdir(tmp_path)
    again, fact = pickle.loads(pickle.dumps((module, module.fact)))
    assert again.name == module.name and list(again) == list(module)
    assert again.fact(5) == fact(5) == 120
    assert copy.copy(module).fact(4) == copy.deepcopy(module.fact)(4) == 24


def test_copies_are_modules_of_their_own():
    module = farcall.load(SCALARS)
    for _ in range(2):
        with copy.copy(module) as other:
            assert other is not module and other.add_total(5) == 5
    total, next_total = copy.deepcopy((module.add_total, module.add_total))
    assert (total(5), next_total(7), module.add_total(1)) == (5, 12, 1)


def test_pickles_of_one_module_are_of_one_module():
    module = farcall.load(SCALARS)
    one, other = pickle.loads(pickle.dumps((module.add_total, module.add_total)))
    assert (one(5), other(7), module.add_total(1)) == (5, 12, 1)
    again, total = pickle.loads(pickle.dumps((module, module.add_total)))
    assert (again.add_total(5), total(7)) == (5, 12)
    total, again = pickle.loads(pickle.dumps((module.add_total, module)))
    assert (total(5), again.add_total(7)) == (5, 12)


def test_functions_of_one_pickle_are_of_one_module():
    """Functions of one pickle share a source. It is freed once both are gone."""
    module = farcall.load(VERSIONS)
    one, other = pickle.loads(pickle.dumps((module.mul4, module.next)))
    assert one._source is other._source is not module._source
    ended = weakref.ref(one._source)
    del one, other
    assert ended() is None


def test_a_pickle_of_a_path_from_elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    pickled = pickle.dumps(farcall.load("examples/iree/matmul.vmfb").matmul)
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(pickled)([[2]], [[3]]).tolist() == [[6]]


def test_a_pickle_of_a_file_that_is_another(tmp_path):
    path = tmp_path / "m.vmfb"
    path.write_bytes(MATMUL.read_bytes())
    pickled = pickle.dumps(farcall.load(path, casting="no"))
    with pytest.raises(TypeError):
        pickle.loads(pickled).matmul(numpy.ones((1, 1)), [[1]])  # options, too
    path.unlink()
    with pytest.raises(FileNotFoundError):
        pickle.loads(pickled)
    path.write_bytes(SCALARS.read_bytes())
    with pytest.raises(farcall.Error, match="that was pickled") as caught:
        pickle.loads(pickled)
    assert caught.value.code == "precondition_failed"


CONSTRUCTED = """
#include <stdio.h>
__attribute__((constructor)) static void run(void) {
  FILE *file = fopen(RAN, "w");
  if (file) fclose(file);
}
void _mlir_ciface_nothing(void) {}
"""
SIDECAR = {"farcall": 1, "abi": "mlir-memref", "functions": [
    {"name": "nothing", "symbol": "_mlir_ciface_nothing", "cc": "ciface", "args": [],
     "results": []}]}


def test_code_of_a_file_that_is_another_does_not_run(tensor_so, tmp_path):
    path, ran = tmp_path / "m.so", tmp_path / "ran"
    path.write_bytes(tensor_so.read_bytes())
    pickled = pickle.dumps(farcall.load(path))
    assert pickle.loads(pickled).identity([1, 2]).tolist() == [1, 2]
    (tmp_path / "m.c").write_text(CONSTRUCTED)
    path.unlink()
    subprocess.run(["cc", "-shared", "-fPIC", f'-DRAN="{ran}"', tmp_path / "m.c", "-o",
                    path], check=True, timeout=60)
    path.with_suffix(".farcall.json").write_text(json.dumps(SIDECAR))
    with pytest.raises(farcall.Error, match="that was pickled") as caught:
        pickle.loads(pickled)
    assert caught.value.code == "precondition_failed" and not ran.exists()
    again = pickle.loads(pickle.dumps(farcall.load(path)))
    assert ran.exists() and again.nothing() is None  # it is one that runs


def test_a_pickle_of_a_module_with_weights(monkeypatch, tmp_path):
    archive = ROOT / "tests/corpus/safetensors/data.safetensors"
    path = ROOT / "tests/corpus/iree/parameters/parameters-vmvx.vmfb"
    monkeypatch.chdir(archive.parent)
    odd = tmp_path / "a=b.safetensors"
    odd.write_bytes(archive.read_bytes())
    for parameters in (f"model={archive.name}", f"model={archive}", archive.name,
                       archive, odd, f"model={odd}", {"model": archive.name},
                       f"other={odd},model={archive.name}"):
        monkeypatch.chdir(archive.parent)
        module = farcall.load(path, parameters=parameters)
        wanted = module.dense(X.reshape(1, 4))
        pickled = pickle.dumps(module)
        monkeypatch.chdir(tmp_path)
        assert same(pickle.loads(pickled).dense(X.reshape(1, 4)), wanted), parameters
    for none in (None, "", {}):
        with pytest.raises(farcall.Error) as caught:
            farcall.load(path, parameters=none).dense(X.reshape(1, 4))
        assert "parameter" in str(caught.value)


def test_a_pickle_of_bytes():
    pickled = pickle.dumps(farcall.load(MATMUL.read_bytes(), name="product"))
    again = pickle.loads(pickled)
    assert again.name == "product" and again.matmul([[2]], [[3]]).tolist() == [[6]]


def test_pools_of_processes(load):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(load(SCALARS).fact, range(6)) == [1, 1, 2, 6, 24, 120]


def test_addresses(server):
    address = server.url.removeprefix("http://")
    with farcall.Client(address) as client:
        assert client.url == server.url and "matmul" in client.modules()
        with pickle.loads(pickle.dumps(client)) as again:
            assert again.url == server.url
            assert again["matmul"].matmul([[2]], [[3]]).tolist() == [[6]]


def test_async_functions_are_not_pickled(server):
    async def refused():
        async with server.async_client() as client:
            module = await client.module("matmul")
            for each, what in ((module, "module"), (module.matmul, "function")):
                with pytest.raises(TypeError, match=f"a {what} of an AsyncClient"):
                    pickle.dumps(each)
            return pickle.dumps(client)

    async def product(client):
        async with client:
            return await (await client.module("matmul")).matmul([[2]], [[3]])
    again = pickle.loads(asyncio.run(refused()))
    assert asyncio.run(product(again)).tolist() == [[6]]


def test_pandas_like(load):
    """An argument that has only __array__, with float64."""
    class Series:
        def __array__(self, dtype=None, copy=None):
            return X.astype(float)
    assert same(load(VERSIONS).mul4(Series(), Y), X * Y)


def test_no_process_of_the_tests_is_left_with_descriptors():
    code = f"""
import farcall, gc, os
before = len(os.listdir("/proc/self/fd"))
module = farcall.load(open({str(MATMUL)!r}, "rb").read())
del module
gc.collect()
assert len(os.listdir("/proc/self/fd")) == before
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

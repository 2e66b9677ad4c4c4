# SPDX-License-Identifier: Apache-2.0
"""Modules in this process, against NumPy."""
import array
import gc
import inspect
import json
import re
import shutil
import subprocess
import sys
import threading
import typing
import weakref

import farcall
from farcall import _structure
import ml_dtypes
import numpy
import pytest

from calls import A, B, CALLS, REFUSED, UNBOUND, X, Y, check_uncallable, same
from conftest import BUILD, EXAMPLES, HALF, RELEASES, ROOT, SCALARS, VERSIONS

F32 = numpy.float32


@pytest.fixture(scope="module")
def load():
    """Loads each file only once."""
    loaded = {}

    def one(path):
        if path not in loaded:
            loaded[path] = farcall.load(path)
        return loaded[path]
    return one


@pytest.mark.parametrize("row", range(len(CALLS)))
def test_calls(load, row):
    path, name, args, kwargs, wanted = CALLS[row]
    for _ in range(2):  # the second call reuses the first one's seat
        got = load(path)[name](*args, **kwargs)
        assert same(got, wanted), f"{name}: {got}"


@pytest.mark.parametrize("row", range(len(REFUSED)))
def test_refusals(load, row):
    path, name, args, code, words = REFUSED[row]
    with pytest.raises(farcall.Error) as caught:
        load(path)[name](*args)
    assert caught.value.code == code, caught.value
    for word in words:
        assert re.search(word, str(caught.value)), caught.value


def test_an_error_says_where(load):
    with pytest.raises(farcall.Error) as caught:
        load(SCALARS).swap({"p": 1.5, "q": 1 << 40})
    assert (caught.value.code, caught.value.pointer) == ("out_of_range", "/x/q")
    with pytest.raises(farcall.Error) as caught:
        load(VERSIONS).mul4(X, X[:3])
    assert (caught.value.code, caught.value.pointer) == ("shape_mismatch", "/input1")
    assert caught.value.http_status is None


def test_names(load):
    m = load(SCALARS)
    assert m.name == "scalars-3.13.0" and m.kind == "vm" and len(m.sha256) == 64
    assert set(m.functions) == {"fact", "pair", "swap", "add_total", "hyp", "divide"}
    assert m.fact is m["fact"] and "fact" in dir(m)
    with pytest.raises(AttributeError, match="fakt"):
        m.fakt
    with pytest.raises(farcall.Error) as caught:
        m["fakt"]
    assert caught.value.code == "function_not_found"


def test_functions_that_cannot_be_called(some_so):
    check_uncallable(farcall.load(some_so))


def test_signatures(load):
    pair = load(SCALARS).pair
    signature = inspect.signature(pair)
    assert list(signature.parameters) == ["a", "b"]
    assert signature.parameters["a"].annotation is int
    assert signature.parameters["b"].annotation is float
    assert signature.return_annotation is dict
    assert pair.__name__ == "pair" and pair.__doc__.startswith("pair(a: i32, b: f32)")
    matmul = inspect.signature(load(EXAMPLES / "matmul.vmfb").matmul)
    hint = matmul.return_annotation
    assert typing.get_args(hint) == (numpy.ndarray, "?x?xf32")
    signature.bind(1, b=2)


@pytest.mark.parametrize("names, shown", [
    (["a", "b"], ["a", "b"]),
    (["class", "b"], ["arg0", "arg1"]),
    (["a", "None"], ["arg0", "arg1"]),
    (["match"], ["match"]),  # a word in some places only
    (["a b"], ["arg0"]),
])
def test_names_that_are_pythons_words(names, shown):
    scalar = {"kind": "scalar", "dtype": "i32"}
    document = {"name": "f", "text": "f()", "callable": True, "results": [],
                "arguments": [{"name": name, "role": "in", "keyword": True,
                               "type": scalar} for name in names]}
    signature = _structure.Signature(document, "no")
    assert list(signature.python().parameters) == shown
    assert signature.bind((), dict.fromkeys(names, 1)) == [1] * len(names)


@pytest.mark.parametrize("row", range(len(UNBOUND)))
def test_names_of_arguments(load, row):
    path, name, args, kwargs, code, message, pointer = UNBOUND[row]
    with pytest.raises(farcall.Error) as caught:
        load(path)[name](*args, **kwargs)
    error = caught.value
    assert (error.code, str(error), error.pointer) == (code, message, pointer)


def test_a_name_that_is_no_text(load):
    with pytest.raises(farcall.Error) as caught:
        load(SCALARS).pair(1, **{"\ud83d": 2})
    assert caught.value.code == "unknown_argument" and str(caught.value).encode()


def test_modules_of_all_releases_in_one_process():
    files = sorted(RELEASES.glob("*.vmfb"))
    modules = {path.stem: farcall.load(path) for path in files}
    assert len(modules) == 60
    assert len({name.split("-")[1] for name in modules}) == 15
    for name, m in modules.items():
        if name.startswith("versions"):
            assert same(m.mul4(X, Y), X * Y), name
            assert same(m.matmul(A, B), A @ B), name
            assert [int(m.next()) for _ in range(3)] == [1, 2, 3], name
            assert m.pair(3, b=2.5) == {"a": 3, "b": 2.5}, name
        elif name.startswith("scalars"):
            assert m.fact(10) == 3628800, name
            assert m.swap({"p": 1.5, "q": 3}) == [3, 1.5], name
            assert [m.add_total(5), m.add_total(7)] == [5, 12], name
        else:
            h, b = m.twice(numpy.array([1.5, -2], numpy.float16), [0.5, 3])
            assert h.tolist() == [3, -4] and b.astype(F32).tolist() == [1, 6], name


def test_small_floats(load):
    twice = load(HALF).twice
    b = numpy.array([0.5, 3], ml_dtypes.bfloat16)
    h, got = twice(numpy.array([1.5, -2], numpy.float16), b)
    assert h.dtype == numpy.float16 and h.tolist() == [3, -4]
    assert got.dtype == ml_dtypes.bfloat16 and (got == b + b).all()
    with pytest.raises(farcall.Error, match="uint16"):
        twice(h, b.view(numpy.uint16))


def test_without_ml_dtypes_bfloat16_is_its_bits():
    code = f"""
import sys
sys.modules["ml_dtypes"] = None
import farcall, numpy
bits = (numpy.array([0.5, 3], "f4").view("u4") >> 16).astype("u2")
_, got = farcall.load({str(HALF)!r}).twice(numpy.zeros(2, "f2"), bits)
assert got.dtype == "u2" and (got.astype("u4") << 16).view("f4").tolist() == [1, 6]
try:
    farcall.load({str(HALF)!r}).twice([0, 0], [0, 0])
except farcall.Error as error:
    assert error.code == "unsupported_type", error
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# ---------------------------------------------------------------------------
# Memory


class FirstDlpack:
    """For consumers of the first version of DLPack, which cannot say "read-only"."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_results_stay(load):
    matmul = load(VERSIONS).matmul
    for n in (2, 100):
        a = numpy.random.default_rng(n).standard_normal((n, n)).astype(F32)
        eye = numpy.eye(n, dtype=F32)
        first = matmul(a, eye)
        assert first.ctypes.data % 64 == 0
        for k in range(5):
            matmul(eye * k, eye)
        assert (first == a).all()


def test_copies_are_writable_and_what_is_kept_is_not(load):
    """Memory of a result may be the module's own: a constant or a weight."""
    stateless, stateful = farcall.load(EXAMPLES / "matmul.vmfb"), load(VERSIONS)
    column, row = numpy.ones((100, 1), F32), numpy.ones((1, 100), F32)
    kept = [stateless.matmul(column, row) for _ in range(16)]
    copies = [stateless.matmul([[1]], [[1]]), stateful.matmul(column, row),
              stateless.matmul(column, row)]
    for result in copies:
        assert (numpy.from_dlpack(FirstDlpack(result)) == 1).all()
        result += 1
        assert (result == 2).all()
    for result in kept:
        assert not result.flags.writeable
        with pytest.raises(BufferError):
            result.__dlpack__()
        copy = numpy.require(result, requirements="W")
        assert (numpy.from_dlpack(FirstDlpack(copy)) == 1).all()
        assert numpy.require(copy, requirements="W") is copy


def test_large_results_are_not_copied():
    # A module with state would copy its results.
    m = farcall.load(EXAMPLES / "matmul.vmfb")
    column, row = numpy.ones((100, 1), F32), numpy.ones((1, 100), F32)
    kept = [m.matmul(column, row * k) for k in range(30)]
    assert m._core._leased == 16  # and the others are copies
    assert all((each == k).all() for k, each in enumerate(kept))
    del kept[3:]
    assert m._core._leased == 3
    view = kept[0][3:5, 2]
    kept.clear()
    assert m._core._leased == 1 and (view == 0).all()
    del view
    assert m._core._leased == 0


@pytest.mark.parametrize("repeat", [1, 10000])
def test_results_have_no_bits_above_their_width(tmp_path, repeat):
    # Compiled code has zeros above the width. Booleans may be any byte.
    functions = [{"name": name, "symbol": "_mlir_ciface_vector",
                  "args": [{"type": f"memref<?x{name}>"}],
                  "results": [{"type": f"memref<?x{name}>"}]}
                 for name in ["i4", "i1", "i8"]]
    shutil.copy(BUILD / "tests/modules/native/identity.so", tmp_path / "same.so")
    (tmp_path / "same.farcall.json").write_text(json.dumps(
        {"farcall": 1, "pure": True, "functions": functions}))
    m = farcall.load(tmp_path / "same.so")
    bytes_ = numpy.array([-1, 2, 3] * repeat, numpy.int8)
    assert numpy.array_equal(numpy.asarray(m.i4(bytes_)).astype(numpy.int8), bytes_)
    truth = m.i1(bytes_.view(numpy.bool_))
    assert truth.dtype == numpy.bool_ and (truth.view(numpy.uint8) == 1).all()
    assert m._core._leased == 0  # the next run writes to the memory of such results
    assert numpy.array_equal(m.i8(bytes_), bytes_)


def test_results_outlive_their_module():
    result = farcall.load(EXAMPLES / "matmul.vmfb").matmul(
        numpy.ones((80, 1), F32), numpy.ones((1, 80), F32))
    gc.collect()
    assert result.shape == (80, 80) and (result == 1).all()


def test_a_module_ends_with_its_last_user():
    m = farcall.load(EXAMPLES / "matmul.vmfb")
    ended = weakref.ref(m)
    function = m.matmul
    del m
    assert ended() is None  # at once, without the collector
    assert function([[2]], [[3]]) == [[6]]


def test_arguments_are_never_written_to(tensor_so):
    x = farcall.empty(4)
    x[:] = [1, 2, 3, 4]
    result, final = farcall.load(tensor_so).scale_inplace(x, 2)
    assert x.tolist() == [1, 2, 3, 4]
    assert result.tolist() == final.tolist() == [2, 4, 6, 8]


# Each function would work in place if its argument were its own memory.
TENSORS = """
func.func @neg(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.negf %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @product(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>,
                   %c: tensor<?x?xf32> {farcall.name = "into"}) -> tensor<?x?xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>)
      outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
func.func private @first(%x: tensor<?xf32>, %v: f32) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %0 = tensor.insert %v into %x[%c0] : tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @calls(%v: f32, %x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @first(%x, %v) : (tensor<?xf32>, f32) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @branches(%p: i1, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = scf.if %p -> tensor<?xf32> {
    scf.yield %x : tensor<?xf32>
  } else {
    scf.yield %y : tensor<?xf32>
  }
  %1 = arith.mulf %0, %0 : tensor<?xf32>
  return %1 : tensor<?xf32>
}
func.func @loops(%n: index, %x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> tensor<?xf32> {
    %u = arith.addf %t, %t : tensor<?xf32>
    scf.yield %u : tensor<?xf32>
  }
  return %0 : tensor<?xf32>
}
"""


@pytest.mark.parametrize("level", ["0", "2"])
def test_tensors_are_never_written_to(tmp_path, level):
    (tmp_path / "m.mlir").write_text(TENSORS)
    done = subprocess.run(
        [farcall.program("farcall"), "compile", "m.mlir", "--road=mlir", f"-O{level}"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stderr == ""
    m = farcall.load(tmp_path / "m.so")
    x, y, c = farcall.empty(4), farcall.empty(4), farcall.empty((2, 2))
    x[:], y[:], c[:] = [1, 2, 3, 4], [5, 6, 7, 8], [[1, 2], [3, 4]]
    for got, wanted in [
            (m.neg(x), [-1, -2, -3, -4]),
            (m.product(c, c, c), [[8, 12], [18, 26]]),  # one array in three places
            (m.calls(9, x), [9, 2, 3, 4]),
            (m.branches(True, x, y), [1, 4, 9, 16]),
            (m.branches(False, x, y), [25, 36, 49, 64]),
            (m.loops(3, x), [8, 16, 24, 32]),
            (m.loops(0, x), [1, 2, 3, 4])]:
        assert got.tolist() == wanted
        assert x.tolist() == [1, 2, 3, 4] and y.tolist() == [5, 6, 7, 8]
        assert c.tolist() == [[1, 2], [3, 4]]


def test_a_result_that_is_an_argument_is_a_copy(tensor_so):
    x = farcall.empty(8192)
    x[...] = 1
    got = farcall.load(tensor_so).identity(x)
    assert not numpy.shares_memory(got, x)
    x[...] = 2
    assert (got == 1).all()


def test_native_results(tensor_so):
    m = farcall.load(tensor_so)
    x = numpy.array([[1, 2, 3, 4]], F32)
    assert numpy.allclose(m.softmax(x), numpy.exp(x) / numpy.exp(x).sum(), 1e-6)
    total, squares = m.stats(numpy.array([1, 2, 3, 4], F32))
    assert total == 10.0 and squares.tolist() == [1, 4, 9, 16]


def test_aligned_arrays():
    for shape in [(), 3, (2, 3), (0, 4)]:
        x = farcall.empty(shape, numpy.int16)
        assert x.ctypes.data % 64 == 0 and x.flags.writeable and x.dtype == numpy.int16
        x[...] = 5
    odd = numpy.arange(33, dtype=F32)[1:]
    once = farcall.aligned(odd)
    assert (once == odd).all() and farcall.aligned(once) is once


# ---------------------------------------------------------------------------
# Objects that count as arrays


class Dlpack:
    """An object that has only the methods of the protocol."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_other_arrays(load):
    mul4 = load(VERSIONS).mul4
    wanted = X * Y
    big = X.astype(">f4")
    assert not big.dtype.isnative
    for given in (memoryview(X), array.array("f", X), Dlpack(X), big, X.tolist(),
                  numpy.ma.array(X), list(X)):
        assert same(mul4(given, Y), wanted), given
    assert same(numpy.from_dlpack(mul4(Dlpack(X), Y)), wanted)


def test_strides_of_parts_of_an_element(load):
    records = numpy.zeros(4, [("flag", "u1"), ("x", "f4")])
    records["x"] = X
    with pytest.raises(farcall.Error, match="multiples of their size"):
        load(VERSIONS).mul4(records["x"], Y)


@pytest.mark.parametrize("value", ["x", None, [], 2.0, object()])
def test_what_is_no_integer(load, value):
    with pytest.raises(farcall.Error) as caught:
        load(SCALARS).fact(value)
    assert caught.value.code == "type_mismatch" and caught.value.pointer == "/input0"


def test_an_argument_that_raises(load):
    class Bad:
        @property
        def __array__(self):
            raise RuntimeError("no array today")
    with pytest.raises(RuntimeError, match="today"):
        load(VERSIONS).mul4(Bad(), X)
    assert same(load(VERSIONS).mul4(X, Y), X * Y)


# ---------------------------------------------------------------------------
# Files


def test_files_that_are_none(tmp_path):
    for content, code in [(None, "module_path"), (b"", "module_path"),
                          (b"no module", None), (SCALARS.read_bytes()[:999], None)]:
        path = tmp_path / "m.vmfb"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(farcall.Error) as caught:
            farcall.load(path)
        assert code in (None, caught.value.code), caught.value


def test_machine_code_can_be_refused():
    with pytest.raises(farcall.Error):
        farcall.load(VERSIONS, native=False)
    farcall.load(SCALARS, native=False)


def test_what_is_written_into_an_argument_follows_the_results(tmp_path):
    path = tmp_path / "roles.vmfb"
    path.write_bytes((ROOT / "tests/corpus/iree/roles/roles.vmfb").read_bytes())
    path.with_suffix(".farcall.json").write_text(json.dumps({
        "farcall": 1, "functions": [
            {"name": "put", "args": [{}, {}, {"name": "cache", "role": "inout"}]}]}))
    x, cache = numpy.ones((1, 4), F32), numpy.zeros((3, 4), F32)
    results = farcall.load(path).put(numpy.array([1]), x, cache=cache)
    assert same(results[0], x)
    assert same(results[1], numpy.array([[0] * 4, [1] * 4, [0] * 4], F32))
    assert not cache.any()  # a client's own memory is never written into


def test_parameters():
    archive = ROOT / "tests/corpus/safetensors/data.safetensors"
    data = archive.read_bytes()
    size = int.from_bytes(data[:8], "little")
    w, b = ((numpy.frombuffer(data[8 + size:][slice(*entry["data_offsets"])], F32)
             .reshape(entry["shape"]))
            for entry in map(json.loads(data[8:8 + size]).get, "wb"))
    path = ROOT / "tests/corpus/iree/parameters/parameters-vmvx.vmfb"
    a = X.reshape(1, 4)
    for parameters in ({"model": archive}, f"model={archive}"):
        dense = farcall.load(path, parameters=parameters).dense
        assert same(dense(a), a @ w + b)
    with pytest.raises(farcall.Error):
        farcall.load(path).dense(a)


# ---------------------------------------------------------------------------
# Threads


def test_threads(load):
    """Each thread gets the answers to its own arguments."""
    matmul = load(VERSIONS).matmul
    add_total = farcall.load(SCALARS).add_total
    wrong = []

    def work(seed):
        random = numpy.random.default_rng(seed)
        for _ in range(20):
            n = int(random.integers(1, 70))
            a = random.integers(-9, 9, (n, n)).astype(F32)
            if not (matmul(a, a) == a @ a).all():
                wrong.append(n)
            add_total(1)
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert add_total(0) == 160  # the module's state is one, whoever calls


def test_others_run_while_a_call_does():
    m = farcall.load(EXAMPLES / "matmul.vmfb")
    a = numpy.ones((150, 150), F32)
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.0005):
            ticks.append(1)
    other = threading.Thread(target=tick)
    other.start()
    before = len(ticks)
    m.matmul(a, a)
    during = len(ticks) - before
    done.set()
    other.join()
    assert during > 3

# SPDX-License-Identifier: Apache-2.0
"""Integers of odd widths, numbers too large for a float, and the advice in refusals: in
this process and over HTTP, against NumPy.
"""
import subprocess

import farcall
import ml_dtypes
import numpy
import pytest

from conftest import HALF, VERSIONS

WIDTHS = [(9, "int16"), (24, "int32"), (48, "int64")]
DOUBLES = "".join(f"""
func.func @double{bits}(%a: tensor<?xi{bits}>) -> tensor<?xi{bits}> {{
  %0 = arith.addi %a, %a : tensor<?xi{bits}>
  return %0 : tensor<?xi{bits}>
}}
func.func @sum{bits}(%a: i{bits}, %b: i{bits}) -> i{bits} {{
  %0 = arith.addi %a, %b : i{bits}
  return %0 : i{bits}
}}
""" for bits, _ in WIDTHS) + """
func.func @wide(%x: f64) -> f64 {
  return %x : f64
}
func.func @pair(%x: complex<f64>) -> complex<f64> {
  return %x : complex<f64>
}
"""


@pytest.fixture(scope="module", params=["here", "there"])
def load(request, tmp_path_factory):
    """Modules by the stem of their files."""
    folder = tmp_path_factory.mktemp("numbers")
    (folder / "numbers.mlir").write_text(DOUBLES)
    done = subprocess.run([farcall.program("farcall"), "compile", "numbers.mlir",
                           "--road=mlir"],
                          cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    files = {path.stem: path for path in (folder / "numbers.so", HALF, VERSIONS)}
    if request.param == "here":
        yield lambda stem, **options: farcall.load(files[stem], **options)
        return
    with farcall.serve(*files.values()) as server:
        yield lambda stem, **options: server.client(**options)[stem]


@pytest.mark.parametrize("bits, name", WIDTHS)
def test_integers_of_odd_widths(load, bits, name):
    function = load("numbers")[f"double{bits}"]
    low, high = -2**(bits - 1), 2**(bits - 1) - 1
    values = [1, -2, 3, low, high]
    wanted = [(2 * each - low) % 2**bits + low for each in values]
    exact = numpy.array(values, name)
    for given in (values, exact, exact.astype("int64"), exact.astype(object).tolist(),
                  numpy.repeat(exact, 2)[::2]):
        got = function(given)
        assert got.dtype == name and got.tolist() == wanted, given
    many = numpy.resize(exact, 32768)  # a result that could stay where it is
    assert (function(many) == numpy.resize(numpy.array(wanted, name), 32768)).all()
    total = load("numbers")[f"sum{bits}"]
    assert [total(each, each) for each in values] == wanted
    for given in ([low - 1], numpy.array([high + 1], name), numpy.array([2.0**62])):
        with pytest.raises(farcall.Error) as caught:
            function(given)
        assert caught.value.code == (
            "dtype_mismatch" if numpy.asarray(given).dtype.kind == "f" else "out_of_range")


@pytest.mark.parametrize("name", [
    "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ", "f8E5M2", "f8E4M3",
    "f8E3M4", "f16", "bf16", "f32", "f64"])
def test_an_infinity_stays_one(name):
    from farcall import _arrays
    wanted = farcall.dtype(name)
    keeps = bool(numpy.isinf(numpy.array(numpy.inf).astype(wanted).astype("f4")))
    for source in ("f4", "f8", "longdouble"):
        for value in (numpy.inf, -numpy.inf):
            given = numpy.array([1, value], source)
            if given.dtype == wanted or keeps:
                got = _arrays.array_of(given, name, "0")[0].astype("f8")
                assert got.tolist() == [1, value]
                continue
            with pytest.raises(farcall.Error) as caught:
                _arrays.array_of(given, name, "0")
            assert caught.value.code == "out_of_range"
    nan, _ = _arrays.array_of([numpy.nan], name, "0")
    assert numpy.isnan(nan.astype("f8")).all()


def test_a_part_of_a_complex_that_becomes_infinite():
    from farcall import _arrays
    got, _ = _arrays.array_of([complex(1, numpy.inf)], "complex<f32>", "0")
    assert got.tolist() == [complex(1, numpy.inf)]
    with pytest.raises(farcall.Error) as caught:
        _arrays.array_of([complex(1e300, numpy.inf)], "complex<f32>", "0")
    assert caught.value.code == "out_of_range"


def test_scalars_beyond_a_double(load):
    huge = numpy.longdouble("1e4000")
    wide, pair = load("numbers").wide, load("numbers").pair

    class Endless:
        def __float__(self):
            return float("inf")
    if isinstance(wide, farcall.Function):
        assert wide(Endless()) == float("inf")
    for given in (float("inf"), numpy.float32("inf"), numpy.longdouble("-inf")):
        assert wide(given) == given
    for given in (complex(0, float("inf")), numpy.complex64(complex(float("inf"), 1))):
        assert pair(given) == given
    assert numpy.isnan(pair(complex("nan+infj")).real)
    for function, given in ((wide, huge), (wide, -huge),
                            (pair, numpy.clongdouble(huge)),
                            (pair, numpy.clongdouble(1j) * -huge)):
        with pytest.raises(farcall.Error) as caught:
            function(given)
        assert caught.value.code == "out_of_range"


# (elements of an array, the argument's type, casting, whether the message advises astype)
ADVICE = [
    ("f8", "mul4", "no", True),
    ("f2", "mul4", "no", True),
    ("i8", "mul4", "no", True),
    ("c8", "mul4", "same_kind", False),  # the imaginary part would be cut
    ("f4", "mixed", "same_kind", False),  # as what is after the point
    ("i8", "mixed", "no", False),  # what is beyond i8 would be wrapped
    ("?", "mixed", "no", True),
    ("u2", "twice", "same_kind", False),  # they may be its bits
    ("f4", "twice", "no", True),
]


@pytest.mark.parametrize("elements, name, casting, advised", ADVICE)
def test_advice_loses_nothing_unsaid(load, elements, name, casting, advised):
    given = numpy.ones(4, elements)
    arguments = {"mul4": (given, given), "mixed": (given[:3], [1, 2], 1, 1.0),
                 "twice": (numpy.zeros(2, "f2"), given[:2])}[name]
    stem = HALF.stem if name == "twice" else VERSIONS.stem
    with pytest.raises(farcall.Error) as caught:
        load(stem, casting=casting)[name](*arguments)
    message = str(caught.value)
    assert caught.value.code == "dtype_mismatch" and given.dtype.name in message
    assert ("astype" in message) == advised, message
    if advised and name == "twice":
        assert numpy.dtype(message.split("'")[-2]) == ml_dtypes.bfloat16

# SPDX-License-Identifier: Apache-2.0
"""Function calls in which processors differ: narrow integers and halves in registers
and on the stack, complex numbers when registers run out, results that C would return
in several float registers, and the bits above a narrow result. The functions are
MLIR; their results are computed here."""
import numpy
import pytest

from conftest import Server


def function(name, arguments, results, body, returned):
    taken = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(arguments))
    given = ", ".join(results)
    return (f"func.func @{name}({taken}) -> ({given}) {{\n{body}"
            f"  return {', '.join(returned)} : {given}\n}}\n")


def weigh(name, kinds):
    """A function of scalars that returns the sum of (i + 1) * argument i as f64."""
    body, total = "  %zero = arith.constant 0.0 : f64\n", "%zero"
    for i, kind in enumerate(kinds):
        if kind == "i1":
            body += f"  %w{i} = arith.uitofp %a{i} : i1 to f64\n"
        elif kind.startswith("i"):
            body += f"  %w{i} = arith.sitofp %a{i} : {kind} to f64\n"
        elif kind == "f64":
            body += f"  %zero{i} = arith.constant 0.0 : f64\n" \
                    f"  %w{i} = arith.addf %a{i}, %zero{i} : f64\n"
        elif kind.startswith("complex"):
            body += f"  %re{i} = complex.re %a{i} : {kind}\n" \
                    f"  %im{i} = complex.im %a{i} : {kind}\n" \
                    f"  %h{i} = arith.constant 100.0 : f32\n" \
                    f"  %hi{i} = arith.mulf %im{i}, %h{i} : f32\n" \
                    f"  %c{i} = arith.addf %re{i}, %hi{i} : f32\n" \
                    f"  %w{i} = arith.extf %c{i} : f32 to f64\n"
        else:
            body += f"  %w{i} = arith.extf %a{i} : {kind} to f64\n"
        body += f"  %k{i} = arith.constant {i + 1}.0 : f64\n" \
                f"  %p{i} = arith.mulf %w{i}, %k{i} : f64\n" \
                f"  %s{i} = arith.addf {total}, %p{i} : f64\n"
        total = f"%s{i}"
    return function(name, kinds, ["f64"], body, [total])


# More arguments than there are registers, of each kind and mixed.
WEIGHED = {
    "bytes": ["i8"] * 12,
    "shorts": ["i16"] * 11,
    "bits": ["i1"] * 13,
    "integers": ["i8", "i64", "i1", "i32", "i16"] * 3,
    "floats": ["f32"] * 11,
    "doubles": ["f64", "f32"] * 6,
    "halves": ["f16", "bf16"] * 6,
    "mixed": ["i8", "f16", "i32", "f64", "i1", "bf16", "f32"] * 3,
    "complex": ["complex<f32>"] * 3,
    # The real part is in the last register, the imaginary part on the stack.
    "split": ["f32"] * 7 + ["complex<f32>", "f32"],
}
NARROW = """
func.func @low8(%x: i32) -> i8 { %0 = arith.trunci %x : i32 to i8 return %0 : i8 }
func.func @low16(%x: i64) -> i16 { %0 = arith.trunci %x : i64 to i16 return %0 : i16 }
func.func @low1(%x: i32) -> i1 { %0 = arith.trunci %x : i32 to i1 return %0 : i1 }
func.func @half(%x: f32) -> f16 { %0 = arith.truncf %x : f32 to f16 return %0 : f16 }
func.func @brain(%x: f32) -> bf16 { %0 = arith.truncf %x : f32 to bf16 return %0 : bf16 }
func.func @sum8(%x: i8, %y: i8) -> i8 { %0 = arith.addi %x, %y : i8 return %0 : i8 }
func.func @less8(%x: i8, %y: i8) -> i1 {
  %0 = arith.cmpi slt, %x, %y : i8
  return %0 : i1
}
func.func @wide(%x: i32) -> (i8, f64, i1) {
  %0 = arith.trunci %x : i32 to i8
  %1 = arith.sitofp %x : i32 to f64
  %2 = arith.trunci %x : i32 to i1
  return %0, %1, %2 : i8, f64, i1
}
func.func @swap(%x: complex<f32>) -> complex<f32> {
  %0 = complex.re %x : complex<f32>
  %1 = complex.im %x : complex<f32>
  %2 = complex.create %1, %0 : complex<f32>
  return %2 : complex<f32>
}
func.func @amid(%a: i8, %m: memref<?xf32>, %b: i1, %n: memref<2xf64>, %c: i16, %d: f16,
                %e: i8, %f: i8, %g: i8) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = memref.load %m[%c1] : memref<?xf32>
  %1 = arith.extf %0 : f32 to f64
  %2 = memref.load %n[%c0] : memref<2xf64>
  %3 = arith.addf %1, %2 : f64
  %4 = arith.sitofp %g : i8 to f64
  %5 = arith.addf %3, %4 : f64
  %6 = arith.extf %d : f16 to f64
  %7 = arith.addf %5, %6 : f64
  %8 = arith.select %b, %7, %2 : f64
  return %8 : f64
}
"""


def alike(name, kind, count):
    """A function that returns its arguments. C returns up to four floats in registers,
    and larger structures through an address."""
    values = [f"%a{i}" for i in range(count)]
    return function(name, [kind] * count, [kind] * count, "", values)


ALIKE = {f"{kind}x{count}": (kind, count) for kind in ("f32", "f64", "f16", "bf16", "i8")
         for count in (2, 3, 4, 5)}
SOURCE = "".join([*(weigh(*each) for each in WEIGHED.items()),
                  *(alike(name, *each) for name, each in ALIKE.items()), NARROW])


@pytest.fixture(scope="module")
def served(farcall, tmp_path_factory):
    folder = tmp_path_factory.mktemp("registers")
    (folder / "registers.mlir").write_text(SOURCE)
    done = farcall("compile", "--road=mlir", folder / "registers.mlir", "-o",
                   folder / "registers.so")
    assert done.returncode == 0, done.stderr
    running = Server(folder / "registers.so")
    yield running
    assert running.stop() == 0, "".join(running.lines)


def value_of(kind, i):
    """An argument as JSON, and its value as a number."""
    if kind == "i1":
        return i % 3 != 1, float(i % 3 != 1)
    if kind.startswith("i"):
        value = -128 + 7 * i if i % 2 else 127 - i
        return value, float(value)
    if kind.startswith("complex"):
        return [0.5 + i, -0.25 * i], 0.5 + i - 25.0 * i
    value = (-1) ** i * (0.5 + i)  # all formats have it
    return value, value


@pytest.mark.parametrize("name", WEIGHED)
def test_arguments(served, name):
    values = [value_of(kind, i) for i, kind in enumerate(WEIGHED[name])]
    wanted = sum((i + 1) * weight for i, (_, weight) in enumerate(values))
    assert served.results(f"registers/{name}", [given for given, _ in values]) == [wanted]


@pytest.mark.parametrize("name", ALIKE)
def test_results(served, name):
    kind, count = ALIKE[name]
    values = [value_of(kind, i)[0] for i in range(count)]
    assert served.results(f"registers/{name}", values) == values


def test_what_is_above_a_narrow_result_is_cut_off(served):
    for function, arguments, wanted in [
            ("low8", [0x12345678], [0x78]), ("low8", [0x7fffff80], [-128]),
            ("low16", [0x7fffffff8000], [-32768]), ("low16", [0x1234567], [0x4567]),
            ("low1", [0x7ffffffe], [False]), ("low1", [0x7fffffff], [True]),
            ("sum8", [127, 127], [-2]), ("sum8", [-128, -128], [0]),
            ("less8", [-1, 1], [True]), ("less8", [1, -1], [False]),
            ("wide", [0x7fffff81], [-127, float(0x7fffff81), True]),
            ("swap", [[1.5, -2.5]], [[-2.5, 1.5]]),
            ("amid", [1, [1, 2.5], True, [4, 5], 6, 0.25, 7, 8, -9], [-2.25]),
            ("amid", [1, [1, 2.5], False, [4, 5], 6, 0.25, 7, 8, -9], [4.0])]:
        assert served.results(f"registers/{function}", arguments) == wanted, function


def brain(value):
    """The bits of the nearest bf16."""
    bits = int(numpy.float32(value).view(numpy.uint32))
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16


def test_halves_are_rounded_to_the_nearest(served):
    for given in (1 / 3, 65519.0, 1e-7, -3.14159, 1.0009765625):
        half = float(numpy.float16(given))
        got, = served.results("registers/half", [given])
        assert numpy.float16(got) == numpy.float16(numpy.float32(given)) == half
        got, = served.results("registers/brain", [given])
        assert brain(got) == brain(given)

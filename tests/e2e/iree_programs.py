# SPDX-License-Identifier: Apache-2.0
"""The tensor programs that tests/e2e/test_iree_tensors*.py call. A program of one
operation on whole tensors is a row here. The others are tests/modules/iree/*.mlir,
in which `// call` lines above a function are its calls.

An argument `2x3xf32` is a tensor of random values, `2x3xf32~0..9` one of values from 0
to 9, and `2x3xf32~edge` one of values at which arithmetic breaks. `=5` is a scalar.
"""
import dataclasses
import re
import zlib

import numpy

from conftest import ROOT

FOLDER = ROOT / "tests/modules/iree"
DTYPES = {
    "f16": numpy.float16, "bf16": numpy.float32, "f32": numpy.float32,
    "f64": numpy.float64, "i1": numpy.bool_, "i8": numpy.int8,
    "i16": numpy.int16, "i32": numpy.int32, "i64": numpy.int64,
    "ui8": numpy.uint8, "complex<f32>": numpy.complex64,
}
SPEC = re.compile(r"((?:\d+x)*)([a-z][\w<>]*)(?:~(-?[\d.]+?)\.\.(-?[\d.]+)|~(edge))?$")
CALLED = re.compile(r"((?:^ *// call.*\n)+) *func\.func (?:public )?@([\w.]+)", re.M)
EDGES = [0.0, -0.0, 1.0, -1.0, numpy.inf, -numpy.inf, numpy.nan, 1e-45, 1e-39,
         -1e-39, 3.4e38, -3.4e38, 0.5, 2.5, -2.5, 1e-20, 88.8, -104.5]


def nearest_bf16(values):
    bits = values.view(numpy.uint32)
    even = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return numpy.where(numpy.isnan(values), numpy.float32("nan"),
                       even.astype(numpy.uint32).view(numpy.float32))


@dataclasses.dataclass
class Tensor:
    """A tensor of `dtype`. The elements of bf16 are kept as f32."""
    dtype: str
    values: numpy.ndarray

    def __post_init__(self):
        self.values = numpy.asarray(self.values).astype(DTYPES[self.dtype])
        if self.dtype == "bf16":
            self.values = nearest_bf16(self.values)

    @property
    def bytes(self):
        """The bytes of the elements in memory order. Every NaN has the same bits."""
        values = numpy.array(self.values)
        if values.dtype.kind in "fc":
            values[numpy.isnan(values)] = numpy.nan
        if self.dtype == "bf16":
            values = (values.view(numpy.uint32) >> 16).astype(numpy.uint16)
        return values.tobytes()


@dataclasses.dataclass
class Program:
    """A function of a module, and its calls in this order."""
    name: str
    calls: list  # of lists of arguments


@dataclasses.dataclass
class Theme:
    """One module: its source, its programs, and the options for compiling it."""
    name: str
    source: str
    programs: list
    flags: tuple = ()
    vmvx: bool = True  # whether the VMVX back end has its types


def argument(spec, seed):
    if spec.startswith("="):
        return float(spec[1:]) if "." in spec else int(spec[1:])
    dims, dtype, low, high, edge = SPEC.fullmatch(spec).groups()
    shape = [int(d) for d in dims.split("x")[:-1]]
    numpy_type = DTYPES[dtype]
    kind = "i" if dtype.startswith(("i", "ui")) else dtype[0]
    random = numpy.random.default_rng(zlib.crc32(f"{spec} {seed}".encode()))
    if edge and kind == "i":
        info = numpy.iinfo(numpy_type)
        values = [0, 1, -1, info.min, info.max, info.min + 1, 2, 7, -7]
        return Tensor(dtype, numpy.resize(numpy.array(values, numpy.int64), shape))
    if edge:
        with numpy.errstate(over="ignore"):
            return Tensor(dtype, numpy.resize(numpy.array(EDGES), shape))
    if dtype == "i1":
        return Tensor(dtype, random.integers(0, 2, shape))
    if kind == "i":
        return Tensor(dtype, random.integers(
            int(low or (0 if dtype == "ui8" else -100)), int(high or 100), shape))
    values = random.uniform(float(low or -4), float(high or 4), shape)
    if kind == "c":
        values = values + 1j * random.uniform(-4, 4, shape)
    return Tensor(dtype, values)


def program(name, calls):
    return Program(name, [[argument(spec, f"{name} {turn} {position}")
                           for position, spec in enumerate(call)]
                          for turn, call in enumerate(calls)])


# The rows below take these shapes in turn: a shape in the declaration, and one in the
# call.
SHAPES = [("?x", "37x"), ("4x5x", "4x5x"), ("?x?x", "3x17x"), ("18x", "18x"),
          ("2x1x3x2x4x", "2x1x3x2x4x"), ("?x8x", "5x8x"), ("", ""),
          ("?x2x?x", "2x2x19x")]
FLOAT_UNARY = {
    **dict.fromkeys("absf ceil floor round roundeven exp exp2 expm1 sin cos tanh "
                    "atan erf".split(), "-4..4"),
    **dict.fromkeys("sqrt rsqrt log log2 log1p".split(), "0.1..9"),
}
# The VMVX back end does not support these.
NATIVE_UNARY = {
    **dict.fromkeys("tan sinh cosh cbrt".split(), "-4..4"),
    **dict.fromkeys("asin acos atanh".split(), "-0.99..0.99"),
}
FLOAT_BINARY = {
    **dict.fromkeys("arith.addf arith.subf arith.mulf arith.divf arith.maximumf "
                    "arith.minimumf arith.maxnumf arith.minnumf math.atan2".split(), "-4..4"),
    "math.powf": "0.1..4", "arith.remf": "0.5..9",
}
INTEGER_BINARY = {
    **dict.fromkeys("addi subi muli andi ori xori maxsi minsi maxui minui".split(),
                    "-100..100"),
    **dict.fromkeys("divsi divui remsi remui ceildivsi floordivsi".split(), "1..9"),
    **dict.fromkeys("shli shrsi shrui".split(), "0..7"),
}
FLOAT_TESTS = "oeq one olt ole ogt oge ueq une ult uno ord".split()
INTEGER_TESTS = "eq ne slt sle sgt sge ult ule ugt uge".split()
# Each row: operation, from, to, range of values.
CASTS = [
    ("sitofp", "i32", "f32", "-99999..99999"), ("sitofp", "i8", "f32", "-100..100"),
    ("sitofp", "i64", "f32", "-99999..99999"), ("uitofp", "i32", "f32", "0..99999"),
    ("uitofp", "i8", "f32", "-100..100"), ("fptosi", "f32", "i32", "-999..999"),
    ("fptosi", "f32", "i8", "-99..99"), ("fptosi", "f32", "i64", "-999..999"),
    ("fptoui", "f32", "i32", "0..999"), ("extsi", "i8", "i32", "-100..100"),
    ("extui", "i8", "i32", "-100..100"), ("extsi", "i16", "i64", "-100..100"),
    ("extui", "i1", "i8", "0..2"), ("extsi", "i32", "i64", "-100..100"),
    ("trunci", "i32", "i8", "-100..100"), ("trunci", "i64", "i32", "-100..100"),
    ("trunci", "i32", "i1", "-9..9"), ("bitcast", "f32", "i32", "-9..9"),
    ("bitcast", "i32", "f32", "0..99999"),
]
WIDTHS = ["i8", "i16", "i32", "i64"]


class Table:
    """Functions of one operation each, and their calls."""

    def __init__(self, name, **options):
        self.name, self.options = name, options
        self.text, self.programs = [], []

    def add(self, name, operation, dtypes, result, calls, attribute=""):
        shape, size = SHAPES[len(self.programs) % len(SHAPES)]
        types = [f"tensor<{shape}{dtype}>" for dtype in dtypes]
        given = ", ".join(f"%{i}: {t}" for i, t in enumerate(types))
        values = ", ".join(f"%{i}" for i in range(len(types)))
        written, to = types[0], ""
        result = f"tensor<{shape}{result}>"
        if operation.split(".")[1] in {cast[0] for cast in CASTS + HALF_CASTS}:
            to = f" to {result}"
        self.text.append(
            f"  func.func @{name}({given}) -> {result} {{\n"
            f"    %r = {operation} {attribute}{values} : {written}{to}\n"
            f"    return %r : {result}\n  }}\n")
        self.programs.append(program(name, [
            [f"{size}{dtype}~{kind}" for dtype, kind in zip(dtypes, call)]
            for call in calls]))

    def theme(self):
        source = f"module @{self.name} {{\n{''.join(self.text)}}}\n"
        return Theme(self.name, source, self.programs, **self.options)


HALF_CASTS = [
    ("extf", "f16", "f32", "-9..9"), ("extf", "bf16", "f32", "-9..9"),
    ("truncf", "f32", "f16", "-9..9"), ("truncf", "f32", "bf16", "-9..9"),
    ("sitofp", "i32", "f16", "-99..99"), ("fptosi", "bf16", "i32", "-99..99"),
]


def floats():
    table = Table("floats")
    for name, kind in FLOAT_UNARY.items():
        table.add(name, f"math.{name}", ["f32"], "f32", [[kind], ["edge"]])
    table.add("negf", "arith.negf", ["f32"], "f32", [["-4..4"], ["edge"]])
    for name, kind in FLOAT_BINARY.items():
        table.add(name.split(".")[1], name, ["f32"] * 2, "f32",
                  [[kind] * 2, ["edge", kind], [kind, "edge"]])
    table.add("fma", "math.fma", ["f32"] * 3, "f32",
              [["-4..4"] * 3, ["-4..4", "-4..4", "edge"]])
    for test in FLOAT_TESTS:
        table.add(f"cmpf_{test}", "arith.cmpf", ["f32"] * 2, "i1",
                  [["-4..4"] * 2, ["edge"] * 2], f"{test}, ")
    return table.theme()


def integers():
    table = Table("integers")
    for turn, (name, kind) in enumerate(INTEGER_BINARY.items()):
        for width in (WIDTHS[turn % 4], WIDTHS[(turn + 2) % 4]):
            table.add(f"{name}_{width}", f"arith.{name}", [width] * 2, width,
                      [["-100..100", kind], ["edge", kind]])
    for turn, name in enumerate("absi ctlz".split()):
        for width in (WIDTHS[turn % 2 + 1], "i64"):
            table.add(f"{name}_{width}", f"math.{name}", [width], width,
                      [["-100..100"], ["edge"]])
    for turn, test in enumerate(INTEGER_TESTS):
        width = WIDTHS[turn % 4]
        table.add(f"cmpi_{test}_{width}", "arith.cmpi", [width] * 2, "i1",
                  [["-3..3"] * 2, ["edge", "-3..3"]], f"{test}, ")
    for name in ("andi", "ori", "xori"):
        table.add(f"{name}_i1", f"arith.{name}", ["i1"] * 2, "i1", [["0..2"] * 2])
    for name, before, after, kind in CASTS:
        table.add(f"{name}_{before}_{after}", f"arith.{name}", [before], after,
                  [[kind]])
    return table.theme()


def natives():
    """Operations that only machine code has: 16-bit floats and a few others."""
    table = Table("natives", vmvx=False)
    for name, kind in NATIVE_UNARY.items():
        table.add(name, f"math.{name}", ["f32"], "f32", [[kind], ["edge"]])
    table.add("copysign", "math.copysign", ["f32"] * 2, "f32",
              [["-4..4", "edge"], ["edge", "-4..4"]])
    for name in ("cttz", "ctpop"):
        for width in WIDTHS:
            table.add(f"{name}_{width}", f"math.{name}", [width], width,
                      [["-100..100"], ["edge"]])
    for dtype in ("f16", "bf16"):
        for name in "addf subf mulf divf maximumf".split():
            table.add(f"{name}_{dtype}", f"arith.{name}", [dtype] * 2, dtype,
                      [["-4..4"] * 2, ["edge", "-4..4"]])
        for name in "exp sqrt tanh floor sin".split():
            table.add(f"{name}_{dtype}", f"math.{name}", [dtype], dtype,
                      [["0.1..4"], ["edge"]])
        table.add(f"cmpf_{dtype}", "arith.cmpf", [dtype] * 2, "i1",
                  [["-1..1"] * 2, ["edge"] * 2], "olt, ")
    for name, before, after, kind in HALF_CASTS:
        table.add(f"{name}_{before}_{after}", f"arith.{name}", [before], after,
                  [[kind]])
    return table.theme()


def doubles():
    table = Table("doubles", flags=("--iree-input-demote-f64-to-f32=false",))
    for name in "addf subf mulf divf maximumf".split():
        table.add(name, f"arith.{name}", ["f64"] * 2, "f64",
                  [["-4..4"] * 2, ["edge", "-4..4"]])
    for name in "exp log sqrt floor absf".split():
        table.add(name, f"math.{name}", ["f64"], "f64", [["0.1..4"], ["edge"]])
    table.add("extf", "arith.extf", ["f32"], "f64", [["-4..4"]])
    return table.theme()


def written(name, **options):
    """A theme whose source contains its calls."""
    source = (FOLDER / f"{name}.mlir").read_text()
    programs = []
    for calls, function in CALLED.findall(source):
        rows = [line.split("// call", 1)[1].split() for line in calls.splitlines()]
        programs.append(program(function, rows))
    return Theme(name, source, programs, **options)


def themes():
    return [floats(), integers(), natives(), doubles(), written("shapes"),
            written("linear"), written("control"),
            written("jax", flags=("--iree-input-type=stablehlo",))]

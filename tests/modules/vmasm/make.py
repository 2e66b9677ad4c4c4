#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/corpus/vm/ops.{vmfb,txt}: at least one function for every opcode.

    make.py OUTPUT_FOLDER     (with iree-base-runtime installed)

The functions have no arguments and return numbers. ops.txt has their results from
IREE's own runtime: "NAME: WORD…" with the bits of every result in hex, or "NAME:
!STATUS". Where that runtime crashes, or we differ on purpose, the result is written
here and marked "own".
"""
import os
import struct
import subprocess
import sys
import tempfile

MODULE = "ops"
I32 = [0, 1, -1, 7, -8, 200, 0x7FFFFFFF, -0x80000000, 0x12345678]
I64 = [0, 1, -1, 7, -8, 1 << 40, 0x7FFFFFFFFFFFFFFF, -0x8000000000000000,
       0x123456789ABCDEF0]
SHIFTS = [0, 1, 5, 31, 32, 63, 64, -1]
POWERS = [0, 1, -1, 2, 3, -7, 33, 100, -(1 << 31), (1 << 31) + 5, (1 << 40) + 7]
FLOATS = [0.0, -0.0, 1.0, -1.5, 2.5, 0.5, -0.5, 0.1, 100.25, 1e-40, 3e38,
          float("inf"), float("-inf"), float("nan")]
TO_INT = [0.0, -0.0, 1.0, -1.5, 2.5, 0.5, -0.5, 100.25, 1e6]
LETTER = {"i": ("i32", 4), "l": ("i64", 8), "f": ("f32", 4), "d": ("f64", 8)}

# Opcodes with one result and only numbers, as operands>result.
VALUE_OPS = {
    "ii>i": "add.i32 sub.i32 mul.i32 div.i32.s div.i32.u rem.i32.s rem.i32.u "
            "and.i32 or.i32 xor.i32 min.i32.s min.i32.u max.i32.s max.i32.u "
            "cmp.eq.i32 cmp.ne.i32 cmp.lt.i32.s cmp.lt.i32.u",
    "iS>i": "shl.i32 shr.i32.s shr.i32.u",
    "iii>i": "fma.i32",
    "i>i": "not.i32 ctlz.i32 abs.i32 trunc.i32.i8 trunc.i32.i16 ext.i8.i32.s "
           "ext.i8.i32.u ext.i16.i32.s ext.i16.i32.u cmp.nz.i32",
    "ll>l": "add.i64 sub.i64 mul.i64 div.i64.s div.i64.u rem.i64.s rem.i64.u "
            "and.i64 or.i64 xor.i64 min.i64.s min.i64.u max.i64.s max.i64.u",
    "lS>l": "shl.i64 shr.i64.s shr.i64.u",
    "lll>l": "fma.i64",
    "l>l": "not.i64 ctlz.i64 abs.i64",
    "ll>i": "cmp.eq.i64 cmp.ne.i64 cmp.lt.i64.s cmp.lt.i64.u",
    "l>i": "cmp.nz.i64 trunc.i64.i32",
    "i>l": "ext.i32.i64.s ext.i32.i64.u",
    "i>f": "cast.si32.f32 cast.ui32.f32 bitcast.i32.f32",
    "l>f": "cast.si64.f32 cast.ui64.f32",
    "i>d": "cast.si32.f64 cast.ui32.f64",
    "l>d": "cast.si64.f64 cast.ui64.f64 bitcast.i64.f64",
    "f>i": "bitcast.f32.i32", "d>l": "bitcast.f64.i64",
    "f>d": "ext.f32.f64", "d>f": "trunc.f64.f32",
    "F>i": "cast.f32.si32 cast.f32.ui32", "D>i": "cast.f64.si32 cast.f64.ui32",
    "F>l": "cast.f32.si64 cast.f32.ui64", "D>l": "cast.f64.si64 cast.f64.ui64",
}
FLOAT_UNARY = ("abs neg ceil floor round atan cos sin exp exp2 expm1 log log10 "
               "log1p log2 rsqrt sqrt tanh erf")
FLOAT_BINARY = "add sub mul div rem min max atan2 pow"
FLOAT_COMPARE = "eq ne lt lte"
for c, t in (("f", "f32"), ("d", "f64")):
    VALUE_OPS[f"{c}>{c}"] = " ".join(
        [f"{n}.{t}" for n in FLOAT_UNARY.split()] + [f"round.{t}.even"])
    VALUE_OPS[f"{c}{c}>{c}"] = " ".join(
        f"{n}.{t}" for n in FLOAT_BINARY.split())
    VALUE_OPS[f"{c}{c}{c}>{c}"] = f"fma.{t}"
    VALUE_OPS[f"{c}P>{c}"] = f"fpowi.{t}"
    VALUE_OPS[f"{c}{c}>i"] = " ".join(
        f"cmp.{n}.{t}.{o}" for n in FLOAT_COMPARE.split() for o in "ou")
    VALUE_OPS[f"{c}>i"] = VALUE_OPS.get(f"{c}>i", "") + f" cmp.nan.{t}"


def bits(letter, value):
    """The value as the integer that is in its registers."""
    if letter == "f":
        return struct.unpack("<i", struct.pack("<f", value))[0]
    if letter == "d":
        return struct.unpack("<q", struct.pack("<d", value))[0]
    return value


def reg(number, letter):
    return f"%i{number}:{number + 1}" if letter in "ld" else f"%i{number}"


def constant(number, letter, value):
    """The lines that put a value into a register."""
    name, size = LETTER[letter]
    wide = "l" if size == 8 else "i"
    lines = [f"{reg(number, wide)} = vm.const.{LETTER[wide][0]} "
             f"{bits(letter, value)}"]
    if letter in "fd":
        lines.append(f"{reg(number, letter)} = vm.bitcast."
                     f"{LETTER[wide][0]}.{name} {reg(number, wide)}")
    return lines


def operand_rows(operands, op):
    pools = {"i": I32, "l": I64, "f": FLOATS, "d": FLOATS, "S": SHIFTS,
             "P": POWERS, "F": TO_INT, "D": TO_INT}
    rows = [[]]
    for letter in operands:
        rows = [row + [value] for row in rows for value in pools[letter]]
    if op.startswith(("div.i", "rem.i")):
        width = 32 if "i32" in op else 64
        rows = [r for r in rows if r[1] != 0 and
                not (r[0] == -(1 << (width - 1)) and r[1] == -1)]
    if op.endswith((".ui64", ".ui32")) and op.startswith("cast.f64"):
        rows = [r for r in rows if r[0] >= 0]
    if op == "cast.f32.ui64":
        rows = [r for r in rows if r[0] >= 0]
    if op.endswith(".even"):
        rows = [r for r in rows if r[0] != -0.5]  # see programs.py
    if len(operands) == 3:
        rows = rows[::13]
    return rows[::max(1, len(rows) // 40)]


class Program:
    def __init__(self, name, results, lines, own=None):
        self.name = name
        self.results = results  # one letter of a type each
        self.lines = lines
        self.own = own


def value_program(op, operands, result):
    returned = []
    lines = [f"{reg(14, letter)} = vm.const.{LETTER[letter][0]} "
             f"{bits(real, float('nan'))}"
             for letter, real in (("i", "f"), ("l", "d")) if result == real]
    wide = {"S": "i", "P": "l", "F": "f", "D": "d"}
    number = 16  # 0 to 15 are for operands
    for row in operand_rows(operands, op):
        used = []
        for i, value in enumerate(row):
            letter = wide.get(operands[i], operands[i])
            lines += constant(4 * i, letter, value)
            # The assembler wants only the low half of the exponent's register here;
            # compilers write both.
            used.append(f"%i{4 * i}" if op == "fpowi.f32" else reg(4 * i, letter))
        lines.append(f"{reg(number, result)} = vm.{op} {', '.join(used)}")
        out = {"f": "i", "d": "l"}.get(result, result)
        if out != result:  # as bits; every NaN becomes the same one
            lines += [f"%i12 = vm.cmp.nan.{LETTER[result][0]} "
                      f"{reg(number, result)}",
                      f"{reg(number, out)} = vm.bitcast."
                      f"{LETTER[result][0]}.{LETTER[out][0]} "
                      f"{reg(number, result)}",
                      f"{reg(number, out)} = vm.select.{LETTER[out][0]} %i12 "
                      f"? {reg(14, out)} : {reg(number, out)}"]
        returned.append(reg(number, out))
        number += 2
    out = {"f": "i", "d": "l"}.get(result, result)
    lines.append(f"vm.return {', '.join(returned)}")
    return Program(op, out * len(returned), ["^bb0:"] + lines)


def text(name, results, body, own=None):
    """A program that is written out below. Lines in the first column begin blocks."""
    lines = [line.strip() for line in body.strip().splitlines()]
    return Program(name, results, lines, own)


PROGRAMS = [value_program(op, *key.split(">"))
            for key, ops in VALUE_OPS.items() for op in ops.split()]

exec(open(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "programs.py"), encoding="utf-8").read())


def assemble(folder):
    names = {p.name: i for i, p in enumerate(PROGRAMS)}
    out = [f"vm.module @{MODULE} version 0"]
    out += [f"vm.type {t}" for t in TYPES]
    out += IMPORTS
    out += [f"vm.rodata[{i}] = {data}" for i, data in enumerate(RODATA)]
    for p in PROGRAMS:
        types = ", ".join({"i": "i32", "l": "i64", "r": "!vm.ref<?>"}[c]
                          for c in p.results)
        arguments = ARGUMENTS.get(p.name, "")
        out.append("")
        if p.name not in INTERNAL:
            out.append(f"vm.export @{p.name}")
        out.append(f"vm.func @{p.name}({arguments}) -> ({types}) {{")
        for line in p.lines:
            for name in INTERNAL:
                line = line.replace(f"@{name}(", f"@{MODULE}:{names[name]}(")
            out.append(line if line.startswith("^") else "  " + line)
        out.append("}")
    tool = os.path.join(os.path.dirname(sys.executable), "iree-as-module")
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "ops.vmasm")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(out) + "\n")
        subprocess.run([tool, path, f"--output={folder}/ops.vmfb"], check=True)
    os.chmod(f"{folder}/ops.vmfb", 0o644)


def word(letter, value):
    return f"{value & 0xFFFFFFFF:08x}" if letter == "i" else \
        f"{value & 0xFFFFFFFFFFFFFFFF:016x}"


def reference(folder):
    """Runs every program in IREE's runtime. Returns one line for each."""
    import iree.runtime as rt
    instance = rt.VmInstance()
    with open(f"{folder}/ops.vmfb", "rb") as file:
        module = rt.VmModule.copy_buffer(instance, file.read())
    context = rt.VmContext(instance, modules=[module])
    lines = []
    for p in PROGRAMS:
        if p.name in INTERNAL or p.name == "__init":
            continue
        if p.own is not None:
            lines.append(f"{p.name}: {p.own}  # own")
            continue
        results = rt.VmVariantList(len(p.results))
        try:
            context.invoke(module.lookup_function(p.name),
                           rt.VmVariantList(0), results)
        except Exception as error:  # the binding maps statuses to many types
            status = next((s for s in STATUSES if s in str(error)), None)
            if not status:
                raise
            lines.append(f"{p.name}: !{status}")
            continue
        words = [word(c, results.get_variant(i))
                 for i, c in enumerate(p.results)]
        lines.append(f"{p.name}: {' '.join(words)}")
    return lines


STATUSES = ["CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED",
            "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
            "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",
            "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE",
            "DATA_LOSS", "UNAUTHENTICATED", "DEFERRED", "INCOMPATIBLE"]


def main():
    folder = sys.argv[1]
    assemble(folder)
    with open(f"{folder}/ops.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(reference(folder)) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes registers.txt: where llc has the parts of returned aggregates, read off the
calls that it makes of functions which return them. A row is a processor, the parts and
their registers, or `memory`. e2e/returned compares the file with the llc that is there.
"""
import itertools
import pathlib
import re
import shutil
import subprocess

FILE = pathlib.Path(__file__).with_name("registers.txt")
TRIPLES = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}
LLVM = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double"}
# rax is all of eax, ax and al.
WHOLE = {"al": "rax", "ax": "rax", "eax": "rax", "dl": "rdx", "dx": "rdx", "edx": "rdx",
         "cl": "rcx", "cx": "rcx", "ecx": "rcx"}


def find_llc():
    return shutil.which("llc-22") or shutil.which("llc")


def shapes():
    for count in range(1, 5):
        yield from itertools.product(("i8", "i64", "f16", "f32", "f64"), repeat=count)
    for count in range(2, 4):
        yield from itertools.product(("i1", "i16", "i32", "bf16"), repeat=count)
    yield from itertools.product(("i64", "f32"), repeat=6)
    for count in range(5, 18):  # descriptors: 3, 5, 7 … words
        yield ("i64",) * count
        yield ("i64",) * count + ("f64",)
        yield ("f32",) * count
        yield ("i64", "f64", "f16") * (count // 3)


def whole(register):
    if re.fullmatch(r"[wsdh][0-7]", register):
        return ("x" if register[0] == "w" else "v") + register[1]
    return WHOLE.get(register, register)


def registers_of(line):
    if re.search(r"implicit \$(rdi|x8)\b", line):
        return "memory"
    found = re.findall(r"implicit-def \$(\w+)", line)
    return " ".join(whole(each) for each in found if each not in ("rsp", "ssp", "sp"))


def rows(llc, shapes):
    shapes = list(shapes)
    text = []
    for number, shape in enumerate(shapes):
        parts = ", ".join(LLVM.get(part, part) for part in shape)
        text.append(f"declare {{ {parts} }} @g{number}()\n"
                    f"define void @f{number}() {{\n"
                    f"  call {{ {parts} }} @g{number}()\n  ret void\n}}\n")
    for processor, triple in TRIPLES.items():
        done = subprocess.run(
            [llc, f"-mtriple={triple}", "-stop-after=finalize-isel", "-o", "-", "-"],
            input="".join(text), capture_output=True, text=True, check=True)
        calls = re.findall(r"^ +(?:CALL64pcrel32|BL) .*@g\d+, .*", done.stdout, re.M)
        assert len(calls) == len(shapes)
        for shape, call in zip(shapes, calls):
            yield f"{processor} {' '.join(shape)} = {registers_of(call)}\n"


if __name__ == "__main__":
    FILE.write_text("".join(rows(find_llc(), shapes())))

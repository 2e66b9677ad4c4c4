# SPDX-License-Identifier: Apache-2.0
"""Writes .vmfb files that no compiler would write: the tables of a flatbuffer in the
order in which they are met, so that the same table may be used many times; and
bytecode instruction by instruction."""
import struct

REF = 0x8000     # a register that holds a ref
IMPORT = 1 << 31  # an ordinal that is an import's


class Code:
    """The instructions of one function. The first block has begun; `mark` begins
    another one."""

    def __init__(self):
        self.bytes = bytearray(b"\x79")
        self.blocks = 1

    def op(self, opcode, *words):
        """The words are registers and other 16-bit numbers."""
        self.bytes += bytes([opcode]) + struct.pack(f"<{len(words)}H", *words)
        return self

    def u32(self, value):
        self.bytes += struct.pack("<I", value & 0xFFFFFFFF)
        return self

    def list(self, *words):
        if len(self.bytes) % 2:
            self.bytes.append(0)
        return self.raw(struct.pack(f"<{len(words) + 1}H", len(words), *words))

    def raw(self, data):
        self.bytes += data
        return self

    def mark(self):
        """Ends the block with a branch to a new one. Returns the offset of the new
        block."""
        self.op(0x56).u32(0)
        place = len(self.bytes) - 4
        self.list()
        struct.pack_into("<I", self.bytes, place, len(self.bytes))
        self.op(0x79)
        self.blocks += 1
        return len(self.bytes) - 1

    def i32(self, register, value):
        self.op(0x0D).u32(value)
        return self.raw(struct.pack("<H", register))

    def i64(self, register, value):
        return self.op(0x0F).raw(struct.pack("<qH", value, register))

    def rodata(self, register, ordinal):
        self.op(0x11).u32(ordinal)
        return self.raw(struct.pack("<H", REF | register))

    def call(self, function, arguments=(), results=(), segments=None):
        self.op(0x58 if segments is None else 0x59).u32(function)
        if segments is not None:
            self.list(*segments)
        return self.list(*arguments).list(*results)

    def branch(self, target):
        return self.op(0x56).u32(target).list()

    def give(self, *registers):
        return self.op(0x5A).list(*registers)

    def function(self, cconv="0v_v", cells=0, refs=0, attrs=()):
        return {"code": bytes(self.bytes), "blocks": self.blocks, "cells": cells,
                "refs": refs, "cconv": cconv, "attrs": attrs}


class Buffer:
    """Something that is pointed to always comes after the pointer."""

    def __init__(self):
        self.bytes = bytearray(b"\0\0\0\0IREE")

    def align(self, size):
        self.bytes += bytes(-len(self.bytes) % size)

    def point(self, place, target=None):
        target = len(self.bytes) if target is None else target
        struct.pack_into("<I", self.bytes, place, target - place)

    def table(self, **fields):
        """Writes a table with fields by number, s0=…: an integer is a u32, None an
        offset. Returns where the table is, and where its offsets are."""
        values = {int(name[1:]): value for name, value in fields.items()}
        self.align(4)
        start = len(self.bytes)
        offsets = {number: 4 + 4 * i for i, number in enumerate(values)}
        count = max(values, default=-1) + 1
        self.bytes += struct.pack("<HH", 4 + 2 * count, 4 + 4 * len(values))
        for number in range(count):
            self.bytes += struct.pack("<H", offsets.get(number, 0))
        self.align(4)
        at = len(self.bytes)
        self.bytes += struct.pack("<i", at - start)
        for value in values.values():
            self.bytes += struct.pack("<I", value or 0)
        return at, [at + offsets[number] for number in values if values[number] is None]

    def data(self, place, data, alignment=4):
        self.bytes += bytes(-(len(self.bytes) + 4) % alignment)
        self.point(place)
        self.bytes += struct.pack("<I", len(data)) + data
        self.align(4)

    def text(self, place, text):
        self.data(place, text.encode() + b"\0")
        start = place + struct.unpack_from("<I", self.bytes, place)[0]
        struct.pack_into("<I", self.bytes, start, len(text.encode()))

    def vector(self, place, items, write):
        """Writes one table for each item. The same object is written only once."""
        self.align(4)
        self.point(place)
        self.bytes += struct.pack("<I", len(items))
        start, seen = len(self.bytes), {}
        self.bytes += bytes(4 * len(items))
        for i, item in enumerate(items):
            if id(item) not in seen:
                seen[id(item)] = write(item)
            self.point(start + 4 * i, seen[id(item)])

    def texts(self, fields):
        at, places = self.table(**{f"s{i}": None for i in range(len(fields))})
        for place, text in zip(places, fields):
            self.text(place, text)
        return at


def module(functions, exports, imports=(), types=(), rodata=(), global_bytes=0):
    """Makes a file of bytecode 17.0. Exports are (name, function), imports (name,
    calling convention), attributes (key, value)."""
    out = Buffer()
    root, places = out.table(s0=None, s1=0, s2=0, s4=None, s6=None, s7=None,
                             s8=None, s9=None, s11=None, s12=None, s13=17 << 16,
                             s14=None)
    struct.pack_into("<I", out.bytes, 0, root)
    (name, types_at, imports_at, exports_at, signatures_at, rodata_at, state_at,
     descriptors_at, code_at) = places
    out.text(name, "module")
    out.vector(types_at, types, lambda text: out.texts([text]))

    def write_import(row):
        at, (name, signature) = out.table(s0=None, s1=None, s2=2)
        out.text(name, row[0])
        out.point(signature, out.texts([row[1]]))
        return at
    out.vector(imports_at, imports, write_import)

    def write_export(row):
        at, (name,) = out.table(s0=None, s1=row[1])
        out.text(name, row[0])
        return at
    out.vector(exports_at, exports, write_export)

    def write_signature(function):
        at, (cconv, attrs) = out.table(s0=None, s1=None)
        out.text(cconv, function["cconv"])
        out.vector(attrs, function["attrs"], out.texts)
        return at
    out.vector(signatures_at, functions, write_signature)

    def write_rodata(data):
        at, (embedded,) = out.table(s2=None)
        out.data(embedded, data, 64)
        return at
    out.vector(rodata_at, rodata, write_rodata)
    state, _ = out.table(s0=global_bytes, s1=0)
    out.point(state_at, state)

    code, seen, descriptors = bytearray(), {}, bytearray()
    for function in functions:
        if id(function) not in seen:
            code += bytes(-len(code) % 8)
            seen[id(function)] = len(code)
            code += function["code"]
        descriptors += struct.pack(
            "<iiIHHHH", seen[id(function)], len(function["code"]), 0, 0,
            function["blocks"], function["cells"], function["refs"])
    out.data(descriptors_at, bytes(descriptors))
    struct.pack_into("<I", out.bytes, descriptors_at + struct.unpack_from(
        "<I", out.bytes, descriptors_at)[0], len(functions))
    out.data(code_at, bytes(code), 16)
    return struct.pack("<I", len(out.bytes)) + bytes(out.bytes)

# SPDX-License-Identifier: Apache-2.0
# Read by make.py: the programs that are more than one operation on numbers. `own=` is
# the result where IREE's runtime crashes or we differ on purpose.

TYPES = ["f32", "f64", "i32", "i64", "i8", "i16", "!vm.buffer",
         "!vm.list<i32>", "!vm.list<?>", "!vm.opaque"]
IMPORTS = ['vm.import optional @yieldable_test.yield_n cconv "0ii_i"',
           'vm.import optional @yieldable_test.yield_variadic_sum cconv '
           '"0CiDi_i"',
           'vm.import optional @no.such cconv "0i_i"']
RODATA = ["010203040506070809", "FF80FE7F0000C03F000000000000F83F", "6162"]
# Functions that others call: name -> arguments.
INTERNAL = ["wide", "refs", "deep", "store_all"]
ARGUMENTS = {"wide": "%i0: i32, %i1:2: i64, %i3: i32, %i4:5: i64",
             "refs": "%r0: !vm.ref<?>, %i0: i32, %r1: !vm.ref<?>",
             "deep": "%i0: i32", "store_all": ""}


def add(name, results, body, own=None):
    PROGRAMS.append(text(name, results, body, own))


# Division: the processor would trap; farcall returns OUT_OF_RANGE.
for width, low in (("i32", -0x80000000), ("i64", -0x8000000000000000)):
    a, b = ("%i0", "%i2") if width == "i32" else ("%i0:1", "%i2:3")
    for op in ("div", "rem"):
        for sign in "su":
            add(f"{op}.{width}.{sign}.zero", "i", f"""^bb0:
                {a} = vm.const.{width} 7
                {b} = vm.const.{width} 0
                {a} = vm.{op}.{width}.{sign} {a}, {b}
                %i4 = vm.const.i32 1
                vm.return %i4""", own="!OUT_OF_RANGE")
        add(f"{op}.{width}.overflow", "i", f"""^bb0:
            {a} = vm.const.{width} {low}
            {b} = vm.const.{width} -1
            {a} = vm.{op}.{width}.s {a}, {b}
            %i4 = vm.const.i32 1
            vm.return %i4""", own="!OUT_OF_RANGE")

# Conversions that are undefined in C: the result is the nearest limit, and 0 for NaN.
# f64 keeps its width.
for name, value, own in (("huge", 0x7F000000, "ffffffff 7fffffffffffffff"),
                         ("minus.huge", 0xFF000000 - (1 << 32),
                          "00000000 8000000000000000"),
                         ("nan", 0x7FC00000, "00000000 0000000000000000")):
    add(f"cast.f32.{name}", "il", f"""^bb0:
        %i0 = vm.const.i32 {value}
        %i0 = vm.bitcast.i32.f32 %i0
        %i2 = vm.cast.f32.si32 %i0
        %i4:5 = vm.cast.f32.si64 %i0
        vm.return %i2, %i4""", own=own)
add("cast.f64.si32.wide", "i", """^bb0:
    %i0:1 = vm.const.i64 4715268810125344768
    %i0:1 = vm.bitcast.i64.f64 %i0:1
    %i2 = vm.cast.f64.si32 %i0:1
    vm.return %i2""", own="01000001")  # 16777217.0, which is no f32

# A number that rounds to zero keeps its sign, as in IEEE 754. IREE's fallback for C
# before C23 loses it.
add("round.even.minus.half", "il", """^bb0:
    %i0 = vm.const.f32 -0.5
    %i0 = vm.round.f32.even %i0
    %i0 = vm.bitcast.f32.i32 %i0
    %i2:3 = vm.const.f64 -0.5
    %i2:3 = vm.round.f64.even %i2:3
    %i2:3 = vm.bitcast.f64.i64 %i2:3
    vm.return %i0, %i2""", own="80000000 8000000000000000")

# Constants
add("const", "ilil", """^bb0:
    %i0 = vm.const.i32 -2
    %i2:3 = vm.const.i64 -2
    %i4 = vm.const.i32.zero
    %i6:7 = vm.const.i64.zero
    vm.return %i0, %i2, %i4, %i6""")
add("const.float", "ilil", """^bb0:
    %i0 = vm.const.f32 1.5
    %i2:3 = vm.const.f64 1.5
    %i4 = vm.const.f32.zero
    %i6:7 = vm.const.f64.zero
    %i0 = vm.bitcast.f32.i32 %i0
    %i2:3 = vm.bitcast.f64.i64 %i2:3
    %i4 = vm.bitcast.f32.i32 %i4
    %i6:7 = vm.bitcast.f64.i64 %i6:7
    vm.return %i0, %i2, %i4, %i6""")

# Selection
add("select", "ilililil", """^bb0:
    %i0 = vm.const.i32 0
    %i1 = vm.const.i32 4
    %i2:3 = vm.const.i64 5000000000
    %i4:5 = vm.const.i64 6
    %i6 = vm.select.i32 %i0 ? %i0 : %i1
    %i8:9 = vm.select.i64 %i0 ? %i2:3 : %i4:5
    %i7 = vm.select.i32 %i1 ? %i0 : %i1
    %i10:11 = vm.select.i64 %i1 ? %i2:3 : %i4:5
    %i12 = vm.select.f32 %i0 ? %i0 : %i1
    %i14:15 = vm.select.f64 %i0 ? %i2:3 : %i4:5
    %i13 = vm.select.f32 %i1 ? %i0 : %i1
    %i16:17 = vm.select.f64 %i1 ? %i2:3 : %i4:5
    vm.return %i6, %i8, %i7, %i10, %i12, %i14, %i13, %i16""")
for index in (-1, 0, 1, 2):
    add(f"switch.{index}".replace("-", "minus"), "ilil", f"""^bb0:
        %i0 = vm.const.i32 {index}
        %i1 = vm.const.i32 11
        %i2 = vm.const.i32 12
        %i3 = vm.const.i32 13
        %i4:5 = vm.const.i64 21
        %i6:7 = vm.const.i64 22
        %i8:9 = vm.const.i64 23
        %i10 = vm.switch.i32 %i0[%i1, %i2] else %i3
        %i12:13 = vm.switch.i64 %i0[%i4:5, %i6:7] else %i8:9
        %i11 = vm.switch.f32 %i0[%i1, %i2] else %i3
        %i14:15 = vm.switch.f64 %i0[%i4:5, %i6:7] else %i8:9
        vm.return %i10, %i12, %i11, %i14""")

# Refs
add("refs.compare", "iiiiii", """^bb0:
    %r0 = vm.const.ref.rodata 0
    %r1 = vm.const.ref.rodata 1
    %r2 = vm.const.ref.zero
    %r3 = vm.assign.ref %r0
    %i0 = vm.cmp.eq.ref %r0, %r3
    %i1 = vm.cmp.ne.ref %r0, %r1
    %i2 = vm.cmp.nz.ref %r2
    %r3 = vm.assign.ref %R0
    %i3 = vm.cmp.nz.ref %r0
    %i4 = vm.cmp.nz.ref %r3
    vm.discard.refs %r3, %r0
    %i5 = vm.cmp.nz.ref %r3
    vm.return %i0, %i1, %i2, %i3, %i4, %i5""")
add("refs.select", "iii", """^bb0:
    %i0 = vm.const.i32 1
    %r0 = vm.const.ref.rodata 0
    %r1 = vm.const.ref.rodata 1
    %r2 = vm.select.ref %i0 ? %R0 : %R1 -> !vm.buffer
    %i1 = vm.cmp.nz.ref %r0
    %i2 = vm.cmp.nz.ref %r1
    %i3 = vm.cmp.nz.ref %r2
    vm.return %i1, %i2, %i3""")
add("refs.cast", "i", """^bb0:
    %r0 = vm.const.ref.rodata 0
    %r1 = vm.cast.any.ref %R0 : !vm.ref<?> -> !vm.buffer
    %i0 = vm.cmp.nz.ref %r1
    vm.return %i0""")
add("refs.cast.null", "i", """^bb0:
    %r0 = vm.const.ref.zero
    %r1 = vm.cast.any.ref %R0 : !vm.ref<?> -> !vm.buffer
    %i0 = vm.cmp.nz.ref %r1
    vm.return %i0""")
add("refs.cast.wrong", "i", """^bb0:
    %r0 = vm.const.ref.rodata 0
    %r1 = vm.cast.any.ref %R0 : !vm.ref<?> -> !vm.list<i32>
    %i0 = vm.cmp.nz.ref %r1
    vm.return %i0""")
add("refs.swap.by.copies", "ii", """^bb0:
    %r0 = vm.const.ref.rodata 0
    %r1 = vm.const.ref.rodata 2
    vm.br ^bb1(%r0->%r2, %R1->%r0, %R2->%r1)
    ^bb1:
    %i0:1 = vm.buffer.length %r0
    %i2:3 = vm.buffer.length %r1
    vm.return %i0, %i2""")

# Globals: one function stores them, others load them.
add("store_all", "", """^bb0:
    %i0 = vm.const.i32 -5
    %i2:3 = vm.const.i64 -6000000000
    %i4 = vm.const.f32 2.5
    %i6:7 = vm.const.f64 -0.125
    vm.global.store.i32 %i0, .rwdata[0]
    vm.global.store.i64 %i2:3, .rwdata[8]
    vm.global.store.f32 %i4, .rwdata[16]
    vm.global.store.f64 %i6:7, .rwdata[24]
    %r0 = vm.const.ref.rodata 2
    vm.global.store.ref %R0, .refs[0] : !vm.buffer
    vm.return""")
add("global", "ilil", """^bb0:
    vm.call @store_all()
    %i0 = vm.global.load.i32 .rwdata[0]
    %i2:3 = vm.global.load.i64 .rwdata[8]
    %i4 = vm.global.load.f32 .rwdata[16]
    %i6:7 = vm.global.load.f64 .rwdata[24]
    %i4 = vm.bitcast.f32.i32 %i4
    %i6:7 = vm.bitcast.f64.i64 %i6:7
    vm.return %i0, %i2, %i4, %i6""")
add("global.indirect", "ilil", """^bb0:
    vm.call @store_all()
    %i8 = vm.const.i32 0
    %i0 = vm.global.load.indirect.i32 %i8
    %i8 = vm.const.i32 8
    %i2:3 = vm.global.load.indirect.i64 %i8
    %i8 = vm.const.i32 16
    %i4 = vm.global.load.indirect.f32 %i8
    %i8 = vm.const.i32 24
    %i6:7 = vm.global.load.indirect.f64 %i8
    vm.global.store.indirect.f64 %i8, %i6:7
    %i8 = vm.const.i32 16
    vm.global.store.indirect.f32 %i8, %i4
    %i8 = vm.const.i32 8
    vm.global.store.indirect.i64 %i8, %i2:3
    %i8 = vm.const.i32 4
    vm.global.store.indirect.i32 %i8, %i0
    %i0 = vm.global.load.i32 .rwdata[4]
    %i4 = vm.bitcast.f32.i32 %i4
    %i6:7 = vm.bitcast.f64.i64 %i6:7
    vm.return %i0, %i2, %i4, %i6""")
for kind, size in (("i32", 4), ("i64", 8), ("f32", 4), ("f64", 8)):
    r = "%i0" if size == 4 else "%i0:1"
    for name, at in (("end", 32 - size + 1), ("negative", -1)):
        add(f"global.load.indirect.{kind}.{name}", "i", f"""^bb0:
            %i2 = vm.const.i32 {at}
            {r} = vm.global.load.indirect.{kind} %i2
            vm.return %i2""", own="!OUT_OF_RANGE")
        add(f"global.store.indirect.{kind}.{name}", "i", f"""^bb0:
            %i2 = vm.const.i32 {at}
            vm.global.store.indirect.{kind} %i2, {r}
            vm.return %i2""", own="!OUT_OF_RANGE")
add("global.ref", "iii", """^bb0:
    vm.call @store_all()
    %i0 = vm.const.i32 0
    %r0 = vm.global.load.ref .refs[0] : !vm.buffer
    %r1 = vm.global.load.indirect.ref %i0 : !vm.buffer
    %i1 = vm.cmp.eq.ref %r0, %r1
    vm.global.store.indirect.ref %i0 : !vm.buffer, %r0
    %R2 = vm.global.load.ref .refs[0] : !vm.buffer
    %i2 = vm.cmp.nz.ref %r2
    %r3 = vm.global.load.ref .refs[0] : !vm.buffer
    %i3 = vm.cmp.nz.ref %r3
    vm.return %i1, %i2, %i3""")
add("global.ref.wrong", "i", """^bb0:
    vm.call @store_all()
    %r0 = vm.global.load.ref .refs[0] : !vm.list<i32>
    %i0 = vm.cmp.nz.ref %r0
    vm.return %i0""")
add("global.ref.far", "i", """^bb0:
    %i0 = vm.const.i32 99
    %r0 = vm.global.load.indirect.ref %i0 : !vm.buffer
    vm.return %i0""")

# Branches
add("loop", "l", """^bb0:
    %i0:1 = vm.const.i64 0
    %i2:3 = vm.const.i64 1
    %i4:5 = vm.const.i64 1000
    vm.br ^bb1(%i0->%i6, %i1->%i7)
    ^bb1:
    %i8 = vm.cmp.lt.i64.s %i6:7, %i4:5
    vm.cond_br %i8, ^bb2(), ^bb3()
    ^bb2:
    %i6:7 = vm.add.i64 %i6:7, %i2:3
    vm.br ^bb1()
    ^bb3:
    vm.return %i6""")
for index in (-1, 0, 1, 2):
    add(f"br_table.{index}".replace("-", "minus"), "i", f"""^bb0:
        %i0 = vm.const.i32 {index}
        %i1 = vm.const.i32 10
        %i2 = vm.const.i32 20
        %i3 = vm.const.i32 30
        vm.br_table %i0 {{ default: ^bb1(%i1->%i4), 0: ^bb1(%i2->%i4), 1: ^bb1(%i3->%i4) }}
        ^bb1:
        vm.return %i4""")
add("break", "i", """^bb0:
    %i0 = vm.const.i32 1
    vm.break ^bb1(%i0->%i1)
    ^bb1:
    vm.cond_break %i0, ^bb2(%i1->%i2)
    ^bb2:
    vm.yield ^bb3(%i2->%i3)
    ^bb3:
    vm.trace "here", %i3
    vm.print "here", %i3
    vm.return %i3""", own="00000001")  # the binding never resumes a yield
add("trace.releases", "i", """^bb0:
    %r0 = vm.const.ref.rodata 0
    vm.trace "here", %R0
    %i0 = vm.cmp.nz.ref %r0
    vm.return %i0""", own="00000000")

# Failures
for code in (1, 3, 11, 16, 99):
    own = {99: "!INVALID_ARGUMENT"}.get(code)
    add(f"fail.{code}", "i", f"""^bb0:
        %i0 = vm.const.i32 {code}
        vm.fail %i0, "why"
        ^bb1:
        vm.return %i0""", own)
add("fail.0", "i", """^bb0:
    %i0 = vm.const.i32 0
    vm.fail %i0, "not this"
    ^bb1:
    vm.return %i0""")
add("fail.0.at.the.end", "i", """^bb0:
    %i0 = vm.const.i32 0
    vm.fail %i0, "nothing follows"
    """, own="!INTERNAL")

# Calls
add("wide", "il", """^bb0:
    %i0 = vm.add.i32 %i0, %i4
    %i2:3 = vm.sub.i64 %i2:3, %i6:7
    vm.return %i0, %i2""")
add("call.wide", "il", """^bb0:
    %i0 = vm.const.i32 1
    %i2:3 = vm.const.i64 5000000001
    %i4 = vm.const.i32 2
    %i6:7 = vm.const.i64 -5000000002
    %i8, %i10 = vm.call @wide(%i0, %i2, %i4, %i6)
    vm.return %i8, %i10""")
add("refs", "r", """^bb0:
    vm.return %R1""")
add("call.refs", "iii", """^bb0:
    %i0 = vm.const.i32 1
    %r0 = vm.const.ref.rodata 0
    %r1 = vm.call @refs(%r0, %i0, %R0)
    %i1 = vm.cmp.nz.ref %r0
    %i2 = vm.cmp.nz.ref %r1
    %i4:5 = vm.buffer.length %r1
    vm.return %i1, %i2, %i4""")
add("call.refs.moved.first", "ii", """^bb0:
    %i0 = vm.const.i32 1
    %r0 = vm.const.ref.rodata 0
    %r1 = vm.call @refs(%R0, %i0, %r0)
    %i1 = vm.cmp.nz.ref %r0
    %i2 = vm.cmp.nz.ref %r1
    vm.return %i1, %i2""")
add("deep", "i", """^bb0:
    %i1 = vm.const.i32 1
    %i2 = vm.cmp.nz.i32 %i0
    vm.cond_br %i2, ^bb1(), ^bb2()
    ^bb1:
    %i0 = vm.sub.i32 %i0, %i1
    %i0 = vm.call @deep(%i0)
    %i0 = vm.add.i32 %i0, %i1
    vm.return %i0
    ^bb2:
    vm.return %i0""")
add("call.deep", "i", """^bb0:
    %i0 = vm.const.i32 1000
    %i0 = vm.call @deep(%i0)
    vm.return %i0""")
add("call.too.deep", "i", """^bb0:
    %i0 = vm.const.i32 1000000
    %i0 = vm.call @deep(%i0)
    vm.return %i0""")
add("import.resolved", "ii", """^bb0:
    %i0 = vm.import.resolved @no.such
    %i1 = vm.import.resolved @yieldable_test.yield_n
    vm.return %i0, %i1""", own="00000000 00000001")
add("import.missing", "i", """^bb0:
    %i0 = vm.const.i32 1
    %i0 = vm.call @no.such(%i0)
    vm.return %i0""")
add("import.call", "i", """^bb0:
    %i0 = vm.const.i32 5
    %i1 = vm.const.i32 2
    %i2 = vm.call @yieldable_test.yield_n(%i0, %i1)
    vm.return %i2""", own="00000007")
add("import.variadic", "i", """^bb0:
    %i0 = vm.const.i32 5
    %i1 = vm.const.i32 2
    %i2 = vm.call.variadic @yieldable_test.yield_variadic_sum segments[3, 65535](%i0, %i0, %i1, %i1)
    vm.return %i2""", own="0000000e")
add("import.yieldable", "ii", """^bb0:
    %i0 = vm.const.i32 5
    %i1 = vm.const.i32 2
    vm.call.yieldable @yieldable_test.yield_n(%i0, %i1) -> ^bb1(%i2)
    ^bb1:
    vm.call.variadic.yieldable @yieldable_test.yield_variadic_sum segments[0, 65535](%i1) -> ^bb2(%i3)
    ^bb2:
    vm.return %i2, %i3""", own="00000007 00000002")

# Lists
add("list.numbers", "iilill", """^bb0:
    %i0 = vm.const.i32 0
    %i1 = vm.const.i32 4
    %r0 = vm.list.alloc %i1 : !vm.list<?>
    vm.list.reserve %r0, %i1
    vm.list.resize %r0, %i1
    %i2 = vm.const.i32 -7
    vm.list.set.i32 %r0, %i0, %i2
    %i3 = vm.const.i32 1
    %i4:5 = vm.const.i64 -5000000000
    vm.list.set.i64 %r0, %i3, %i4:5
    %i6 = vm.const.i32 2
    %i8 = vm.const.f32 1.5
    vm.list.set.f32 %r0, %i6, %i8
    %i9 = vm.const.i32 3
    %i10:11 = vm.const.f64 -2.25
    vm.list.set.f64 %r0, %i9, %i10:11
    %i12 = vm.list.size %r0
    %i13 = vm.list.get.i32 %r0, %i0
    %i14:15 = vm.list.get.i64 %r0, %i3
    %i16 = vm.list.get.f32 %r0, %i6
    %i18:19 = vm.list.get.f64 %r0, %i9
    %i20:21 = vm.list.get.f64 %r0, %i6
    %i16 = vm.bitcast.f32.i32 %i16
    %i18:19 = vm.bitcast.f64.i64 %i18:19
    %i20:21 = vm.bitcast.f64.i64 %i20:21
    vm.return %i12, %i13, %i14, %i16, %i18, %i20""".replace(
        "!vm.list<?>", "!vm.list<!vm.opaque>"))
add("list.convert", "iili", """^bb0:
    %i0 = vm.const.i32 0
    %i1 = vm.const.i32 1
    %r0 = vm.list.alloc %i1 : !vm.list<i8>
    vm.list.resize %r0, %i1
    %i2 = vm.const.i32 511
    vm.list.set.i32 %r0, %i0, %i2
    %i3 = vm.list.get.i32 %r0, %i0
    %i4:5 = vm.list.get.i64 %r0, %i0
    %i6 = vm.list.get.f32 %r0, %i0
    %i6 = vm.bitcast.f32.i32 %i6
    %i7 = vm.list.size %r0
    vm.return %i3, %i7, %i4, %i6""")
add("list.new.elements", "ii", """^bb0:
    %i0 = vm.const.i32 0
    %i1 = vm.const.i32 3
    %i2 = vm.const.i32 9
    %r0 = vm.list.alloc %i0 : !vm.list<i32>
    vm.list.resize %r0, %i1
    vm.list.set.i32 %r0, %i0, %i2
    vm.list.resize %r0, %i0
    vm.list.resize %r0, %i1
    %i3 = vm.list.get.i32 %r0, %i0
    %i4 = vm.list.size %r0
    vm.return %i3, %i4""")
for name, at in (("end", 1), ("negative", -1)):
    for op in ("get", "set"):
        line = ("%i2 = vm.list.get.i32 %r0, %i1" if op == "get"
                else "vm.list.set.i32 %r0, %i1, %i1")
        add(f"list.{op}.{name}", "i", f"""^bb0:
            %i0 = vm.const.i32 1
            %i1 = vm.const.i32 {at}
            %r0 = vm.list.alloc %i0 : !vm.list<i32>
            vm.list.resize %r0, %i0
            {line}
            vm.return %i0""")
add("list.null", "i", """^bb0:
    %r0 = vm.const.ref.zero
    %i0 = vm.list.size %r0
    vm.return %i0""")
add("list.of.another.type", "i", """^bb0:
    %r0 = vm.const.ref.rodata 0
    %i0 = vm.list.size %r0
    vm.return %i0""")
add("list.refs", "iiiii", """^bb0:
    %i0 = vm.const.i32 0
    %i1 = vm.const.i32 1
    %i2 = vm.const.i32 2
    %r0 = vm.list.alloc %i2 : !vm.list<!vm.opaque>
    vm.list.resize %r0, %i2
    %r1 = vm.const.ref.rodata 0
    vm.list.set.ref %r0, %i0, %R1
    %r2 = vm.list.get.ref %r0, %i0 : !vm.buffer
    %i3 = vm.cmp.nz.ref %r2
    %r3 = vm.list.get.ref %r0, %i1 : !vm.buffer
    %i4 = vm.cmp.nz.ref %r3
    %r3 = vm.list.get.ref %r0, %i0 : !vm.list<i32>
    %i5 = vm.cmp.nz.ref %r3
    %R3 = vm.list.get.ref %r0, %i0 : !vm.buffer
    %i6 = vm.cmp.nz.ref %r3
    %r3 = vm.list.get.ref %r0, %i0 : !vm.buffer
    %i7 = vm.cmp.nz.ref %r3
    vm.return %i3, %i4, %i5, %i6, %i7""")
add("list.ref.in.numbers", "i", """^bb0:
    %i0 = vm.const.i32 0
    %i1 = vm.const.i32 1
    %r0 = vm.list.alloc %i1 : !vm.list<i32>
    vm.list.resize %r0, %i1
    %r1 = vm.const.ref.rodata 0
    vm.list.set.ref %r0, %i0, %R1
    vm.return %i0""")
add("list.number.where.a.ref.is", "i", """^bb0:
    %i0 = vm.const.i32 0
    %i1 = vm.const.i32 1
    %r0 = vm.list.alloc %i1 : !vm.list<!vm.opaque>
    vm.list.resize %r0, %i1
    %r1 = vm.const.ref.rodata 0
    vm.list.set.ref %r0, %i0, %R1
    %i2 = vm.list.get.i32 %r0, %i0
    vm.return %i2""")
add("list.of.itself", "i", """^bb0:
    %i0 = vm.const.i32 0
    %i1 = vm.const.i32 1
    %r0 = vm.list.alloc %i1 : !vm.list<!vm.opaque>
    vm.list.resize %r0, %i1
    vm.list.set.ref %r0, %i0, %r0
    %i2 = vm.list.size %r0
    vm.return %i2""", own="00000001")  # IREE leaks the list
add("list.too.large", "i", """^bb0:
    %i0 = vm.const.i32 -1
    %r0 = vm.list.alloc %i0 : !vm.list<!vm.opaque>
    vm.return %i0""", own="!RESOURCE_EXHAUSTED")

# Buffers
add("buffer.loads", "iiiiilil", """^bb0:
    %r0 = vm.const.ref.rodata 1
    %i0:1 = vm.const.i64 0
    %i2:3 = vm.const.i64 1
    %i4 = vm.buffer.load.i8.u %r0, %i0:1
    %i5 = vm.buffer.load.i8.s %r0, %i0:1
    %i6 = vm.buffer.load.i16.u %r0, %i0:1
    %i7 = vm.buffer.load.i16.s %r0, %i0:1
    %i8 = vm.buffer.load.i32 %r0, %i0:1
    %i10:11 = vm.buffer.load.i64 %r0, %i0:1
    %i12 = vm.buffer.load.f32 %r0, %i2:3
    %i14:15 = vm.buffer.load.f64 %r0, %i2:3
    %i12 = vm.bitcast.f32.i32 %i12
    %i14:15 = vm.bitcast.f64.i64 %i14:15
    vm.return %i4, %i5, %i6, %i7, %i8, %i10, %i12, %i14""")
for kind, letter in (("i8", "i"), ("i16", "i"), ("i32", "i"), ("i64", "l"),
                     ("f32", "f"), ("f64", "d")):
    value = reg(4, letter)
    for op in ("store", "fill"):
        line = (f"vm.buffer.store.{kind} {value}, %r0, %i2:3"
                if op == "store" else
                f"vm.buffer.fill.{kind} %r0, %i2:3, %i2:3, {value}")
        body = "\n".join(constant(4, letter, 0x1234 if letter in "il"
                                  else -1.25))
        add(f"buffer.{op}.{kind}", "lll", f"""^bb0:
            %i0:1 = vm.const.i64 24
            %i2:3 = vm.const.i64 1
            %i8 = vm.const.i32 16
            %r0 = vm.buffer.alloc %i0:1, %i8
            {body}
            {line}
            %i10:11 = vm.const.i64 0
            %i12:13 = vm.buffer.load.i64 %r0, %i10:11
            %i10:11 = vm.const.i64 1
            %i14:15 = vm.buffer.load.i64 %r0, %i10:11
            %i16:17 = vm.buffer.length %r0
            vm.return %i12, %i14, %i16""")
        for name, at in (("end", 24), ("negative", -1)):
            add(f"buffer.{op}.{kind}.{name}", "i", f"""^bb0:
                %i0:1 = vm.const.i64 24
                %i2:3 = vm.const.i64 {at}
                %i8 = vm.const.i32 16
                %r0 = vm.buffer.alloc %i0:1, %i8
                {body}
                {line}
                vm.return %i8""", own="!OUT_OF_RANGE")
        add(f"buffer.{op}.{kind}.constant", "i", f"""^bb0:
            %i2:3 = vm.const.i64 0
            %r0 = vm.const.ref.rodata 0
            {body}
            {line}
            vm.return %i2""")
for kind in ("i8.u", "i8.s", "i16.u", "i16.s", "i32", "i64", "f32", "f64"):
    result = "%i4:5" if kind in ("i64", "f64") else "%i4"
    for name, at in (("end", 9), ("huge", 1 << 62), ("negative", -1)):
        add(f"buffer.load.{kind}.{name}", "i", f"""^bb0:
            %r0 = vm.const.ref.rodata 0
            %i2:3 = vm.const.i64 {at}
            {result} = vm.buffer.load.{kind} %r0, %i2:3
            vm.return %i2""", own="!OUT_OF_RANGE")
add("buffer.load.null", "i", """^bb0:
    %r0 = vm.const.ref.zero
    %i2:3 = vm.const.i64 0
    %i0 = vm.buffer.load.i8.u %r0, %i2:3
    vm.return %i0""")
add("buffer.hash", "ll", """^bb0:
    %r0 = vm.const.ref.rodata 1
    %i0:1 = vm.const.i64 0
    %i2:3 = vm.const.i64 16
    %i4:5 = vm.buffer.hash %r0, %i0:1, %i2:3
    %i2:3 = vm.const.i64 5
    %i6:7 = vm.buffer.hash %r0, %i0:1, %i2:3
    vm.return %i4, %i6""")
add("buffer.compare", "iii", """^bb0:
    %r0 = vm.const.ref.rodata 0
    %r1 = vm.const.ref.rodata 2
    %i0:1 = vm.const.i64 0
    %i2:3 = vm.const.i64 2
    %i4 = vm.buffer.compare %r0, %i0:1, %r0, %i0:1, %i2:3
    %i5 = vm.buffer.compare %r0, %i0:1, %r1, %i0:1, %i2:3
    %i6 = vm.buffer.compare %r0, %i0:1, %r1, %i0:1, %i0:1
    vm.return %i4, %i5, %i6""")
add("buffer.compare.end", "i", """^bb0:
    %r0 = vm.const.ref.rodata 0
    %r1 = vm.const.ref.rodata 2
    %i0:1 = vm.const.i64 0
    %i2:3 = vm.const.i64 3
    %i4 = vm.buffer.compare %r0, %i0:1, %r1, %i0:1, %i2:3
    vm.return %i4""")
add("buffer.clone.and.copy", "lll", """^bb0:
    %r0 = vm.const.ref.rodata 0
    %i0:1 = vm.const.i64 1
    %i2:3 = vm.const.i64 8
    %i4 = vm.const.i32 64
    %r1 = vm.buffer.clone %r0, %i0:1, %i2:3, %i4
    %i6:7 = vm.const.i64 0
    %i8:9 = vm.buffer.load.i64 %r1, %i6:7
    %i10:11 = vm.const.i64 2
    %i12:13 = vm.const.i64 5
    vm.buffer.copy %r0, %i0:1, %r1, %i10:11, %i12:13
    %i14:15 = vm.buffer.load.i64 %r1, %i6:7
    %i16:17 = vm.buffer.length %r1
    vm.return %i8, %i14, %i16""")
add("buffer.clone.end", "i", """^bb0:
    %r0 = vm.const.ref.rodata 0
    %i0:1 = vm.const.i64 2
    %i2:3 = vm.const.i64 8
    %i4 = vm.const.i32 1
    %r1 = vm.buffer.clone %r0, %i0:1, %i2:3, %i4
    vm.return %i4""")
add("buffer.copy.to.constant", "i", """^bb0:
    %r0 = vm.const.ref.rodata 0
    %i0:1 = vm.const.i64 0
    %i2:3 = vm.const.i64 1
    vm.buffer.copy %r0, %i0:1, %r0, %i0:1, %i2:3
    vm.return %i0""")
add("buffer.copy.end", "i", """^bb0:
    %i0:1 = vm.const.i64 4
    %i2:3 = vm.const.i64 2
    %i4 = vm.const.i32 1
    %r0 = vm.buffer.alloc %i0:1, %i4
    vm.buffer.copy %r0, %i2:3, %r0, %i2:3, %i0:1
    vm.return %i4""")
add("buffer.empty", "l", """^bb0:
    %i0:1 = vm.const.i64 0
    %i2 = vm.const.i32 16
    %r0 = vm.buffer.alloc %i0:1, %i2
    %i4:5 = vm.buffer.length %r0
    vm.buffer.fill.i8 %r0, %i0:1, %i0:1, %i2
    vm.return %i4""")
add("buffer.too.large", "i", """^bb0:
    %i0:1 = vm.const.i64 4611686018427387904
    %i2 = vm.const.i32 16
    %r0 = vm.buffer.alloc %i0:1, %i2
    vm.return %i2""", own="!RESOURCE_EXHAUSTED")
add("buffer.negative", "i", """^bb0:
    %i0:1 = vm.const.i64 -1
    %i2 = vm.const.i32 16
    %r0 = vm.buffer.alloc %i0:1, %i2
    vm.return %i2""", own="!RESOURCE_EXHAUSTED")

add("__init", "", """^bb0:
    vm.call @store_all()
    vm.return""")

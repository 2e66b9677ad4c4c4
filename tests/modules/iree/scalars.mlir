// SPDX-License-Identifier: Apache-2.0
// Functions that need no device: integers, floats, lists, buffers, globals,
// control flow and failures. tests/e2e/test_iree_reference.py calls each here and
// in IREE's own runtime.
module @scalars {
  func.func @addi(%a: i32, %b: i32) -> i32 { %0 = arith.addi %a, %b : i32 return %0 : i32 }
  func.func @subi(%a: i32, %b: i32) -> i32 { %0 = arith.subi %a, %b : i32 return %0 : i32 }
  func.func @muli(%a: i32, %b: i32) -> i32 { %0 = arith.muli %a, %b : i32 return %0 : i32 }
  func.func @divsi(%a: i32, %b: i32) -> i32 { %0 = arith.divsi %a, %b : i32 return %0 : i32 }
  func.func @divui(%a: i32, %b: i32) -> i32 { %0 = arith.divui %a, %b : i32 return %0 : i32 }
  func.func @remsi(%a: i32, %b: i32) -> i32 { %0 = arith.remsi %a, %b : i32 return %0 : i32 }
  func.func @remui(%a: i32, %b: i32) -> i32 { %0 = arith.remui %a, %b : i32 return %0 : i32 }
  func.func @andi(%a: i32, %b: i32) -> i32 { %0 = arith.andi %a, %b : i32 return %0 : i32 }
  func.func @ori(%a: i32, %b: i32) -> i32 { %0 = arith.ori %a, %b : i32 return %0 : i32 }
  func.func @xori(%a: i32, %b: i32) -> i32 { %0 = arith.xori %a, %b : i32 return %0 : i32 }
  func.func @shli(%a: i32, %b: i32) -> i32 { %0 = arith.shli %a, %b : i32 return %0 : i32 }
  func.func @shrsi(%a: i32, %b: i32) -> i32 { %0 = arith.shrsi %a, %b : i32 return %0 : i32 }
  func.func @shrui(%a: i32, %b: i32) -> i32 { %0 = arith.shrui %a, %b : i32 return %0 : i32 }
  func.func @minsi(%a: i32, %b: i32) -> i32 { %0 = arith.minsi %a, %b : i32 return %0 : i32 }
  func.func @maxui(%a: i32, %b: i32) -> i32 { %0 = arith.maxui %a, %b : i32 return %0 : i32 }
  func.func @fmai(%a: i32, %b: i32, %c: i32) -> i32 { %0 = arith.muli %a, %b : i32 %1 = arith.addi %0, %c : i32 return %1 : i32 }
  func.func @absi(%a: i32) -> i32 { %0 = math.absi %a : i32 return %0 : i32 }
  func.func @ctlz(%a: i32) -> i32 { %0 = math.ctlz %a : i32 return %0 : i32 }
  func.func @addi64(%a: i64, %b: i64) -> i64 { %0 = arith.addi %a, %b : i64 return %0 : i64 }
  func.func @subi64(%a: i64, %b: i64) -> i64 { %0 = arith.subi %a, %b : i64 return %0 : i64 }
  func.func @muli64(%a: i64, %b: i64) -> i64 { %0 = arith.muli %a, %b : i64 return %0 : i64 }
  func.func @divsi64(%a: i64, %b: i64) -> i64 { %0 = arith.divsi %a, %b : i64 return %0 : i64 }
  func.func @divui64(%a: i64, %b: i64) -> i64 { %0 = arith.divui %a, %b : i64 return %0 : i64 }
  func.func @remsi64(%a: i64, %b: i64) -> i64 { %0 = arith.remsi %a, %b : i64 return %0 : i64 }
  func.func @shli64(%a: i64, %b: i64) -> i64 { %0 = arith.shli %a, %b : i64 return %0 : i64 }
  func.func @shrsi64(%a: i64, %b: i64) -> i64 { %0 = arith.shrsi %a, %b : i64 return %0 : i64 }
  func.func @shrui64(%a: i64, %b: i64) -> i64 { %0 = arith.shrui %a, %b : i64 return %0 : i64 }
  func.func @ctlz64(%a: i64) -> i64 { %0 = math.ctlz %a : i64 return %0 : i64 }
  func.func @maxsi64(%a: i64, %b: i64) -> i64 { %0 = arith.maxsi %a, %b : i64 return %0 : i64 }
  func.func @lts(%a: i32, %b: i32) -> i32 { %0 = arith.cmpi slt, %a, %b : i32 %1 = arith.extui %0 : i1 to i32 return %1 : i32 }
  func.func @ltu(%a: i32, %b: i32) -> i32 { %0 = arith.cmpi ult, %a, %b : i32 %1 = arith.extui %0 : i1 to i32 return %1 : i32 }
  func.func @ge64(%a: i64, %b: i64) -> i32 { %0 = arith.cmpi sge, %a, %b : i64 %1 = arith.extui %0 : i1 to i32 return %1 : i32 }
  func.func @select64(%c: i32, %a: i64, %b: i64) -> i64 {
    %z = arith.constant 0 : i32
    %0 = arith.cmpi ne, %c, %z : i32
    %1 = arith.select %0, %a, %b : i64
    return %1 : i64
  }
  func.func @sext8(%a: i32) -> i32 { %0 = arith.trunci %a : i32 to i8 %1 = arith.extsi %0 : i8 to i32 return %1 : i32 }
  func.func @zext16(%a: i32) -> i32 { %0 = arith.trunci %a : i32 to i16 %1 = arith.extui %0 : i16 to i32 return %1 : i32 }
  func.func @sext64(%a: i32) -> i64 { %0 = arith.extsi %a : i32 to i64 return %0 : i64 }
  func.func @zext64(%a: i32) -> i64 { %0 = arith.extui %a : i32 to i64 return %0 : i64 }
  func.func @trunc64(%a: i64) -> i32 { %0 = arith.trunci %a : i64 to i32 return %0 : i32 }
  func.func @addi8(%a: i8, %b: i8) -> i8 { %0 = arith.addi %a, %b : i8 return %0 : i8 }
  func.func @addi16(%a: i16, %b: i16) -> i16 { %0 = arith.addi %a, %b : i16 return %0 : i16 }

  func.func @addf(%a: f32, %b: f32) -> f32 { %0 = arith.addf %a, %b : f32 return %0 : f32 }
  func.func @subf(%a: f32, %b: f32) -> f32 { %0 = arith.subf %a, %b : f32 return %0 : f32 }
  func.func @mulf(%a: f32, %b: f32) -> f32 { %0 = arith.mulf %a, %b : f32 return %0 : f32 }
  func.func @divf(%a: f32, %b: f32) -> f32 { %0 = arith.divf %a, %b : f32 return %0 : f32 }
  func.func @remf(%a: f32, %b: f32) -> f32 { %0 = arith.remf %a, %b : f32 return %0 : f32 }
  func.func @fmaf(%a: f32, %b: f32, %c: f32) -> f32 { %0 = math.fma %a, %b, %c : f32 return %0 : f32 }
  func.func @negf(%a: f32) -> f32 { %0 = arith.negf %a : f32 return %0 : f32 }
  func.func @absf(%a: f32) -> f32 { %0 = math.absf %a : f32 return %0 : f32 }
  func.func @ceilf(%a: f32) -> f32 { %0 = math.ceil %a : f32 return %0 : f32 }
  func.func @floorf(%a: f32) -> f32 { %0 = math.floor %a : f32 return %0 : f32 }
  func.func @roundf(%a: f32) -> f32 { %0 = math.round %a : f32 return %0 : f32 }
  func.func @roundevenf(%a: f32) -> f32 { %0 = math.roundeven %a : f32 return %0 : f32 }
  func.func @sqrtf(%a: f32) -> f32 { %0 = math.sqrt %a : f32 return %0 : f32 }
  func.func @rsqrtf(%a: f32) -> f32 { %0 = math.rsqrt %a : f32 return %0 : f32 }
  func.func @expf(%a: f32) -> f32 { %0 = math.exp %a : f32 return %0 : f32 }
  func.func @exp2f(%a: f32) -> f32 { %0 = math.exp2 %a : f32 return %0 : f32 }
  func.func @expm1f(%a: f32) -> f32 { %0 = math.expm1 %a : f32 return %0 : f32 }
  func.func @logf(%a: f32) -> f32 { %0 = math.log %a : f32 return %0 : f32 }
  func.func @log10f(%a: f32) -> f32 { %0 = math.log10 %a : f32 return %0 : f32 }
  func.func @log1pf(%a: f32) -> f32 { %0 = math.log1p %a : f32 return %0 : f32 }
  func.func @log2f(%a: f32) -> f32 { %0 = math.log2 %a : f32 return %0 : f32 }
  func.func @powf(%a: f32, %b: f32) -> f32 { %0 = math.powf %a, %b : f32 return %0 : f32 }
  func.func @sinf(%a: f32) -> f32 { %0 = math.sin %a : f32 return %0 : f32 }
  func.func @cosf(%a: f32) -> f32 { %0 = math.cos %a : f32 return %0 : f32 }
  func.func @tanhf(%a: f32) -> f32 { %0 = math.tanh %a : f32 return %0 : f32 }
  func.func @erff(%a: f32) -> f32 { %0 = math.erf %a : f32 return %0 : f32 }
  func.func @atanf(%a: f32) -> f32 { %0 = math.atan %a : f32 return %0 : f32 }
  func.func @atan2f(%a: f32, %b: f32) -> f32 { %0 = math.atan2 %a, %b : f32 return %0 : f32 }
  func.func @ltf(%a: f32, %b: f32) -> i32 { %0 = arith.cmpf olt, %a, %b : f32 %1 = arith.extui %0 : i1 to i32 return %1 : i32 }
  func.func @ultf(%a: f32, %b: f32) -> i32 { %0 = arith.cmpf ult, %a, %b : f32 %1 = arith.extui %0 : i1 to i32 return %1 : i32 }
  func.func @eqf(%a: f32, %b: f32) -> i32 { %0 = arith.cmpf oeq, %a, %b : f32 %1 = arith.extui %0 : i1 to i32 return %1 : i32 }
  func.func @sitof(%a: i32) -> f32 { %0 = arith.sitofp %a : i32 to f32 return %0 : f32 }
  func.func @uitof(%a: i32) -> f32 { %0 = arith.uitofp %a : i32 to f32 return %0 : f32 }
  func.func @ftosi(%a: f32) -> i32 { %0 = arith.fptosi %a : f32 to i32 return %0 : i32 }
  func.func @ftoui(%a: f32) -> i32 { %0 = arith.fptoui %a : f32 to i32 return %0 : i32 }
  func.func @bits(%a: f32) -> i32 { %0 = arith.bitcast %a : f32 to i32 return %0 : i32 }
  func.func @unbits(%a: i32) -> f32 { %0 = arith.bitcast %a : i32 to f32 return %0 : f32 }
  func.func @addd(%a: i64, %b: i64) -> i64 {
    %x = arith.bitcast %a : i64 to f64
    %y = arith.bitcast %b : i64 to f64
    %0 = arith.addf %x, %y : f64
    %1 = arith.bitcast %0 : f64 to i64
    return %1 : i64
  }
  func.func @divd(%a: i64, %b: i64) -> i64 {
    %x = arith.bitcast %a : i64 to f64
    %y = arith.bitcast %b : i64 to f64
    %0 = arith.divf %x, %y : f64
    %1 = arith.bitcast %0 : f64 to i64
    return %1 : i64
  }
  func.func @sqrtd(%a: i64) -> i64 {
    %x = arith.bitcast %a : i64 to f64
    %0 = math.sqrt %x : f64
    %1 = arith.bitcast %0 : f64 to i64
    return %1 : i64
  }
  func.func @expd(%a: i64) -> i64 {
    %x = arith.bitcast %a : i64 to f64
    %0 = math.exp %x : f64
    %1 = arith.bitcast %0 : f64 to i64
    return %1 : i64
  }
  func.func @doubled(%a: f64) -> f64 { %0 = arith.addf %a, %a : f64 return %0 : f64 }

  func.func @fact(%n: i64) -> i64 {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %r:2 = scf.while (%i = %n, %p = %c1) : (i64, i64) -> (i64, i64) {
      %c = arith.cmpi sgt, %i, %c0 : i64
      scf.condition(%c) %i, %p : i64, i64
    } do {
    ^bb0(%i: i64, %p: i64):
      %q = arith.muli %p, %i : i64
      %j = arith.subi %i, %c1 : i64
      scf.yield %j, %q : i64, i64
    }
    return %r#1 : i64
  }
  func.func @gcd(%a: i32, %b: i32) -> i32 {
    %z = arith.constant 0 : i32
    %r:2 = scf.while (%x = %a, %y = %b) : (i32, i32) -> (i32, i32) {
      %c = arith.cmpi ne, %y, %z : i32
      scf.condition(%c) %x, %y : i32, i32
    } do {
    ^bb0(%x: i32, %y: i32):
      %m = arith.remui %x, %y : i32
      scf.yield %y, %m : i32, i32
    }
    return %r#0 : i32
  }
  func.func @collatz(%n: i64) -> i32 {
    %c1 = arith.constant 1 : i64
    %c3 = arith.constant 3 : i64
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i64
    %r:2 = scf.while (%x = %n, %s = %z) : (i64, i32) -> (i64, i32) {
      %c = arith.cmpi ne, %x, %c1 : i64
      scf.condition(%c) %x, %s : i64, i32
    } do {
    ^bb0(%x: i64, %s: i32):
      %odd = arith.andi %x, %c1 : i64
      %even = arith.cmpi eq, %odd, %zero : i64
      %next = scf.if %even -> i64 {
        %h = arith.shrui %x, %c1 : i64
        scf.yield %h : i64
      } else {
        %t = arith.muli %x, %c3 : i64
        %u = arith.addi %t, %c1 : i64
        scf.yield %u : i64
      }
      %n1 = arith.addi %s, %one : i32
      scf.yield %next, %n1 : i64, i32
    }
    return %r#1 : i32
  }
  func.func @pick(%n: i32) -> i32 {
    %i = arith.index_cast %n : i32 to index
    %r = scf.index_switch %i -> i32
    case 0 { %a = arith.constant 10 : i32 scf.yield %a : i32 }
    case 1 { %a = arith.constant 21 : i32 scf.yield %a : i32 }
    case 2 { %a = arith.constant 32 : i32 scf.yield %a : i32 }
    default { %a = arith.constant -1 : i32 scf.yield %a : i32 }
    return %r : i32
  }
  util.func private @wide(%a: i32, %b: i64, %c: i32, %d: i64) -> (i64, i32, i64) attributes {inlining_policy = #util.inline.never} {
    %0 = arith.addi %b, %d : i64
    %1 = arith.muli %a, %c : i32
    %2 = arith.subi %b, %d : i64
    util.return %0, %1, %2 : i64, i32, i64
  }
  util.func public @across(%a: i32, %b: i64, %c: i32, %d: i64) -> (i64, i32, i64) {
    %0:3 = util.call @wide(%a, %b, %c, %d) : (i32, i64, i32, i64) -> (i64, i32, i64)
    %1:3 = util.call @wide(%0#1, %0#2, %a, %0#0) : (i32, i64, i32, i64) -> (i64, i32, i64)
    util.return %1#0, %1#1, %1#2 : i64, i32, i64
  }
  util.global private mutable @count = 0 : i32
  util.global private mutable @wide_total = 5000000000 : i64
  util.global private mutable @mean = 1.5 : f32
  func.func @count_up(%n: i32) -> i32 {
    %0 = util.global.load @count : i32
    %1 = arith.addi %0, %n : i32
    util.global.store %1, @count : i32
    return %1 : i32
  }
  func.func @total_up(%n: i64) -> i64 {
    %0 = util.global.load @wide_total : i64
    %1 = arith.addi %0, %n : i64
    util.global.store %1, @wide_total : i64
    return %1 : i64
  }
  func.func @mean_up(%n: f32) -> f32 {
    %0 = util.global.load @mean : f32
    %h = arith.constant 0.5 : f32
    %1 = arith.addf %0, %n : f32
    %2 = arith.mulf %1, %h : f32
    util.global.store %2, @mean : f32
    return %2 : f32
  }

  func.func @list_sum(%l: !util.list<?>) -> i32 attributes {iree.reflection = {"iree.abi" = "{\"a\":[[\"named\",\"l\",[\"stuple\",\"i32\",\"i32\",\"i32\"]]],\"r\":[\"i32\"],\"v\":1}"}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = util.list.size %l : !util.list<?>
    %z = arith.constant 0 : i32
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %z) -> i32 {
      %v = util.list.get %l[%i] : !util.list<?> -> i32
      %b = arith.addi %a, %v : i32
      scf.yield %b : i32
    }
    return %s : i32
  }
  func.func @list_reverse(%l: !util.list<?>) -> !util.list<?> attributes {iree.reflection = {"iree.abi" = "{\"a\":[[\"named\",\"l\",[\"stuple\",\"i64\",\"f32\",\"i32\"]]],\"r\":[[\"stuple\",\"i32\",\"f32\",\"i64\"]],\"v\":1}"}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %a = util.list.get %l[%c0] : !util.list<?> -> i64
    %b = util.list.get %l[%c1] : !util.list<?> -> f32
    %c = util.list.get %l[%c2] : !util.list<?> -> i32
    %o = util.list.create %c3 : !util.list<?>
    util.list.resize %o, %c3 : !util.list<?>
    util.list.set %o[%c0], %c : i32 -> !util.list<?>
    util.list.set %o[%c1], %b : f32 -> !util.list<?>
    util.list.set %o[%c2], %a : i64 -> !util.list<?>
    return %o : !util.list<?>
  }
  func.func @list_grow(%n: i32) -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = arith.index_cast %n : i32 to index
    %l = util.list.create %m : !util.list<i32>
    util.list.resize %l, %m : !util.list<i32>
    scf.for %i = %c0 to %m step %c1 {
      %v = arith.index_cast %i : index to i32
      %w = arith.muli %v, %v : i32
      util.list.set %l[%i], %w : !util.list<i32>
    }
    %last = arith.subi %m, %c1 : index
    %r = util.list.get %l[%last] : !util.list<i32>
    return %r : i32
  }

  func.func @buffer_bytes(%v: i32, %at: i32) -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %z = arith.constant 7 : i8
    %b = util.buffer.alloc uninitialized : !util.buffer{%c16}
    util.buffer.fill %z, %b[%c0 for %c16] : i8 -> !util.buffer{%c16}
    util.buffer.store %v, %b[%c4 for %c4] : i32 -> !util.buffer{%c16}
    %i = arith.index_cast %at : i32 to index
    %e = util.buffer.load %b[%i for %c1] : !util.buffer{%c16} -> i8
    %r = arith.extsi %e : i8 to i32
    return %r : i32
  }
  func.func @buffer_copy(%v: i64) -> i64 {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %b = util.buffer.alloc uninitialized : !util.buffer{%c16}
    %d = util.buffer.alloc uninitialized : !util.buffer{%c16}
    util.buffer.store %v, %b[%c0 for %c8] : i64 -> !util.buffer{%c16}
    util.buffer.copy %b[%c0], %d[%c8], %c8 : !util.buffer{%c16} -> !util.buffer{%c16}
    %r = util.buffer.load %d[%c8 for %c8] : !util.buffer{%c16} -> i64
    return %r : i64
  }
  func.func @buffer_compare(%v: i32, %w: i32) -> i32 {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %b = util.buffer.alloc uninitialized : !util.buffer{%c4}
    %d = util.buffer.alloc uninitialized : !util.buffer{%c4}
    util.buffer.store %v, %b[%c0 for %c4] : i32 -> !util.buffer{%c4}
    util.buffer.store %w, %d[%c0 for %c4] : i32 -> !util.buffer{%c4}
    %e = util.buffer.compare %b[%c0], %d[%c0], %c4 : !util.buffer{%c4}, !util.buffer{%c4}
    %r = arith.extui %e : i1 to i32
    return %r : i32
  }

  func.func @positive(%a: i32) -> i32 {
    %z = arith.constant 0 : i32
    %c = arith.cmpi sgt, %a, %z : i32
    cf.assert %c, "not positive"
    return %a : i32
  }
}

// SPDX-License-Identifier: Apache-2.0
// Control flow, scalars beside tensors, several results, and state. Each
// function is called with the arguments of the `// call` lines above it, in the
// order of the file: tests/e2e/iree_programs.py.
module @control {
  util.global private mutable @count = dense<0> : tensor<i32>
  util.global private mutable @total = dense<0.0> : tensor<4xf32>
  util.global private mutable @scalar = 100 : i64
  util.global private mutable @seen : tensor<?xf32>
  util.global private mutable @calls = 0 : i32
  util.global private @table = dense<[10, 20, 30, 40]> : tensor<4xi32>

  // call 4xf32 =1
  // call 4xf32 =0
  func.func @either(%a: tensor<4xf32>, %p: i32) -> tensor<4xf32> {
    %c0 = arith.constant 0 : i32
    %t = arith.cmpi ne, %p, %c0 : i32
    %0 = scf.if %t -> tensor<4xf32> {
      %x = arith.addf %a, %a : tensor<4xf32>
      scf.yield %x : tensor<4xf32>
    } else {
      %x = math.exp %a : tensor<4xf32>
      scf.yield %x : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
  // call 3xf32 =0
  // call 3xf32 =1
  // call 3xf32 =7
  func.func @power(%a: tensor<?xf32>, %n: i32) -> tensor<?xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %k = arith.index_cast %n : i32 to index
    %0 = scf.for %i = %c0 to %k step %c1 iter_args(%x = %a) -> tensor<?xf32> {
      %y = arith.mulf %x, %a : tensor<?xf32>
      scf.yield %y : tensor<?xf32>
    }
    return %0 : tensor<?xf32>
  }
  // call 4xf32~0.1..1 =100.0
  func.func @doubled_until(%a: tensor<4xf32>, %limit: f32) -> (tensor<4xf32>, i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %z = arith.constant dense<0.0> : tensor<f32>
    %0:2 = scf.while (%x = %a, %n = %c0) : (tensor<4xf32>, i32) -> (tensor<4xf32>, i32) {
      %s = linalg.reduce ins(%x : tensor<4xf32>) outs(%z : tensor<f32>) dimensions = [0]
        (%p: f32, %q: f32) { %t = arith.addf %p, %q : f32 linalg.yield %t : f32 }
      %v = tensor.extract %s[] : tensor<f32>
      %c = arith.cmpf olt, %v, %limit : f32
      scf.condition(%c) %x, %n : tensor<4xf32>, i32
    } do {
    ^bb0(%x: tensor<4xf32>, %n: i32):
      %y = arith.addf %x, %x : tensor<4xf32>
      %m = arith.addi %n, %c1 : i32
      scf.yield %y, %m : tensor<4xf32>, i32
    }
    return %0#0, %0#1 : tensor<4xf32>, i32
  }
  // call =0
  // call =12
  func.func @fibonacci(%n: i32) -> tensor<2xi64> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %k = arith.index_cast %n : i32 to index
    %a = arith.constant 0 : i64
    %b = arith.constant 1 : i64
    %0:2 = scf.for %i = %c0 to %k step %c1 iter_args(%x = %a, %y = %b) -> (i64, i64) {
      %s = arith.addi %x, %y : i64
      scf.yield %y, %s : i64, i64
    }
    %1 = tensor.from_elements %0#0, %0#1 : tensor<2xi64>
    return %1 : tensor<2xi64>
  }
  // call =0 4xi32 4xi32
  // call =1 4xi32 4xi32
  // call =9 4xi32 4xi32
  func.func @switch(%n: i32, %a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xi32> {
    cf.switch %n : i32, [default: ^other, 0: ^sum, 1: ^difference]
  ^sum:
    %0 = arith.addi %a, %b : tensor<4xi32>
    return %0 : tensor<4xi32>
  ^difference:
    %1 = arith.subi %a, %b : tensor<4xi32>
    return %1 : tensor<4xi32>
  ^other:
    return %b : tensor<4xi32>
  }
  // call 2x2xf32
  func.func @both(%a: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
    %0 = arith.addf %a, %a : tensor<2x2xf32>
    %1 = arith.mulf %a, %a : tensor<2x2xf32>
    return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
  }
  // call 3x5xf32 =2.5 =7 =-9
  func.func @mixed(%a: tensor<?x?xf32>, %f: f32, %i: i32, %j: i64) -> (f32, tensor<?x?xf32>, i64, tensor<2xi32>, i32) {
    %0 = arith.negf %a : tensor<?x?xf32>
    %1 = arith.addf %f, %f : f32
    %2 = arith.muli %j, %j : i64
    %3 = tensor.from_elements %i, %i : tensor<2xi32>
    %4 = arith.addi %i, %i : i32
    return %1, %0, %2, %3, %4 : f32, tensor<?x?xf32>, i64, tensor<2xi32>, i32
  }
  // call 4xf32
  func.func @outputs(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %0 = arith.addf %a, %a : tensor<4xf32>
    %1 = arith.mulf %a, %a : tensor<4xf32>
    %2 = arith.subf %1, %a : tensor<4xf32>
    %3 = math.floor %a : tensor<4xf32>
    %4 = math.absf %a : tensor<4xf32>
    return %0, %1, %2, %a, %3, %4, %0, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  // call
  func.func @nothing() { return }
  // call 3xf32
  func.func @swallow(%a: tensor<3xf32>) { return }
  // call 6xf32
  func.func @through(%a: tensor<6xf32>) -> tensor<6xf32> {
    %0 = call @inner(%a) : (tensor<6xf32>) -> tensor<6xf32>
    %1 = call @inner(%0) : (tensor<6xf32>) -> tensor<6xf32>
    return %1 : tensor<6xf32>
  }
  func.func private @inner(%a: tensor<6xf32>) -> tensor<6xf32> attributes {inlining_policy = #util.inline.never} {
    %0 = arith.mulf %a, %a : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
  // call =1
  // call =3
  func.func @lookup(%i: i32) -> i32 {
    %t = util.global.load @table : tensor<4xi32>
    %k = arith.index_cast %i : i32 to index
    %0 = tensor.extract %t[%k] : tensor<4xi32>
    return %0 : i32
  }
  // call
  // call
  // call
  func.func @next() -> tensor<i32> {
    %a = util.global.load @count : tensor<i32>
    %c1 = arith.constant dense<1> : tensor<i32>
    %0 = arith.addi %a, %c1 : tensor<i32>
    util.global.store %0, @count : tensor<i32>
    return %0 : tensor<i32>
  }
  // call 4xf32
  // call 4xf32
  // call 4xf32
  func.func @accumulate(%a: tensor<4xf32>) -> tensor<4xf32> {
    %t = util.global.load @total : tensor<4xf32>
    %0 = arith.addf %t, %a : tensor<4xf32>
    util.global.store %0, @total : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  // call
  func.func @total_so_far() -> tensor<4xf32> {
    %t = util.global.load @total : tensor<4xf32>
    return %t : tensor<4xf32>
  }
  // call =5
  // call =-7
  func.func @add_scalar(%v: i64) -> i64 {
    %t = util.global.load @scalar : i64
    %0 = arith.addi %t, %v : i64
    util.global.store %0, @scalar : i64
    return %0 : i64
  }
  // call 3xf32
  // call 5xf32
  func.func @keep(%a: tensor<?xf32>) -> i32 {
    %c1 = arith.constant 1 : i32
    util.global.store %a, @seen : tensor<?xf32>
    %n = util.global.load @calls : i32
    %m = arith.addi %n, %c1 : i32
    util.global.store %m, @calls : i32
    return %m : i32
  }
  // call
  func.func @kept() -> tensor<?xf32> {
    %0 = util.global.load @seen : tensor<?xf32>
    return %0 : tensor<?xf32>
  }
  // call 3x4xf32
  func.func @in_place(%a: tensor<3x4xf32>) -> tensor<3x4xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a) -> tensor<3x4xf32> {
      %r = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
      %s = arith.mulf %r, %r : tensor<4xf32>
      %y = tensor.insert_slice %s into %x[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<3x4xf32>
      scf.yield %y : tensor<3x4xf32>
    }
    return %0 : tensor<3x4xf32>
  }
}

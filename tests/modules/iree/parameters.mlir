// SPDX-License-Identifier: Apache-2.0
// Weights that are loaded by name; tests/e2e/test_iree_parameters.py writes the
// archives. A mutable weight starts as the archive says; the archive stays as
// it is.
module @parameters {
  util.global private @weight = #flow.parameter.named<"model"::"weight"> : tensor<4x2xf32>
  util.global private @bias = #flow.parameter.named<"model"::"bias"> : tensor<2xf32>
  util.global private @table = #flow.parameter.named<"tables"::"table"> : tensor<64x3xi32>
  util.global private @flags = #flow.parameter.named<"tables"::"flags"> : tensor<7xi8>
  util.global private mutable @state = #flow.parameter.named<"model"::"state"> : tensor<3xi32>
  util.global private mutable @total = #flow.parameter.named<"model"::"total"> : tensor<5xf32>

  func.func @layer(%x: tensor<?x4xf32>) -> tensor<?x2xf32> {
    %w = util.global.load @weight : tensor<4x2xf32>
    %b = util.global.load @bias : tensor<2xf32>
    %c0 = arith.constant 0 : index
    %n = tensor.dim %x, %c0 : tensor<?x4xf32>
    %e = tensor.empty(%n) : tensor<?x2xf32>
    %i = linalg.broadcast ins(%b : tensor<2xf32>) outs(%e : tensor<?x2xf32>) dimensions = [0]
    %0 = linalg.matmul ins(%x, %w : tensor<?x4xf32>, tensor<4x2xf32>) outs(%i : tensor<?x2xf32>) -> tensor<?x2xf32>
    return %0 : tensor<?x2xf32>
  }
  func.func @row(%i: i32) -> tensor<3xi32> {
    %t = util.global.load @table : tensor<64x3xi32>
    %k = arith.index_cast %i : i32 to index
    %0 = tensor.extract_slice %t[%k, 0] [1, 3] [1, 1] : tensor<64x3xi32> to tensor<3xi32>
    return %0 : tensor<3xi32>
  }
  func.func @all_flags() -> tensor<7xi8> {
    %0 = util.global.load @flags : tensor<7xi8>
    return %0 : tensor<7xi8>
  }
  func.func @add_state(%x: tensor<3xi32>) -> tensor<3xi32> {
    %s = util.global.load @state : tensor<3xi32>
    %0 = arith.addi %s, %x : tensor<3xi32>
    util.global.store %0, @state : tensor<3xi32>
    return %0 : tensor<3xi32>
  }
  func.func @get_total() -> tensor<5xf32> {
    %0 = util.global.load @total : tensor<5xf32>
    return %0 : tensor<5xf32>
  }
}

// SPDX-License-Identifier: Apache-2.0
// Small: what a call costs when there is nothing to compute.
module @multiply {
  func.func @run(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    %0 = arith.mulf %a, %b : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

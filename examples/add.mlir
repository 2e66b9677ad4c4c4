// SPDX-License-Identifier: Apache-2.0
//
// The smallest thing worth calling: two tensors of four floats, added.
//
//   farcall compile examples/add.mlir -o add.so
module {
  func.func @add(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    %sum = arith.addf %a, %b : tensor<4xf32>
    return %sum : tensor<4xf32>
  }
}

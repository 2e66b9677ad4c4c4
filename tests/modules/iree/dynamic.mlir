// SPDX-License-Identifier: Apache-2.0
// Dims that only the caller can make agree; tests/e2e/test_shapes.py makes them
// differ. Compiled code checks each against its own argument, not the others'.
module @dynamic {
  func.func @add3(%a: tensor<?x3xf32>, %b: tensor<?x3xf32>) -> tensor<?x3xf32> { %0 = arith.addf %a, %b : tensor<?x3xf32> return %0 : tensor<?x3xf32> }
  func.func @addi(%a: tensor<?x3xi32>, %b: tensor<?x3xi32>) -> tensor<?x3xi32> { %0 = arith.addi %a, %b : tensor<?x3xi32> return %0 : tensor<?x3xi32> }
  func.func @matmul(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0.0 : f32
    %m = tensor.dim %a, %c0 : tensor<?x?xf32>
    %n = tensor.dim %b, %c1 : tensor<?x?xf32>
    %e = tensor.empty(%m, %n) : tensor<?x?xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
    %0 = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
    return %0 : tensor<?x?xf32>
  }
}

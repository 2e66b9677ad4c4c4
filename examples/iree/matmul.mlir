// SPDX-License-Identifier: Apache-2.0
//
// A times B, for any sizes that fit each other.
//
// Kernels compute addresses from the sizes they are given and do not compare
// them: that is what the assertion is for. It becomes bytecode in which farcall
// sees that the dims must be equal: a call where they differ answers 422.
module @matmul {
  func.func @matmul(%a: tensor<?x?xf32> {iree.abi.name = "a"},
                    %b: tensor<?x?xf32> {iree.abi.name = "b"})
      -> tensor<?x?xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %m = tensor.dim %a, %c0 : tensor<?x?xf32>
    %k = tensor.dim %a, %c1 : tensor<?x?xf32>
    %k_too = tensor.dim %b, %c0 : tensor<?x?xf32>
    %n = tensor.dim %b, %c1 : tensor<?x?xf32>
    %fits = arith.cmpi eq, %k, %k_too : index
    cf.assert %fits, "'b' must have as many rows as 'a' has columns"
    %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
    %start = linalg.fill ins(%zero : f32)
        outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
    %product = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>)
        outs(%start : tensor<?x?xf32>) -> tensor<?x?xf32>
    return %product : tensor<?x?xf32>
  }
}

// SPDX-License-Identifier: Apache-2.0
func.func @matmul(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %b, %c1 : tensor<?x?xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
func.func @add(%a: tensor<?x3xf32>, %b: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %r = arith.addf %a, %b : tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}
func.func @asserted(%a: tensor<?x3xf32>, %b: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : tensor<?x3xf32>
  %n = tensor.dim %b, %c0 : tensor<?x3xf32>
  %eq = arith.cmpi eq, %m, %n : index
  cf.assert %eq, "the rows of a and b differ"
  %r = arith.addf %a, %b : tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}
func.func @sometimes(%a: tensor<?x3xf32>, %b: tensor<?x3xf32>, %check: i32) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %m = tensor.dim %a, %c0 : tensor<?x3xf32>
  %n = tensor.dim %b, %c0 : tensor<?x3xf32>
  %eq = arith.cmpi eq, %m, %n : index
  %wanted = arith.cmpi ne, %check, %zero : i32
  scf.if %wanted {
    cf.assert %eq, "the rows of a and b differ"
  }
  %r = arith.addf %a, %a : tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}
func.func @square(%a: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %a, %c1 : tensor<?x?xf32>
  %eq = arith.cmpi eq, %m, %n : index
  cf.assert %eq, "a is not square"
  %r = arith.addf %a, %a : tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
func.func @inner(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %k = tensor.dim %a, %c1 : tensor<?x?xf32>
  %l = tensor.dim %b, %c0 : tensor<?x?xf32>
  %n = tensor.dim %b, %c1 : tensor<?x?xf32>
  %eq = arith.cmpi eq, %k, %l : index
  cf.assert %eq, "a has as many columns as b has rows"
  %z = arith.constant 0.0 : f32
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

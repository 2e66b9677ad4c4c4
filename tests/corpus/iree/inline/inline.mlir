// Compiled for the execution model inline-dynamic: hal_inline and hal_loader.
func.func @mul4(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %r = arith.mulf %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func @matmul(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %b, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%i : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
util.global private mutable @count = dense<0> : tensor<2xi32>
func.func @next(%by: tensor<2xi32>) -> tensor<2xi32> {
  %old = util.global.load @count : tensor<2xi32>
  %new = arith.addi %old, %by : tensor<2xi32>
  util.global.store %new, @count : tensor<2xi32>
  return %new : tensor<2xi32>
}
func.func @same(%a: tensor<3xi8>) -> tensor<3xi8> {
  return %a : tensor<3xi8>
}
func.func @table(%a: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant dense<[1.5, 2.5, 3.5, 4.5]> : tensor<4xf32>
  %r = arith.addf %a, %c : tensor<4xf32>
  return %r : tensor<4xf32>
}

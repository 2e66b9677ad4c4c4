// Functions that take a wait and a signal fence, one of them under a second name
// as well: "twice" beside "twice$async", "thrice$async" alone.
func.func @mul4(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %r = arith.mulf %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func @twice(%a: tensor<2xi32>) -> tensor<2xi32> {
  %r = arith.addi %a, %a : tensor<2xi32>
  return %r : tensor<2xi32>
}
func.func @"twice$async"(%a: tensor<2xi32>) -> tensor<2xi32> {
  %r = arith.addi %a, %a : tensor<2xi32>
  return %r : tensor<2xi32>
}
func.func @"thrice$async"(%a: tensor<2xi32>) -> tensor<2xi32> {
  %b = arith.addi %a, %a : tensor<2xi32>
  %r = arith.addi %a, %b : tensor<2xi32>
  return %r : tensor<2xi32>
}

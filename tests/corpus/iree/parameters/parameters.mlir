util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<4x2xf32>
util.global private @b = #flow.parameter.named<"model"::"b"> : tensor<2xf32>
func.func @dense(%a: tensor<1x4xf32>) -> tensor<1x2xf32> {
  %w = util.global.load @w : tensor<4x2xf32>
  %b = util.global.load @b : tensor<2xf32>
  %z = arith.constant dense<0.0> : tensor<1x2xf32>
  %m = linalg.matmul ins(%a, %w : tensor<1x4xf32>, tensor<4x2xf32>) outs(%z : tensor<1x2xf32>) -> tensor<1x2xf32>
  %e = tensor.expand_shape %b [[0, 1]] output_shape [1, 2] : tensor<2xf32> into tensor<1x2xf32>
  %r = arith.addf %m, %e : tensor<1x2xf32>
  return %r : tensor<1x2xf32>
}

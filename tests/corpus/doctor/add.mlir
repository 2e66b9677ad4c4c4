func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // gpu.launch "is only a comment
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %x : tensor<4xf32>
}

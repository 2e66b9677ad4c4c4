func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gpu.thread_id x
  return %x : tensor<4xf32>
}

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tf.Relu %x
  return %x : tensor<4xf32>
}

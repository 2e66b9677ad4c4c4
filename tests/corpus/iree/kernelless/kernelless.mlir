func.func @flat(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %y = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
  return %y : tensor<6xf32>
}

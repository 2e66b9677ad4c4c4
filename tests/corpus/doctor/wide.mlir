func.func @f(%x: tensor<4xf128>) -> tensor<4xf128> {
  return %x : tensor<4xf128>
}

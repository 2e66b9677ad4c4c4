func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  util.global @d = #hal.device.target<"cuda"> : !hal.device
  return %x : tensor<4xf32>
}

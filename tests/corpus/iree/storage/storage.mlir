// Functions that take memory from their caller: for results, and for what they compute
// on the way.

func.func @add(%a: tensor<4xf32>, %out: !hal.buffer {iree.abi.output = 0 : index},
               %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The storage of the second result, as a view.
func.func @second(%a: tensor<?xf32>, %out: !hal.buffer_view {iree.abi.output = 1 : index})
    -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = arith.addf %a, %a : tensor<?xf32>
  %1 = arith.mulf %a, %a : tensor<?xf32>
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}

// How large the result is depends on what is in an argument.
func.func @repeat(%a: tensor<f32>, %n: tensor<i64>,
                  %out: !hal.buffer {iree.abi.output = 0 : index}) -> tensor<?xf32> {
  %x = tensor.extract %a[] : tensor<f32>
  %i = tensor.extract %n[] : tensor<i64>
  %size = arith.index_cast %i : i64 to index
  %e = tensor.empty(%size) : tensor<?xf32>
  %0 = linalg.fill ins(%x : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

func.func @fixed(%a: tensor<2x2xf32>, %t: !hal.buffer {iree.abi.transients})
    -> tensor<2x2xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
  %0 = linalg.matmul ins(%a, %a : tensor<2x2xf32>, tensor<2x2xf32>)
                     outs(%f : tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = linalg.matmul ins(%0, %a : tensor<2x2xf32>, tensor<2x2xf32>)
                     outs(%f : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}

func.func @both(%a: tensor<?x2xf32>, %b: tensor<2x2xf32>,
                %t: !hal.buffer {iree.abi.transients},
                %out: !hal.buffer {iree.abi.output = 0 : index}) -> tensor<?x2xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : tensor<?x2xf32>
  %e = tensor.empty(%m) : tensor<?x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x2xf32>) -> tensor<?x2xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<?x2xf32>, tensor<2x2xf32>)
                     outs(%f : tensor<?x2xf32>) -> tensor<?x2xf32>
  %1 = linalg.matmul ins(%0, %b : tensor<?x2xf32>, tensor<2x2xf32>)
                     outs(%f : tensor<?x2xf32>) -> tensor<?x2xf32>
  return %1 : tensor<?x2xf32>
}

func.func @none(%a: tensor<2xf32>, %t: !hal.buffer {iree.abi.transients}) -> tensor<2xf32> {
  %0 = arith.addf %a, %a : tensor<2xf32>
  return %0 : tensor<2xf32>
}

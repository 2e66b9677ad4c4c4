// SPDX-License-Identifier: Apache-2.0
//
// Filters of signals and images: a sum of products for every place where the
// filter fits.
#map = affine_map<(i, j) -> (i, j)>

module @filter {
  // A finite impulse response: y[i] = sum over k of signal[i + k] * taps[k].
  func.func @fir(%signal: tensor<?xf32> {iree.abi.name = "signal"},
                 %taps: tensor<?xf32> {iree.abi.name = "taps"}) -> tensor<?xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %n = tensor.dim %signal, %c0 : tensor<?xf32>
    %k = tensor.dim %taps, %c0 : tensor<?xf32>
    %some = arith.cmpi sgt, %k, %c0 : index
    cf.assert %some, "there must be a tap"
    %fits = arith.cmpi sge, %n, %k : index
    cf.assert %fits, "there are more taps than samples"
    %less = arith.subi %n, %k : index
    %m = arith.addi %less, %c1 : index
    %empty = tensor.empty(%m) : tensor<?xf32>
    %start = linalg.fill ins(%zero : f32)
        outs(%empty : tensor<?xf32>) -> tensor<?xf32>
    %y = linalg.conv_1d ins(%signal, %taps : tensor<?xf32>, tensor<?xf32>)
        outs(%start : tensor<?xf32>) -> tensor<?xf32>
    return %y : tensor<?xf32>
  }

  // The edges of an image: the length of Sobel's gradient.
  func.func @edges(%image: tensor<?x?xf32> {iree.abi.name = "image"})
      -> tensor<?x?xf32> {
    %across = arith.constant dense<[
        [-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]]> : tensor<3x3xf32>
    %down = arith.constant dense<[
        [-1.0, -2.0, -1.0], [0.0, 0.0, 0.0], [1.0, 2.0, 1.0]]> : tensor<3x3xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant 0.0 : f32
    %rows = tensor.dim %image, %c0 : tensor<?x?xf32>
    %columns = tensor.dim %image, %c1 : tensor<?x?xf32>
    %high = arith.cmpi sgt, %rows, %c2 : index
    %wide = arith.cmpi sgt, %columns, %c2 : index
    %fits = arith.andi %high, %wide : i1
    cf.assert %fits, "the image must be at least 3x3"
    %m = arith.subi %rows, %c2 : index
    %n = arith.subi %columns, %c2 : index
    %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
    %start = linalg.fill ins(%zero : f32)
        outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
    %gx = linalg.conv_2d ins(%image, %across : tensor<?x?xf32>, tensor<3x3xf32>)
        outs(%start : tensor<?x?xf32>) -> tensor<?x?xf32>
    %gy = linalg.conv_2d ins(%image, %down : tensor<?x?xf32>, tensor<3x3xf32>)
        outs(%start : tensor<?x?xf32>) -> tensor<?x?xf32>
    %length = linalg.map
        ins(%gx, %gy : tensor<?x?xf32>, tensor<?x?xf32>)
        outs(%empty : tensor<?x?xf32>) (%x: f32, %y: f32, %old: f32) {
      %xx = arith.mulf %x, %x : f32
      %yy = arith.mulf %y, %y : f32
      %sum = arith.addf %xx, %yy : f32
      %root = math.sqrt %sum : f32
      linalg.yield %root : f32
    }
    return %length : tensor<?x?xf32>
  }
}

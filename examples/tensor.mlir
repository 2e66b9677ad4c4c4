// SPDX-License-Identifier: Apache-2.0
//
// Functions on tensors, in the form front ends produce. `farcall compile` turns
// tensors into memory, so nothing here says where results live.
//
//   farcall compile examples/tensor.mlir -o tensor.so
#row = affine_map<(i, j) -> (i)>
#element = affine_map<(i, j) -> (i, j)>

module {
  // A times B, for any sizes that fit each other.
  func.func @matmul(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>)
      -> tensor<?x?xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %m = tensor.dim %a, %c0 : tensor<?x?xf32>
    %n = tensor.dim %b, %c1 : tensor<?x?xf32>
    %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
    %start = linalg.fill ins(%zero : f32)
        outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
    %product = linalg.matmul
        ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>)
        outs(%start : tensor<?x?xf32>) -> tensor<?x?xf32>
    return %product : tensor<?x?xf32>
  }

  // Two dense layers, relu(x W0 + b0) W1 + b1, for any batch size. The weights
  // are constants and lie in the module's read-only data.
  func.func @mlp(%x: tensor<?x4xf32>) -> tensor<?x2xf32> {
    %w0 = arith.constant dense<[
        [1.0, -1.0, 0.5], [0.0, 2.0, 0.5],
        [1.0, 0.0, -0.5], [-1.0, 1.0, 0.25]]> : tensor<4x3xf32>
    %b0 = arith.constant dense<[0.1, -0.2, 0.3]> : tensor<3xf32>
    %w1 = arith.constant dense<[
        [1.0, 2.0], [-1.0, 0.5], [0.25, -0.75]]> : tensor<3x2xf32>
    %b1 = arith.constant dense<[0.5, -0.5]> : tensor<2xf32>
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %n = tensor.dim %x, %c0 : tensor<?x4xf32>

    %e0 = tensor.empty(%n) : tensor<?x3xf32>
    %bias0 = linalg.broadcast ins(%b0 : tensor<3xf32>)
        outs(%e0 : tensor<?x3xf32>) dimensions = [0]
    %hidden = linalg.matmul ins(%x, %w0 : tensor<?x4xf32>, tensor<4x3xf32>)
        outs(%bias0 : tensor<?x3xf32>) -> tensor<?x3xf32>
    %relu = linalg.generic {
        indexing_maps = [#element],
        iterator_types = ["parallel", "parallel"]
    } outs(%hidden : tensor<?x3xf32>) {
    ^bb0(%h: f32):
      %positive = arith.maximumf %h, %zero : f32
      linalg.yield %positive : f32
    } -> tensor<?x3xf32>

    %e1 = tensor.empty(%n) : tensor<?x2xf32>
    %bias1 = linalg.broadcast ins(%b1 : tensor<2xf32>)
        outs(%e1 : tensor<?x2xf32>) dimensions = [0]
    %y = linalg.matmul ins(%relu, %w1 : tensor<?x3xf32>, tensor<3x2xf32>)
        outs(%bias1 : tensor<?x2xf32>) -> tensor<?x2xf32>
    return %y : tensor<?x2xf32>
  }

  // Softmax of every row, stable for large values.
  func.func @softmax(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %lowest = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %m = tensor.dim %x, %c0 : tensor<?x?xf32>
    %n = tensor.dim %x, %c1 : tensor<?x?xf32>

    %e0 = tensor.empty(%m) : tensor<?xf32>
    %low = linalg.fill ins(%lowest : f32)
        outs(%e0 : tensor<?xf32>) -> tensor<?xf32>
    %largest = linalg.reduce {arith.maximumf} ins(%x : tensor<?x?xf32>)
        outs(%low : tensor<?xf32>) dimensions = [1]
    %e1 = tensor.empty(%m, %n) : tensor<?x?xf32>
    %powers = linalg.generic {
        indexing_maps = [#element, #row, #element],
        iterator_types = ["parallel", "parallel"]
    } ins(%x, %largest : tensor<?x?xf32>, tensor<?xf32>)
      outs(%e1 : tensor<?x?xf32>) {
    ^bb0(%v: f32, %max: f32, %out: f32):
      %below = arith.subf %v, %max : f32
      %power = math.exp %below : f32
      linalg.yield %power : f32
    } -> tensor<?x?xf32>

    %e2 = tensor.empty(%m) : tensor<?xf32>
    %none = linalg.fill ins(%zero : f32)
        outs(%e2 : tensor<?xf32>) -> tensor<?xf32>
    %sums = linalg.reduce {arith.addf} ins(%powers : tensor<?x?xf32>)
        outs(%none : tensor<?xf32>) dimensions = [1]
    %y = linalg.generic {
        indexing_maps = [#row, #element],
        iterator_types = ["parallel", "parallel"]
    } ins(%sums : tensor<?xf32>) outs(%powers : tensor<?x?xf32>) {
    ^bb0(%sum: f32, %power: f32):
      %share = arith.divf %power, %sum : f32
      linalg.yield %share : f32
    } -> tensor<?x?xf32>
    return %y : tensor<?x?xf32>
  }

  // Edges of a grey image: a constant 3x3 filter over one NHWC picture of at
  // least 3x3. The result is smaller by 2 both ways.
  func.func @conv(%x: tensor<1x?x?x1xf32>) -> tensor<1x?x?x1xf32> {
    %filter = arith.constant dense<[
        [[[0.0]], [[-1.0]], [[0.0]]],
        [[[-1.0]], [[4.0]], [[-1.0]]],
        [[[0.0]], [[-1.0]], [[0.0]]]]> : tensor<3x3x1x1xf32>
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %zero = arith.constant 0.0 : f32
    %h = tensor.dim %x, %c1 : tensor<1x?x?x1xf32>
    %w = tensor.dim %x, %c2 : tensor<1x?x?x1xf32>
    %smaller = arith.minsi %h, %w : index
    %fits = arith.cmpi sge, %smaller, %c3 : index
    cf.assert %fits, "the image must be at least 3x3"
    %oh = arith.subi %h, %c2 : index
    %ow = arith.subi %w, %c2 : index
    %empty = tensor.empty(%oh, %ow) : tensor<1x?x?x1xf32>
    %start = linalg.fill ins(%zero : f32)
        outs(%empty : tensor<1x?x?x1xf32>) -> tensor<1x?x?x1xf32>
    %y = linalg.conv_2d_nhwc_hwcf
        ins(%x, %filter : tensor<1x?x?x1xf32>, tensor<3x3x1x1xf32>)
        outs(%start : tensor<1x?x?x1xf32>) -> tensor<1x?x?x1xf32>
    return %y : tensor<1x?x?x1xf32>
  }

  // Two results: the sum, a scalar, and the squares.
  func.func @stats(%x: tensor<?xf32>) -> (f32, tensor<?xf32>) {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %c0 = arith.constant 0 : index
    %n = tensor.dim %x, %c0 : tensor<?xf32>
    %total = linalg.reduce {arith.addf} ins(%x : tensor<?xf32>)
        outs(%zero : tensor<f32>) dimensions = [0]
    %sum = tensor.extract %total[] : tensor<f32>
    %empty = tensor.empty(%n) : tensor<?xf32>
    %squares = linalg.map {arith.mulf}
        ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>)
    return %sum, %squares : f32, tensor<?xf32>
  }

  // Gives back its argument; the result may be the caller's own memory.
  func.func @identity(%x: tensor<?xf32>) -> tensor<?xf32> {
    return %x : tensor<?xf32>
  }

  // The result may lie in the module's read-only data.
  func.func @constant() -> tensor<3xf32> {
    %c = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    return %c : tensor<3xf32>
  }

  // Every other element of a window: the result may be a strided view.
  func.func @slice(%x: tensor<8x8xf32>) -> tensor<2x4xf32> {
    %window = tensor.extract_slice %x[3, 1] [2, 4] [2, 2]
        : tensor<8x8xf32> to tensor<2x4xf32>
    return %window : tensor<2x4xf32>
  }

  // The argument is writable, so the result may be computed in place.
  func.func @scale_inplace(%x: tensor<?xf32> {bufferization.writable = true},
                           %s: f32) -> tensor<?xf32> {
    %y = linalg.generic {
        indexing_maps = [affine_map<(i) -> (i)>],
        iterator_types = ["parallel"]
    } outs(%x : tensor<?xf32>) {
    ^bb0(%v: f32):
      %scaled = arith.mulf %v, %s : f32
      linalg.yield %scaled : f32
    } -> tensor<?xf32>
    return %y : tensor<?xf32>
  }
}

// SPDX-License-Identifier: Apache-2.0
// Products, windows and reductions. Each function is called with the arguments
// of the `// call` lines above it: tests/e2e/iree_programs.py.
module @linear {
  // call 3x4xf32 4x2xf32
  func.func @matmul(%a: tensor<3x4xf32>, %b: tensor<4x2xf32>) -> tensor<3x2xf32> {
    %z = arith.constant dense<0.0> : tensor<3x2xf32>
    %0 = linalg.matmul ins(%a, %b : tensor<3x4xf32>, tensor<4x2xf32>) outs(%z : tensor<3x2xf32>) -> tensor<3x2xf32>
    return %0 : tensor<3x2xf32>
  }
  // call 5x7xf32 7x3xf32
  // call 1x1xf32 1x1xf32
  // call 33x20xf32 20x17xf32
  func.func @matmul_any(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = tensor.dim %a, %c0 : tensor<?x?xf32>
    %n = tensor.dim %b, %c1 : tensor<?x?xf32>
    %f = arith.constant 0.0 : f32
    %e = tensor.empty(%m, %n) : tensor<?x?xf32>
    %z = linalg.fill ins(%f : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
    %0 = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%z : tensor<?x?xf32>) -> tensor<?x?xf32>
    return %0 : tensor<?x?xf32>
  }
  // call 40x64xf32 64x48xf32
  func.func @matmul_large(%a: tensor<40x64xf32>, %b: tensor<64x48xf32>) -> tensor<40x48xf32> {
    %z = arith.constant dense<0.0> : tensor<40x48xf32>
    %0 = linalg.matmul ins(%a, %b : tensor<40x64xf32>, tensor<64x48xf32>) outs(%z : tensor<40x48xf32>) -> tensor<40x48xf32>
    return %0 : tensor<40x48xf32>
  }
  // call 3x5xi8 5x4xi8
  func.func @matmul_i8(%a: tensor<3x5xi8>, %b: tensor<5x4xi8>) -> tensor<3x4xi32> {
    %z = arith.constant dense<0> : tensor<3x4xi32>
    %0 = linalg.matmul ins(%a, %b : tensor<3x5xi8>, tensor<5x4xi8>) outs(%z : tensor<3x4xi32>) -> tensor<3x4xi32>
    return %0 : tensor<3x4xi32>
  }
  // call 2x6xi32 6x3xi32
  func.func @matmul_i32(%a: tensor<2x6xi32>, %b: tensor<6x3xi32>) -> tensor<2x3xi32> {
    %z = arith.constant dense<1> : tensor<2x3xi32>
    %0 = linalg.matmul ins(%a, %b : tensor<2x6xi32>, tensor<6x3xi32>) outs(%z : tensor<2x3xi32>) -> tensor<2x3xi32>
    return %0 : tensor<2x3xi32>
  }
  // call 3x4xf32 2x4xf32
  func.func @matmul_transposed(%a: tensor<3x4xf32>, %b: tensor<2x4xf32>) -> tensor<3x2xf32> {
    %z = arith.constant dense<0.0> : tensor<3x2xf32>
    %0 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %b : tensor<3x4xf32>, tensor<2x4xf32>) outs(%z : tensor<3x2xf32>) -> tensor<3x2xf32>
    return %0 : tensor<3x2xf32>
  }
  // call 4x3x5xf32 4x5x2xf32
  func.func @batch_matmul(%a: tensor<4x3x5xf32>, %b: tensor<4x5x2xf32>) -> tensor<4x3x2xf32> {
    %z = arith.constant dense<0.0> : tensor<4x3x2xf32>
    %0 = linalg.batch_matmul ins(%a, %b : tensor<4x3x5xf32>, tensor<4x5x2xf32>) outs(%z : tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
    return %0 : tensor<4x3x2xf32>
  }
  // call 4x6xf32 6xf32
  func.func @matvec(%a: tensor<4x6xf32>, %b: tensor<6xf32>) -> tensor<4xf32> {
    %z = arith.constant dense<0.0> : tensor<4xf32>
    %0 = linalg.matvec ins(%a, %b : tensor<4x6xf32>, tensor<6xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  // call 6xf32 6x4xf32
  func.func @vecmat(%a: tensor<6xf32>, %b: tensor<6x4xf32>) -> tensor<4xf32> {
    %z = arith.constant dense<0.0> : tensor<4xf32>
    %0 = linalg.vecmat ins(%a, %b : tensor<6xf32>, tensor<6x4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  // call 19xf32 19xf32
  // call 1xf32 1xf32
  func.func @dot(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<f32> {
    %z = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.dot ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%z : tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  // call 3xf32 4xf32
  func.func @outer(%a: tensor<3xf32>, %b: tensor<4xf32>) -> tensor<3x4xf32> {
    %z = tensor.empty() : tensor<3x4xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<3xf32>, tensor<4xf32>) outs(%z : tensor<3x4xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %p = arith.mulf %x, %y : f32
      linalg.yield %p : f32
    } -> tensor<3x4xf32>
    return %0 : tensor<3x4xf32>
  }
  // call 5x4xf32 4x8xf32 8xf32 8x3xf32 3xf32
  // call 1x4xf32 4x8xf32 8xf32 8x3xf32 3xf32
  func.func @layers(%x: tensor<?x4xf32>, %w0: tensor<4x8xf32>, %b0: tensor<8xf32>, %w1: tensor<8x3xf32>, %b1: tensor<3xf32>) -> tensor<?x3xf32> {
    %c0 = arith.constant 0 : index
    %f = arith.constant 0.0 : f32
    %n = tensor.dim %x, %c0 : tensor<?x4xf32>
    %e0 = tensor.empty(%n) : tensor<?x8xf32>
    %i0 = linalg.broadcast ins(%b0 : tensor<8xf32>) outs(%e0 : tensor<?x8xf32>) dimensions = [0]
    %h = linalg.matmul ins(%x, %w0 : tensor<?x4xf32>, tensor<4x8xf32>) outs(%i0 : tensor<?x8xf32>) -> tensor<?x8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<?x8xf32>) outs(%e0 : tensor<?x8xf32>) {
    ^bb0(%v: f32, %o: f32):
      %m = arith.maximumf %v, %f : f32
      linalg.yield %m : f32
    } -> tensor<?x8xf32>
    %e1 = tensor.empty(%n) : tensor<?x3xf32>
    %i1 = linalg.broadcast ins(%b1 : tensor<3xf32>) outs(%e1 : tensor<?x3xf32>) dimensions = [0]
    %0 = linalg.matmul ins(%r, %w1 : tensor<?x8xf32>, tensor<8x3xf32>) outs(%i1 : tensor<?x3xf32>) -> tensor<?x3xf32>
    return %0 : tensor<?x3xf32>
  }
  // call 1x4x4x1xf32 2x2x1x1xf32
  func.func @conv(%a: tensor<1x4x4x1xf32>, %k: tensor<2x2x1x1xf32>) -> tensor<1x3x3x1xf32> {
    %z = arith.constant dense<0.0> : tensor<1x3x3x1xf32>
    %0 = linalg.conv_2d_nhwc_hwcf ins(%a, %k : tensor<1x4x4x1xf32>, tensor<2x2x1x1xf32>) outs(%z : tensor<1x3x3x1xf32>) -> tensor<1x3x3x1xf32>
    return %0 : tensor<1x3x3x1xf32>
  }
  // call 2x9x7x3xf32 3x3x3x4xf32
  func.func @conv_strided(%a: tensor<2x9x7x3xf32>, %k: tensor<3x3x3x4xf32>) -> tensor<2x4x3x4xf32> {
    %z = arith.constant dense<0.5> : tensor<2x4x3x4xf32>
    %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>} ins(%a, %k : tensor<2x9x7x3xf32>, tensor<3x3x3x4xf32>) outs(%z : tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
    return %0 : tensor<2x4x3x4xf32>
  }
  // call 1x2x7x7xf32 3x2x2x2xf32
  func.func @conv_nchw(%a: tensor<1x2x7x7xf32>, %k: tensor<3x2x2x2xf32>) -> tensor<1x3x5x5xf32> {
    %z = arith.constant dense<0.0> : tensor<1x3x5x5xf32>
    %0 = linalg.conv_2d_nchw_fchw {dilations = dense<2> : tensor<2xi64>} ins(%a, %k : tensor<1x2x7x7xf32>, tensor<3x2x2x2xf32>) outs(%z : tensor<1x3x5x5xf32>) -> tensor<1x3x5x5xf32>
    return %0 : tensor<1x3x5x5xf32>
  }
  // call 1x5x5x3xf32 2x2x3xf32
  func.func @conv_depthwise(%a: tensor<1x5x5x3xf32>, %k: tensor<2x2x3xf32>) -> tensor<1x4x4x3xf32> {
    %z = arith.constant dense<0.0> : tensor<1x4x4x3xf32>
    %0 = linalg.depthwise_conv_2d_nhwc_hwc ins(%a, %k : tensor<1x5x5x3xf32>, tensor<2x2x3xf32>) outs(%z : tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
    return %0 : tensor<1x4x4x3xf32>
  }
  // call 12xf32 3xf32
  func.func @conv_1d(%a: tensor<12xf32>, %k: tensor<3xf32>) -> tensor<10xf32> {
    %z = arith.constant dense<0.0> : tensor<10xf32>
    %0 = linalg.conv_1d ins(%a, %k : tensor<12xf32>, tensor<3xf32>) outs(%z : tensor<10xf32>) -> tensor<10xf32>
    return %0 : tensor<10xf32>
  }
  // call 1x5x5x2xi8 2x2x2x3xi8
  func.func @conv_i8(%a: tensor<1x5x5x2xi8>, %k: tensor<2x2x2x3xi8>) -> tensor<1x4x4x3xi32> {
    %z = arith.constant dense<0> : tensor<1x4x4x3xi32>
    %0 = linalg.conv_2d_nhwc_hwcf ins(%a, %k : tensor<1x5x5x2xi8>, tensor<2x2x2x3xi8>) outs(%z : tensor<1x4x4x3xi32>) -> tensor<1x4x4x3xi32>
    return %0 : tensor<1x4x4x3xi32>
  }
  // call 1x6x6x2xf32
  func.func @pool_max(%a: tensor<1x6x6x2xf32>) -> tensor<1x3x3x2xf32> {
    %k = tensor.empty() : tensor<2x2xf32>
    %z = arith.constant dense<0xFF800000> : tensor<1x3x3x2xf32>
    %0 = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>} ins(%a, %k : tensor<1x6x6x2xf32>, tensor<2x2xf32>) outs(%z : tensor<1x3x3x2xf32>) -> tensor<1x3x3x2xf32>
    return %0 : tensor<1x3x3x2xf32>
  }
  // call 1x6x5x2xf32
  func.func @pool_sum(%a: tensor<1x6x5x2xf32>) -> tensor<1x4x3x2xf32> {
    %k = tensor.empty() : tensor<3x3xf32>
    %z = arith.constant dense<0.0> : tensor<1x4x3x2xf32>
    %0 = linalg.pooling_nhwc_sum ins(%a, %k : tensor<1x6x5x2xf32>, tensor<3x3xf32>) outs(%z : tensor<1x4x3x2xf32>) -> tensor<1x4x3x2xf32>
    return %0 : tensor<1x4x3x2xf32>
  }
  // call 1x4x4x3xf32
  func.func @pool_min(%a: tensor<1x4x4x3xf32>) -> tensor<1x3x3x3xf32> {
    %k = tensor.empty() : tensor<2x2xf32>
    %z = arith.constant dense<0x7F800000> : tensor<1x3x3x3xf32>
    %0 = linalg.pooling_nhwc_min ins(%a, %k : tensor<1x4x4x3xf32>, tensor<2x2xf32>) outs(%z : tensor<1x3x3x3xf32>) -> tensor<1x3x3x3xf32>
    return %0 : tensor<1x3x3x3xf32>
  }
  // call 3x4xf32
  func.func @sum(%a: tensor<3x4xf32>) -> tensor<3xf32> {
    %z = arith.constant dense<0.0> : tensor<3xf32>
    %0 = linalg.reduce ins(%a : tensor<3x4xf32>) outs(%z : tensor<3xf32>) dimensions = [1]
      (%x: f32, %y: f32) { %s = arith.addf %x, %y : f32 linalg.yield %s : f32 }
    return %0 : tensor<3xf32>
  }
  // call 5x7xf32
  // call 2x300xf32
  func.func @sum_any(%a: tensor<?x?xf32>) -> tensor<f32> {
    %z = arith.constant dense<0.0> : tensor<f32>
    %0 = linalg.reduce ins(%a : tensor<?x?xf32>) outs(%z : tensor<f32>) dimensions = [0, 1]
      (%x: f32, %y: f32) { %s = arith.addf %x, %y : f32 linalg.yield %s : f32 }
    return %0 : tensor<f32>
  }
  // call 6x5xi64
  func.func @product(%a: tensor<6x5xi64>) -> tensor<5xi64> {
    %z = arith.constant dense<1> : tensor<5xi64>
    %0 = linalg.reduce ins(%a : tensor<6x5xi64>) outs(%z : tensor<5xi64>) dimensions = [0]
      (%x: i64, %y: i64) { %s = arith.muli %x, %y : i64 linalg.yield %s : i64 }
    return %0 : tensor<5xi64>
  }
  // call 4x9xf32
  // call 4x9xf32~edge
  func.func @max(%a: tensor<4x?xf32>) -> tensor<4xf32> {
    %z = arith.constant dense<0xFF800000> : tensor<4xf32>
    %0 = linalg.reduce ins(%a : tensor<4x?xf32>) outs(%z : tensor<4xf32>) dimensions = [1]
      (%x: f32, %y: f32) { %s = arith.maximumf %x, %y : f32 linalg.yield %s : f32 }
    return %0 : tensor<4xf32>
  }
  // call 3x3x4xi8
  func.func @min_i8(%a: tensor<3x3x4xi8>) -> tensor<3xi8> {
    %z = arith.constant dense<127> : tensor<3xi8>
    %0 = linalg.reduce ins(%a : tensor<3x3x4xi8>) outs(%z : tensor<3xi8>) dimensions = [0, 2]
      (%x: i8, %y: i8) { %s = arith.minsi %x, %y : i8 linalg.yield %s : i8 }
    return %0 : tensor<3xi8>
  }
  // call 4x5xi1
  func.func @all(%a: tensor<4x5xi1>) -> tensor<4xi1> {
    %z = arith.constant dense<true> : tensor<4xi1>
    %0 = linalg.reduce ins(%a : tensor<4x5xi1>) outs(%z : tensor<4xi1>) dimensions = [1]
      (%x: i1, %y: i1) { %s = arith.andi %x, %y : i1 linalg.yield %s : i1 }
    return %0 : tensor<4xi1>
  }
  // call 3x8xf32
  func.func @argmax(%a: tensor<3x8xf32>) -> (tensor<3xf32>, tensor<3xi32>) {
    %z = arith.constant dense<0xFF800000> : tensor<3xf32>
    %n = arith.constant dense<0> : tensor<3xi32>
    %0:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<3x8xf32>) outs(%z, %n : tensor<3xf32>, tensor<3xi32>) {
    ^bb0(%x: f32, %m: f32, %at: i32):
      %j = linalg.index 1 : index
      %i = arith.index_cast %j : index to i32
      %g = arith.cmpf ogt, %x, %m : f32
      %v = arith.select %g, %x, %m : f32
      %w = arith.select %g, %i, %at : i32
      linalg.yield %v, %w : f32, i32
    } -> (tensor<3xf32>, tensor<3xi32>)
    return %0#0, %0#1 : tensor<3xf32>, tensor<3xi32>
  }
  // call 5x6xf32
  // call 1x3xf32
  func.func @softmax(%a: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = tensor.dim %a, %c0 : tensor<?x?xf32>
    %n = tensor.dim %a, %c1 : tensor<?x?xf32>
    %z = tensor.empty(%m, %n) : tensor<?x?xf32>
    %0 = linalg.softmax dimension(1) ins(%a : tensor<?x?xf32>) outs(%z : tensor<?x?xf32>) -> tensor<?x?xf32>
    return %0 : tensor<?x?xf32>
  }
  // call 3x16xf32 16xf32 16xf32
  func.func @layernorm(%a: tensor<3x16xf32>, %scale: tensor<16xf32>, %shift: tensor<16xf32>) -> tensor<3x16xf32> {
    %z = arith.constant dense<0.0> : tensor<3xf32>
    %c = arith.constant 16.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %e = tensor.empty() : tensor<3x16xf32>
    %sum = linalg.reduce ins(%a : tensor<3x16xf32>) outs(%z : tensor<3xf32>) dimensions = [1]
      (%x: f32, %y: f32) { %s = arith.addf %x, %y : f32 linalg.yield %s : f32 }
    %off = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %sum : tensor<3x16xf32>, tensor<3xf32>) outs(%e : tensor<3x16xf32>) {
    ^bb0(%x: f32, %s: f32, %o: f32):
      %m = arith.divf %s, %c : f32
      %d = arith.subf %x, %m : f32
      linalg.yield %d : f32
    } -> tensor<3x16xf32>
    %var = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%off : tensor<3x16xf32>) outs(%z : tensor<3xf32>) {
    ^bb0(%x: f32, %s: f32):
      %q = arith.mulf %x, %x : f32
      %t = arith.addf %q, %s : f32
      linalg.yield %t : f32
    } -> tensor<3xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%off, %var, %scale, %shift : tensor<3x16xf32>, tensor<3xf32>, tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<3x16xf32>) {
    ^bb0(%x: f32, %v: f32, %k: f32, %b: f32, %o: f32):
      %m = arith.divf %v, %c : f32
      %p = arith.addf %m, %eps : f32
      %r = math.rsqrt %p : f32
      %n = arith.mulf %x, %r : f32
      %w = arith.mulf %n, %k : f32
      %u = arith.addf %w, %b : f32
      linalg.yield %u : f32
    } -> tensor<3x16xf32>
    return %0 : tensor<3x16xf32>
  }
  // call 3x6xi32
  func.func @running_sum(%a: tensor<3x6xi32>) -> (tensor<3x6xi32>, tensor<3xi32>) {
    %e = tensor.empty() : tensor<3x6xi32>
    %z = arith.constant dense<0> : tensor<3xi32>
    %0:2 = iree_linalg_ext.scan dimension(1) inclusive(true) ins(%a : tensor<3x6xi32>) outs(%e, %z : tensor<3x6xi32>, tensor<3xi32>) {
    ^bb0(%x: i32, %y: i32):
      %s = arith.addi %x, %y : i32
      iree_linalg_ext.yield %s : i32
    } -> tensor<3x6xi32>, tensor<3xi32>
    return %0#0, %0#1 : tensor<3x6xi32>, tensor<3xi32>
  }
}

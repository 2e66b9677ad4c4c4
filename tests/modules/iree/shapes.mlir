// SPDX-License-Identifier: Apache-2.0
// Functions that move elements about. Each is called with the arguments of the
// `// call` lines above it: tests/e2e/iree_programs.py.
module @shapes {
  // call 2x3xi32
  func.func @transpose(%a: tensor<2x3xi32>) -> tensor<3x2xi32> {
    %z = tensor.empty() : tensor<3x2xi32>
    %0 = linalg.transpose ins(%a : tensor<2x3xi32>) outs(%z : tensor<3x2xi32>) permutation = [1, 0]
    return %0 : tensor<3x2xi32>
  }
  // call 5x3x2x2xf32
  // call 1x3x4x2xf32
  func.func @transpose_any(%a: tensor<?x3x?x2xf32>) -> tensor<2x?x?x3xf32> {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %m = tensor.dim %a, %c0 : tensor<?x3x?x2xf32>
    %n = tensor.dim %a, %c2 : tensor<?x3x?x2xf32>
    %z = tensor.empty(%n, %m) : tensor<2x?x?x3xf32>
    %0 = linalg.transpose ins(%a : tensor<?x3x?x2xf32>) outs(%z : tensor<2x?x?x3xf32>) permutation = [3, 2, 0, 1]
    return %0 : tensor<2x?x?x3xf32>
  }
  // call 4x4xi32
  func.func @slice(%a: tensor<4x4xi32>) -> tensor<2x2xi32> {
    %0 = tensor.extract_slice %a[1, 1] [2, 2] [1, 1] : tensor<4x4xi32> to tensor<2x2xi32>
    return %0 : tensor<2x2xi32>
  }
  // call 8x9xi16
  func.func @slice_strided(%a: tensor<8x9xi16>) -> tensor<3x4xi16> {
    %0 = tensor.extract_slice %a[1, 0] [3, 4] [2, 2] : tensor<8x9xi16> to tensor<3x4xi16>
    return %0 : tensor<3x4xi16>
  }
  // call 9xf32 =2 =5
  // call 4xf32 =0 =4
  // call 4xf32 =1 =0
  func.func @slice_any(%a: tensor<?xf32>, %at: i32, %size: i32) -> tensor<?xf32> {
    %o = arith.index_cast %at : i32 to index
    %s = arith.index_cast %size : i32 to index
    %0 = tensor.extract_slice %a[%o] [%s] [1] : tensor<?xf32> to tensor<?xf32>
    return %0 : tensor<?xf32>
  }
  // call 3x6xf32
  func.func @row(%a: tensor<3x6xf32>) -> tensor<6xf32> {
    %0 = tensor.extract_slice %a[1, 0] [1, 6] [1, 1] : tensor<3x6xf32> to tensor<6xf32>
    return %0 : tensor<6xf32>
  }
  // call 2x2xi8 5x5xi8
  func.func @insert(%a: tensor<2x2xi8>, %b: tensor<5x5xi8>) -> tensor<5x5xi8> {
    %0 = tensor.insert_slice %a into %b[2, 1] [2, 2] [1, 1] : tensor<2x2xi8> into tensor<5x5xi8>
    return %0 : tensor<5x5xi8>
  }
  // call 3x4xf32
  func.func @pad(%a: tensor<3x4xf32>) -> tensor<6x7xf32> {
    %c = arith.constant -1.5 : f32
    %0 = tensor.pad %a low[1, 0] high[2, 3] {
    ^bb0(%i: index, %j: index):
      tensor.yield %c : f32
    } : tensor<3x4xf32> to tensor<6x7xf32>
    return %0 : tensor<6x7xf32>
  }
  // call 2x5xi64
  func.func @pad_any(%a: tensor<?x?xi64>) -> tensor<?x?xi64> {
    %c = arith.constant 7 : i64
    %0 = tensor.pad %a low[0, 2] high[1, 0] {
    ^bb0(%i: index, %j: index):
      tensor.yield %c : i64
    } : tensor<?x?xi64> to tensor<?x?xi64>
    return %0 : tensor<?x?xi64>
  }
  // call 2x3xf32 2x4xf32
  func.func @concat(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) -> tensor<2x7xf32> {
    %0 = tensor.concat dim(1) %a, %b : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
    return %0 : tensor<2x7xf32>
  }
  // call 2x3xi8 1x3xi8 4x3xi8
  func.func @concat_any(%a: tensor<?x3xi8>, %b: tensor<1x3xi8>, %c: tensor<?x3xi8>) -> tensor<?x3xi8> {
    %0 = tensor.concat dim(0) %a, %b, %c : (tensor<?x3xi8>, tensor<1x3xi8>, tensor<?x3xi8>) -> tensor<?x3xi8>
    return %0 : tensor<?x3xi8>
  }
  // call 2x3x4xf32
  func.func @collapse(%a: tensor<2x3x4xf32>) -> tensor<6x4xf32> {
    %0 = tensor.collapse_shape %a [[0, 1], [2]] : tensor<2x3x4xf32> into tensor<6x4xf32>
    return %0 : tensor<6x4xf32>
  }
  // call 12x2xi16
  func.func @expand(%a: tensor<12x2xi16>) -> tensor<3x2x2x2xi16> {
    %0 = tensor.expand_shape %a [[0, 1, 2], [3]] output_shape [3, 2, 2, 2] : tensor<12x2xi16> into tensor<3x2x2x2xi16>
    return %0 : tensor<3x2x2x2xi16>
  }
  // call 3x5x2xf32
  func.func @collapse_any(%a: tensor<?x?x2xf32>) -> tensor<?xf32> {
    %0 = tensor.collapse_shape %a [[0, 1, 2]] : tensor<?x?x2xf32> into tensor<?xf32>
    return %0 : tensor<?xf32>
  }
  // call 4xf32
  func.func @broadcast(%a: tensor<4xf32>) -> tensor<3x4x2xf32> {
    %z = tensor.empty() : tensor<3x4x2xf32>
    %0 = linalg.broadcast ins(%a : tensor<4xf32>) outs(%z : tensor<3x4x2xf32>) dimensions = [0, 2]
    return %0 : tensor<3x4x2xf32>
  }
  // call =2.5 =3
  // call =-0.0 =1
  func.func @fill(%v: f32, %n: i32) -> tensor<?x2xf32> {
    %s = arith.index_cast %n : i32 to index
    %e = tensor.empty(%s) : tensor<?x2xf32>
    %0 = linalg.fill ins(%v : f32) outs(%e : tensor<?x2xf32>) -> tensor<?x2xf32>
    return %0 : tensor<?x2xf32>
  }
  // call =7
  // call =0
  func.func @iota(%n: i32) -> tensor<?xi32> {
    %s = arith.index_cast %n : i32 to index
    %z = tensor.empty(%s) : tensor<?xi32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%z : tensor<?xi32>) {
    ^bb0(%o: i32):
      %i = linalg.index 0 : index
      %v = arith.index_cast %i : index to i32
      linalg.yield %v : i32
    } -> tensor<?xi32>
    return %0 : tensor<?xi32>
  }
  // call 5x4xf32
  func.func @reverse(%a: tensor<5x4xf32>) -> tensor<5x4xf32> {
    %z = tensor.empty() : tensor<5x4xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%z : tensor<5x4xf32>) {
    ^bb0(%o: f32):
      %c4 = arith.constant 4 : index
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %k = arith.subi %c4, %i : index
      %v = tensor.extract %a[%k, %j] : tensor<5x4xf32>
      linalg.yield %v : f32
    } -> tensor<5x4xf32>
    return %0 : tensor<5x4xf32>
  }
  // call 6x3xf32 4xi32~0..6
  // call 2x3xf32 9xi32~0..2
  func.func @gather(%a: tensor<?x3xf32>, %at: tensor<?xi32>) -> tensor<?x3xf32> {
    %c0 = arith.constant 0 : index
    %n = tensor.dim %at, %c0 : tensor<?xi32>
    %z = tensor.empty(%n) : tensor<?x3xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%at : tensor<?xi32>) outs(%z : tensor<?x3xf32>) {
    ^bb0(%i: i32, %o: f32):
      %x = arith.index_cast %i : i32 to index
      %j = linalg.index 1 : index
      %v = tensor.extract %a[%x, %j] : tensor<?x3xf32>
      linalg.yield %v : f32
    } -> tensor<?x3xf32>
    return %0 : tensor<?x3xf32>
  }
  // call 3x2xf32 3x1xi32~0..1 8x2xf32
  func.func @scatter(%u: tensor<3x2xf32>, %at: tensor<3x1xi32>, %a: tensor<8x2xf32>) -> tensor<8x2xf32> {
    %0 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(false) ins(%u, %at : tensor<3x2xf32>, tensor<3x1xi32>) outs(%a : tensor<8x2xf32>) {
    ^bb0(%x: f32, %y: f32):
      %s = arith.addf %x, %y : f32
      iree_linalg_ext.yield %s : f32
    } -> tensor<8x2xf32>
    return %0 : tensor<8x2xf32>
  }
  // call 4x6xf32
  func.func @sort(%a: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = iree_linalg_ext.sort dimension(1) outs(%a : tensor<4x6xf32>) {
    ^bb0(%x: f32, %y: f32):
      %l = arith.cmpf olt, %x, %y : f32
      iree_linalg_ext.yield %l : i1
    } -> tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
  // call 7xi32 7xi32
  func.func @sort_pairs(%a: tensor<7xi32>, %b: tensor<7xi32>) -> (tensor<7xi32>, tensor<7xi32>) {
    %0:2 = iree_linalg_ext.sort dimension(0) outs(%a, %b : tensor<7xi32>, tensor<7xi32>) {
    ^bb0(%x: i32, %y: i32, %p: i32, %q: i32):
      %l = arith.cmpi sgt, %x, %y : i32
      iree_linalg_ext.yield %l : i1
    } -> tensor<7xi32>, tensor<7xi32>
    return %0#0, %0#1 : tensor<7xi32>, tensor<7xi32>
  }
  // call 5xi1 5xi32 5xi32
  func.func @select(%c: tensor<5xi1>, %a: tensor<5xi32>, %b: tensor<5xi32>) -> tensor<5xi32> {
    %0 = arith.select %c, %a, %b : tensor<5xi1>, tensor<5xi32>
    return %0 : tensor<5xi32>
  }
  // call 2x7xi1 2x7xi1 2x7xi1
  func.func @select_i1(%c: tensor<2x7xi1>, %a: tensor<2x7xi1>, %b: tensor<2x7xi1>) -> tensor<2x7xi1> {
    %0 = arith.select %c, %a, %b : tensor<2x7xi1>, tensor<2x7xi1>
    return %0 : tensor<2x7xi1>
  }
  // call f32
  func.func @rank0(%a: tensor<f32>) -> tensor<f32> {
    %0 = arith.addf %a, %a : tensor<f32>
    return %0 : tensor<f32>
  }
  // call 2x1x3x2x2xi16
  func.func @rank5(%a: tensor<2x?x3x?x2xi16>) -> tensor<2x?x3x?x2xi16> {
    %0 = arith.muli %a, %a : tensor<2x?x3x?x2xi16>
    return %0 : tensor<2x?x3x?x2xi16>
  }
  // call 1x2x1x3x1x2x1x2xi8
  func.func @rank8(%a: tensor<1x2x1x3x1x2x1x2xi8>) -> tensor<1x2x1x3x1x2x1x2xi8> {
    %0 = arith.addi %a, %a : tensor<1x2x1x3x1x2x1x2xi8>
    return %0 : tensor<1x2x1x3x1x2x1x2xi8>
  }
  // call 0xf32
  // call 3xf32
  func.func @maybe_empty(%a: tensor<?xf32>) -> tensor<?xf32> {
    %0 = arith.mulf %a, %a : tensor<?xf32>
    return %0 : tensor<?xf32>
  }
  // call 0x3xi32
  func.func @empty(%a: tensor<0x3xi32>) -> tensor<0x3xi32> {
    %0 = arith.addi %a, %a : tensor<0x3xi32>
    return %0 : tensor<0x3xi32>
  }
  // call 4x0xf32
  // call 4x2xf32
  func.func @sum_of_empty(%a: tensor<4x?xf32>) -> tensor<4xf32> {
    %z = arith.constant dense<1.0> : tensor<4xf32>
    %0 = linalg.reduce ins(%a : tensor<4x?xf32>) outs(%z : tensor<4xf32>) dimensions = [1]
      (%x: f32, %y: f32) { %s = arith.addf %x, %y : f32 linalg.yield %s : f32 }
    return %0 : tensor<4xf32>
  }
  // call 3x4xf32
  func.func @identity(%a: tensor<3x4xf32>) -> tensor<3x4xf32> { return %a : tensor<3x4xf32> }
  // call 3x4xi32 2x2xf32
  func.func @swap(%a: tensor<?x?xi32>, %b: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<?x?xi32>) {
    return %b, %a : tensor<2x2xf32>, tensor<?x?xi32>
  }
  // call
  func.func @constant() -> tensor<2x3xf32> {
    %0 = arith.constant dense<[[0.1, -2.0, 3.5], [4.0, -0.0, 6.25]]> : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
  // call
  func.func @constant_i64() -> (tensor<3xi64>, tensor<i8>) {
    %0 = arith.constant dense<[-9223372036854775808, 0, 9223372036854775807]> : tensor<3xi64>
    %1 = arith.constant dense<-7> : tensor<i8>
    return %0, %1 : tensor<3xi64>, tensor<i8>
  }
  // call
  func.func @constant_large() -> tensor<4096xi32> {
    %0 = arith.constant dense<305419896> : tensor<4096xi32>
    return %0 : tensor<4096xi32>
  }
  // call 3x4x5xf32
  // call 3x1x9xf32
  func.func @dims(%a: tensor<3x?x?xf32>) -> (i32, i32, i32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %0 = tensor.dim %a, %c0 : tensor<3x?x?xf32>
    %1 = tensor.dim %a, %c1 : tensor<3x?x?xf32>
    %2 = tensor.dim %a, %c2 : tensor<3x?x?xf32>
    %x = arith.index_cast %0 : index to i32
    %y = arith.index_cast %1 : index to i32
    %z = arith.index_cast %2 : index to i32
    return %x, %y, %z : i32, i32, i32
  }
  // call 3x4xf32 =2 =1
  func.func @element(%a: tensor<3x4xf32>, %i: i32, %j: i32) -> f32 {
    %x = arith.index_cast %i : i32 to index
    %y = arith.index_cast %j : i32 to index
    %0 = tensor.extract %a[%x, %y] : tensor<3x4xf32>
    return %0 : f32
  }
  // call 3x4xi32 =77
  func.func @set_element(%a: tensor<3x4xi32>, %v: i32) -> tensor<3x4xi32> {
    %c1 = arith.constant 1 : index
    %0 = tensor.insert %v into %a[%c1, %c1] : tensor<3x4xi32>
    return %0 : tensor<3x4xi32>
  }
  // call 6xf32
  func.func @bits(%a: tensor<6xf32>) -> tensor<6xi32> {
    %0 = tensor.bitcast %a : tensor<6xf32> to tensor<6xi32>
    return %0 : tensor<6xi32>
  }
  // call 8xui8
  func.func @unsigned(%a: tensor<8xui8>) -> tensor<8xui8> { return %a : tensor<8xui8> }
}

// SPDX-License-Identifier: Apache-2.0
// Tensor programs; tests/e2e/test_iree_tensors.py calls each here and in IREE's
// own runtime, compiled to machine code and to VMVX.
module @tensors {
  func.func @add(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> { %0 = arith.addf %a, %b : tensor<2x3xf32> return %0 : tensor<2x3xf32> }
  func.func @div(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> { %0 = arith.divf %a, %b : tensor<?xf32> return %0 : tensor<?xf32> }
  func.func @exp(%a: tensor<?xf32>) -> tensor<?xf32> { %0 = math.exp %a : tensor<?xf32> return %0 : tensor<?xf32> }
  func.func @sqrt(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = math.sqrt %a : tensor<4xf32> return %0 : tensor<4xf32> }
  func.func @addi8(%a: tensor<4xi8>, %b: tensor<4xi8>) -> tensor<4xi8> { %0 = arith.addi %a, %b : tensor<4xi8> return %0 : tensor<4xi8> }
  func.func @muli64(%a: tensor<?xi64>, %b: tensor<?xi64>) -> tensor<?xi64> { %0 = arith.muli %a, %b : tensor<?xi64> return %0 : tensor<?xi64> }
  func.func @less(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xi8> { %0 = arith.cmpf olt, %a, %b : tensor<4xf32> %1 = arith.extui %0 : tensor<4xi1> to tensor<4xi8> return %1 : tensor<4xi8> }
  func.func @both(%a: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) { %0 = arith.addf %a, %a : tensor<2x2xf32> %1 = arith.mulf %a, %a : tensor<2x2xf32> return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32> }
  func.func @matmul(%a: tensor<3x4xf32>, %b: tensor<4x2xf32>) -> tensor<3x2xf32> {
    %z = arith.constant dense<0.0> : tensor<3x2xf32>
    %0 = linalg.matmul ins(%a, %b : tensor<3x4xf32>, tensor<4x2xf32>) outs(%z : tensor<3x2xf32>) -> tensor<3x2xf32>
    return %0 : tensor<3x2xf32>
  }
  func.func @sum(%a: tensor<3x4xf32>) -> tensor<3xf32> {
    %z = arith.constant dense<0.0> : tensor<3xf32>
    %0 = linalg.reduce ins(%a : tensor<3x4xf32>) outs(%z : tensor<3xf32>) dimensions = [1]
      (%x: f32, %y: f32) { %s = arith.addf %x, %y : f32 linalg.yield %s : f32 }
    return %0 : tensor<3xf32>
  }
  func.func @turn(%a: tensor<2x3xi32>) -> tensor<3x2xi32> {
    %z = tensor.empty() : tensor<3x2xi32>
    %0 = linalg.transpose ins(%a : tensor<2x3xi32>) outs(%z : tensor<3x2xi32>) permutation = [1, 0]
    return %0 : tensor<3x2xi32>
  }
  func.func @slice(%a: tensor<4x4xi32>) -> tensor<2x2xi32> { %0 = tensor.extract_slice %a[1, 1] [2, 2] [1, 1] : tensor<4x4xi32> to tensor<2x2xi32> return %0 : tensor<2x2xi32> }
  func.func @window(%a: tensor<1x4x4x1xf32>, %k: tensor<2x2x1x1xf32>) -> tensor<1x3x3x1xf32> {
    %z = arith.constant dense<0.0> : tensor<1x3x3x1xf32>
    %0 = linalg.conv_2d_nhwc_hwcf ins(%a, %k : tensor<1x4x4x1xf32>, tensor<2x2x1x1xf32>) outs(%z : tensor<1x3x3x1xf32>) -> tensor<1x3x3x1xf32>
    return %0 : tensor<1x3x3x1xf32>
  }
}

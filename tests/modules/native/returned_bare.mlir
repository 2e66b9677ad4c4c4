// SPDX-License-Identifier: Apache-2.0
//
// As returned.mlir, by the bare pointer convention.
func.func @bare_same(%x: memref<4xf32>) -> memref<4xf32> { return %x : memref<4xf32> }
func.func @bare_swap(%x: memref<4xf32>, %y: memref<2xf32>, %z: i32) -> (memref<2xf32>, i32, memref<4xf32>) { return %y, %z, %x : memref<2xf32>, i32, memref<4xf32> }
func.func @bare_many(%x: memref<2xf32>, %y: memref<2xf32>) -> (memref<2xf32>, memref<2xf32>, memref<2xf32>, memref<2xf32>, memref<2xf32>, memref<2xf32>, memref<2xf32>, memref<2xf32>, memref<2xf32>) { return %x, %y, %x, %y, %x, %y, %x, %y, %x : memref<2xf32>, memref<2xf32>, memref<2xf32>, memref<2xf32>, memref<2xf32>, memref<2xf32>, memref<2xf32>, memref<2xf32>, memref<2xf32> }
func.func @bare_fresh(%x: f32) -> memref<3xf32> {
  %0 = memref.alloc() : memref<3xf32>
  linalg.fill ins(%x : f32) outs(%0 : memref<3xf32>)
  return %0 : memref<3xf32> }
func.func @bare_aligned(%x: f32) -> memref<3xf32> {
  %0 = memref.alloc() {alignment = 256 : i64} : memref<3xf32>
  linalg.fill ins(%x : f32) outs(%0 : memref<3xf32>)
  return %0 : memref<3xf32> }
func.func @bare_column(%x: memref<3x2xf32>) -> memref<3xf32, strided<[2], offset: 1>> {
  %0 = memref.subview %x[0, 1][3, 1][1, 1] : memref<3x2xf32> to memref<3xf32, strided<[2], offset: 1>>
  return %0 : memref<3xf32, strided<[2], offset: 1>> }

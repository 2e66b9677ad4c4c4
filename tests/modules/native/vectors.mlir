// SPDX-License-Identifier: Apache-2.0
// What vectors-*.s are made of, by mlir-opt, mlir-translate and llc of LLVM 22:
//   mlir-opt --convert-vector-to-llvm --convert-arith-to-llvm --convert-index-to-llvm
//     --finalize-memref-to-llvm --convert-func-to-llvm --reconcile-unrealized-casts
//   mlir-translate --mlir-to-llvmir
//   llc -O2 --relocation-model=pic --mtriple=PROCESSOR-linux-gnu
func.func @add(%a: vector<4xf32>, %b: vector<4xf32>) -> vector<4xf32> attributes {llvm.emit_c_interface} {
  %0 = arith.addf %a, %b : vector<4xf32>
  return %0 : vector<4xf32>
}
func.func @mixed(%n: i32, %x: f32, %v: vector<2xi64>, %m: memref<?xf32>, %y: f64, %w: vector<16xi8>)
    -> (i8, vector<16xi8>, vector<2xi64>) attributes {llvm.emit_c_interface} {
  %c0 = arith.constant 0 : index
  %0 = arith.fptosi %x : f32 to i32
  %1 = arith.fptosi %y : f64 to i32
  %2 = memref.load %m[%c0] : memref<?xf32>
  %3 = arith.fptosi %2 : f32 to i32
  %4 = arith.addi %n, %0 : i32
  %5 = arith.addi %4, %1 : i32
  %6 = arith.addi %5, %3 : i32
  %7 = arith.trunci %6 : i32 to i8
  %8 = arith.addi %w, %w : vector<16xi8>
  return %7, %8, %v : i8, vector<16xi8>, vector<2xi64>
}
func.func @rows(%v: vector<3x4xi32>) -> vector<3x4xi32> attributes {llvm.emit_c_interface} {
  %0 = arith.addi %v, %v : vector<3x4xi32>
  return %0 : vector<3x4xi32>
}
func.func @first(%v: vector<2xf64>) -> f64 attributes {llvm.emit_c_interface} {
  %0 = vector.extract %v[1] : f64 from vector<2xf64>
  return %0 : f64
}
func.func @eight(%a: f32, %b: f32, %c: f32, %d: f32, %e: f32, %f: f32, %g: f32, %v: vector<4xf32>, %h: f32)
    -> vector<4xf32> attributes {llvm.emit_c_interface} {
  %0 = vector.broadcast %h : f32 to vector<4xf32>
  %1 = arith.addf %v, %0 : vector<4xf32>
  return %1 : vector<4xf32>
}
func.func @same(%m: memref<?xvector<4xf32>>) -> memref<?xvector<4xf32>> attributes {llvm.emit_c_interface} {
  return %m : memref<?xvector<4xf32>>
}
func.func @double(%m: memref<?x2xvector<2x8xf16>>) -> (index, memref<?x2xvector<2x8xf16>>)
    attributes {llvm.emit_c_interface} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %m, %c0 : memref<?x2xvector<2x8xf16>>
  %last = arith.subi %n, %c1 : index
  %0 = memref.load %m[%last, %c1] : memref<?x2xvector<2x8xf16>>
  %1 = arith.addf %0, %0 : vector<2x8xf16>
  memref.store %1, %m[%c0, %c0] : memref<?x2xvector<2x8xf16>>
  return %n, %m : index, memref<?x2xvector<2x8xf16>>
}
func.func @at(%m: memref<3xvector<2xi32>>, %i: index) -> memref<vector<2xi32>> attributes {llvm.emit_c_interface} {
  %0 = memref.load %m[%i] : memref<3xvector<2xi32>>
  %1 = memref.alloc() : memref<vector<2xi32>>
  memref.store %0, %1[] : memref<vector<2xi32>>
  return %1 : memref<vector<2xi32>>
}

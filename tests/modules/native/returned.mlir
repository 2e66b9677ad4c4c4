// SPDX-License-Identifier: Apache-2.0
//
// Functions without the C interface. returned.sh makes of this file what is
// beside it.
func.func @two(%a: i32, %b: i64) -> (i64, i32) { return %b, %a : i64, i32 }
func.func @small(%a: i8, %b: f64, %c: i1) -> (i8, f64, i1) { return %a, %b, %c : i8, f64, i1 }
func.func @halves(%a: f16, %b: bf16, %c: f32, %d: f16) -> (f16, bf16, f32, f16) { return %a, %b, %c, %d : f16, bf16, f32, f16 }
func.func @doubles(%a: f64, %b: f64, %c: f64, %d: f32) -> (f64, f64, f64, f32) { return %a, %b, %c, %d : f64, f64, f64, f32 }
func.func @floats(%a: f32, %b: f32, %c: f32) -> (f32, f32, f32) { return %a, %b, %c : f32, f32, f32 }
func.func @nine(%a: i64, %b: f32) -> (i64, f32, i64, f32, i64, f32, i64, f32, i64) {
  %c = arith.addi %a, %a : i64
  return %a, %b, %c, %b, %a, %b, %c, %b, %a : i64, f32, i64, f32, i64, f32, i64, f32, i64 }
func.func @many(%a: i64, %b: f64) -> (i64, f64, i64, f64, i64, f64, i64, f64, i64, f64, i64, f64, i64, f64, i64, f64, i64, i64, f64) {
  %c = arith.addi %a, %a : i64
  %d = arith.addf %b, %b : f64
  return %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c, %d, %a, %a, %d : i64, f64, i64, f64, i64, f64, i64, f64, i64, f64, i64, f64, i64, f64, i64, f64, i64, i64, f64 }
func.func @double(%a: complex<f32>) -> complex<f32> { %0 = complex.add %a, %a : complex<f32> return %0 : complex<f32> }
func.func @double_and(%a: complex<f64>, %b: i16) -> (i16, complex<f64>) { %0 = complex.add %a, %a : complex<f64> return %b, %0 : i16, complex<f64> }
func.func @rank0(%x: f32) -> memref<f32> {
  %0 = memref.alloc() : memref<f32>
  memref.store %x, %0[] : memref<f32>
  return %0 : memref<f32> }
func.func @rank0_and(%x: f32) -> (memref<f32>, f32) {
  %0 = func.call @rank0(%x) : (f32) -> memref<f32>
  return %0, %x : memref<f32>, f32 }
func.func @same(%x: memref<?xf32>) -> memref<?xf32> { return %x : memref<?xf32> }
func.func @twice(%x: memref<?xf32>) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %0 = memref.alloc(%n) : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %0[%i] : memref<?xf32>
  }
  return %0 : memref<?xf32> }
func.func @rank2(%x: memref<?x?xf32>) -> memref<?x?xf32> { return %x : memref<?x?xf32> }
func.func @rank3(%x: memref<?x?x?xf32>, %f: f32) -> (f32, memref<?x?x?xf32>) { return %f, %x : f32, memref<?x?x?xf32> }
func.func @swap(%x: memref<?xf32>, %y: memref<2xi8>) -> (memref<2xi8>, memref<?xf32>) { return %y, %x : memref<2xi8>, memref<?xf32> }
func.func @unranked(%x: memref<?xf32>) -> memref<*xf32> { %0 = memref.cast %x : memref<?xf32> to memref<*xf32> return %0 : memref<*xf32> }
func.func @guarded(%x: i64) -> (i64, i64) {
  %c0 = arith.constant 0 : i64
  %ok = arith.cmpi ne, %x, %c0 : i64
  cf.assert %ok, "x is zero"
  return %x, %x : i64, i64 }

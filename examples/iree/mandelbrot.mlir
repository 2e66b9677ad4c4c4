// SPDX-License-Identifier: Apache-2.0
//
// The Mandelbrot set: an image of 32x64 pixels around the point (x, y), `width`
// wide. A pixel is the number of steps after which z = z^2 + c leaves the circle
// of radius 2, 100 if it does not within as many. Pixels are twice as high as wide,
// as characters are.
#pixel = affine_map<(i, j) -> (i, j)>

module @mandelbrot {
  func.func @render(%x: f32 {iree.abi.name = "x"}, %y: f32 {iree.abi.name = "y"},
                    %width: f32 {iree.abi.name = "width"}) -> tensor<32x64xi32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c100 = arith.constant 100 : index
    %none = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %two = arith.constant 2.0 : f32
    %four = arith.constant 4.0 : f32
    %half_columns = arith.constant 31.5 : f32
    %half_rows = arith.constant 15.5 : f32
    %columns = arith.constant 64.0 : f32
    %step = arith.divf %width, %columns : f32

    %empty = tensor.empty() : tensor<32x64xi32>
    %image = linalg.generic {
        indexing_maps = [#pixel], iterator_types = ["parallel", "parallel"]}
        outs(%empty : tensor<32x64xi32>) {
    ^bb0(%old: i32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %i32 = arith.index_cast %i : index to i32
      %j32 = arith.index_cast %j : index to i32
      %row = arith.sitofp %i32 : i32 to f32
      %column = arith.sitofp %j32 : i32 to f32
      %right = arith.subf %column, %half_columns : f32
      %up = arith.subf %half_rows, %row : f32
      %dx = arith.mulf %right, %step : f32
      %up2 = arith.mulf %up, %two : f32
      %dy = arith.mulf %up2, %step : f32
      %cx = arith.addf %x, %dx : f32
      %cy = arith.addf %y, %dy : f32

      // It counts the steps inside the circle; z no longer moves once outside.
      %zx, %zy, %count = scf.for %n = %c0 to %c100 step %c1
          iter_args(%a = %zero, %b = %zero, %steps = %none) -> (f32, f32, i32) {
        %aa = arith.mulf %a, %a : f32
        %bb = arith.mulf %b, %b : f32
        %radius = arith.addf %aa, %bb : f32
        %inside = arith.cmpf ole, %radius, %four : f32
        %difference = arith.subf %aa, %bb : f32
        %next_a = arith.addf %difference, %cx : f32
        %ab = arith.mulf %a, %b : f32
        %twice = arith.addf %ab, %ab : f32
        %next_b = arith.addf %twice, %cy : f32
        %more = arith.addi %steps, %one : i32
        %keep_a = arith.select %inside, %next_a, %a : f32
        %keep_b = arith.select %inside, %next_b, %b : f32
        %keep_steps = arith.select %inside, %more, %steps : i32
        scf.yield %keep_a, %keep_b, %keep_steps : f32, f32, i32
      }
      linalg.yield %count : i32
    } -> tensor<32x64xi32>
    return %image : tensor<32x64xi32>
  }
}

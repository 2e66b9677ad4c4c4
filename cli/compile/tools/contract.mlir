// SPDX-License-Identifier: Apache-2.0
//
// C[m, n] += sum over k of A[m, k] * B[k, n], with any strides: the kernel that `farcall
// compile` puts in the place of a contraction of linalg. mlir/kernel.c replaces the
// placeholders, which begin with a dollar. A tile has two vectors of columns, and as many
// rows of C as then fit into the registers.
//
// Blocks of B, then of A, are packed: their elements are widened, put into the order in
// which a tile reads them, and padded with zeros. So all tiles are whole, and only the last
// step, which adds a tile to C, looks at the ends.
//
// Loads and stores are those of the dialect `vector`, for which MLIR makes no run-time
// checks: sizes are checked once, before the call.

// Returns the element of A at %at, converted to the type of C.
func.func private @$N.one_a(%x: $F, %at: index) -> $T
    attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = ["alwaysinline", ["probe-stack", "inline-asm"]]} {
  %v = vector.load %x[%at] : $F, vector<1x$I>
  %e = vector.extract %v[0] : $I from vector<1x$I>
$A}

func.func private @$N.one_b(%x: $G, %at: index) -> $T
    attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = ["alwaysinline", ["probe-stack", "inline-asm"]]} {
  %v = vector.load %x[%at] : $G, vector<1x$J>
  %e = vector.extract %v[0] : $J from vector<1x$J>
$B}

// Returns the packed form of %x at %at; %left elements are left from there on.
func.func private @$N.a(%x: $F, %at: index, %step: index, %left: index) -> $P
    attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = ["alwaysinline", ["probe-stack", "inline-asm"]]} {
  %e = func.call @$N.one_a(%x, %at) : ($F, index) -> $T
$X}

func.func private @$N.b(%x: $G, %at: index, %step: index, %left: index) -> $P
    attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = ["alwaysinline", ["probe-stack", "inline-asm"]]} {
  %e = func.call @$N.one_b(%x, %at) : ($G, index) -> $T
$Y}

// For few rows: packing would cost more than it saves. The compiler vectorizes these loops
// where elements are next to each other.
func.func private @$N.dot(%a: $F, %from_a: index, %ak: index, %b: $G, %from_b: index, %bk: index,
    %k: index) -> $T
    attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = ["alwaysinline", ["probe-stack", "inline-asm"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0$Z : $T
  %sum = scf.for %p = %c0 to %k step %c1 iter_args(%s = %zero) -> ($T) {
    %right = arith.muli %p, %ak : index
    %at_a = arith.addi %from_a, %right : index
    %down = arith.muli %p, %bk : index
    %at_b = arith.addi %from_b, %down : index
    %x = func.call @$N.one_a(%a, %at_a) : ($F, index) -> $T
    %y = func.call @$N.one_b(%b, %at_b) : ($G, index) -> $T
    %xy = $* %x, %y : $T
    %t = $+ %s, %xy $H : $T
    scf.yield %t : $T
  }
  return %sum : $T
}

func.func private @$N.thin(
    %a: $F, %am: index, %ak: index, %b: $G, %bk: index, %bn: index,
    %c: $O, %cm: index, %cn: index, %m: index, %n: index, %k: index)
    attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = ["alwaysinline", ["probe-stack", "inline-asm"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b_dense = arith.cmpi eq, %bn, %c1 : index
  %c_dense = arith.cmpi eq, %cn, %c1 : index
  %by_row = arith.andi %b_dense, %c_dense : i1
  %ak_dense = arith.cmpi eq, %ak, %c1 : index
  %bk_dense = arith.cmpi eq, %bk, %c1 : index
  %by_column = arith.andi %ak_dense, %bk_dense : i1
  scf.for %i = %c0 to %m step %c1 {
    %a_down = arith.muli %i, %am : index
    %c_down = arith.muli %i, %cm : index
    scf.if %by_row {
      scf.for %p = %c0 to %k step %c1 {
        %right = arith.muli %p, %ak : index
        %at_a = arith.addi %a_down, %right : index
        %x = func.call @$N.one_a(%a, %at_a) : ($F, index) -> $T
        %down = arith.muli %p, %bk : index
        scf.for %j = %c0 to %n step %c1 {
          %at_b = arith.addi %down, %j : index
          %y = func.call @$N.one_b(%b, %at_b) : ($G, index) -> $T
          %at_c = arith.addi %c_down, %j : index
          %v = vector.load %c[%at_c] : $O, vector<1x$T>
          %old = vector.extract %v[0] : $T from vector<1x$T>
          %xy = $* %x, %y : $T
          %new = $+ %old, %xy : $T
          %w = vector.broadcast %new : $T to vector<1x$T>
          vector.store %w, %c[%at_c] : $O, vector<1x$T>
        }
      }
    } else {
      scf.for %j = %c0 to %n step %c1 {
        %right = arith.muli %j, %bn : index
        %sum = scf.if %by_column -> ($T) {
          %s = func.call @$N.dot(%a, %a_down, %c1, %b, %right, %c1, %k) : ($F, index, index, $G, index, index, index) -> $T
          scf.yield %s : $T
        } else {
          %s = func.call @$N.dot(%a, %a_down, %ak, %b, %right, %bk, %k) : ($F, index, index, $G, index, index, index) -> $T
          scf.yield %s : $T
        }
        %c_right = arith.muli %j, %cn : index
        %at_c = arith.addi %c_down, %c_right : index
        %v = vector.load %c[%at_c] : $O, vector<1x$T>
        %old = vector.extract %v[0] : $T from vector<1x$T>
        %new = $+ %old, %sum : $T
        %w = vector.broadcast %new : $T to vector<1x$T>
        vector.store %w, %c[%at_c] : $O, vector<1x$T>
      }
    }
  }
  return
}

// Sets %packed[%to + p * $C + l] to the word of B at p, l. Only %width lanes exist.
func.func private @$N.pack_b(%b: $G, %from: index, %bk: index, %bn: index,
    %packed: memref<?x$P>, %to: index, %words: index, %k: index, %width: index)
    attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = ["alwaysinline", ["probe-stack", "inline-asm"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %unit = arith.constant $U : index
  %lanes = arith.constant $C : index
  %zero = arith.constant dense<0$Z> : vector<1x$P>
  scf.for %p = %c0 to %words step %c1 {
    %at_k = arith.muli %p, %unit : index
    %left = arith.subi %k, %at_k : index
    %down = arith.muli %at_k, %bk : index
    %line = arith.addi %from, %down : index
    %row = arith.muli %p, %lanes : index
    %there = arith.addi %to, %row : index
    scf.for %l = %c0 to %width step %c1 {
      %right = arith.muli %l, %bn : index
      %at = arith.addi %line, %right : index
      %w = func.call @$N.b(%b, %at, %bk, %left) : ($G, index, index, index) -> $P
      %i = arith.addi %there, %l : index
      %v = vector.broadcast %w : $P to vector<1x$P>
      vector.store %v, %packed[%i] : memref<?x$P>, vector<1x$P>
    }
    scf.for %l = %width to %lanes step %c1 {
      %i = arith.addi %there, %l : index
      vector.store %zero, %packed[%i] : memref<?x$P>, vector<1x$P>
    }
  }
  return
}

// For many rows, tile by tile. False: there is no memory for packed blocks.
func.func private @$N.tiles(
    %a: $F, %am: index, %ak: index,
    %b: $G, %bk: index, %bn: index,
    %c: $O, %cm: index, %cn: index,
    %m: index, %n: index, %k: index) -> i1
    attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = ["alwaysinline", ["probe-stack", "inline-asm"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %unit = arith.constant $U : index
  %half = arith.constant $W : index
  %lanes = arith.constant $C : index
  %rows = arith.constant $R : index
  %tile = arith.constant $E : index
${  %row$r = arith.constant $r : index
$}  %zero = arith.constant dense<0$Z> : vector<$Wx$P>
  %zero1 = arith.constant dense<0$Z> : vector<1x$P>
  // The most elements of a block along k, along n and along m.
  %most_k = arith.constant $K : index
  %most_n = arith.constant 512 : index
  %most_m = arith.constant 96 : index
  %most_words = arith.ceildivui %most_k, %unit : index

  // Room for the packed blocks, aligned to 64 bytes, and for one tile.
  %all_words = arith.ceildivui %k, %unit : index
  %room_k = arith.minui %all_words, %most_words : index
  %room_n0 = arith.minui %n, %most_n : index
  %room_n1 = arith.ceildivui %room_n0, %lanes : index
  %room_n = arith.muli %room_n1, %lanes : index
  %room_m0 = arith.minui %m, %most_m : index
  %room_m1 = arith.ceildivui %room_m0, %rows : index
  %room_m = arith.muli %room_m1, %rows : index
  %size_b = arith.muli %room_k, %room_n : index
  %size_a = arith.muli %room_k, %room_m : index
  %size_ab = arith.addi %size_a, %size_b : index
  %size_abt = arith.addi %size_ab, %tile : index
  %spare = arith.constant 64 : index
  %size = arith.addi %size_abt, %spare : index
  %room = memref.alloc(%size) : memref<?x$P>
  %address = memref.extract_aligned_pointer_as_index %room : memref<?x$P> -> index
  %missing = arith.cmpi eq, %address, %c0 : index
  cf.cond_br %missing, ^without, ^packed
^without:
  %false = arith.constant false
  return %false : i1

^packed:
  %c63 = arith.constant 63 : index
  %bytes = arith.constant $L : index
  %negated = arith.subi %c0, %address : index
  %past = arith.andi %negated, %c63 : index
  %start_b = arith.shrui %past, %bytes : index
  %start_t = arith.addi %start_b, %size_b : index
  %start_a = arith.addi %start_t, %tile : index

  scf.for %jc = %c0 to %n step %most_n {
    %n_left = arith.subi %n, %jc : index
    %n_here = arith.minui %n_left, %most_n : index
    scf.for %pc = %c0 to %k step %most_k {
      %k_left = arith.subi %k, %pc : index
      %k_here = arith.minui %k_left, %most_k : index
      %words = arith.ceildivui %k_here, %unit : index
      %b_down = arith.muli %pc, %bk : index
      %a_right = arith.muli %pc, %ak : index
      %b_panel = arith.muli %words, %lanes : index
      %a_panel = arith.muli %words, %rows : index
      %dense = arith.cmpi eq, %bn, %c1 : index

      scf.for %j = %c0 to %n_here step %lanes {
        %left = arith.subi %n_here, %j : index
        %width = arith.minui %left, %lanes : index
        %column = arith.addi %jc, %j : index
        %right = arith.muli %column, %bn : index
        %from = arith.addi %b_down, %right : index
        %block = arith.divui %j, %lanes : index
        %at = arith.muli %block, %b_panel : index
        %to = arith.addi %start_b, %at : index
        %whole = arith.cmpi eq, %width, %lanes : index
        %quick = arith.andi %whole, %dense : i1
        scf.if %quick {
          func.call @$N.pack_b(%b, %from, %bk, %c1, %room, %to, %words, %k_here, %lanes) : ($G, index, index, index, memref<?x$P>, index, index, index, index) -> ()
        } else {
          func.call @$N.pack_b(%b, %from, %bk, %bn, %room, %to, %words, %k_here, %width) : ($G, index, index, index, memref<?x$P>, index, index, index, index) -> ()
        }
      }

      scf.for %ic = %c0 to %m step %most_m {
        %m_left = arith.subi %m, %ic : index
        %m_here = arith.minui %m_left, %most_m : index
        scf.for %i = %c0 to %m_here step %rows {
          %left = arith.subi %m_here, %i : index
          %height = arith.minui %left, %rows : index
          %first = arith.addi %ic, %i : index
          %block = arith.divui %i, %rows : index
          %at = arith.muli %block, %a_panel : index
          %to = arith.addi %start_a, %at : index
          scf.for %r = %c0 to %height step %c1 {
            %row = arith.addi %first, %r : index
            %down = arith.muli %row, %am : index
            %from = arith.addi %a_right, %down : index
            %there = arith.addi %to, %r : index
            scf.for %p = %c0 to %words step %c1 {
              %at_k = arith.muli %p, %unit : index
              %left_k = arith.subi %k_here, %at_k : index
              %right = arith.muli %at_k, %ak : index
              %source = arith.addi %from, %right : index
              %w = func.call @$N.a(%a, %source, %ak, %left_k) : ($F, index, index, index) -> $P
              %step = arith.muli %p, %rows : index
              %target = arith.addi %there, %step : index
              %v = vector.broadcast %w : $P to vector<1x$P>
              vector.store %v, %room[%target] : memref<?x$P>, vector<1x$P>
            }
          }
          scf.for %r = %height to %rows step %c1 {
            %there = arith.addi %to, %r : index
            scf.for %p = %c0 to %words step %c1 {
              %step = arith.muli %p, %rows : index
              %target = arith.addi %there, %step : index
              vector.store %zero1, %room[%target] : memref<?x$P>, vector<1x$P>
            }
          }
        }

        scf.for %j = %c0 to %n_here step %lanes {
          %n_block = arith.divui %j, %lanes : index
          %b_at = arith.muli %n_block, %b_panel : index
          %b_from = arith.addi %start_b, %b_at : index
          %left_n = arith.subi %n_here, %j : index
          %width = arith.minui %left_n, %lanes : index
          %column = arith.addi %jc, %j : index
          %c_right = arith.muli %column, %cn : index
          scf.for %i = %c0 to %m_here step %rows {
            %m_block = arith.divui %i, %rows : index
            %a_at = arith.muli %m_block, %a_panel : index
            %a_from = arith.addi %start_a, %a_at : index
            %sum:$D = scf.for %p = %c0 to %words step %c1
                iter_args($[%x$r = %zero$], $[%y$r = %zero$]) -> ($[vector<$Wx$P>$], $[vector<$Wx$P>$]) {
              %b_step = arith.muli %p, %lanes : index
              %b0 = arith.addi %b_from, %b_step : index
              %b1 = arith.addi %b0, %half : index
              %u = vector.load %room[%b0] : memref<?x$P>, vector<$Wx$P>
              %v = vector.load %room[%b1] : memref<?x$P>, vector<$Wx$P>
              %a_step = arith.muli %p, %rows : index
              %a0 = arith.addi %a_from, %a_step : index
${              %a_$r = arith.addi %a0, %row$r : index
              %s$r = vector.load %room[%a_$r] : memref<?x$P>, vector<1x$P>
              %w$r = vector.broadcast %s$r : vector<1x$P> to vector<$Wx$P>
$M$}              scf.yield $[%X$r$], $[%Y$r$] : $[vector<$Wx$P>$], $[vector<$Wx$P>$]
            }
            %left_m = arith.subi %m_here, %i : index
            %height = arith.minui %left_m, %rows : index
            %first = arith.addi %ic, %i : index
            %c_down = arith.muli %first, %cm : index
            %c_at = arith.addi %c_down, %c_right : index
            %full_m = arith.cmpi eq, %height, %rows : index
            %full_n = arith.cmpi eq, %width, %lanes : index
            %full = arith.andi %full_m, %full_n : i1
            %c_dense = arith.cmpi eq, %cn, %c1 : index
            %quick = arith.andi %full, %c_dense : i1
            scf.if %quick {
${              %d$r = arith.muli %cm, %row$r : index
              %e$r = arith.addi %c_at, %d$r : index
              %f$r = arith.addi %e$r, %half : index
              %g$r = vector.load %c[%e$r] : $O, vector<$Wx$T>
              %h$r = vector.load %c[%f$r] : $O, vector<$Wx$T>
              %g_$r = $+ %g$r, %sum#$r : vector<$Wx$T>
              %h_$r = $+ %h$r, %sum#$q : vector<$Wx$T>
              vector.store %g_$r, %c[%e$r] : $O, vector<$Wx$T>
              vector.store %h_$r, %c[%f$r] : $O, vector<$Wx$T>
$}            } else {
${              %t_$r = arith.muli %row$r, %lanes : index
              %t$r = arith.addi %start_t, %t_$r : index
              %tt$r = arith.addi %t$r, %half : index
              vector.store %sum#$r, %room[%t$r] : memref<?x$P>, vector<$Wx$P>
              vector.store %sum#$q, %room[%tt$r] : memref<?x$P>, vector<$Wx$P>
$}              scf.for %r = %c0 to %height step %c1 {
                %d = arith.muli %cm, %r : index
                %line = arith.addi %c_at, %d : index
                %t_d = arith.muli %r, %lanes : index
                %t_line = arith.addi %start_t, %t_d : index
                scf.for %l = %c0 to %width step %c1 {
                  %right = arith.muli %l, %cn : index
                  %e = arith.addi %line, %right : index
                  %t = arith.addi %t_line, %l : index
                  %g = vector.load %c[%e] : $O, vector<1x$T>
                  %h = vector.load %room[%t] : memref<?x$P>, vector<1x$P>
                  %s = $+ %g, %h : vector<1x$T>
                  vector.store %s, %c[%e] : $O, vector<1x$T>
                }
              }
            }
          }
        }
      }
    }
  }
  memref.dealloc %room : memref<?x$P>
  %true = arith.constant true
  return %true : i1
}

func.func private @$N(
    %a: $F, %am: index, %ak: index, %b: $G, %bk: index, %bn: index,
    %c: $O, %cm: index, %cn: index, %m: index, %n: index, %k: index)
    attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = ["noinline", ["probe-stack", "inline-asm"]]} {
  %few = arith.constant 4 : index
  %many = arith.cmpi ugt, %m, %few : index
  %done = scf.if %many -> (i1) {
    %packed = func.call @$N.tiles(%a, %am, %ak, %b, %bk, %bn, %c, %cm, %cn, %m, %n, %k) : ($F, index, index, $G, index, index, $O, index, index, index, index, index) -> i1
    scf.yield %packed : i1
  } else {
    scf.yield %many : i1
  }
  scf.if %done {
  } else {
    func.call @$N.thin(%a, %am, %ak, %b, %bk, %bn, %c, %cm, %cn, %m, %n, %k) : ($F, index, index, $G, index, index, $O, index, index, index, index, index) -> ()
  }
  return
}

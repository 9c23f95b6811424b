// RUN: transom-opt %s --kern-fuse-glu --split-input-file | FileCheck %s

// Products between two GEMMs that are nearly a GLU.

!x = !kern.buffer<[rows, 4] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 4] x f32, unset>
kern.weight @g : !w = #weight.expr<file("g")>
kern.weight @u : !w = #weight.expr<file("u")>

// Another operation also writes a GEMM's buffer.
// CHECK: args = {factor = "gate", writer = "the caller"}{{[^{}]*}}name = "glu-factor-is-not-a-product"
// CHECK-LABEL: func.func @written_twice(
// CHECK-NOT: epilogue <glu
// CHECK: kern.elementwise
// CHECK-NOT: epilogue <glu
// CHECK: return
func.func @written_twice(%x: !x, %z: !y, %y: !y) {
  %g = kern.get_weight @g : !w
  %u = kern.get_weight @u : !w
  %a = kern.alloc : !y
  kern.softmax %z outs(%a) : !y, !y
  kern.gemm %x, %g outs(%a) : !x, !w, !y
  %c = kern.alloc : !y
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!y) -> !y
  %d = kern.alloc : !y
  kern.gemm %x, %u outs(%d) : !x, !w, !y
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!y, !y) -> !y
  return
}

// -----

!x = !kern.buffer<[rows, 4] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 4] x f32, unset>
!v = !kern.weight<[8] x f32, unset>
kern.weight @g : !w = #weight.expr<file("g")>
kern.weight @v : !v = #weight.expr<file("v")>

// The second factor is a weight.
// CHECK-NOT: glu-factor
// CHECK-LABEL: func.func @times_a_weight(
// CHECK-NOT: epilogue <glu
// CHECK: kern.elementwise
// CHECK-NOT: epilogue <glu
// CHECK: return
func.func @times_a_weight(%x: !x, %y: !y) {
  %g = kern.get_weight @g : !w
  %v = kern.get_weight @v : !v
  %a = kern.alloc : !y
  kern.gemm %x, %g outs(%a) : !x, !w, !y
  %c = kern.alloc : !y
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!y) -> !y
  kern.elementwise ins(%v, %c) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!v, !y) -> !y
  return
}

// -----

!x = !kern.buffer<[16, 4] x f32>
!y = !kern.buffer<[8, 16] x f32>
!t = !kern.buffer<[16, 16] x f32>
!w = !kern.weight<[16, 4] x f32, unset>
kern.weight @w : !w = #weight.expr<file("w")>

// Row slices, not column slices.
// CHECK: args = {factor = "gate", writer = "'kern.copy'"}{{[^{}]*}}name = "glu-factor-is-not-a-product"
// CHECK-LABEL: func.func @halves_of_the_rows(
// CHECK-NOT: epilogue <glu
// CHECK: kern.elementwise
// CHECK-NOT: epilogue <glu
// CHECK: return
func.func @halves_of_the_rows(%x: !x, %y: !y) {
  %w = kern.get_weight @w : !w
  %t = kern.alloc : !t
  kern.gemm %x, %w outs(%t) : !x, !w, !t
  %a = kern.alloc : !y
  kern.copy %t outs(%a) axis 0 from "0" to "0" size "8" : !t, !y
  %d = kern.alloc : !y
  kern.copy %t outs(%d) axis 0 from "8" to "0" size "8" : !t, !y
  %c = kern.alloc : !y
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!y) -> !y
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!y, !y) -> !y
  return
}

// -----

!x = !kern.buffer<[rows, 4] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!t = !kern.buffer<[rows, 16] x f32>
!w = !kern.weight<[16, 4] x f32, unset>
kern.weight @w : !w = #weight.expr<file("w")>

// Something reads the product as a whole, too.
// CHECK: name = "glu-inputs-differ"
// CHECK-LABEL: func.func @halves_and_all_columns(
// CHECK-NOT: epilogue <glu
// CHECK: kern.elementwise
// CHECK-NOT: epilogue <glu
// CHECK: return
func.func @halves_and_all_columns(%x: !x, %y: !y, %z: !t) {
  %w = kern.get_weight @w : !w
  %t = kern.alloc : !t
  kern.gemm %x, %w outs(%t) : !x, !w, !t
  %a = kern.alloc : !y
  kern.copy %t outs(%a) axis 1 from "0" to "0" size "8" : !t, !y
  %d = kern.alloc : !y
  kern.copy %t outs(%d) axis 1 from "8" to "0" size "8" : !t, !y
  %c = kern.alloc : !y
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!y) -> !y
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!y, !y) -> !y
  kern.softmax %t outs(%z) : !t, !t
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
kern.weight @g0 : !w = #weight.expr<file("g0")>
kern.weight @g1 : !w = #weight.expr<file("g1")>
kern.weight @u : !w = #weight.expr<file("u")>

// Two layers have one weight in common: it cannot be interleaved with both others.
// CHECK: args = {product = "'kern.gemm'"}{{[^{}]*}}function = "layer"{{[^{}]*}}name = "glu-weight-is-shared"
// CHECK-LABEL: func.func @step(
// CHECK: return
func.func @step(%x: !x, %y: !x) {
  kern.layers %x invariants(%y : !x) [@layer(@g0, @u), @layer(@g1, @u)] : !x
  return
}
// CHECK-LABEL: func.func private @layer(
// CHECK-COUNT-2: kern.gemm
func.func private @layer(%x: !x, %y: !x, %g: !w, %u: !w) {
  %a = kern.alloc : !x
  kern.gemm %x, %g outs(%a) : !x, !w, !x
  %c = kern.alloc : !x
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!x) -> !x
  %d = kern.alloc : !x
  kern.gemm %x, %u outs(%d) : !x, !w, !x
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!x, !x) -> !x
  return
}

// -----

!x = !kern.buffer<[rows, 4096] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 4096] x f32, unset>

// The longest sums over K that a tile finishes at once.
module attributes {} {
kern.weight @g : !w = #weight.expr<file("g")>
kern.weight @u : !w = #weight.expr<file("u")>
// CHECK-LABEL: func.func @longest_k(
// CHECK: kern.gemm {{.*}} epilogue <glu silu>
func.func @longest_k(%x: !x, %y: !y) {
  %g = kern.get_weight @g : !w
  %u = kern.get_weight @u : !w
  %a = kern.alloc : !y
  kern.gemm %x, %g outs(%a) : !x, !w, !y
  %c = kern.alloc : !y
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!y) -> !y
  %d = kern.alloc : !y
  kern.gemm %x, %u outs(%d) : !x, !w, !y
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!y, !y) -> !y
  return
}
}

// -----

!x = !kern.buffer<[rows, 8192] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8192] x f32, unset>

// CHECK: args = {k = "8192", limit = "4096"}{{[^{}]*}}name = "glu-of-long-k"
module attributes {transom.dtype = "f32"} {
kern.weight @g : !w = #weight.expr<file("g")>
kern.weight @u : !w = #weight.expr<file("u")>
// CHECK-LABEL: func.func @longest_k_of_f32(
// CHECK-COUNT-2: kern.gemm
func.func @longest_k_of_f32(%x: !x, %y: !y) {
  %g = kern.get_weight @g : !w
  %u = kern.get_weight @u : !w
  %a = kern.alloc : !y
  kern.gemm %x, %g outs(%a) : !x, !w, !y
  %c = kern.alloc : !y
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!y) -> !y
  %d = kern.alloc : !y
  kern.gemm %x, %u outs(%d) : !x, !w, !y
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!y, !y) -> !y
  return
}
}

// -----

!x = !kern.buffer<[rows, 64] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 64] x f32, unset>

// CHECK: args = {gate = "i4, group 32, scales f16, interleave 8", up = "i8, group 64, scales f32, interleave 4"}{{[^{}]*}}function = "formats_of_files"{{[^{}]*}}name = "glu-formats-differ"
module attributes {} {
kern.weight @g : !w = #weight.expr<file("g", i4, 32, 64)>
kern.weight @u : !w = #weight.expr<file("u", i8, 64, 64)>
// CHECK-LABEL: func.func @formats_of_files(
// CHECK-COUNT-2: kern.gemm
func.func @formats_of_files(%x: !x, %y: !y) {
  %g = kern.get_weight @g : !w
  %u = kern.get_weight @u : !w
  %a = kern.alloc : !y
  kern.gemm %x, %g outs(%a) : !x, !w, !y
  %c = kern.alloc : !y
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!y) -> !y
  %d = kern.alloc : !y
  kern.gemm %x, %u outs(%d) : !x, !w, !y
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!y, !y) -> !y
  return
}
}

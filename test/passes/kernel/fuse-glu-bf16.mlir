// RUN: transom-opt %s --kern-fuse-glu --kern-choose-precision --split-input-file | FileCheck %s

// bf16 sums over twice as long a K are finished at once.

!x = !kern.buffer<[rows, 8192] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8192] x f32, unset>

module attributes {transom.dtype = "bf16"} {
kern.weight @g : !w = #weight.expr<file("g")>
kern.weight @u : !w = #weight.expr<file("u")>
// CHECK-LABEL: func.func @longest_k_of_bf16(
// CHECK: kern.gemm {{.*}} epilogue <glu silu>
// CHECK-NEXT: !kern.weight<[16, 8192] x bf16, unset>
func.func @longest_k_of_bf16(%x: !x, %y: !y) {
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

!x = !kern.buffer<[rows, 8200] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8200] x f32, unset>

// CHECK: args = {k = "8200", limit = "8192"}{{[^{}]*}}name = "glu-of-long-k"
module attributes {transom.dtype = "bf16"} {
kern.weight @g : !w = #weight.expr<file("g")>
kern.weight @u : !w = #weight.expr<file("u")>
// CHECK-LABEL: func.func @longer_k_of_bf16(
// CHECK-COUNT-2: kern.gemm
func.func @longer_k_of_bf16(%x: !x, %y: !y) {
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

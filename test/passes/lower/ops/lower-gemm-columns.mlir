// GEMMs with selected columns call the whole GEMM's kernels.
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 --split-input-file | FileCheck %s

!x = !kern.buffer<[rows, 24] x f32>
!w = !kern.weight<[200, 24] x f32, panels32>
!b = !kern.weight<[200] x f32, padded32>
!i = !kern.buffer<[c] x i64>
!p = !kern.buffer<[7, 3456] x i8>
!y = !kern.buffer<[rows, c] x f32>

// CHECK: args = {all = "200", columns = "16", isa = "avx2", rows = "6"}{{[^{}]*}}name = "columns-tiled"
// CHECK: llvm.func internal @transom.k.avx2.f32.6x16.k24.lda24.ldb32.bias_prefetch(
// CHECK-NOT: llvm.func internal @transom.k.avx2.f32.6x16
kern.weight @w : !w = #weight.expr<file("w")> {offset = 0 : i64}
kern.weight @b : !b = #weight.expr<file("b")> {offset = 21504 : i64}
func.func @listed(%x: !x, %i: !i, %y: !y, %z: !kern.buffer<[rows, 200] x f32>) attributes {kern.symbols = ["c", "rows"]} {
  %w = kern.get_weight @w : !w
  %b = kern.get_weight @b : !b
  %p = kern.alloc {slot = 0 : i64} : !p
  kern.phase "whole" {
    kern.gemm %x, %w bias %b outs(%z) : !x, !w, !b, !kern.buffer<[rows, 200] x f32>
  }
  kern.phase "listed" {
    kern.gemm %x, %w bias %b outs(%y) columns(%i) panels(%p) : !x, !w, !b, !y, !i, !p
  }
  return
}

// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512 | FileCheck %s

!x = !kern.buffer<[rows, 64] x f32>
!y = !kern.buffer<[rows, 32] x f32>

// In a kernel with an activation the sums are in memory, and a loop over its rows stores them: both
// sum vectors are loaded before the first one is stored. The residual is added to the activation.
// CHECK-LABEL: llvm.func internal @transom.k.avx512.f32.3x32.k64.lda64.ldb32.zero_relu_residual_prefetch(
// CHECK: scf.if
// CHECK: scf.for
// CHECK-COUNT-2: llvm.load {{.*}} : !llvm.ptr -> vector<16xf32>
// CHECK: arith.cmpf
// CHECK: llvm.load {{.*}} : !llvm.ptr -> vector<16xf32>
// CHECK: arith.addf
// CHECK: llvm.store {{.*}} : vector<16xf32>, !llvm.ptr
// CHECK: else
// CHECK: llvm.intr.masked.store
func.func @residual(%x: !x, %r: !y, %y: !y) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !kern.weight<[32, 64] x f32, panels32>
  kern.phase "gemm" {
    kern.gemm %x, %w residual %r outs(%y) epilogue <relu> : !x, !kern.weight<[32, 64] x f32, panels32>, !y, !y
  }
  return
}

// In a GLU the sums alternate, eight g and eight u: two sum vectors give one.
// CHECK-LABEL: llvm.func internal @transom.k.avx512.f32.3x32.k64.lda64.ldb32.zero_glu_relu_prefetch(
// CHECK: scf.for
// CHECK-COUNT-2: vector.shuffle
// CHECK: arith.mulf
// CHECK: llvm.store {{.*}} : vector<16xf32>, !llvm.ptr
func.func @glu(%x: !x, %y: !kern.buffer<[rows, 16] x f32>) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !kern.weight<[32, 64] x f32, panels32>
  kern.phase "glu" {
    kern.gemm %x, %w outs(%y) epilogue <glu relu> : !x, !kern.weight<[32, 64] x f32, panels32>, !kern.buffer<[rows, 16] x f32>
  }
  return
}
kern.weight @w : !kern.weight<[32, 64] x f32, panels32> = #weight.expr<file("w")> {offset = 0}

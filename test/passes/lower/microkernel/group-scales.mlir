// RUN: transom-opt %s --split-input-file --convert-kern-to-llvm=isa=avx512vnni | FileCheck %s

!x = !kern.buffer<[rows, 32] x i8>
!s = !kern.buffer<[rows, 2] x f32>
!y = !kern.buffer<[rows, 32] x f32>

// The sum over bytes w + 128: less 128 times the row sum, times both scales.
!w = !kern.weight<[32, 32] x #kern.format<i8, group 32, scales f32, interleave 4>, panels32>
// CHECK-LABEL: llvm.func internal @transom.k.{{.*}}.i8.1x32.
// CHECK: %[[SUM:.*]] = arith.sitofp
// CHECK: %[[OWN:.*]] = llvm.intr.fma(%{{.*}}, %{{.*}}, %[[SUM]])
// CHECK: %[[SCALE:.*]] = arith.mulf
// CHECK: llvm.intr.fma(%[[OWN]], %[[SCALE]],
// CHECK-NOT: llvm.intr.fma(%{{.*}}, %{{.*}}, %[[OWN]])
func.func @bytes(%x: !x, %s: !s, %y: !y) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !w
  kern.phase "gemm" {
    kern.gemm %x, %w scales %s outs(%y) : !x, !w, !s, !y
  }
  return
}
kern.weight @w : !w = #weight.expr<file("w")> {offset = 0}

// -----

!x = !kern.buffer<[rows, 32] x i8>
!s = !kern.buffer<[rows, 2] x f32>
!y = !kern.buffer<[rows, 32] x f32>

// Without an offset; then the column's offset times the row sum.
!w = !kern.weight<[32, 32] x #kern.format<ui4, group 32, scales f16, minimums f16, interleave 8>, panels32>
// CHECK-LABEL: llvm.func internal @transom.k.{{.*}}.i8.1x32.
// CHECK-COUNT-4: arith.extf
// CHECK: %[[SUM:.*]] = arith.sitofp
// CHECK: %[[SCALE:.*]] = arith.mulf
// CHECK: %[[SCALED:.*]] = llvm.intr.fma(%[[SUM]], %[[SCALE]],
// CHECK: llvm.intr.fma(%{{.*}}, %{{.*}}, %[[SCALED]])
func.func @minimums(%x: !x, %s: !s, %y: !y) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !w
  kern.phase "gemm" {
    kern.gemm %x, %w scales %s outs(%y) : !x, !w, !s, !y
  }
  return
}
kern.weight @w : !w = #weight.expr<file("w")> {offset = 0}

// RUN: transom-opt %s --split-input-file --convert-kern-to-llvm=isa=avx2 | FileCheck %s

!x = !kern.buffer<[rows, 64] x f32>
!y = !kern.buffer<[rows, 96] x f32>
!w = !kern.weight<[96, 64] x f32, panels32>

// Workers with their own rows take column tiles by counters in the frame: their
// own, then the others'. The last one that is done clears the counters.
// CHECK-LABEL: llvm.func @transom.p.avx2.gemm(
// CHECK: llvm.ptrtoint
// CHECK: scf.for
// CHECK: arith.remui
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.atomicrmw add %[[COUNTER:[0-9]+]], %c1_i64{{[_0-9]*}} acq_rel
// CHECK: llvm.call
// CHECK: llvm.atomicrmw add
// CHECK: llvm.store %c0_i64
// CHECK: llvm.return
func.func @f(%x: !x, %y: !y) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !w
  kern.phase "gemm" {
    kern.gemm %x, %w outs(%y) : !x, !w, !y
  }
  return
}
kern.weight @w : !w = #weight.expr<file("w")> {offset = 0}

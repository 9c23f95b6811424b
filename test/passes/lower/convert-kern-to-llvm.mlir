// RUN: transom-opt %s --split-input-file --verify-diagnostics --convert-kern-to-llvm=isa=avx2 | FileCheck %s

// Each phase becomes a function; nothing else in the module remains.

// CHECK-LABEL: module attributes {attn.remarks = [{{[^]]*}}]} {
// CHECK-NOT: kern.
// CHECK: llvm.func @transom.p.avx2.copy(%[[FRAME:.*]]: !llvm.ptr, %[[OFFSETS:.*]]: !llvm.ptr, %[[WORKER:.*]]: i64, %[[WORKERS:.*]]: i64)
// CHECK-SAME: passthrough = ["nounwind", "no-builtins", ["prefer-vector-width", "256"]
// The worker's share in four rows.
// CHECK: %[[ALL:.*]] = arith.muli %[[WORKER]], %{{.*}} : i64
// CHECK: %[[FROM:.*]] = arith.divui %[[ALL]], %[[WORKERS]]
// CHECK: scf.for
// CHECK: llvm.return
// CHECK-NOT: kern.
module attributes {transom.dtype = "f32"} {
  func.func @f(%x: !kern.buffer<[4, 16] x f32>, %y: !kern.buffer<[4, 16] x f32>) attributes {kern.symbols = []} {
    kern.phase "copy" {
      kern.softmax %x outs(%y) : !kern.buffer<[4, 16] x f32>, !kern.buffer<[4, 16] x f32>
    }
    return
  }
}

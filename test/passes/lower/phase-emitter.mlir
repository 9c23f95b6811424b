// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 --canonicalize --cse | FileCheck %s

// Sizes and addresses are loaded once, at the function's top: symbols,
// arguments, and buffers in the arena.

// CHECK-LABEL: llvm.func @transom.p.avx2.operands(
// CHECK-SAME: %[[FRAME:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[WORKER:.*]]: i64, %[[WORKERS:.*]]: i64)
// CHECK: llvm.load {{.*}} -> !llvm.ptr
// CHECK: %[[N:.*]] = llvm.load {{.*}} -> i64
// CHECK: %[[SHARE:.*]] = arith.muli %[[N]], %[[WORKER]]
// CHECK: %[[FROM:.*]] = arith.divui %[[SHARE]], %[[WORKERS]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[WORKER]]
// CHECK: %[[TO:.*]] = arith.divui %{{.*}}, %[[WORKERS]]
// CHECK: scf.for %{{.*}} = %[[FROM]] to %[[TO]]
// Sixteen columns at once, then a masked rest with four.
// CHECK: vector<16xf32>
// CHECK: llvm.intr.masked.load
// CHECK: llvm.intr.masked.store
func.func @f(%x: !kern.buffer<[n, 20] x f32>) attributes {kern.symbols = ["m", "n"]} {
  %y = kern.alloc {slot = 3} : !kern.buffer<[n, 20] x f32>
  kern.phase "operands" {
    kern.softmax %x outs(%y) : !kern.buffer<[n, 20] x f32>, !kern.buffer<[n, 20] x f32>
  }
  return
}

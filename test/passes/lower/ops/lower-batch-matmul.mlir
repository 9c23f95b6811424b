// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512 | FileCheck %s
// RUN: transom-opt %s --transom-llvm-ir=isa=neon | FileCheck %s --check-prefix=LLVM

// CHECK: args = {columns = "{{16|32}}", isa = "{{[a-z0-9]+}}", lhs = "[batch, 2, seq, seq]", rhs = "[batch, 1, seq, 4]", rows = "{{6|14}}"}{{[^{}]*}}name = "batch-product-tiled"
// A work item is one tile in one matrix. The right operand has no padding, so
// its kernels also have a loop with masked loads.
// CHECK: llvm.func @transom.p.{{.*}}.product(
// CHECK: scf.for
// CHECK: llvm.call
// CHECK: llvm.func internal @transom.k.{{.*}}.f32.1x{{[0-9]+}}.ldb4.zero_partial(
// CHECK: scf.if
// CHECK-NOT: llvm.intr.masked.load
// CHECK: } else {
// CHECK: llvm.intr.masked.load

// LLVM: llvm.func @transom.p.neon.product(
func.func @f(%p: !kern.buffer<[batch, 2, seq, seq] x f32>, %v: !kern.buffer<[batch, 1, seq, 4] x f32>, %o: !kern.buffer<[batch, 2, seq, 4] x f32>) attributes {kern.symbols = ["batch", "seq"]} {
  kern.phase "product" {
    kern.batch_matmul %p, %v outs(%o) : !kern.buffer<[batch, 2, seq, seq] x f32>, !kern.buffer<[batch, 1, seq, 4] x f32>, !kern.buffer<[batch, 2, seq, 4] x f32>
  }
  return
}

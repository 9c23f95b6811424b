// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s
// RUN: transom-opt %s --transom-llvm-ir=isa=avx512 | FileCheck %s --check-prefix=LLVM

!q = !kern.buffer<[rows, 16] x f32>
!keys = !kern.buffer<[keys, 16] x f32, key_panels>

// Each KV block counts; the worker that completes a work item resets the
// counter and merges. Without room for all KV blocks: streaming.
// CHECK: llvm.func @transom.p.avx2.split(
// CHECK: %[[BEFORE:.*]] = llvm.atomicrmw add %[[COUNTER:.*]], %{{.*}} acq_rel
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[BEFORE]]
// CHECK: scf.if %[[LAST]]
// CHECK: llvm.store %{{.*}}, %[[COUNTER]]
// CHECK: } else {
// CHECK-NOT: llvm.atomicrmw
// LLVM: llvm.func @transom.p.avx512.split(
func.func @f(%q: !q, %k: !keys, %v: !q, %t: !kern.buffer<[parts, 8640] x f32>, %p: !kern.buffer<[parts, 26624] x f32>, %n: !kern.buffer<[parts, 32] x i64>, %y: !q)
    attributes {kern.symbols = ["batch", "keys", "parts", "rows", "seq"]} {
  %s = kern.ragged_batch {batch = "batch", columns = "seq", rows = "rows", keys = "keys"} : !kern.ragged<0>
  kern.phase "split" {
    kern.attention %q, %k, %v ragged %s, %s scratch %t partials %p counters %n outs(%y) heads 2 kv_heads 2 scale 0.5 {schedule = #kern.schedule<split_kv>} :
        !q, !keys, !q, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[parts, 26624] x f32>, !kern.buffer<[parts, 32] x i64>, !q
  }
  return
}

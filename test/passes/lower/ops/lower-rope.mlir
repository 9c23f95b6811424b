// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512 | FileCheck %s
// RUN: transom-opt %s --transom-llvm-ir=isa=neon | FileCheck %s --check-prefix=LLVM

!k = !kern.buffer<[rows, 16] x f32>

// Positions are divided into multiples of 256 and remainders, whose cosines and
// sines are combined.
// CHECK: llvm.func @transom.p.{{.*}}.table(
// CHECK: %[[KV_BLOCK:.*]] = arith.constant 256 : i64
// CHECK: arith.divui %[[POSITION:.*]], %[[KV_BLOCK]]
// CHECK: arith.remui %[[POSITION]]
// CHECK: llvm.intr.fma

// Neighbouring columns are pairs: shuffles repeat the cosines and swap the
// columns.
// CHECK: llvm.func @transom.p.{{.*}}.rope(
// CHECK: vector.shuffle {{.*}} [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]
// CHECK: vector.shuffle {{.*}} [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14]

// LLVM: llvm.func @transom.p.neon.table(
func.func @f(%p: !kern.buffer<[rows] x i64>, %r: !kern.buffer<[rows, 8] x f32>, %x: !k, %y: !k) attributes {kern.symbols = ["rows"]} {
  %a = kern.get_weight @angles : !kern.weight<[260, 8] x f32, rows>
  kern.phase "table" {
    kern.rope_table %p, %a outs(%r) : !kern.buffer<[rows] x i64>, !kern.weight<[260, 8] x f32, rows>, !kern.buffer<[rows, 8] x f32>
  }
  kern.phase "rope" {
    kern.rope %x, %r outs(%y) heads 2 {interleaved} : !k, !kern.buffer<[rows, 8] x f32>, !k
  }
  return
}
kern.weight @angles : !kern.weight<[260, 8] x f32, rows> = #weight.expr<file("a")> {offset = 0}

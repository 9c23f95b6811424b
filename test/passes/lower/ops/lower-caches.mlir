// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512 | FileCheck %s
// RUN: transom-opt %s --transom-llvm-ir=isa=neon | FileCheck %s --check-prefix=LLVM

!k = !kern.buffer<[rows, 16] x f32>
!cache = !kern.cache<heads 2, key 8, value 8, f32>
!cache8 = !kern.cache<heads 2, key 8, value 8, i8>

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

// Elements of a key go one by one into its panel; values are vectors.
// CHECK: llvm.func @transom.p.{{.*}}.append(
// CHECK: llvm.alloca
// CHECK: llvm.store {{.*}} : i32
// CHECK: llvm.intr.masked.store

// int8 has a scale per head and position.
// CHECK: llvm.func @transom.p.{{.*}}.append8(
// CHECK: arith.constant 1.270000e+02 : f32
// CHECK: llvm.store {{.*}} : f32
// CHECK: arith.trunci {{.*}} : vector<16xi32> to vector<16xi8>

// LLVM: llvm.func @transom.p.neon.table(
func.func @f(%p: !kern.buffer<[rows] x i64>, %r: !kern.buffer<[rows, 8] x f32>, %x: !k, %y: !k) attributes {kern.symbols = ["keys", "rows"]} {
  %s = kern.decode_batch {rows = "rows", keys = "keys"} : !kern.ragged<0>
  %a = kern.get_weight @angles : !kern.weight<[260, 8] x f32, rows>
  %c = kern.get_cache @kv : !cache
  %d = kern.get_cache @kv8 : !cache8
  kern.phase "table" {
    kern.rope_table %p, %a outs(%r) : !kern.buffer<[rows] x i64>, !kern.weight<[260, 8] x f32, rows>, !kern.buffer<[rows, 8] x f32>
  }
  kern.phase "rope" {
    kern.rope %x, %r outs(%y) heads 2 {interleaved} : !k, !kern.buffer<[rows, 8] x f32>, !k
  }
  kern.phase "append" {
    kern.append %x, %y ragged %s cache %c : !k, !k, !kern.ragged<0>, !cache
  }
  kern.phase "append8" {
    kern.append %x, %y ragged %s cache %d : !k, !k, !kern.ragged<0>, !cache8
  }
  return
}
kern.weight @angles : !kern.weight<[260, 8] x f32, rows> = "file(\"a\")" {offset = 0}
kern.cache @kv : !cache {group = 0, offset = 0}
kern.cache @kv8 : !cache8 {group = 1, offset = 64}

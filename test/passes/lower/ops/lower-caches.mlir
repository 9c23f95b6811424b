// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512 | FileCheck %s
// RUN: transom-opt %s --transom-llvm-ir=isa=neon | FileCheck %s --check-prefix=LLVM

!k = !kern.buffer<[rows, 16] x f32>
!cache = !kern.cache<heads 2, key 8, value 8, f32>
!cache8 = !kern.cache<heads 2, key 8, value 8, i8>

// Key elements go one by one into its panel; values are vectors.
// CHECK: llvm.func @transom.p.{{.*}}.append(
// CHECK: llvm.alloca
// CHECK: llvm.store {{.*}} : i32
// CHECK: llvm.intr.masked.store

// int8 has a scale per head and position.
// CHECK: llvm.func @transom.p.{{.*}}.append8(
// CHECK: arith.constant 1.270000e+02 : f32
// CHECK: llvm.store {{.*}} : f32
// CHECK: arith.trunci {{.*}} : vector<16xi32> to vector<16xi8>

// LLVM: llvm.func @transom.p.neon.append(
func.func @f(%x: !k, %y: !k) attributes {kern.symbols = ["keys", "rows"]} {
  %s = kern.decode_batch {rows = "rows", keys = "keys"} : !kern.ragged<0>
  %c = kern.get_cache @kv : !cache
  %d = kern.get_cache @kv8 : !cache8
  kern.phase "append" {
    kern.append %x, %y ragged %s cache %c : !k, !k, !kern.ragged<0>, !cache
  }
  kern.phase "append8" {
    kern.append %x, %y ragged %s cache %d : !k, !k, !kern.ragged<0>, !cache8
  }
  return
}
kern.cache @kv : !cache {group = 0, offset = 0}
kern.cache @kv8 : !cache8 {group = 1, offset = 64}

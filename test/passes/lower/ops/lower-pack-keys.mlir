// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s
// RUN: transom-opt %s --transom-llvm-ir=isa=avx512bf16 | FileCheck %s --check-prefix=LLVM

!x = !kern.buffer<[rows, 8] x f32>

// Key columns are 32 elements apart in
// f32; in bf16 column pairs are words.
// CHECK: llvm.func @transom.p.avx2.f32(
// CHECK: llvm.intr.masked.scatter {{.*}} : vector<16xf32>
// CHECK: llvm.func @transom.p.avx2.bf16(
// CHECK: vector.bitcast {{.*}} : vector<16xi16> to vector<8xi32>
// CHECK: llvm.intr.masked.scatter {{.*}} : vector<8xi32>
// LLVM: llvm.func @transom.p.avx512bf16.bf16(
func.func @f(%x: !x, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %h: !kern.buffer<[keys, 8] x bf16, key_panels>) attributes {kern.symbols = ["batch", "keys", "rows", "seq"]} {
  %s = kern.ragged_batch {batch = "batch", columns = "seq", rows = "rows", keys = "keys"} : !kern.ragged<0>
  kern.phase "f32" { kern.pack_keys %x ragged %s outs(%k) : !x, !kern.ragged<0>, !kern.buffer<[keys, 8] x f32, key_panels> }
  kern.phase "bf16" { kern.pack_keys %x ragged %s outs(%h) : !x, !kern.ragged<0>, !kern.buffer<[keys, 8] x bf16, key_panels> }
  return
}

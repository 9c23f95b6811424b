// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512 | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: transom-opt %s --transom-llvm-ir=isa=neon | FileCheck %s --check-prefix=LLVM

!x = !kern.buffer<[rows, 20] x f32>

// Four rows are normalized together, then the rest one by one. Sums are in 16
// lanes that a fixed tree adds up: 8, 4, 2, 1.
// CHECK: llvm.func @transom.p.{{.*}}.norm(
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7]
// CHECK: vector.shuffle {{.*}} [8, 9, 10, 11, 12, 13, 14, 15]
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: arith.addf {{.*}} : vector<2xf32>
// CHECK: arith.addf {{.*}} : vector<1xf32>
// CHECK: llvm.intr.sqrt

// bf16 is rounded by integer operations unless the ISA has an instruction.
// CHECK: llvm.func @transom.p.{{.*}}.cast(
// CHECK: arith.shrui {{.*}} : vector<16xi32>
// CHECK: arith.trunci {{.*}} : vector<16xi32> to vector<16xi16>

// CHECK: llvm.func @transom.p.{{.*}}.softmax(
// AVX2: llvm.intr.floor
// AVX512: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: arith.divf {{.*}} : vector<16xf32>

// The table is a GEMM weight: a column in its panels is a row.
// CHECK: llvm.func @transom.p.{{.*}}.embedding(
// CHECK: llvm.intr.masked.gather

// LLVM: llvm.func @transom.p.neon.norm(
// LLVM: llvm.func @transom.p.neon.embedding(
func.func @f(%x: !x, %y: !x, %h: !kern.buffer<[rows, 20] x bf16>, %i: !kern.buffer<[rows] x i64>) attributes {kern.symbols = ["rows"]} {
  %g = kern.get_weight @g : !kern.weight<[20] x f32, rows>
  %t = kern.get_weight @t : !kern.weight<[100, 20] x f32, panels32>
  kern.phase "norm" {
    kern.norm %x, %g, %g outs(%y) eps 1.0e-5 : !x, !kern.weight<[20] x f32, rows>, !kern.weight<[20] x f32, rows>, !x
  }
  kern.phase "cast" {
    kern.cast %x outs(%h) : !x, !kern.buffer<[rows, 20] x bf16>
  }
  kern.phase "softmax" {
    kern.softmax %x outs(%y) : !x, !x
  }
  kern.phase "embedding" {
    kern.embedding ids(%i) tables(%t) outs(%x) {scales = array<f64: 1.0>} : (!kern.buffer<[rows] x i64>), (!kern.weight<[100, 20] x f32, panels32>), !x
  }
  return
}
kern.weight @g : !kern.weight<[20] x f32, rows> = #weight.expr<file("g")> {offset = 0}
kern.weight @t : !kern.weight<[100, 20] x f32, panels32> = #weight.expr<file("t")> {offset = 128}

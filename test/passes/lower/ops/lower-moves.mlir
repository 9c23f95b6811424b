// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512 | FileCheck %s
// RUN: transom-opt %s --transom-llvm-ir=isa=neon | FileCheck %s --check-prefix=LLVM

!x = !kern.buffer<[rows, 8] x f32>
!wide = !kern.buffer<[batch, seq, 8] x f32>
!ids = !kern.buffer<[batch, seq] x i64>

// The ragged batch tables are i32.
// CHECK: llvm.func @transom.p.{{.*}}.gather_rows(
// CHECK: llvm.load {{.*}} -> i32
// CHECK: arith.extsi
// CHECK: llvm.func @transom.p.{{.*}}.scatter_rows(
// CHECK: scf.if
// CHECK: llvm.intr.masked.load
// CHECK: } else {
// CHECK-NOT: llvm.intr.masked.load
// CHECK: llvm.intr.masked.store
// CHECK: llvm.func @transom.p.{{.*}}.pool(
// CHECK: arith.sitofp
// CHECK: arith.divf {{.*}} : vector<16xf32>
// CHECK: llvm.func @transom.p.{{.*}}.positions(
// CHECK: scf.for {{.*}} -> (i64)
// CHECK: llvm.func @transom.p.{{.*}}.columns(
// CHECK: llvm.func @transom.p.{{.*}}.gather(
// LLVM: llvm.func @transom.p.neon.gather_rows(
func.func @f(%i: !ids, %j: !ids, %c: !kern.buffer<[rows] x i64>, %e: !wide, %x: !x, %m: !kern.buffer<[rows] x i1>, %p: !kern.buffer<[batch, 8] x f32>,
             %n: !kern.buffer<[n, 8] x f32>) attributes {kern.symbols = ["batch", "keys", "n", "rows", "seq"]} {
  %s = kern.ragged_batch {batch = "batch", columns = "seq", rows = "rows", keys = "keys"} : !kern.ragged<0>
  kern.phase "gather_rows" { kern.gather_rows %e ragged %s outs(%x) : !wide, !kern.ragged<0>, !x }
  kern.phase "scatter_rows" { kern.scatter_rows %x ragged %s outs(%e) : !x, !kern.ragged<0>, !wide }
  kern.phase "pool" { kern.pool <mean> %x ragged %s mask %m outs(%p) : !x, !kern.ragged<0>, !kern.buffer<[rows] x i1>, !kern.buffer<[batch, 8] x f32> }
  kern.phase "positions" { kern.positions %i outs(%j) pad 1 : !ids, !ids }
  kern.phase "columns" { kern.columns %s outs(%c) : !kern.ragged<0>, !kern.buffer<[rows] x i64> }
  kern.phase "gather" { kern.gather %n, %c outs(%x) : !kern.buffer<[n, 8] x f32>, !kern.buffer<[rows] x i64>, !x }
  return
}

// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 --canonicalize --cse | FileCheck %s
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512 --canonicalize --cse | FileCheck %s
// RUN: transom-opt %s --transom-llvm-ir=isa=neon | FileCheck %s --check-prefix=LLVM

!groups = !kern.buffer<[rows, 2] x i32>
!positions = !kern.buffer<[rows, 2] x i64>
!tokens = !kern.buffer<[routed] x i64>
!offsets = !kern.buffer<[5] x i64>
!x = !kern.buffer<[rows, 8] x f32>
!packed = !kern.buffer<[routed, 8] x f32>

kern.bounded_size @routed bound "2*rows"

// The first worker writes the first offset, the last one the size. Group numbers
// are read in three loops: counting, placement, and tokens without a group.
// CHECK: llvm.func @transom.p.{{.*}}.group(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[WORKER:.*]]: i64, %[[WORKERS:.*]]: i64)
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[WORKER]], %{{.*}}
// CHECK: scf.if %[[FIRST]]
// CHECK: scf.for {{.*}} -> (i64)
// CHECK: arith.extsi
// CHECK: %[[END:.*]] = scf.for {{.*}} -> (i64)
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[WORKER]], %{{.*}}
// CHECK: scf.if %[[LAST]]
// CHECK-NEXT: llvm.store %[[END]]
// CHECK: scf.for
// CHECK: arith.extsi
// CHECK: scf.for
// CHECK: arith.extsi
// CHECK: llvm.return
// The phase that follows reads the size at its top.
// CHECK: llvm.func @transom.p.{{.*}}.gather(
// CHECK: llvm.func @transom.p.{{.*}}.combine(
// CHECK: llvm.intr.fma
// LLVM: llvm.func @transom.p.neon.combine(
func.func @f(%g: !groups, %t: !tokens, %o: !offsets, %p: !positions, %s: !kern.buffer<[rows, 2] x f32>, %x: !x, %r: !packed, %y: !x)
    attributes {kern.symbols = ["routed", "rows"]} {
  kern.phase "group" { kern.group_tokens %g outs(%t, %o, %p) size @routed : !groups, !tokens, !offsets, !positions }
  kern.phase "gather" { kern.gather %x, %t outs(%r) : !x, !tokens, !packed }
  kern.phase "combine" { kern.combine_groups %r, %p, %s outs(%y) : !packed, !positions, !kern.buffer<[rows, 2] x f32>, !x }
  return
}

// RUN: transom-opt %s --convert-kern-to-llvm=isa=amx | FileCheck %s

// The configuration: palette 1; rows with 64 bytes for sums and the right operand, with 32 bytes
// for the left one; eight rows for the right operand. It is made again only for another row count.
!x = !kern.buffer<[rows, 64] x i8>
!s = !kern.buffer<[rows, 4] x f32>
!y = !kern.buffer<[rows, 32] x f32>
!w = !kern.weight<[32, 64] x #kern.format<i8, group 32, scales f32, interleave 4>, panels32>
// CHECK-LABEL: llvm.func @transom.p.{{.*}}.gemm(
// CHECK: llvm.alloca %c72_i64
// CHECK-LABEL: llvm.func internal @transom.k.amx.i8.32x32.k64.lda64.lds4.ldb32.zero_int8x32_prefetch_amx(
// CHECK-SAME: %[[CONFIG:[a-z0-9]+]]: !llvm.ptr{{[^,]*}}, %{{[a-z0-9]+}}: !llvm.ptr{{[^,]*}}, %{{[a-z0-9]+}}: !llvm.ptr{{[^,]*}}, %{{[a-z0-9]+}}: i64
// CHECK: arith.cmpi eq
// CHECK: scf.if
// CHECK-DAG: arith.constant 18014673391583296 : i64
// CHECK-DAG: arith.constant 18014673389486112 : i64
// CHECK-DAG: arith.constant 578712552117108736 : i64
// CHECK: llvm.store %c1_i64{{[_0-9]*}}, %[[CONFIG]]
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"(%[[CONFIG]])
func.func @f(%x: !x, %s: !s, %y: !y) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !w
  kern.phase "gemm" {
    kern.gemm %x, %w scales %s outs(%y) : !x, !w, !s, !y
  }
  return
}
kern.weight @w : !w = #weight.expr<file("w")> {offset = 0}

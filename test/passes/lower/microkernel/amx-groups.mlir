// RUN: transom-opt %s --split-input-file --convert-kern-to-llvm=isa=amx | FileCheck %s

!x = !kern.buffer<[rows, 192] x i8>
!s = !kern.buffer<[rows, 4] x f32>
!y = !kern.buffer<[rows, 40] x f32>
!w = !kern.weight<[40, 192] x #kern.format<i8, group 128, scales f32, interleave 4>, panels32>

// More than 12 rows are multiplied in tiles, others in vectors. A 128-element group takes two steps,
// the last one with 64 a single step. A group's scales are applied after the next one's tiles.
// CHECK-LABEL: llvm.func @transom.p.{{.*}}.gemm(
// CHECK: llvm.mlir.addressof @transom.k.amx.i8.32x32.k192.lda192.lds4.ldb32.zero_int8x128_prefetch_amx
// CHECK: llvm.mlir.addressof @transom.kernels_by_mr.amx.i8.k192.lda192.lds4.ldb32.zero_int8x128_prefetch :
// CHECK: arith.select
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-LABEL: llvm.func internal @transom.k.amx.i8.32x32.k192.lda192.lds4.ldb32.zero_int8x128_prefetch_amx(
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// One row tile.
// CHECK: scf.if
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c1{{.*}} step
// CHECK-COUNT-2: "llvm.x86.tilezero"
// CHECK: scf.for %{{.*}} to %c128_i64{{.*}} step %c64_i64
// CHECK-COUNT-3: "llvm.x86.tileloadd64"
// CHECK-COUNT-2: "llvm.x86.tdpbsud"
// CHECK-NOT: arith.sitofp
// CHECK-COUNT-2: "llvm.x86.tilestored64"
// CHECK: scf.for %{{.*}} to %c64_i64{{.*}} step %c64_i64
// CHECK-COUNT-2: "llvm.x86.tdpbsud"
// CHECK: arith.sitofp
// CHECK: "llvm.x86.tilestored64"
// CHECK: arith.sitofp
// Two tiles.
// CHECK: else
// CHECK-COUNT-4: "llvm.x86.tdpbsud"
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK-COUNT-4: "llvm.x86.tdpbsud"
// CHECK: arith.sitofp
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK: llvm.return
func.func @f(%x: !x, %s: !s, %y: !y) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !w
  kern.phase "gemm" {
    kern.gemm %x, %w scales %s outs(%y) : !x, !w, !s, !y
  }
  return
}
kern.weight @w : !w = #weight.expr<file("w")> {offset = 0}

// -----

// 4-bit elements are widened to bytes group by group. Instructions multiply 32-element groups: tiles have half rows.
!x = !kern.buffer<[rows, 64] x i8>
!s = !kern.buffer<[rows, 4] x f32>
!y = !kern.buffer<[rows, 32] x f32>
!w = !kern.weight<[32, 64] x #kern.format<i4, group 32, scales f16, interleave 8>, panels32>
// CHECK-LABEL: llvm.func internal @transom.k.amx.i8.32x32.k64.lda64.lds4.ldb32.zero_int4x32_prefetch_amx(
// CHECK: arith.shrui
// CHECK: "llvm.x86.tdpbsud"
// CHECK: arith.extf
// CHECK: arith.sitofp
func.func @nibbles(%x: !x, %s: !s, %y: !y) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !w
  kern.phase "gemm" {
    kern.gemm %x, %w scales %s outs(%y) : !x, !w, !s, !y
  }
  return
}
kern.weight @w : !w = #weight.expr<file("w")> {offset = 0}

// -----

// If K is not a multiple of 64 and the group is larger, bytes are multiplied in vectors.
!x = !kern.buffer<[rows, 132] x i8>
!s = !kern.buffer<[rows, 4] x f32>
!y = !kern.buffer<[rows, 32] x f32>
!w = !kern.weight<[32, 132] x #kern.format<i8, group 128, scales f32, interleave 4>, panels32>
// CHECK-LABEL: llvm.func @transom.p.{{.*}}.gemm(
// CHECK-NOT: llvm.x86.ldtilecfg
// CHECK: llvm.x86.avx512.vpdpbusd.512
func.func @rest(%x: !x, %s: !s, %y: !y) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !w
  kern.phase "gemm" {
    kern.gemm %x, %w scales %s outs(%y) : !x, !w, !s, !y
  }
  return
}
kern.weight @w : !w = #weight.expr<file("w")> {offset = 0}

// -----

// If all of K is one group, sums become f32 where the epilogue reads them: between the steps in the next block, and
// after the last one. The whole sum over w + 128 is not exact in f32; the contribution from 128 is subtracted before.
!x = !kern.buffer<[rows, 768] x i8>
!s = !kern.buffer<[rows, 2] x f32>
!y = !kern.buffer<[rows, 32] x f32>
!w = !kern.weight<[32, 768] x #kern.format<i8, group 1024, scales f32, interleave 4>, panels32>
// CHECK-LABEL: llvm.func internal @transom.k.amx.i8.32x32.k768.lda768.lds2.ldb32.zero_int8x1024_prefetch_amx(
// CHECK: "llvm.x86.tdpbsud"
// CHECK: arith.addi {{.*}} : vector<16xi32>
// CHECK: arith.sitofp
// CHECK: "llvm.x86.tilestored64"
// CHECK: else
func.func @single(%x: !x, %s: !s, %y: !y) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !w
  kern.phase "gemm" {
    kern.gemm %x, %w scales %s outs(%y) : !x, !w, !s, !y
  }
  return
}
kern.weight @w : !w = #weight.expr<file("w")> {offset = 0}

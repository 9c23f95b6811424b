// RUN: transom-opt %s --split-input-file --convert-kern-to-llvm=isa=amx | FileCheck %s

!x = !kern.buffer<[rows, 64] x bf16>
!y = !kern.buffer<[rows, 40] x f32>
!w = !kern.weight<[40, 64] x bf16, panels32>

// One kernel for all row counts: 16 rows take one tile, more take two. It begins with the bias for all rows.
// CHECK-LABEL: llvm.func @transom.p.{{.*}}.gemm(
// CHECK: llvm.alloca %c72_i64
// CHECK: llvm.mlir.addressof @transom.k.amx.bf16.32x32.k64.lda64.ldb32.bias_prefetch_amx
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-NOT: llvm.call
// CHECK-LABEL: llvm.func internal @transom.k.amx.bf16.32x32.k64.lda64.ldb32.bias_prefetch_amx(
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK: scf.if
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK: scf.for
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK: else
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK: scf.for
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK-NOT: llvm.func
// CHECK: llvm.return
// CHECK-NOT: llvm.func internal
func.func @f(%x: !x, %y: !y) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !w
  %b = kern.get_weight @b : !kern.weight<[40] x f32, padded32>
  kern.phase "gemm" {
    kern.gemm %x, %w bias %b outs(%y) : !x, !w, !kern.weight<[40] x f32, padded32>, !y
  }
  return
}
kern.weight @w : !w = #weight.expr<file("w")> {offset = 0}
kern.weight @b : !kern.weight<[40] x f32, padded32> = #weight.expr<file("b")> {offset = 8192}

// -----

// If K is not a multiple of 32, it is multiplied in pairs.
// CHECK-LABEL: llvm.func @transom.p.{{.*}}.gemm(
// CHECK-NOT: llvm.x86.ldtilecfg
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
func.func @f(%x: !kern.buffer<[rows, 66] x bf16>, %y: !kern.buffer<[rows, 32] x f32>) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !kern.weight<[32, 66] x bf16, panels32>
  kern.phase "gemm" {
    kern.gemm %x, %w outs(%y) : !kern.buffer<[rows, 66] x bf16>, !kern.weight<[32, 66] x bf16, panels32>, !kern.buffer<[rows, 32] x f32>
  }
  return
}
kern.weight @w : !kern.weight<[32, 66] x bf16, panels32> = #weight.expr<file("w")> {offset = 0}

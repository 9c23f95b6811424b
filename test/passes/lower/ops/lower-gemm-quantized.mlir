// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512vnni | FileCheck %s --check-prefixes=CHECK,DOT
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512 | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s --check-prefixes=CHECK,AVX2

// WIDE: args = {isa = "avx512", supported = "avxvnni, avx512vnni, avx512bf16, amx"}{{[^{}]*}}kind = "analysis"{{[^{}]*}}name = "int8-is-widened"
// DOT-NOT: int8-is-widened

!x = !kern.buffer<[rows, 320] x i8>
!s = !kern.buffer<[rows, 6] x f32>
!w = !kern.weight<[32, 320] x #kern.format<i8, group 128, scales f32, interleave 4>, panels32>
!y = !kern.buffer<[rows, 32] x f32>

// A loop over two 128-element groups, with one over 32 steps with four bytes,
// then a 64-element group. A group's sums are converted and scaled.
// CHECK-LABEL: llvm.func internal @transom.k.{{.*}}.i8.1x
// CHECK-SAME: .k320.lda320.lds6.ldb32.zero_int8x128_prefetch
// DOT: "llvm.x86.avx512.vpdpbusd.512"
// WIDE-COUNT-2: "llvm.x86.avx512.pmaddw.d.512"
// AVX2-COUNT-4: "llvm.x86.avx2.pmadd.wd"
// CHECK: arith.sitofp
// CHECK: fma
func.func @product(%x: !x, %s: !s, %y: !y) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !w
  kern.phase "product" {
    kern.gemm %x, %w scales %s outs(%y) : !x, !w, !s, !y
  }
  return
}
kern.weight @w : !w = #weight.expr<file("w")> {offset = 0}

// Eight 4-bit elements per step, in two halves.
// CHECK-LABEL: llvm.func internal @transom.k.{{.*}}.i8.1x
// CHECK-SAME: .k64.lda64.lds4.ldb32.zero_uint4x32_prefetch
// DOT-COUNT-2: "llvm.x86.avx512.vpdpbusd.512"
// WIDE-COUNT-2: "llvm.x86.avx512.pmaddubs.w.512"
// AVX2-COUNT-4: "llvm.x86.avx2.pmadd.ub.sw"
// CHECK: arith.extf
// CHECK-COUNT-3: fma
!x4 = !kern.buffer<[rows, 64] x i8>
!s4 = !kern.buffer<[rows, 4] x f32>
!w4 = !kern.weight<[32, 64] x #kern.format<ui4, group 32, scales f16, minimums f16, interleave 8>, panels32>
func.func @nibbles(%x: !x4, %s: !s4, %y: !y) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w4 : !w4
  kern.phase "nibbles" {
    kern.gemm %x, %w scales %s outs(%y) : !x4, !w4, !s4, !y
  }
  return
}
kern.weight @w4 : !w4 = #weight.expr<file("w4")> {offset = 0}

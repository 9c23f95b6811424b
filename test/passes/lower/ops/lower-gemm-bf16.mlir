// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512bf16 | FileCheck %s --check-prefixes=CHECK,DOT
// RUN: transom-opt %s --transom-llvm-ir=isa=avx512bf16 | FileCheck %s --check-prefix=LLVM

// An iteration takes a pair along k: one instruction with AVX512-BF16, else
// both halves are widened and multiplied sequentially. Residuals and results
// are handled in the epilogue.

// WIDE: args = {isa = "avx2", supported = "avx512bf16, amx"}{{[^{}]*}}kind = "analysis"{{[^{}]*}}name = "bf16-is-widened"
// DOT-NOT: bf16-is-widened
// CHECK: llvm.func @transom.p.{{.*}}.gemm(
// CHECK: llvm.func internal @transom.k.{{.*}}.bf16.1x{{.*}}.k64.lda64.ldb32.zero_bf16_residual_prefetch(
// WIDE: arith.shli
// WIDE: arith.andi
// WIDE: llvm.intr.fma
// WIDE: llvm.intr.fma
// DOT-NOT: arith.shli
// DOT: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK: scf.yield
// CHECK: arith.addf
// DOT: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"

// LLVM-NOT: arith.
// LLVM: llvm.func @transom.p.avx512bf16.gemm(
func.func @f(%x: !kern.buffer<[rows, 64] x bf16>, %r: !kern.buffer<[rows, 32] x f32>, %y: !kern.buffer<[rows, 32] x bf16>) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !kern.weight<[32, 64] x bf16, panels32>
  kern.phase "gemm" {
    kern.gemm %x, %w residual %r outs(%y) : !kern.buffer<[rows, 64] x bf16>, !kern.weight<[32, 64] x bf16, panels32>,
        !kern.buffer<[rows, 32] x f32>, !kern.buffer<[rows, 32] x bf16>
  }
  return
}
kern.weight @w : !kern.weight<[32, 64] x bf16, panels32> = #weight.expr<file("w")> {offset = 0}

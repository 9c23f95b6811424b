// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512 | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: transom-opt %s --convert-kern-to-llvm=isa=neon | FileCheck %s --check-prefixes=CHECK,NEON
// RUN: transom-opt %s --transom-llvm-ir=isa=avx2 | FileCheck %s --check-prefix=LLVM
// RUN: transom-opt %s --transom-llvm-ir=isa=avx512 | FileCheck %s --check-prefix=LLVM
// RUN: transom-opt %s --transom-llvm-ir=isa=neon | FileCheck %s --check-prefix=LLVM

// AVX2: args = {chunk = "85", columns = "16", computed = "96", isa = "avx2", k = "64", k_block = "64", own_rows = "64", rows = "6", used = "96", waste = "0"}, category = "convert-kern-to-llvm", function = "f", kind = "analysis", name = "product-tiled"
// No other product follows, and the module is too small to share code.
// AVX2-SAME: args = {isa = "avx2"}{{[^{}]*}}name = "product-followed-by-none"
// AVX2-SAME: args = {isa = "avx2", limit = "1024", operations = "1"}{{[^{}]*}}kind = "analysis"{{[^{}]*}}name = "operations-have-own-code"
// AVX512: args = {chunk = "85", columns = "32", {{[^}]*}}isa = "avx512", {{[^}]*}}rows = "14"{{[^{}]*}}}{{[^{}]*}}name = "product-tiled"

// The kernels by MR: six rows with 16 columns with AVX2 and NEON, 14 with 32
// with AVX-512. The name specifies K, strides, accumulator init and epilogue.
// AVX2: llvm.mlir.global internal constant @transom.kernels_by_mr.avx2.f32.k64.lda64.ldb32.bias_gelu_prefetch() {{.*}} : !llvm.array<6 x ptr>
// AVX2: llvm.mlir.addressof @transom.k.avx2.f32.6x16.k64.lda64.ldb32.bias_gelu_prefetch
// AVX512: llvm.mlir.global internal constant @transom.kernels_by_mr.avx512.f32.k64.lda64.ldb32.bias_gelu_prefetch() {{.*}} : !llvm.array<14 x ptr>
// AVX512: llvm.mlir.addressof @transom.k.avx512.f32.14x32.k64.lda64.ldb32.bias_gelu_prefetch
// NEON: llvm.mlir.addressof @transom.k.neon.f32.6x16.k64.lda64.ldb32.bias_gelu_prefetch

// CHECK: llvm.func @transom.p.[[ISA:[a-z0-9]+]].gemm(
// The kernel is loaded from the table by the block's row count.
// CHECK: %[[TABLE:.*]] = llvm.mlir.addressof @transom.kernels_by_mr.[[ISA]].f32.k64.lda64.ldb32.bias_gelu_prefetch
// CHECK: %[[KERNEL:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.call %[[KERNEL]](

// A two-row kernel: accumulators start with the bias and are carried by a loop
// over K that is not unrolled.
// CHECK: llvm.func internal @transom.k.[[ISA]].f32.2x{{[0-9]+}}.k64.lda64.ldb32.bias_gelu_prefetch(
// AVX2: scf.for {{.*}} iter_args(%{{[^,]*}}, %{{[^,]*}}) -> (vector<16xf32>, vector<16xf32>)
// AVX512: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// It prefetches other memory into the second-level cache only.
// CHECK-COUNT-2: "llvm.intr.prefetch"{{.*}}hint = 2
// CHECK-NOT: llvm.intr.prefetch
// CHECK: llvm.intr.fma
// CHECK: scf.yield
// CHECK-NEXT: llvm.loop_annotation = #loop_annotation

// A kernel with many rows also prefetches into the first-level cache: its
// output rows, and eight iterations ahead the panel lines that it reads.
// AVX2: llvm.func internal @transom.k.avx2.f32.6x16.k64.lda64.ldb32.bias_gelu_prefetch(
// AVX512: llvm.func internal @transom.k.avx512.f32.14x32.k64.lda64.ldb32.bias_gelu_prefetch(
// NEON: llvm.func internal @transom.k.neon.f32.6x16.k64.lda64.ldb32.bias_gelu_prefetch(
// AVX2-COUNT-6: "llvm.intr.prefetch"{{.*}}hint = 3
// AVX512-COUNT-28: "llvm.intr.prefetch"{{.*}}hint = 3
// NEON-COUNT-6: "llvm.intr.prefetch"{{.*}}hint = 3
// CHECK-NOT: llvm.intr.prefetch
// CHECK: scf.for
// CHECK-COUNT-2: "llvm.intr.prefetch"{{.*}}hint = 2
// AVX2: "llvm.intr.prefetch"{{.*}}hint = 3
// AVX512-COUNT-2: "llvm.intr.prefetch"{{.*}}hint = 3
// NEON: "llvm.intr.prefetch"{{.*}}hint = 3
// CHECK-NOT: llvm.intr.prefetch
// CHECK: llvm.intr.fma

// LLVM-NOT: scf.
// LLVM-NOT: arith.
// LLVM-NOT: vector.
// LLVM: llvm.func @transom.p.{{.*}}.gemm(
func.func @f(%x: !kern.buffer<[rows, 64] x f32>, %y: !kern.buffer<[rows, 96] x f32>) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !kern.weight<[96, 64] x f32, panels32>
  %b = kern.get_weight @b : !kern.weight<[96] x f32, padded32>
  kern.phase "gemm" {
    kern.gemm %x, %w bias %b outs(%y) epilogue <gelu> : !kern.buffer<[rows, 64] x f32>, !kern.weight<[96, 64] x f32, panels32>,
        !kern.weight<[96] x f32, padded32>, !kern.buffer<[rows, 96] x f32>
  }
  return
}
kern.weight @w : !kern.weight<[96, 64] x f32, panels32> = #weight.expr<file("w")> {offset = 0}
kern.weight @b : !kern.weight<[96] x f32, padded32> = #weight.expr<file("b")> {offset = 24576}

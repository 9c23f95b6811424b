// RUN: transom-opt %s --split-input-file --convert-kern-to-llvm=isa=avx2 | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: transom-opt %s --split-input-file --convert-kern-to-llvm=isa=avx512 | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: transom-opt %s --split-input-file --convert-kern-to-llvm=isa=amx | FileCheck %s --check-prefix=AMX

!q = !kern.buffer<[rows, 80] x f32>
!keys = !kern.buffer<[keys, 80] x f32, key_panels>

// 40 value columns: with NR = 32 a full tile and one with 16 columns, with NR =
// 16 two full tiles; the last tile with 8 columns masks its loads.
// AVX2: @transom.kernels_by_mr.avx2.f32.lda272.ldb80.zero_normalize_prefetch
// AVX2: @transom.kernels_by_mr.avx2.f32.lda272.ldb80.zero_normalize_partial_prefetch
// AVX512: @transom.kernels_by_mr.avx512.f32.lda272.ldb80.zero_normalize_prefetch
// AVX512: @transom.kernels_by_mr.avx512.f32.lda272.ldb80.nv1.zero_normalize_partial_prefetch
// Merging rescales the older state and the KV block by powers of two.
// CHECK: llvm.intr.fma
func.func @f(%q: !q, %k: !keys, %v: !q, %t: !kern.buffer<[parts, 10176] x f32>, %y: !q) attributes {kern.symbols = ["batch", "keys", "parts", "rows", "seq"]} {
  %s = kern.ragged_batch {batch = "batch", columns = "seq", rows = "rows", keys = "keys"} : !kern.ragged<0>
  kern.phase "attention" {
    kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 : !q, !keys, !q, !kern.ragged<0>, !kern.ragged<0>,
        !kern.buffer<[parts, 10176] x f32>, !q
  }
  return
}

// -----

// With AMX values are copied to panels, unless the KV block's panels are there; the GEMM's K is known at run time.
// AMX: llvm.func @transom.p.{{.*}}.attention
// AMX: llvm.mlir.addressof @"transom.k.amx.bf16.32x32.k32.lda64.ldb32.zero_scores7.21347511e-01_amx"
// AMX: vector.shuffle %{{.*}}, %{{.*}} [0, 16, 1, 17
// AMX: llvm.mlir.addressof @transom.k.amx.bf16.32x32.lda544.ldb32.zero_bf16_normalize_amx
// AMX: llvm.call_intrinsic "llvm.x86.tilerelease"
!q2 = !kern.buffer<[rows, 64] x bf16>
!keys2 = !kern.buffer<[keys, 64] x bf16, key_panels>
!t2 = !kern.buffer<[parts, 27840] x f32>
func.func @tiles(%q: !q2, %k: !keys2, %v: !q2, %t: !t2, %y: !q2) attributes {kern.symbols = ["batch", "keys", "parts", "rows", "seq"]} {
  %s = kern.ragged_batch {batch = "batch", columns = "seq", rows = "rows", keys = "keys"} : !kern.ragged<0>
  kern.phase "attention" {
    kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 : !q2, !keys2, !q2, !kern.ragged<0>, !kern.ragged<0>, !t2, !q2
  }
  return
}

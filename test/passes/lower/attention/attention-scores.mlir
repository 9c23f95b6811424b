// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s
// RUN: transom-opt %s --transom-llvm-ir=isa=avx512 | FileCheck %s --check-prefix=LLVM

!q = !kern.buffer<[rows, 16] x f32>
!keys = !kern.buffer<[keys, 16] x f32, key_panels>
!scratch = !kern.buffer<[parts, 8640] x f32>

// Without masks scores become probabilities directly. In a causal attention
// only KV blocks that some row does not see are masked.
// CHECK: llvm.func @transom.p.avx2.plain(
// CHECK: llvm.func @transom.p.avx2.causal(
// CHECK: scf.if
// A soft cap is applied before the scale, so the kernel does not scale.
// CHECK: llvm.func @transom.p.avx2.capped(
// CHECK: transom.kernels_by_mr.avx2.f32.k8.lda16.ldb32.zero_scores_prefetch
// LLVM: llvm.func @transom.p.avx512.plain(
func.func @f(%q: !q, %k: !keys, %v: !q, %t: !scratch, %y: !q) attributes {kern.symbols = ["batch", "keys", "parts", "rows", "seq"]} {
  %s = kern.ragged_batch {batch = "batch", columns = "seq", rows = "rows", keys = "keys"} : !kern.ragged<0>
  kern.phase "plain" {
    kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 : !q, !keys, !q, !kern.ragged<0>, !kern.ragged<0>, !scratch, !q
  }
  kern.phase "causal" {
    kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 {causal} : !q, !keys, !q, !kern.ragged<0>, !kern.ragged<0>, !scratch, !q
  }
  kern.phase "capped" {
    kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 {soft_cap = 30.0 : f64} : !q, !keys, !q, !kern.ragged<0>, !kern.ragged<0>, !scratch, !q
  }
  return
}

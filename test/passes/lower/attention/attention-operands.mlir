// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s
// RUN: transom-opt %s --transom-llvm-ir=isa=neon | FileCheck %s --check-prefix=LLVM

!q = !kern.buffer<[rows, 32] x bf16>
!cache = !kern.cache<heads 2, key 8, value 8, bf16>

// Keys and values come from cache blocks, one pointer
// per 256 positions. A sequence with a single new
// token packs the two query heads for a key-value
// head into one work item, so the kernel has no
// constant query stride. A causal item is smaller.
// CHECK: args = {isa = "avx2", queries = "12, 6 or 4"}{{[^{}]*}}name = "attention-divided"
// CHECK-SAME: args = {heads = "2", isa = "avx2"}{{[^{}]*}}name = "heads-are-packed"
// CHECK-SAME: args = {heads = "2", isa = "avx2"}{{[^{}]*}}function = "grouped"{{[^{}]*}}name = "heads-are-not-packed"
// CHECK: llvm.func @transom.p.avx2.cached(
// CHECK: %[[SINGLE:.*]] = arith.cmpi eq, %[[ROWS:.*]], %{{.*}} : i64
// CHECK: arith.select %[[SINGLE]], %{{.*}}, %[[ROWS]] : i64
// CHECK: transom.kernels_by_mr.avx2.bf16.k8.ldb32.zero_scores
// LLVM: llvm.func @transom.p.neon.cached(
func.func @f(%q: !q, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 32] x f32>) attributes {kern.symbols = ["keys", "parts", "rows"]} {
  %s = kern.decode_batch {rows = "rows", keys = "keys"} : !kern.ragged<0>
  %c = kern.get_cache @kv : !cache
  kern.phase "cached" {
    kern.attention %q ragged %s, %s cache %c scratch %t outs(%y) heads 4 kv_heads 2 scale 0.5 {causal, schedule = #kern.schedule<streaming>} :
        !q, !kern.ragged<0>, !kern.ragged<0>, !cache, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 32] x f32>
  }
  return
}
kern.cache @kv : !cache {group = 0, offset = 0}

// Without a cache each query head for a key-value head reads the keys by itself.
// CHECK: llvm.func @transom.p.avx2.grouped(
func.func @grouped(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>,
    %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>) attributes {kern.symbols = ["batch", "keys", "parts", "rows", "seq"]} {
  %s = kern.ragged_batch {batch = "batch", columns = "seq", rows = "rows", keys = "keys"} : !kern.ragged<0>
  kern.phase "grouped" {
    kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 0.5 : !kern.buffer<[rows, 16] x f32>,
        !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>,
        !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  }
  return
}

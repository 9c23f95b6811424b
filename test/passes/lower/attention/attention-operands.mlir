// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s
// RUN: transom-opt %s --transom-llvm-ir=isa=neon | FileCheck %s --check-prefix=LLVM

!q = !kern.buffer<[rows, 32] x bf16>
!cache = !kern.cache<heads 2, key 8, value 8, bf16>

// Keys and values come from the blocks of a cache, one pointer per 256
// positions. A sequence with a single new token packs the two query heads of a
// key-value head into one work item, so the kernel has no constant stride of
// queries.
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

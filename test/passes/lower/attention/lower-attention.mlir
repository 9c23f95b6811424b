// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512 | FileCheck %s
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512bf16 | FileCheck %s
// RUN: transom-opt %s --transom-llvm-ir=isa=neon | FileCheck %s --check-prefix=LLVM

!q = !kern.buffer<[rows, 16] x f32>
!keys = !kern.buffer<[keys, 16] x f32, key_panels>
!scratch = !kern.buffer<[parts, 8640] x f32>
!scratch2 = !kern.buffer<[parts, 54336] x f32>

// A head takes half a vector.
// CHECK: args = {columns = "{{16|32}}", computed = "16", isa = "{{[a-z0-9]+}}", score_rows = "{{[0-9]+}}", used = "8", value_rows = "{{[0-9]+}}", waste = "50"}, category = "convert-kern-to-llvm"{{[^{}]*}}kind = "analysis"{{[^{}]*}}name = "attention-tiled"
// CHECK-SAME: args = {isa = "{{[a-z0-9]+}}", queries = "24, 12 or 8"}{{[^{}]*}}name = "attention-divided"
// CHECK-SAME: args = {isa = "{{[a-z0-9]+}}", queries = "7"}{{[^{}]*}}name = "attention-divided"

// The query row count per work item: 24, or as the schedule specifies.
// CHECK: llvm.func @transom.p.{{.*}}.streaming(
// CHECK: arith.constant 24 : i64
// CHECK: scf.for {{.*}} -> (i64, i64)
// Scores, then the product, divided at once if there is only one KV block.
// CHECK: transom.kernels_by_mr.{{.*}}_scores
// CHECK: @transom.kernels_by_mr.{{.*}}_normalize
// CHECK: @transom.kernels_by_mr.{{.*}}.zero

// CHECK: llvm.func @transom.p.{{.*}}.two_pass(
// CHECK: arith.constant 7 : i64
// Scores for all KV blocks in a separate loop.
// CHECK: scf.if
// CHECK: transom.kernels_by_mr.{{.*}}_scores
// CHECK: scf.if
// CHECK: transom.kernels_by_mr.{{.*}}_scores

// LLVM: llvm.func @transom.p.neon.streaming(
func.func @f(%q: !q, %k: !keys, %v: !q, %t: !scratch, %u: !scratch2, %y: !q) attributes {kern.symbols = ["batch", "keys", "parts", "rows", "seq"]} {
  %s = kern.ragged_batch {batch = "batch", columns = "seq", rows = "rows", keys = "keys"} : !kern.ragged<0>
  kern.phase "streaming" {
    kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 {schedule = #kern.schedule<streaming>} :
        !q, !keys, !q, !kern.ragged<0>, !kern.ragged<0>, !scratch, !q
  }
  kern.phase "two_pass" {
    kern.attention %q, %k, %v ragged %s, %s scratch %u outs(%y) heads 2 kv_heads 2 scale 0.5 {schedule = #kern.schedule<two_pass, rows 7>} :
        !q, !keys, !q, !kern.ragged<0>, !kern.ragged<0>, !scratch2, !q
  }
  return
}

// Memory for selected GEMM columns, which persists across calls.
// RUN: transom-opt %s --kern-pack-weights --split-input-file | FileCheck %s
// RUN: transom-opt %s --kern-pack-weights --kern-form-phases --kern-plan-memory --split-input-file | FileCheck %s --check-prefix=PLAN

!x = !kern.buffer<[rows, 8] x f32>
!y = !kern.buffer<[rows, c] x f32>
!w = !kern.weight<[200, 8] x f32, unset>
!b = !kern.weight<[200] x f32, unset>
!i = !kern.buffer<[c] x i64>

// As many columns as the largest call has: 3 panels with 32, with bias and values.
// CHECK: args = {bytes = "4224", columns = "70"}{{[^{}]*}}kind = "analysis"{{[^{}]*}}name = "columns-are-copied"
// CHECK-LABEL: func.func @largest_call(
// CHECK: %[[P:.*]] = kern.alloc : <[3, 1408] x i8>
// CHECK: kern.gemm %{{.*}}, %{{.*}} bias %{{.*}} outs(%{{.*}}) columns(%{{.*}}) panels(%[[P]])

// The memory is after the buffers in the arena.
// PLAN-LABEL: func.func @largest_call(
// PLAN-SAME: kern.arena_bytes = "64*rows+4224"
// PLAN-SAME: {bytes = "32*rows"{{[^{}]*}}, offset = "0"}
// PLAN-SAME: {bytes = "4224"{{[^{}]*}}, kept{{[^{}]*}}, offset = "64*rows"}
module attributes {attn.symbols = {c = {max = 70 : i64}}} {
  kern.weight @w : !w = #weight.expr<file("w")>
  kern.weight @b : !b = #weight.expr<file("b")>
  func.func @largest_call(%x: !x, %i: !i, %y: !y) attributes {kern.symbols = ["c", "rows"]} {
    %w = kern.get_weight @w : !w
    %b = kern.get_weight @b : !b
    %a = kern.alloc : !x
    kern.softmax %x outs(%a) : !x, !x
    kern.gemm %a, %w bias %b outs(%y) columns(%i) : !x, !w, !b, !y, !i
    return
  }
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!y = !kern.buffer<[rows, c] x f32>
!w = !kern.weight<[200, 8] x f32, unset>
!i = !kern.buffer<[c] x i64>

// All weight columns, if a call's column count is unspecified.
// CHECK: args = {bytes = "8960", columns = "200"}{{[^{}]*}}name = "columns-are-copied"
// CHECK: kern.alloc : <[7, 1280] x i8>
kern.weight @w : !w = #weight.expr<file("w")>
func.func @all_columns(%x: !x, %i: !i, %y: !y) attributes {kern.symbols = ["c", "rows"]} {
  %w = kern.get_weight @w : !w
  kern.gemm %x, %w outs(%y) columns(%i) : !x, !w, !y, !i
  return
}

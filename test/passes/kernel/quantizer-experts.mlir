// RUN: transom-opt %s --kern-choose-precision --split-input-file | FileCheck %s
// RUN: transom-opt %s --kern-choose-precision --split-input-file | FileCheck %s --check-prefix=REMARK

// Expert weights are quantized, as other GEMM weights are: from floats by the
// option, from a file in its format.

// REMARK: args = {group = "64", type = "i8"}{{[^{}]*}}function = "experts"{{[^{}]*}}name = "product-quantized"
// REMARK-SAME: args = {group = "32", type = "i4"}{{[^{}]*}}function = "experts"{{[^{}]*}}name = "product-keeps-whole-numbers"
// REMARK-SAME: args = {k = "6", multiple = "4"}{{[^{}]*}}function = "odd_depths_stay"{{[^{}]*}}name = "product-depth-unsupported"

!x = !kern.buffer<[routed, 64] x f32>
!offsets = !kern.buffer<[3] x i64>
!w = !kern.weight<[128, 64] x f32, unset, splits [64, 64]>

module attributes {transom.quantize = #kern.format<i8, group 64, scales f16, interleave 4>} {

// Both GEMMs with one input read the same quantized values if their group sizes
// are equal.
// CHECK-LABEL: func.func @experts(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[routed, 64] x f32>,
// CHECK-DAG: %[[GATE:.*]] = kern.get_weight @gate : <[128, 64] x #kern.format<i8, group 64, scales f16, interleave 4>, unset, splits [64, 64]>
// CHECK-DAG: %[[UP:.*]] = kern.get_weight @up : <[128, 64] x #kern.format<i8, group 64, {{.*}}>, unset, splits [64, 64]>
// CHECK-DAG: %[[DOWN:.*]] = kern.get_weight @down : <[128, 64] x #kern.format<i4, group 32, {{.*}}>, unset, splits [64, 64]>
// CHECK: kern.quantize %[[X]] outs(%[[Q:.*]]) scales(%[[S:.*]]) group 64
// CHECK: kern.group_gemm %[[Q]], %[[GATE]] scales %[[S]] offsets
// CHECK-NOT: kern.quantize
// CHECK: kern.group_gemm %[[Q]], %[[UP]] scales %[[S]] offsets
// CHECK: kern.elementwise {{.*}} outs(%[[H:.*]]) {
// CHECK: kern.quantize %[[H]] outs(%[[R:.*]]) scales(%[[T:.*]]) group 32
// CHECK: kern.group_gemm %[[R]], %[[DOWN]] scales %[[T]] offsets
func.func @experts(%x: !x, %o: !offsets, %y: !x) {
  %gate = kern.get_weight @gate : !w
  %up = kern.get_weight @up : !w
  %down = kern.get_weight @down : !w
  %a = kern.alloc : !x
  %b = kern.alloc : !x
  kern.group_gemm %x, %gate offsets %o outs(%a) : !x, !w, !offsets, !x
  kern.group_gemm %x, %up offsets %o outs(%b) : !x, !w, !offsets, !x
  %h = kern.alloc : !x
  kern.elementwise ins(%a, %b) outs(%h) {
  ^bb0(%i: f32, %j: f32):
    %p = arith.mulf %i, %j : f32
    kern.yield %p : f32
  } : (!x, !x) -> !x
  kern.group_gemm %h, %down offsets %o outs(%y) : !x, !w, !offsets, !x
  return
}
kern.weight @gate : !w = #weight.expr<file("gate")>
kern.weight @up : !w = #weight.expr<file("up")>
kern.weight @down : !w = #weight.expr<concat(0, file("down.0", i4, 32, 64), file("down.1", i4, 32, 64))>

// CHECK-LABEL: func.func @odd_depths_stay(
// CHECK-NOT: kern.quantize
// CHECK: kern.group_gemm %{{.*}}, %{{.*}} offsets
func.func @odd_depths_stay(%x: !kern.buffer<[routed, 6] x f32>, %o: !offsets, %y: !x) {
  %w = kern.get_weight @narrow : !kern.weight<[128, 6] x f32, unset, splits [64, 64]>
  kern.group_gemm %x, %w offsets %o outs(%y) : !kern.buffer<[routed, 6] x f32>, !kern.weight<[128, 6] x f32, unset, splits [64, 64]>, !offsets, !x
  return
}
kern.weight @narrow : !kern.weight<[128, 6] x f32, unset, splits [64, 64]> = #weight.expr<file("narrow")>
}

// -----

!x = !kern.buffer<[routed, 64] x f32>
!offsets = !kern.buffer<[3] x i64>
!w = !kern.weight<[128, 64] x f32, unset, splits [64, 64]>

module attributes {transom.quantize = #kern.format<i8, group 64, scales f16, interleave 4>, transom.activations = "f32"} {
// CHECK-LABEL: func.func @rows_of_f32(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[routed, 64] x f32>,
// CHECK-NOT: kern.quantize
// CHECK: kern.group_gemm %[[X]], %{{.*}} offsets
func.func @rows_of_f32(%x: !x, %o: !offsets, %y: !x) {
  %w = kern.get_weight @w : !w
  kern.group_gemm %x, %w offsets %o outs(%y) : !x, !w, !offsets, !x
  return
}
kern.weight @w : !w = #weight.expr<file("w")>
}

// -----

!x = !kern.buffer<[routed, 64] x f32>
!offsets = !kern.buffer<[3] x i64>
!w = !kern.weight<[128, 64] x f32, unset, splits [64, 64]>

module attributes {transom.dtype = "bf16"} {
// CHECK-LABEL: func.func @bf16(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[routed, 64] x f32>,
// CHECK: kern.cast %[[X]] outs(%[[R:.*]]) :
// CHECK: kern.group_gemm %[[R]], %{{.*}} offsets %{{.*}} outs(%{{.*}}) : !kern.buffer<[routed, 64] x bf16>, !kern.weight<[128, 64] x bf16, unset, splits [64, 64]>
func.func @bf16(%x: !x, %o: !offsets, %y: !x) {
  %w = kern.get_weight @w : !w
  kern.group_gemm %x, %w offsets %o outs(%y) : !x, !w, !offsets, !x
  return
}
kern.weight @w : !w = #weight.expr<file("w")>
}

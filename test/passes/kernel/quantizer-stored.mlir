// RUN: transom-opt %s --kern-choose-precision | FileCheck %s
// RUN: transom-opt %s --kern-choose-precision | FileCheck %s --check-prefix=REMARK

// REMARK: args = {group = "32", type = "i4"}{{[^{}]*}}function = "each_group"{{[^{}]*}}name = "product-keeps-whole-numbers"
// REMARK-SAME: args = {group = "64", type = "i8"}{{[^{}]*}}function = "each_group"{{[^{}]*}}name = "product-keeps-whole-numbers"
// REMARK-SAME: args = {group = "32", type = "i8"}{{[^{}]*}}function = "rounded"{{[^{}]*}}name = "product-rounds-whole-numbers"
// REMARK-SAME: args = {group = "32", table = "'kern.get_weight'", type = "i8"}{{[^{}]*}}function = "tables"{{[^{}]*}}name = "table-keeps-whole-numbers"

!x = !kern.buffer<[rows, 64] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 64] x f32, unset>

// Weights that are pre-quantized in files keep their groups; others stay as
// they are. The input is quantized once for each group size.
// CHECK-LABEL: func.func @each_group(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[rows, 64] x f32>,
// CHECK-DAG: %[[A:.*]] = kern.get_weight @a : <[8, 64] x #kern.format<i4, group 32, scales f16, interleave 8>, unset>
// CHECK-DAG: %[[B:.*]] = kern.get_weight @b : <[8, 64] x #kern.format<i8, group 64, scales f32, interleave 4>, unset>
// CHECK-DAG: %[[P:.*]] = kern.get_weight @p : <[8, 64] x f32, unset>
// CHECK: kern.quantize %[[X]] outs(%[[Q:.*]]) scales(%[[S:.*]]) group 32
// CHECK: kern.gemm %[[Q]], %[[A]] scales %[[S]]
// CHECK: kern.quantize %[[X]] outs(%[[R:.*]]) scales(%[[T:.*]]) group 64
// CHECK: kern.gemm %[[R]], %[[B]] scales %[[T]]
// CHECK: kern.gemm %[[Q]], %[[A]] scales %[[S]]
// CHECK: kern.gemm %[[X]], %[[P]] outs
func.func @each_group(%x: !x, %y: !y) {
  %a = kern.get_weight @a : !w
  %b = kern.get_weight @b : !w
  %p = kern.get_weight @p : !w
  kern.gemm %x, %a outs(%y) : !x, !w, !y
  kern.gemm %x, %b outs(%y) : !x, !w, !y
  kern.gemm %x, %a outs(%y) : !x, !w, !y
  kern.gemm %x, %p outs(%y) : !x, !w, !y
  return
}
kern.weight @a : !w = #weight.expr<scale(file("a", i4, 32, 64), 0.5)>
kern.weight @b : !w = #weight.expr<concat(0, slice(file("b", i8, 64, 64), 0, 0, 4), slice(file("c", i8, 64, 64), 0, 4, 4))>
kern.weight @p : !w = #weight.expr<file("p")>

// Integers that no format has, or that are computed with.
// CHECK-LABEL: func.func @rounded(
// CHECK-DAG: kern.get_weight @c : <[8, 64] x #kern.format<i8, group 32, scales f32, interleave 4>, unset>
// CHECK-DAG: kern.get_weight @d : <[8, 64] x #kern.format<i8, group 32, scales f32, interleave 4>, unset>
// CHECK: kern.quantize {{.*}} group 32
// CHECK-NOT: kern.quantize
func.func @rounded(%x: !x, %y: !y) {
  %c = kern.get_weight @c : !w
  %d = kern.get_weight @d : !w
  kern.gemm %x, %c outs(%y) : !x, !w, !y
  kern.gemm %x, %d outs(%y) : !x, !w, !y
  return
}
kern.weight @c : !w = #weight.expr<file("c", i8, 16, 64)>
kern.weight @d : !w = #weight.expr<add(file("a", i4, 32, 64), file("p"))>

// A table that only embeddings read; one that no format holds stays f32.
// CHECK-LABEL: func.func @tables(
// CHECK-DAG: kern.get_weight @e : <[8, 64] x #kern.format<i8, group 32, scales f32, interleave 4>, unset>
// CHECK-DAG: kern.get_weight @f : <[8, 64] x f32, unset>
func.func @tables(%ids: !kern.buffer<[rows] x i64>, %x: !x) {
  %e = kern.get_weight @e : !w
  %f = kern.get_weight @f : !w
  kern.embedding ids(%ids) tables(%e) outs(%x) {scales = array<f64: 1.0>} : (!kern.buffer<[rows] x i64>), (!w), !x
  kern.embedding ids(%ids) tables(%f) outs(%x) {scales = array<f64: 1.0>} : (!kern.buffer<[rows] x i64>), (!w), !x
  return
}
kern.weight @e : !w = #weight.expr<file("e", i8, 32, 64)>
kern.weight @f : !w = #weight.expr<file("f", i8, 16, 64)>

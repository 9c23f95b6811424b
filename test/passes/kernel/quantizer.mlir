// RUN: transom-opt %s --kern-choose-precision | FileCheck %s
// RUN: transom-opt %s --kern-choose-precision | FileCheck %s --check-prefix=REMARK

// REMARK: args = {group = "128", type = "i8"}{{[^{}]*}}function = "products_share_an_input"{{[^{}]*}}name = "product-quantized"
// REMARK-SAME: args = {k = "6", multiple = "4"}{{[^{}]*}}function = "odd_depths_stay"{{[^{}]*}}name = "product-depth-unsupported"
// REMARK-SAME: args = {reader = "'kern.elementwise'"}{{[^{}]*}}function = "weights_that_are_read_in_f32_stay"{{[^{}]*}}name = "weight-is-read-in-f32"

!x = !kern.buffer<[rows, 192] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 192] x f32, unset>
!ids = !kern.buffer<[rows] x i64>

module attributes {transom.quantize = #kern.format<i8, group 128, scales f32, interleave 4>} {

// 192 elements are a group with 128 and one with 64. The input is quantized
// once, and again by the norm that writes it.
// CHECK-LABEL: func.func @products_share_an_input(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[rows, 192] x f32>,
// CHECK-DAG: %[[W:.*]] = kern.get_weight @w1 : <[8, 192] x #kern.format<i8, group 128, scales f32, interleave 4>, unset>
// CHECK-DAG: %[[V:.*]] = kern.get_weight @w2 :
// CHECK: %[[Q:.*]] = kern.alloc : <[rows, 192] x i8>
// CHECK: %[[S:.*]] = kern.alloc : <[rows, 4] x f32>
// CHECK: kern.quantize %[[X]] outs(%[[Q]]) scales(%[[S]]) group 128
// CHECK: kern.gemm %[[Q]], %[[W]] scales %[[S]] outs(%{{.*}}) epilogue <gelu>
// CHECK-NOT: kern.quantize
// CHECK: kern.gemm %[[Q]], %[[V]] scales %[[S]] outs(%{{.*}})
// CHECK: kern.norm %[[X]], %{{.*}} outs(%[[X]]) copy(%[[R:.*]]) scales(%[[T:.*]]) eps
// CHECK: kern.gemm %[[R]], %[[W]] scales %[[T]]
func.func @products_share_an_input(%x: !x, %a: !y, %b: !y, %c: !y, %g: !kern.weight<[192] x f32, unset>) {
  %w = kern.get_weight @w1 : !w
  %v = kern.get_weight @w2 : !w
  kern.gemm %x, %w outs(%a) epilogue <gelu> : !x, !w, !y
  kern.gemm %x, %v outs(%b) : !x, !w, !y
  kern.norm %x, %g outs(%x) eps 1.0e-5 : !x, !kern.weight<[192] x f32, unset>, !x
  kern.gemm %x, %w outs(%c) : !x, !w, !y
  return
}
kern.weight @w1 : !w = #weight.expr<file("w")>
kern.weight @w2 : !w = #weight.expr<file("v")>

// An embedding table that a GEMM also reads.
// CHECK-LABEL: func.func @tied_tables_are_whole_numbers(
// CHECK: %[[W:.*]] = kern.get_weight @w3 : <[8, 192] x #kern.format<i8, group 128, scales f32, interleave 4>, unset>
// CHECK: kern.embedding ids(%{{.*}}) tables(%[[W]])
// CHECK: kern.quantize
func.func @tied_tables_are_whole_numbers(%ids: !ids, %x: !x, %y: !y) {
  %w = kern.get_weight @w3 : !w
  kern.embedding ids(%ids) tables(%w) outs(%x) {scales = array<f64: 1.0>} : (!ids), (!w), !x
  kern.gemm %x, %w outs(%y) : !x, !w, !y
  return
}
kern.weight @w3 : !w = #weight.expr<file("w")>

// CHECK-LABEL: func.func @odd_depths_stay(
// CHECK-NOT: kern.quantize
// CHECK: kern.gemm %{{.*}}, %{{.*}} outs
func.func @odd_depths_stay(%x: !kern.buffer<[rows, 6] x f32>, %y: !y) {
  %w = kern.get_weight @w4 : !kern.weight<[8, 6] x f32, unset>
  kern.gemm %x, %w outs(%y) : !kern.buffer<[rows, 6] x f32>, !kern.weight<[8, 6] x f32, unset>, !y
  return
}
kern.weight @w4 : !kern.weight<[8, 6] x f32, unset> = #weight.expr<file("w")>

// CHECK-LABEL: func.func @weights_that_are_read_in_f32_stay(
// CHECK: kern.get_weight @w5 : <[8, 192] x f32, unset>
// CHECK-NOT: kern.quantize
func.func @weights_that_are_read_in_f32_stay(%x: !x, %y: !y, %z: !kern.buffer<[8, 192] x f32>) {
  %w = kern.get_weight @w5 : !w
  kern.gemm %x, %w outs(%y) : !x, !w, !y
  kern.elementwise ins(%w) outs(%z) {
  ^bb0(%v: f32):
    kern.yield %v : f32
  } : (!w) -> !kern.buffer<[8, 192] x f32>
  return
}
kern.weight @w5 : !w = #weight.expr<file("w")>

}

// RUN: transom-opt %s --kern-choose-precision | FileCheck %s
// RUN: transom-opt %s --kern-choose-precision | FileCheck %s --check-prefix=REMARK

// REMARK: function = "tied", kind = "missed", name = "head-keeps-floats"
// REMARK-SAME: args = {group = "64", table = "'kern.get_weight'", type = "i8"}{{[^{}]*}}function = "tables"{{[^{}]*}}name = "table-quantized"
// REMARK-SAME: args = {bytes = "2112", floats = "768", rows = "3", table = "'kern.get_weight'"}{{[^{}]*}}function = "tables"{{[^{}]*}}name = "table-is-small"
// REMARK-SAME: args = {multiple = "4", table = "'kern.get_weight'", width = "6"}{{[^{}]*}}function = "odd_widths_stay"{{[^{}]*}}name = "table-width-unsupported"
// REMARK-NOT: name = "table-

!ids = !kern.buffer<[rows] x i64>
!x = !kern.buffer<[rows, 64] x f32>
!y = !kern.buffer<[rows, 40] x f32>
!w = !kern.weight<[40, 64] x f32, unset>
!small = !kern.weight<[3, 64] x f32, unset>

module attributes {transom.quantize_head = "none", transom.quantize_embeddings = #kern.format<i8, group 64, scales f16, interleave 4>} {

// Tables that embeddings alone read, if they are smaller so. Products stay.
// CHECK-LABEL: func.func @tables(
// CHECK-DAG: kern.get_weight @table : <[40, 64] x #kern.format<i8, group 64, scales f16, interleave 4>, unset>
// CHECK-DAG: kern.get_weight @types : <[3, 64] x f32, unset>
// CHECK-NOT: kern.quantize
// CHECK: kern.gemm %{{.*}}, %{{.*}} outs
func.func @tables(%ids: !ids, %x: !x, %y: !y) {
  %t = kern.get_weight @table : !w
  %s = kern.get_weight @types : !small
  %w = kern.get_weight @product : !w
  kern.embedding ids(%ids, %ids) tables(%t, %s) outs(%x) {scales = array<f64: 1.0, 1.0>} : (!ids, !ids), (!w, !small), !x
  kern.gemm %x, %w outs(%y) : !x, !w, !y
  return
}
kern.weight @table : !w = #weight.expr<file("table")>
kern.weight @types : !small = #weight.expr<file("types")>
kern.weight @product : !w = #weight.expr<file("product")>

// CHECK-LABEL: func.func @odd_widths_stay(
// CHECK: kern.get_weight @odd : <[40, 6] x f32, unset>
func.func @odd_widths_stay(%ids: !ids, %x: !kern.buffer<[rows, 6] x f32>) {
  %t = kern.get_weight @odd : !kern.weight<[40, 6] x f32, unset>
  kern.embedding ids(%ids) tables(%t) outs(%x) {scales = array<f64: 1.0>} : (!ids), (!kern.weight<[40, 6] x f32, unset>), !kern.buffer<[rows, 6] x f32>
  return
}
kern.weight @odd : !kern.weight<[40, 6] x f32, unset> = #weight.expr<file("odd")>

// A head's table is f32 if the head is, even if files are quantized.
// CHECK-LABEL: func.func @tied(
// CHECK: kern.get_weight @head : <[40, 64] x f32, unset>
// CHECK-NOT: kern.quantize
func.func @tied(%ids: !ids, %y: !y) attributes {kern.inputs = 1 : i64} {
  %w = kern.get_weight @head : !w
  %x = kern.alloc : !x
  kern.embedding ids(%ids) tables(%w) outs(%x) {scales = array<f64: 1.0>} : (!ids), (!w), !x
  kern.gemm %x, %w outs(%y) : !x, !w, !y
  return
}
kern.weight @head : !w = #weight.expr<file("head", i8, 64, 64)>

}

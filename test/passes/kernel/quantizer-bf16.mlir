// RUN: transom-opt %s --kern-choose-precision | FileCheck %s

!x = !kern.buffer<[rows, 192] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 192] x f32, unset>
!v = !kern.weight<[8, 6] x f32, unset>
!ids = !kern.buffer<[rows] x i64>

module attributes {transom.quantize = #kern.format<i8, group 128, scales f32, interleave 4>, transom.dtype = "bf16"} {

// Quantized weights, and the inputs to their GEMMs, are not bf16.
// CHECK-LABEL: func.func @whole_numbers_come_first(
// CHECK-DAG: %[[W:.*]] = kern.get_weight @w1 : <[8, 192] x #kern.format<i8, group 128, scales f32, interleave 4>, unset>
// CHECK-DAG: %[[V:.*]] = kern.get_weight @w2 : <[8, 6] x bf16, unset>
// CHECK: kern.embedding ids(%{{.*}}) tables(%[[W]])
// CHECK-NOT: kern.cast
// CHECK: kern.quantize %{{.*}} : !kern.buffer<[rows, 192] x f32>,
// CHECK: kern.gemm %{{.*}}, %[[W]] scales
// CHECK: kern.cast %[[Z:.*]] outs(%[[R:.*]]) : !kern.buffer<[rows, 6] x f32>, !kern.buffer<[rows, 6] x bf16>
// CHECK: kern.gemm %[[R]], %[[V]] outs
func.func @whole_numbers_come_first(%ids: !ids, %x: !x, %y: !y, %z: !kern.buffer<[rows, 6] x f32>) {
  %w = kern.get_weight @w1 : !w
  %v = kern.get_weight @w2 : !v
  kern.embedding ids(%ids) tables(%w) outs(%x) {scales = array<f64: 1.0>} : (!ids), (!w), !x
  kern.gemm %x, %w outs(%y) : !x, !w, !y
  kern.gemm %z, %v outs(%y) : !kern.buffer<[rows, 6] x f32>, !v, !y
  return
}
kern.weight @w1 : !w = #weight.expr<file("w")>
kern.weight @w2 : !v = #weight.expr<file("v")>

}

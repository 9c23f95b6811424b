// RUN: transom-opt %s --kern-choose-precision | FileCheck %s

!x = !kern.buffer<[rows, 64] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 64] x f32, unset>

module attributes {transom.quantize = #kern.format<i8, group 64, scales f16, interleave 4>, transom.activations = "f32"} {

// Weights are quantized; their other operands stay.
// CHECK-LABEL: func.func @products(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[rows, 64] x f32>,
// CHECK-DAG: %[[W:.*]] = kern.get_weight @w : <[8, 64] x #kern.format<i8, group 64, scales f16, interleave 4>, unset>
// CHECK-DAG: %[[V:.*]] = kern.get_weight @v : <[8, 64] x #kern.format<i4, group 32, scales f16, interleave 8>, unset>
// CHECK-NOT: kern.quantize
// CHECK: kern.gemm %[[X]], %[[W]] outs
// CHECK: kern.gemm %[[X]], %[[V]] outs
func.func @products(%x: !x, %y: !y) {
  %w = kern.get_weight @w : !w
  %v = kern.get_weight @v : !w
  kern.gemm %x, %w outs(%y) : !x, !w, !y
  kern.gemm %x, %v outs(%y) : !x, !w, !y
  return
}
kern.weight @w : !w = #weight.expr<file("w")>
kern.weight @v : !w = #weight.expr<file("v", i4, 32, 64)>

}

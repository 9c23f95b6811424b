// RUN: transom-opt %s --kern-choose-precision | FileCheck %s
// RUN: transom-opt %s --kern-choose-precision | FileCheck %s --check-prefix=REMARK

// REMARK: {category = "kern-choose-precision", function = "logits", kind = "missed", name = "head-keeps-floats"}
// REMARK-NOT: head-keeps-floats

!x = !kern.buffer<[rows, 64] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 64] x f32, unset>
!square = !kern.weight<[64, 64] x f32, unset>

module attributes {transom.quantize = #kern.format<i8, group 64, scales f32, interleave 4>, transom.quantize_head = "none"} {

// The last GEMM before a result, through operations without weights. Others
// keep the GEMM format.
// CHECK-LABEL: func.func @logits(
// CHECK-DAG: kern.get_weight @hidden : <[64, 64] x #kern.format
// CHECK-DAG: kern.get_weight @head : <[8, 64] x f32, unset>
// CHECK: kern.quantize
// CHECK: kern.gemm
// CHECK-NOT: kern.quantize
// CHECK: kern.gemm
func.func @logits(%x: !x, %out: !y) attributes {kern.inputs = 1 : i64} {
  %v = kern.get_weight @hidden : !square
  %w = kern.get_weight @head : !w
  %h = kern.alloc : !x
  %y = kern.alloc : !y
  kern.gemm %x, %v outs(%h) : !x, !square, !x
  kern.gemm %h, %w outs(%y) : !x, !w, !y
  kern.elementwise ins(%y) outs(%out) {
  ^bb0(%v0: f32):
    %t = kern.apply <tanh> %v0
    kern.yield %t : f32
  } : (!y) -> !y
  return
}
kern.weight @hidden : !square = #weight.expr<file("hidden")>
kern.weight @head : !w = #weight.expr<file("head")>

// A product with a residual ends a layer, and one before a norm is no head.
// CHECK-LABEL: func.func @states(
// CHECK-DAG: kern.get_weight @down : <[64, 64] x #kern.format
// CHECK-DAG: kern.get_weight @last : <[64, 64] x #kern.format
func.func @states(%x: !x, %out: !x, %other: !x) attributes {kern.inputs = 1 : i64} {
  %v = kern.get_weight @down : !square
  %w = kern.get_weight @last : !square
  %g = kern.get_weight @gamma : !kern.weight<[64] x f32, unset>
  %h = kern.alloc : !x
  kern.gemm %x, %v residual %x outs(%out) : !x, !square, !x, !x
  kern.gemm %x, %w outs(%h) : !x, !square, !x
  kern.norm %h, %g outs(%other) eps 1.0e-5 : !x, !kern.weight<[64] x f32, unset>, !x
  return
}
kern.weight @down : !square = #weight.expr<file("down")>
kern.weight @last : !square = #weight.expr<file("last")>
kern.weight @gamma : !kern.weight<[64] x f32, unset> = #weight.expr<file("gamma")>

// Only entries have results.
// CHECK-LABEL: func.func @body(
// CHECK: kern.get_weight @own : <[64, 64] x #kern.format
func.func @body(%x: !x, %out: !x) {
  %w = kern.get_weight @own : !square
  kern.gemm %x, %w outs(%out) : !x, !square, !x
  return
}
kern.weight @own : !square = #weight.expr<file("own")>

}

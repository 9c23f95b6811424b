// RUN: transom-opt %s --attn-outline-layers | FileCheck %s

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!one = tensor<1xf32>

// Layers that differ in a constant share a body; the constant that both read stays a constant.
// CHECK-DAG: attn.weight @layer.0.factor : [1] f32 = #weight.expr<values([1], [0.5])>
// CHECK-DAG: attn.weight @layer.1.factor : [1] f32 = #weight.expr<values([1], [0.25])>
// CHECK-LABEL: func.func @encode(
// CHECK: attn.layers {{.*}}@layer(@layer.0.factor), @layer(@layer.1.factor)
// CHECK-LABEL: func.func private @layer(
// CHECK: attn.constant dense<2.0
func.func @encode(%x: !x) -> (!x {attn.name = "y"}) {
  %two = attn.constant dense<2.0> : !one
  %a = attn.constant dense<0.5> : !one loc("layer.0.factor")
  %b = attn.constant dense<0.25> : !one loc("layer.1.factor")
  %x1 = attn.mul %x, %a : !x, !one loc("layer.0.product")
  %x2 = attn.add %x1, %two : !x, !one loc("layer.0.sum")
  %x3 = attn.activation <relu> %x2 : !x loc("layer.0.act")
  %y1 = attn.mul %x3, %b : !x, !one loc("layer.1.product")
  %y2 = attn.add %y1, %two : !x, !one loc("layer.1.sum")
  %y3 = attn.activation <relu> %y2 : !x loc("layer.1.act")
  return %y3 : !x
}

// Two constants in one layer are read at different locations.
// CHECK-LABEL: func.func @keeps_constants_of_one_layer(
// CHECK: attn.constant dense<3.0
// CHECK: attn.constant dense<4.0
func.func @keeps_constants_of_one_layer(%x: !x) -> (!x {attn.name = "y"}) {
  %a = attn.constant dense<3.0> : !one loc("first")
  %b = attn.constant dense<4.0> : !one loc("second")
  %x1 = attn.mul %x, %a : !x, !one loc("product")
  %x2 = attn.mul %x1, %b : !x, !one loc("other")
  return %x2 : !x
}

// Minus infinity is a mask value, not a weight value.
// CHECK-LABEL: func.func @keeps_minus_infinity(
// CHECK: attn.constant dense<0xFF800000>
// CHECK: attn.constant dense<0.0
func.func @keeps_minus_infinity(%x: !x, %m: tensor<?x8xi1, #attn.shape<[rows, 8]>>) -> (!x {attn.name = "y"}) {
  %a = attn.constant dense<0xFF800000> : !one loc("layer.0.low")
  %b = attn.constant dense<0.0> : !one loc("layer.1.low")
  %x1 = attn.where %m, %x, %a : [rows, 8] i1, !x, !one loc("layer.0.where")
  %x2 = attn.where %m, %x1, %b : [rows, 8] i1, !x, !one loc("layer.1.where")
  return %x2 : !x
}

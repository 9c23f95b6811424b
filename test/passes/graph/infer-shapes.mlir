// RUN: transom-opt %s --attn-infer-shapes --split-input-file --verify-diagnostics | FileCheck %s

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!w = tensor<4x8xf32>

// CHECK-LABEL: func.func @refines_results_in_order(
// CHECK-SAME: -> !batch_seq_4_float
// CHECK: attn.linear {{.*}} : [batch, seq, 8] f32, [4, 8] f32
// CHECK: attn.activation {{.*}} : [batch, seq, 4] f32
func.func @refines_results_in_order(%x: !x, %w: !w) -> tensor<*xf32> {
  %y = "attn.linear"(%x, %w) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (!x, !w) -> tensor<*xf32>
  %z = attn.activation <relu> %y : tensor<*xf32>
  return %z : tensor<*xf32>
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!w = tensor<8x8xf32>
attn.weight @w0 : !w = #weight.expr<file("w0")>
attn.weight @w1 : !w = #weight.expr<file("w1")>

// CHECK-LABEL: func.func @refines_bodies(
// CHECK-SAME: -> !batch_seq_8_float
func.func @refines_bodies(%x: !x) -> tensor<*xf32> {
  %y = attn.layers %x [@layer(@w0), @layer(@w1)] : !x
  %z = "attn.activation"(%y) <{kind = #attn.activation<relu>}> : (!x) -> tensor<*xf32>
  return %z : tensor<*xf32>
}
// CHECK-LABEL: func.func private @layer(
// CHECK: attn.linear {{.*}} : [batch, seq, 8] f32, [8, 8] f32
// CHECK: attn.add {{.*}} : [batch, seq, 8] f32
func.func private @layer(%x: !x, %w: !w) -> !x {
  %0 = "attn.linear"(%x, %w) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (!x, !w) -> tensor<*xf32>
  %1 = "attn.add"(%0, %x) : (tensor<*xf32>, !x) -> !x
  return %1 : !x
}

// -----

func.func @results_that_differ(%x: tensor<2x8xf32>, %w: tensor<4x8xf32>) -> tensor<3x4xf32> {
  %y = "attn.linear"(%x, %w) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<*xf32>
  // expected-error @below {{has a result of type 'tensor<3x4xf32>', its operands give 'tensor<2x4xf32>'}}
  %z = "attn.activation"(%y) <{kind = #attn.activation<relu>}> : (tensor<*xf32>) -> tensor<3x4xf32>
  return %z : tensor<3x4xf32>
}

// -----

// expected-error @below {{has an argument whose shape is unknown}}
func.func @arguments_without_a_shape(%x: tensor<*xf32>) -> tensor<*xf32> {
  return %x : tensor<*xf32>
}

// -----

// A static shape may be written with its encoding, but not with another element type.
// CHECK-LABEL: func.func @written_encoding(
func.func @written_encoding(%x: tensor<2x8xf32>) -> tensor<2x8xf32, #attn.shape<[2, 8]>> {
  %y = "attn.activation"(%x) <{kind = #attn.activation<relu>}> : (tensor<2x8xf32>) -> tensor<*xf32>
  %z = "attn.activation"(%y) <{kind = #attn.activation<relu>}> : (tensor<*xf32>) -> tensor<2x8xf32, #attn.shape<[2, 8]>>
  return %z : tensor<2x8xf32, #attn.shape<[2, 8]>>
}

// -----

func.func @other_element_type(%x: tensor<2x8xf32>, %w: tensor<4x8xf32>) -> tensor<2x4xf64> {
  %y = "attn.linear"(%x, %w) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<*xf32>
  // expected-error @below {{has a result of type 'tensor<2x4xf64>', its operands give 'tensor<2x4xf32>'}}
  %z = "attn.activation"(%y) <{kind = #attn.activation<relu>}> : (tensor<*xf32>) -> tensor<2x4xf64>
  return %z : tensor<2x4xf64>
}

// RUN: transom-opt %s -canonicalize | FileCheck %s
// RUN: transom-opt %s -canonicalize -mlir-print-debuginfo | FileCheck %s --check-prefix=LOCATION

!hidden = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!split = tensor<?x?x2x4xf32, #attn.shape<[batch, seq, 2, 4]>>

// CHECK-LABEL: func @identity_transpose_vanishes
// CHECK-NEXT: return %arg0
func.func @identity_transpose_vanishes(%x: !hidden) -> !hidden {
  %0 = attn.transpose %x [0, 1, 2] : !hidden
  return %0 : !hidden
}

// CHECK-LABEL: func @transposes_merge
// CHECK-NEXT: %[[T:.*]] = attn.transpose %arg0 [2, 1, 0] : [2, 3, 4] f32
// CHECK-NEXT: return %[[T]]
func.func @transposes_merge(%x: tensor<2x3x4xf32>) -> tensor<4x3x2xf32> {
  %0 = attn.transpose %x [1, 2, 0] : [2, 3, 4] f32
  %1 = attn.transpose %0 [1, 0, 2] : [3, 4, 2] f32
  return %1 : tensor<4x3x2xf32>
}

// CHECK-LABEL: func @inverse_transposes_vanish
// CHECK-NEXT: return %arg0
func.func @inverse_transposes_vanish(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = attn.transpose %x [1, 2, 0] : [2, 3, 4] f32
  %1 = attn.transpose %0 [2, 0, 1] : [3, 4, 2] f32
  return %1 : tensor<2x3x4xf32>
}

// A square transpose is not an identity although its type equals its input's type.
// CHECK-LABEL: func @keeps_square_transpose
// CHECK-NEXT: attn.transpose
func.func @keeps_square_transpose(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = attn.transpose %x [1, 0] : [3, 3] f32
  return %0 : tensor<3x3xf32>
}

// CHECK-LABEL: func @identity_reshape_vanishes
// CHECK-NEXT: return %arg0
func.func @identity_reshape_vanishes(%x: !hidden) -> !hidden {
  %0 = attn.reshape %x to <[batch, seq, 8]> : !hidden
  return %0 : !hidden
}

// CHECK-LABEL: func @reshapes_merge
// CHECK-NEXT: %[[R:.*]] = attn.reshape %arg0 to <[batch*seq, 8]>
// CHECK-NEXT: return %[[R]]
func.func @reshapes_merge(%x: !hidden) -> tensor<?x8xf32, #attn.shape<[batch*seq, 8]>> {
  %0 = attn.reshape %x to <[batch, seq, 2, 4]> : !hidden
  %1 = attn.reshape %0 to <[batch*seq, 8]> : !split
  return %1 : tensor<?x8xf32, #attn.shape<[batch*seq, 8]>>
}

// CHECK-LABEL: func @keeps_reshape_to_unknown_shape
// CHECK-NEXT: attn.reshape
func.func @keeps_reshape_to_unknown_shape(%x: tensor<*xf32>) -> tensor<*xf32> {
  %0 = attn.reshape %x to <[2, 4]> : tensor<*xf32>
  return %0 : tensor<*xf32>
}

// The parts in a packed projection are slices along its last axis.
// CHECK-LABEL: func @packed_projection
// CHECK-NEXT: %[[Q:.*]] = attn.slice %arg0 axis 2 from 0 size 8 : [batch, seq, 24] f32
// CHECK-NEXT: %[[K:.*]] = attn.slice %arg0 axis 2 from 8 size 8 : [batch, seq, 24] f32
// CHECK-NEXT: return %[[Q]], %[[K]]
func.func @packed_projection(%x: tensor<?x?x24xf32, #attn.shape<[batch, seq, 24]>>) -> (!hidden, !hidden) {
  %0 = attn.reshape %x to <[batch, seq, 3, 8]> : [batch, seq, 24] f32
  %1 = attn.transpose %0 [2, 0, 1, 3] : [batch, seq, 3, 8] f32
  %2 = attn.slice %1 axis 0 from 0 size 1 : [3, batch, seq, 8] f32
  %3 = attn.reshape %2 to <[batch, seq, 8]> : [1, batch, seq, 8] f32
  %4 = attn.slice %1 axis 0 from 1 size 1 : [3, batch, seq, 8] f32
  %5 = attn.reshape %4 to <[batch, seq, 8]> : [1, batch, seq, 8] f32
  return %3, %5 : !hidden, !hidden
}

// CHECK-LABEL: func @packed_heads
// CHECK-NEXT: %[[K:.*]] = attn.slice %arg0 axis 2 from 8 size 8 : [batch, seq, 24] f32
// CHECK-NEXT: %[[R:.*]] = attn.reshape %[[K]] to <[batch, seq, 2, 4]>
// CHECK-NEXT: %[[T:.*]] = attn.transpose %[[R]] [0, 2, 1, 3]
// CHECK-NEXT: return %[[T]]
func.func @packed_heads(%x: tensor<?x?x24xf32, #attn.shape<[batch, seq, 24]>>) -> tensor<?x2x?x4xf32, #attn.shape<[batch, 2, seq, 4]>> {
  %0 = attn.reshape %x to <[batch, seq, 3, 2, 4]> : [batch, seq, 24] f32
  %1 = attn.transpose %0 [2, 0, 3, 1, 4] : [batch, seq, 3, 2, 4] f32
  %2 = attn.slice %1 axis 0 from 1 size 1 : [3, batch, 2, seq, 4] f32
  %3 = attn.reshape %2 to <[batch, 2, seq, 4]> : [1, batch, 2, seq, 4] f32
  return %3 : tensor<?x2x?x4xf32, #attn.shape<[batch, 2, seq, 4]>>
}

// Something else reads the whole transpose.
// CHECK-LABEL: func @keeps_slice_of_transpose_that_is_read
// CHECK-NEXT: %[[T:.*]] = attn.transpose %arg0 [1, 0]
// CHECK-NEXT: %[[S:.*]] = attn.slice %[[T]] axis 0 from 0 size 1
// CHECK-NEXT: return %[[T]], %[[S]]
func.func @keeps_slice_of_transpose_that_is_read(%x: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<1x2xf32>) {
  %0 = attn.transpose %x [1, 0] : [2, 3] f32
  %1 = attn.slice %0 axis 0 from 0 size 1 : [3, 2] f32
  return %0, %1 : tensor<3x2xf32>, tensor<1x2xf32>
}

// The sliced axis is not the outer part of a merged axis: its elements are apart.
// CHECK-LABEL: func @keeps_slice_of_an_inner_part
// CHECK-NEXT: %[[R:.*]] = attn.reshape %arg0 to <[2, 3, 4]>
// CHECK-NEXT: attn.slice %[[R]] axis 2 from 0 size 2
func.func @keeps_slice_of_an_inner_part(%x: tensor<2x12xf32>) -> tensor<2x3x2xf32> {
  %0 = attn.reshape %x to <[2, 3, 4]> : [2, 12] f32
  %1 = attn.slice %0 axis 2 from 0 size 2 : [2, 3, 4] f32
  return %1 : tensor<2x3x2xf32>
}

// CHECK-LABEL: func @keeps_slice_of_joined_axes
// CHECK-NEXT: %[[R:.*]] = attn.reshape %arg0 to <[6, 4]>
// CHECK-NEXT: attn.slice %[[R]] axis 0 from 1 size 2
func.func @keeps_slice_of_joined_axes(%x: tensor<2x3x4xf32>) -> tensor<2x4xf32> {
  %0 = attn.reshape %x to <[6, 4]> : [2, 3, 4] f32
  %1 = attn.slice %0 axis 0 from 1 size 2 : [6, 4] f32
  return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: func @keeps_transpose_in_front_of_joined_axes
// CHECK-NEXT: %[[T:.*]] = attn.transpose %arg0 [0, 2, 1, 3]
// CHECK-NEXT: attn.reshape %[[T]] to <[batch, seq, 8]>
func.func @keeps_transpose_in_front_of_joined_axes(%x: tensor<?x2x?x4xf32, #attn.shape<[batch, 2, seq, 4]>>) -> !hidden {
  %0 = attn.transpose %x [0, 2, 1, 3] : [batch, 2, seq, 4] f32
  %1 = attn.reshape %0 to <[batch, seq, 8]> : !split
  return %1 : !hidden
}

// Operations from two layers get one location with a range.
// LOCATION-LABEL: func @merged_place
// LOCATION: attn.transpose %{{.*}} loc(#[[LOC:.*]])
// LOCATION: #[[LOC]] = loc(fused<"encoder.layer.{0-1}.split">
func.func @merged_place(%x: tensor<2x3x4xf32>) -> tensor<4x3x2xf32> {
  %0 = attn.transpose %x [1, 2, 0] : [2, 3, 4] f32 loc(fused<"encoder.layer.0.split">["config.json":0:0])
  %1 = attn.transpose %0 [1, 0, 2] : [3, 4, 2] f32 loc(fused<"encoder.layer.1.split">["config.json":0:0])
  return %1 : tensor<4x3x2xf32>
}

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

// A square transpose is no identity though its type is that of its input.
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

// What two layers become one location with a range.
// LOCATION-LABEL: func @merged_place
// LOCATION: attn.transpose %{{.*}} loc(#[[LOC:.*]])
// LOCATION: #[[LOC]] = loc(fused<"encoder.layer.{0-1}.split">
func.func @merged_place(%x: tensor<2x3x4xf32>) -> tensor<4x3x2xf32> {
  %0 = attn.transpose %x [1, 2, 0] : [2, 3, 4] f32 loc(fused<"encoder.layer.0.split">["config.json":0:0])
  %1 = attn.transpose %0 [1, 0, 2] : [3, 4, 2] f32 loc(fused<"encoder.layer.1.split">["config.json":0:0])
  return %1 : tensor<4x3x2xf32>
}

// RUN: not transom-opt %s --attn-infer-shapes 2>&1 | FileCheck %s
// RUN: not transom-opt %s --verify-each=false --attn-infer-shapes 2>&1 | FileCheck %s

// The error has both shapes and the location.
// CHECK: 'attn.add' op at 'encoder.head' (2) expects shapes that broadcast, got [2, 4] and [2, 8]
func.func @operands_that_do_not_fit(%x: tensor<2x8xf32>, %w: tensor<4x8xf32>) -> tensor<*xf32> {
  %y = "attn.linear"(%x, %w) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<*xf32> loc("encoder.dense")
  %z = attn.add %y, %x : tensor<*xf32>, [2, 8] f32 loc("encoder.head")
  return %z : tensor<*xf32>
}

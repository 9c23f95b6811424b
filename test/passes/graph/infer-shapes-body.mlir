// RUN: not transom-opt %s --verify-each=false --attn-infer-shapes 2>&1 | FileCheck %s

// An error in a layer body is a pass error.
// CHECK: 'attn.add' op at 'layer.0.add' (2) expects shapes that broadcast, got [2, 8] and [2, 4]
// CHECK-NOT: func.func
func.func @error_in_a_body(%x: tensor<2x8xf32>, %y: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %z = attn.layers %x invariants(%y : tensor<2x4xf32>) [@layer] : tensor<2x8xf32>
  return %z : tensor<2x8xf32>
}
func.func private @layer(%x: tensor<2x8xf32>, %y: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %a = "attn.activation"(%y) <{kind = #attn.activation<relu>}> : (tensor<2x4xf32>) -> tensor<*xf32>
  %0 = "attn.add"(%x, %a) : (tensor<2x8xf32>, tensor<*xf32>) -> tensor<2x8xf32> loc("layer.0.add")
  return %0 : tensor<2x8xf32>
}

// RUN: transom-opt %s --load-pass-plugin=%plugins/tanh-gelu.so --pass-pipeline='builtin.module(tanh-gelu)' | FileCheck %s

// CHECK-LABEL: func.func @replaces_gelu(
// CHECK: attn.activation <gelu_tanh>
func.func @replaces_gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = attn.activation <gelu> %x : [4] f32
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @leaves_others(
// CHECK: attn.activation <relu>
func.func @leaves_others(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = attn.activation <relu> %x : [4] f32
  return %y : tensor<4xf32>
}

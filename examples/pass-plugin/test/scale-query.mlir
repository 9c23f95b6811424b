// RUN: transom-opt %s --load-pass-plugin=%plugins/scale-query.so --pass-pipeline='builtin.module(scale-query)' | FileCheck %s

// CHECK-DAG: attn.weight @q {{.*}}scale(file("q"), 0.5)
// CHECK-DAG: attn.weight @b {{.*}}scale(file("b"), 0.5)
// CHECK-DAG: attn.weight @shared {{.*}}<file("shared")>
attn.weight @q : [4, 4] f32 = #weight.expr<file("q")>
attn.weight @b : [4] f32 = #weight.expr<file("b")>
attn.weight @shared : [4, 4] f32 = #weight.expr<file("shared")>

// CHECK-LABEL: func.func @moves_the_scale(
// CHECK: attn.sdpa {{.*}} scale 1.0
func.func @moves_the_scale(%x: tensor<1x3x4xf32>) -> tensor<1x3x4xf32> {
  %w = attn.get_weight @q : [4, 4] f32
  %b = attn.get_weight @b : [4] f32
  %q = attn.linear %x, %w, %b : [1, 3, 4] f32, [4, 4] f32, [4] f32
  %y = attn.sdpa %q, %x, %x heads 1 kv_heads 1 scale 0.5 <none> : [1, 3, 4] f32
  return %y : tensor<1x3x4xf32>
}

// CHECK-LABEL: func.func @leaves_a_weight_with_two_readers(
// CHECK: attn.sdpa {{.*}} scale 5.0
func.func @leaves_a_weight_with_two_readers(%x: tensor<1x3x4xf32>) -> tensor<1x3x4xf32> {
  %w = attn.get_weight @shared : [4, 4] f32
  %q = attn.linear %x, %w : [1, 3, 4] f32, [4, 4] f32
  %k = attn.linear %x, %w : [1, 3, 4] f32, [4, 4] f32
  %y = attn.sdpa %q, %k, %x heads 1 kv_heads 1 scale 0.5 <none> : [1, 3, 4] f32
  return %y : tensor<1x3x4xf32>
}

// RUN: transom-opt %s --load-pass-plugin=%plugins/scale-query.so --pass-pipeline='builtin.module(scale-query)' | FileCheck %s

// CHECK-DAG: attn.weight @q {{.*}}scale(file("q"), 0.5)
// CHECK-DAG: attn.weight @b {{.*}}scale(file("b"), 0.5)
// CHECK-DAG: attn.weight @shared {{.*}}<file("shared")>
attn.weight @q : [4, 4] f32 = #weight.expr<file("q")>
attn.weight @b : [4] f32 = #weight.expr<file("b")>
attn.weight @shared : [4, 4] f32 = #weight.expr<file("shared")>

// CHECK-LABEL: func.func @moves_the_scale(
// CHECK-NOT: attn.scale
// CHECK: return
func.func @moves_the_scale(%x: tensor<3x4xf32>, %k: tensor<2x3x2xf32>) -> tensor<2x3x3xf32> {
  %w = attn.get_weight @q : [4, 4] f32
  %b = attn.get_weight @b : [4] f32
  %q = attn.linear %x, %w, %b : [3, 4] f32, [4, 4] f32, [4] f32
  %r = attn.reshape %q to <[3, 2, 2]> : [3, 4] f32
  %t = attn.transpose %r [1, 0, 2] : [3, 2, 2] f32
  %m = attn.matmul %t, %k {transpose_rhs} : [2, 3, 2] f32, [2, 3, 2] f32
  %y = attn.scale %m by 0.5 : [2, 3, 3] f32
  return %y : tensor<2x3x3xf32>
}

// CHECK-LABEL: func.func @leaves_a_weight_with_two_readers(
// CHECK: attn.scale
func.func @leaves_a_weight_with_two_readers(%x: tensor<3x4xf32>) -> tensor<3x3xf32> {
  %w = attn.get_weight @shared : [4, 4] f32
  %q = attn.linear %x, %w : [3, 4] f32, [4, 4] f32
  %k = attn.linear %x, %w : [3, 4] f32, [4, 4] f32
  %m = attn.matmul %q, %k {transpose_rhs} : [3, 4] f32, [3, 4] f32
  %y = attn.scale %m by 0.5 : [3, 3] f32
  return %y : tensor<3x3xf32>
}

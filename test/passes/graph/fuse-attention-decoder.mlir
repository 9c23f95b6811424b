// RUN: transom-opt %s --attn-fuse-attention --split-input-file | FileCheck %s

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!s = tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>
!m = tensor<?x?xf32, #attn.shape<[seq, seq]>>

// An added triangle with zeros and minus infinity, sliced to the length.
// CHECK: args = {causal = "yes"{{[^{}]*}}mask = "none", operations = "4"{{[^{}]*}}}{{[^{}]*}}name = "attention-fused"
// CHECK-LABEL: func.func @adds_a_triangle(
// CHECK-NOT: attn.slice
// CHECK: attn.sdpa %{{.*}}, %{{.*}}, %{{.*}} heads 1 kv_heads 1 scale 1.{{0+e\+00}} <none> {causal}
func.func @adds_a_triangle(%x: !x) -> !x {
  %t = attn.constant dense<[[0.0, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000], [0.0, 0.0, 0.0]]> : tensor<3x3xf32>
  %r = attn.slice %t axis 0 from 0 size seq : [3, 3] f32
  %m = attn.slice %r axis 1 from 0 size seq : [seq, 3] f32
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %a = attn.add %s, %m : !s, !m
  %p = attn.softmax %a : !s
  %y = attn.matmul %p, %x : !s, !x
  return %y : !x
}

// -----

!x = tensor<2x3x8xf32>
!s = tensor<2x3x3xf32>

// Ones above the diagonal hide; the key mask next to them stays.
// CHECK: args = {causal = "yes"{{[^{}]*}}mask = "keys", operations = "5"{{[^{}]*}}}{{[^{}]*}}name = "attention-fused"
// CHECK-LABEL: func.func @hides_a_triangle_and_keys(
// CHECK: attn.sdpa %{{.*}}, %{{.*}}, %{{.*}} mask(%{{.*}}) heads 1 kv_heads 1 scale {{.*}} <keys> {causal}
func.func @hides_a_triangle_and_keys(%x: !x, %k: tensor<2x1x3xi1>) -> !x {
  %t = attn.constant dense<[[[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]]> : tensor<1x3x3xf32>
  %b = attn.cast %t to i1 : [1, 3, 3] f32
  %low = attn.constant dense<0xFF800000> : tensor<1xf32>
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %h = attn.where %b, %low, %s : [1, 3, 3] i1, [1] f32, !s
  %m = attn.mask %h, %k with 0xFFF0000000000000 : !s, [2, 1, 3] i1
  %p = attn.softmax %m : !s
  %y = attn.matmul %p, %x : !s, !x
  return %y : !x
}

// -----

!x = tensor<2x3x8xf32>
!s = tensor<2x3x3xf32>

// Not a triangle: the first query sees nothing; a finite value is data, also
// where a bool was made from it.
// CHECK-LABEL: func.func @keeps_other_constants(
// CHECK: attn.sdpa {{.*}} mask(%{{.*}}) heads 1 kv_heads 1 scale {{.*}} <select> :
// CHECK: attn.sdpa {{.*}} mask(%{{.*}}) heads 1 kv_heads 1 scale {{.*}} <additive> :
// CHECK: attn.sdpa {{.*}} mask(%{{.*}}) heads 1 kv_heads 1 scale {{.*}} <additive> :
func.func @keeps_other_constants(%x: !x) -> !x {
  %t = attn.constant dense<[[false, false, false], [true, false, false], [true, true, false]]> : tensor<3x3xi1>
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %h = attn.mask %s, %t with 0xFFF0000000000000 : !s, [3, 3] i1
  %p = attn.softmax %h : !s
  %y = attn.matmul %p, %x : !s, !x
  %f = attn.constant dense<[[0.0, -1.0e4, -1.0e4], [0.0, 0.0, -1.0e4], [0.0, 0.0, 0.0]]> : tensor<3x3xf32>
  %s2 = attn.matmul %y, %y {transpose_rhs} : !x
  %h2 = attn.add %s2, %f : !s, [3, 3] f32
  %p2 = attn.softmax %h2 : !s
  %y2 = attn.matmul %p2, %y : !s, !x
  %i = attn.constant dense<[[0.0, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000], [0.0, 0.0, 0.0]]> : tensor<3x3xf32>
  %b = attn.cast %i to i1 : [3, 3] f32
  %g = attn.cast %b to f32 : [3, 3] i1
  %s3 = attn.matmul %y2, %y2 {transpose_rhs} : !x
  %h3 = attn.add %s3, %g : !s, [3, 3] f32
  %p3 = attn.softmax %h3 : !s
  %y3 = attn.matmul %p3, %y2 : !s, !x
  return %y3 : !x
}

// -----

!q = tensor<2x4x3x8xf32>
!s = tensor<2x4x3x3xf32>
!kv = tensor<2x3x16xf32>
!h = tensor<2x2x3x8xf32>
!one = tensor<2x2x1x3x8xf32>
!two = tensor<2x2x2x3x8xf32>

// Each key and value head occurs twice, adjacent.
// CHECK-LABEL: func.func @repeats_heads(
// CHECK-SAME: %[[Q:.*]]: tensor<2x3x32xf32>, %[[K:.*]]: tensor<2x3x16xf32>, %[[V:.*]]: tensor<2x3x16xf32>)
// CHECK-NOT: attn.concat
// CHECK: attn.sdpa %[[Q]], %[[K]], %[[V]] heads 4 kv_heads 2 scale
func.func @repeats_heads(%q: tensor<2x3x32xf32>, %k: !kv, %v: !kv) -> !q {
  %qs = attn.reshape %q to <[2, 3, 4, 8]> : [2, 3, 32] f32
  %qt = attn.transpose %qs [0, 2, 1, 3] : [2, 3, 4, 8] f32
  %ks = attn.reshape %k to <[2, 3, 2, 8]> : !kv
  %kt = attn.transpose %ks [0, 2, 1, 3] : [2, 3, 2, 8] f32
  %k1 = attn.reshape %kt to <[2, 2, 1, 3, 8]> : !h
  %k2 = attn.concat %k1, %k1 axis 2 : !one, !one
  %kr = attn.reshape %k2 to <[2, 4, 3, 8]> : !two
  %vs = attn.reshape %v to <[2, 3, 2, 8]> : !kv
  %vt = attn.transpose %vs [0, 2, 1, 3] : [2, 3, 2, 8] f32
  %v1 = attn.reshape %vt to <[2, 2, 1, 3, 8]> : !h
  %v2 = attn.concat %v1, %v1 axis 2 : !one, !one
  %vr = attn.reshape %v2 to <[2, 4, 3, 8]> : !two
  %s = attn.matmul %qt, %kr {transpose_rhs} : !q
  %p = attn.softmax %s : !s
  %y = attn.matmul %p, %vr : !s, !q
  return %y : !q
}

// All heads twice, one after the other: another head order.
// CHECK-LABEL: func.func @tiles_heads(
// CHECK: attn.concat
// CHECK: attn.sdpa %{{.*}}, %{{.*}}, %{{.*}} heads 4 kv_heads 4 scale
func.func @tiles_heads(%q: !q, %k: tensor<2x1x2x3x8xf32>, %v: !q) -> !q {
  %k2 = attn.concat %k, %k axis 1 : [2, 1, 2, 3, 8] f32, [2, 1, 2, 3, 8] f32
  %kr = attn.reshape %k2 to <[2, 4, 3, 8]> : !two
  %s = attn.matmul %q, %kr {transpose_rhs} : !q
  %p = attn.softmax %s : !s
  %y = attn.matmul %p, %v : !s, !q
  return %y : !q
}

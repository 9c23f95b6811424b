// RUN: transom-opt %s --attn-fuse-attention --split-input-file | FileCheck %s

// Soft caps, factors after the softmax, masks combined from a triangle and others, and products without a softmax.

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!s = tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>
!one = tensor<1xf32>

// CHECK: args = {cap = "50"}{{[^{}]*}}kind = "passed"{{[^{}]*}}name = "soft-cap-fused"
// CHECK-LABEL: func.func @soft_cap(
// CHECK: attn.sdpa {{.*}} scale 5.000000e-01 <none> {soft_cap = 5.000000e+01 : f64}
func.func @soft_cap(%x: !x) -> !x {
  %c = attn.constant dense<50.0> : !one
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %f = attn.scale %s by 0.5 : !s
  %d = attn.div %f, %c : !s, !one
  %t = attn.activation <tanh> %d : !s
  %u = attn.mul %c, %t : !one, !s
  %p = attn.softmax %u : !s
  %y = attn.matmul %p, %x : !s, !x
  return %y : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!s = tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>
!k = tensor<?x1x?xi1, #attn.shape<[batch, 1, seq]>>

// CHECK: args = {operation = "'attn.mask' at 'mask'"}{{[^{}]*}}name = "mask-inside-soft-cap"
// CHECK-LABEL: func.func @mask_in_front_of_the_cap(
// CHECK-NOT: attn.sdpa
func.func @mask_in_front_of_the_cap(%x: !x, %k: !k) -> !x {
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %m = attn.mask %s, %k with 0xFFF0000000000000 : !s, !k loc("mask")
  %t = attn.activation <tanh> %m : !s
  %u = attn.scale %t by 5.0 : !s
  %p = attn.softmax %u : !s
  %y = attn.matmul %p, %x : !s, !x
  return %y : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!s = tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>

// CHECK: args = {factor = "3"}{{[^{}]*}}kind = "passed"{{[^{}]*}}name = "factor-moved"
// CHECK-LABEL: func.func @factors_of_probabilities_and_value(
// CHECK: %[[Y:.*]] = attn.sdpa
// CHECK: %[[Z:.*]] = attn.scale %[[Y]] by 3.{{0+}}e+00
// CHECK: return %[[Z]]
func.func @factors_of_probabilities_and_value(%x: !x) -> !x {
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %p = attn.softmax %s : !s
  %q = attn.scale %p by 0.5 : !s
  %v = attn.scale %x by 6.0 : !x
  %y = attn.matmul %q, %v : !s, !x
  return %y : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!s = tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>

// A factor for each key is not a result factor.
// CHECK: name = "operation-after-softmax"
// CHECK-LABEL: func.func @keeps_factor_of_each_key(
// CHECK-NOT: attn.sdpa
func.func @keeps_factor_of_each_key(%x: !x, %f: tensor<?xf32, #attn.shape<[seq]>>) -> !x {
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %p = attn.softmax %s : !s
  %q = attn.mul %p, %f : !s, [seq] f32
  %y = attn.matmul %q, %x : !s, !x
  return %y : !x
}

// -----

!x = tensor<2x3x8xf32>
!s = tensor<2x3x3xf32>
!k = tensor<2x1x3xi1>
!m = tensor<3x3xi1>

// CHECK-LABEL: func.func @triangle_and_keys(
// CHECK: attn.sdpa {{.*}} <keys> {causal}
func.func @triangle_and_keys(%x: !x, %k: !k) -> !x {
  %t = attn.constant dense<[[true, false, false], [true, true, false], [true, true, true]]> : !m
  %b = attn.and %t, %k : !m, !k
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %h = attn.mask %s, %b with 0xFFF0000000000000 : !s, [2, 3, 3] i1
  %p = attn.softmax %h : !s
  %y = attn.matmul %p, %x : !s, !x
  return %y : !x
}

// A key is visible if one mask shows it.
// CHECK-LABEL: func.func @keeps_triangle_or_keys(
// CHECK: attn.sdpa {{.*}} <select> :
func.func @keeps_triangle_or_keys(%x: !x, %k: !k) -> !x {
  %t = attn.constant dense<[[true, false, false], [true, true, false], [true, true, true]]> : !m
  %b = attn.or %t, %k : !m, !k
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %h = attn.mask %s, %b with 0xFFF0000000000000 : !s, [2, 3, 3] i1
  %p = attn.softmax %h : !s
  %y = attn.matmul %p, %x : !s, !x
  return %y : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!s = tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>

// CHECK: args = {product = "'attn.matmul' at 'scores'", result = "'attn.matmul' at 'mixed'", sizes = "[batch, seq, seq]"}{{[^{}]*}}kind = "missed", location = "mixed", name = "attention-without-softmax"
// CHECK-LABEL: func.func @no_softmax(
func.func @no_softmax(%x: !x) -> !x {
  %s = attn.matmul %x, %x {transpose_rhs} : !x loc("scores")
  %a = attn.activation <relu> %s : !s
  %y = attn.matmul %a, %x : !s, !x loc("mixed")
  return %y : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!f = tensor<?x8x8xf32, #attn.shape<[batch, 8, 8]>>

// Key and value are multiplied first: there are no scores.
// CHECK-NOT: attention-without-softmax
// CHECK-LABEL: func.func @key_times_value_first(
func.func @key_times_value_first(%x: !x) -> !f {
  %s = attn.matmul %x, %x {transpose_lhs} : !x
  %y = attn.matmul %s, %s : !f
  return %y : !f
}

// -----

!f = tensor<?x8xf32, #attn.shape<[seq, 8]>>
!x = tensor<1x?x8xf32, #attn.shape<[1, seq, 8]>>
!s = tensor<1x?x?xf32, #attn.shape<[1, seq, seq]>>

// A constant that adds an axis to the query is more than a factor.
// CHECK-LABEL: func.func @factor_that_adds_an_axis(
// CHECK: %[[Q:.*]] = attn.mul
// CHECK: attn.sdpa %[[Q]]
func.func @factor_that_adds_an_axis(%f: !f, %x: !x) -> !x {
  %c = attn.constant dense<2.0> : tensor<1x1x1xf32>
  %q = attn.mul %f, %c : !f, [1, 1, 1] f32
  %s = attn.matmul %q, %x {transpose_rhs} : !x, !x
  %p = attn.softmax %s : !s
  %y = attn.matmul %p, %x : !s, !x
  return %y : !x
}

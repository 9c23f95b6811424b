// RUN: transom-opt %s --attn-fuse-attention --split-input-file | FileCheck %s

!h = tensor<?x4x?x16xf32, #attn.shape<[batch, 4, seq, 16]>>
!s = tensor<?x4x?x?xf32, #attn.shape<[batch, 4, seq, seq]>>
!k = tensor<?x1x1x?xi1, #attn.shape<[batch, 1, 1, seq]>>
!bias = tensor<4x?x?xf32, #attn.shape<[4, seq, seq]>>

// CHECK: location = "layer.0.scores", pass = "attn-fuse-attention", reason = "scores with another user"
// CHECK-LABEL: func.func @scores_are_a_result(
// CHECK-NOT: attn.sdpa
func.func @scores_are_a_result(%q: !h, %k: !h, %v: !h) -> (!h, !s) {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %p = attn.softmax %s : !s loc("layer.0.scores")
  %c = attn.matmul %p, %v : !s, !h
  return %c, %s : !h, !s
}

// -----

!h = tensor<?x4x?x16xf32, #attn.shape<[batch, 4, seq, 16]>>
!s = tensor<?x4x?x?xf32, #attn.shape<[batch, 4, seq, seq]>>

// CHECK: reason = "probabilities with another user"
// CHECK-LABEL: func.func @probabilities_are_a_result(
// CHECK-NOT: attn.sdpa
func.func @probabilities_are_a_result(%q: !h, %k: !h, %v: !h) -> (!h, !s) {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %p = attn.softmax %s : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c, %p : !h, !s
}

// -----

!h = tensor<?x4x?x16xf32, #attn.shape<[batch, 4, seq, 16]>>
!s = tensor<?x4x?x?xf32, #attn.shape<[batch, 4, seq, seq]>>

// CHECK: reason = "an operation 'attn.activation' between softmax and product"
// CHECK-LABEL: func.func @operation_behind_the_softmax(
// CHECK-NOT: attn.sdpa
func.func @operation_behind_the_softmax(%q: !h, %k: !h, %v: !h) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %p = attn.softmax %s : !s
  %r = attn.activation <relu> %p : !s
  %c = attn.matmul %r, %v : !s, !h
  return %c : !h
}

// -----

!h = tensor<?x4x?x16xf32, #attn.shape<[batch, 4, seq, 16]>>
!s = tensor<?x4x?x?xf32, #attn.shape<[batch, 4, seq, seq]>>
!ht = tensor<?x4x16x?xf32, #attn.shape<[batch, 4, 16, seq]>>

// CHECK: reason = "an operation 'attn.activation' between product and softmax"
// CHECK: reason = "a product with transposed probabilities"
// CHECK: reason = "probabilities on the right of their product"
// CHECK-LABEL: func.func @operation_in_front_of_the_softmax(
// CHECK-NOT: attn.sdpa
func.func @operation_in_front_of_the_softmax(%q: !h, %k: !h, %v: !h) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %r = attn.activation <tanh> %s : !s
  %p = attn.softmax %r : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// CHECK-LABEL: func.func @transposed_probabilities(
// CHECK-NOT: attn.sdpa
func.func @transposed_probabilities(%q: !h, %k: !h, %v: !h) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %p = attn.softmax %s : !s
  %c = attn.matmul %p, %v {transpose_lhs} : !s, !h
  return %c : !h
}

// CHECK-LABEL: func.func @probabilities_on_the_right(
// CHECK-NOT: attn.sdpa
func.func @probabilities_on_the_right(%q: !h, %k: !h, %v: !ht) -> !ht {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %p = attn.softmax %s : !s
  %c = attn.matmul %v, %p : !ht, !s
  return %c : !ht
}

// -----

!h = tensor<?x4x?x16xf32, #attn.shape<[batch, 4, seq, 16]>>
!s = tensor<?x4x?x?xf32, #attn.shape<[batch, 4, seq, seq]>>
!one = tensor<1xf32>

// CHECK: reason = "a scale that is not a constant"
// CHECK: reason = "scores that are not a product"
// CHECK-LABEL: func.func @scale_is_an_input(
// CHECK-NOT: attn.sdpa
func.func @scale_is_an_input(%q: !h, %k: !h, %v: !h, %scale: !one) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %t = attn.mul %s, %scale : !s, !one
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// CHECK-LABEL: func.func @softmax_of_an_input(
// CHECK-NOT: attn.sdpa
func.func @softmax_of_an_input(%s: !s, %v: !h) -> !h {
  %p = attn.softmax %s : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// -----

!h = tensor<?x4x?x16xf32, #attn.shape<[batch, 4, seq, 16]>>
!v1 = tensor<1x4x?x16xf32, #attn.shape<[1, 4, seq, 16]>>
!v2 = tensor<?x1x?x16xf32, #attn.shape<[batch, 1, seq, 16]>>
!s = tensor<?x4x?x?xf32, #attn.shape<[batch, 4, seq, seq]>>

// CHECK: reason = "query, key and value of different batches"
// CHECK: reason = "query, key and value with different head counts"
// CHECK-LABEL: func.func @value_of_another_batch(
// CHECK-NOT: attn.sdpa
func.func @value_of_another_batch(%q: !h, %k: !h, %v: !v1) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %p = attn.softmax %s : !s
  %c = attn.matmul %p, %v : !s, !v1
  return %c : !h
}

// CHECK-LABEL: func.func @value_with_fewer_heads(
// CHECK-NOT: attn.sdpa
func.func @value_with_fewer_heads(%q: !h, %k: !h, %v: !v2) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %p = attn.softmax %s : !s
  %c = attn.matmul %p, %v : !s, !v2
  return %c : !h
}

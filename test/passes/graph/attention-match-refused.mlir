// RUN: transom-opt %s --attn-fuse-attention --split-input-file | FileCheck %s

!h = tensor<?x4x?x16xf32, #attn.shape<[batch, 4, seq, 16]>>
!s = tensor<?x4x?x?xf32, #attn.shape<[batch, 4, seq, seq]>>
!k = tensor<?x1x1x?xi1, #attn.shape<[batch, 1, 1, seq]>>
!bias = tensor<4x?x?xf32, #attn.shape<[4, seq, seq]>>

// CHECK: args = {readers = "'attn.softmax' at 'layer.0.scores', 'func.return'", scores = "'attn.matmul'"}, category = "attn-fuse-attention", function = "scores_are_a_result", kind = "missed", location = "layer.0.scores", name = "scores-have-other-reader"
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

// CHECK: args = {readers = "'attn.matmul', 'func.return'"}{{[^{}]*}}name = "probabilities-have-other-reader"
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

// The remark is at the operation that prevents it.
// CHECK: args = {operation = "'attn.activation <relu>' at 'layer.0.relu'"}{{[^{}]*}}location = "layer.0.relu", name = "operation-after-softmax"
// CHECK-LABEL: func.func @operation_behind_the_softmax(
// CHECK-NOT: attn.sdpa
func.func @operation_behind_the_softmax(%q: !h, %k: !h, %v: !h) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %p = attn.softmax %s : !s
  %r = attn.activation <relu> %p : !s loc("layer.0.relu")
  %c = attn.matmul %r, %v : !s, !h
  return %c : !h
}

// -----

!h = tensor<?x4x?x16xf32, #attn.shape<[batch, 4, seq, 16]>>
!s = tensor<?x4x?x?xf32, #attn.shape<[batch, 4, seq, seq]>>
!ht = tensor<?x4x16x?xf32, #attn.shape<[batch, 4, 16, seq]>>

// CHECK: args = {operation = "'attn.activation <gelu>'"}{{[^{}]*}}name = "operation-before-softmax"
// CHECK-SAME: args = {product = "'attn.matmul'"}{{[^{}]*}}function = "transposed_probabilities"{{[^{}]*}}name = "probabilities-are-transposed"
// CHECK-SAME: args = {product = "'attn.transpose'"}{{[^{}]*}}function = "softmax_over_queries"{{[^{}]*}}name = "probabilities-are-transposed"
// CHECK-SAME: name = "probabilities-on-the-right"
// CHECK-LABEL: func.func @operation_in_front_of_the_softmax(
// CHECK-NOT: attn.sdpa
func.func @operation_in_front_of_the_softmax(%q: !h, %k: !h, %v: !h) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %r = attn.activation <gelu> %s : !s
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

// A softmax over the queries.
// CHECK-LABEL: func.func @softmax_over_queries(
// CHECK-NOT: attn.sdpa
func.func @softmax_over_queries(%q: !h, %k: !h, %v: !h) -> !h {
  %s = attn.matmul %k, %q {transpose_rhs} : !h
  %p = attn.softmax %s : !s
  %t = attn.transpose %p [0, 1, 3, 2] : !s
  %c = attn.matmul %t, %v : !s, !h
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

// CHECK: args = {factor = "argument 3", operation = "'attn.mul'"}{{[^{}]*}}name = "scale-is-not-constant"
// CHECK-SAME: args = {scores = "argument 0"}{{[^{}]*}}name = "scores-are-not-a-product"
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

// CHECK: args = {key = "batch", query = "batch", value = "1"}{{[^{}]*}}name = "operand-batches-differ"
// CHECK-SAME: args = {key = "4", query = "4", value = "1"}{{[^{}]*}}name = "head-counts-differ"
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

// -----

!q3 = tensor<1x?x16xf32, #attn.shape<[1, seq, 16]>>
!q4 = tensor<1x1x?x16xf32, #attn.shape<[1, 1, seq, 16]>>
!s3 = tensor<1x?x?xf32, #attn.shape<[1, seq, seq]>>
!s4 = tensor<1x1x?x?xf32, #attn.shape<[1, 1, seq, seq]>>
!b4 = tensor<1x1x?x16xbf16, #attn.shape<[1, 1, seq, 16]>>
!sb4 = tensor<1x1x?x?xbf16, #attn.shape<[1, 1, seq, seq]>>

// CHECK: args = {key = "f32", query = "f32", result = "bf16", value = "bf16"}{{[^{}]*}}name = "operand-types-differ"
// CHECK-SAME: args = {key = "3", query = "3", value = "4"}{{[^{}]*}}name = "operand-ranks-differ"
// CHECK-LABEL: func.func @value_of_another_type(
// CHECK-NOT: attn.sdpa
func.func @value_of_another_type(%q: !q4, %k: !q4, %v: !b4) -> !b4 {
  %s = attn.matmul %q, %k {transpose_rhs} : !q4
  %p = attn.softmax %s : !s4
  %r = attn.cast %p to bf16 : !s4
  %c = attn.matmul %r, %v : !sb4, !b4
  return %c : !b4
}

// CHECK-LABEL: func.func @value_with_an_axis_of_heads(
// CHECK-NOT: attn.sdpa
func.func @value_with_an_axis_of_heads(%q: !q3, %k: !q3, %v: !q4) -> !q4 {
  %s = attn.matmul %q, %k {transpose_rhs} : !q3
  %p = attn.softmax %s : !s3
  %c = attn.matmul %p, %v : !s3, !q4
  return %c : !q4
}

// -----

!x = tensor<1x?x16xf32, #attn.shape<[1, seq, 16]>>
!s = tensor<1x?x?xf32, #attn.shape<[1, seq, seq]>>
!i = tensor<1x?x?xi64, #attn.shape<[1, seq, seq]>>

// CHECK: args = {scale = "0"}{{[^{}]*}}name = "scale-is-not-finite"
// CHECK-SAME: args = {from = "i64", operation = "'attn.cast'", to = "f32"}{{[^{}]*}}name = "scores-are-not-floats"
// CHECK-LABEL: func.func @scale_of_zero(
// CHECK-NOT: attn.sdpa
func.func @scale_of_zero(%q: !x, %k: !x, %v: !x) -> !x {
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %t = attn.scale %s by 0.0 : !s
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !x
  return %c : !x
}

// CHECK-LABEL: func.func @rounded_scores(
// CHECK-NOT: attn.sdpa
func.func @rounded_scores(%q: !x, %k: !x, %v: !x) -> !x {
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %i = attn.cast %s to i64 : !s
  %t = attn.cast %i to f32 : !i
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !x
  return %c : !x
}

// -----

!q = tensor<?x6x?x16xf32, #attn.shape<[batch, 6, seq, 16]>>
!kv = tensor<?x2x?x16xf32, #attn.shape<[batch, 2, seq, 16]>>
!one = tensor<?x2x1x?x16xf32, #attn.shape<[batch, 2, 1, seq, 16]>>
!three = tensor<?x2x3x?x16xf32, #attn.shape<[batch, 2, 3, seq, 16]>>
!s = tensor<?x6x?x?xf32, #attn.shape<[batch, 6, seq, seq]>>

// Two key heads for six query heads; near misses are read as six heads.
// CHECK-LABEL: func.func @repeated_heads(
// CHECK: attn.sdpa {{.*}} heads 6 kv_heads 2
func.func @repeated_heads(%q: !q, %k: !kv, %v: !kv) -> !q {
  %k1 = attn.reshape %k to <[batch, 2, 1, seq, 16]> : !kv
  %k3 = attn.concat %k1, %k1, %k1 axis 2 : !one, !one, !one
  %kq = attn.reshape %k3 to <[batch, 6, seq, 16]> : !three
  %v1 = attn.reshape %v to <[batch, 2, 1, seq, 16]> : !kv
  %v3 = attn.concat %v1, %v1, %v1 axis 2 : !one, !one, !one
  %vq = attn.reshape %v3 to <[batch, 6, seq, 16]> : !three
  %s = attn.matmul %q, %kq {transpose_rhs} : !q
  %p = attn.softmax %s : !s
  %c = attn.matmul %p, %vq : !s, !q
  return %c : !q
}

// Copies that were never heads without a copy, or other heads.
// CHECK-LABEL: func.func @copies_of_an_input(
// CHECK: attn.sdpa {{.*}} heads 6 kv_heads 6
func.func @copies_of_an_input(%q: !q, %k1: !one, %v: !q) -> !q {
  %k3 = attn.concat %k1, %k1, %k1 axis 2 : !one, !one, !one
  %kq = attn.reshape %k3 to <[batch, 6, seq, 16]> : !three
  %s = attn.matmul %q, %kq {transpose_rhs} : !q
  %p = attn.softmax %s : !s
  %c = attn.matmul %p, %v : !s, !q
  return %c : !q
}

// CHECK-LABEL: func.func @copies_of_other_heads(
// CHECK: attn.sdpa {{.*}} heads 6 kv_heads 6
func.func @copies_of_other_heads(%q: !q, %k: tensor<?x?x32xf32, #attn.shape<[batch, seq, 32]>>, %v: !q) -> !q {
  %k1 = attn.reshape %k to <[batch, 2, 1, seq, 16]> : tensor<?x?x32xf32, #attn.shape<[batch, seq, 32]>>
  %k3 = attn.concat %k1, %k1, %k1 axis 2 : !one, !one, !one
  %kq = attn.reshape %k3 to <[batch, 6, seq, 16]> : !three
  %s = attn.matmul %q, %kq {transpose_rhs} : !q
  %p = attn.softmax %s : !s
  %c = attn.matmul %p, %v : !s, !q
  return %c : !q
}

// CHECK-LABEL: func.func @copies_of_pairs_of_heads(
// CHECK: attn.sdpa {{.*}} heads 6 kv_heads 6
func.func @copies_of_pairs_of_heads(%q: !q, %k: tensor<?x6x?x16xf32, #attn.shape<[batch, 6, seq, 16]>>, %v: !q) -> !q {
  %half = attn.slice %k axis 1 from 0 size 3 : !q
  %k1 = attn.reshape %half to <[batch, 1, 3, seq, 16]> : tensor<?x3x?x16xf32, #attn.shape<[batch, 3, seq, 16]>>
  %k2 = attn.concat %k1, %k1 axis 2 : tensor<?x1x3x?x16xf32, #attn.shape<[batch, 1, 3, seq, 16]>>, tensor<?x1x3x?x16xf32, #attn.shape<[batch, 1, 3, seq, 16]>>
  %kq = attn.reshape %k2 to <[batch, 6, seq, 16]> : tensor<?x1x6x?x16xf32, #attn.shape<[batch, 1, 6, seq, 16]>>
  %s = attn.matmul %q, %kq {transpose_rhs} : !q
  %p = attn.softmax %s : !s
  %c = attn.matmul %p, %v : !s, !q
  return %c : !q
}

// -----

!x = tensor<?x2x5x16xf32, #attn.shape<[batch, 2, 5, 16]>>
!k = tensor<?x2x15x16xf32, #attn.shape<[batch, 2, 15, 16]>>
!one = tensor<?x2x1x5x16xf32, #attn.shape<[batch, 2, 1, 5, 16]>>
!three = tensor<?x2x3x5x16xf32, #attn.shape<[batch, 2, 3, 5, 16]>>
!s = tensor<?x2x5x15xf32, #attn.shape<[batch, 2, 5, 15]>>

// The keys themselves are there three times, not their heads.
// CHECK-LABEL: func.func @copies_of_keys(
// CHECK: attn.sdpa {{.*}} heads 2 kv_heads 2 {{.*}} : [batch, 5, 32] f32, [batch, 15, 32] f32
func.func @copies_of_keys(%q: !x, %k: !x, %v: !k) -> !x {
  %k1 = attn.reshape %k to <[batch, 2, 1, 5, 16]> : !x
  %k3 = attn.concat %k1, %k1, %k1 axis 2 : !one, !one, !one
  %kq = attn.reshape %k3 to <[batch, 2, 15, 16]> : !three
  %s = attn.matmul %q, %kq {transpose_rhs} : !x, !k
  %p = attn.softmax %s : !s
  %c = attn.matmul %p, %v : !s, !k
  return %c : !x
}

// -----

!x = tensor<?x?x16xf32, #attn.shape<[batch, seq, 16]>>
!s = tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>

// CHECK: args = {scale = "inf"}{{[^{}]*}}name = "scale-is-not-finite"
// CHECK-LABEL: func.func @scales_of_both_overflow(
// CHECK-NOT: attn.sdpa
func.func @scales_of_both_overflow(%q: !x, %k: !x, %v: !x) -> !x {
  %a = attn.scale %q by 1.0e200 : !x
  %b = attn.scale %k by 1.0e200 : !x
  %s = attn.matmul %a, %b {transpose_rhs} : !x
  %p = attn.softmax %s : !s
  %c = attn.matmul %p, %v : !s, !x
  return %c : !x
}

// Neither summand is a product.
// CHECK-LABEL: func.func @sum_of_inputs(
// CHECK-NOT: attn.sdpa
func.func @sum_of_inputs(%a: !s, %b: !s, %v: !x) -> !x {
  %s = attn.add %a, %b : !s
  %p = attn.softmax %s : !s
  %c = attn.matmul %p, %v : !s, !x
  return %c : !x
}

// -----

!x = tensor<1x6x16xf32>
!s = tensor<1x6x6xf32>

// A constant with several elements is not a scale.
// CHECK: args = {factor = "'attn.constant'", operation = "'attn.mul'"}{{[^{}]*}}name = "scale-is-not-constant"
// CHECK-LABEL: func.func @scale_of_each_key(
// CHECK-NOT: attn.sdpa
func.func @scale_of_each_key(%q: !x, %k: !x, %v: !x) -> !x {
  %f = attn.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %t = attn.mul %s, %f : !s, tensor<6xf32>
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !x
  return %c : !x
}

// -----

!x = tensor<*xf32>

// Without shapes there are no operands with rank 3 or 4.
// CHECK: args = {operand = "query", rank = "0", sizes = "[]"}{{[^{}]*}}name = "operand-rank-unsupported"
// CHECK-LABEL: func.func @unknown_shapes(
// CHECK-NOT: attn.sdpa
func.func @unknown_shapes(%q: !x, %k: !x, %v: !x) -> !x {
  %s = attn.matmul %q, %k {transpose_rhs} : !x, !x
  %p = attn.softmax %s : !x
  %c = attn.matmul %p, %v : !x, !x
  return %c : !x
}

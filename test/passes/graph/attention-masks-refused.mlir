// RUN: transom-opt %s --attn-fuse-attention --split-input-file | FileCheck %s

!x = tensor<1x?x16xf32, #attn.shape<[1, seq, 16]>>
!s = tensor<1x?x?xf32, #attn.shape<[1, seq, seq]>>
!m = tensor<?x1x?xf32, #attn.shape<[batch, 1, seq]>>
!big = tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>
!c = tensor<?x?x16xf32, #attn.shape<[batch, seq, 16]>>

// CHECK: args = {operation = "'attn.add'", result = "[batch, seq, seq]", scores = "[1, seq, seq]"}{{[^{}]*}}name = "mask-enlarges-scores"
// CHECK-LABEL: func.func @mask_enlarges_the_scores(
// CHECK-NOT: attn.sdpa
func.func @mask_enlarges_the_scores(%q: !x, %k: !x, %v: !x, %m: !m) -> !c {
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %t = attn.add %s, %m : !s, !m
  %p = attn.softmax %t : !big
  %c = attn.matmul %p, %v : !big, !x
  return %c : !c
}

// -----

!x = tensor<?x?x16xf32, #attn.shape<[batch, seq, 16]>>
!s = tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>
!m = tensor<?x1x?xi1, #attn.shape<[batch, 1, seq]>>

// CHECK: args = {other = "another is added from argument 4", value = "-10000"}{{[^{}]*}}name = "finite-masked-value-beside-mask"
// CHECK-SAME: args = {value = "inf"}{{[^{}]*}}name = "mask-shows-hidden-scores"
// CHECK-LABEL: func.func @finite_value_behind_a_mask(
// CHECK-NOT: attn.sdpa
func.func @finite_value_behind_a_mask(%q: !x, %k: !x, %v: !x, %m: !m, %n: !s) -> !x {
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %t = attn.add %s, %n : !s
  %u = attn.mask %t, %m with -1.0e4 : !s, !m
  %p = attn.softmax %u : !s
  %c = attn.matmul %p, %v : !s, !x
  return %c : !x
}

// CHECK-LABEL: func.func @scale_turns_the_mask_round(
// CHECK-NOT: attn.sdpa
func.func @scale_turns_the_mask_round(%q: !x, %k: !x, %v: !x, %m: !m) -> !x {
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %u = attn.mask %s, %m with 0xFFF0000000000000 : !s, !m
  %t = attn.scale %u by -1.0 : !s
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !x
  return %c : !x
}

// -----

!x = tensor<?x?x16xf32, #attn.shape<[batch, seq, 16]>>
!s = tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>
!m = tensor<?x1x?xi1, #attn.shape<[batch, 1, seq]>>

// CHECK: args = {on_false = "argument 4", on_true = "'attn.matmul'", operation = "'attn.where'"}{{[^{}]*}}name = "masked-value-is-not-constant"
// CHECK-SAME: args = {offset = "1", operation = "'attn.scale'"}{{[^{}]*}}name = "scores-have-offset"
// CHECK-LABEL: func.func @masked_value_is_an_input(
// CHECK-NOT: attn.sdpa
func.func @masked_value_is_an_input(%q: !x, %k: !x, %v: !x, %m: !m, %n: !s) -> !x {
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %u = attn.where %m, %s, %n : !m, !s, !s
  %p = attn.softmax %u : !s
  %c = attn.matmul %p, %v : !s, !x
  return %c : !x
}

// CHECK-LABEL: func.func @scores_with_an_offset(
// CHECK-NOT: attn.sdpa
func.func @scores_with_an_offset(%q: !x, %k: !x, %v: !x) -> !x {
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %t = attn.scale %s by 0.5 {offset = 1.0 : f64} : !s
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !x
  return %c : !x
}

// -----

!x = tensor<?x16xf32, #attn.shape<[seq, 16]>>
!s = tensor<?x?xf32, #attn.shape<[seq, seq]>>
!w = tensor<?x4x?x?xf32, #attn.shape<[batch, 4, seq, width]>>
!sw = tensor<?x4x?x?xf32, #attn.shape<[batch, 4, seq, seq]>>

// CHECK: args = {operand = "query", rank = "2", sizes = "[seq, 16]"}{{[^{}]*}}name = "operand-rank-unsupported"
// CHECK-SAME: args = {head_size = "width", heads = "4", operand = "query"}{{[^{}]*}}name = "heads-are-symbolic"
// CHECK-LABEL: func.func @operands_without_a_batch(
// CHECK-NOT: attn.sdpa
func.func @operands_without_a_batch(%q: !x, %k: !x, %v: !x) -> !x {
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %p = attn.softmax %s : !s
  %c = attn.matmul %p, %v : !s, !x
  return %c : !x
}

// CHECK-LABEL: func.func @heads_of_symbolic_width(
// CHECK-NOT: attn.sdpa
func.func @heads_of_symbolic_width(%q: !w, %k: !w, %v: !w) -> !w {
  %s = attn.matmul %q, %k {transpose_rhs} : !w
  %p = attn.softmax %s : !sw
  %c = attn.matmul %p, %v : !sw, !w
  return %c : !w
}

// -----

!x = tensor<1x6x16xf32>
!s = tensor<1x6x6xf32>

// A triangle with one wrong entry, and one that hides with a finite value, stay masks.
// CHECK: args = {column = "3", difference = "shows a key after its query", entries = "36", mask = "'attn.constant'", row = "2", wrong = "1"}{{[^{}]*}}kind = "analysis"{{[^{}]*}}name = "mask-is-nearly-causal"
// CHECK-SAME: args = {mask = "'attn.constant'", value = "-10000"}{{[^{}]*}}kind = "analysis"{{[^{}]*}}name = "causal-mask-hides-with-number"
// CHECK-SAME: args = {column = "0", difference = "hides a key that is not after its query", entries = "36", mask = "'attn.constant'", row = "0", wrong = "6"}{{[^{}]*}}name = "mask-is-nearly-causal"
// CHECK-LABEL: func.func @one_entry_shows_the_next_key(
// CHECK: attn.sdpa {{.*}} <select>
func.func @one_entry_shows_the_next_key(%q: !x, %k: !x, %v: !x) -> !x {
  %m = attn.constant dense<[[[true, false, false, false, false, false], [true, true, false, false, false, false],
                             [true, true, true, true, false, false], [true, true, true, true, false, false],
                             [true, true, true, true, true, false], [true, true, true, true, true, true]]]> : tensor<1x6x6xi1>
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %t = attn.mask %s, %m with 0xFFF0000000000000 : !s, tensor<1x6x6xi1>
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !x
  return %c : !x
}

// CHECK-LABEL: func.func @causal_mask_of_a_number(
// CHECK: attn.sdpa {{.*}} <select> {mask_value = -1.000000e+04 : f64}
func.func @causal_mask_of_a_number(%q: !x, %k: !x, %v: !x) -> !x {
  %m = attn.constant dense<[[[true, false, false, false, false, false], [true, true, false, false, false, false],
                             [true, true, true, false, false, false], [true, true, true, true, false, false],
                             [true, true, true, true, true, false], [true, true, true, true, true, true]]]> : tensor<1x6x6xi1>
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %t = attn.mask %s, %m with -1.0e4 : !s, tensor<1x6x6xi1>
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !x
  return %c : !x
}

// CHECK-LABEL: func.func @hides_the_diagonal(
// CHECK: attn.sdpa {{.*}} <select>
func.func @hides_the_diagonal(%q: !x, %k: !x, %v: !x) -> !x {
  %m = attn.constant dense<[[[false, false, false, false, false, false], [true, false, false, false, false, false],
                             [true, true, false, false, false, false], [true, true, true, false, false, false],
                             [true, true, true, true, false, false], [true, true, true, true, true, false]]]> : tensor<1x6x6xi1>
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %t = attn.mask %s, %m with 0xFFF0000000000000 : !s, tensor<1x6x6xi1>
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !x
  return %c : !x
}

// Half the entries differ: not meant to be causal.
// CHECK-LABEL: func.func @shows_all(
// CHECK: attn.sdpa {{.*}} <select>
func.func @shows_all(%q: !x, %k: !x, %v: !x) -> !x {
  %m = attn.constant dense<true> : tensor<1x6x6xi1>
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %t = attn.mask %s, %m with 0xFFF0000000000000 : !s, tensor<1x6x6xi1>
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !x
  return %c : !x
}

// -----

!h = tensor<?x4x?x16xf32, #attn.shape<[batch, 4, seq, 16]>>
!s = tensor<?x4x?x?xf32, #attn.shape<[batch, 4, seq, seq]>>
!k = tensor<?x1x1x?xf32, #attn.shape<[batch, 1, 1, seq]>>
!m = tensor<?x1x1x?xi1, #attn.shape<[batch, 1, 1, seq]>>
!one = tensor<1xf32>

// A mask after the softmax: as a factor that is 0 or 1, made from a bool or 1 - x, by a select, by a mask
// with 0. A factor with arbitrary values, and a mask that hides with another value, are ordinary operations.
// CHECK: args = {mask = "'attn.cast'", operation = "'attn.mul'"}{{[^{}]*}}function = "masked_after_softmax"{{[^{}]*}}kind = "missed"{{[^{}]*}}name = "probabilities-are-masked"
// CHECK-SAME: args = {mask = "'attn.sub'", operation = "'attn.mul'"}{{[^{}]*}}function = "masked_by_inverse"{{[^{}]*}}name = "probabilities-are-masked"
// CHECK-SAME: args = {mask = "argument 3", operation = "'attn.where'"}{{[^{}]*}}function = "chosen_after_softmax"{{[^{}]*}}name = "probabilities-are-masked"
// CHECK-SAME: args = {mask = "argument 3", operation = "'attn.mask'"}{{[^{}]*}}function = "mask_with_zero"{{[^{}]*}}name = "probabilities-are-masked"
// CHECK-SAME: args = {operation = "'attn.mask'"}{{[^{}]*}}function = "mask_with_one"{{[^{}]*}}name = "operation-after-softmax"
// CHECK-SAME: args = {operation = "'attn.mul'"}{{[^{}]*}}function = "factor_is_data"{{[^{}]*}}name = "operation-after-softmax"
// CHECK-LABEL: func.func @masked_after_softmax(
// CHECK-NOT: attn.sdpa
func.func @masked_after_softmax(%q: !h, %k: !h, %v: !h, %m: !m) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %p = attn.softmax %s : !s
  %f = attn.cast %m to f32 : !m
  %r = attn.mul %p, %f : !s, !k
  %c = attn.matmul %r, %v : !s, !h
  return %c : !h
}
func.func @masked_by_inverse(%q: !h, %k: !h, %v: !h, %m: !m) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %p = attn.softmax %s : !s
  %f = attn.cast %m to f32 : !m
  %1 = attn.constant dense<1.0> : !one
  %i = attn.sub %1, %f : !one, !k
  %r = attn.mul %i, %p : !k, !s
  %c = attn.matmul %r, %v : !s, !h
  return %c : !h
}
func.func @chosen_after_softmax(%q: !h, %k: !h, %v: !h, %m: !m) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %p = attn.softmax %s : !s
  %0 = attn.constant dense<0.0> : !one
  %r = attn.where %m, %p, %0 : !m, !s, !one
  %c = attn.matmul %r, %v : !s, !h
  return %c : !h
}
func.func @mask_with_zero(%q: !h, %k: !h, %v: !h, %m: !m) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %p = attn.softmax %s : !s
  %r = attn.mask %p, %m with 0.0 : !s, !m
  %c = attn.matmul %r, %v : !s, !h
  return %c : !h
}
func.func @mask_with_one(%q: !h, %k: !h, %v: !h, %m: !m) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %p = attn.softmax %s : !s
  %r = attn.mask %p, %m with 1.0 : !s, !m
  %c = attn.matmul %r, %v : !s, !h
  return %c : !h
}
func.func @factor_is_data(%q: !h, %k: !h, %v: !h, %f: !k) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %p = attn.softmax %s : !s
  %r = attn.mul %p, %f : !s, !k
  %c = attn.matmul %r, %v : !s, !h
  return %c : !h
}

// -----

!h = tensor<?x4x?x16xf32, #attn.shape<[batch, 4, seq, 16]>>
!s = tensor<?x4x?x?xf32, #attn.shape<[batch, 4, seq, seq]>>
!k = tensor<?x1x1x?xi1, #attn.shape<[batch, 1, 1, seq]>>
!kf = tensor<?x1x1x?xf32, #attn.shape<[batch, 1, 1, seq]>>
!one = tensor<1xf32>
!four = tensor<1x4x1x1xf32>

// Near misses for masks computed from constants: a select whose values do not preserve any score, a select that heads broadcast,
// a difference that is not from a constant, an offset that stopped being a constant, one that shows nothing unchanged.
// CHECK-LABEL: func.func @chosen_numbers_other_than_zero(
// CHECK: attn.sdpa {{.*}} <additive>
func.func @chosen_numbers_other_than_zero(%q: !h, %k: !h, %v: !h, %m: !k) -> !h {
  %one = attn.constant dense<1.0> : !one
  %low = attn.constant dense<-3.0e38> : !one
  %a = attn.where %m, %one, %low : !k, !one, !one
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %t = attn.add %s, %a : !s, !kf
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// CHECK-LABEL: func.func @chosen_numbers_of_heads(
// CHECK: attn.sdpa {{.*}} <additive>
func.func @chosen_numbers_of_heads(%q: !h, %k: !h, %v: !h, %m: !k) -> !h {
  %zero = attn.constant dense<0.0> : !four
  %low = attn.constant dense<-3.0e38> : !one
  %a = attn.where %m, %zero, %low : !k, !four, !one
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %t = attn.add %s, %a : !s, tensor<?x4x1x?xf32, #attn.shape<[batch, 4, 1, seq]>>
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// CHECK-LABEL: func.func @difference_of_two_inputs(
// CHECK: attn.sdpa {{.*}} <additive>
func.func @difference_of_two_inputs(%q: !h, %k: !h, %v: !h, %m: !k, %x: !kf) -> !h {
  %low = attn.constant dense<-3.0e38> : !one
  %f = attn.cast %m to f32 : !k
  %d = attn.sub %x, %f : !kf
  %a = attn.mul %d, %low : !kf, !one
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %t = attn.add %s, %a : !s, !kf
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// CHECK-LABEL: func.func @scaled_input(
// CHECK: attn.sdpa {{.*}} <additive>
func.func @scaled_input(%q: !h, %k: !h, %v: !h, %x: !kf) -> !h {
  %a = attn.scale %x by -3.0e38 : !kf
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %t = attn.add %s, %a : !s, !kf
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// CHECK-LABEL: func.func @mask_spread_by_a_factor(
// CHECK: attn.sdpa {{.*}} <additive>
func.func @mask_spread_by_a_factor(%q: !h, %k: !h, %v: !h, %m: !k) -> !h {
  %low = attn.constant dense<-3.0e38> : !four
  %one = attn.constant dense<1.0> : !four
  %f = attn.cast %m to f32 : !k
  %d = attn.sub %one, %f : !four, !kf
  %a = attn.mul %d, %low : tensor<?x4x1x?xf32, #attn.shape<[batch, 4, 1, seq]>>, !four
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %t = attn.add %s, %a : !s, tensor<?x4x1x?xf32, #attn.shape<[batch, 4, 1, seq]>>
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// CHECK-LABEL: func.func @infinite_offset(
// CHECK: attn.sdpa {{.*}} <additive>
func.func @infinite_offset(%q: !h, %k: !h, %v: !h, %m: !k) -> !h {
  %f = attn.cast %m to f32 : !k
  %a = attn.scale %f by 0x7FF0000000000000 {offset = 0xFFF0000000000000 : f64} : !kf
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %t = attn.add %s, %a : !s, !kf
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// -----

!x = tensor<?x6x16xf32, #attn.shape<[batch, 6, 16]>>
!y = tensor<?x1x16xf32, #attn.shape<[batch, 1, 16]>>
!s = tensor<?x6x1xf32, #attn.shape<[batch, 6, 1]>>
!wide = tensor<?x6x6xf32, #attn.shape<[batch, 6, 6]>>

// A constant factor that multiplies one key for each query by six.
// CHECK: args = {factor = "'attn.constant'", operation = "'attn.mul'"}{{[^{}]*}}name = "scale-is-not-constant"
// CHECK-LABEL: func.func @factor_spreads_the_scores(
// CHECK-NOT: attn.sdpa
func.func @factor_spreads_the_scores(%q: !x, %k: !y, %v: !x) -> !x {
  %f = attn.constant dense<0.5> : tensor<1x6x6xf32>
  %s = attn.matmul %q, %k {transpose_rhs} : !x, !y
  %t = attn.mul %s, %f : !s, tensor<1x6x6xf32>
  %p = attn.softmax %t : !wide
  %c = attn.matmul %p, %v : !wide, !x
  return %c : !x
}

// -----

!x = tensor<?x?x16xf32, #attn.shape<[batch, seq, 16]>>
!s = tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>
!m = tensor<?x1x?xi1, #attn.shape<[batch, 1, seq]>>
!f = tensor<?x1x?xf32, #attn.shape<[batch, 1, seq]>>

// A finite value next to another one, and next to minus infinity; a probability factor that is computed from a mask but may be arbitrary.
// CHECK: args = {other = "another hides with -20000", value = "-10000"}{{[^{}]*}}name = "finite-masked-value-beside-mask"
// CHECK-SAME: args = {other = "another hides with minus infinity", value = "-10000"}{{[^{}]*}}name = "finite-masked-value-beside-mask"
// CHECK-SAME: args = {operation = "'attn.mul'"}{{[^{}]*}}name = "operation-after-softmax"
// CHECK-LABEL: func.func @two_finite_values(
// CHECK-NOT: attn.sdpa
func.func @two_finite_values(%q: !x, %k: !x, %v: !x, %m: !m, %n: !m) -> !x {
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %t = attn.mask %s, %m with -1.0e4 : !s, !m
  %u = attn.mask %t, %n with -2.0e4 : !s, !m
  %p = attn.softmax %u : !s
  %c = attn.matmul %p, %v : !s, !x
  return %c : !x
}

// CHECK-LABEL: func.func @finite_value_beside_infinity(
// CHECK-NOT: attn.sdpa
func.func @finite_value_beside_infinity(%q: !x, %k: !x, %v: !x, %m: !m, %n: !m) -> !x {
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %t = attn.mask %s, %m with -1.0e4 : !s, !m
  %u = attn.mask %t, %n with 0xFFF0000000000000 : !s, !m
  %p = attn.softmax %u : !s
  %c = attn.matmul %p, %v : !s, !x
  return %c : !x
}

// CHECK-LABEL: func.func @factor_from_a_mask(
// CHECK-NOT: attn.sdpa
func.func @factor_from_a_mask(%q: !x, %k: !x, %v: !x, %m: !m) -> !x {
  %f = attn.cast %m to f32 : !m
  %e = attn.activation <exp> %f : !f
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %p = attn.softmax %s : !s
  %r = attn.mul %p, %e : !s, !f
  %c = attn.matmul %r, %v : !s, !x
  return %c : !x
}

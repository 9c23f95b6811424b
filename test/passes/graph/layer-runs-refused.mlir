// RUN: transom-opt %s --attn-outline-layers --split-input-file | FileCheck %s

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>
attn.weight @a0 : !w = #weight.expr<file("a0")>
attn.weight @a1 : !w = #weight.expr<file("a1")>
attn.weight @a2 : !w = #weight.expr<file("a2")>

// CHECK: args = {operation = "'attn.linear'", other = {{"[^"]*"}}, value = {{"[^"]*"}}}{{[^{}]*}}function = "layers_with_two_tensors"{{[^{}]*}}name = "layers-carry-several-tensors"
// CHECK-LABEL: func.func @layers_that_differ(
// CHECK-NOT: attn.layers
func.func @layers_that_differ(%x: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.activation <relu> %1 : !x
  %3 = attn.linear %2, %w1 : !x, !w
  %4 = attn.activation <gelu> %3 : !x
  return %4 : !x
}

// A skip over a layer is a second tensor.
// CHECK-LABEL: func.func @layers_with_two_tensors(
// CHECK-NOT: attn.layers
func.func @layers_with_two_tensors(%x: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %w2 = attn.get_weight @a2 : !w
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.add %1, %x : !x
  %3 = attn.linear %2, %w1 : !x, !w
  %4 = attn.add %3, %1 : !x
  %5 = attn.linear %4, %w2 : !x, !w
  %6 = attn.add %5, %3 : !x
  return %6 : !x
}

// -----

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>
attn.weight @a0 : !w = #weight.expr<file("a0")>
attn.weight @a1 : !w = #weight.expr<file("a1")>
attn.weight @a2 : !w = #weight.expr<file("a2")>
attn.weight @a3 : !w = #weight.expr<file("a3")>

// The second state is a result, so the layers before it and after it are
// separate runs, each with its own body: a body's buffers have their location
// in one arena, at one time.
// CHECK: args = {operation = "'func.return'", value = "'attn.activation <relu>'"}{{[^{}]*}}name = "layer-result-is-read"
// CHECK-LABEL: func.func @states_that_are_results(
// CHECK: %[[A:.*]] = attn.layers %{{.*}} [@[[FIRST:.*]](@a0), @[[FIRST]](@a1)]
// CHECK: %[[B:.*]] = attn.layers %[[A]] [@[[SECOND:.*]](@a2), @[[SECOND]](@a3)]
// CHECK: return %[[A]], %[[B]]
// CHECK-DAG: func.func private @[[FIRST]](
// CHECK-DAG: func.func private @[[SECOND]](
func.func @states_that_are_results(%x: !x) -> (!x, !x) {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %w2 = attn.get_weight @a2 : !w
  %w3 = attn.get_weight @a3 : !w
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.activation <relu> %1 : !x
  %3 = attn.linear %2, %w1 : !x, !w
  %4 = attn.activation <relu> %3 : !x
  %5 = attn.linear %4, %w2 : !x, !w
  %6 = attn.activation <relu> %5 : !x
  %7 = attn.linear %6, %w3 : !x, !w
  %8 = attn.activation <relu> %7 : !x
  return %4, %8 : !x, !x
}

// -----

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>
attn.weight @a0 : !w = #weight.expr<file("a0")>
attn.weight @a1 : !w = #weight.expr<file("a1")>

// CHECK: args = {operation = "'func.return'", value = "'attn.linear'"}, category = "attn-outline-layers"{{[^{}]*}}name = "inside-of-layer-is-read"
// CHECK-LABEL: func.func @insides_that_are_results(
// CHECK-NOT: attn.layers
func.func @insides_that_are_results(%x: !x) -> (!x, !x) {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.activation <relu> %1 : !x
  %3 = attn.linear %2, %w1 : !x, !w
  %4 = attn.activation <relu> %3 : !x
  return %1, %4 : !x, !x
}

// Equal operations without weights are no layers.
// CHECK-LABEL: func.func @groups_without_weights(
// CHECK-NOT: attn.layers
func.func @groups_without_weights(%x: !x) -> !x {
  %1 = attn.activation <relu> %x : !x
  %2 = attn.activation <relu> %1 : !x
  return %2 : !x
}

// -----

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>
attn.weight @a0 : !w = #weight.expr<file("a0")>
attn.weight @a1 : !w = #weight.expr<file("a1")>
attn.weight @a2 : !w = #weight.expr<file("a2")>

// CHECK: args = {groups = "2", operations = "1"}{{[^{}]*}}function = "parallel_branches"{{[^{}]*}}name = "groups-carry-no-tensor"
// CHECK-SAME: args = {operation = "'attn.add'", other = "argument 1", value = "argument 2"}{{[^{}]*}}function = "layers_of_other_summands"{{[^{}]*}}name = "layers-differ"
// CHECK-SAME: args = {operation = "'attn.linear'", value = "'attn.activation <relu>'"}{{[^{}]*}}function = "third_layer_reads_the_first"{{[^{}]*}}name = "layer-result-is-read"
// CHECK-LABEL: func.func @parallel_branches(
// CHECK-NOT: attn.layers
func.func @parallel_branches(%x: !x) -> (!x, !x) {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.linear %x, %w1 : !x, !w
  return %1, %2 : !x, !x
}

// CHECK-LABEL: func.func @layers_of_other_summands(
// CHECK-NOT: attn.layers
func.func @layers_of_other_summands(%x: !x, %a: !x, %b: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.add %1, %a : !x
  %3 = attn.linear %2, %w1 : !x, !w
  %4 = attn.add %3, %b : !x
  return %4 : !x
}

// CHECK-LABEL: func.func @third_layer_reads_the_first(
// CHECK-NOT: attn.layers
func.func @third_layer_reads_the_first(%x: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %w2 = attn.get_weight @a2 : !w
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.activation <relu> %1 : !x
  %3 = attn.linear %2, %w1 : !x, !w
  %4 = attn.activation <relu> %3 : !x
  %5 = attn.linear %2, %w2 : !x, !w
  %6 = attn.activation <relu> %5 : !x
  %7 = attn.add %6, %4 : !x
  return %7 : !x
}

// -----

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>
attn.weight @a0 : !w = #weight.expr<file("a0")>
attn.weight @a1 : !w = #weight.expr<file("a1")>
attn.weight @a2 : !w = #weight.expr<file("a2")>

// The first group differs from the others, which are a run: no reason to report.
// CHECK-NOT: layers-differ
// CHECK-LABEL: func.func @first_of_three_differs(
// CHECK: attn.layers %{{.*}} [@layer(@a1), @layer(@a2)]
func.func @first_of_three_differs(%x: !x, %a: !x, %b: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %w2 = attn.get_weight @a2 : !w
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.add %1, %a : !x
  %3 = attn.linear %2, %w1 : !x, !w
  %4 = attn.add %3, %b : !x
  %5 = attn.linear %4, %w2 : !x, !w
  %6 = attn.add %5, %b : !x
  return %6 : !x
}

// -----

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>
attn.weight @a0 : !w = #weight.expr<file("a0")>
attn.weight @a1 : !w = #weight.expr<file("a1")>
attn.weight @a2 : !w = #weight.expr<file("a2")>

// One equal layer after the run.
// CHECK: args = {operation = "'func.return'", value = "'attn.activation <relu>'"}{{[^{}]*}}name = "layer-result-is-read"
// CHECK-LABEL: func.func @last_layer_alone(
// CHECK: attn.layers %{{.*}} [@layer(@a0), @layer(@a1)]
// CHECK: attn.linear
func.func @last_layer_alone(%x: !x) -> (!x, !x) {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %w2 = attn.get_weight @a2 : !w
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.activation <relu> %1 : !x
  %3 = attn.linear %2, %w1 : !x, !w
  %4 = attn.activation <relu> %3 : !x
  %5 = attn.linear %4, %w2 : !x, !w
  %6 = attn.activation <relu> %5 : !x
  return %4, %6 : !x, !x
}

// -----

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>
attn.weight @a0 : !w = #weight.expr<file("a0")>
attn.weight @a1 : !w = #weight.expr<file("a1")>

// Groups that are equal except for the value that the second reads twice: its own result
// or the previous one; two values or the same one; the state, twice, and another value.
// CHECK: args = {operation = "'attn.add'", other = "'attn.linear'", value = "'attn.add'"}{{[^{}]*}}function = "own_result_twice"{{[^{}]*}}name = "layers-differ"
// CHECK-SAME: args = {operation = "'attn.add'", other = "argument 1", value = "'attn.add'"}{{[^{}]*}}function = "two_states"{{[^{}]*}}name = "layers-differ"
// CHECK-SAME: args = {operation = "'attn.add'", other = "argument 1", value = "argument 2"}{{[^{}]*}}function = "state_twice"{{[^{}]*}}name = "layers-differ"
// CHECK-SAME: args = {operation = "'attn.add'", value = "'attn.linear'"}{{[^{}]*}}function = "inside_is_read_next"{{[^{}]*}}name = "inside-of-layer-is-read"
// CHECK-LABEL: func.func @own_result_twice(
// CHECK-NOT: attn.layers
func.func @own_result_twice(%x: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.add %1, %1 : !x
  %3 = attn.linear %2, %w1 : !x, !w
  %4 = attn.add %3, %2 : !x
  return %4 : !x
}

// CHECK-LABEL: func.func @own_second_result_twice(
// CHECK-NOT: attn.layers
func.func @own_second_result_twice() -> !x {
  %c = attn.constant dense<1.0> : !x
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %1 = attn.linear %c, %w0 : !x, !w
  %2 = attn.activation <relu> %1 : !x
  %3 = attn.add %2, %2 : !x
  %4 = attn.linear %c, %w1 : !x, !w
  %5 = attn.activation <relu> %4 : !x
  %6 = attn.add %5, %3 : !x
  return %6 : !x
}

// CHECK-LABEL: func.func @two_states(
// CHECK-NOT: attn.layers
func.func @two_states(%x: !x, %y: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.add %1, %y : !x
  %3 = attn.linear %2, %w1 : !x, !w
  %4 = attn.add %3, %2 : !x
  return %4 : !x
}

// CHECK-LABEL: func.func @state_twice(
// CHECK-NOT: attn.layers
func.func @state_twice(%x: !x, %a: !x, %b: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.add %1, %x : !x
  %3 = attn.add %2, %a : !x
  %4 = attn.linear %3, %w1 : !x, !w
  %5 = attn.add %4, %3 : !x
  %6 = attn.add %5, %b : !x
  return %6 : !x
}

// The operation after the layers reads a value inside the last layer.
// CHECK-LABEL: func.func @inside_is_read_next(
// CHECK-NOT: attn.layers
func.func @inside_is_read_next(%x: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.activation <relu> %1 : !x
  %3 = attn.linear %2, %w1 : !x, !w
  %4 = attn.activation <relu> %3 : !x
  %5 = attn.add %4, %3 : !x
  return %5 : !x
}

// -----

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>
!n = tensor<8xf32>
attn.weight @a0 : !w = #weight.expr<file("a0")>
attn.weight @a1 : !w = #weight.expr<file("a1")>
attn.weight @n0 : !n = #weight.expr<file("n0")>
attn.weight @n1 : !n = #weight.expr<file("n1")>
attn.weight @n2 : !n = #weight.expr<file("n2")>

// Candidates one directly after the other: each has its reason.
// CHECK: operation = "'attn.add'"{{[^{}]*}}}{{[^{}]*}}function = "two_candidates"{{[^{}]*}}name = "layers-differ"
// CHECK-SAME: operation = "'attn.mul'"{{[^{}]*}}}{{[^{}]*}}function = "two_candidates"{{[^{}]*}}name = "layers-differ"
// CHECK-SAME: operation = "'attn.mul'"{{[^{}]*}}}{{[^{}]*}}function = "longer_candidate_after"{{[^{}]*}}name = "layers-differ"
// CHECK-SAME: operation = "'attn.add'"{{[^{}]*}}}{{[^{}]*}}function = "longer_candidate_after"{{[^{}]*}}name = "layers-differ"
// CHECK-LABEL: func.func @two_candidates(
// CHECK-NOT: attn.layers
func.func @two_candidates(%x: !x, %a: !x, %b: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %n0 = attn.get_weight @n0 : !n
  %n1 = attn.get_weight @n1 : !n
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.add %1, %a : !x
  %3 = attn.linear %2, %w1 : !x, !w
  %4 = attn.add %3, %b : !x
  %5 = attn.rms_norm %4, %n0 eps 1.0e-5 : !x, !n
  %6 = attn.mul %5, %a : !x
  %7 = attn.rms_norm %6, %n1 eps 1.0e-5 : !x, !n
  %8 = attn.mul %7, %b : !x
  return %8 : !x
}

func.func @longer_candidate_after(%x: !x, %a: !x, %b: !x, %c: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %n0 = attn.get_weight @n0 : !n
  %n1 = attn.get_weight @n1 : !n
  %n2 = attn.get_weight @n2 : !n
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.add %1, %a : !x
  %3 = attn.linear %2, %w1 : !x, !w
  %4 = attn.add %3, %b : !x
  %5 = attn.rms_norm %4, %n0 eps 1.0e-5 : !x, !n
  %6 = attn.mul %5, %a : !x
  %7 = attn.rms_norm %6, %n1 eps 1.0e-5 : !x, !n
  %8 = attn.mul %7, %b : !x
  %9 = attn.rms_norm %8, %n2 eps 1.0e-5 : !x, !n
  %10 = attn.mul %9, %c : !x
  return %10 : !x
}

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
// runs of their own, each with a body of its own: a body's buffers have their
// location in one arena, at one time.
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

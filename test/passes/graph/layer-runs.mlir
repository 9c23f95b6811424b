// RUN: transom-opt %s --attn-outline-layers --split-input-file | FileCheck %s

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>
attn.weight @a0 : !w = #weight.expr<file("a0")>
attn.weight @a1 : !w = #weight.expr<file("a1")>
attn.weight @a2 : !w = #weight.expr<file("a2")>
attn.weight @a3 : !w = #weight.expr<file("a3")>
attn.weight @a4 : !w = #weight.expr<file("a4")>

// Layers with one operation.
// CHECK-LABEL: func.func @one_operation_each(
// CHECK: attn.layers %{{.*}} [@[[L:.*]](@a0), @[[L]](@a1), @[[L]](@a2)]
func.func @one_operation_each(%x: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %w2 = attn.get_weight @a2 : !w
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.linear %1, %w1 : !x, !w
  %3 = attn.linear %2, %w2 : !x, !w
  return %3 : !x
}

// A shorter run directly after a longer one, and before it.
// CHECK-LABEL: func.func @shorter_run_after(
// CHECK: %[[A:.*]] = attn.layers %{{.*}} [@[[L:.*]](@a0), @[[L]](@a1), @[[L]](@a2)]
// CHECK: attn.layers %[[A]] [@[[M:.*]](@a3), @[[M]](@a4)]
func.func @shorter_run_after(%x: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %w2 = attn.get_weight @a2 : !w
  %w3 = attn.get_weight @a3 : !w
  %w4 = attn.get_weight @a4 : !w
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.activation <relu> %1 : !x
  %3 = attn.linear %2, %w1 : !x, !w
  %4 = attn.activation <relu> %3 : !x
  %5 = attn.linear %4, %w2 : !x, !w
  %6 = attn.activation <relu> %5 : !x
  %7 = attn.activation <gelu> %6 : !x
  %8 = attn.linear %7, %w3 : !x, !w
  %9 = attn.activation <gelu> %8 : !x
  %10 = attn.linear %9, %w4 : !x, !w
  return %10 : !x
}

// CHECK-LABEL: func.func @shorter_run_before(
// CHECK: %[[A:.*]] = attn.layers %{{.*}} [@[[L:.*]](@a0), @[[L]](@a1)]
// CHECK: attn.layers %[[A]] [@[[M:.*]](@a2), @[[M]](@a3), @[[M]](@a4)]
func.func @shorter_run_before(%x: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %w2 = attn.get_weight @a2 : !w
  %w3 = attn.get_weight @a3 : !w
  %w4 = attn.get_weight @a4 : !w
  %1 = attn.linear %x, %w0 : !x, !w
  %2 = attn.activation <gelu> %1 : !x
  %3 = attn.linear %2, %w1 : !x, !w
  %4 = attn.activation <gelu> %3 : !x
  %5 = attn.activation <relu> %4 : !x
  %6 = attn.linear %5, %w2 : !x, !w
  %7 = attn.activation <relu> %6 : !x
  %8 = attn.linear %7, %w3 : !x, !w
  %9 = attn.activation <relu> %8 : !x
  %10 = attn.linear %9, %w4 : !x, !w
  return %10 : !x
}

// -----

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>
attn.weight @a0 : !w = #weight.expr<file("a0")>
attn.weight @a1 : !w = #weight.expr<file("a1")>
attn.weight @a2 : !w = #weight.expr<file("a2")>

// A group whose operations have one layer number is a layer, even if there is one more group that begins elsewhere.
// CHECK-LABEL: func.func @one_number_each(
// CHECK: attn.linear
// CHECK: attn.layers %{{.*}} [@layer(@a1), @layer(@a2)]
// CHECK: func.func private @layer(
// CHECK-NEXT: attn.activation <relu>
func.func @one_number_each(%x: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %w2 = attn.get_weight @a2 : !w
  %1 = attn.linear %x, %w0 : !x, !w loc("l.0")
  %2 = attn.activation <relu> %1 : !x loc("l.0")
  %3 = attn.activation <gelu> %2 : !x loc("l.0")
  %4 = attn.linear %3, %w1 : !x, !w loc("l.1")
  %5 = attn.activation <relu> %4 : !x loc("l.2")
  %6 = attn.activation <gelu> %5 : !x loc("l.2")
  %7 = attn.linear %6, %w2 : !x, !w loc("l.2")
  %8 = attn.activation <relu> %7 : !x loc("l.3")
  %9 = attn.activation <gelu> %8 : !x loc("l.3")
  return %9 : !x
}

// -----

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>
attn.weight @a0 : !w = #weight.expr<file("a0")>
attn.weight @a1 : !w = #weight.expr<file("a1")>
attn.weight @a2 : !w = #weight.expr<file("a2")>

// If no group has one layer number, a layer begins where a number begins, the later the better.
// CHECK-LABEL: func.func @begin_of_a_number(
// CHECK: attn.linear
// CHECK: attn.activation <relu>
// CHECK: attn.layers %{{.*}} [@layer(@a1), @layer(@a2)]
// CHECK: func.func private @layer(
// CHECK-NEXT: attn.activation <gelu>
func.func @begin_of_a_number(%x: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %w2 = attn.get_weight @a2 : !w
  %1 = attn.linear %x, %w0 : !x, !w loc("l.0")
  %2 = attn.activation <relu> %1 : !x loc("l.0")
  %3 = attn.activation <gelu> %2 : !x loc("l.0")
  %4 = attn.linear %3, %w1 : !x, !w loc("l.0")
  %5 = attn.activation <relu> %4 : !x loc("l.1")
  %6 = attn.activation <gelu> %5 : !x loc("l.2")
  %7 = attn.linear %6, %w2 : !x, !w loc("l.3")
  %8 = attn.activation <relu> %7 : !x loc("l.3")
  %9 = attn.activation <gelu> %8 : !x loc("l.3")
  return %9 : !x
}

// -----

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>
attn.weight @a0 : !w = #weight.expr<file("a0")>
attn.weight @a1 : !w = #weight.expr<file("a1")>
attn.weight @a2 : !w = #weight.expr<file("a2")>
attn.weight @a3 : !w = #weight.expr<file("a3")>

// The first layer stays one, although only later layers have one number each.
// CHECK-LABEL: func.func @first_layer_of_two_numbers(
// CHECK: attn.layers %{{.*}} [@layer(@a0), @layer(@a1), @layer(@a2), @layer(@a3)]
func.func @first_layer_of_two_numbers(%x: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %w1 = attn.get_weight @a1 : !w
  %w2 = attn.get_weight @a2 : !w
  %w3 = attn.get_weight @a3 : !w
  %1 = attn.linear %x, %w0 : !x, !w loc("l.0")
  %2 = attn.activation <relu> %1 : !x loc("l.0")
  %3 = attn.linear %2, %w1 : !x, !w loc("l.1")
  %4 = attn.activation <relu> %3 : !x loc("l.2")
  %5 = attn.linear %4, %w2 : !x, !w loc("l.3")
  %6 = attn.activation <relu> %5 : !x loc("l.3")
  %7 = attn.linear %6, %w3 : !x, !w loc("l.4")
  %8 = attn.activation <relu> %7 : !x loc("l.4")
  return %8 : !x
}

// RUN: transom-opt %s --attn-summarize-logits | FileCheck %s

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!ids = tensor<?xi64, #attn.shape<[rows]>>
!seg = !attn.ragged<rows, keys>
!logits = tensor<?x130xf32, #attn.shape<[rows, 130]>>
attn.weight @table : [130, 8] f32 = #weight.expr<file("t")>

// CHECK: args = {entry = "step", vocabulary = "130"}{{[^{}]*}}name = "logits-summarized"
// CHECK-SAME: args = {entry = "states", results = "'last_hidden_state' [rows, 8]", vocabulary = "130"}{{[^{}]*}}kind = "missed"{{[^{}]*}}name = "logits-not-summarized"
// CHECK-SAME: args = {entry = "labels", results = "'logits' [rows, 8]", vocabulary = "130"}{{[^{}]*}}name = "logits-not-summarized"
// CHECK-LABEL: func.func @step(
// CHECK-SAME: -> (!rows_130_float {attn.name = "logits"}, !rows_3_float {attn.name = "maxima"}, !rows_3_float {attn.name = "sums"})
// CHECK: %[[L:[0-9]+]] = attn.linear
// CHECK-NEXT: %[[S:.*]]:2 = attn.row_summary %[[L]] : [rows, 130] f32
// CHECK-NEXT: return %[[L]], %[[S]]#0, %[[S]]#1
func.func @step(%tokens: !ids {attn.name = "tokens"}) -> (!logits {attn.name = "logits"}) attributes {transom.vocabulary = 130 : i64} {
  %s = attn.decode_batch : !seg
  %w = attn.get_weight @table : [130, 8] f32
  %x = attn.embedding %tokens, %w : !ids, [130, 8] f32
  %y = attn.linear %x, %w : !x, [130, 8] f32
  return %y : !logits
}

// Hidden states are not summarized, nor are label logits.
// CHECK-LABEL: func.func @states(
// CHECK-NOT: attn.row_summary
// CHECK: return
func.func @states(%tokens: !ids {attn.name = "tokens"}) -> (!x {attn.name = "last_hidden_state"}) attributes {transom.vocabulary = 130 : i64} {
  %s = attn.decode_batch : !seg
  %w = attn.get_weight @table : [130, 8] f32
  %x = attn.embedding %tokens, %w : !ids, [130, 8] f32
  return %x : !x
}

// CHECK-LABEL: func.func @labels(
// CHECK-NOT: attn.row_summary
// CHECK: return
func.func @labels(%tokens: !ids {attn.name = "tokens"}) -> (!x {attn.name = "logits"}) attributes {transom.vocabulary = 130 : i64} {
  %s = attn.decode_batch : !seg
  %w = attn.get_weight @table : [130, 8] f32
  %x = attn.embedding %tokens, %w : !ids, [130, 8] f32
  return %x : !x
}

// Logits with another result.
// CHECK-LABEL: func.func @two_results(
// CHECK-NOT: attn.row_summary
// CHECK: return
func.func @two_results(%tokens: !ids {attn.name = "tokens"}) -> (!logits {attn.name = "logits"}, !x {attn.name = "states"}) attributes {transom.vocabulary = 130 : i64} {
  %s = attn.decode_batch : !seg
  %w = attn.get_weight @table : [130, 8] f32
  %x = attn.embedding %tokens, %w : !ids, [130, 8] f32
  %y = attn.linear %x, %w : !x, [130, 8] f32
  return %y, %x : !logits, !x
}

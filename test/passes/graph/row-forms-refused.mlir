// RUN: transom-opt %s --attn-remove-padding --split-input-file | FileCheck %s

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!seen = tensor<?x?x1xi1, #attn.shape<[batch, seq, 1]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>

// CHECK: reason = "entry 'attention_without_a_mask' stays rectangular: 'attn.sdpa': attention has no mask"
// CHECK-LABEL: func.func @attention_without_a_mask(
// CHECK-NOT: attn.ragged_batch
// CHECK: %[[A:.*]] = attn.sdpa
// CHECK: attn.mask %[[A]]
func.func @attention_without_a_mask(%x: !x, %m: !mask {attn.role = "mask"}) -> !x {
  %a = attn.sdpa %x, %x, %x heads 4 kv_heads 4 scale 0.25 <none> : !x
  %seen = attn.reshape %m to <[batch, seq, 1]> : !mask
  %z = attn.mask %a, %seen with 0.0 : !x, !seen
  return %z : !x
}

// -----

!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>

// Without a mask argument nothing is padding.
// CHECK-NOT: attn.remarks
// CHECK-LABEL: func.func @leaves_entries_without_a_mask(
// CHECK-NEXT: %[[A:.*]] = attn.sdpa
// CHECK-NEXT: return %[[A]]
func.func @leaves_entries_without_a_mask(%x: !x) -> !x {
  %a = attn.sdpa %x, %x, %x heads 4 kv_heads 4 scale 0.25 <none> : !x
  return %a : !x
}

// -----

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!s = tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>

// CHECK: 'attn.matmul': a product mixes positions
// CHECK-LABEL: func.func @attention_that_was_not_fused(
// CHECK-NOT: attn.ragged_batch
func.func @attention_that_was_not_fused(%x: !x, %m: !mask {attn.role = "mask"}) -> !x {
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %p = attn.softmax %s : !s
  %c = attn.matmul %p, %x : !s, !x
  return %c : !x
}

// -----

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!out = tensor<?x64xf32, #attn.shape<[batch, 64]>>

// A mask of another argument says nothing about the rows.
// CHECK: 'attn.sdpa': attention has a mask of other origin
// CHECK-LABEL: func.func @mask_of_other_origin(
// CHECK-NOT: attn.ragged_batch
func.func @mask_of_other_origin(%x: !x, %other: !mask, %m: !mask {attn.role = "mask"}) -> !out {
  %a = attn.sdpa %x, %x, %x mask(%other : !mask) heads 4 kv_heads 4 scale 0.25 <keys> : !x
  %f = attn.pool <first> %a : !x
  return %f : !out
}

// -----

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>

// CHECK: 'attn.sdpa': attention has a finite masked value
// CHECK-LABEL: func.func @masked_values_that_are_data(
// CHECK-NOT: attn.ragged_batch
func.func @masked_values_that_are_data(%x: !x, %m: !mask {attn.role = "mask"}) -> !x {
  %a = attn.sdpa %x, %x, %x mask(%m : !mask) heads 4 kv_heads 4 scale 0.25 <keys> {mask_value = -1.0e4 : f64} : !x
  return %a : !x
}

// -----

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!out = tensor<?x64xf32, #attn.shape<[batch, 64]>>
!one = tensor<?x1x64xf32, #attn.shape<[batch, 1, 64]>>

// CHECK: 'attn.sdpa': attention is causal, and column 0 is read
// CHECK-LABEL: func.func @causal_attention_with_a_first_column(
// CHECK-NOT: attn.ragged_batch
func.func @causal_attention_with_a_first_column(%x: !x, %m: !mask {attn.role = "mask"}) -> !out {
  %a = attn.sdpa %x, %x, %x mask(%m : !mask) heads 4 kv_heads 4 scale 0.25 <keys> {causal} : !x
  %f = attn.pool <first> %a : !x
  return %f : !out
}

// CHECK-LABEL: func.func @one_value_a_sequence(
// CHECK-NOT: attn.ragged_batch
func.func @one_value_a_sequence(%x: !x, %b: !one, %m: !mask {attn.role = "mask"}) -> !x {
  %a = attn.add %x, %b : !x, !one
  return %a : !x
}

// -----

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!out = tensor<?x64xf32, #attn.shape<[batch, 64]>>

// CHECK: it pools padding too, without the mask
// CHECK-LABEL: func.func @pools_padding_too(
func.func @pools_padding_too(%x: !x, %m: !mask {attn.role = "mask"}) -> !out {
  %f = attn.pool <mean> %x : !x
  return %f : !out
}

// -----

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!flat = tensor<?x64xf32, #attn.shape<[batch*seq, 64]>>

// CHECK: 'attn.reshape': it moves or merges batch or length
// CHECK-LABEL: func.func @merges_batch_and_length(
func.func @merges_batch_and_length(%x: !x, %m: !mask {attn.role = "mask"}) -> !x {
  %f = attn.reshape %x to <[batch*seq, 64]> : !x
  %y = attn.reshape %f to <[batch, seq, 64]> : !flat
  return %y : !x
}

// CHECK-LABEL: func.func @several_masks(
// CHECK-NOT: attn.ragged_batch
func.func @several_masks(%x: !x, %m: !mask {attn.role = "mask"}, %n: !mask {attn.role = "mask"}) -> !x {
  return %x : !x
}

// -----

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>

// CHECK: 'attn.activation': a result keeps its values at padding
// CHECK-LABEL: func.func @results_at_padding(
// CHECK-NOT: attn.ragged_batch
func.func @results_at_padding(%x: !x, %m: !mask {attn.role = "mask"}) -> !x {
  %y = attn.activation <relu> %x : !x
  return %y : !x
}

// -----

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!seen = tensor<?x?x1xi1, #attn.shape<[batch, seq, 1]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>

// CHECK: 'attn.sdpa': a bias of attention depends on the length
// CHECK-LABEL: func.func @slopes_of_the_length(
// CHECK-NOT: attn.ragged_batch
// CHECK: attn.sdpa
func.func @slopes_of_the_length(%x: !x, %m: !mask {attn.role = "mask"}) -> !x {
  %p = attn.pool <mean> %x : !x
  %f = attn.slice %p axis 0 from 0 size 1 : [batch, 64] f32
  %g = attn.slice %f axis 1 from 0 size 4 : [1, 64] f32
  %s = attn.reshape %g to <[4]> : [1, 4] f32
  %a = attn.sdpa %x, %x, %x mask(%m : !mask) slopes(%s : [4] f32) heads 4 kv_heads 4 scale 0.25 <keys> : !x
  %seen = attn.reshape %m to <[batch, seq, 1]> : !mask
  %z = attn.mask %a, %seen with 0.0 : !x, !seen
  return %z : !x
}

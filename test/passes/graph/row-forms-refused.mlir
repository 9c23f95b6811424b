// RUN: transom-opt %s --attn-remove-padding --split-input-file | FileCheck %s

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!seen = tensor<?x?x1xi1, #attn.shape<[batch, seq, 1]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>

// CHECK: args = {entry = "attention_without_a_mask", operation = "'attn.sdpa'"}, category = "attn-remove-padding", function = "attention_without_a_mask", kind = "missed", name = "attention-has-no-mask"
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
// CHECK: attn.remarks = [{args = {entry = "leaves_entries_without_a_mask"}{{[^{}]*}}kind = "analysis", name = "entry-has-no-mask"}]
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

// CHECK: args = {argument = "visible", attentions = "2", entry = "mask_without_its_role", sizes = "[batch, seq]"}, category = "attn-remove-padding", function = "mask_without_its_role", kind = "missed", name = "mask-is-not-marked"
// CHECK-LABEL: func.func @mask_without_its_role(
// CHECK-NOT: attn.ragged_batch
// CHECK: return
func.func @mask_without_its_role(%x: !x, %m: !mask {attn.name = "visible"}) -> !x {
  %a = attn.sdpa %x, %x, %x mask(%m : !mask) heads 4 kv_heads 4 scale 0.25 <keys> : !x
  %b = attn.sdpa %a, %a, %a mask(%m : !mask) heads 4 kv_heads 4 scale 0.25 <keys> : !x
  return %b : !x
}

// -----

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!s = tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>

// CHECK: operation = "'attn.matmul'"{{[^{}]*}}}{{[^{}]*}}name = "product-mixes-positions"
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

// A mask from another argument does not describe the rows.
// CHECK: mask = "argument 1", operation = "'attn.sdpa'"{{[^{}]*}}}{{[^{}]*}}name = "attention-mask-of-other-origin"
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

// CHECK: operation = "'attn.sdpa'", value = "-10000"{{[^{}]*}}}{{[^{}]*}}name = "finite-masked-value"
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

// CHECK: operation = "'attn.sdpa'", reader = "'attn.pool <first>'"{{[^{}]*}}}{{[^{}]*}}name = "first-column-of-causal-attention"
// CHECK-SAME: operand = "[batch, 1, 64]", operation = "'attn.add'", sizes = "[batch, seq, 64]"{{[^{}]*}}}{{[^{}]*}}name = "spreads-value-of-sequence"
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

// CHECK: name = "pools-padding"
// CHECK-LABEL: func.func @pools_padding_too(
func.func @pools_padding_too(%x: !x, %m: !mask {attn.role = "mask"}) -> !out {
  %f = attn.pool <mean> %x : !x
  return %f : !out
}

// -----

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!flat = tensor<?x64xf32, #attn.shape<[batch*seq, 64]>>

// CHECK: operand = "[batch, seq, 64]", operation = "'attn.reshape'", sizes = "[batch*seq, 64]"{{[^{}]*}}}{{[^{}]*}}name = "moves-batch-or-length"
// CHECK-SAME: args = {entry = "several_masks", masks = "2"}{{[^{}]*}}name = "several-masks"
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

// CHECK: operation = "'attn.activation <relu>'"{{[^{}]*}}}{{[^{}]*}}name = "result-keeps-padding"
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

// CHECK: bias = "'attn.reshape'"{{.*}}operation = "'attn.sdpa'"{{[^{}]*}}}{{[^{}]*}}name = "bias-depends-on-length"
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

// -----

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!z = tensor<?x64x?xf32, #attn.shape<[batch, 64, seq]>>
!one = tensor<?x64xf32, #attn.shape<[batch, 64]>>

// CHECK: args = {entry = "results_without_rows"}{{[^{}]*}}name = "nothing-works-on-rows"
// CHECK-SAME: args = {argument = "argument 0", entry = "length_at_the_end", sizes = "[batch, 64, seq]"}{{[^{}]*}}name = "argument-has-length-elsewhere"
// CHECK-LABEL: func.func @results_without_rows(
func.func @results_without_rows(%x: !one, %m: !mask {attn.role = "mask"}) -> !one {
  %y = attn.activation <relu> %x : !one
  return %y : !one
}

// CHECK-LABEL: func.func @length_at_the_end(
// CHECK-NOT: attn.ragged_batch
func.func @length_at_the_end(%x: !z, %m: !mask {attn.role = "mask"}) -> !z {
  %y = attn.activation <relu> %x : !z
  return %y : !z
}

// -----

!mask = tensor<2x8xi1>
!x = tensor<2x8x64xf32>

// CHECK: args = {entry = "fixed_length", sizes = "[2, 8]"}{{[^{}]*}}name = "mask-length-is-not-a-symbol"
// CHECK-LABEL: func.func @fixed_length(
// CHECK-NOT: attn.ragged_batch
func.func @fixed_length(%x: !x, %m: !mask {attn.role = "mask"}) -> !x {
  %y = attn.activation <relu> %x : !x
  return %y : !x
}

// -----

!mask = tensor<?x?xi1, #attn.shape<[2*seq, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[2*seq, seq, 64]>>

// CHECK: args = {entry = "batch_of_the_length", sizes = "[2*seq, seq]"}{{[^{}]*}}name = "mask-batch-depends-on-length"
// CHECK-LABEL: func.func @batch_of_the_length(
// CHECK-NOT: attn.ragged_batch
func.func @batch_of_the_length(%x: !x, %m: !mask {attn.role = "mask"}) -> !x {
  %y = attn.activation <relu> %x : !x
  return %y : !x
}

// -----

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!t = tensor<100x64xf32>
!cut = tensor<?x64xf32, #attn.shape<[seq, 64]>>
!line = tensor<?xf32, #attn.shape<[64*seq]>>
attn.weight @table : !t = #weight.expr<file("t")>

// CHECK: operation = "'attn.slice'"}{{[^{}]*}}name = "table-is-a-result"
// CHECK-SAME: args = {entry = "table_from_the_middle", operation = "'attn.slice'", start = "2"}{{[^{}]*}}name = "table-is-cut-inside"
// CHECK-SAME: operand = "[seq, 64]", operation = "'attn.reshape'", sizes = "[64*seq]"{{[^{}]*}}}{{[^{}]*}}name = "reshapes-table"
// CHECK-LABEL: func.func @table_as_a_result(
func.func @table_as_a_result(%x: !x, %m: !mask {attn.role = "mask"}) -> !cut {
  %w = attn.get_weight @table : !t
  %c = attn.slice %w axis 0 from 0 size seq : !t
  return %c : !cut
}

func.func @table_from_the_middle(%x: !x, %m: !mask {attn.role = "mask"}) -> !x {
  %w = attn.get_weight @table : !t
  %c = attn.slice %w axis 0 from 2 size seq : !t
  %r = attn.reshape %c to <[1, seq, 64]> : !cut
  %y = attn.add %x, %r : !x, [1, seq, 64] f32
  return %y : !x
}

func.func @table_of_other_sizes(%x: !x, %m: !mask {attn.role = "mask"}) -> !line {
  %w = attn.get_weight @table : !t
  %c = attn.slice %w axis 0 from 0 size seq : !t
  %r = attn.reshape %c to <[64*seq]> : !cut
  return %r : !line
}

// -----

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!n = tensor<?x?xf32, #attn.shape<[batch, seq]>>
!two = tensor<?x?x64xf32, #attn.shape<[batch, 2*seq, 64]>>
!half = tensor<?x3x64xf32, #attn.shape<[batch, 3, 64]>>
!out = tensor<?x64xf32, #attn.shape<[batch, 64]>>

// CHECK: operation = "'attn.softmax'", sizes = "[batch, seq]"{{[^{}]*}}}{{[^{}]*}}name = "works-along-length"
// CHECK-SAME: operand = "[batch, seq, 64]", operation = "'attn.concat'", sizes = "[batch, 2*seq, 64]"{{[^{}]*}}}{{[^{}]*}}name = "joins-batch-or-length"
// CHECK-SAME: operand = "[batch, seq, 64]", operation = "'attn.slice'", sizes = "[batch, 3, 64]"{{[^{}]*}}}{{[^{}]*}}name = "cuts-batch-or-length"
// CHECK-SAME: mask = "argument 1", operation = "'attn.pool <mean>'"{{[^{}]*}}}{{[^{}]*}}name = "pool-mask-of-other-origin"
// CHECK-SAME: mask = "argument 1", operation = "'attn.sdpa'"{{[^{}]*}}}{{[^{}]*}}name = "attention-adds-mask"
// CHECK-SAME: operation = "'attn.sdpa'", reader = "'attn.pool <first>'"{{[^{}]*}}}{{[^{}]*}}name = "first-column-of-masked-queries"
// CHECK-LABEL: func.func @softmax_over_positions(
func.func @softmax_over_positions(%x: !n, %m: !mask {attn.role = "mask"}) -> !n {
  %y = attn.softmax %x : !n
  return %y : !n
}

func.func @twice_as_long(%x: !x, %m: !mask {attn.role = "mask"}) -> !two {
  %y = attn.concat %x, %x axis 1 : !x, !x
  return %y : !two
}

func.func @first_three(%x: !x, %m: !mask {attn.role = "mask"}) -> !half {
  %y = attn.slice %x axis 1 from 0 size 3 : !x
  return %y : !half
}

func.func @pools_by_another_mask(%x: !x, %other: !mask, %m: !mask {attn.role = "mask"}) -> !out {
  %f = attn.pool <mean> %x mask(%other : !mask) : !x
  return %f : !out
}

func.func @adds_a_mask(%x: !x, %a: tensor<?x4x?x?xf32, #attn.shape<[batch, 4, seq, seq]>>, %m: !mask {attn.role = "mask"}) -> !out {
  %y = attn.sdpa %x, %x, %x mask(%a : [batch, 4, seq, seq] f32) heads 4 kv_heads 4 scale 0.25 <additive> : !x
  %f = attn.pool <first> %y : !x
  return %f : !out
}

func.func @masked_queries(%x: !x, %m: !mask {attn.role = "mask"}) -> !out {
  %k = attn.reshape %m to <[batch, 1, 1, seq]> : !mask
  %q = attn.reshape %m to <[batch, 1, seq, 1]> : !mask
  %b = attn.and %k, %q : [batch, 1, 1, seq] i1, [batch, 1, seq, 1] i1
  %y = attn.sdpa %x, %x, %x mask(%b : [batch, 1, seq, seq] i1) heads 4 kv_heads 4 scale 0.25 <select> : !x
  %f = attn.pool <first> %y : !x
  return %f : !out
}

// -----

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!w = tensor<64x64xf32>
!memory = tensor<?x4x64xf32, #attn.shape<[batch, 4, 64]>>
!wide = tensor<2x?x?x64xf32, #attn.shape<[2, batch, seq, 64]>>
!four = tensor<4x?xf32, #attn.shape<[4, seq]>>
!cut = tensor<?x64xf32, #attn.shape<[seq, 64]>>
!rows = tensor<?x3x?x64xf32, #attn.shape<[batch, 3, seq, 64]>>
attn.weight @w : !w = #weight.expr<file("w")>
attn.weight @v : !w = #weight.expr<file("v")>
attn.weight @four : tensor<4x64xf32> = #weight.expr<file("four")>
attn.weight @t : tensor<100x64xf32> = #weight.expr<file("t")>
attn.weight @two : tensor<2x1x1x64xf32> = #weight.expr<file("two")>

// CHECK: args = {entry = "cuts_columns_of_a_weight", operation = "'attn.slice'", sizes = "[4, seq]"}{{[^{}]*}}name = "length-from-no-argument"
// CHECK-SAME: args = {entry = "layers_are_outlined_already", operation = "'attn.layers'"}{{[^{}]*}}name = "unknown-on-rows"
// CHECK-SAME: args = {entry = "transposes_a_table", operation = "'attn.transpose'", sizes = "[seq, 64]"}{{[^{}]*}}name = "input-has-no-rows"
// CHECK-SAME: operation = "'attn.add'", sizes = "[2, batch, seq, 64]"{{[^{}]*}}}{{[^{}]*}}name = "result-has-no-rows"
// CHECK-SAME: args = {entry = "keys_of_a_memory", operand = "argument 1", operation = "'attn.sdpa'"}{{[^{}]*}}name = "keys-of-other-length"
// CHECK-SAME: operation = "'attn.gather'"{{[^{}]*}}}{{[^{}]*}}name = "lookup-table-depends-on-length"
// CHECK-LABEL: func.func @cuts_columns_of_a_weight(
func.func @cuts_columns_of_a_weight(%m: !mask {attn.role = "mask"}) -> !four {
  %w = attn.get_weight @four : [4, 64] f32
  %c = attn.slice %w axis 1 from 0 size seq : [4, 64] f32
  return %c : !four
}

func.func @layers_are_outlined_already(%x: !x, %m: !mask {attn.role = "mask"}) -> !x {
  %y = attn.layers %x [@layer(@w), @layer(@v)] : !x
  return %y : !x
}

func.func private @layer(%x: !x, %w: !w) -> !x {
  %y = attn.linear %x, %w : !x, !w
  return %y : !x
}

func.func @transposes_a_table(%m: !mask {attn.role = "mask"}) -> !cut {
  %w = attn.get_weight @t : [100, 64] f32
  %c = attn.slice %w axis 0 from 0 size seq : [100, 64] f32
  %y = attn.transpose %c [0, 1] : [seq, 64] f32
  return %y : !cut
}

func.func @adds_an_axis_in_front(%x: !x, %m: !mask {attn.role = "mask"}) -> !wide {
  %two = attn.get_weight @two : [2, 1, 1, 64] f32
  %y = attn.add %x, %two : !x, [2, 1, 1, 64] f32
  return %y : !wide
}

func.func @keys_of_a_memory(%x: !x, %memory: !memory, %m: !mask {attn.role = "mask"}) -> !x {
  %y = attn.sdpa %x, %memory, %memory heads 4 kv_heads 4 scale 0.25 <none> : !x, !memory, !memory
  return %y : !x
}

func.func @gathers_from_rows(%x: !x, %i: tensor<?x3xi64, #attn.shape<[batch, 3]>>, %m: !mask {attn.role = "mask"}) -> !rows {
  %y = attn.gather %x, %i : !x, [batch, 3] i64
  return %y : !rows
}

// -----

!mask = tensor<1x?xi1, #attn.shape<[1, seq]>>
!x = tensor<1x?x8xf32, #attn.shape<[1, seq, 8]>>
!joined = tensor<1x?x16xf32, #attn.shape<[1, seq, 16]>>
!found = tensor<?x8x8xf32, #attn.shape<[seq, 8, 8]>>
attn.weight @t : tensor<100x8xf32> = #weight.expr<file("t")>
attn.weight @i : tensor<100x8xi64> = #weight.expr<file("i")>

// CHECK: args = {entry = "rope_table_of_a_weight", operation = "'attn.rope'", sizes = "[1, seq, 8]"}{{[^{}]*}}name = "rope-table-has-no-rows"
// CHECK-SAME: args = {entry = "joins_a_table", operand = "[1, seq, 8]", operation = "'attn.concat'", sizes = "[1, seq, 16]"}{{[^{}]*}}name = "joins-rows-with-others"
// CHECK-SAME: args = {entry = "indices_of_a_table", {{.*}}operation = "'attn.gather'"{{[^{}]*}}}{{[^{}]*}}name = "indices-have-no-rows"
// CHECK-LABEL: func.func @rope_table_of_a_weight(
func.func @rope_table_of_a_weight(%x: !x, %m: !mask {attn.role = "mask"}) -> !x {
  %w = attn.get_weight @t : [100, 8] f32
  %c = attn.slice %w axis 0 from 0 size seq : [100, 8] f32
  %r = attn.reshape %c to <[1, seq, 8]> : [seq, 8] f32
  %y = attn.rope %x, %r heads 1 : !x, !x
  return %y : !x
}

func.func @joins_a_table(%x: !x, %m: !mask {attn.role = "mask"}) -> !joined {
  %w = attn.get_weight @t : [100, 8] f32
  %c = attn.slice %w axis 0 from 0 size seq : [100, 8] f32
  %r = attn.reshape %c to <[1, seq, 8]> : [seq, 8] f32
  %y = attn.concat %x, %r axis 2 : !x, !x
  return %y : !joined
}

func.func @indices_of_a_table(%m: !mask {attn.role = "mask"}) -> !found {
  %t = attn.get_weight @t : [100, 8] f32
  %w = attn.get_weight @i : [100, 8] i64
  %c = attn.slice %w axis 0 from 0 size seq : [100, 8] i64
  %y = attn.gather %t, %c : [100, 8] f32, [seq, 8] i64
  return %y : !found
}

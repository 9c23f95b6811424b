// RUN: transom-opt %s --attn-remove-padding | FileCheck %s

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!ids = tensor<?xi64, #attn.shape<[rows]>>
!seg = !attn.ragged<rows, keys>
!cache = !attn.cache<heads 1, key 8, value 8>
attn.weight @table : [9, 8] f32 = #weight.expr<file("t")>
attn.cache @c : !cache

// A step has its own rows and no mask: there is nothing to do and no remark.
// CHECK-NOT: attn.remarks
// CHECK-LABEL: func.func @step(
// CHECK: attn.decode_batch
// CHECK-NOT: attn.gather_rows
// CHECK: return
func.func @step(%tokens: !ids {attn.name = "tokens"}) -> !x {
  %s = attn.decode_batch : !seg
  %w = attn.get_weight @table : [9, 8] f32
  %x = attn.embedding %tokens, %w : !ids, [9, 8] f32
  %c = attn.get_cache @c : !cache
  %a = attn.sdpa %x, %x, %x ragged(%s : !seg) cache(%c : !cache) heads 1 kv_heads 1 scale 1.0 <ragged> {causal} : !x
  return %a : !x
}

!states = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!mask = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!cross = !attn.cache<heads 1, key 8, value 8, read_only 96>
attn.cache @cross : !cross

// An entry that makes rows itself stays as it is.
// CHECK-LABEL: func.func @source(
// CHECK-NEXT: attn.ragged_batch
// CHECK-NEXT: attn.gather_rows
// CHECK-NEXT: attn.get_cache
// CHECK-NEXT: attn.append
// CHECK-NEXT: return
func.func @source(%states: !states {attn.name = "states"}, %mask: !mask {attn.name = "attention_mask", attn.role = "mask"}) {
  %s = attn.ragged_batch %mask : !mask -> <rows, keys>
  %x = attn.gather_rows %states, %s : !states, <rows, keys>
  %c = attn.get_cache @cross : !cross
  %y = attn.append %x, %x, %x ragged(%s : !seg) cache(%c : !cross) : !x
  return
}

// RUN: transom-opt %s --attn-add-attention-entry | FileCheck %s

module attributes {transom.attention, attn.symbols = {batch = {max = -1 : i64}, seq = {max = 24 : i64}}} {
  attn.weight @table : [9, 16] f32 = #weight.expr<file("table")>

  // The original stays as it is.
  // CHECK: args = {entry = "encode"}{{[^{}]*}}name = "attention-entry-added"
  // CHECK-SAME: attn.symbols = {attention_batch = {max = 4 : i64}, attention_seq = {max = 24 : i64},
  // The first 24 * 24 elements from rows with 25 that begin with a one.
  // CHECK: attn.weight @unit_vectors_of_1_heads : [24, 24] f32 = #weight.expr<concat(1, reshape(slice(reshape(pad(fill([24, 1], 1.0), 1, 25), [600]), 0, 0, 576), [24, 24]))>
  // CHECK-LABEL: func.func @encode(
  // CHECK-COUNT-1: attn.sdpa
  // CHECK-NOT: attn.sdpa
  // CHECK: return {{%[a-z0-9_]+}} : !

  // CHECK-LABEL: func.func @attention(
  // CHECK-SAME: attn.name = "attentions.0"
  // CHECK-SAME: transom.kind = "run"
  // CHECK: [[R:%.*]] = attn.ragged_batch
  // CHECK: [[P:%.*]] = attn.position <column>
  // CHECK: attn.sdpa [[Q:%.*]], [[K:%.*]], [[V:%.*]] ragged([[R]]
  // CHECK: [[U:%.*]] = attn.get_weight @unit_vectors_of_1_heads
  // CHECK: [[E:%.*]] = attn.embedding [[P]], [[U]]
  // CHECK: [[W:%.*]] = attn.sdpa [[Q]], [[K]], [[E]] ragged([[R]]
  // CHECK-SAME: heads 2 kv_heads 1 scale 5.000000e-01 <ragged> {window = 3 : i64}
  // CHECK: [[S:%.*]] = attn.scatter_rows [[W]], [[R]] to attention_batch x attention_seq
  // CHECK: [[H:%.*]] = attn.reshape [[S]] to <[attention_batch, attention_seq, 2, 24]>
  // CHECK: [[C:%.*]] = attn.slice [[H]] axis 3 from 0 size attention_seq
  // CHECK: [[T:%.*]] = attn.transpose [[C]] [0, 2, 1, 3]
  // CHECK: return {{%[a-z0-9_]+}}, [[T]]
  func.func @encode(%ids: tensor<?x?xi64, #attn.shape<[batch, seq]>> {attn.name = "input_ids", attn.role = "ids"},
                    %mask: tensor<?x?xi64, #attn.shape<[batch, seq]>> {attn.name = "attention_mask", attn.role = "mask"})
      -> (tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>> {attn.name = "last_hidden_state"}) {
    %ragged = attn.ragged_batch %mask : [batch, seq] i64 -> <rows, keys>
    %rows = attn.gather_rows %ids, %ragged : [batch, seq] i64, <rows, keys>
    %table = attn.get_weight @table : [9, 16] f32
    %x = attn.embedding %rows, %table : [rows] i64, [9, 16] f32
    %q = attn.slice %x axis 1 from 0 size 8 : [rows, 16] f32
    %k = attn.slice %x axis 1 from 8 size 4 : [rows, 16] f32
    %v = attn.slice %x axis 1 from 12 size 4 : [rows, 16] f32
    %y = attn.sdpa %q, %k, %v ragged(%ragged : <rows, keys>) heads 2 kv_heads 1 scale 0.5 <ragged> {window = 3 : i64}
        : [rows, 8] f32, [rows, 4] f32, [rows, 4] f32
    %z = attn.scatter_rows %y, %ragged to batch x seq : [rows, 8] f32, <rows, keys>
    return %z : tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
  }
}

// RUN: transom-opt %s --attn-add-attention-entry | FileCheck %s

module attributes {transom.attention, attn.symbols = {batch = {max = -1 : i64}, keys = {max = -1 : i64}, rows = {max = -1 : i64},
    seq = {max = 24 : i64}, wanted = {max = -1 : i64}}} {
  attn.cache @self : !attn.cache<heads 1, key 4, value 4>
  attn.cache @cross : !attn.cache<heads 1, key 4, value 4, read_only 24>
  attn.weight @table : [9, 16] f32 = #weight.expr<file("table")>

  // The originals stay as they are.
  // CHECK: attention_batch = {max = 4 : i64}, attention_seq = {max = 24 : i64}, attention_target = {max = 40 : i64}
  // The longer one has a unit vector for each token.
  // CHECK: attn.weight @unit_vectors_of_1_heads : [40, 40] f32
  // CHECK-LABEL: func.func @encode(
  // CHECK-LABEL: func.func @source(
  // CHECK: attn.append
  // CHECK-LABEL: func.func @step(
  // CHECK: attn.cross_sdpa

  // CHECK-LABEL: func.func @attention(
  // CHECK-SAME: attn.name = "input_ids"
  // CHECK-SAME: attn.name = "attention_mask"
  // CHECK-SAME: attn.bound = 9
  // CHECK-SAME: attn.name = "decoder_input_ids"
  // CHECK-SAME: attn.name = "logits"
  // CHECK-SAME: attn.name = "encoder_attentions.0"
  // CHECK-SAME: attn.name = "decoder_attentions.0"
  // CHECK-SAME: attn.name = "cross_attentions.0"
  // CHECK-NOT: transom.encoder
  // CHECK-NOT: attn.decode_batch
  // CHECK-NOT: attn.get_cache
  // CHECK-NOT: attn.append
  // CHECK: [[R:%.*]] = attn.ragged_batch %arg1 : [attention_batch, attention_seq] i64 -> <rows1, keys1>
  // CHECK: <none> {causal}
  // CHECK: <none> {causal}
  // CHECK: [[Q:%[0-9]+]] = attn.reshape {{%.*}} to <[attention_batch, attention_target, 8]>
  // CHECK: attn.sdpa [[Q]], [[K:%[0-9]+]], {{%.*}} ragged([[R]] : <rows1, keys1>) heads 2 kv_heads 1 scale 5.000000e-01 <ragged>
  // CHECK: [[U:%[0-9]+]] = attn.embedding
  // CHECK: attn.sdpa [[Q]], [[K]], [[U]] ragged([[R]] : <rows1, keys1>) heads 2 kv_heads 1
  // CHECK: [[C:%[0-9]+]] = attn.slice {{%.*}} axis 3 from 0 size attention_seq
  // CHECK: [[T:%[0-9]+]] = attn.transpose [[C]] [0, 2, 1, 3]
  // CHECK-NOT: attn.gather
  // CHECK: return {{%.*}}, {{%.*}}, {{%.*}}, [[T]] :
  func.func @encode(%ids: tensor<?x?xi64, #attn.shape<[batch, seq]>> {attn.name = "input_ids", attn.role = "ids"},
                    %mask: tensor<?x?xi64, #attn.shape<[batch, seq]>> {attn.name = "attention_mask", attn.role = "mask"})
      -> (tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>> {attn.name = "last_hidden_state"}) {
    %ragged = attn.ragged_batch %mask : [batch, seq] i64 -> <rows2, keys2>
    %rows = attn.gather_rows %ids, %ragged : [batch, seq] i64, <rows2, keys2>
    %table = attn.get_weight @table : [9, 16] f32
    %x = attn.embedding %rows, %table : [rows2] i64, [9, 16] f32
    %q = attn.slice %x axis 1 from 0 size 8 : [rows2, 16] f32
    %k = attn.slice %x axis 1 from 8 size 4 : [rows2, 16] f32
    %v = attn.slice %x axis 1 from 12 size 4 : [rows2, 16] f32
    %y = attn.sdpa %q, %k, %v ragged(%ragged : <rows2, keys2>) heads 2 kv_heads 1 scale 0.5 <ragged>
        : [rows2, 8] f32, [rows2, 4] f32, [rows2, 4] f32
    %z = attn.scatter_rows %y, %ragged to batch x seq : [rows2, 8] f32, <rows2, keys2>
    return %z : tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
  }
  func.func @source(%states: tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>> {attn.name = "encoder_hidden_states", attn.role = "data"},
                    %mask: tensor<?x?xi64, #attn.shape<[batch, seq]>> {attn.name = "attention_mask", attn.role = "mask"})
      attributes {transom.encoder = "encode", transom.kind = "source"} {
    %ragged = attn.ragged_batch %mask : [batch, seq] i64 -> <rows1, keys1>
    %x = attn.gather_rows %states, %ragged : [batch, seq, 8] f32, <rows1, keys1>
    %cache = attn.get_cache @cross : !attn.cache<heads 1, key 4, value 4, read_only 24>
    %k = attn.slice %x axis 1 from 0 size 4 : [rows1, 8] f32
    %v = attn.slice %x axis 1 from 4 size 4 : [rows1, 8] f32
    %s = attn.append %x, %k, %v ragged(%ragged : <rows1, keys1>) cache(%cache : !attn.cache<heads 1, key 4, value 4, read_only 24>)
        : [rows1, 8] f32, [rows1, 4] f32, [rows1, 4] f32
    return
  }
  func.func @step(%tokens: tensor<?xi64, #attn.shape<[rows]>> {attn.bound = 9 : i64, attn.name = "tokens", attn.role = "ids"},
                  %wanted: tensor<?xi64, #attn.shape<[wanted]>> {attn.name = "wanted", attn.role = "data"})
      -> (tensor<?x8xf32, #attn.shape<[wanted, 8]>> {attn.name = "logits"})
      attributes {transom.context = 40 : i64, transom.vocabulary = 9 : i64} {
    %ragged = attn.decode_batch : !attn.ragged<rows, keys>
    %self = attn.get_cache @self : !attn.cache<heads 1, key 4, value 4>
    %cross = attn.get_cache @cross : !attn.cache<heads 1, key 4, value 4, read_only 24>
    %table = attn.get_weight @table : [9, 16] f32
    %x = attn.embedding %tokens, %table : [rows] i64, [9, 16] f32
    %q = attn.slice %x axis 1 from 0 size 8 : [rows, 16] f32
    %k = attn.slice %x axis 1 from 8 size 4 : [rows, 16] f32
    %v = attn.slice %x axis 1 from 12 size 4 : [rows, 16] f32
    %y = attn.sdpa %q, %k, %v ragged(%ragged : <rows, keys>) cache(%self : !attn.cache<heads 1, key 4, value 4>)
        heads 2 kv_heads 1 scale 0.5 <ragged> {causal} : [rows, 8] f32, [rows, 4] f32, [rows, 4] f32
    %c = attn.cross_sdpa %y ragged(%ragged : <rows, keys>)
        cache(%cross : !attn.cache<heads 1, key 4, value 4, read_only 24>) heads 2 scale 0.5 : [rows, 8] f32
    %z = attn.gather %c, %wanted : [rows, 8] f32, [wanted] i64
    return %z : tensor<?x8xf32, #attn.shape<[wanted, 8]>>
  }
}

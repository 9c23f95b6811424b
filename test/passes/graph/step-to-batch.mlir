// RUN: transom-opt %s --attn-add-attention-entry | FileCheck %s

module attributes {transom.attention, attn.symbols = {keys = {max = -1 : i64}, rows = {max = -1 : i64}, wanted = {max = -1 : i64}}} {
  attn.cache @cache : !attn.cache<heads 1, key 4, value 4>
  attn.weight @table : [9, 16] f32 = #weight.expr<file("table")>
  attn.weight @positions : [40, 16] f32 = #weight.expr<file("positions")>

  // CHECK: attention_seq = {max = 40 : i64}
  // CHECK-LABEL: func.func @step(
  // CHECK: cache(
  // CHECK-LABEL: func.func @attention(
  // CHECK-SAME: attn.bound = 9
  // CHECK-SAME: attn.name = "input_ids"
  // CHECK-SAME: attn.name = "logits"
  // CHECK-SAME: attn.name = "attentions.0"
  // CHECK-NOT: attn.decode_batch
  // CHECK-NOT: attn.get_cache
  // CHECK: [[ROWS:%.*]] = attn.reshape %arg0 to <[attention_batch*attention_seq]>
  // CHECK: attn.position <column> %arg0 : [attention_batch, attention_seq] i64
  // CHECK: [[Q:%.*]] = attn.reshape {{%.*}} to <[attention_batch, attention_seq, 8]>
  // CHECK: [[Y:%.*]] = attn.sdpa [[Q]], {{.*}} heads 2 kv_heads 1 scale 5.000000e-01 <none> {causal, soft_cap = 3.000000e+00 : f64}
  // CHECK: attn.sdpa [[Q]], {{.*}} <none> {causal, soft_cap = 3.000000e+00 : f64}
  // CHECK-NOT: attn.gather
  // CHECK: return [[Y]], {{%.*}} :
  func.func @step(%tokens: tensor<?xi64, #attn.shape<[rows]>> {attn.bound = 9 : i64, attn.name = "tokens", attn.role = "ids"},
                  %wanted: tensor<?xi64, #attn.shape<[wanted]>> {attn.name = "wanted", attn.role = "data"})
      -> (tensor<?x8xf32, #attn.shape<[wanted, 8]>> {attn.name = "logits"})
      attributes {transom.context = 40 : i64, transom.vocabulary = 9 : i64} {
    %ragged = attn.decode_batch : !attn.ragged<rows, keys>
    %cache = attn.get_cache @cache : !attn.cache<heads 1, key 4, value 4>
    %table = attn.get_weight @table : [9, 16] f32
    %positions = attn.get_weight @positions : [40, 16] f32
    %p = attn.position <column> %tokens ragged(%ragged : <rows, keys>) : [rows] i64
    %a = attn.embedding %tokens, %table : [rows] i64, [9, 16] f32
    %b = attn.embedding %p, %positions : [rows] i64, [40, 16] f32
    %x = attn.add %a, %b : [rows, 16] f32
    %q = attn.slice %x axis 1 from 0 size 8 : [rows, 16] f32
    %k = attn.slice %x axis 1 from 8 size 4 : [rows, 16] f32
    %v = attn.slice %x axis 1 from 12 size 4 : [rows, 16] f32
    %y = attn.sdpa %q, %k, %v ragged(%ragged : <rows, keys>) cache(%cache : !attn.cache<heads 1, key 4, value 4>)
        heads 2 kv_heads 1 scale 0.5 <ragged> {causal, soft_cap = 3.0 : f64} : [rows, 8] f32, [rows, 4] f32, [rows, 4] f32
    %z = attn.gather %y, %wanted : [rows, 8] f32, [wanted] i64
    return %z : tensor<?x8xf32, #attn.shape<[wanted, 8]>>
  }
}

// RUN: transom-opt %s --attn-add-attention-entry --split-input-file | FileCheck %s

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>

// CHECK: args = {arguments = "argument 'x' [batch, seq, 8]", entry = "encode"}, category = "attn-add-attention-entry", function = "encode", kind = "missed"{{[^{}]*}}name = "attention-entry-without-ids"
// CHECK-LABEL: func.func @encode(
// CHECK-NOT: @attention
module attributes {transom.attention} {
  func.func @encode(%x: !x {attn.name = "x"}) -> !x {
    %y = attn.sdpa %x, %x, %x heads 2 kv_heads 2 scale 0.5 <none> : [batch, seq, 8] f32, [batch, seq, 8] f32, [batch, seq, 8] f32
    return %y : !x
  }
}

// -----

!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>

// CHECK: args = {attentions = "0", entry = "encode"}{{[^{}]*}}name = "attention-entry-without-attention"
// CHECK-LABEL: func.func @encode(
// CHECK-NOT: @attention
module attributes {transom.attention} {
  func.func @encode(%ids: !ids {attn.role = "ids"}, %x: !x) -> !x {
    return %x : !x
  }
}

// -----

!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!few = tensor<?x4x8xf32, #attn.shape<[batch, 4, 8]>>

// One attention over tokens, and one from four queries to them.
// CHECK: args = {attention = "'attn.sdpa'", key = "argument 1", query = "argument 2"}{{[^{}]*}}name = "attention-weights-left-out"
// CHECK-SAME: name = "attention-entry-added"
// CHECK-LABEL: func.func @attention(
// CHECK-SAME: attn.name = "attentions.0"
// CHECK-NOT: attn.name = "attentions.1"
module attributes {transom.attention} {
  func.func @encode(%ids: !ids {attn.role = "ids"}, %x: !x, %few: !few) -> (!x, !few) {
    %y = attn.sdpa %x, %x, %x heads 2 kv_heads 2 scale 0.5 <none> : [batch, seq, 8] f32, [batch, seq, 8] f32, [batch, seq, 8] f32
    %z = attn.sdpa %few, %x, %x heads 2 kv_heads 2 scale 0.5 <none> : [batch, 4, 8] f32, [batch, seq, 8] f32, [batch, seq, 8] f32
    return %y, %z : !x, !few
  }
}

// -----

!ids = tensor<?xi64, #attn.shape<[rows]>>
!q = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!k = tensor<?x4xf32, #attn.shape<[rows, 4]>>

// A step that returns states for all tokens, one without attention, and one
// that attends to a source without an encoder.
// CHECK: args = {arguments = "1", entry = "states", readers = "'attn.sdpa'"}{{[^{}]*}}name = "attention-entry-of-other-step"
// CHECK-SAME: args = {attentions = "0", entry = "table"}{{[^{}]*}}name = "attention-entry-without-attention"
// CHECK-SAME: args = {entry = "translate"}{{[^{}]*}}name = "attention-entry-without-source"
// CHECK-LABEL: func.func @states(
// CHECK-NOT: @attention
module attributes {transom.attention} {
  attn.cache @cache : !attn.cache<heads 1, key 4, value 4>
  attn.cache @cross : !attn.cache<heads 1, key 4, value 4, read_only 24>
  func.func @states(%x: !q) -> !q {
    %ragged = attn.decode_batch : !attn.ragged<rows, keys>
    %cache = attn.get_cache @cache : !attn.cache<heads 1, key 4, value 4>
    %k = attn.slice %x axis 1 from 0 size 4 : [rows, 8] f32
    %y = attn.sdpa %x, %k, %k ragged(%ragged : <rows, keys>) cache(%cache : !attn.cache<heads 1, key 4, value 4>)
        heads 2 kv_heads 1 scale 0.5 <ragged> {causal} : [rows, 8] f32, [rows, 4] f32, [rows, 4] f32
    return %y : !q
  }
  func.func @table(%tokens: !ids) -> !ids {
    %ragged = attn.decode_batch : !attn.ragged<rows, keys>
    %p = attn.position <column> %tokens ragged(%ragged : <rows, keys>) : [rows] i64
    return %p : !ids
  }
  func.func @translate(%x: !q) -> !q {
    %ragged = attn.decode_batch : !attn.ragged<rows, keys>
    %cache = attn.get_cache @cross : !attn.cache<heads 1, key 4, value 4, read_only 24>
    %y = attn.cross_sdpa %x ragged(%ragged : <rows, keys>) cache(%cache : !attn.cache<heads 1, key 4, value 4, read_only 24>) heads 2 scale 0.5 : [rows, 8] f32
    return %y : !q
  }
}

// -----

!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>

// A length without a limit, as zero says, too.
// CHECK: attention_seq = {max = 512 : i64}
// CHECK-LABEL: func.func @attention(
module attributes {transom.attention, attn.symbols = {batch = {max = -1 : i64}, seq = {max = 0 : i64}}} {
  func.func @encode(%ids: !ids {attn.role = "ids"}, %x: !x) -> !x {
    %y = attn.sdpa %x, %x, %x heads 2 kv_heads 2 scale 0.5 <none> : !x
    return %y : !x
  }
}

// -----

!ids = tensor<?xi64, #attn.shape<[rows]>>
!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!wanted = tensor<?xi64, #attn.shape<[wanted]>>
!cache = !attn.cache<heads 2, key 4, value 4>


// CHECK: attention_seq = {max = 512 : i64}
// CHECK-LABEL: func.func @attention(
module attributes {transom.attention} {
  attn.cache @cache : !cache
  attn.weight @table : [9, 8] f32 = #weight.expr<file("table")>
  func.func @step(%tokens: !ids {attn.role = "ids"}, %wanted: !wanted) -> tensor<?x8xf32, #attn.shape<[wanted, 8]>>
      attributes {transom.context = 0 : i64} {
    %ragged = attn.decode_batch : !attn.ragged<rows, keys>
    %c = attn.get_cache @cache : !cache
    %w = attn.get_weight @table : [9, 8] f32
    %x = attn.embedding %tokens, %w : !ids, [9, 8] f32
    %y = attn.sdpa %x, %x, %x ragged(%ragged : <rows, keys>) cache(%c : !cache) heads 2 kv_heads 2 scale 0.5 <ragged> {causal} : !x
    %z = attn.gather %y, %wanted : !x, !wanted
    return %z : tensor<?x8xf32, #attn.shape<[wanted, 8]>>
  }
}

// -----

!ids = tensor<?xi64, #attn.shape<[rows]>>
!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!states = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!mask = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!wanted = tensor<?xi64, #attn.shape<[wanted]>>
!cache = !attn.cache<heads 1, key 4, value 4, read_only 24>

// A step that reads a source which no function fills, one whose encoder has no ids, and one whose encoder is missing.
// CHECK-COUNT-2: name = "attention-entry-without-
// CHECK-LABEL: func.func @translate(
// CHECK-NOT: @attention
module attributes {transom.attention} {
  attn.cache @cross : !cache
  attn.weight @table : [9, 8] f32 = #weight.expr<file("table")>
  func.func @translate(%tokens: !ids {attn.role = "ids"}, %wanted: !wanted) -> tensor<?x8xf32, #attn.shape<[wanted, 8]>> {
    %ragged = attn.decode_batch : !attn.ragged<rows, keys>
    %c = attn.get_cache @cross : !cache
    %w = attn.get_weight @table : [9, 8] f32
    %x = attn.embedding %tokens, %w : !ids, [9, 8] f32
    %y = attn.cross_sdpa %x ragged(%ragged : <rows, keys>) cache(%c : !cache) heads 2 scale 0.5 : !x
    %z = attn.gather %y, %wanted : !x, !wanted
    return %z : tensor<?x8xf32, #attn.shape<[wanted, 8]>>
  }
  func.func @encode(%x: !states {attn.role = "data"}, %m: !mask {attn.role = "mask"}) -> !states {
    return %x : !states
  }
}

// -----

!ids = tensor<?xi64, #attn.shape<[rows]>>
!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!states = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!rows = tensor<?x4xf32, #attn.shape<[rows1, 4]>>
!mask = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!wanted = tensor<?xi64, #attn.shape<[wanted]>>
!cache = !attn.cache<heads 1, key 4, value 4, read_only 24>

// CHECK-COUNT-3: name = "attention-entry-without-
// CHECK-LABEL: func.func @translate(
// CHECK-NOT: @attention
module attributes {transom.attention} {
  attn.cache @cross : !cache
  attn.weight @table : [9, 8] f32 = #weight.expr<file("table")>
  func.func @translate(%tokens: !ids {attn.role = "ids"}, %wanted: !wanted) -> tensor<?x8xf32, #attn.shape<[wanted, 8]>> {
    %ragged = attn.decode_batch : !attn.ragged<rows, keys>
    %c = attn.get_cache @cross : !cache
    %w = attn.get_weight @table : [9, 8] f32
    %x = attn.embedding %tokens, %w : !ids, [9, 8] f32
    %y = attn.cross_sdpa %x ragged(%ragged : <rows, keys>) cache(%c : !cache) heads 2 scale 0.5 : !x
    %z = attn.gather %y, %wanted : !x, !wanted
    return %z : tensor<?x8xf32, #attn.shape<[wanted, 8]>>
  }
  func.func @encode(%x: !states {attn.role = "data"}, %m: !mask {attn.role = "mask"}) -> !states {
    return %x : !states
  }
  func.func @source(%states: !states {attn.role = "data"}, %mask: !mask {attn.role = "mask"})
      attributes {transom.encoder = "encode", transom.kind = "source"} {
    %ragged = attn.ragged_batch %mask : [batch, seq] i64 -> <rows1, keys1>
    %x = attn.gather_rows %states, %ragged : [batch, seq, 8] f32, <rows1, keys1>
    %c = attn.get_cache @cross : !cache
    %k = attn.slice %x axis 1 from 0 size 4 : [rows1, 8] f32
    %v = attn.slice %x axis 1 from 4 size 4 : [rows1, 8] f32
    %s = attn.append %x, %k, %v ragged(%ragged : <rows1, keys1>) cache(%c : !cache) : [rows1, 8] f32, [rows1, 4] f32, [rows1, 4] f32
    return
  }
}

// -----

!ids = tensor<?xi64, #attn.shape<[rows]>>
!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!states = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!mask = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!wanted = tensor<?xi64, #attn.shape<[wanted]>>
!cache = !attn.cache<heads 1, key 4, value 4, read_only 24>

// CHECK-COUNT-2: name = "attention-entry-without-
// CHECK-LABEL: func.func @translate(
// CHECK-NOT: @attention
module attributes {transom.attention} {
  attn.cache @cross : !cache
  attn.weight @table : [9, 8] f32 = #weight.expr<file("table")>
  func.func @translate(%tokens: !ids {attn.role = "ids"}, %wanted: !wanted) -> tensor<?x8xf32, #attn.shape<[wanted, 8]>> {
    %ragged = attn.decode_batch : !attn.ragged<rows, keys>
    %c = attn.get_cache @cross : !cache
    %w = attn.get_weight @table : [9, 8] f32
    %x = attn.embedding %tokens, %w : !ids, [9, 8] f32
    %y = attn.cross_sdpa %x ragged(%ragged : <rows, keys>) cache(%c : !cache) heads 2 scale 0.5 : !x
    %z = attn.gather %y, %wanted : !x, !wanted
    return %z : tensor<?x8xf32, #attn.shape<[wanted, 8]>>
  }
  func.func @source(%states: !states {attn.role = "data"}, %mask: !mask {attn.role = "mask"})
      attributes {transom.encoder = "missing", transom.kind = "source"} {
    return
  }
}

// -----

!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!tokens = tensor<?xi64, #attn.shape<[rows]>>
!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!states = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!mask = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!wanted = tensor<?xi64, #attn.shape<[wanted]>>
!cache = !attn.cache<heads 1, key 4, value 4, read_only 24>

// The encoder has no mask.
// CHECK: name = "attention-entry-without-source"
// CHECK-LABEL: func.func @translate(
// CHECK-NOT: @attention
module attributes {transom.attention} {
  attn.cache @cross : !cache
  attn.weight @table : [9, 8] f32 = #weight.expr<file("table")>
  func.func @translate(%tokens: !tokens {attn.role = "ids"}, %wanted: !wanted) -> tensor<?x8xf32, #attn.shape<[wanted, 8]>> {
    %ragged = attn.decode_batch : !attn.ragged<rows, keys>
    %c = attn.get_cache @cross : !cache
    %w = attn.get_weight @table : [9, 8] f32
    %x = attn.embedding %tokens, %w : !tokens, [9, 8] f32
    %y = attn.cross_sdpa %x ragged(%ragged : <rows, keys>) cache(%c : !cache) heads 2 scale 0.5 : !x
    %z = attn.gather %y, %wanted : !x, !wanted
    return %z : tensor<?x8xf32, #attn.shape<[wanted, 8]>>
  }
  func.func @encode(%ids: !ids {attn.role = "ids"}) -> !states {
    %w = attn.get_weight @table : [9, 8] f32
    %x = attn.embedding %ids, %w : !ids, [9, 8] f32
    return %x : !states
  }
  func.func @source(%states: !states {attn.role = "data"}, %mask: !mask {attn.role = "mask"})
      attributes {transom.encoder = "encode", transom.kind = "source"} {
    %ragged = attn.ragged_batch %mask : [batch, seq] i64 -> <rows1, keys1>
    %x = attn.gather_rows %states, %ragged : [batch, seq, 8] f32, <rows1, keys1>
    %c = attn.get_cache @cross : !cache
    %k = attn.slice %x axis 1 from 0 size 4 : [rows1, 8] f32
    %v = attn.slice %x axis 1 from 4 size 4 : [rows1, 8] f32
    %s = attn.append %x, %k, %v ragged(%ragged : <rows1, keys1>) cache(%c : !cache) : [rows1, 8] f32, [rows1, 4] f32, [rows1, 4] f32
    return
  }
}

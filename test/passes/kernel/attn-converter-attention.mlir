// RUN: transom-opt %s --convert-attn-to-kern --split-input-file -verify-diagnostics | FileCheck %s

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>

// Without ragged attention is uniform: each sequence has all its columns.
// CHECK-LABEL: func.func @uniform_attention(
// CHECK-SAME: kern.symbols = ["keys0", "parts", "rows0"]
// CHECK: %[[S:.*]] = kern.ragged_batch {batch = "batch", columns = "seq", keys = "keys0", rows = "rows0"} : <0>
// CHECK: %[[T:.*]] = kern.alloc : <[parts, 8640] x f32>
// CHECK: %[[K:.*]] = kern.alloc : <[keys0, 8] x f32, key_panels>
// CHECK: kern.pack_keys %[[X:.*]] ragged %[[S]] outs(%[[K]])
// CHECK: kern.attention %[[X]], %[[K]], %[[X]] ragged %[[S]], %[[S]] scratch %[[T]] outs(%{{.*}})
// CHECK-NEXT: heads 2 kv_heads 2 scale 5.000000e-01
func.func @uniform_attention(%x: !x) -> !x {
  %y = attn.sdpa %x, %x, %x heads 2 kv_heads 2 scale 0.5 <none> : !x
  return %y : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!seg = !attn.ragged<rows, keys>

func.func @step(%x: !x) -> !x {
  %s = attn.decode_batch : !seg
  // expected-error @below {{expects a cache exactly where its ragged are those of 'attn.decode_batch'}}
  %a = attn.sdpa %x, %x, %x ragged(%s : !seg) heads 1 kv_heads 1 scale 1.0 <ragged> {causal} : !x
  return %a : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!seg = !attn.ragged<rows, keys>
!cache = !attn.cache<heads 1, key 8, value 8>
attn.cache @kv : !cache

func.func @encode(%x: !x, %m: tensor<?x?xi1, #attn.shape<[batch, seq]>>) -> !x {
  %s = attn.ragged_batch %m : [batch, seq] i1 -> !seg
  %c = attn.get_cache @kv : !cache
  // expected-error @below {{expects a cache exactly where its ragged are those of 'attn.decode_batch'}}
  %a = attn.sdpa %x, %x, %x ragged(%s : !seg) cache(%c : !cache) heads 1 kv_heads 1 scale 1.0 <ragged> {causal} : !x
  return %a : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!seg = !attn.ragged<rows, keys>

// In a ragged batch of a mask positions are columns.
// CHECK-LABEL: func.func @encode(
// CHECK: kern.attention
// CHECK-NEXT: heads {{.*}} {by_column, causal, window = 4 : i64}
func.func @encode(%x: !x, %m: tensor<?x?xi1, #attn.shape<[batch, seq]>>) -> !x {
  %s = attn.ragged_batch %m : [batch, seq] i1 -> !seg
  %a = attn.sdpa %x, %x, %x ragged(%s : !seg) heads 1 kv_heads 1 scale 1.0 <ragged> {causal, window = 4 : i64} : !x
  return %a : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!p = tensor<?xi64, #attn.shape<[rows]>>

// The angles of all positions are a weight.
// CHECK: kern.weight @angles
// CHECK-LABEL: func.func @rope(
// CHECK: %[[A:.*]] = kern.get_weight @angles
// CHECK: kern.rope_table %{{.*}}, %[[A]] outs(%[[T:.*]]) :
// CHECK: kern.rope %{{.*}}, %[[T]] outs(%{{.*}}) heads 2
func.func @rope(%x: !x, %p: !p) -> !x {
  %r = attn.rope_table %p {frequencies = array<f64: 1.0, 0.01>, limit = 2048 : i64} : !p
  %y = attn.rope %x, %r heads 2 : !x, [rows, 4] f32
  return %y : !x
}

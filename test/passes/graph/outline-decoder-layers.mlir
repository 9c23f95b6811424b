// RUN: transom-opt %s --attn-outline-layers --split-input-file | FileCheck %s

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!seg = !attn.ragged<rows, keys>
!cache = !attn.cache<heads 1, key 8, value 8>
attn.weight @q0 : [8, 8] f32 = #weight.expr<file("q0")>
attn.weight @q1 : [8, 8] f32 = #weight.expr<file("q1")>
attn.cache @c0 : !cache
attn.cache @c1 : !cache

// A cache is a body parameter, as a weight is.
// CHECK-LABEL: func.func @caches_are_parameters(
// CHECK: %[[S:.*]] = attn.decode_batch
// CHECK: attn.layers %{{.*}} invariants(%[[S]] : {{.*}}) [@layer(@q0, @c0), @layer(@q1, @c1)]
// CHECK-NOT: attn.get_cache
// CHECK: func.func private @layer(%{{.*}}: !{{[a-z0-9_]+}}, %{{.*}}: !attn.ragged<rows, keys>, %[[W:.*]]: tensor<8x8xf32>, %[[C:.*]]: !attn.cache<heads 1, key 8, value 8>)
// CHECK: attn.linear %{{.*}}, %[[W]]
// CHECK: attn.sdpa {{.*}} cache(%[[C]] : {{[^)]*}})
func.func @caches_are_parameters(%x: !x) -> !x {
  %s = attn.decode_batch : !seg
  %w0 = attn.get_weight @q0 : [8, 8] f32
  %c0 = attn.get_cache @c0 : !cache
  %q0 = attn.linear %x, %w0 : !x, [8, 8] f32
  %a0 = attn.sdpa %q0, %q0, %q0 ragged(%s : !seg) cache(%c0 : !cache) heads 1 kv_heads 1 scale 1.0 <ragged> {causal} : !x
  %w1 = attn.get_weight @q1 : [8, 8] f32
  %c1 = attn.get_cache @c1 : !cache
  %q1 = attn.linear %a0, %w1 : !x, [8, 8] f32
  %a1 = attn.sdpa %q1, %q1, %q1 ragged(%s : !seg) cache(%c1 : !cache) heads 1 kv_heads 1 scale 1.0 <ragged> {causal} : !x
  return %a1 : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!seg = !attn.ragged<rows, keys>
!short = !attn.cache<heads 1, key 8, value 8, window 4>
!full = !attn.cache<heads 1, key 8, value 8>
attn.weight @q : [8, 8] f32 = #weight.expr<file("q")>
attn.cache @c0 : !short
attn.cache @c1 : !full
attn.cache @c2 : !short
attn.cache @c3 : !full
attn.cache @c4 : !short

// A window in every second layer: a body holds one layer per kind and begins
// where a layer begins; the last of five layers stays alone.
// CHECK-LABEL: func.func @windows_alternate(
// CHECK: attn.sdpa {{.*}} {causal, window = 4 : i64}
// CHECK: %[[X:.*]] = attn.add
// CHECK: %[[Y:.*]] = attn.layers %[[X]] invariants(%{{.*}}) [@layer(@q, @c1, @c2), @layer(@q, @c3, @c4)]
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @layer(
// CHECK-NEXT: attn.linear
// CHECK-NEXT: attn.sdpa {{.*}} {causal} :
// CHECK-NEXT: attn.add
// CHECK-NEXT: attn.linear
// CHECK-NEXT: attn.sdpa {{.*}} {causal, window = 4 : i64}
func.func @windows_alternate(%x: !x) -> !x {
  %s = attn.decode_batch : !seg
  %w = attn.get_weight @q : [8, 8] f32
  %c0 = attn.get_cache @c0 : !short
  %c1 = attn.get_cache @c1 : !full
  %c2 = attn.get_cache @c2 : !short
  %c3 = attn.get_cache @c3 : !full
  %c4 = attn.get_cache @c4 : !short
  %q0 = attn.linear %x, %w : !x, [8, 8] f32 loc("layers.0.query")
  %a0 = attn.sdpa %q0, %q0, %q0 ragged(%s : !seg) cache(%c0 : !short) heads 1 kv_heads 1 scale 1.0 <ragged> {causal, window = 4 : i64} : !x loc("layers.0.attention")
  %x1 = attn.add %a0, %x : !x loc("layers.0.add")
  %q1 = attn.linear %x1, %w : !x, [8, 8] f32 loc("layers.1.query")
  %a1 = attn.sdpa %q1, %q1, %q1 ragged(%s : !seg) cache(%c1 : !full) heads 1 kv_heads 1 scale 1.0 <ragged> {causal} : !x loc("layers.1.attention")
  %x2 = attn.add %a1, %x1 : !x loc("layers.1.add")
  %q2 = attn.linear %x2, %w : !x, [8, 8] f32 loc("layers.2.query")
  %a2 = attn.sdpa %q2, %q2, %q2 ragged(%s : !seg) cache(%c2 : !short) heads 1 kv_heads 1 scale 1.0 <ragged> {causal, window = 4 : i64} : !x loc("layers.2.attention")
  %x3 = attn.add %a2, %x2 : !x loc("layers.2.add")
  %q3 = attn.linear %x3, %w : !x, [8, 8] f32 loc("layers.3.query")
  %a3 = attn.sdpa %q3, %q3, %q3 ragged(%s : !seg) cache(%c3 : !full) heads 1 kv_heads 1 scale 1.0 <ragged> {causal} : !x loc("layers.3.attention")
  %x4 = attn.add %a3, %x3 : !x loc("layers.3.add")
  %q4 = attn.linear %x4, %w : !x, [8, 8] f32 loc("layers.4.query")
  %a4 = attn.sdpa %q4, %q4, %q4 ragged(%s : !seg) cache(%c4 : !short) heads 1 kv_heads 1 scale 1.0 <ragged> {causal, window = 4 : i64} : !x loc("layers.4.attention")
  %x5 = attn.add %a4, %x4 : !x loc("layers.4.add")
  return %x5 : !x
}

// -----

!states = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!mask = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!seg = !attn.ragged<rows, keys>
!cross = !attn.cache<heads 2, key 4, value 4, read_only 96>
attn.weight @k0 : [8, 8] f32 = #weight.expr<file("k0")>
attn.weight @v0 : [8, 8] f32 = #weight.expr<file("v0")>
attn.weight @k1 : [8, 8] f32 = #weight.expr<file("k1")>
attn.weight @v1 : [8, 8] f32 = #weight.expr<file("v1")>
attn.weight @k2 : [8, 8] f32 = #weight.expr<file("k2")>
attn.weight @v2 : [8, 8] f32 = #weight.expr<file("v2")>
attn.cache @c0 : !cross
attn.cache @c1 : !cross
attn.cache @c2 : !cross

// Layers that fill read-only caches pass their input on. The last one's result
// has no user.
// CHECK-LABEL: func.func @appends_are_layers(
// CHECK: %[[S:.*]] = attn.ragged_batch
// CHECK: %[[X:.*]] = attn.gather_rows
// CHECK: attn.layers %[[X]] invariants(%[[S]] : {{.*}}) [@layer(@k0, @v0, @c0), @layer(@k1, @v1, @c1), @layer(@k2, @v2, @c2)]
// CHECK-NEXT: return
// CHECK: func.func private @layer(%[[X:[a-z0-9]*]]: !{{[a-z0-9_]+}}, %[[S:[a-z0-9]*]]: !attn.ragged<rows, keys>,
// CHECK-SAME: %[[C:[a-z0-9]*]]: !attn.cache<heads 2, key 4, value 4, read_only 96>)
// CHECK: %[[K:.*]] = attn.linear %[[X]]
// CHECK: %[[V:.*]] = attn.linear %[[X]]
// CHECK: %[[Y:.*]] = attn.append %[[X]], %[[K]], %[[V]] ragged(%[[S]] : {{.*}}) cache(%[[C]] :
// CHECK: return %[[Y]]
func.func @appends_are_layers(%states: !states {attn.name = "encoder_hidden_states"}, %mask: !mask {attn.name = "attention_mask"}) attributes {transom.kind = "source"} {
  %s = attn.ragged_batch %mask : !mask -> <rows, keys>
  %x = attn.gather_rows %states, %s : !states, <rows, keys>
  %wk0 = attn.get_weight @k0 : [8, 8] f32
  %wv0 = attn.get_weight @v0 : [8, 8] f32
  %c0 = attn.get_cache @c0 : !cross
  %k0 = attn.linear %x, %wk0 : !x, [8, 8] f32
  %v0 = attn.linear %x, %wv0 : !x, [8, 8] f32
  %x1 = attn.append %x, %k0, %v0 ragged(%s : !seg) cache(%c0 : !cross) : !x
  %wk1 = attn.get_weight @k1 : [8, 8] f32
  %wv1 = attn.get_weight @v1 : [8, 8] f32
  %c1 = attn.get_cache @c1 : !cross
  %k1 = attn.linear %x1, %wk1 : !x, [8, 8] f32
  %v1 = attn.linear %x1, %wv1 : !x, [8, 8] f32
  %x2 = attn.append %x1, %k1, %v1 ragged(%s : !seg) cache(%c1 : !cross) : !x
  %wk2 = attn.get_weight @k2 : [8, 8] f32
  %wv2 = attn.get_weight @v2 : [8, 8] f32
  %c2 = attn.get_cache @c2 : !cross
  %k2 = attn.linear %x2, %wk2 : !x, [8, 8] f32
  %v2 = attn.linear %x2, %wv2 : !x, [8, 8] f32
  %x3 = attn.append %x2, %k2, %v2 ragged(%s : !seg) cache(%c2 : !cross) : !x
  return
}

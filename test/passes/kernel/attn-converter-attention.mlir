// RUN: transom-opt %s --convert-attn-to-kern --split-input-file -verify-diagnostics | FileCheck %s

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>

// Without ragged attention is uniform: each sequence has all its columns. Four
// out of sixteen vector lanes are used.
// CHECK: args = {head_size = "4", heads = "2", keys = "256", queries = "24", reason = "{{[^"]*}}", schedule = "auto"}{{[^{}]*}}name = "attention-scheduled"
// CHECK-SAME: args = {better = "16", head_size = "4", lanes = "16", vectors = "1", waste = "75"}{{[^{}]*}}kind = "missed"{{[^{}]*}}name = "heads-partly-fill-vectors"
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

// In a mask's ragged batch positions are columns.
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

// The angles for all positions are a weight.
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

// -----

!states = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!mask = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!x1 = tensor<?x8xf32, #attn.shape<[rows1, 8]>>
!seg = !attn.ragged<rows, keys>
!seg1 = !attn.ragged<rows1, keys1>
!self = !attn.cache<heads 1, key 8, value 8>
!cross = !attn.cache<heads 2, key 4, value 4, read_only 96>
!wide = !attn.cache<heads 1, key 8, value 8, read_only 96>
!other = !attn.cache<heads 1, key 8, value 8, read_only 7>
attn.cache @self : !self
// CHECK: kern.cache @cross0 : !kern.cache<heads 2, key 4, value 4, read_only 96, f32>
attn.cache @cross0 : !cross
attn.cache @cross1 : !cross
attn.cache @wide : !wide
attn.cache @other : !other

// A body updates its state in place, but this one leaves it as it is. So no row
// is copied.
// CHECK-LABEL: func.func @source(
// CHECK: %[[S:.*]] = kern.ragged_batch mask %{{.*}} {batch = "", columns = "", keys = "keys1", rows = "rows1"} :
// CHECK: kern.layers %{{.*}} invariants(%[[S]] : {{.*}}) [@fill(@cross0), @fill(@cross1)]
// CHECK-NEXT: %[[C:.*]] = kern.get_cache @wide
// CHECK-NEXT: kern.append %[[X:.*]], %[[X]] ragged %[[S]] cache %[[C]] :
// CHECK-NEXT: %[[C:.*]] = kern.get_cache @other
// CHECK-NEXT: kern.append %[[X]], %[[X]] ragged %[[S]] cache %[[C]] :
// CHECK-NEXT: return
func.func @source(%states: !states, %mask: !mask) {
  %s = attn.ragged_batch %mask : !mask -> <rows1, keys1>
  %x = attn.gather_rows %states, %s : !states, <rows1, keys1>
  %x1 = attn.layers %x invariants(%s : !seg1) [@fill(@cross0), @fill(@cross1)] : !x1
  %wide = attn.get_cache @wide : !wide
  %x2 = attn.append %x1, %x1, %x1 ragged(%s : !seg1) cache(%wide : !wide) : !x1
  %other = attn.get_cache @other : !other
  %x3 = attn.append %x2, %x2, %x2 ragged(%s : !seg1) cache(%other : !other) : !x1
  return
}
// CHECK-LABEL: func.func private @fill(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[rows1, 8] x f32>, %[[S:.*]]: !kern.ragged<0>, %[[C:.*]]: !kern.cache<heads 2, key 4, value 4, read_only 96, f32>)
// CHECK-NEXT: kern.append %[[X]], %[[X]] ragged %[[S]] cache %[[C]] :
// CHECK-NEXT: return
func.func private @fill(%x: !x1, %s: !seg1, %c: !cross) -> !x1 {
  %y = attn.append %x, %x, %x ragged(%s : !seg1) cache(%c : !cross) : !x1
  return %y : !x1
}

// Caches with equal positions share a table, which a body defines again.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: kern.symbols = [{{.*}}"source_keys", "source_keys2"]
// CHECK-DAG: %[[U:.*]] = kern.cache_batch @cross0 {keys = "source_keys"} : <1>
// CHECK-DAG: %[[V:.*]] = kern.cache_batch @other {keys = "source_keys2"} : <2>
// CHECK: %[[S:.*]] = kern.decode_batch
// CHECK: kern.layers %{{.*}} invariants(%[[S]] : {{.*}}) [@layer(@cross0), @layer(@cross1)]
// CHECK: %[[C:.*]] = kern.get_cache @wide
// CHECK: kern.attention %{{.*}} ragged %[[U]], %[[U]] cache %[[C]] scratch %{{.*}} partials %{{.*}} counters %{{.*}} outs(%{{.*}})
// CHECK-NEXT: heads 2 kv_heads 1 scale 2.500000e-01 {soft_cap = 3.000000e+00 : f64}
// CHECK: %[[C:.*]] = kern.get_cache @other
// CHECK: kern.attention %{{.*}} ragged %[[V]], %[[V]] cache %[[C]] scratch
func.func @step(%x: !x, %q: tensor<?x16xf32, #attn.shape<[rows, 16]>>) -> !x {
  %s = attn.decode_batch : !seg
  %x1 = attn.layers %x invariants(%s : !seg) [@layer(@cross0), @layer(@cross1)] : !x
  %wide = attn.get_cache @wide : !wide
  %y = attn.cross_sdpa %q ragged(%s : !seg) cache(%wide : !wide) heads 2 scale 0.25 {soft_cap = 3.0} : [rows, 16] f32
  %other = attn.get_cache @other : !other
  %z = attn.cross_sdpa %x1 ragged(%s : !seg) cache(%other : !other) heads 1 scale 0.25 : !x
  return %z : !x
}
// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[rows, 8] x f32>, %[[S:.*]]: !kern.ragged<0>, %[[C:.*]]: !kern.cache<heads 2, key 4, value 4, read_only 96, f32>)
// CHECK-NEXT: %[[U:.*]] = kern.cache_batch @cross0 {keys = "source_keys"} : <1>
// CHECK: kern.attention %{{.*}} ragged %[[U]], %[[U]] cache %[[C]] scratch %{{.*}} partials %{{.*}} counters %{{.*}} outs(%{{.*}})
// CHECK-NEXT: heads 4 kv_heads 2
func.func private @layer(%x: !x, %s: !seg, %c: !cross) -> !x {
  %p = attn.concat %x, %x axis 1 : !x, !x
  %y = attn.cross_sdpa %p ragged(%s : !seg) cache(%c : !cross) heads 4 scale 0.5 : [rows, 16] f32
  %z = attn.slice %y axis 1 from 0 size 8 : [rows, 16] f32
  return %z : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!mask = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!cross = !attn.cache<heads 1, key 8, value 8, read_only 96>
attn.cache @cross : !cross

func.func @source(%x: !x, %mask: !mask) {
  %s = attn.ragged_batch %mask {keep_first} : !mask -> <rows, keys>
  %c = attn.get_cache @cross : !cross
  // expected-error @below {{expects a ragged batch without 'keep_first'}}
  %y = attn.append %x, %x, %x ragged(%s : <rows, keys>) cache(%c : !cross) : !x
  return
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!mask = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!cross = !attn.cache<heads 1, key 8, value 8, read_only 96>
attn.cache @cross : !cross

func.func @encode(%x: !x, %mask: !mask) -> !x {
  %s = attn.ragged_batch %mask : !mask -> <rows, keys>
  %c = attn.get_cache @cross : !cross
  // expected-error @below {{expects the ragged batch of 'attn.decode_batch'}}
  %y = attn.cross_sdpa %x ragged(%s : <rows, keys>) cache(%c : !cross) heads 1 scale 1.0 : !x
  return %y : !x
}

// -----

!x = tensor<2x3x16xf32>

func.func @slopes_of_the_caller(%x: !x, %slopes: tensor<4xf32>) -> !x {
  // expected-error @below {{expects slopes, relative bias and positions to be weights}}
  %y = attn.sdpa %x, %x, %x slopes(%slopes : [4] f32) heads 4 kv_heads 4 scale 0.25 <none> : !x
  return %y : !x
}

// -----

!x = tensor<?x?x72xf32, #attn.shape<[batch, seq, 72]>>

// The user chooses the schedule. Heads that leave a tenth of their vectors empty are reported.
// CHECK: reason = "option --attention-schedule asks for it"{{[^{}]*}}}{{[^{}]*}}function = "chosen_schedule"{{[^{}]*}}name = "attention-scheduled"
// CHECK-SAME: args = {better = "80", head_size = "72", lanes = "16", vectors = "5", waste = "10"}{{[^{}]*}}name = "heads-partly-fill-vectors"
// CHECK-LABEL: func.func @chosen_schedule(
module attributes {transom.attention_schedule = #kern.schedule<streaming>} {
  func.func @chosen_schedule(%x: !x) -> !x {
    %y = attn.sdpa %x, %x, %x heads 1 kv_heads 1 scale 0.5 <none> : !x
    return %y : !x
  }
}

// -----

!x = tensor<?x?x16xf32, #attn.shape<[batch, seq, 16]>>

// CHECK: reason = "there are as many work items as blocks of keys
// CHECK-NOT: heads-partly-fill-vectors
// CHECK-LABEL: func.func @full_vectors(
func.func @full_vectors(%x: !x) -> !x {
  %y = attn.sdpa %x, %x, %x heads 1 kv_heads 1 scale 0.5 <none> : !x
  return %y : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
attn.weight @p : [12, 4] f32 = #weight.expr<file("p")>

// Products with relative positions are not as long as the sequence.
// CHECK-LABEL: func.func @disentangled(
// CHECK: %[[P:.*]] = kern.get_weight @p
// CHECK: %[[Q:.*]] = kern.view %{{.*}} : <[batch, seq, 8] x f32> -> <[batch*seq, 8] x f32>
// CHECK: %[[C:.*]] = kern.alloc : <[2*batch*seq, 6] x f32>
// CHECK: kern.head_gemm %[[Q]], %[[P]] ragged %[[S:.*]] outs(%[[C]]) heads 2 {max_distance = 9 : i64}
// CHECK: %[[D:.*]] = kern.alloc : <[2*batch*seq, 6] x f32>
// CHECK: kern.head_gemm %{{.*}}, %[[P]] ragged %[[S]] outs(%[[D]]) heads 2 {max_distance = 9 : i64}
// CHECK: kern.attention {{.*}} content_to_position %[[C]] position_to_content %[[D]] scratch
// CHECK-NEXT: {max_distance = 9 : i64}
func.func @disentangled(%x: !x) -> !x {
  %p = attn.get_weight @p : [12, 4] f32
  %y = attn.sdpa %x, %x, %x position_keys(%p : [12, 4] f32) position_queries(%p : [12, 4] f32) heads 2 kv_heads 2 scale 0.5 <none> {max_distance = 9 : i64} : !x
  return %y : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>

func.func @positions_of_a_call(%x: !x, %p: tensor<12x4xf32>) -> !x {
  // expected-error @below {{expects slopes, relative bias and positions to be weights}}
  %y = attn.sdpa %x, %x, %x position_keys(%p : [12, 4] f32) heads 2 kv_heads 2 scale 0.5 <none> : !x
  return %y : !x
}

// RUN: transom-opt %s --convert-attn-to-kern --split-input-file -verify-diagnostics | FileCheck %s

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!s = tensor<?x?x4xf32, #attn.shape<[batch, seq, 4]>>
!w = tensor<8x8xf32>

// CHECK: kern.weight @w : !kern.weight<[8, 8] x f32, unset> = #weight.expr<file("w")>
attn.weight @w : !w = #weight.expr<file("w")>
attn.weight @b : [8] f32 = #weight.expr<file("b")>

// Results are written to arguments after the inputs; a reshape is a view.
// CHECK-LABEL: func.func @writes_results(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[batch, seq, 8] x f32> {attn.name = "x"}, %[[Y:.*]]: !kern.buffer<[batch, seq, 8] x f32> {attn.name = "y"})
// CHECK-SAME: kern.inputs = 1 : i64, kern.symbols = ["parts"]
// CHECK: %[[W:.*]] = kern.get_weight @w
// CHECK: %[[T:.*]] = kern.alloc : <[batch, seq, 8] x f32>
// CHECK: kern.gemm %[[X]], %[[W]] bias %{{.*}} outs(%[[T]])
// CHECK: %[[V:.*]] = kern.view %[[T]] : <[batch, seq, 8] x f32> -> <[batch, seq, 2, 4] x f32>
// CHECK: kern.softmax %[[V]] outs(%[[P:.*]]) :
// CHECK: %[[U:.*]] = kern.view %[[P]]
// CHECK: kern.elementwise ins(%[[U]]) outs(%[[Y]])
// CHECK: kern.apply <gelu>
// CHECK: return
// CHECK-NOT: attn.
func.func @writes_results(%x: !x {attn.name = "x"}) -> (!x {attn.name = "y"}) {
  %w = attn.get_weight @w : !w
  %b = attn.get_weight @b : [8] f32
  %t = attn.linear %x, %w, %b : !x, !w, [8] f32
  %v = attn.reshape %t to <[batch, seq, 2, 4]> : !x
  %p = attn.softmax %v : [batch, seq, 2, 4] f32
  %u = attn.reshape %p to <[batch, seq, 8]> : [batch, seq, 2, 4] f32
  %y = attn.activation <gelu> %u : !x
  return %y : !x
}

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

// CHECK-LABEL: func.func @slices_and_concatenations_are_copies(
// CHECK: kern.copy %[[X:.*]] outs(%[[S:.*]]) axis 2 from "4" to "0" size "4"
// CHECK: kern.copy %[[S]] outs(%[[Y:.*]]) axis 2 from "0" to "0" size "4"
// CHECK: kern.copy %[[S]] outs(%[[Y]]) axis 2 from "0" to "4" size "4"
func.func @slices_and_concatenations_are_copies(%x: !x) -> !x {
  %s = attn.slice %x axis 2 from 4 size 4 : !x
  %y = attn.concat %s, %s axis 2 : !s, !s
  return %y : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!w = tensor<8x8xf32>
attn.weight @w0 : !w = #weight.expr<file("w0")>
attn.weight @w1 : !w = #weight.expr<file("w1")>

// A body updates its state in place where nothing reads it afterwards.
// CHECK-LABEL: func.func @layers_update_a_state(
// CHECK: kern.elementwise ins(%{{.*}}) outs(%[[S:.*]]) {
// CHECK: kern.layers %[[S]] [@layer(@w0), @layer(@w1)] : <[rows, 8] x f32>
// CHECK: func.func private @layer(%[[S:.*]]: !kern.buffer<[rows, 8] x f32>, %[[W:.*]]: !kern.weight<[8, 8] x f32, unset>)
// CHECK: kern.gemm %[[S]], %[[W]] outs(%[[T:.*]]){{$}}
// CHECK: kern.elementwise ins(%[[T]], %[[S]]) outs(%[[S]])
func.func @layers_update_a_state(%x: !x) -> !x {
  %y = attn.layers %x [@layer(@w0), @layer(@w1)] : !x
  return %y : !x
}
func.func private @layer(%s: !x, %w: !w) -> !x {
  %t = attn.linear %s, %w : !x, !w
  %u = attn.add %t, %s : !x
  return %u : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!w = tensor<8x8xf32>
attn.weight @w0 : !w = #weight.expr<file("w0")>

// A product may not write what its own tiles still read.
// CHECK: func.func private @layer(%[[S:.*]]: !kern.buffer<[rows, 8] x f32>, %[[W:.*]]: !kern.weight<[8, 8] x f32, unset>)
// CHECK: kern.gemm %[[S]], %[[W]] outs(%[[T:.*]]){{$}}
// CHECK: kern.elementwise ins(%[[T]]) outs(%[[S]])
func.func @copies_a_result_that_cannot_be_in_place(%x: !x) -> !x {
  %y = attn.layers %x [@layer(@w0)] : !x
  return %y : !x
}
func.func private @layer(%s: !x, %w: !w) -> !x {
  %t = attn.linear %s, %w : !x, !w
  return %t : !x
}

// -----

!m = tensor<?x?xi1, #attn.shape<[batch, seq]>>

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
func.func @refuses_a_computed_mask(%x: !x, %m: !m) -> tensor<?x8xf32, #attn.shape<[rows, 8]>> {
  %n = attn.not %m : !m
  // expected-error @below {{expects a mask that is an input of the entry}}
  %s = attn.ragged_batch %n : !m -> <rows, keys>
  %r = attn.gather_rows %x, %s : !x, <rows, keys>
  return %r : tensor<?x8xf32, #attn.shape<[rows, 8]>>
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!seg = !attn.ragged<rows, keys>
!cache = !attn.cache<heads 1, key 8, value 8>
attn.cache @kv : !cache

func.func @step(%x: !x) -> !x {
  %s = attn.decode_batch : !seg
  %c = attn.get_cache @kv : !cache
  %a = attn.sdpa %x, %x, %x ragged(%s : !seg) cache(%c : !cache) heads 1 kv_heads 1 scale 1.0 <ragged> {causal} : !x
  // expected-error @below {{expects a cache of its own}}
  %b = attn.sdpa %a, %a, %a ragged(%s : !seg) cache(%c : !cache) heads 1 kv_heads 1 scale 1.0 <ragged> {causal} : !x
  return %b : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!seg = !attn.ragged<rows, keys>
!cache = !attn.cache<heads 1, key 8, value 8>
attn.cache @kv : !cache

func.func @step(%x: !x) -> !x {
  %s = attn.decode_batch : !seg
  // expected-error @below {{expects a cache of its own}}
  %y = attn.layers %x invariants(%s : !seg) [@layer(@kv), @layer(@kv)] : !x
  return %y : !x
}
func.func private @layer(%x: !x, %s: !seg, %c: !cache) -> !x {
  %a = attn.sdpa %x, %x, %x ragged(%s : !seg) cache(%c : !cache) heads 1 kv_heads 1 scale 1.0 <ragged> {causal} : !x
  return %a : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!seg = !attn.ragged<rows, keys>
!cache = !attn.cache<heads 1, key 8, value 8>
attn.cache @kv : !cache

func.func @step(%x: !x) -> !x {
  %s = attn.decode_batch : !seg
  %y = attn.layers %x invariants(%s : !seg) [@layer(@kv)] : !x
  return %y : !x
}
func.func private @layer(%x: !x, %s: !seg, %c: !cache) -> !x {
  // expected-error @below {{expects a cache of its own}}
  %a = attn.sdpa %x, %x, %x ragged(%s : !seg) cache(%c : !cache) heads 1 kv_heads 1 scale 1.0 <ragged> {causal} : !x
  %b = attn.sdpa %a, %a, %a ragged(%s : !seg) cache(%c : !cache) heads 1 kv_heads 1 scale 1.0 <ragged> {causal} : !x
  return %b : !x
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

!ids = tensor<?xi64, #attn.shape<[rows]>>
!seg = !attn.ragged<rows, keys>

func.func @step(%t: !ids) -> !ids {
  %s = attn.decode_batch : !seg
  // expected-error @below {{expects to be the only one of its entry}}
  %u = attn.decode_batch : !seg
  %p = attn.position <column> %t ragged(%u : !seg) : !ids
  return %p : !ids
}

// -----

// CHECK-LABEL: func.func @on_buffers_already(
// CHECK-NEXT: kern.softmax
func.func @on_buffers_already(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) attributes {kern.inputs = 1 : i64} {
  kern.softmax %x outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
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

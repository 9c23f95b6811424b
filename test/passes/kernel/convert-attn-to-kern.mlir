// RUN: transom-opt %s --convert-attn-to-kern --split-input-file -verify-diagnostics | FileCheck %s

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

// CHECK-LABEL: func.func @on_buffers_already(
// CHECK-NEXT: kern.softmax
func.func @on_buffers_already(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) attributes {kern.inputs = 1 : i64} {
  kern.softmax %x outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!seg = !attn.ragged<rows, keys>
!cross = !attn.cache<heads 1, key 8, value 8, read_only 96>
attn.cache @cross : !cross

func.func @step(%x: !x) -> !x {
  %s = attn.decode_batch : !seg
  %c = attn.get_cache @cross : !cross
  %a = attn.cross_sdpa %x ragged(%s : !seg) cache(%c : !cross) heads 1 scale 1.0 : !x
  // expected-error @below {{expects a cache of its own}}
  %b = attn.append %a, %a, %a ragged(%s : !seg) cache(%c : !cross) : !x
  return %b : !x
}

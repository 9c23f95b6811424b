// RUN: transom-opt %s --attn-drop-unused-weights | FileCheck %s

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!seg = !attn.ragged<rows, keys>
!cache = !attn.cache<heads 1, key 8, value 8>

// CHECK: attn.cache @read
// CHECK-NOT: attn.cache @left
// CHECK: attn.cache @row
attn.cache @read : !cache
attn.cache @left : !cache
attn.cache @row : !cache

func.func @step(%x: !x) -> !x {
  %s = attn.decode_batch : !seg
  %c = attn.get_cache @read : !cache
  %a = attn.sdpa %x, %x, %x ragged(%s : !seg) cache(%c : !cache) heads 1 kv_heads 1 scale 1.0 <ragged> {causal} : !x
  %y = attn.layers %a invariants(%s : !seg) [@layer(@row)] : !x
  return %y : !x
}
func.func private @layer(%x: !x, %s: !seg, %c: !cache) -> !x {
  %a = attn.sdpa %x, %x, %x ragged(%s : !seg) cache(%c : !cache) heads 1 kv_heads 1 scale 1.0 <ragged> {causal} : !x
  return %a : !x
}

// RUN: transom-opt %s --attn-outline-layers --split-input-file | FileCheck %s

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!w = tensor<8x8xf32>
!seg = !attn.ragged<rows, keys>

attn.weight @a0 : !w = "file(\"a0\")"
attn.weight @b0 : !w = "file(\"b0\")"
attn.weight @a1 : !w = "file(\"a1\")"
attn.weight @b1 : !w = "file(\"b1\")"
attn.weight @n : tensor<8xf32> = "file(\"n\")"

// The norm of the embeddings equals the last one of a layer: the locations say
// that it is none of them. RaggedBatch are an invariant.
// CHECK-LABEL: func.func @post_norm_layers(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32{{.*}}, %[[S:.*]]: !attn.ragged
// CHECK: %[[H:.*]] = attn.layer_norm
// CHECK: %[[Y:.*]] = attn.layers %[[H]] invariants(%[[S]] : {{.*}}) [#attn.row<@layer, [@a0, @b0, @n]>, #attn.row<@layer, [@a1, @b1, @n]>]
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @layer(%[[ST:.*]]: tensor<?x8xf32{{.*}}>, %[[SEG:.*]]: !attn.ragged<rows, keys>, %[[A:.*]]: tensor<8x8xf32>, %[[B:.*]]: tensor<8x8xf32>, %[[N:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[Q:.*]] = attn.linear %[[ST]], %[[A]]
// CHECK-NEXT: %[[T:.*]] = attn.sdpa %[[Q]], %[[Q]], %[[Q]] ragged %[[SEG]]
// CHECK-NEXT: %[[U:.*]] = attn.add %[[T]], %[[ST]]
// CHECK-NEXT: %[[V:.*]] = attn.linear %[[U]], %[[B]]
// CHECK-NEXT: %[[W:.*]] = attn.layer_norm %[[V]], %[[N]]
// CHECK-NEXT: return %[[W]]
func.func @post_norm_layers(%x: !x, %s: !seg) -> !x {
  %n = attn.get_weight @n : tensor<8xf32>
  %h = attn.layer_norm %x, %n eps 1.0e-5 : (!x, tensor<8xf32>) -> !x loc("embeddings.norm")
  %wa0 = attn.get_weight @a0 : !w
  %a0 = attn.linear %h, %wa0 : (!x, !w) -> !x loc("layer.0.query")
  %t0 = attn.sdpa %a0, %a0, %a0 ragged %s heads 1 kv_heads 1 scale 1.0 <ragged> : (!x, !x, !x, !seg) -> !x loc("layer.0.attention")
  %u0 = attn.add %t0, %h : (!x, !x) -> !x loc("layer.0.add")
  %wb0 = attn.get_weight @b0 : !w
  %v0 = attn.linear %u0, %wb0 : (!x, !w) -> !x loc("layer.0.dense")
  %y0 = attn.layer_norm %v0, %n eps 1.0e-5 : (!x, tensor<8xf32>) -> !x loc("layer.0.norm")
  %wa1 = attn.get_weight @a1 : !w
  %a1 = attn.linear %y0, %wa1 : (!x, !w) -> !x loc("layer.1.query")
  %t1 = attn.sdpa %a1, %a1, %a1 ragged %s heads 1 kv_heads 1 scale 1.0 <ragged> : (!x, !x, !x, !seg) -> !x loc("layer.1.attention")
  %u1 = attn.add %t1, %y0 : (!x, !x) -> !x loc("layer.1.add")
  %wb1 = attn.get_weight @b1 : !w
  %v1 = attn.linear %u1, %wb1 : (!x, !w) -> !x loc("layer.1.dense")
  %y1 = attn.layer_norm %v1, %n eps 1.0e-5 : (!x, tensor<8xf32>) -> !x loc("layer.1.norm")
  return %y1 : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!m = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!k = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!w = tensor<8x8xf32>
attn.weight @a0 : !w = "file(\"a0\")"
attn.weight @a1 : !w = "file(\"a1\")"
attn.weight @a2 : !w = "file(\"a2\")"
attn.weight @h : tensor<2x8xf32> = "file(\"h\")"

// The first layer made the mask that all read; constants are cloned; the head
// behind the layers stays.
// CHECK-LABEL: func.func @shares_a_mask(
// CHECK-NEXT: %[[K:.*]] = attn.cast
// CHECK: attn.layers %{{.*}} invariants(%[[K]] : {{.*}}) [#attn.row<@layer, [@a0]>, #attn.row<@layer, [@a1]>, #attn.row<@layer, [@a2]>]
// CHECK: attn.linear
// CHECK: return
// CHECK: func.func private @layer(
// CHECK: attn.constant dense<2.0
func.func @shares_a_mask(%x: !x, %m: !m) -> tensor<?x?x2xf32, #attn.shape<[batch, seq, 2]>> {
  %c = attn.constant dense<2.0> : tensor<1xf32> -> tensor<1xf32>
  %w0 = attn.get_weight @a0 : !w
  %a0 = attn.linear %x, %w0 : (!x, !w) -> !x
  %k = attn.cast %m to i1 : (!m) -> !k
  %s0 = attn.sdpa %a0, %a0, %a0 mask %k heads 1 kv_heads 1 scale 1.0 <keys> : (!x, !x, !x, !k) -> !x
  %y0 = attn.mul %s0, %c : (!x, tensor<1xf32>) -> !x
  %w1 = attn.get_weight @a1 : !w
  %a1 = attn.linear %y0, %w1 : (!x, !w) -> !x
  %s1 = attn.sdpa %a1, %a1, %a1 mask %k heads 1 kv_heads 1 scale 1.0 <keys> : (!x, !x, !x, !k) -> !x
  %y1 = attn.mul %s1, %c : (!x, tensor<1xf32>) -> !x
  %w2 = attn.get_weight @a2 : !w
  %a2 = attn.linear %y1, %w2 : (!x, !w) -> !x
  %s2 = attn.sdpa %a2, %a2, %a2 mask %k heads 1 kv_heads 1 scale 1.0 <keys> : (!x, !x, !x, !k) -> !x
  %y2 = attn.mul %s2, %c : (!x, tensor<1xf32>) -> !x
  %wh = attn.get_weight @h : tensor<2x8xf32>
  %h = attn.linear %y2, %wh : (!x, tensor<2x8xf32>) -> tensor<?x?x2xf32, #attn.shape<[batch, seq, 2]>>
  return %h : tensor<?x?x2xf32, #attn.shape<[batch, seq, 2]>>
}

// -----

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>
attn.weight @a0 : !w = "file(\"a0\")"
attn.weight @b0 : !w = "file(\"b0\")"
attn.weight @a1 : !w = "file(\"a1\")"
attn.weight @b1 : !w = "file(\"b1\")"

// Alternating layers: a body holds one of each kind.
// CHECK-LABEL: func.func @alternating_layers(
// CHECK-NEXT: attn.layers %{{.*}} [#attn.row<@layer, [@a0, @b0]>, #attn.row<@layer, [@a1, @b1]>]
func.func @alternating_layers(%x: !x) -> !x {
  %wa0 = attn.get_weight @a0 : !w
  %wb0 = attn.get_weight @b0 : !w
  %wa1 = attn.get_weight @a1 : !w
  %wb1 = attn.get_weight @b1 : !w
  %1 = attn.linear %x, %wa0 : (!x, !w) -> !x
  %2 = attn.activation <relu> %1 : (!x) -> !x
  %3 = attn.linear %2, %wb0 : (!x, !w) -> !x
  %4 = attn.activation <gelu> %3 : (!x) -> !x
  %5 = attn.linear %4, %wa1 : (!x, !w) -> !x
  %6 = attn.activation <relu> %5 : (!x) -> !x
  %7 = attn.linear %6, %wb1 : (!x, !w) -> !x
  %8 = attn.activation <gelu> %7 : (!x) -> !x
  return %8 : !x
}

// RUN: transom-opt %s --attn-outline-layers --split-input-file | FileCheck %s
// RUN: transom-opt %s --attn-outline-layers --split-input-file | FileCheck %s --check-prefix=REMARK

// REMARK: args = {entry = "post_norm_layers", layers = "2", operations = "1", runs = "1"}{{[^{}]*}}{{.*}}name = "entry-outlined"

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!w = tensor<8x8xf32>
!seg = !attn.ragged<rows, keys>

attn.weight @a0 : !w = #weight.expr<file("a0")>
attn.weight @b0 : !w = #weight.expr<file("b0")>
attn.weight @a1 : !w = #weight.expr<file("a1")>
attn.weight @b1 : !w = #weight.expr<file("b1")>
attn.weight @n : [8] f32 = #weight.expr<file("n")>

// The norm after the embeddings equals the last one in a layer: by its location
// it does not belong to the layers. The ragged batch is an invariant.
// CHECK-LABEL: func.func @post_norm_layers(
// CHECK-SAME: %[[X:.*]]: !rows_8_float{{.*}}, %[[S:.*]]: !attn.ragged
// CHECK: %[[H:.*]] = attn.layer_norm
// CHECK: %[[Y:.*]] = attn.layers %[[H]] invariants(%[[S]] : {{.*}}) [@layer(@a0, @b0, @n), @layer(@a1, @b1, @n)]
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @layer(%[[ST:.*]]: !rows_8_float, %[[SEG:.*]]: !attn.ragged<rows, keys>, %[[A:.*]]: tensor<8x8xf32>, %[[B:.*]]: tensor<8x8xf32>, %[[N:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[Q:.*]] = attn.linear %[[ST]], %[[A]]
// CHECK-NEXT: %[[T:.*]] = attn.sdpa %[[Q]], %[[Q]], %[[Q]] ragged(%[[SEG]] : {{[^)]*}})
// CHECK-NEXT: %[[U:.*]] = attn.add %[[T]], %[[ST]]
// CHECK-NEXT: %[[V:.*]] = attn.linear %[[U]], %[[B]]
// CHECK-NEXT: %[[W:.*]] = attn.layer_norm %[[V]], %[[N]]
// CHECK-NEXT: return %[[W]]
func.func @post_norm_layers(%x: !x, %s: !seg) -> !x {
  %n = attn.get_weight @n : [8] f32
  %h = attn.layer_norm %x, %n eps 1.0e-5 : !x, [8] f32 loc("embeddings.norm")
  %wa0 = attn.get_weight @a0 : !w
  %a0 = attn.linear %h, %wa0 : !x, !w loc("layer.0.query")
  %t0 = attn.sdpa %a0, %a0, %a0 ragged(%s : !seg) heads 1 kv_heads 1 scale 1.0 <ragged> : !x loc("layer.0.attention")
  %u0 = attn.add %t0, %h : !x loc("layer.0.add")
  %wb0 = attn.get_weight @b0 : !w
  %v0 = attn.linear %u0, %wb0 : !x, !w loc("layer.0.dense")
  %y0 = attn.layer_norm %v0, %n eps 1.0e-5 : !x, [8] f32 loc("layer.0.norm")
  %wa1 = attn.get_weight @a1 : !w
  %a1 = attn.linear %y0, %wa1 : !x, !w loc("layer.1.query")
  %t1 = attn.sdpa %a1, %a1, %a1 ragged(%s : !seg) heads 1 kv_heads 1 scale 1.0 <ragged> : !x loc("layer.1.attention")
  %u1 = attn.add %t1, %y0 : !x loc("layer.1.add")
  %wb1 = attn.get_weight @b1 : !w
  %v1 = attn.linear %u1, %wb1 : !x, !w loc("layer.1.dense")
  %y1 = attn.layer_norm %v1, %n eps 1.0e-5 : !x, [8] f32 loc("layer.1.norm")
  return %y1 : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!m = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!k = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!w = tensor<8x8xf32>
attn.weight @a0 : !w = #weight.expr<file("a0")>
attn.weight @a1 : !w = #weight.expr<file("a1")>
attn.weight @a2 : !w = #weight.expr<file("a2")>
attn.weight @h : [2, 8] f32 = #weight.expr<file("h")>

// The first layer made the mask that all read; constants are cloned; the head
// after the layers stays.
// CHECK-LABEL: func.func @shares_a_mask(
// CHECK-NEXT: %[[K:.*]] = attn.cast
// CHECK: attn.layers %{{.*}} invariants(%[[K]] : {{.*}}) [@layer(@a0), @layer(@a1), @layer(@a2)]
// CHECK: attn.linear
// CHECK: return
// CHECK: func.func private @layer(
// CHECK: attn.constant dense<2.0
func.func @shares_a_mask(%x: !x, %m: !m) -> tensor<?x?x2xf32, #attn.shape<[batch, seq, 2]>> {
  %c = attn.constant dense<2.0> : tensor<1xf32>
  %w0 = attn.get_weight @a0 : !w
  %a0 = attn.linear %x, %w0 : !x, !w
  %k = attn.cast %m to i1 : !m
  %s0 = attn.sdpa %a0, %a0, %a0 mask(%k : !k) heads 1 kv_heads 1 scale 1.0 <keys> : !x
  %y0 = attn.mul %s0, %c : !x, [1] f32
  %w1 = attn.get_weight @a1 : !w
  %a1 = attn.linear %y0, %w1 : !x, !w
  %s1 = attn.sdpa %a1, %a1, %a1 mask(%k : !k) heads 1 kv_heads 1 scale 1.0 <keys> : !x
  %y1 = attn.mul %s1, %c : !x, [1] f32
  %w2 = attn.get_weight @a2 : !w
  %a2 = attn.linear %y1, %w2 : !x, !w
  %s2 = attn.sdpa %a2, %a2, %a2 mask(%k : !k) heads 1 kv_heads 1 scale 1.0 <keys> : !x
  %y2 = attn.mul %s2, %c : !x, [1] f32
  %wh = attn.get_weight @h : [2, 8] f32
  %h = attn.linear %y2, %wh : !x, [2, 8] f32
  return %h : tensor<?x?x2xf32, #attn.shape<[batch, seq, 2]>>
}

// -----

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>
attn.weight @a0 : !w = #weight.expr<file("a0")>
attn.weight @b0 : !w = #weight.expr<file("b0")>
attn.weight @a1 : !w = #weight.expr<file("a1")>
attn.weight @b1 : !w = #weight.expr<file("b1")>

// Alternating layers: a body holds one layer per kind.
// CHECK-LABEL: func.func @alternating_layers(
// CHECK-NEXT: attn.layers %{{.*}} [@layer(@a0, @b0), @layer(@a1, @b1)]
func.func @alternating_layers(%x: !x) -> !x {
  %wa0 = attn.get_weight @a0 : !w
  %wb0 = attn.get_weight @b0 : !w
  %wa1 = attn.get_weight @a1 : !w
  %wb1 = attn.get_weight @b1 : !w
  %1 = attn.linear %x, %wa0 : !x, !w
  %2 = attn.activation <relu> %1 : !x
  %3 = attn.linear %2, %wb0 : !x, !w
  %4 = attn.activation <gelu> %3 : !x
  %5 = attn.linear %4, %wa1 : !x, !w
  %6 = attn.activation <relu> %5 : !x
  %7 = attn.linear %6, %wb1 : !x, !w
  %8 = attn.activation <gelu> %7 : !x
  return %8 : !x
}

// RUN: transom-opt %s --attn-add-attention-entry | FileCheck %s

// A module without the attribute stays as it is.
// CHECK-NOT: @attention
// CHECK: func.func @encode(
// CHECK-NOT: @attention
func.func @encode(%ids: tensor<?x?xi64, #attn.shape<[batch, seq]>> {attn.role = "ids"},
                  %x: tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>) -> tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>> {
  %y = attn.sdpa %x, %x, %x heads 2 kv_heads 2 scale 0.5 <none> : [batch, seq, 8] f32, [batch, seq, 8] f32, [batch, seq, 8] f32
  return %y : tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
}

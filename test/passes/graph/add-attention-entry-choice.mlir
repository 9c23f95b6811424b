// RUN: transom-opt %s --attn-add-attention-entry | FileCheck %s

!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!x = tensor<?x?x12xf32, #attn.shape<[batch, seq, 12]>>

// Heads 0 and 2 in layers 1 and 2 are requested. Layer 1 has one of them. Layers are counted in their order, whatever their windows are.
module attributes {transom.attention, transom.attention_heads = array<i64: 0, 2>, transom.attention_layers = array<i64: 1, 2>} {
  // CHECK-LABEL: func.func @attention(
  // CHECK-SAME: attn.name = "y"
  // CHECK-SAME: attn.name = "attentions.1"
  // CHECK-SAME: attn.name = "attentions.2"
  // CHECK-NOT: attn.cast
  // CHECK: %[[P:.*]] = attn.position <column> %arg0
  // CHECK: window = 1
  // CHECK: window = 2
  // CHECK: %[[W1:.*]] = attn.sdpa {{.*}} {window = 2
  // CHECK: %[[R1:.*]] = attn.reshape %[[W1]] to <[attention_batch, attention_seq, 2, 512]>
  // CHECK: %[[S1:.*]] = attn.slice %[[R1]] axis 3
  // CHECK: %[[T1:.*]] = attn.transpose %[[S1]] [0, 2, 1, 3]
  // CHECK: %[[H1:.*]] = attn.slice %[[T1]] axis 1 from 0 size 1
  // CHECK-NOT: attn.concat
  // CHECK: window = 3
  // CHECK: %[[W2:.*]] = attn.sdpa {{.*}} {window = 3
  // CHECK: %[[T2:.*]] = attn.transpose
  // CHECK: %[[A2:.*]] = attn.slice %[[T2]] axis 1 from 0 size 1
  // CHECK: %[[B2:.*]] = attn.slice %[[T2]] axis 1 from 2 size 1
  // CHECK: %[[H2:.*]] = attn.concat %[[A2]], %[[B2]] axis 1
  // CHECK: return %{{.*}}, %[[H1]], %[[H2]]
  func.func @encode(%ids: !ids {attn.name = "input_ids", attn.role = "ids"}, %x: !x) -> (!x {attn.name = "y"}) {
    %0 = attn.sdpa %x, %x, %x heads 3 kv_heads 3 scale 0.5 <none> {window = 1 : i64} : !x
    %1 = attn.sdpa %0, %0, %0 heads 2 kv_heads 2 scale 0.5 <none> {window = 2 : i64} : !x
    %2 = attn.sdpa %1, %1, %1 heads 3 kv_heads 3 scale 0.5 <none> {window = 3 : i64} : !x
    return %2 : !x
  }
}

// RUN: transom-opt %s --attn-fuse-projections --split-input-file | FileCheck %s

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!k = tensor<?x4xf32, #attn.shape<[rows, 4]>>
!r = tensor<?x2xf32, #attn.shape<[rows, 2]>>
!heads = tensor<?x2x4xf32, #attn.shape<[rows, 2, 4]>>
!seg = !attn.ragged<rows, keys>
!cache = !attn.cache<heads 1, key 4, value 4>
attn.weight @q : tensor<8x8xf32> = "file(\"q\")"
attn.weight @k : tensor<4x8xf32> = "file(\"k\")"
attn.weight @v : tensor<4x8xf32> = "file(\"v\")"
attn.weight @g : tensor<4xf32> = "file(\"g\")"
attn.cache @c : !cache

// Query and key go through norms of their heads and rotary positions.
// CHECK: reason = "joined 3 projections of one input"
// CHECK-LABEL: func.func @joins_through_norms_and_rotary(
// CHECK: %[[P:.*]] = attn.linear %{{.*}}, %{{.*}} : {{.*}} -> tensor<?x16xf32
// CHECK: %[[Q:.*]] = attn.slice %[[P]] axis 1 from 0 size "8"
// CHECK: %[[K:.*]] = attn.slice %[[P]] axis 1 from 8 size "4"
// CHECK: %[[V:.*]] = attn.slice %[[P]] axis 1 from 12 size "4"
// CHECK: %[[H:.*]] = attn.reshape %[[Q]]
// CHECK: %[[N:.*]] = attn.rms_norm %[[H]]
// CHECK: %[[F:.*]] = attn.reshape %[[N]]
// CHECK: %[[QR:.*]] = attn.rope %[[F]]
// CHECK: %[[KR:.*]] = attn.rope %[[K]]
// CHECK: attn.sdpa %[[QR]], %[[KR]], %[[V]]
func.func @joins_through_norms_and_rotary(%x: !x, %r: !r) -> !x {
  %s = attn.decode_batch : !seg
  %c = attn.get_cache @c : !cache
  %wq = attn.get_weight @q : tensor<8x8xf32>
  %wk = attn.get_weight @k : tensor<4x8xf32>
  %wv = attn.get_weight @v : tensor<4x8xf32>
  %g = attn.get_weight @g : tensor<4xf32>
  %q = attn.linear %x, %wq : (!x, tensor<8x8xf32>) -> !x
  %h = attn.reshape %q to <[rows, 2, 4]> : (!x) -> !heads
  %n = attn.rms_norm %h, %g eps 1.0e-6 : (!heads, tensor<4xf32>) -> !heads
  %f = attn.reshape %n to <[rows, 8]> : (!heads) -> !x
  %qr = attn.rope %f, %r heads 2 : (!x, !r) -> !x
  %k = attn.linear %x, %wk : (!x, tensor<4x8xf32>) -> !k
  %kr = attn.rope %k, %r heads 1 : (!k, !r) -> !k
  %v = attn.linear %x, %wv : (!x, tensor<4x8xf32>) -> !k
  %a = attn.sdpa %qr, %kr, %v ragged %s cache %c heads 2 kv_heads 1 scale 0.5 <ragged> {causal} : (!x, !k, !k, !seg, !cache) -> !x
  return %a : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!r = tensor<?x2xf32, #attn.shape<[rows, 2]>>
attn.weight @q : tensor<8x8xf32> = "file(\"q\")"
attn.weight @k : tensor<8x8xf32> = "file(\"k\")"
attn.weight @gate : tensor<8x8xf32> = "file(\"gate\")"
attn.weight @up : tensor<8x8xf32> = "file(\"up\")"

// What stands between has another reader: query stays. Gate and up of one
// input are no projections of an attention.
// CHECK-LABEL: func.func @rotated_queries_with_another_reader(
// CHECK-COUNT-4: attn.linear
// CHECK-NOT: attn.slice
func.func @rotated_queries_with_another_reader(%x: !x, %r: !r, %s: !attn.ragged<rows, keys>) -> (!x, !x) {
  %wq = attn.get_weight @q : tensor<8x8xf32>
  %wk = attn.get_weight @k : tensor<8x8xf32>
  %wg = attn.get_weight @gate : tensor<8x8xf32>
  %wu = attn.get_weight @up : tensor<8x8xf32>
  %q = attn.linear %x, %wq : (!x, tensor<8x8xf32>) -> !x
  %qr = attn.rope %q, %r heads 2 : (!x, !r) -> !x
  %k = attn.linear %x, %wk : (!x, tensor<8x8xf32>) -> !x
  %a = attn.sdpa %qr, %k, %x ragged %s heads 2 kv_heads 2 scale 0.5 <ragged> {causal} : (!x, !x, !x, !attn.ragged<rows, keys>) -> !x
  %g = attn.linear %a, %wg : (!x, tensor<8x8xf32>) -> !x
  %u = attn.linear %a, %wu : (!x, tensor<8x8xf32>) -> !x
  %y = attn.mul %g, %u : (!x, !x) -> !x
  return %y, %qr : !x, !x
}

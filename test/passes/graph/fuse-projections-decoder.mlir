// RUN: transom-opt %s --attn-fuse-projections --split-input-file | FileCheck %s
// RUN: transom-opt %s --attn-fuse-projections --split-input-file | FileCheck %s --check-prefix=REMARK

// REMARK: args = {operation = "'attn.rope'", projection = "'attn.linear'"}{{[^{}]*}}function = "rotated_queries_with_another_reader"{{[^{}]*}}name = "projection-is-interrupted"

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!k = tensor<?x4xf32, #attn.shape<[rows, 4]>>
!r = tensor<?x2xf32, #attn.shape<[rows, 2]>>
!heads = tensor<?x2x4xf32, #attn.shape<[rows, 2, 4]>>
!seg = !attn.ragged<rows, keys>
!cache = !attn.cache<heads 1, key 4, value 4>
attn.weight @q : [8, 8] f32 = #weight.expr<file("q")>
attn.weight @k : [4, 8] f32 = #weight.expr<file("k")>
attn.weight @v : [4, 8] f32 = #weight.expr<file("v")>
attn.weight @g : [4] f32 = #weight.expr<file("g")>
attn.cache @c : !cache

// Query and key go through head norms and rope.
// CHECK: projections = "3"}, category = "attn-fuse-projections"{{[^{}]*}}kind = "passed"{{[^{}]*}}name = "projections-joined"
// CHECK-LABEL: func.func @joins_through_norms_and_rotary(
// CHECK: %[[P:.*]] = attn.linear %{{.*}}, %{{.*}} : [rows, 8] f32, [16, 8] f32
// CHECK: %[[Q:.*]] = attn.slice %[[P]] axis 1 from 0 size 8
// CHECK: %[[K:.*]] = attn.slice %[[P]] axis 1 from 8 size 4
// CHECK: %[[V:.*]] = attn.slice %[[P]] axis 1 from 12 size 4
// CHECK: %[[H:.*]] = attn.reshape %[[Q]]
// CHECK: %[[N:.*]] = attn.rms_norm %[[H]]
// CHECK: %[[F:.*]] = attn.reshape %[[N]]
// CHECK: %[[QR:.*]] = attn.rope %[[F]]
// CHECK: %[[KR:.*]] = attn.rope %[[K]]
// CHECK: attn.sdpa %[[QR]], %[[KR]], %[[V]]
func.func @joins_through_norms_and_rotary(%x: !x, %r: !r) -> !x {
  %s = attn.decode_batch : !seg
  %c = attn.get_cache @c : !cache
  %wq = attn.get_weight @q : [8, 8] f32
  %wk = attn.get_weight @k : [4, 8] f32
  %wv = attn.get_weight @v : [4, 8] f32
  %g = attn.get_weight @g : [4] f32
  %q = attn.linear %x, %wq : !x, [8, 8] f32
  %h = attn.reshape %q to <[rows, 2, 4]> : !x
  %n = attn.rms_norm %h, %g eps 1.0e-6 : !heads, [4] f32
  %f = attn.reshape %n to <[rows, 8]> : !heads
  %qr = attn.rope %f, %r heads 2 : !x, !r
  %k = attn.linear %x, %wk : !x, [4, 8] f32
  %kr = attn.rope %k, %r heads 1 : !k, !r
  %v = attn.linear %x, %wv : !x, [4, 8] f32
  %a = attn.sdpa %qr, %kr, %v ragged(%s : !seg) cache(%c : !cache) heads 2 kv_heads 1 scale 0.5 <ragged> {causal} : !x, !k, !k
  return %a : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!r = tensor<?x2xf32, #attn.shape<[rows, 2]>>
attn.weight @q : [8, 8] f32 = #weight.expr<file("q")>
attn.weight @k : [8, 8] f32 = #weight.expr<file("k")>
attn.weight @gate : [8, 8] f32 = #weight.expr<file("gate")>
attn.weight @up : [8, 8] f32 = #weight.expr<file("up")>

// An operation between them has another reader: query stays. Gate and up with
// one input are not attention projections.
// CHECK-LABEL: func.func @rotated_queries_with_another_reader(
// CHECK-COUNT-4: attn.linear
// CHECK-NOT: attn.slice
func.func @rotated_queries_with_another_reader(%x: !x, %r: !r, %s: !attn.ragged<rows, keys>) -> (!x, !x) {
  %wq = attn.get_weight @q : [8, 8] f32
  %wk = attn.get_weight @k : [8, 8] f32
  %wg = attn.get_weight @gate : [8, 8] f32
  %wu = attn.get_weight @up : [8, 8] f32
  %q = attn.linear %x, %wq : !x, [8, 8] f32
  %qr = attn.rope %q, %r heads 2 : !x, !r
  %k = attn.linear %x, %wk : !x, [8, 8] f32
  %a = attn.sdpa %qr, %k, %x ragged(%s : <rows, keys>) heads 2 kv_heads 2 scale 0.5 <ragged> {causal} : !x
  %g = attn.linear %a, %wg : !x, [8, 8] f32
  %u = attn.linear %a, %wu : !x, [8, 8] f32
  %y = attn.mul %g, %u : !x
  return %y, %qr : !x, !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!seg = !attn.ragged<rows, keys>
!cross = !attn.cache<heads 2, key 4, value 6, read_only 96>
attn.weight @cross.key.weight : [8, 8] f32 = #weight.expr<file("k")>
attn.weight @cross.value.weight : [12, 8] f32 = #weight.expr<file("v")>
attn.cache @c : !cross

// Operations that fill a cache also read one product.
// CHECK: attn.weight @"cross.key+value.weight" : [20, 8] f32 = #weight.expr<concat(0, file("k"), file("v"))>
// CHECK-LABEL: func.func @joins_key_and_value_of_an_append(
// CHECK: %[[P:.*]] = attn.linear
// CHECK: %[[K:.*]] = attn.slice %[[P]] axis 1 from 0 size 8
// CHECK: %[[V:.*]] = attn.slice %[[P]] axis 1 from 8 size 12
// CHECK: attn.append %{{.*}}, %[[K]], %[[V]]
func.func @joins_key_and_value_of_an_append(%x: !x, %s: !seg) {
  %wk = attn.get_weight @cross.key.weight : [8, 8] f32
  %k = attn.linear %x, %wk : !x, [8, 8] f32
  %wv = attn.get_weight @cross.value.weight : [12, 8] f32
  %v = attn.linear %x, %wv : !x, [12, 8] f32
  %c = attn.get_cache @c : !cross
  %y = attn.append %x, %k, %v ragged(%s : !seg) cache(%c : !cross) : !x, !x, [rows, 12] f32
  return
}

// RUN: transom-opt %s --attn-outline-layers --split-input-file | FileCheck %s

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!qkv = tensor<?x24xf32, #attn.shape<[rows, 24]>>
!r = tensor<?x2xf32, #attn.shape<[rows, 2]>>
!seg = !attn.ragged<rows, keys>
!w = tensor<24x8xf32>
!b = tensor<24xf32>

// The second layer halves its scores: its query's rows do instead, behind the
// rotation too, and both layers are one body.
// CHECK: moved a scale of its own into the query's weight
// CHECK: attn.weight @w0 : tensor<24x8xf32> = "file(\22w0\22)"
// CHECK: attn.weight @w1 : tensor<24x8xf32> = "concat(0, scale(slice(file(\22w1\22), 0, 0, 8), 0.5), slice(file(\22w1\22), 0, 8, 16))"
// CHECK: attn.weight @b1 : tensor<24xf32> = "concat(0, scale(slice(file(\22b1\22), 0, 0, 8), 0.5), slice(file(\22b1\22), 0, 8, 16))"
attn.weight @w0 : !w = "file(\"w0\")"
attn.weight @b0 : !b = "file(\"b0\")"
attn.weight @w1 : !w = "file(\"w1\")"
attn.weight @b1 : !b = "file(\"b1\")"

// CHECK-LABEL: func.func @scales_by_layer(
// CHECK: attn.layers %{{.*}} [#attn.row<@layer, [@w0, @b0]>, #attn.row<@layer, [@w1, @b1]>]
// CHECK: func.func private @layer(
// CHECK: attn.sdpa {{.*}} scale 5.000000e-01
func.func @scales_by_layer(%x: !x, %s: !seg, %r: !r) -> !x {
  %w0 = attn.get_weight @w0 : !w
  %b0 = attn.get_weight @b0 : !b
  %p0 = attn.linear %x, %w0, %b0 : (!x, !w, !b) -> !qkv
  %q0 = attn.slice %p0 axis 1 from 0 size "8" : (!qkv) -> !x
  %k0 = attn.slice %p0 axis 1 from 8 size "8" : (!qkv) -> !x
  %v0 = attn.slice %p0 axis 1 from 16 size "8" : (!qkv) -> !x
  %t0 = attn.rope %q0, %r heads 2 : (!x, !r) -> !x
  %y0 = attn.sdpa %t0, %k0, %v0 ragged %s heads 2 kv_heads 2 scale 0.5 <ragged> {causal} : (!x, !x, !x, !seg) -> !x
  %w1 = attn.get_weight @w1 : !w
  %b1 = attn.get_weight @b1 : !b
  %p1 = attn.linear %y0, %w1, %b1 : (!x, !w, !b) -> !qkv
  %q1 = attn.slice %p1 axis 1 from 0 size "8" : (!qkv) -> !x
  %k1 = attn.slice %p1 axis 1 from 8 size "8" : (!qkv) -> !x
  %v1 = attn.slice %p1 axis 1 from 16 size "8" : (!qkv) -> !x
  %t1 = attn.rope %q1, %r heads 2 : (!x, !r) -> !x
  %y1 = attn.sdpa %t1, %k1, %v1 ragged %s heads 2 kv_heads 2 scale 0.25 <ragged> {causal} : (!x, !x, !x, !seg) -> !x
  return %y1 : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!seg = !attn.ragged<rows, keys>
!w = tensor<8x8xf32>
attn.weight @w : !w = "file(\"w\")"

// One weight for both: it cannot be scaled for one. Other attributes differ
// beside the scale: no reason to touch it.
// CHECK: reason = "a scale of its own, and a query that is no product
// CHECK: attn.weight @w : tensor<8x8xf32> = "file(\22w\22)"
// CHECK-LABEL: func.func @keeps_scales(
// CHECK: attn.sdpa {{.*}} scale 5.000000e-01
// CHECK: attn.sdpa {{.*}} scale 2.500000e-01
// CHECK: attn.sdpa {{.*}} scale 1.250000e-01 {{.*}} window = 3
func.func @keeps_scales(%x: !x, %s: !seg) -> !x {
  %w = attn.get_weight @w : !w
  %q0 = attn.linear %x, %w : (!x, !w) -> !x
  %y0 = attn.sdpa %q0, %x, %x ragged %s heads 2 kv_heads 2 scale 0.5 <ragged> {causal} : (!x, !x, !x, !seg) -> !x
  %q1 = attn.linear %y0, %w : (!x, !w) -> !x
  %y1 = attn.sdpa %q1, %y0, %y0 ragged %s heads 2 kv_heads 2 scale 0.25 <ragged> {causal} : (!x, !x, !x, !seg) -> !x
  %y2 = attn.sdpa %y1, %y1, %y1 ragged %s heads 2 kv_heads 2 scale 0.125 <ragged> {causal, window = 3 : i64} : (!x, !x, !x, !seg) -> !x
  return %y2 : !x
}

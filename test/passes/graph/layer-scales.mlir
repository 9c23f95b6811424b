// RUN: transom-opt %s --attn-outline-layers --split-input-file | FileCheck %s

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!qkv = tensor<?x24xf32, #attn.shape<[rows, 24]>>
!r = tensor<?x2xf32, #attn.shape<[rows, 2]>>
!seg = !attn.ragged<rows, keys>
!w = tensor<24x8xf32>
!b = tensor<24xf32>

// The second layer halves its scores: its query's rows do instead, through the
// rope, and both layers are one body.
// CHECK: args = {common = "0.5", factor = "0.5", scale = "0.25"}, category = "attn-outline-layers"{{[^{}]*}}kind = "passed"{{[^{}]*}}name = "attention-scale-moved"
// CHECK: attn.weight @w0 : [24, 8] f32 = #weight.expr<file("w0")>
// CHECK: attn.weight @w1 : [24, 8] f32 = #weight.expr<concat(0, scale(slice(file("w1"), 0, 0, 8), 0.5), slice(file("w1"), 0, 8, 16))>
// CHECK: attn.weight @b1 : [24] f32 = #weight.expr<concat(0, scale(slice(file("b1"), 0, 0, 8), 0.5), slice(file("b1"), 0, 8, 16))>
attn.weight @w0 : !w = #weight.expr<file("w0")>
attn.weight @b0 : !b = #weight.expr<file("b0")>
attn.weight @w1 : !w = #weight.expr<file("w1")>
attn.weight @b1 : !b = #weight.expr<file("b1")>

// CHECK-LABEL: func.func @scales_by_layer(
// CHECK: attn.layers %{{.*}} [@layer(@w0, @b0), @layer(@w1, @b1)]
// CHECK: func.func private @layer(
// CHECK: attn.sdpa {{.*}} scale 5.000000e-01
func.func @scales_by_layer(%x: !x, %s: !seg, %r: !r) -> !x {
  %w0 = attn.get_weight @w0 : !w
  %b0 = attn.get_weight @b0 : !b
  %p0 = attn.linear %x, %w0, %b0 : !x, !w, !b
  %q0 = attn.slice %p0 axis 1 from 0 size 8 : !qkv
  %k0 = attn.slice %p0 axis 1 from 8 size 8 : !qkv
  %v0 = attn.slice %p0 axis 1 from 16 size 8 : !qkv
  %t0 = attn.rope %q0, %r heads 2 : !x, !r
  %y0 = attn.sdpa %t0, %k0, %v0 ragged(%s : !seg) heads 2 kv_heads 2 scale 0.5 <ragged> {causal} : !x
  %w1 = attn.get_weight @w1 : !w
  %b1 = attn.get_weight @b1 : !b
  %p1 = attn.linear %y0, %w1, %b1 : !x, !w, !b
  %q1 = attn.slice %p1 axis 1 from 0 size 8 : !qkv
  %k1 = attn.slice %p1 axis 1 from 8 size 8 : !qkv
  %v1 = attn.slice %p1 axis 1 from 16 size 8 : !qkv
  %t1 = attn.rope %q1, %r heads 2 : !x, !r
  %y1 = attn.sdpa %t1, %k1, %v1 ragged(%s : !seg) heads 2 kv_heads 2 scale 0.25 <ragged> {causal} : !x
  return %y1 : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!seg = !attn.ragged<rows, keys>
!w = tensor<8x8xf32>
attn.weight @w : !w = #weight.expr<file("w")>

// One weight for both: it cannot be scaled for one. Other attributes than the
// scale differ: no reason to change it.
// CHECK: args = {common = "0.5", query = "'attn.linear'", scale = "0.25"}, category = "attn-outline-layers"{{[^{}]*}}name = "attention-scale-stays"
// CHECK: attn.weight @w : [8, 8] f32 = #weight.expr<file("w")>
// CHECK-LABEL: func.func @keeps_scales(
// CHECK: attn.sdpa {{.*}} scale 5.000000e-01
// CHECK: attn.sdpa {{.*}} scale 2.500000e-01
// CHECK: attn.sdpa {{.*}} scale 1.250000e-01 {{.*}} window = 3
func.func @keeps_scales(%x: !x, %s: !seg) -> !x {
  %w = attn.get_weight @w : !w
  %q0 = attn.linear %x, %w : !x, !w
  %y0 = attn.sdpa %q0, %x, %x ragged(%s : !seg) heads 2 kv_heads 2 scale 0.5 <ragged> {causal} : !x
  %q1 = attn.linear %y0, %w : !x, !w
  %y1 = attn.sdpa %q1, %y0, %y0 ragged(%s : !seg) heads 2 kv_heads 2 scale 0.25 <ragged> {causal} : !x
  %y2 = attn.sdpa %y1, %y1, %y1 ragged(%s : !seg) heads 2 kv_heads 2 scale 0.125 <ragged> {causal, window = 3 : i64} : !x
  return %y2 : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!kq = tensor<?x16xf32, #attn.shape<[rows, 16]>>
!seg = !attn.ragged<rows, keys>
!w = tensor<16x8xf32>
attn.weight @w : !w = #weight.expr<file("w")>

// The query's rows are the last in the weight, directly after the key rows.
// CHECK: attn.weight @w : [16, 8] f32 = #weight.expr<concat(0, slice(file("w"), 0, 0, 8), scale(slice(file("w"), 0, 8, 8), 0.5))>
// CHECK-LABEL: func.func @query_after_keys(
// CHECK-COUNT-2: attn.sdpa {{.*}} scale 5.000000e-01
func.func @query_after_keys(%x: !x, %s: !seg) -> !x {
  %w = attn.get_weight @w : !w
  %y0 = attn.sdpa %x, %x, %x ragged(%s : !seg) heads 2 kv_heads 2 scale 0.5 <ragged> {causal} : !x
  %p = attn.linear %y0, %w : !x, !w
  %k = attn.slice %p axis 1 from 0 size 8 : !kq
  %q = attn.slice %p axis 1 from 8 size 8 : !kq
  %y1 = attn.sdpa %q, %k, %y0 ragged(%s : !seg) heads 2 kv_heads 2 scale 0.25 <ragged> {causal} : !x
  return %y1 : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!wide = tensor<?x12xf32, #attn.shape<[rows, 12]>>
!seg = !attn.ragged<rows, keys>
!w = tensor<12x8xf32>
attn.weight @w : !w = #weight.expr<file("w")>

// Keys and query have four columns in common; a query that no product gives; a product that something reads as a whole.
// CHECK-COUNT-3: name = "attention-scale-stays"
// CHECK: attn.weight @w : [12, 8] f32 = #weight.expr<file("w")>
// CHECK: attn.weight @v : [12, 8] f32 = #weight.expr<file("v")>
attn.weight @v : !w = #weight.expr<file("v")>
// CHECK-LABEL: func.func @columns_in_common(
// CHECK: attn.sdpa {{.*}} scale 2.500000e-01
func.func @columns_in_common(%x: !x, %s: !seg) -> !x {
  %w = attn.get_weight @w : !w
  %y0 = attn.sdpa %x, %x, %x ragged(%s : !seg) heads 2 kv_heads 2 scale 0.5 <ragged> {causal} : !x
  %p = attn.linear %y0, %w : !x, !w
  %q = attn.slice %p axis 1 from 0 size 8 : !wide
  %k = attn.slice %p axis 1 from 4 size 8 : !wide
  %y1 = attn.sdpa %q, %k, %y0 ragged(%s : !seg) heads 2 kv_heads 2 scale 0.25 <ragged> {causal} : !x
  return %y1 : !x
}

// CHECK-LABEL: func.func @query_of_an_input(
// CHECK: attn.sdpa {{.*}} scale 2.500000e-01
func.func @query_of_an_input(%x: !x, %p: !wide, %s: !seg) -> !x {
  %y0 = attn.sdpa %x, %x, %x ragged(%s : !seg) heads 2 kv_heads 2 scale 0.5 <ragged> {causal} : !x
  %q = attn.slice %p axis 1 from 0 size 8 : !wide
  %y1 = attn.sdpa %q, %y0, %y0 ragged(%s : !seg) heads 2 kv_heads 2 scale 0.25 <ragged> {causal} : !x
  return %y1 : !x
}

// CHECK-LABEL: func.func @whole_product_is_read(
// CHECK: attn.sdpa {{.*}} scale 2.500000e-01
func.func @whole_product_is_read(%x: !x, %s: !seg) -> (!x, !wide) {
  %w = attn.get_weight @v : !w
  %y0 = attn.sdpa %x, %x, %x ragged(%s : !seg) heads 2 kv_heads 2 scale 0.5 <ragged> {causal} : !x
  %p = attn.linear %y0, %w : !x, !w
  %q = attn.slice %p axis 1 from 0 size 8 : !wide
  %y1 = attn.sdpa %q, %y0, %y0 ragged(%s : !seg) heads 2 kv_heads 2 scale 0.25 <ragged> {causal} : !x
  return %y1, %p : !x, !wide
}

// RUN: transom-opt %s --transom-kern | FileCheck %s
// RUN: transom-opt %s --convert-attn-to-kern | FileCheck %s --check-prefix=CONVERT

!ids = tensor<?xi64, #attn.shape<[rows]>>
!wanted = tensor<?xi64, #attn.shape<[wanted]>>
!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!r = tensor<?x4xf32, #attn.shape<[rows, 4]>>
!f = tensor<?x16xf32, #attn.shape<[rows, 16]>>
!y = tensor<?x8xf32, #attn.shape<[wanted, 8]>>
!logits = tensor<?x50xf32, #attn.shape<[wanted, 50]>>
!w = tensor<8x8xf32>
!g = tensor<8xf32>
!seg = !attn.ragged<rows, keys>
!cache = !attn.cache<heads 2, key 4, value 4>

// Two layers of a decoder with a tied table: each has six phases, the first
// norm of the second is made by the last product of the first, and the table is
// stored once, in panels.
// CHECK: kern.weight @angles : !kern.weight<[257, 4] x f32, rows> = "angles(100, 1.0, [1.0, 0.1])"
// CHECK: kern.weight @table : !kern.weight<[50, 8] x f32, panels32>
// CHECK-NOT: [50, 8]
// CHECK: kern.cache @c0 : !kern.cache<heads 2, key 4, value 4, f32> {group = 0 : i64, offset = 0 : i64}
// CHECK: kern.cache @c1 : !kern.cache<heads 2, key 4, value 4, f32> {group = 0 : i64, offset = 16384 : i64}
// CHECK-LABEL: func.func @step(
// CHECK-SAME: transom.context = 100 : i64
// CHECK: kern.layers %{{.*}} {{\[}}[@layer, @n1, {{.*}}, @c0, {{.*}}], [@layer, @n, {{.*}}, @c1, {{.*}}]]
// CHECK: kern.phase "step.2.gather"
// CHECK-NEXT: kern.gather
// CHECK: kern.phase "step.3.gemm"
// CHECK-LABEL: func.func private @layer(
// CHECK: kern.phase "layer.0.{{.*}}" {
// CHECK: kern.gemm
// CHECK: kern.phase "layer.1.{{.*}}" {
// CHECK: kern.rope
// CHECK: kern.rope
// CHECK: kern.append
// CHECK: kern.phase "layer.2.attention" {
// CHECK: kern.phase "layer.3.gemm" {
// CHECK: rms_norm
// CHECK: kern.phase "layer.4.gemm" {
// CHECK: epilogue <glu silu>
// CHECK: kern.phase "layer.5.gemm" {
// CHECK: rms_norm
// CHECK-NOT: kern.phase

// CONVERT-LABEL: func.func @step(
// CONVERT: %[[S:.*]] = kern.decode_batch {keys = "keys", rows = "rows"} : <0>
// CONVERT: kern.columns %[[S]] outs(%[[P:.*]]) :
// CONVERT: %[[A:.*]] = kern.get_weight @angles
// CONVERT: kern.rope_table %[[P]], %[[A]] outs(%[[R:.*]]) :
// CONVERT: kern.layers %{{.*}} invariants(%[[S]], %[[R]] :
// CONVERT-LABEL: func.func private @layer(
// CONVERT-SAME: %[[C:[a-z0-9]*]]: !kern.cache<heads 2, key 4, value 4, f32>
// CONVERT: kern.rope %{{.*}}, %{{.*}} outs(%[[Q:.*]]) heads 2 {interleaved}
// CONVERT: kern.rope %{{.*}}, %{{.*}} outs(%[[K:.*]]) heads 2 :
// CONVERT: kern.append %[[K]], %{{.*}} ragged %{{.*}} cache %[[C]]
// CONVERT: kern.attention %[[Q]] ragged %{{.*}}, %{{.*}} cache %[[C]] slopes %{{.*}} scratch
// CONVERT-SAME: {causal}
module attributes {attn.symbols = {keys = {max = -1 : i64}, rows = {max = -1 : i64}, wanted = {max = -1 : i64}}} {
attn.weight @table : tensor<50x8xf32> = "file(\"table\")"
attn.weight @n0 : !g = "file(\"n0\")"
attn.weight @n1 : !g = "file(\"n1\")"
attn.weight @m : !g = "file(\"m\")"
attn.weight @n : !g = "file(\"n\")"
attn.weight @q : !w = "file(\"q\")"
attn.weight @k : !w = "file(\"k\")"
attn.weight @v : !w = "file(\"v\")"
attn.weight @o : !w = "file(\"o\")"
attn.weight @al : tensor<2xf32> = "file(\"al\")"
attn.weight @g0 : tensor<16x8xf32> = "file(\"g0\")"
attn.weight @u0 : tensor<16x8xf32> = "file(\"u0\")"
attn.weight @g1 : tensor<16x8xf32> = "file(\"g1\")"
attn.weight @u1 : tensor<16x8xf32> = "file(\"u1\")"
attn.weight @d : tensor<8x16xf32> = "file(\"d\")"
attn.cache @c0 : !cache
attn.cache @c1 : !cache

func.func @step(%tokens: !ids {attn.name = "tokens"}, %wanted: !wanted {attn.name = "wanted"}) -> (!logits {attn.name = "logits"}) attributes {transom.context = 100 : i64} {
  %s = attn.decode_batch : !seg
  %t = attn.get_weight @table : tensor<50x8xf32>
  %x = attn.embedding %tokens, %t : (!ids, tensor<50x8xf32>) -> !x
  %p = attn.position <column> %tokens ragged %s : (!ids, !seg) -> !ids
  %r = attn.rope_table %p {frequencies = array<f64: 1.0, 0.1>, limit = 100 : i64} : (!ids) -> !r
  %h = attn.layers %x invariants(%s, %r : !seg, !r) [#attn.row<@layer, [@n0, @q, @k, @v, @c0, @al, @o, @m, @g0, @u0, @d]>, #attn.row<@layer, [@n1, @q, @k, @v, @c1, @al, @o, @m, @g1, @u1, @d]>] : !x -> !x
  %y = attn.gather %h, %wanted : (!x, !wanted) -> !y
  %n = attn.get_weight @n : !g
  %z = attn.rms_norm %y, %n eps 1.0e-5 : (!y, !g) -> !y
  %l = attn.linear %z, %t : (!y, tensor<50x8xf32>) -> !logits
  return %l : !logits
}
func.func private @layer(%x: !x, %s: !seg, %r: !r, %n0: !g, %wq: !w, %wk: !w, %wv: !w, %c: !cache, %al: tensor<2xf32>, %wo: !w, %m: !g,
                         %wg: tensor<16x8xf32>, %wu: tensor<16x8xf32>, %wd: tensor<8x16xf32>) -> !x {
  %n = attn.rms_norm %x, %n0 eps 1.0e-5 : (!x, !g) -> !x
  %q0 = attn.linear %n, %wq : (!x, !w) -> !x
  %k0 = attn.linear %n, %wk : (!x, !w) -> !x
  %v = attn.linear %n, %wv : (!x, !w) -> !x
  %q = attn.rope %q0, %r heads 2 {interleaved} : (!x, !r) -> !x
  %k = attn.rope %k0, %r heads 2 : (!x, !r) -> !x
  %a = attn.sdpa %q, %k, %v ragged %s cache %c slopes %al heads 2 kv_heads 2 scale 0.5 <ragged> {causal} : (!x, !x, !x, !seg, !cache, tensor<2xf32>) -> !x
  %o = attn.linear %a, %wo : (!x, !w) -> !x
  %h = attn.add %x, %o : (!x, !x) -> !x
  %b = attn.rms_norm %h, %m eps 1.0e-5 : (!x, !g) -> !x
  %g = attn.linear %b, %wg : (!x, tensor<16x8xf32>) -> !f
  %u = attn.linear %b, %wu : (!x, tensor<16x8xf32>) -> !f
  %e = attn.activation <silu> %g : (!f) -> !f
  %f = attn.mul %e, %u : (!f, !f) -> !f
  %d = attn.linear %f, %wd : (!f, tensor<8x16xf32>) -> !x
  %y = attn.add %h, %d : (!x, !x) -> !x
  return %y : !x
}
}

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

// Two decoder layers with a tied table: each has six phases, the last GEMM in
// the first layer makes the first norm for the second, and the table is stored
// once, in panels.
// CHECK: kern.weight @angles : !kern.weight<[257, 4] x f32, rows> = #weight.expr<angles(100, 1.0, [1.0, 0.1])>
// CHECK: kern.weight @table : !kern.weight<[50, 8] x f32, panels32>
// CHECK-NOT: [50, 8]
// CHECK: kern.cache @c0 : !kern.cache<heads 2, key 4, value 4, f32> {group = 0 : i64, offset = 0 : i64}
// CHECK: kern.cache @c1 : !kern.cache<heads 2, key 4, value 4, f32> {group = 0 : i64, offset = 16384 : i64}
// CHECK-LABEL: func.func @step(
// CHECK-SAME: transom.context = 100 : i64
// CHECK: kern.layers %{{.*}} [@layer(@n1, {{.*}}, @c0, {{.*}}), @layer(@n, {{.*}}, @c1, {{.*}})]
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
// CONVERT-NEXT: heads {{.*}} {causal}
module attributes {attn.symbols = {keys = {max = -1 : i64}, rows = {max = -1 : i64}, wanted = {max = -1 : i64}}} {
attn.weight @table : [50, 8] f32 = #weight.expr<file("table")>
attn.weight @n0 : !g = #weight.expr<file("n0")>
attn.weight @n1 : !g = #weight.expr<file("n1")>
attn.weight @m : !g = #weight.expr<file("m")>
attn.weight @n : !g = #weight.expr<file("n")>
attn.weight @q : !w = #weight.expr<file("q")>
attn.weight @k : !w = #weight.expr<file("k")>
attn.weight @v : !w = #weight.expr<file("v")>
attn.weight @o : !w = #weight.expr<file("o")>
attn.weight @al : [2] f32 = #weight.expr<file("al")>
attn.weight @g0 : [16, 8] f32 = #weight.expr<file("g0")>
attn.weight @u0 : [16, 8] f32 = #weight.expr<file("u0")>
attn.weight @g1 : [16, 8] f32 = #weight.expr<file("g1")>
attn.weight @u1 : [16, 8] f32 = #weight.expr<file("u1")>
attn.weight @d : [8, 16] f32 = #weight.expr<file("d")>
attn.cache @c0 : !cache
attn.cache @c1 : !cache

func.func @step(%tokens: !ids {attn.name = "tokens"}, %wanted: !wanted {attn.name = "wanted"}) -> (!logits {attn.name = "logits"}) attributes {transom.context = 100 : i64} {
  %s = attn.decode_batch : !seg
  %t = attn.get_weight @table : [50, 8] f32
  %x = attn.embedding %tokens, %t : !ids, [50, 8] f32
  %p = attn.position <column> %tokens ragged(%s : !seg) : !ids
  %r = attn.rope_table %p {frequencies = array<f64: 1.0, 0.1>, limit = 100 : i64} : !ids
  %h = attn.layers %x invariants(%s, %r : !seg, !r) [@layer(@n0, @q, @k, @v, @c0, @al, @o, @m, @g0, @u0, @d), @layer(@n1, @q, @k, @v, @c1, @al, @o, @m, @g1, @u1, @d)] : !x
  %y = attn.gather %h, %wanted : !x, !wanted
  %n = attn.get_weight @n : !g
  %z = attn.rms_norm %y, %n eps 1.0e-5 : !y, !g
  %l = attn.linear %z, %t : !y, [50, 8] f32
  return %l : !logits
}
func.func private @layer(%x: !x, %s: !seg, %r: !r, %n0: !g, %wq: !w, %wk: !w, %wv: !w, %c: !cache, %al: tensor<2xf32>, %wo: !w, %m: !g,
                         %wg: tensor<16x8xf32>, %wu: tensor<16x8xf32>, %wd: tensor<8x16xf32>) -> !x {
  %n = attn.rms_norm %x, %n0 eps 1.0e-5 : !x, !g
  %q0 = attn.linear %n, %wq : !x, !w
  %k0 = attn.linear %n, %wk : !x, !w
  %v = attn.linear %n, %wv : !x, !w
  %q = attn.rope %q0, %r heads 2 {interleaved} : !x, !r
  %k = attn.rope %k0, %r heads 2 : !x, !r
  %a = attn.sdpa %q, %k, %v ragged(%s : !seg) cache(%c : !cache) slopes(%al : [2] f32) heads 2 kv_heads 2 scale 0.5 <ragged> {causal} : !x
  %o = attn.linear %a, %wo : !x, !w
  %h = attn.add %x, %o : !x
  %b = attn.rms_norm %h, %m eps 1.0e-5 : !x, !g
  %g = attn.linear %b, %wg : !x, [16, 8] f32
  %u = attn.linear %b, %wu : !x, [16, 8] f32
  %e = attn.activation <silu> %g : !f
  %f = attn.mul %e, %u : !f
  %d = attn.linear %f, %wd : !f, [8, 16] f32
  %y = attn.add %h, %d : !x
  return %y : !x
}
}

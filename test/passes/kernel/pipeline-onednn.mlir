// RUN: transom-opt %s --pass-pipeline="builtin.module(transom-kern{backend=onednn})" | FileCheck %s

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!w = tensor<8x8xf32>
!seg = !attn.ragged<rows, keys>
!m = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!wide = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>

// Weights for calls are in rows, a native kernel makes key panels from a GEMM's
// rows, and each call has its own phase.
// CHECK: kern.weight @q : !kern.weight<[8, 8] x f32, rows>
// CHECK-LABEL: func.func @encode(
// CHECK: kern.phase "encode.1.onednn_matmul" {
// CHECK-NEXT: kern.onednn <matmul> %[[X:.*]] weights(%{{.*}}) outs(%[[Q:.*]]) :
// CHECK-NEXT: }
// CHECK-NEXT: kern.phase "encode.2.onednn_matmul" {
// CHECK-NEXT: kern.onednn <matmul> %[[X]] weights(%{{.*}}) outs(%[[R:.*]]) :
// CHECK-NEXT: }
// CHECK-NEXT: kern.phase "encode.3.pack_keys" {
// CHECK-NEXT: kern.pack_keys %[[R]] ragged %{{.*}} outs(%[[K:.*]]) :
// CHECK-NEXT: }
// CHECK-NEXT: kern.phase "encode.4.attention" {
// CHECK-NEXT: kern.attention %[[Q]], %[[K]], %[[X]]
// CHECK: kern.phase "encode.5.onednn_layer_norm" {
// CHECK-NEXT: kern.onednn <layer_norm>{{.*}}
// CHECK-NEXT: }
// CHECK-NEXT: kern.phase "encode.6.scatter_rows" {
attn.weight @q : !w = #weight.expr<file("q")>
attn.weight @k : !w = #weight.expr<file("k")>
attn.weight @g : [8] f32 = #weight.expr<file("g")>

func.func @encode(%x: !wide {attn.name = "x", attn.role = "data"}, %mask: !m {attn.name = "mask", attn.role = "mask"}) -> (!wide {attn.name = "y"}) {
  %seen = attn.cast %mask to i1 : !m
  %s = attn.ragged_batch %seen : [batch, seq] i1 -> !seg
  %r = attn.gather_rows %x, %s : !wide, !seg
  %wq = attn.get_weight @q : !w
  %q = attn.linear %r, %wq : !x, !w
  %wk = attn.get_weight @k : !w
  %k = attn.linear %r, %wk : !x, !w
  %a = attn.sdpa %q, %k, %r ragged(%s : !seg) heads 2 kv_heads 2 scale 0.5 <ragged> : !x
  %g = attn.get_weight @g : [8] f32
  %n = attn.layer_norm %a, %g, %g eps 1.0e-5 : !x, [8] f32, [8] f32
  %y = attn.scatter_rows %n, %s to batch x seq : !x, !seg
  return %y : !wide
}

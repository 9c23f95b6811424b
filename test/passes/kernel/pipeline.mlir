// RUN: transom-opt %s --transom-kern | FileCheck %s

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!p = tensor<?x24xf32, #attn.shape<[rows, 24]>>
!w = tensor<8x8xf32>
!seg = !attn.ragged<rows, keys>
!m = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!b = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!wide = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>

// One post-norm layer: projections write heads and key panels, the norm joins
// its product, and all barriers are between the phases.
// CHECK: kern.weight @qkv : !kern.weight<[24, 8] x f32, panels32, splits [8, 8, 8]> = #weight.expr<file("qkv")> {offset = 0 : i64}
// CHECK-LABEL: func.func @encode(
// CHECK-SAME: kern.arena_bytes = "{{[^"]+}}", kern.arena_lower_bound = "{{[^"]+}}", kern.buffers = [
// CHECK: %[[W:.*]] = kern.get_weight @qkv
// CHECK: kern.phase "encode.0.{{.*}}" {
// CHECK: kern.gather_rows %{{.*}} ragged %[[S:.*]] outs(%[[X:.*]]) :
// CHECK: kern.phase "encode.1.gemm" {
// CHECK-NEXT: kern.gemm %[[X]], %[[W]] ragged %[[S]] outs(%[[Q:.*]], %[[K:.*]], %[[V:.*]])
// CHECK-NEXT: :{{.*}}
// CHECK-NEXT: }
// CHECK-NEXT: kern.phase "encode.2.attention" {
// CHECK-NEXT: kern.attention %[[Q]], %[[K]], %[[V]]
// CHECK-SAME: outs(%[[A:[^)]*]]){{.*}}
// CHECK-NEXT: heads {{.*}}
// CHECK-NEXT: :{{.*}}
// CHECK-NEXT: }
// CHECK-NEXT: kern.phase "encode.3.gemm" {
// CHECK-NEXT: kern.gemm %[[A]], %{{.*}} residual %[[X]]
// CHECK-NEXT: norm %{{.*}} norm_out %[[N:.*]] counters %{{.*}} outs(%{{.*}}) epilogue <layer_norm{{.*}}
// CHECK-NEXT: :{{.*}}
// CHECK-NEXT: }
// CHECK-NEXT: kern.phase "encode.4.scatter_rows" {
// CHECK-NEXT: kern.scatter_rows %[[N]]{{.*}}
// CHECK-NEXT: }
// CHECK-NEXT: return
attn.weight @qkv : [24, 8] f32 = #weight.expr<file("qkv")>
attn.weight @o : !w = #weight.expr<file("o")>
attn.weight @g : [8] f32 = #weight.expr<file("g")>

func.func @encode(%x: !wide {attn.name = "x", attn.role = "data"}, %mask: !m {attn.name = "mask", attn.role = "mask"}) -> (!wide {attn.name = "y"}) {
  %seen = attn.cast %mask to i1 : !m
  %s = attn.ragged_batch %seen : !b -> !seg
  %r = attn.gather_rows %x, %s : !wide, !seg
  %w = attn.get_weight @qkv : [24, 8] f32
  %p = attn.linear %r, %w : !x, [24, 8] f32
  %q = attn.slice %p axis 1 from 0 size 8 : !p
  %k = attn.slice %p axis 1 from 8 size 8 : !p
  %v = attn.slice %p axis 1 from 16 size 8 : !p
  %a = attn.sdpa %q, %k, %v ragged(%s : !seg) heads 2 kv_heads 2 scale 0.5 <ragged> : !x
  %wo = attn.get_weight @o : !w
  %d = attn.linear %a, %wo : !x, !w
  %sum = attn.add %d, %r : !x
  %g = attn.get_weight @g : [8] f32
  %n = attn.layer_norm %sum, %g, %g eps 1.0e-5 : !x, [8] f32, [8] f32
  %y = attn.scatter_rows %n, %s to batch x seq : !x, !seg
  return %y : !wide
}

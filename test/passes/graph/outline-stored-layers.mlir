// RUN: transom-opt %s --attn-outline-layers | FileCheck %s

!x = tensor<?x64xf32, #attn.shape<[rows, 64]>>
!w = tensor<64x64xf32>

attn.weight @a0 : !w = #weight.expr<file("a0", i8, 32, 64)>
attn.weight @a1 : !w = #weight.expr<file("a1", i8, 32, 64)>
attn.weight @a2 : !w = #weight.expr<file("a2")>
attn.weight @a3 : !w = #weight.expr<file("a3")>

// Layers whose weights get other formats have another body.
// CHECK-LABEL: func.func @formats_differ(
// CHECK: %[[Y:.*]] = attn.layers %{{.*}} [@[[FIRST:.*]](@a0), @[[FIRST]](@a1)]
// CHECK: attn.layers %[[Y]] {{.*}}[@[[SECOND:.*]](@a2), @[[SECOND]](@a3)]
func.func @formats_differ(%x: !x) -> !x {
  %w0 = attn.get_weight @a0 : !w
  %p0 = attn.linear %x, %w0 : !x, !w loc("layer.0.dense")
  %y0 = attn.add %p0, %x : !x loc("layer.0.add")
  %w1 = attn.get_weight @a1 : !w
  %p1 = attn.linear %y0, %w1 : !x, !w loc("layer.1.dense")
  %y1 = attn.add %p1, %y0 : !x loc("layer.1.add")
  %w2 = attn.get_weight @a2 : !w
  %p2 = attn.linear %y1, %w2 : !x, !w loc("layer.2.dense")
  %y2 = attn.add %p2, %y1 : !x loc("layer.2.add")
  %w3 = attn.get_weight @a3 : !w
  %p3 = attn.linear %y2, %w3 : !x, !w loc("layer.3.dense")
  %y3 = attn.add %p3, %y2 : !x loc("layer.3.add")
  return %y3 : !x
}

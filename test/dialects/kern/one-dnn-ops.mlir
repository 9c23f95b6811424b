// Each kern.onednn primitive, printed and read again.
// RUN: transom-opt %s | transom-opt | FileCheck %s

!x = !kern.buffer<[rows, 8] x f32>
!y = !kern.buffer<[rows, 64] x f32>
!s = !kern.buffer<[batch, 2, seq, seq] x f32>
!v = !kern.buffer<[1, 2, seq, 8] x f32>
!o = !kern.buffer<[batch, 2, seq, 8] x f32>
!w = !kern.weight<[64, 8] x f32, rows>
!b = !kern.weight<[64] x f32, rows>
!g = !kern.weight<[8] x f32, unset>

// CHECK-LABEL: func.func @primitives(
func.func @primitives(%x: !x, %y: !y, %r: !y, %s: !s, %v: !v, %o: !o, %w: !w, %b: !b, %g: !g) {
  // CHECK: kern.phase "f.0" {
  // CHECK-NEXT: kern.onednn <matmul> %{{.*}} weights(%{{.*}}, %{{.*}}) residual %{{.*}} outs(%{{.*}}) activation <quick_gelu>
  kern.phase "f.0" {
    kern.onednn <matmul> %x weights(%w, %b) residual %r outs(%y) activation <quick_gelu> : !x, !w, !b, !y, !y
  }
  // CHECK: kern.onednn <matmul> %{{.*}} weights(%{{.*}}) residual %[[Y:.*]] outs(%[[Y]]) :
  kern.onednn <matmul> %x weights(%w) residual %y outs(%y) : !x, !w, !y, !y
  // CHECK: kern.onednn <batch_matmul> %{{.*}}, %{{.*}} outs(%{{.*}}) :
  kern.onednn <batch_matmul> %s, %v outs(%o) : !s, !v, !o
  // CHECK: kern.onednn <softmax> %[[S:.*]] outs(%[[S]]) :
  kern.onednn <softmax> %s outs(%s) : !s, !s
  // CHECK: kern.onednn <layer_norm> %{{.*}} weights(%{{.*}}, %{{.*}}) outs(%{{.*}}) {eps = 1.000000e-05 : f64} :
  kern.onednn <layer_norm> %x weights(%g, %g) outs(%x) {eps = 1.0e-5} : !x, !g, !g, !x
  return
}

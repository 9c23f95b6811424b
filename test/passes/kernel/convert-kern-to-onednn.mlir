// RUN: transom-opt %s --convert-kern-to-onednn | FileCheck %s
// RUN: transom-opt %s --convert-kern-to-onednn | FileCheck %s --check-prefix=REMARK

// REMARK: args = {operation = "'kern.gemm'"}{{[^{}]*}}function = "product_takes_bias_activation_and_residual_along"{{[^{}]*}}name = "converted-to-onednn"
// REMARK-SAME: function = "product_with_key_panels_stays"{{[^{}]*}}name = "onednn-of-key-panels"
// REMARK-SAME: outs = "2"}{{[^{}]*}}function = "product_with_several_outs_stays"{{[^{}]*}}name = "onednn-of-several-outs"
// REMARK-SAME: function = "product_with_a_norm_stays"{{[^{}]*}}name = "onednn-of-norm"
// REMARK-SAME: args = {activation = "rsqrt", operation = "'kern.gemm'"}{{[^{}]*}}function = "activation_that_onednn_lacks_stays"{{[^{}]*}}name = "onednn-lacks-activation"
// REMARK-SAME: function = "product_with_a_glu_stays"{{[^{}]*}}name = "onednn-of-glu"
// REMARK-SAME: args = {operation = "'kern.norm'"}{{[^{}]*}}function = "rms_norm_stays"{{[^{}]*}}name = "onednn-of-rms-norm"
// REMARK-SAME: type = "!kern.buffer<[rows, 8] x bf16>"}{{[^{}]*}}function = "norm_that_writes_bf16_stays"{{[^{}]*}}name = "onednn-of-other-buffers"
// REMARK-SAME: function = "product_that_summarizes_stays"{{[^{}]*}}name = "onednn-of-summary"
// REMARK-SAME: type = "bf16"}{{[^{}]*}}function = "product_with_a_bf16_weight_stays"{{[^{}]*}}name = "onednn-of-weight-type"
// REMARK-SAME: args = {operation = "'kern.batch_matmul'"}{{[^{}]*}}function = "product_in_place_stays"{{[^{}]*}}name = "onednn-in-place"
// REMARK-SAME: args = {limit = "8", operation = "'kern.softmax'", rank = "9"}{{[^{}]*}}function = "softmax_of_nine_dimensions_stays"{{[^{}]*}}name = "onednn-of-many-dimensions"

!x = !kern.buffer<[rows, 8] x f32>
!h = !kern.buffer<[rows, 8] x bf16>
!keys = !kern.buffer<[keys, 8] x f32, key_panels>
!a = !kern.buffer<[batch, 2, seq, 8] x f32>
!s = !kern.buffer<[batch, 2, seq, seq] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!p = !kern.weight<[16, 8] x f32, unset, splits [8, 8]>
!g = !kern.weight<[8] x f32, unset>

// CHECK-LABEL: func.func @product_takes_bias_activation_and_residual_along(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[rows, 8] x f32>, %[[R:[a-z0-9]*]]: !kern.buffer<[rows, 8] x f32>, %[[Y:[a-z0-9]*]]: !kern.buffer<[rows, 8] x f32>, %[[W:.*]]: !kern.weight<[8, 8] x f32, unset>, %[[B:.*]]: !kern.weight<[8] x f32, unset>)
// CHECK-NEXT: kern.onednn <matmul> %[[X]] weights(%[[W]], %[[B]]) residual %[[R]] outs(%[[Y]]) activation <gelu>
// CHECK-NEXT: return
func.func @product_takes_bias_activation_and_residual_along(%x: !x, %r: !x, %y: !x, %w: !w, %b: !g) {
  kern.gemm %x, %w bias %b residual %r outs(%y) epilogue <gelu> : !x, !w, !g, !x, !x
  return
}

// CHECK-LABEL: func.func @product_in_the_residuals_memory(
// CHECK-NEXT: kern.onednn <matmul> %[[X:.*]] weights(%{{.*}}) residual %[[Y:.*]] outs(%[[Y]]) :
func.func @product_in_the_residuals_memory(%x: !x, %y: !x, %w: !w) {
  kern.gemm %x, %w residual %y outs(%y) : !x, !w, !x, !x
  return
}

// CHECK-LABEL: func.func @products_of_activations_softmax_and_norms(
// CHECK-NEXT: kern.onednn <batch_matmul> %{{.*}}, %{{.*}} outs(%[[P:.*]]) :
// CHECK-NEXT: kern.onednn <softmax> %[[P]] outs(%{{.*}}) :
// CHECK-NEXT: kern.onednn <layer_norm> %[[X:.*]] weights(%[[G:.*]], %[[G]]) outs(%[[X]]) {eps = 1.000000e-05 : f64} :
// CHECK-NEXT: kern.onednn <layer_norm> %[[X]] weights(%[[G]]) outs(%[[X]]) {eps = 1.000000e-05 : f64} :
func.func @products_of_activations_softmax_and_norms(%p: !s, %q: !s, %v: !a, %k: !kern.buffer<[batch, 2, 8, seq] x f32>, %x: !x, %g: !g) {
  kern.batch_matmul %v, %k outs(%p) : !a, !kern.buffer<[batch, 2, 8, seq] x f32>, !s
  kern.softmax %p outs(%q) : !s, !s
  kern.norm %x, %g, %g outs(%x) eps 1.0e-5 : !x, !g, !g, !x
  kern.norm %x, %g outs(%x) eps 1.0e-5 : !x, !g, !x
  return
}

// CHECK-LABEL: func.func @product_with_key_panels_stays(
// CHECK-NEXT: kern.gemm
func.func @product_with_key_panels_stays(%x: !x, %k: !keys, %w: !w, %s: !kern.ragged<0>) {
  kern.gemm %x, %w ragged %s outs(%k) : !x, !w, !kern.ragged<0>, !keys
  return
}

// CHECK-LABEL: func.func @product_with_several_outs_stays(
// CHECK-NEXT: kern.gemm
func.func @product_with_several_outs_stays(%x: !x, %y: !x, %z: !x, %w: !p) {
  kern.gemm %x, %w outs(%y, %z) : !x, !p, !x, !x
  return
}

// CHECK-LABEL: func.func @product_with_a_norm_stays(
// CHECK-NEXT: kern.gemm
func.func @product_with_a_norm_stays(%x: !x, %y: !x, %z: !x, %w: !w, %g: !g, %c: !kern.buffer<[rows] x i64>) {
  kern.gemm %x, %w norm %g norm_out %z counters %c outs(%y) epilogue <layer_norm 1.0e-5> : !x, !w, !g, !x, !kern.buffer<[rows] x i64>, !x
  return
}

// CHECK-LABEL: func.func @activation_that_onednn_lacks_stays(
// CHECK-NEXT: kern.gemm
func.func @activation_that_onednn_lacks_stays(%x: !x, %y: !x, %w: !w) {
  kern.gemm %x, %w outs(%y) epilogue <rsqrt> : !x, !w, !x
  return
}

// CHECK-LABEL: func.func @product_with_a_glu_stays(
// CHECK: kern.gemm {{.*}} epilogue <glu silu>
func.func @product_with_a_glu_stays(%x: !x, %y: !x, %w: !kern.weight<[16, 8] x f32, unset>) {
  kern.gemm %x, %w outs(%y) epilogue <glu silu> : !x, !kern.weight<[16, 8] x f32, unset>, !x
  return
}

// CHECK-LABEL: func.func @rms_norm_stays(
// CHECK-NEXT: kern.norm
func.func @rms_norm_stays(%x: !x, %y: !x, %g: !g) {
  kern.norm %x, %g outs(%y) eps 1.0e-5 {rms} : !x, !g, !x
  return
}

// CHECK-LABEL: func.func @norm_that_writes_bf16_stays(
// CHECK-NEXT: kern.norm
func.func @norm_that_writes_bf16_stays(%x: !x, %y: !h, %g: !g) {
  kern.norm %x, %g outs(%y) eps 1.0e-5 : !x, !g, !h
  return
}

// CHECK-LABEL: func.func @product_that_summarizes_stays(
// CHECK-NEXT: kern.gemm
func.func @product_that_summarizes_stays(%x: !x, %y: !x, %m: !kern.buffer<[rows, 1] x f32>, %s: !kern.buffer<[rows, 1] x f32>, %w: !w) {
  kern.gemm %x, %w summary(%m, %s) outs(%y) : !x, !w, !kern.buffer<[rows, 1] x f32>, !kern.buffer<[rows, 1] x f32>, !x
  return
}

// CHECK-LABEL: func.func @product_with_a_bf16_weight_stays(
// CHECK-NEXT: kern.gemm
func.func @product_with_a_bf16_weight_stays(%x: !h, %y: !x, %w: !kern.weight<[8, 8] x bf16, unset>) {
  kern.gemm %x, %w outs(%y) : !h, !kern.weight<[8, 8] x bf16, unset>, !x
  return
}

// CHECK-LABEL: func.func @product_in_place_stays(
// CHECK-NEXT: kern.batch_matmul
func.func @product_in_place_stays(%p: !kern.buffer<[batch, 2, 8, 8] x f32>, %q: !kern.buffer<[batch, 2, 8, 8] x f32>) {
  kern.batch_matmul %p, %q outs(%p) : !kern.buffer<[batch, 2, 8, 8] x f32>, !kern.buffer<[batch, 2, 8, 8] x f32>, !kern.buffer<[batch, 2, 8, 8] x f32>
  return
}

// CHECK-LABEL: func.func @softmax_of_nine_dimensions_stays(
// CHECK-NEXT: kern.softmax
func.func @softmax_of_nine_dimensions_stays(%x: !kern.buffer<[1, 1, 1, 1, 1, 1, 1, rows, 8] x f32>, %y: !kern.buffer<[1, 1, 1, 1, 1, 1, 1, rows, 8] x f32>) {
  kern.softmax %x outs(%y) : !kern.buffer<[1, 1, 1, 1, 1, 1, 1, rows, 8] x f32>, !kern.buffer<[1, 1, 1, 1, 1, 1, 1, rows, 8] x f32>
  return
}

// CHECK-LABEL: func.func @softmax_of_eight_dimensions(
// CHECK-NEXT: kern.onednn <softmax>
func.func @softmax_of_eight_dimensions(%x: !kern.buffer<[1, 1, 1, 1, 1, 1, rows, 8] x f32>, %y: !kern.buffer<[1, 1, 1, 1, 1, 1, rows, 8] x f32>) {
  kern.softmax %x outs(%y) : !kern.buffer<[1, 1, 1, 1, 1, 1, rows, 8] x f32>, !kern.buffer<[1, 1, 1, 1, 1, 1, rows, 8] x f32>
  return
}

// CHECK-LABEL: func.func @softmax_of_one_dimension(
// CHECK-NEXT: kern.onednn <softmax>
func.func @softmax_of_one_dimension(%x: !kern.buffer<[8] x f32>, %y: !kern.buffer<[8] x f32>) {
  kern.softmax %x outs(%y) : !kern.buffer<[8] x f32>, !kern.buffer<[8] x f32>
  return
}

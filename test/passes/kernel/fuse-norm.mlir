// RUN: transom-opt %s --kern-fuse-norm | FileCheck %s
// RUN: transom-opt %s --kern-fuse-norm | FileCheck %s --check-prefix=REMARK

// REMARK: function = "norm_joins_the_product"{{[^{}]*}}name = "norm-joined-product"
// REMARK-SAME: args = {norm = "'kern.norm'", reader = "'kern.softmax'"}{{[^{}]*}}function = "norm_behind_another_reader_stays"{{[^{}]*}}name = "norm-after-other-reader"
// REMARK-SAME: args = {norm = "'kern.norm'"}{{[^{}]*}}function = "norm_in_the_product_s_place_stays"{{[^{}]*}}name = "norm-overwrites-product"
// REMARK-SAME: args = {input = "argument 0", norm = "'kern.norm'"}{{[^{}]*}}function = "norm_in_the_operand_s_place_stays"{{[^{}]*}}name = "norm-overwrites-input"
// REMARK-SAME: outs = "2"}{{[^{}]*}}function = "norm_of_one_of_several_outs_stays"{{[^{}]*}}name = "norm-of-several-outs"
// REMARK-SAME: function = "norm_of_a_gate_stays"{{[^{}]*}}name = "norm-of-glu"
// REMARK-SAME: function = "second_norm_stays"{{[^{}]*}}name = "product-has-norm"
// REMARK-SAME: function = "norm_of_summarized_rows_stays"{{[^{}]*}}name = "norm-of-summarized-rows"
// REMARK-SAME: type = "bf16"}{{[^{}]*}}function = "rounded_norm_stays"{{[^{}]*}}name = "norm-is-rounded"
// REMARK-SAME: writer = "'kern.softmax'"}{{[^{}]*}}function = "norm_behind_an_overwritten_input_stays"{{[^{}]*}}name = "input-is-overwritten-before-norm"

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!g = !kern.weight<[8] x f32, unset>

// Counters are cleared before anything else.
// CHECK-LABEL: func.func @norm_joins_the_product(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[rows, 8] x f32>, %[[Y:[a-z0-9]*]]: !kern.buffer<[rows, 8] x f32>, %[[W:.*]]: !kern.weight<[8, 8] x f32, unset>, %[[G:.*]]: !kern.weight<[8] x f32, unset>)
// CHECK-NEXT: %[[C:.*]] = kern.alloc : <[rows] x i64>
// CHECK-NEXT: kern.elementwise ins() outs(%[[C]])
// CHECK: %[[T:.*]] = kern.alloc : <[rows, 8] x f32>
// CHECK-NEXT: kern.gemm %[[X]], %[[W]] residual %[[X]]
// CHECK-NEXT: norm %[[G]] beta %[[G]] norm_out %[[Y]] counters %[[C]] outs(%[[T]]) epilogue <layer_norm 1.0e-05>
// CHECK-NEXT: :
// CHECK-NEXT: return
func.func @norm_joins_the_product(%x: !x, %y: !x, %w: !w, %g: !g) {
  %t = kern.alloc : !x
  kern.gemm %x, %w residual %x outs(%t) : !x, !w, !x, !x
  kern.norm %t, %g, %g outs(%y) eps 1.0e-5 : !x, !g, !g, !x
  return
}

// CHECK-LABEL: func.func @others_may_read_the_product_behind_the_norm(
// CHECK: kern.gemm {{.*}}
// CHECK-NEXT: norm %{{.*}} beta %{{.*}} norm_out %{{.*}} counters %{{.*}} outs(%[[T:.*]]) epilogue
// CHECK-NEXT: :
// CHECK-NEXT: kern.softmax %[[T]]
func.func @others_may_read_the_product_behind_the_norm(%x: !x, %y: !x, %z: !x, %w: !w, %g: !g) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.norm %t, %g, %g outs(%y) eps 1.0e-5 : !x, !g, !g, !x
  kern.softmax %t outs(%z) : !x, !x
  return
}

// CHECK-LABEL: func.func @norm_behind_another_reader_stays(
// CHECK: kern.gemm {{.*}} outs(%[[T:.*]]){{$}}
// CHECK: kern.softmax %[[T]]
// CHECK: kern.norm %[[T]]
func.func @norm_behind_another_reader_stays(%x: !x, %y: !x, %z: !x, %w: !w, %g: !g) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.softmax %t outs(%z) : !x, !x
  kern.norm %t, %g, %g outs(%y) eps 1.0e-5 : !x, !g, !g, !x
  return
}

// The layers' state is read again after the next half's norm.
// CHECK-LABEL: func.func @rms_norm_of_a_residual_joins(
// CHECK: kern.gemm %{{.*}}, %{{.*}} residual %[[X:.*]]
// CHECK-NEXT: norm %{{.*}} norm_out %[[N:.*]] counters %{{.*}} outs(%[[H:.*]]) epilogue <rms_norm 1.0e-05>
// CHECK-NEXT: :
// CHECK-NEXT: kern.gemm %[[N]], %{{.*}} residual %[[H]] outs(%[[X]])
func.func @rms_norm_of_a_residual_joins(%x: !x, %y: !x, %w: !w, %g: !g) {
  %h = kern.alloc : !x
  kern.gemm %y, %w residual %x outs(%h) : !x, !w, !x, !x
  %n = kern.alloc : !x
  kern.norm %h, %g outs(%n) eps 1.0e-5 {rms} : !x, !g, !x
  kern.gemm %n, %w residual %h outs(%x) : !x, !w, !x, !x
  return
}

// CHECK-LABEL: func.func @norm_in_the_product_s_place_stays(
// CHECK: kern.norm
func.func @norm_in_the_product_s_place_stays(%x: !x, %w: !w, %g: !g) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.norm %t, %g outs(%t) eps 1.0e-5 {rms} : !x, !g, !x
  return
}

// CHECK-LABEL: func.func @norm_in_the_operand_s_place_stays(
// CHECK: kern.norm
func.func @norm_in_the_operand_s_place_stays(%x: !x, %w: !w, %g: !g) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.norm %t, %g outs(%x) eps 1.0e-5 {rms} : !x, !g, !x
  return
}

// CHECK-LABEL: func.func @norm_of_one_of_several_outs_stays(
// CHECK: kern.norm
func.func @norm_of_one_of_several_outs_stays(%x: !x, %y: !kern.buffer<[rows, 4] x f32>, %z: !kern.buffer<[rows, 4] x f32>, %w: !kern.weight<[8, 8] x f32, unset, splits [4, 4]>, %g: !kern.weight<[4] x f32, unset>) {
  %t = kern.alloc : !kern.buffer<[rows, 4] x f32>
  kern.gemm %x, %w outs(%t, %y) : !x, !kern.weight<[8, 8] x f32, unset, splits [4, 4]>, !kern.buffer<[rows, 4] x f32>, !kern.buffer<[rows, 4] x f32>
  kern.norm %t, %g, %g outs(%z) eps 1.0e-5 : !kern.buffer<[rows, 4] x f32>, !kern.weight<[4] x f32, unset>, !kern.weight<[4] x f32, unset>, !kern.buffer<[rows, 4] x f32>
  return
}

// CHECK-LABEL: func.func @norm_of_a_gate_stays(
// CHECK: kern.gemm %{{.*}} epilogue <glu silu>
// CHECK: kern.norm
func.func @norm_of_a_gate_stays(%x: !x, %y: !x, %w: !kern.weight<[16, 8] x f32, unset>, %g: !g) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) epilogue <glu silu> : !x, !kern.weight<[16, 8] x f32, unset>, !x
  kern.norm %t, %g outs(%y) eps 1.0e-5 {rms} : !x, !g, !x
  return
}

// CHECK-LABEL: func.func @second_norm_stays(
// CHECK: kern.norm
func.func @second_norm_stays(%x: !x, %y: !x, %z: !x, %w: !w, %g: !g, %c: !kern.buffer<[rows] x i64>) {
  %t = kern.alloc : !x
  kern.gemm %x, %w norm %g norm_out %z counters %c outs(%t) epilogue <layer_norm 1.0e-5> : !x, !w, !g, !x, !kern.buffer<[rows] x i64>, !x
  kern.norm %t, %g outs(%y) eps 1.0e-5 {rms} : !x, !g, !x
  return
}

// CHECK-LABEL: func.func @norm_of_summarized_rows_stays(
// CHECK: kern.norm
func.func @norm_of_summarized_rows_stays(%x: !x, %y: !x, %m: !kern.buffer<[rows, 1] x f32>, %s: !kern.buffer<[rows, 1] x f32>, %w: !w, %g: !g) {
  %t = kern.alloc : !x
  kern.gemm %x, %w summary(%m, %s) outs(%t) : !x, !w, !kern.buffer<[rows, 1] x f32>, !kern.buffer<[rows, 1] x f32>, !x
  kern.norm %t, %g outs(%y) eps 1.0e-5 {rms} : !x, !g, !x
  return
}

// CHECK-LABEL: func.func @rounded_norm_stays(
// CHECK: kern.norm
func.func @rounded_norm_stays(%x: !x, %y: !kern.buffer<[rows, 8] x bf16>, %w: !w, %g: !g) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.norm %t, %g outs(%y) eps 1.0e-5 {rms} : !x, !g, !kern.buffer<[rows, 8] x bf16>
  return
}

// CHECK-LABEL: func.func @norm_behind_an_overwritten_input_stays(
// CHECK: kern.norm
func.func @norm_behind_an_overwritten_input_stays(%x: !x, %y: !x, %z: !x, %w: !w, %g: !g) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.softmax %z outs(%x) : !x, !x
  kern.norm %t, %g outs(%y) eps 1.0e-5 {rms} : !x, !g, !x
  return
}

// The first of two outputs has no norm, the second is written by one.
// REMARK: function = "norm_of_the_second_out_stays"{{[^{}]*}}name = "norm-of-several-outs"
// CHECK-LABEL: func.func @norm_of_the_second_out_stays(
// CHECK: kern.gemm
// CHECK: kern.norm
func.func @norm_of_the_second_out_stays(%x: !x, %a: !kern.buffer<[rows, 4] x f32>, %y: !kern.buffer<[rows, 4] x f32>, %w: !kern.weight<[8, 8] x f32, unset, splits [4, 4]>, %g: !kern.weight<[4] x f32, unset>) {
  %t = kern.alloc : !kern.buffer<[rows, 4] x f32>
  kern.gemm %x, %w outs(%a, %t) : !x, !kern.weight<[8, 8] x f32, unset, splits [4, 4]>, !kern.buffer<[rows, 4] x f32>, !kern.buffer<[rows, 4] x f32>
  kern.norm %t, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 4] x f32>, !kern.weight<[4] x f32, unset>, !kern.buffer<[rows, 4] x f32>
  return
}

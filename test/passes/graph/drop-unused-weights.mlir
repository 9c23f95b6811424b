// RUN: transom-opt %s --attn-drop-unused-weights | FileCheck %s
// RUN: transom-opt %s --attn-drop-unused-weights | FileCheck %s --check-prefix=REMARK

// REMARK: args = {count = "2", names = "'unused', 'dead'"}{{[^{}]*}}name = "unused-weights-dropped"

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>

// CHECK-NOT: @unused
// CHECK: attn.weight @read
// CHECK: attn.weight @row
// CHECK-NOT: @dead
attn.weight @unused : !w = #weight.expr<file("unused")>
attn.weight @read : !w = #weight.expr<file("read")>
attn.weight @row : !w = #weight.expr<file("row")>
attn.weight @dead : !w = #weight.expr<file("dead")>

// CHECK-LABEL: func.func @keeps_what_is_read(
func.func @keeps_what_is_read(%x: !x) -> !x {
  %w = attn.get_weight @read : !w
  %y = attn.linear %x, %w : !x, !w
  %z = attn.layers %y [@layer(@row)] : !x
  return %z : !x
}
// CHECK: func.func private @layer(
func.func private @layer(%x: !x, %w: !w) -> !x {
  %y = attn.linear %x, %w : !x, !w
  return %y : !x
}
// A body that no row names takes its weights along.
// CHECK-NOT: @old
func.func private @old(%x: !x) -> !x {
  %w = attn.get_weight @dead : !w
  %y = attn.linear %x, %w : !x, !w
  return %y : !x
}

// Layers on buffers name their bodies too.
// CHECK-LABEL: func.func @on_buffers(
// CHECK: func.func private @body(
func.func @on_buffers(%x: !kern.buffer<[rows, 8] x f32>) {
  kern.layers %x [@body] : !kern.buffer<[rows, 8] x f32>
  return
}
func.func private @body(%x: !kern.buffer<[rows, 8] x f32>) {
  kern.softmax %x outs(%x) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

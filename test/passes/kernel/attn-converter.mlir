// RUN: transom-opt %s --convert-attn-to-kern --split-input-file -verify-diagnostics | FileCheck %s
// RUN: transom-opt %s --convert-attn-to-kern --split-input-file -verify-diagnostics | FileCheck %s --check-prefix=REMARK

// REMARK: args = {body = "layer", operation = "'attn.linear'", result = "'attn.linear'"}{{[^{}]*}}name = "layer-state-is-copied"

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!w = tensor<8x8xf32>

// CHECK: kern.weight @w : !kern.weight<[8, 8] x f32, unset> = #weight.expr<file("w")>
attn.weight @w : !w = #weight.expr<file("w")>
attn.weight @b : [8] f32 = #weight.expr<file("b")>

// Results are written to arguments after the inputs; a reshape is a view.
// CHECK-LABEL: func.func @writes_results(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[batch, seq, 8] x f32> {attn.name = "x"}, %[[Y:.*]]: !kern.buffer<[batch, seq, 8] x f32> {attn.name = "y"})
// CHECK-SAME: kern.inputs = 1 : i64, kern.symbols = ["parts"]
// CHECK: %[[W:.*]] = kern.get_weight @w
// CHECK: %[[T:.*]] = kern.alloc : <[batch, seq, 8] x f32>
// CHECK: kern.gemm %[[X]], %[[W]] bias %{{.*}} outs(%[[T]])
// CHECK: %[[V:.*]] = kern.view %[[T]] : <[batch, seq, 8] x f32> -> <[batch, seq, 2, 4] x f32>
// CHECK: kern.softmax %[[V]] outs(%[[P:.*]]) :
// CHECK: %[[U:.*]] = kern.view %[[P]]
// CHECK: kern.elementwise ins(%[[U]]) outs(%[[Y]])
// CHECK: kern.apply <gelu>
// CHECK: return
// CHECK-NOT: attn.
func.func @writes_results(%x: !x {attn.name = "x"}) -> (!x {attn.name = "y"}) {
  %w = attn.get_weight @w : !w
  %b = attn.get_weight @b : [8] f32
  %t = attn.linear %x, %w, %b : !x, !w, [8] f32
  %v = attn.reshape %t to <[batch, seq, 2, 4]> : !x
  %p = attn.softmax %v : [batch, seq, 2, 4] f32
  %u = attn.reshape %p to <[batch, seq, 8]> : [batch, seq, 2, 4] f32
  %y = attn.activation <gelu> %u : !x
  return %y : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!w = tensor<8x8xf32>
attn.weight @w0 : !w = #weight.expr<file("w0")>
attn.weight @w1 : !w = #weight.expr<file("w1")>

// A body updates its state in place where nothing reads it afterwards.
// CHECK-LABEL: func.func @layers_update_a_state(
// CHECK: kern.elementwise ins(%{{.*}}) outs(%[[S:.*]]) {
// CHECK: kern.layers %[[S]] [@layer(@w0), @layer(@w1)] : <[rows, 8] x f32>
// CHECK: func.func private @layer(%[[S:.*]]: !kern.buffer<[rows, 8] x f32>, %[[W:.*]]: !kern.weight<[8, 8] x f32, unset>)
// CHECK: kern.gemm %[[S]], %[[W]] outs(%[[T:.*]]){{$}}
// CHECK: kern.elementwise ins(%[[T]], %[[S]]) outs(%[[S]])
func.func @layers_update_a_state(%x: !x) -> !x {
  %y = attn.layers %x [@layer(@w0), @layer(@w1)] : !x
  return %y : !x
}
func.func private @layer(%s: !x, %w: !w) -> !x {
  %t = attn.linear %s, %w : !x, !w
  %u = attn.add %t, %s : !x
  return %u : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!w = tensor<8x8xf32>
attn.weight @w0 : !w = #weight.expr<file("w0")>

// A GEMM must not write memory that its own tiles still read.
// CHECK: func.func private @layer(%[[S:.*]]: !kern.buffer<[rows, 8] x f32>, %[[W:.*]]: !kern.weight<[8, 8] x f32, unset>)
// CHECK: kern.gemm %[[S]], %[[W]] outs(%[[T:.*]]){{$}}
// CHECK: kern.elementwise ins(%[[T]]) outs(%[[S]])
func.func @copies_a_result_that_cannot_be_in_place(%x: !x) -> !x {
  %y = attn.layers %x [@layer(@w0)] : !x
  return %y : !x
}
func.func private @layer(%s: !x, %w: !w) -> !x {
  %t = attn.linear %s, %w : !x, !w
  return %t : !x
}

// -----

func.func @operations_of_other_dialects(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{has no kernel}}
  %c = arith.constant 1 : i64
  return %x : tensor<4x8xf32>
}

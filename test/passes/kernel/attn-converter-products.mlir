// RUN: transom-opt %s --convert-attn-to-kern --split-input-file -verify-diagnostics | FileCheck %s

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!b = tensor<?x4x8xf32, #attn.shape<[batch, 4, 8]>>
!t = tensor<?x4x4xf32, #attn.shape<[batch, 4, 4]>>
!s = tensor<8x8xf32>
attn.weight @g : [8] f32 = #weight.expr<file("g")>
attn.weight @b : [8] f32 = #weight.expr<file("b")>

// CHECK-LABEL: func.func @transposes_an_operand(
// CHECK-SAME: %[[A:[^:]*]]: !kern.buffer<[batch, 4, 8] x f32>, %[[C:[^:]*]]: !kern.buffer<[batch, 4, 8] x f32>, %[[Y:[^:]*]]: !kern.buffer<[batch, 4, 4] x f32>)
// CHECK: %[[T:.*]] = kern.alloc : <[batch, 8, 4] x f32>
// CHECK: kern.transpose %[[C]] outs(%[[T]]) [0, 2, 1]
// CHECK: kern.batch_matmul %[[A]], %[[T]] outs(%[[Y]])
func.func @transposes_an_operand(%a: !b, %c: !b) -> !t {
  %y = attn.matmul %a, %c {transpose_rhs} : !b, !b
  return %y : !t
}

// A weight that the graph computes is a second activation; the bias is added afterwards.
// CHECK-LABEL: func.func @computed_weight(
// CHECK-SAME: %[[X:[^:]*]]: !kern.buffer<[rows, 8] x f32>, %[[W:[^:]*]]: !kern.buffer<[8, 8] x f32>, %[[Y:[^:]*]]: !kern.buffer<[rows, 8] x f32>)
// CHECK: %[[B:.*]] = kern.get_weight @b
// CHECK: kern.transpose %[[W]] outs(%[[T:.*]]) [1, 0]
// CHECK: kern.batch_matmul %[[X]], %[[T]] outs(%[[P:.*]]) :
// CHECK: kern.elementwise ins(%[[P]], %[[B]]) outs(%[[Y]])
// CHECK: arith.addf
func.func @computed_weight(%x: !x, %w: !s) -> !x {
  %b = attn.get_weight @b : [8] f32
  %y = attn.linear %x, %w, %b : !x, !s, [8] f32
  return %y : !x
}

// CHECK-LABEL: func.func @norms(
// CHECK: %[[G:.*]] = kern.get_weight @g
// CHECK: %[[B:.*]] = kern.get_weight @b
// CHECK: kern.norm %[[X:.*]], %[[G]], %[[B]] outs(%{{.*}}) eps 1.000000e-05 :
// CHECK: kern.norm %[[X]], %[[G]] outs(%{{.*}}) eps 9.9999999999999995E-7 {rms} :
func.func @norms(%x: !x) -> (!x, !x) {
  %g = attn.get_weight @g : [8] f32
  %b = attn.get_weight @b : [8] f32
  %y = attn.layer_norm %x, %g, %b eps 1.0e-5 : !x, [8] f32, [8] f32
  %z = attn.rms_norm %x, %g eps 1.0e-6 : !x, [8] f32
  return %y, %z : !x, !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!i = tensor<?xi64, #attn.shape<[c]>>
!y = tensor<?x?xf32, #attn.shape<[rows, c]>>
attn.weight @w : [40, 8] f32 = #weight.expr<file("w")>

// CHECK-LABEL: func.func @columns_of_a_weight(
// CHECK: kern.gemm %{{.*}}, %{{.*}} outs(%{{.*}}) columns(%{{.*}})
// CHECK: : !kern.buffer<[rows, 8] x f32>, !kern.weight<[40, 8] x f32, unset>, !kern.buffer<[rows, c] x f32>, !kern.buffer<[c] x i64>
func.func @columns_of_a_weight(%x: !x, %i: !i) -> !y {
  %w = attn.get_weight @w : [40, 8] f32
  %y = attn.linear %x, %w columns(%i : [c] i64) : !x, [40, 8] f32
  return %y : !y
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!i = tensor<?xi64, #attn.shape<[c]>>
!y = tensor<?x?xf32, #attn.shape<[rows, c]>>

func.func @columns_of_an_activation(%x: !x, %w: tensor<40x8xf32>, %i: !i) -> !y {
  // expected-error @below {{expects columns of a weight, not of an activation}}
  %y = attn.linear %x, %w columns(%i : [c] i64) : !x, [40, 8] f32
  return %y : !y
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>

func.func @computed_gamma(%x: !x, %g: tensor<8xf32>) -> !x {
  // expected-error @below {{expects gamma and beta to be weights}}
  %y = attn.rms_norm %x, %g eps 1.0e-6 : !x, [8] f32
  return %y : !x
}

// -----

// CHECK-LABEL: func.func @summarizes_rows(
// CHECK-NEXT: kern.row_summary %{{.*}} outs(%{{.*}}, %{{.*}}) : !kern.buffer<[rows, 130] x f32>, !kern.buffer<[rows, 3] x f32>, !kern.buffer<[rows, 3] x f32>
func.func @summarizes_rows(%x: tensor<?x130xf32, #attn.shape<[rows, 130]>>) -> (tensor<?x3xf32, #attn.shape<[rows, 3]>>, tensor<?x3xf32, #attn.shape<[rows, 3]>>) {
  %m, %s = attn.row_summary %x : [rows, 130] f32
  return %m, %s : tensor<?x3xf32, #attn.shape<[rows, 3]>>, tensor<?x3xf32, #attn.shape<[rows, 3]>>
}

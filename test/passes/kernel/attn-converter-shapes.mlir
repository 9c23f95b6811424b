// RUN: transom-opt %s --convert-attn-to-kern --split-input-file -verify-diagnostics | FileCheck %s

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!s = tensor<?x?x4xf32, #attn.shape<[batch, seq, 4]>>

// CHECK-LABEL: func.func @slices_and_concatenations_are_copies(
// CHECK: kern.copy %[[X:.*]] outs(%[[S:.*]]) axis 2 from "4" to "0" size "4"
// CHECK: kern.copy %[[S]] outs(%[[Y:.*]]) axis 2 from "0" to "0" size "4"
// CHECK: kern.copy %[[S]] outs(%[[Y]]) axis 2 from "0" to "4" size "4"
func.func @slices_and_concatenations_are_copies(%x: !x) -> !x {
  %s = attn.slice %x axis 2 from 4 size 4 : !x
  %y = attn.concat %s, %s axis 2 : !s, !s
  return %y : !x
}

// -----

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!ids = tensor<?xi64, #attn.shape<[rows]>>
attn.weight @t : [16, 8] f32 = #weight.expr<file("t")>

// From a table that the graph computes rows are gathered, then scaled.
// CHECK-LABEL: func.func @embeddings(
// CHECK-SAME: %[[IDS:[^:]*]]: !kern.buffer<[rows] x i64>, %[[TABLE:[^:]*]]: !kern.buffer<[16, 8] x f32>, %[[Y:[^:]*]]: {{[^:]*}}, %[[Z:[^:]*]]: {{[^:]*}})
// CHECK: %[[T:.*]] = kern.get_weight @t
// CHECK: kern.embedding ids(%[[IDS]]) tables(%[[T]]) outs(%[[Y]])
// CHECK: %[[ROWS:.*]] = kern.alloc : <[rows, 8] x f32>
// CHECK: kern.gather %[[TABLE]], %[[IDS]] outs(%[[ROWS]])
// CHECK: kern.elementwise ins(%[[ROWS]]) outs(%[[Z]])
// CHECK: arith.mulf
func.func @embeddings(%ids: !ids, %table: tensor<16x8xf32>) -> (!x, !x) {
  %t = attn.get_weight @t : [16, 8] f32
  %y = attn.embedding %ids, %t {scale = 2.0 : f64} : !ids, [16, 8] f32
  %z = attn.embedding %ids, %table {scale = 2.0 : f64} : !ids, [16, 8] f32
  return %y, %z : !x, !x
}

// -----

// The kernel writes a single value; several are a weight, in which bools are compared with zero.
// CHECK: kern.weight @constant : {{.*}} = #weight.expr<values
// CHECK-LABEL: func.func @constants(
// CHECK: arith.constant 1.5
// CHECK: %[[C:.*]] = kern.get_weight @constant
// CHECK: kern.elementwise ins(%[[C]])
// CHECK: arith.cmpf une
func.func @constants() -> (tensor<2xf32>, tensor<2xi1>) {
  %a = attn.constant dense<1.5> : tensor<2xf32>
  %b = attn.constant dense<[true, false]> : tensor<2xi1>
  return %a, %b : tensor<2xf32>, tensor<2xi1>
}

// RUN: transom-opt %s --transom-attn-opt | FileCheck %s
// RUN: transom-opt %s --transom-attn-opt="disable=attn-remove-padding,attn-fuse-projections" | FileCheck %s --check-prefix=RECTANGLE

!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!m = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!seen = tensor<?x?x1xi1, #attn.shape<[batch, seq, 1]>>
!m4 = tensor<?x1x1x?xi1, #attn.shape<[batch, 1, 1, seq]>>
!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!split = tensor<?x?x2x4xf32, #attn.shape<[batch, seq, 2, 4]>>
!h = tensor<?x2x?x4xf32, #attn.shape<[batch, 2, seq, 4]>>
!s = tensor<?x2x?x?xf32, #attn.shape<[batch, 2, seq, seq]>>
!w = tensor<8x8xf32>

attn.weight @table : [100, 8] f32 = #weight.expr<file("table")>
attn.weight @self.query : !w = #weight.expr<file("q")>
attn.weight @self.key : !w = #weight.expr<file("k")>
attn.weight @self.value : !w = #weight.expr<file("v")>
attn.weight @output : !w = #weight.expr<file("o")>

// An encoder with decomposed attention becomes seven operations on rows.
// CHECK-NOT: @self.query :
// CHECK-LABEL: func.func @encode(
// CHECK: %[[S:.*]] = attn.ragged_batch
// CHECK-NEXT: %[[I:.*]] = attn.gather_rows %{{.*}}, %[[S]]
// CHECK: %[[X:.*]] = attn.embedding %[[I]]
// CHECK: %[[P:.*]] = attn.linear %[[X]]
// CHECK-COUNT-3: attn.slice %[[P]]
// CHECK: %[[A:.*]] = attn.sdpa {{.*}} ragged(%[[S]] : <rows, keys>) heads 2 kv_heads 2 scale 5.000000e-01 <ragged>
// CHECK: %[[Y:.*]] = attn.linear %[[A]]
// CHECK: %[[R:.*]] = attn.scatter_rows %[[Y]], %[[S]]
// CHECK-NEXT: return %[[R]]

// RECTANGLE-LABEL: func.func @encode(
// RECTANGLE-NOT: attn.ragged_batch
// RECTANGLE-COUNT-3: attn.linear
// RECTANGLE: attn.sdpa {{.*}} <keys>
// RECTANGLE: attn.mask
func.func @encode(%ids: !ids {attn.role = "ids"}, %mask: !ids {attn.role = "mask"}) -> !x {
  %t = attn.get_weight @table : [100, 8] f32
  %x = "attn.embedding"(%ids, %t) : (!ids, tensor<100x8xf32>) -> tensor<*xf32>
  %m = "attn.cast"(%mask) <{to = i1}> : (!ids) -> tensor<*xi1>
  %m4 = "attn.reshape"(%m) <{shape = #attn.shape<[batch, 1, 1, seq]>}> : (tensor<*xi1>) -> !m4
  %wq = attn.get_weight @self.query : !w
  %q = "attn.linear"(%x, %wq) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<*xf32>, !w) -> !x
  %q4 = attn.reshape %q to <[batch, seq, 2, 4]> : !x
  %qh = attn.transpose %q4 [0, 2, 1, 3] : !split
  %wk = attn.get_weight @self.key : !w
  %k = "attn.linear"(%x, %wk) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<*xf32>, !w) -> !x
  %k4 = attn.reshape %k to <[batch, seq, 2, 4]> : !x
  %kh = attn.transpose %k4 [0, 2, 1, 3] : !split
  %wv = attn.get_weight @self.value : !w
  %v = "attn.linear"(%x, %wv) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (tensor<*xf32>, !w) -> !x
  %v4 = attn.reshape %v to <[batch, seq, 2, 4]> : !x
  %vh = attn.transpose %v4 [0, 2, 1, 3] : !split
  %s = attn.matmul %qh, %kh {transpose_rhs} : !h
  %scaled = attn.scale %s by 0.5 : !s
  %hidden = attn.mask %scaled, %m4 with 0xFFF0000000000000 : !s, !m4
  %p = attn.softmax %hidden : !s
  %c = attn.matmul %p, %vh : !s, !h
  %ct = attn.transpose %c [0, 2, 1, 3] : !h
  %merged = attn.reshape %ct to <[batch, seq, 8]> : !split
  %wo = attn.get_weight @output : !w
  %y = attn.linear %merged, %wo : !x, !w
  %seen = "attn.reshape"(%m) <{shape = #attn.shape<[batch, seq, 1]>}> : (tensor<*xi1>) -> !seen
  %r = attn.mask %y, %seen with 0.0 : !x, !seen
  return %r : !x
}

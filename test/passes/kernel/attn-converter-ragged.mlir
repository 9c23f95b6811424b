// RUN: transom-opt %s --convert-attn-to-kern --split-input-file -verify-diagnostics | FileCheck %s

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!r = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!m = tensor<?x?xi1, #attn.shape<[batch, seq]>>

// CHECK-LABEL: func.func @rows_of_a_mask(
// CHECK-SAME: %[[X:[^:]*]]: !kern.buffer<[batch, seq, 8] x f32>, %[[M:[^:]*]]: !kern.buffer<[batch, seq] x i1>, %[[Y:[^:]*]]: !kern.buffer<[batch, seq, 8] x f32>)
// CHECK-SAME: kern.symbols = ["keys", "parts", "rows"]
// CHECK: %[[S:.*]] = kern.ragged_batch mask %[[M]] :
// CHECK: kern.gather_rows %[[X]] ragged %[[S]] outs(%[[R:.*]]) :
// CHECK: kern.scatter_rows %[[R]] ragged %[[S]] outs(%[[Y]])
func.func @rows_of_a_mask(%x: !x, %m: !m) -> !x {
  %s = attn.ragged_batch %m : !m -> <rows, keys>
  %r = attn.gather_rows %x, %s : !x, <rows, keys>
  %y = attn.scatter_rows %r, %s to batch x seq : !r, <rows, keys>
  return %y : !x
}

// Ranks are counted in the ids; columns are from a uniform ragged batch.
// CHECK-LABEL: func.func @positions(
// CHECK-SAME: %[[IDS:[^:]*]]: !kern.buffer<[batch, seq] x i64>, %[[A:[^:]*]]: !kern.buffer<[batch, seq] x i64>, %[[B:[^:]*]]: !kern.buffer<[batch, seq] x i64>)
// CHECK: %[[S:.*]] = kern.ragged_batch {batch = "batch", columns = "seq"
// CHECK: kern.positions %[[IDS]] outs(%[[A]]) pad 1
// CHECK: kern.columns %[[S]] outs(%[[B]])
func.func @positions(%ids: !ids) -> (!ids, !ids) {
  %a = attn.position <nonpad_rank> %ids {pad = 1 : i64} : !ids
  %b = attn.position <column> %ids : !ids
  return %a, %b : !ids, !ids
}

// CHECK-LABEL: func.func @pool(
// CHECK: %[[S:.*]] = kern.ragged_batch {batch = "batch", columns = "seq"
// CHECK: kern.pool <mean> %{{.*}} ragged %[[S]] mask %{{.*}} outs(%{{.*}}) :
func.func @pool(%x: !x, %m: !m) -> tensor<?x8xf32, #attn.shape<[batch, 8]>> {
  %y = attn.pool <mean> %x mask(%m : !m) : !x
  return %y : tensor<?x8xf32, #attn.shape<[batch, 8]>>
}

// -----

!m = tensor<?x?xi1, #attn.shape<[batch, seq]>>

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
func.func @refuses_a_computed_mask(%x: !x, %m: !m) -> tensor<?x8xf32, #attn.shape<[rows, 8]>> {
  %n = attn.not %m : !m
  // expected-error @below {{expects a mask that is an input of the entry}}
  %s = attn.ragged_batch %n : !m -> <rows, keys>
  %r = attn.gather_rows %x, %s : !x, <rows, keys>
  return %r : tensor<?x8xf32, #attn.shape<[rows, 8]>>
}

// -----

!ids = tensor<?xi64, #attn.shape<[rows]>>
!seg = !attn.ragged<rows, keys>

func.func @step(%t: !ids) -> !ids {
  %s = attn.decode_batch : !seg
  // expected-error @below {{expects to be the only one of its entry}}
  %u = attn.decode_batch : !seg
  %p = attn.position <column> %t ragged(%u : !seg) : !ids
  return %p : !ids
}

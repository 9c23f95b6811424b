// RUN: transom-opt %s --attn-remove-padding --split-input-file | FileCheck %s

!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!seen = tensor<?x?x1xi1, #attn.shape<[batch, seq, 1]>>
!out = tensor<?x64xf32, #attn.shape<[batch, 64]>>

// The whole encoder: ids gathered, attention by ragged, results scattered.
// CHECK: args = {entry = "works_on_rows", padded = "batch*seq", rows = "rows"}{{[^{}]*}}kind = "passed"{{[^{}]*}}name = "entry-made-ragged"
// CHECK-LABEL: func.func @works_on_rows(
// CHECK-SAME: %[[IDS:.*]]: !batch_seq_long, %[[MASK:.*]]: !batch_seq_long
// CHECK: %[[SEG:.*]] = attn.ragged_batch %[[MASK]] : {{.*}} -> <rows, keys>
// CHECK: %[[ROWS:.*]] = attn.gather_rows %[[IDS]], %[[SEG]]
// CHECK-NOT: attn.cast
// CHECK: %[[P:.*]] = attn.position <column> %[[ROWS]] ragged(%[[SEG]] : <rows, keys>)
// CHECK: %[[TOK:.*]] = attn.embedding %[[ROWS]], %{{.*}} : [rows] i64, [100, 64] f32
// CHECK: %[[POS:.*]] = attn.embedding %[[P]], %{{.*}}
// CHECK: %[[H:.*]] = attn.add %[[TOK]], %[[POS]]
// CHECK: %[[Q:.*]] = attn.linear %[[H]]
// CHECK: %[[A:.*]] = attn.sdpa %[[Q]], %[[H]], %[[H]] ragged(%[[SEG]] : <rows, keys>) heads 4 kv_heads 4 scale 2.500000e-01 <ragged>
// CHECK: %[[Y:.*]] = attn.scatter_rows %[[A]], %[[SEG]] to batch x seq
// CHECK: return %[[Y]]
func.func @works_on_rows(%ids: !ids, %m: !ids {attn.role = "mask"}, %table: tensor<100x64xf32>, %wq: tensor<64x64xf32>) -> !x {
  %keys = attn.cast %m to i1 : !ids
  %p = attn.position <column> %ids : !ids
  %t = attn.embedding %ids, %table : !ids, [100, 64] f32
  %e = attn.embedding %p, %table : !ids, [100, 64] f32
  %h = attn.add %t, %e : !x
  %q = attn.linear %h, %wq : !x, [64, 64] f32
  %a = attn.sdpa %q, %h, %h mask(%keys : !mask) heads 4 kv_heads 4 scale 0.25 <keys> : !x
  %seen = attn.reshape %keys to <[batch, seq, 1]> : [batch, seq] i1
  %zeroed = attn.mask %a, %seen with 0.0 : !x, !seen
  return %zeroed : !x
}

// -----

!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!seen = tensor<?x?x1xi1, #attn.shape<[batch, seq, 1]>>
!first = tensor<?x1x64xf32, #attn.shape<[batch, 1, 64]>>
!out = tensor<?x64xf32, #attn.shape<[batch, 64]>>

// Column 0 is read from each sequence, so it keeps its row under a mask.
// CHECK-LABEL: func.func @pools_first_and_mean(
// CHECK: %[[SEG:.*]] = attn.ragged_batch %{{.*}} {keep_first}
// CHECK: %[[X:.*]] = attn.gather_rows
// CHECK: %[[F:.*]] = attn.pool <first> %[[X]] ragged(%[[SEG]] : {{[^)]*}})
// CHECK: %[[M:.*]] = attn.pool <mean> %[[X]] ragged(%[[SEG]] : {{[^)]*}})
// CHECK: %[[S:.*]] = attn.pool <first> %[[X]] ragged(%[[SEG]] : {{[^)]*}})
// CHECK: %[[R:.*]] = attn.reshape %[[S]]
// CHECK: return %[[F]], %[[M]], %[[R]]
func.func @pools_first_and_mean(%x: !x, %m: !ids {attn.role = "mask"}) -> (!out, !out, !first) {
  %keys = attn.cast %m to i1 : !ids
  %f = attn.pool <first> %x : !x
  %n = attn.pool <mean> %x mask(%keys : !mask) : !x
  %s = attn.slice %x axis 1 from 0 size 1 : !x
  return %f, %n, %s : !out, !out, !first
}

// -----

!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!seen = tensor<?x?x1xi1, #attn.shape<[batch, seq, 1]>>

// Ranks count the ids in the rectangle; then they are gathered.
// CHECK-LABEL: func.func @gathers_nonpad_ranks(
// CHECK: %[[SEG:.*]] = attn.ragged_batch
// CHECK: %[[P:.*]] = attn.position <nonpad_rank> %{{[^ ]*}} {pad = 1 : i64} : [batch, seq] i64
// CHECK: %[[R:.*]] = attn.gather_rows %[[P]], %[[SEG]]
// CHECK: attn.embedding %[[R]]
func.func @gathers_nonpad_ranks(%ids: !ids, %m: !ids {attn.role = "mask"}, %table: tensor<100x64xf32>) -> !x {
  %p = attn.position <nonpad_rank> %ids {pad = 1 : i64} : !ids
  %e = attn.embedding %p, %table : !ids, [100, 64] f32
  %cast = attn.cast %m to i1 : !ids
  %seen = attn.reshape %cast to <[batch, seq, 1]> : [batch, seq] i1
  %zeroed = attn.mask %e, %seen with 0.0 : !x, !seen
  return %zeroed : !x
}

// -----

!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!seen = tensor<?x?x1xi1, #attn.shape<[batch, seq, 1]>>
!table = tensor<?x64xf32, #attn.shape<[seq, 64]>>
!table1 = tensor<1x?x64xf32, #attn.shape<[1, seq, 64]>>

// A table sliced to the length becomes a position embedding, once.
attn.weight @table : [512, 64] f32 = #weight.expr<file("table")>
// CHECK-LABEL: func.func @reads_tables_by_position(
// CHECK: %[[P:.*]] = attn.position <column>
// CHECK-NOT: attn.position
// CHECK: %[[T:.*]] = attn.get_weight @table
// CHECK: %[[E:.*]] = attn.embedding %[[P]], %[[T]]
// CHECK: attn.add %{{.*}}, %[[E]]
func.func @reads_tables_by_position(%x: !x, %m: !ids {attn.role = "mask"}, %one: tensor<1x1x64xf32>) -> !x {
  %t = attn.get_weight @table : [512, 64] f32
  %s = attn.slice %t axis 0 from 0 size seq : [512, 64] f32
  %r = attn.reshape %s to <[1, seq, 64]> : !table
  %y = attn.add %x, %r : !x, !table1
  %z = attn.add %y, %s : !x, !table
  // CHECK: attn.reshape %{{.*}} to <[1, 64]>
  %u = attn.mul %z, %one : !x, [1, 1, 64] f32
  %cast = attn.cast %m to i1 : !ids
  %seen = attn.reshape %cast to <[batch, seq, 1]> : [batch, seq] i1
  %zeroed = attn.mask %u, %seen with 0.0 : !x, !seen
  return %zeroed : !x
}

// -----

!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!bq = tensor<?x?x1xi1, #attn.shape<[batch, seq, 1]>>
!m4 = tensor<?x1x?x?xi1, #attn.shape<[batch, 1, seq, seq]>>
!q4 = tensor<?x1x?x1xi1, #attn.shape<[batch, 1, seq, 1]>>
!k4 = tensor<?x1x1x?xi1, #attn.shape<[batch, 1, 1, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!seen = tensor<?x?x1xi1, #attn.shape<[batch, seq, 1]>>
!heads = tensor<?x?x4x16xf32, #attn.shape<[batch, seq, 4, 16]>>
!turned = tensor<?x?x16x4xf32, #attn.shape<[batch, seq, 16, 4]>>
!wide = tensor<?x?x128xf32, #attn.shape<[batch, seq, 128]>>

// The outer product between the mask and itself hides the same rows.
// CHECK-LABEL: func.func @takes_outer_products(
// CHECK: attn.sdpa {{.*}} <ragged>
func.func @takes_outer_products(%x: !x, %m: !mask {attn.role = "mask"}) -> !x {
  %q = attn.reshape %m to <[batch, 1, seq, 1]> : !mask
  %k = attn.reshape %m to <[batch, 1, 1, seq]> : !mask
  %both = attn.and %q, %k : !q4, !k4
  %a = attn.sdpa %x, %x, %x mask(%both : !m4) heads 4 kv_heads 4 scale 0.25 <select> : !x
  %seen = attn.reshape %m to <[batch, seq, 1]> : [batch, seq] i1
  %zeroed = attn.mask %a, %seen with 0.0 : !x, !seen
  return %zeroed : !x
}

// Axes after the length move by one.
// CHECK-LABEL: func.func @moves_axes(
// CHECK: attn.reshape %{{.*}} to <[rows, 4, 16]>
// CHECK: attn.transpose %{{.*}} [0, 2, 1]
// CHECK: attn.reshape %{{.*}} to <[rows, 64]>
// CHECK: attn.concat %{{.*}} axis 1
// CHECK: attn.slice %{{.*}} axis 1 from 64 size 64
func.func @moves_axes(%x: !x, %m: !mask {attn.role = "mask"}) -> !x {
  %h = attn.reshape %x to <[batch, seq, 4, 16]> : !x
  %t = attn.transpose %h [0, 1, 3, 2] : !heads
  %f = attn.reshape %t to <[batch, seq, 64]> : !turned
  %c = attn.concat %x, %f axis 2 : !x, !x
  %s = attn.slice %c axis 2 from 64 size 64 : !wide
  %seen = attn.reshape %m to <[batch, seq, 1]> : [batch, seq] i1
  %zeroed = attn.mask %s, %seen with 0.0 : !x, !seen
  return %zeroed : !x
}

// Angles are for a row's column.
// CHECK-LABEL: func.func @rotates_rows(
// CHECK: %[[P:.*]] = attn.position <column> %{{.*}} ragged
// CHECK: %[[R:.*]] = attn.rope_table %[[P]] {{.*}} : [rows] i64
// CHECK: attn.rope %{{.*}}, %[[R]] heads 4 : [rows, 64] f32, [rows, 4] f32
func.func @rotates_rows(%x: !x, %ids: !ids, %m: !mask {attn.role = "mask"}) -> !x {
  %p = attn.position <column> %ids : !ids
  %r = attn.rope_table %p {frequencies = array<f64: 1.0, 0.1>, limit = 64 : i64} : !ids
  %y = attn.rope %x, %r heads 4 : !x, [batch, seq, 4] f32
  %seen = attn.reshape %m to <[batch, seq, 1]> : !mask
  %zeroed = attn.mask %y, %seen with 0.0 : !x, !seen
  return %zeroed : !x
}

// Windows and biases go by the column, so they keep no padding, also where
// column 0 is read from each sequence.
// CHECK-LABEL: func.func @positions_by_column(
// CHECK: %[[SEG:.*]] = attn.ragged_batch %{{.*}} {keep_first}
// CHECK: attn.sdpa %{{.*}} ragged(%[[SEG]] : {{[^)]*}}) heads 4 kv_heads 4 scale 2.500000e-01 <ragged> {window = 3 : i64}
// CHECK: attn.sdpa %{{.*}} ragged(%[[SEG]] : {{[^)]*}}) slopes(%{{.*}} : {{[^)]*}}) heads 4 kv_heads 4 scale 2.500000e-01 <ragged> {causal}
// CHECK: attn.sdpa %{{.*}} ragged(%[[SEG]] : {{[^)]*}}) relative_bias(%{{.*}} : {{[^)]*}}) heads 4 kv_heads 4 scale 1.000000e+00 <ragged>
func.func @positions_by_column(%x: !x, %m: !mask {attn.role = "mask"}, %s: tensor<4xf32>, %b: tensor<4x9xf32>) -> tensor<?x64xf32, #attn.shape<[batch, 64]>> {
  %a = attn.sdpa %x, %x, %x mask(%m : !mask) heads 4 kv_heads 4 scale 0.25 <keys> {window = 3 : i64} : !x
  %c = attn.sdpa %a, %a, %a mask(%m : !mask) slopes(%s : [4] f32) heads 4 kv_heads 4 scale 0.25 <keys> {causal} : !x
  %d = attn.sdpa %c, %c, %c mask(%m : !mask) relative_bias(%b : [4, 9] f32) heads 4 kv_heads 4 scale 1.0 <keys> : !x
  %f = attn.pool <first> %d : !x
  return %f : tensor<?x64xf32, #attn.shape<[batch, 64]>>
}

// Neighbors and disentangled attention on rows, and neighbors that keep padding.
// RUN: transom-opt %s -split-input-file --attn-remove-padding | FileCheck %s

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!seen = tensor<?x?x1xi1, #attn.shape<[batch, seq, 1]>>

// CHECK-LABEL: func.func @by_column(
// CHECK: %[[SEG:.*]] = attn.ragged_batch
// CHECK: attn.sdpa %{{.*}} ragged(%[[SEG]] : {{[^)]*}}) position_keys(%{{.*}} : {{[^)]*}}) position_queries(%{{.*}} : {{[^)]*}}) heads 4 kv_heads 4 scale 2.500000e-01 <ragged> {max_distance = 9 : i64} :
// CHECK: attn.neighbors %{{.*}} ragged(%[[SEG]] : {{[^)]*}}) reach 1 : [rows, 64] f32
func.func @by_column(%x: !x, %m: !mask {attn.role = "mask"}, %p: tensor<24x16xf32>, %w: tensor<64x192xf32>) -> !x {
  %a = attn.sdpa %x, %x, %x mask(%m : !mask) position_keys(%p : [24, 16] f32) position_queries(%p : [24, 16] f32) heads 4 kv_heads 4 scale 0.25 <keys> {max_distance = 9 : i64} : !x
  %n = attn.neighbors %a mask(%m : !mask) reach 1 : !x
  %y = attn.linear %n, %w : [batch, seq, 192] f32, [64, 192] f32
  %seen = attn.reshape %m to <[batch, seq, 1]> : !mask
  %zeroed = attn.mask %y, %seen with 0.0 : !x, !seen
  return %zeroed : !x
}

// -----

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!out = tensor<?x64xf32, #attn.shape<[batch, 64]>>

// CHECK: name = "neighbors-are-padding"
// CHECK-LABEL: func.func @neighbors_without_mask(
// CHECK-NOT: attn.ragged_batch
func.func @neighbors_without_mask(%x: !x, %m: !mask {attn.role = "mask"}) -> tensor<?x192xf32, #attn.shape<[batch, 192]>> {
  %n = attn.neighbors %x reach 1 : !x
  %f = attn.pool <mean> %n mask(%m : !mask) : [batch, seq, 192] f32
  return %f : tensor<?x192xf32, #attn.shape<[batch, 192]>>
}

// -----

!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>

// CHECK: mask = "argument 1", operation = "'attn.neighbors'"{{[^{}]*}}}{{[^{}]*}}name = "neighbor-mask-of-other-origin"
// CHECK-LABEL: func.func @neighbors_of_another_mask(
// CHECK-NOT: attn.ragged_batch
func.func @neighbors_of_another_mask(%x: !x, %o: !mask, %m: !mask {attn.role = "mask"}) -> tensor<?x192xf32, #attn.shape<[batch, 192]>> {
  %n = attn.neighbors %x mask(%o : !mask) reach 1 : !x
  %f = attn.pool <mean> %n mask(%m : !mask) : [batch, seq, 192] f32
  return %f : tensor<?x192xf32, #attn.shape<[batch, 192]>>
}

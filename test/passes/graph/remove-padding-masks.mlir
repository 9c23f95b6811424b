// RUN: transom-opt %s --attn-remove-padding --split-input-file | FileCheck %s

// Key masks are recognized by their computation; a near miss hides keys in another way.

!mask = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!f = tensor<?x?xf32, #attn.shape<[batch, seq]>>
!b = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!y = tensor<?x8xf32, #attn.shape<[batch, 8]>>

// CHECK-LABEL: func.func @made_of_the_argument(
// CHECK: attn.pool <mean> {{.*}} ragged
func.func @made_of_the_argument(%x: !x, %m: !mask {attn.role = "mask"}) -> !y {
  %a = attn.reshape %m to <[batch, 1, seq]> : !mask
  %t = attn.transpose %a [0, 2, 1] : tensor<?x1x?xi64, #attn.shape<[batch, 1, seq]>>
  %r = attn.reshape %t to <[batch, seq]> : tensor<?x?x1xi64, #attn.shape<[batch, seq, 1]>>
  %b = attn.cast %r to i1 : !mask
  %p = attn.pool <mean> %x mask(%b : !b) : !x
  return %p : !y
}

// CHECK-LABEL: func.func @seventeen_casts(
// CHECK: attn.pool <mean> {{.*}} ragged
func.func @seventeen_casts(%x: !x, %m: !mask {attn.role = "mask"}) -> !y {
  %0 = attn.cast %m to i64 : !mask
  %1 = attn.cast %0 to i64 : !mask
  %2 = attn.cast %1 to i64 : !mask
  %3 = attn.cast %2 to i64 : !mask
  %4 = attn.cast %3 to i64 : !mask
  %5 = attn.cast %4 to i64 : !mask
  %6 = attn.cast %5 to i64 : !mask
  %7 = attn.cast %6 to i64 : !mask
  %8 = attn.cast %7 to i64 : !mask
  %9 = attn.cast %8 to i64 : !mask
  %10 = attn.cast %9 to i64 : !mask
  %11 = attn.cast %10 to i64 : !mask
  %12 = attn.cast %11 to i64 : !mask
  %13 = attn.cast %12 to i64 : !mask
  %14 = attn.cast %13 to i64 : !mask
  %15 = attn.cast %14 to i64 : !mask
  %16 = attn.cast %15 to i1 : !mask
  %p = attn.pool <mean> %x mask(%16 : !b) : !x
  return %p : !y
}

// Longer chains are not followed.
// CHECK-LABEL: func.func @eighteen_casts(
// CHECK-NOT: attn.ragged_batch
func.func @eighteen_casts(%x: !x, %m: !mask {attn.role = "mask"}) -> !y {
  %0 = attn.cast %m to i64 : !mask
  %1 = attn.cast %0 to i64 : !mask
  %2 = attn.cast %1 to i64 : !mask
  %3 = attn.cast %2 to i64 : !mask
  %4 = attn.cast %3 to i64 : !mask
  %5 = attn.cast %4 to i64 : !mask
  %6 = attn.cast %5 to i64 : !mask
  %7 = attn.cast %6 to i64 : !mask
  %8 = attn.cast %7 to i64 : !mask
  %9 = attn.cast %8 to i64 : !mask
  %10 = attn.cast %9 to i64 : !mask
  %11 = attn.cast %10 to i64 : !mask
  %12 = attn.cast %11 to i64 : !mask
  %13 = attn.cast %12 to i64 : !mask
  %14 = attn.cast %13 to i64 : !mask
  %15 = attn.cast %14 to i64 : !mask
  %16 = attn.cast %15 to i64 : !mask
  %17 = attn.cast %16 to i1 : !mask
  %p = attn.pool <mean> %x mask(%17 : !b) : !x
  return %p : !y
}

// The valid keys are the keys in both masks.
// CHECK-LABEL: func.func @together_with_another(
// CHECK: %[[S:.*]] = attn.ragged_batch %arg2
// CHECK-DAG: %[[M:.*]] = attn.gather_rows %arg2, %[[S]]
// CHECK-DAG: %[[O:.*]] = attn.gather_rows %arg1, %[[S]]
// CHECK: %[[B:.*]] = attn.cast %[[M]] to i1
// CHECK: %[[A:.*]] = attn.and %[[B]], %[[O]] : [rows] i1
// CHECK: attn.pool <mean> {{.*}} mask(%[[A]] : [rows] i1) ragged(%[[S]]
func.func @together_with_another(%x: !x, %other: !b, %m: !mask {attn.role = "mask"}) -> !y {
  %b = attn.cast %m to i1 : !mask
  %both = attn.and %b, %other : !b
  %p = attn.pool <mean> %x mask(%both : !b) : !x
  return %p : !y
}

// The second mask is for padding; the first hides a prompt from the pool.
// CHECK-LABEL: func.func @of_two_masks(
// CHECK: attn.ragged_batch %arg2
// CHECK: attn.pool <last> {{.*}} mask({{.*}}) ragged
// CHECK: attn.pool <first> %{{[^ ]*}} ragged
// CHECK: attn.scatter_rows
func.func @of_two_masks(%x: !x, %prompt: !mask {attn.role = "mask"}, %m: !mask {attn.role = "mask"}) -> (!y, !y, !x) {
  %a = attn.cast %prompt to i1 : !mask
  %b = attn.cast %m to i1 : !mask
  %both = attn.and %a, %b : !b
  %p = attn.pool <last> %x mask(%both : !b) : !x
  %f = attn.pool <first> %x mask(%both : !b) : !x
  %k = attn.reshape %b to <[batch, seq, 1]> : !b
  %z = attn.mask %x, %k with 0.0 : !x, tensor<?x?x1xi1, #attn.shape<[batch, seq, 1]>>
  return %p, %f, %z : !y, !y, !x
}

// Tokens in either mask count.
// CHECK-LABEL: func.func @either_of_two(
// CHECK-NOT: attn.ragged_batch
func.func @either_of_two(%x: !x, %other: !b, %m: !mask {attn.role = "mask"}) -> !y {
  %b = attn.cast %m to i1 : !mask
  %either = attn.or %b, %other : !b
  %p = attn.pool <mean> %x mask(%either : !b) : !x
  return %p : !y
}

// The length is two axes on the way, and the batch another.
// CHECK-LABEL: func.func @split_in_between(
// CHECK-NOT: attn.ragged_batch
func.func @split_in_between(%x: tensor<?x?x8xf32, #attn.shape<[batch, 2*seq, 8]>>,
                            %m: tensor<?x?xi64, #attn.shape<[batch, 2*seq]>> {attn.role = "mask"}) -> !y {
  %r = attn.reshape %m to <[batch, seq, 2]> : tensor<?x?xi64, #attn.shape<[batch, 2*seq]>>
  %b = attn.cast %r to i1 : tensor<?x?x2xi64, #attn.shape<[batch, seq, 2]>>
  %s = attn.reshape %b to <[batch, 2*seq]> : tensor<?x?x2xi1, #attn.shape<[batch, seq, 2]>>
  %p = attn.pool <mean> %x mask(%s : tensor<?x?xi1, #attn.shape<[batch, 2*seq]>>) : tensor<?x?x8xf32, #attn.shape<[batch, 2*seq, 8]>>
  return %p : !y
}

// CHECK-LABEL: func.func @flat_in_between(
// CHECK-NOT: attn.ragged_batch
func.func @flat_in_between(%x: !x, %m: !mask {attn.role = "mask"}) -> !y {
  %r = attn.reshape %m to <[batch*seq]> : !mask
  %b = attn.cast %r to i1 : tensor<?xi64, #attn.shape<[batch*seq]>>
  %s = attn.reshape %b to <[batch, seq]> : tensor<?xi1, #attn.shape<[batch*seq]>>
  %p = attn.pool <mean> %x mask(%s : !b) : !x
  return %p : !y
}

// -----

!mask = tensor<?x1xi64, #attn.shape<[batch, 1]>>
!x = tensor<?x1x8xf32, #attn.shape<[batch, 1, 8]>>
!y = tensor<?x8xf32, #attn.shape<[batch, 8]>>

// CHECK: args = {entry = "one_token", sizes = "[batch, 1]"}{{[^{}]*}}name = "mask-length-is-not-a-symbol"
// CHECK-LABEL: func.func @one_token(
// CHECK-NOT: attn.ragged_batch
func.func @one_token(%x: !x, %m: !mask {attn.role = "mask"}) -> !y {
  %b = attn.cast %m to i1 : !mask
  %r = attn.reshape %b to <[batch, 1, 1]> : tensor<?x1xi1, #attn.shape<[batch, 1]>>
  %s = attn.reshape %r to <[batch, 1]> : tensor<?x1x1xi1, #attn.shape<[batch, 1, 1]>>
  %p = attn.pool <mean> %x mask(%s : tensor<?x1xi1, #attn.shape<[batch, 1]>>) : !x
  return %p : !y
}

// -----

// Query and key masks: products between two masks, by element or as matrices.

!mask = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!f = tensor<?x?xf32, #attn.shape<[batch, seq]>>
!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!q = tensor<?x?x1xf32, #attn.shape<[batch, seq, 1]>>
!k = tensor<?x1x?xf32, #attn.shape<[batch, 1, seq]>>
!qk = tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>
!qkb = tensor<?x1x?x?xi1, #attn.shape<[batch, 1, seq, seq]>>
!seen = tensor<?x?x1xi1, #attn.shape<[batch, seq, 1]>>

// CHECK-LABEL: func.func @outer_products(
// CHECK-COUNT-3: attn.sdpa {{.*}} <ragged>
func.func @outer_products(%x: !x, %m: !mask {attn.role = "mask"}) -> !x {
  %f = attn.cast %m to f32 : !mask
  %q = attn.reshape %f to <[batch, seq, 1]> : !f
  %k = attn.reshape %f to <[batch, 1, seq]> : !f
  %a = attn.matmul %q, %k : !q, !k
  %a4 = attn.reshape %a to <[batch, 1, seq, seq]> : !qk
  %ab = attn.cast %a4 to i1 : tensor<?x1x?x?xf32, #attn.shape<[batch, 1, seq, seq]>>
  %b = attn.matmul %k, %q {transpose_lhs, transpose_rhs} : !k, !q
  %b4 = attn.reshape %b to <[batch, 1, seq, seq]> : !qk
  %bb = attn.cast %b4 to i1 : tensor<?x1x?x?xf32, #attn.shape<[batch, 1, seq, seq]>>
  %c = attn.mul %q, %k : !q, !k
  %c4 = attn.reshape %c to <[batch, 1, seq, seq]> : !qk
  %cb = attn.cast %c4 to i1 : tensor<?x1x?x?xf32, #attn.shape<[batch, 1, seq, seq]>>
  %0 = attn.sdpa %x, %x, %x mask(%ab : !qkb) heads 2 kv_heads 2 scale 0.25 <select> : !x
  %1 = attn.sdpa %0, %0, %0 mask(%bb : !qkb) heads 2 kv_heads 2 scale 0.25 <select> : !x
  %2 = attn.sdpa %1, %1, %1 mask(%cb : !qkb) heads 2 kv_heads 2 scale 0.25 <select> : !x
  %seen = attn.cast %q to i1 : !q
  %z = attn.mask %2, %seen with 0.0 : !x, !seen
  return %z : !x
}

// A product between operands with different ranks.
// CHECK-LABEL: func.func @ranks_that_differ(
// CHECK-NOT: attn.ragged_batch
func.func @ranks_that_differ(%x: tensor<1x?x8xf32, #attn.shape<[1, seq, 8]>>, %m: tensor<1x?xi64, #attn.shape<[1, seq]>> {attn.role = "mask"})
    -> tensor<1x?x8xf32, #attn.shape<[1, seq, 8]>> {
  %f = attn.cast %m to f32 : tensor<1x?xi64, #attn.shape<[1, seq]>>
  %k4 = attn.reshape %f to <[1, 1, 1, seq]> : tensor<1x?xf32, #attn.shape<[1, seq]>>
  %k3 = attn.reshape %f to <[1, 1, seq]> : tensor<1x?xf32, #attn.shape<[1, seq]>>
  %c = attn.mul %k4, %k3 : tensor<1x1x1x?xf32, #attn.shape<[1, 1, 1, seq]>>, tensor<1x1x?xf32, #attn.shape<[1, 1, seq]>>
  %b = attn.cast %c to i1 : tensor<1x1x1x?xf32, #attn.shape<[1, 1, 1, seq]>>
  %1 = attn.sdpa %x, %x, %x mask(%b : tensor<1x1x1x?xi1, #attn.shape<[1, 1, 1, seq]>>) heads 2 kv_heads 2 scale 0.25 <select>
      : tensor<1x?x8xf32, #attn.shape<[1, seq, 8]>>
  %q3 = attn.reshape %f to <[1, seq, 1]> : tensor<1x?xf32, #attn.shape<[1, seq]>>
  %seen = attn.cast %q3 to i1 : tensor<1x?x1xf32, #attn.shape<[1, seq, 1]>>
  %z = attn.mask %1, %seen with 0.0 : tensor<1x?x8xf32, #attn.shape<[1, seq, 8]>>, tensor<1x?x1xi1, #attn.shape<[1, seq, 1]>>
  return %z : tensor<1x?x8xf32, #attn.shape<[1, seq, 8]>>
}

// Rows from another argument as columns.
// CHECK-LABEL: func.func @transposed_other(
// CHECK-NOT: attn.ragged_batch
func.func @transposed_other(%x: !x, %other: tensor<?x1x?xi1, #attn.shape<[batch, 1, seq]>>, %m: !mask {attn.role = "mask"})
    -> tensor<?x8xf32, #attn.shape<[batch, 8]>> {
  %t = attn.transpose %other [0, 2, 1] : tensor<?x1x?xi1, #attn.shape<[batch, 1, seq]>>
  %b = attn.reshape %t to <[batch, seq]> : tensor<?x?x1xi1, #attn.shape<[batch, seq, 1]>>
  %p = attn.pool <mean> %x mask(%b : tensor<?x?xi1, #attn.shape<[batch, seq]>>) : !x
  return %p : tensor<?x8xf32, #attn.shape<[batch, 8]>>
}

// Sums over the length, and products with another argument.
// CHECK-LABEL: func.func @inner_products(
// CHECK-NOT: attn.ragged_batch
func.func @inner_products(%x: !x, %m: !mask {attn.role = "mask"}) -> !x {
  %f = attn.cast %m to f32 : !mask
  %q = attn.reshape %f to <[batch, seq, 1]> : !f
  %k = attn.reshape %f to <[batch, 1, seq]> : !f
  %n = attn.matmul %k, %q : !k, !q
  %c = attn.mul %k, %n : !k, tensor<?x1x1xf32, #attn.shape<[batch, 1, 1]>>
  %a = attn.matmul %q, %c : !q, !k
  %a4 = attn.reshape %a to <[batch, 1, seq, seq]> : !qk
  %b = attn.cast %a4 to i1 : tensor<?x1x?x?xf32, #attn.shape<[batch, 1, seq, seq]>>
  %1 = attn.sdpa %x, %x, %x mask(%b : !qkb) heads 2 kv_heads 2 scale 0.25 <select> : !x
  %seen = attn.cast %q to i1 : !q
  %z = attn.mask %1, %seen with 0.0 : !x, !seen
  return %z : !x
}

// CHECK-LABEL: func.func @product_with_another(
// CHECK-NOT: attn.ragged_batch
func.func @product_with_another(%x: !x, %other: !q, %m: !mask {attn.role = "mask"}) -> !x {
  %f = attn.cast %m to f32 : !mask
  %q = attn.reshape %f to <[batch, seq, 1]> : !f
  %k = attn.reshape %f to <[batch, 1, seq]> : !f
  %a = attn.matmul %other, %k : !q, !k
  %a4 = attn.reshape %a to <[batch, 1, seq, seq]> : !qk
  %b = attn.cast %a4 to i1 : tensor<?x1x?x?xf32, #attn.shape<[batch, 1, seq, seq]>>
  %1 = attn.sdpa %x, %x, %x mask(%b : !qkb) heads 2 kv_heads 2 scale 0.25 <select> : !x
  %seen = attn.cast %q to i1 : !q
  %z = attn.mask %1, %seen with 0.0 : !x, !seen
  return %z : !x
}

// CHECK-LABEL: func.func @batch_is_the_length(
// CHECK-NOT: attn.ragged_batch
func.func @batch_is_the_length(%x: tensor<?x?x8xf32, #attn.shape<[seq, seq, 8]>>,
                               %m: tensor<?x?xi64, #attn.shape<[seq, seq]>> {attn.role = "mask"})
    -> tensor<?x8xf32, #attn.shape<[seq, 8]>> {
  %t = attn.transpose %m [1, 0] : tensor<?x?xi64, #attn.shape<[seq, seq]>>
  %b = attn.cast %t to i1 : tensor<?x?xi64, #attn.shape<[seq, seq]>>
  %p = attn.pool <mean> %x mask(%b : tensor<?x?xi1, #attn.shape<[seq, seq]>>) : tensor<?x?x8xf32, #attn.shape<[seq, seq, 8]>>
  return %p : tensor<?x8xf32, #attn.shape<[seq, 8]>>
}

// -----

!mask = tensor<?x?xi32, #attn.shape<[batch, seq]>>
!b = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!y = tensor<?x8xf32, #attn.shape<[batch, 8]>>
attn.weight @positions : [512, 8] f32 = #weight.expr<file("p")>

// Table rows are found by positions, which are counted by 64-bit integers.
// CHECK-LABEL: func.func @positions_of_a_mask_of_bools(
// CHECK: %[[C:.*]] = attn.cast %{{.*}} to i64
// CHECK: %[[R:.*]] = attn.gather_rows %[[C]]
// CHECK: attn.position <column> %[[R]]
func.func @positions_of_a_mask_of_bools(%x: !x, %m: !b {attn.role = "mask"}) -> !y {
  %t = attn.get_weight @positions : [512, 8] f32
  %s = attn.slice %t axis 0 from 0 size seq : [512, 8] f32
  %a = attn.add %x, %s : !x, tensor<?x8xf32, #attn.shape<[seq, 8]>>
  %p = attn.pool <mean> %a mask(%m : !b) : !x
  return %p : !y
}

// CHECK-LABEL: func.func @positions_of_a_mask_of_integers(
// CHECK: %[[R:.*]] = attn.gather_rows %arg1,
// CHECK: attn.position <column> %[[R]]
func.func @positions_of_a_mask_of_integers(%x: !x, %m: tensor<?x?xi64, #attn.shape<[batch, seq]>> {attn.role = "mask"}) -> !y {
  %t = attn.get_weight @positions : [512, 8] f32
  %s = attn.slice %t axis 0 from 0 size seq : [512, 8] f32
  %a = attn.add %x, %s : !x, tensor<?x8xf32, #attn.shape<[seq, 8]>>
  %b = attn.cast %m to i1 : tensor<?x?xi64, #attn.shape<[batch, seq]>>
  %p = attn.pool <mean> %a mask(%b : !b) : !x
  return %p : !y
}

// -----

!b = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!f = tensor<?x?xf32, #attn.shape<[batch, seq]>>
!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>

// Operands of a mask are visited once, however many times they are read.
// CHECK: name = "mask-is-not-marked"
// CHECK-LABEL: func.func @many_ways_to_one_argument(
func.func @many_ways_to_one_argument(%x: !x, %m: !f) -> !x {
  %0 = attn.mul %m, %m : !f
  %1 = attn.mul %0, %0 : !f
  %2 = attn.mul %1, %1 : !f
  %3 = attn.mul %2, %2 : !f
  %4 = attn.mul %3, %3 : !f
  %5 = attn.mul %4, %4 : !f
  %6 = attn.mul %5, %5 : !f
  %7 = attn.mul %6, %6 : !f
  %8 = attn.mul %7, %7 : !f
  %9 = attn.mul %8, %8 : !f
  %10 = attn.mul %9, %9 : !f
  %11 = attn.mul %10, %10 : !f
  %12 = attn.mul %11, %11 : !f
  %13 = attn.mul %12, %12 : !f
  %14 = attn.mul %13, %13 : !f
  %15 = attn.mul %14, %14 : !f
  %16 = attn.mul %15, %15 : !f
  %17 = attn.mul %16, %16 : !f
  %18 = attn.mul %17, %17 : !f
  %19 = attn.mul %18, %18 : !f
  %20 = attn.mul %19, %19 : !f
  %21 = attn.mul %20, %20 : !f
  %22 = attn.mul %21, %21 : !f
  %23 = attn.mul %22, %22 : !f
  %24 = attn.mul %23, %23 : !f
  %25 = attn.mul %24, %24 : !f
  %26 = attn.mul %25, %25 : !f
  %27 = attn.mul %26, %26 : !f
  %28 = attn.mul %27, %27 : !f
  %29 = attn.mul %28, %28 : !f
  %30 = attn.mul %29, %29 : !f
  %31 = attn.mul %30, %30 : !f
  %32 = attn.mul %31, %31 : !f
  %33 = attn.mul %32, %32 : !f
  %34 = attn.mul %33, %33 : !f
  %35 = attn.mul %34, %34 : !f
  %36 = attn.mul %35, %35 : !f
  %37 = attn.mul %36, %36 : !f
  %38 = attn.mul %37, %37 : !f
  %39 = attn.cast %38 to i1 : !f
  %40 = attn.sdpa %x, %x, %x mask(%39 : !b) heads 2 kv_heads 2 scale 0.25 <keys> : !x
  return %40 : !x
}

// RUN: transom-opt %s --attn-fuse-attention --split-input-file | FileCheck %s

// Masks whose elements follow from constants and from weights that are triangles.

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!s = tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>
!m = tensor<?x?xf32, #attn.shape<[seq, seq]>>
!b = tensor<?x?xi1, #attn.shape<[seq, seq]>>

attn.weight @lower : [2048, 2048] f32 = #weight.expr<triangle([2048, 2048], 0, 1.0, 0.0)>
attn.weight @next : [2048, 2048] f32 = #weight.expr<triangle([2048, 2048], 1, 1.0, 0.0)>
attn.weight @far : [2048, 2048] f32 = #weight.expr<triangle([2048, 2048], 300, 1.0, 0.0)>
attn.weight @past : [2048, 2048] f32 = #weight.expr<triangle([2048, 2048], -128, 1.0, 0.0)>
attn.weight @file : [2048, 2048] f32 = #weight.expr<file("lower")>

// CHECK-LABEL: func.func @stored_triangle(
// CHECK-NOT: attn.slice
// CHECK: attn.sdpa {{.*}} <none> {causal}
func.func @stored_triangle(%x: !x) -> !x {
  %t = attn.get_weight @lower : [2048, 2048] f32
  %r = attn.slice %t axis 0 from 0 size seq : [2048, 2048] f32
  %m = attn.slice %r axis 1 from 0 size seq : [seq, 2048] f32
  %b = attn.cast %m to i1 : !m
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %h = attn.mask %s, %b with 0xFFF0000000000000 : !s, !b
  %p = attn.softmax %h : !s
  %y = attn.matmul %p, %x : !s, !x
  return %y : !x
}

// Its diagonal is moved by one column, and the cut moves it back.
// CHECK-LABEL: func.func @stored_triangle_cut_later(
// CHECK: attn.sdpa {{.*}} <none> {causal}
func.func @stored_triangle_cut_later(%x: !x) -> !x {
  %t = attn.get_weight @next : [2048, 2048] f32
  %r = attn.slice %t axis 0 from 0 size seq : [2048, 2048] f32
  %m = attn.slice %r axis 1 from 1 size seq : [seq, 2048] f32
  %b = attn.cast %m to i1 : !m
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %h = attn.mask %s, %b with 0xFFF0000000000000 : !s, !b
  %p = attn.softmax %h : !s
  %y = attn.matmul %p, %x : !s, !x
  return %y : !x
}

// (1 - lower) * -3.4e38, added.
// CHECK-LABEL: func.func @arithmetic(
// CHECK: attn.sdpa {{.*}} <none> {causal}
func.func @arithmetic(%x: !x) -> !x {
  %t = attn.get_weight @lower : [2048, 2048] f32
  %one = attn.constant dense<1.0> : tensor<1xf32>
  %low = attn.constant dense<-3.4e38> : tensor<1xf32>
  %i = attn.sub %one, %t : [1] f32, [2048, 2048] f32
  %a = attn.mul %i, %low : [2048, 2048] f32, [1] f32
  %r = attn.slice %a axis 0 from 0 size seq : [2048, 2048] f32
  %m = attn.slice %r axis 1 from 0 size seq : [seq, 2048] f32
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %h = attn.add %s, %m : !s, !m
  %p = attn.softmax %h : !s
  %y = attn.matmul %p, %x : !s, !x
  return %y : !x
}

// A constant whose elements differ, with a triangle that is only partially computed: elsewhere they may differ otherwise.
// CHECK-LABEL: func.func @keeps_triangle_beside_a_list(
// CHECK: attn.sdpa {{.*}} <select>
func.func @keeps_triangle_beside_a_list(%x: !x) -> !x {
  %t = attn.get_weight @lower : [2048, 2048] f32
  %d = attn.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %w = attn.slice %t axis 1 from 0 size 2 : [2048, 2048] f32
  %k = attn.mul %w, %d : [2048, 2] f32, [1, 2] f32
  %l = attn.slice %k axis 1 from 0 size 1 : [2048, 2] f32
  %a = attn.mul %t, %l : [2048, 2048] f32, [2048, 1] f32
  %r = attn.slice %a axis 0 from 0 size seq : [2048, 2048] f32
  %m = attn.slice %r axis 1 from 0 size seq : [seq, 2048] f32
  %b = attn.cast %m to i1 : !m
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %h = attn.mask %s, %b with 0xFFF0000000000000 : !s, !b
  %p = attn.softmax %h : !s
  %y = attn.matmul %p, %x : !s, !x
  return %y : !x
}

// CHECK-LABEL: func.func @keeps_other_diagonals(
// CHECK: attn.sdpa {{.*}} <select>
// CHECK: attn.sdpa {{.*}} <select>
func.func @keeps_other_diagonals(%x: !x) -> !x {
  %t = attn.get_weight @next : [2048, 2048] f32
  %r = attn.slice %t axis 0 from 0 size seq : [2048, 2048] f32
  %m = attn.slice %r axis 1 from 0 size seq : [seq, 2048] f32
  %b = attn.cast %m to i1 : !m
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %h = attn.mask %s, %b with 0xFFF0000000000000 : !s, !b
  %p = attn.softmax %h : !s
  %y = attn.matmul %p, %x : !s, !x
  %t2 = attn.get_weight @far : [2048, 2048] f32
  %r2 = attn.slice %t2 axis 0 from 0 size seq : [2048, 2048] f32
  %m2 = attn.slice %r2 axis 1 from 0 size seq : [seq, 2048] f32
  %b2 = attn.cast %m2 to i1 : !m
  %s2 = attn.matmul %y, %y {transpose_rhs} : !x
  %h2 = attn.mask %s2, %b2 with 0xFFF0000000000000 : !s, !b
  %p2 = attn.softmax %h2 : !s
  %y2 = attn.matmul %p2, %y : !s, !x
  return %y2 : !x
}

// File data is not in the module, whatever its name is.
// CHECK-LABEL: func.func @keeps_weight_of_a_file(
// CHECK: attn.sdpa {{.*}} <select>
func.func @keeps_weight_of_a_file(%x: !x) -> !x {
  %t = attn.get_weight @file : [2048, 2048] f32
  %r = attn.slice %t axis 0 from 0 size seq : [2048, 2048] f32
  %m = attn.slice %r axis 1 from 0 size seq : [seq, 2048] f32
  %b = attn.cast %m to i1 : !m
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %h = attn.mask %s, %b with 0xFFF0000000000000 : !s, !b
  %p = attn.softmax %h : !s
  %y = attn.matmul %p, %x : !s, !x
  return %y : !x
}

// Slices move the second triangle's diagonal by 256 columns, which hides keys from distance 384 on.
// CHECK-LABEL: func.func @keeps_window_that_slices_move(
// CHECK: attn.sdpa {{.*}} <select>
func.func @keeps_window_that_slices_move(%x: !x) -> !x {
  %t = attn.get_weight @lower : [2048, 2048] f32
  %tr = attn.slice %t axis 0 from 0 size seq : [2048, 2048] f32
  %tm = attn.slice %tr axis 1 from 0 size seq : [seq, 2048] f32
  %w = attn.get_weight @past : [2048, 2048] f32
  %wr = attn.slice %w axis 0 from 0 size seq : [2048, 2048] f32
  %wc = attn.slice %wr axis 1 from 128 size 1920 : [seq, 2048] f32
  %wm = attn.slice %wc axis 1 from 128 size seq : [seq, 1920] f32
  %m = attn.sub %tm, %wm : !m, !m
  %b = attn.cast %m to i1 : !m
  %s = attn.matmul %x, %x {transpose_rhs} : !x
  %h = attn.mask %s, %b with 0xFFF0000000000000 : !s, !b
  %p = attn.softmax %h : !s
  %y = attn.matmul %p, %x : !s, !x
  return %y : !x
}

// RUN: transom-opt %s --convert-attn-to-kern --split-input-file -verify-diagnostics | FileCheck %s

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
!m = tensor<?x8xi1, #attn.shape<[rows, 8]>>
!i = tensor<?x8xi64, #attn.shape<[rows, 8]>>
attn.weight @w : [8] f32 = #weight.expr<file("w")>

// An operand that is a weight stays one.
// CHECK-LABEL: func.func @floats_and_integers(
// CHECK: %[[W:.*]] = kern.get_weight @w
// CHECK: kern.elementwise ins(%[[X:.*]], %[[W]]) outs
// CHECK: arith.divf
// CHECK: arith.divsi
func.func @floats_and_integers(%x: !x, %i: !i) -> (!x, !i) {
  %w = attn.get_weight @w : [8] f32
  %a = attn.div %x, %w : !x, [8] f32
  %b = attn.div %i, %i : !i
  return %a, %b : !x, !i
}

// A zero offset is not added.
// CHECK-LABEL: func.func @scale(
// CHECK: %[[TWO:.*]] = arith.constant 2.0
// CHECK-NEXT: %[[P:.*]] = arith.mulf %{{.*}}, %[[TWO]]
// CHECK-NEXT: kern.yield %[[P]]
// CHECK: %[[Q:.*]] = arith.mulf
// CHECK-NEXT: %[[THREE:.*]] = arith.constant 3.0
// CHECK-NEXT: arith.addf %[[Q]], %[[THREE]]
func.func @scale(%x: !x) -> (!x, !x) {
  %a = attn.scale %x by 2.0 : !x
  %b = attn.scale %x by 2.0 {offset = 3.0 : f64} : !x
  return %a, %b : !x, !x
}

// CHECK-LABEL: func.func @casts(
// CHECK: arith.cmpf une, %{{.*}}, %{{.*}} : f32
// CHECK: arith.uitofp %{{.*}} : i1 to f32
// CHECK: arith.fptosi %{{.*}} : f32 to i64
// CHECK: arith.sitofp %{{.*}} : i64 to f32
// CHECK: arith.extui %{{.*}} : i1 to i64
// CHECK: arith.cmpi ne, %{{.*}}, %{{.*}} : i64
func.func @casts(%x: !x, %m: !m, %i: !i) -> (!m, !x, !i, !x, !i, !m) {
  %a = attn.cast %x to i1 : !x
  %b = attn.cast %m to f32 : !m
  %c = attn.cast %x to i64 : !x
  %d = attn.cast %i to f32 : !i
  %e = attn.cast %m to i64 : !m
  %f = attn.cast %i to i1 : !i
  return %a, %b, %c, %d, %e, %f : !m, !x, !i, !x, !i, !m
}

// CHECK-LABEL: func.func @choices(
// CHECK: ^bb0(%[[C:.*]]: i1, %[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT: arith.select %[[C]], %[[A]], %[[B]]
// CHECK: ^bb0(%[[S:.*]]: f32, %[[M:.*]]: i1):
// CHECK-NEXT: %[[V:.*]] = arith.constant -1.0
// CHECK-NEXT: arith.select %[[M]], %[[S]], %[[V]]
// CHECK: ^bb0(%[[N:.*]]: i1):
// CHECK-NEXT: %[[TRUE:.*]] = arith.constant true
// CHECK-NEXT: arith.xori %[[N]], %[[TRUE]]
// CHECK: arith.andi
// CHECK: arith.ori
func.func @choices(%x: !x, %m: !m) -> (!x, !x, !m, !m, !m) {
  %a = attn.where %m, %x, %x : !m, !x, !x
  %b = attn.mask %x, %m with -1.0 : !x, !m
  %c = attn.not %m : !m
  %d = attn.and %m, %m : !m
  %e = attn.or %m, %m : !m
  return %a, %b, %c, %d, %e : !x, !x, !m, !m, !m
}

// RUN: transom-opt %s --kern-fuse-epilogues --split-input-file | FileCheck %s

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>

// A product adds its residual last.
// CHECK: args = {reader = "'kern.elementwise'", residual = "argument 1"}{{[^{}]*}}kind = "missed"{{[^{}]*}}name = "activation-after-residual"
// CHECK-LABEL: func.func @keeps_an_activation_of_the_sum(
// CHECK: kern.gemm {{.*}} residual
// CHECK: kern.elementwise
func.func @keeps_an_activation_of_the_sum(%x: !x, %r: !x, %y: !x, %w: !w) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  %u = kern.alloc : !x
  kern.elementwise ins(%r, %t) outs(%u) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    kern.yield %v : f32
  } : (!x, !x) -> !x
  kern.elementwise ins(%u) outs(%y) {
  ^bb0(%p: f32):
    %v = kern.apply <relu> %p
    kern.yield %v : f32
  } : (!x) -> !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!half = !kern.buffer<[rows, 4] x f32>
!w = !kern.weight<[8, 8] x f32, unset>

// CHECK: args = {result = "argument 1"}{{[^{}]*}}name = "sliced-product-is-a-result"
// CHECK-LABEL: func.func @keeps_slices_of_a_result(
// CHECK: kern.gemm
// CHECK-COUNT-2: kern.copy
func.func @keeps_slices_of_a_result(%x: !x, %p: !x, %y: !half, %z: !half, %w: !w) {
  kern.gemm %x, %w outs(%p) : !x, !w, !x
  kern.copy %p outs(%y) axis 1 from "0" to "0" size "4" : !x, !half
  kern.copy %p outs(%z) axis 1 from "4" to "0" size "4" : !x, !half
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!s = !kern.buffer<[rows, 1] x f32>

// CHECK: args = {out = "'kern.view'", summary = "'kern.row_summary'"}{{[^{}]*}}name = "summary-of-other-buffers"
// CHECK-LABEL: func.func @keeps_a_summary_in_a_view(
// CHECK: kern.gemm
// CHECK: kern.row_summary
func.func @keeps_a_summary_in_a_view(%x: !x, %y: !x, %m: !s, %flat: !kern.buffer<[rows] x f32>, %w: !w) {
  %s = kern.view %flat : !kern.buffer<[rows] x f32> -> !s
  kern.gemm %x, %w outs(%y) : !x, !w, !x
  kern.row_summary %y outs(%m, %s) : !x, !s, !s
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!keys = !kern.buffer<[keys, 8] x f32, key_panels>

// CHECK: args = {readers = "'kern.softmax'"}{{[^{}]*}}function = "packs_keys_that_are_read_as_rows"{{[^{}]*}}name = "keys-are-read-as-rows"
// CHECK-SAME: args = {readers = "other functions"}{{[^{}]*}}function = "packs_keys_that_are_a_result"{{[^{}]*}}name = "keys-are-read-as-rows"
// CHECK-LABEL: func.func @packs_keys_that_are_read_as_rows(
// CHECK: kern.gemm
// CHECK: kern.pack_keys
func.func @packs_keys_that_are_read_as_rows(%x: !x, %y: !x, %w: !w, %s: !kern.ragged<0>) {
  %k = kern.alloc : !x
  kern.gemm %x, %w outs(%k) : !x, !w, !x
  %p = kern.alloc : !keys
  kern.pack_keys %k ragged %s outs(%p) : !x, !kern.ragged<0>, !keys
  kern.softmax %k outs(%y) : !x, !x
  return
}

// CHECK-LABEL: func.func @packs_keys_that_are_a_result(
// CHECK: kern.pack_keys
func.func @packs_keys_that_are_a_result(%x: !x, %k: !x, %w: !w, %s: !kern.ragged<0>) {
  kern.gemm %x, %w outs(%k) : !x, !w, !x
  %p = kern.alloc : !keys
  kern.pack_keys %k ragged %s outs(%p) : !x, !kern.ragged<0>, !keys
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!b = !kern.weight<[8] x f32, unset>

// Sums that add no other buffer: the product itself, a weight; an activation on one of two inputs; a result that nothing slices.
// CHECK-NOT: sliced-product-is-a-result
// CHECK: function = "sum_with_itself"{{[^{}]*}}name = "epilogue-unsupported"
// CHECK-SAME: function = "sum_with_a_weight"{{[^{}]*}}name = "epilogue-unsupported"
// CHECK-SAME: function = "activation_and_sum"{{[^{}]*}}name = "epilogue-unsupported"
// CHECK-NOT: slice
// CHECK-LABEL: func.func @sum_with_itself(
// CHECK-NOT: residual
// CHECK: kern.elementwise
func.func @sum_with_itself(%x: !x, %y: !x, %w: !w) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.elementwise ins(%t, %t) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    kern.yield %r : f32
  } : (!x, !x) -> !x
  return
}

// CHECK-LABEL: func.func @sum_with_a_weight(
// CHECK-NOT: residual
// CHECK: kern.elementwise
func.func @sum_with_a_weight(%x: !x, %y: !x, %w: !w, %b: !b) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.elementwise ins(%t, %b) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    kern.yield %r : f32
  } : (!x, !b) -> !x
  return
}

// CHECK-LABEL: func.func @activation_and_sum(
// CHECK-NOT: epilogue
// CHECK: kern.elementwise
// CHECK: arith.addf
func.func @activation_and_sum(%x: !x, %z: !x, %y: !x, %w: !w) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.elementwise ins(%t, %z) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %a = kern.apply <relu> %p
    %r = arith.addf %a, %q : f32
    kern.yield %r : f32
  } : (!x, !x) -> !x
  return
}

// CHECK-LABEL: func.func @activation_of_a_sum(
// CHECK-NOT: epilogue
// CHECK: kern.elementwise
// CHECK: kern.apply <tanh>
func.func @activation_of_a_sum(%x: !x, %y: !x, %w: !w) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.elementwise ins(%t) outs(%y) {
  ^bb0(%p: f32):
    %a = kern.apply <relu> %p
    %r = kern.apply <tanh> %a
    kern.yield %r : f32
  } : (!x) -> !x
  return
}

// A result that nothing slices is no reason for a remark.
// CHECK-LABEL: func.func @result(
// CHECK: kern.gemm
func.func @result(%x: !x, %y: !x, %w: !w) {
  kern.gemm %x, %w outs(%y) : !x, !w, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!half = !kern.buffer<[rows, 4] x f32>
!w = !kern.weight<[8, 8] x f32, unset, splits [4, 4]>
!s = !kern.buffer<[rows, 1] x f32>

// A reader of one output out of several is not fused into the GEMM.
// CHECK-LABEL: func.func @readers_of_outs(
// CHECK: kern.gemm %{{.*}}, %{{.*}} outs(%[[A:.*]], %[[B:.*]]){{$}}
// CHECK: kern.elementwise ins(%[[A]])
// CHECK: kern.row_summary
func.func @readers_of_outs(%x: !x, %y: !half, %m: !s, %n: !s, %w: !w) {
  %a = kern.alloc : !half
  %b = kern.alloc : !half
  kern.gemm %x, %w outs(%a, %b) : !x, !w, !half, !half
  kern.elementwise ins(%a) outs(%y) {
  ^bb0(%p: f32):
    %q = kern.apply <relu> %p
    kern.yield %q : f32
  } : (!half) -> !half
  kern.row_summary %b outs(%m, %n) : !half, !s, !s
  return
}

// CHECK-LABEL: func.func @summary_of_the_first(
// CHECK: kern.gemm %{{.*}}, %{{.*}} outs(%[[A:.*]], %[[B:.*]]){{$}}
// CHECK: kern.row_summary %[[A]]
func.func @summary_of_the_first(%x: !x, %y: !half, %m: !s, %n: !s, %w: !w) {
  %a = kern.alloc : !half
  kern.gemm %x, %w outs(%a, %y) : !x, !w, !half, !half
  kern.row_summary %a outs(%m, %n) : !half, !s, !s
  return
}

kern.weight @w : !w = #weight.expr<file("w")>

// CHECK-LABEL: func.func @slices_of_the_first(
// CHECK: kern.gemm %{{.*}}, %{{.*}} outs(%[[A:.*]], %[[B:.*]]){{$}}
// CHECK: kern.copy %[[A]]
// CHECK: kern.copy %[[A]]
func.func @slices_of_the_first(%x: !x, %y: !half, %c: !kern.buffer<[rows, 2] x f32>, %d: !kern.buffer<[rows, 2] x f32>) {
  %w = kern.get_weight @w : !w
  %a = kern.alloc : !half
  kern.gemm %x, %w outs(%a, %y) : !x, !w, !half, !half
  kern.copy %a outs(%c) axis 1 from "0" to "0" size "2" : !half, !kern.buffer<[rows, 2] x f32>
  kern.copy %a outs(%d) axis 1 from "2" to "0" size "2" : !half, !kern.buffer<[rows, 2] x f32>
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!n3 = !kern.buffer<[rows, 3] x f32>
!n4 = !kern.buffer<[rows, 4] x f32>
!n5 = !kern.buffer<[rows, 5] x f32>
!n8 = !kern.buffer<[rows, 8] x f32>
kern.weight @w : !w = #weight.expr<file("w")>

// Slices that are not all columns, each once: an operation reads the whole, two begin at one column,
// one begins within another, one is written into the middle of a buffer, columns are left over.
// CHECK-COUNT-5: name = "slices-do-not-cover"
// CHECK-NOT: product-writes-slices
// CHECK-LABEL: func.func @whole_is_read(
// CHECK: kern.copy
func.func @whole_is_read(%x: !x, %a: !n4, %b: !n4, %y: !x) {
  %w = kern.get_weight @w : !w
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.copy %t outs(%a) axis 1 from "0" to "0" size "4" : !x, !n4
  kern.copy %t outs(%b) axis 1 from "4" to "0" size "4" : !x, !n4
  kern.softmax %t outs(%y) : !x, !x
  return
}

// CHECK-LABEL: func.func @equal_begins(
// CHECK: kern.copy
func.func @equal_begins(%x: !x, %a: !n4, %b: !n4, %c: !n4) {
  %w = kern.get_weight @w : !w
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.copy %t outs(%a) axis 1 from "0" to "0" size "4" : !x, !n4
  kern.copy %t outs(%b) axis 1 from "4" to "0" size "4" : !x, !n4
  kern.copy %t outs(%c) axis 1 from "4" to "0" size "4" : !x, !n4
  return
}

// CHECK-LABEL: func.func @begins_within(
// CHECK: kern.copy
func.func @begins_within(%x: !x, %a: !n5, %b: !n3) {
  %w = kern.get_weight @w : !w
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.copy %t outs(%a) axis 1 from "0" to "0" size "5" : !x, !n5
  kern.copy %t outs(%b) axis 1 from "4" to "0" size "3" : !x, !n3
  return
}

// CHECK-LABEL: func.func @into_the_middle(
// CHECK: kern.copy
func.func @into_the_middle(%x: !x, %a: !n4, %b: !n8) {
  %w = kern.get_weight @w : !w
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.copy %t outs(%a) axis 1 from "0" to "0" size "4" : !x, !n4
  kern.copy %t outs(%b) axis 1 from "4" to "4" size "4" : !x, !n8
  return
}

// CHECK-LABEL: func.func @columns_left_over(
// CHECK: kern.copy
func.func @columns_left_over(%x: !x, %a: !n4, %b: !n3) {
  %w = kern.get_weight @w : !w
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.copy %t outs(%a) axis 1 from "0" to "0" size "4" : !x, !n4
  kern.copy %t outs(%b) axis 1 from "4" to "0" size "3" : !x, !n3
  return
}

// -----

!x = !kern.buffer<[rows, 4096] x f32>
!w = !kern.weight<[4096, 4096] x f32, unset>

// Accumulators for a longer K wait in the residual's memory.
// CHECK-LABEL: func.func @longest_k_in_place(
// CHECK: kern.gemm {{.*}} residual
func.func @longest_k_in_place(%x: !x, %s: !x, %w: !w) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.elementwise ins(%s, %t) outs(%s) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    kern.yield %r : f32
  } : (!x, !x) -> !x
  return
}

// -----

!x = !kern.buffer<[rows, 4104] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 4104] x f32, unset>

// CHECK: args = {activation = "no", k = "4104", limit = "4096"{{[^{}]*}}}{{[^{}]*}}name = "tiles-overwrite-residual"
// CHECK-LABEL: func.func @longer_k_in_place(
// CHECK-NOT: residual
func.func @longer_k_in_place(%x: !x, %s: !y, %w: !w) {
  %t = kern.alloc : !y
  kern.gemm %x, %w outs(%t) : !x, !w, !y
  kern.elementwise ins(%s, %t) outs(%s) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    kern.yield %r : f32
  } : (!y, !y) -> !y
  return
}

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

// RUN: transom-opt %s --kern-fuse-epilogues --split-input-file | FileCheck %s
// RUN: transom-opt %s --kern-fuse-epilogues --split-input-file | FileCheck %s --check-prefix=REMARK

// REMARK: args = {activation = "gelu"}{{[^{}]*}}function = "joins_activation_and_residual"{{[^{}]*}}name = "activation-joined-product"
// REMARK-SAME: args = {residual = "argument 1"}{{[^{}]*}}function = "joins_activation_and_residual"{{[^{}]*}}name = "residual-joined-product"
// REMARK-SAME: args = {reader = "'kern.elementwise'", readers = "'kern.elementwise', 'kern.softmax'"}{{[^{}]*}}function = "keeps_a_product_with_two_readers"{{[^{}]*}}name = "product-has-other-readers"
// REMARK-SAME: args = {reader = "'kern.elementwise'"}{{[^{}]*}}function = "keeps_a_broadcast_residual"{{[^{}]*}}name = "epilogue-unsupported"
// REMARK-SAME: args = {product = "[1, 8]", reader = "'kern.elementwise'", result = "[rows, 8]"}{{[^{}]*}}function = "keeps_a_broadcast_product"{{[^{}]*}}name = "product-is-broadcast"
// REMARK-SAME: args = {activation = "yes", k = "8", limit = "4096"{{[^{}]*}}}{{[^{}]*}}function = "keeps_a_residual_in_place_behind_an_activation"{{[^{}]*}}name = "tiles-overwrite-residual"
// REMARK-SAME: args = {input = "argument 0", reader = "'kern.elementwise'"}{{[^{}]*}}function = "keeps_a_result_that_overwrites_the_input"{{[^{}]*}}name = "epilogue-overwrites-input"
// REMARK: args = {slices = "3", widths = "8, 8, 8"}{{[^{}]*}}function = "writes_slices_and_key_panels"{{[^{}]*}}name = "product-writes-slices"
// REMARK-SAME: function = "writes_slices_and_key_panels"{{[^{}]*}}name = "product-writes-key-panels"
// REMARK: args = {columns = "16", readers = "'kern.copy', 'kern.copy'"}{{[^{}]*}}function = "keeps_slices_with_a_gap"{{[^{}]*}}name = "slices-do-not-cover"
// REMARK-SAME: function = "keeps_slices_of_a_shared_weight"{{[^{}]*}}name = "sliced-weight-is-shared"
// REMARK: args = {slice = "'kern.copy'"}{{[^{}]*}}function = "keeps_slices_of_a_state_that_is_still_read"{{[^{}]*}}name = "slice-is-read-earlier"
// REMARK-SAME: function = "keeps_slices_behind_an_activation"{{[^{}]*}}name = "slices-of-finished-product"
// REMARK-SAME: function = "keeps_keys_behind_an_activation"{{[^{}]*}}name = "key-panels-of-finished-product"
// REMARK-SAME: args = {batch = "argument 3"}{{[^{}]*}}function = "keeps_keys_of_another_batch"{{[^{}]*}}name = "key-panels-of-other-batch"
// REMARK: function = "summarizes_what_it_writes"{{[^{}]*}}name = "product-summarizes-rows"
// REMARK-SAME: args = {summary = "'kern.row_summary'", writer = "'kern.softmax'"}{{[^{}]*}}function = "does_not_summarize_what_was_overwritten"{{[^{}]*}}name = "summary-of-overwritten-rows"

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!b = !kern.weight<[8] x f32, unset>

// CHECK-LABEL: func.func @joins_activation_and_residual(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[rows, 8] x f32>, %[[R:.*]]: !kern.buffer<[rows, 8] x f32>, %[[Y:.*]]: !kern.buffer<[rows, 8] x f32>, %[[W:.*]]: !kern.weight<[8, 8] x f32, unset>, %[[B:.*]]: !kern.weight<[8] x f32, unset>)
// CHECK-NEXT: kern.gemm %[[X]], %[[W]] bias %[[B]] residual %[[R]] outs(%[[Y]]) epilogue <gelu>
// CHECK-NEXT: :
// CHECK-NEXT: return
func.func @joins_activation_and_residual(%x: !x, %r: !x, %y: !x, %w: !w, %b: !b) {
  %t = kern.alloc : !x
  kern.gemm %x, %w bias %b outs(%t) : !x, !w, !b, !x
  %u = kern.alloc : !x
  kern.elementwise ins(%t) outs(%u) {
  ^bb0(%p: f32):
    %q = kern.apply <gelu> %p
    kern.yield %q : f32
  } : (!x) -> !x
  kern.elementwise ins(%r, %u) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    kern.yield %s : f32
  } : (!x, !x) -> !x
  return
}

// CHECK-LABEL: func.func @keeps_a_product_with_two_readers(
// CHECK: kern.gemm %{{.*}}, %{{.*}} outs(%[[T:.*]]){{$}}
// CHECK: kern.elementwise ins(%[[T]])
// CHECK: kern.softmax %[[T]]
func.func @keeps_a_product_with_two_readers(%x: !x, %y: !x, %z: !x, %w: !w) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.elementwise ins(%t) outs(%y) {
  ^bb0(%p: f32):
    %q = kern.apply <gelu> %p
    kern.yield %q : f32
  } : (!x) -> !x
  kern.softmax %t outs(%z) : !x, !x
  return
}

// CHECK-LABEL: func.func @keeps_a_broadcast_residual(
// CHECK: kern.gemm %{{.*}}, %{{.*}} outs(%{{.*}}){{$}}
// CHECK: kern.elementwise
func.func @keeps_a_broadcast_residual(%x: !x, %r: !kern.buffer<[1, 8] x f32>, %y: !x, %w: !w) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.elementwise ins(%t, %r) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    kern.yield %s : f32
  } : (!x, !kern.buffer<[1, 8] x f32>) -> !x
  return
}

// CHECK-LABEL: func.func @keeps_a_broadcast_product(
// CHECK: kern.gemm %{{.*}}, %{{.*}} outs(%{{.*}}){{$}}
// CHECK: kern.elementwise
func.func @keeps_a_broadcast_product(%x: !kern.buffer<[1, 8] x f32>, %r: !x, %y: !x, %w: !w) {
  %t = kern.alloc : !kern.buffer<[1, 8] x f32>
  kern.gemm %x, %w outs(%t) : !kern.buffer<[1, 8] x f32>, !w, !kern.buffer<[1, 8] x f32>
  kern.elementwise ins(%t, %r) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    kern.yield %s : f32
  } : (!kern.buffer<[1, 8] x f32>, !x) -> !x
  return
}

// CHECK-LABEL: func.func @updates_a_residual_in_place(
// CHECK: kern.gemm %{{.*}}, %{{.*}} residual %[[S:.*]] outs(%[[S]]){{$}}
// CHECK-NOT: kern.elementwise
// CHECK: return
func.func @updates_a_residual_in_place(%s: !x, %x: !x, %w: !w) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.elementwise ins(%s, %t) outs(%s) {
  ^bb0(%p: f32, %q: f32):
    %u = arith.addf %p, %q : f32
    kern.yield %u : f32
  } : (!x, !x) -> !x
  return
}

// GEMM tiles would wait in memory that still holds the residual.
// CHECK-LABEL: func.func @keeps_a_residual_in_place_behind_an_activation(
// CHECK: kern.gemm %{{.*}}, %{{.*}} outs(%[[T:.*]]) epilogue <relu>
// CHECK: kern.elementwise ins(%[[S:.*]], %[[T]]) outs(%[[S]])
func.func @keeps_a_residual_in_place_behind_an_activation(%s: !x, %x: !x, %w: !w) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  %v = kern.alloc : !x
  kern.elementwise ins(%t) outs(%v) {
  ^bb0(%p: f32):
    %q = kern.apply <relu> %p
    kern.yield %q : f32
  } : (!x) -> !x
  kern.elementwise ins(%s, %v) outs(%s) {
  ^bb0(%p: f32, %q: f32):
    %u = arith.addf %p, %q : f32
    kern.yield %u : f32
  } : (!x, !x) -> !x
  return
}

// The state is the GEMM input: other tiles would read memory that one has written.
// CHECK-LABEL: func.func @keeps_a_result_that_overwrites_the_input(
// CHECK: kern.gemm %[[S:.*]], %{{.*}} outs(%[[T:.*]]){{$}}
// CHECK: kern.elementwise ins(%[[S]], %[[T]]) outs(%[[S]])
func.func @keeps_a_result_that_overwrites_the_input(%s: !x, %w: !w) {
  %t = kern.alloc : !x
  kern.gemm %s, %w outs(%t) : !x, !w, !x
  kern.elementwise ins(%s, %t) outs(%s) {
  ^bb0(%p: f32, %q: f32):
    %u = arith.addf %p, %q : f32
    kern.yield %u : f32
  } : (!x, !x) -> !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!p = !kern.buffer<[rows, 24] x f32>
!w = !kern.weight<[24, 8] x f32, unset>
!k = !kern.buffer<[keys, 8] x f32, key_panels>

// The weight and its value know where the slices begin; one becomes key panels.
// CHECK: kern.weight @w : !kern.weight<[24, 8] x f32, unset, splits [8, 8, 8]>
kern.weight @w : !w = #weight.expr<file("w")>

// CHECK-LABEL: func.func @writes_slices_and_key_panels(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[rows, 8] x f32>, %[[Q:.*]]: !kern.buffer<[rows, 8] x f32>, %[[K:.*]]: !kern.buffer<[rows, 8] x f32>, %[[V:.*]]: !kern.buffer<[rows, 8] x f32>, %[[S:.*]]: !kern.ragged<0>)
// CHECK: %[[W:.*]] = kern.get_weight @w : <[24, 8] x f32, unset, splits [8, 8, 8]>
// CHECK: %[[P:.*]] = kern.alloc : <[keys, 8] x f32, key_panels>
// CHECK: kern.gemm %[[X]], %[[W]] ragged %[[S]] outs(%[[Q]], %[[P]], %[[V]])
// CHECK-NOT: kern.copy
// CHECK: kern.attention %[[Q]], %[[P]], %[[V]]
func.func @writes_slices_and_key_panels(%x: !x, %q: !x, %y: !x, %v: !x, %s: !kern.ragged<0>) {
  %w = kern.get_weight @w : !w
  %t = kern.alloc : !p
  kern.gemm %x, %w outs(%t) : !x, !w, !p
  %k = kern.alloc : !x
  kern.copy %t outs(%q) axis 1 from "0" to "0" size "8" : !p, !x
  kern.copy %t outs(%k) axis 1 from "8" to "0" size "8" : !p, !x
  kern.copy %t outs(%v) axis 1 from "16" to "0" size "8" : !p, !x
  %panels = kern.alloc : !k
  kern.pack_keys %k ragged %s outs(%panels) : !x, !kern.ragged<0>, !k
  %scratch = kern.alloc : !kern.buffer<[parts, 8640] x f32>
  kern.attention %q, %panels, %v ragged %s, %s scratch %scratch outs(%y) heads 1 kv_heads 1 scale 1.0 :
      !x, !k, !x, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!p = !kern.buffer<[rows, 16] x f32>
!w = !kern.weight<[16, 8] x f32, unset>

// CHECK: kern.weight @gap : !kern.weight<[16, 8] x f32, unset> =
kern.weight @gap : !w = #weight.expr<file("gap")>
// CHECK: kern.weight @shared : !kern.weight<[16, 8] x f32, unset> =
kern.weight @shared : !w = #weight.expr<file("shared")>

// CHECK-LABEL: func.func @keeps_slices_with_a_gap(
// CHECK: kern.gemm
// CHECK-COUNT-2: kern.copy
func.func @keeps_slices_with_a_gap(%x: !x, %y: !kern.buffer<[rows, 4] x f32>, %z: !x) {
  %w = kern.get_weight @gap : !w
  %t = kern.alloc : !p
  kern.gemm %x, %w outs(%t) : !x, !w, !p
  kern.copy %t outs(%y) axis 1 from "0" to "0" size "4" : !p, !kern.buffer<[rows, 4] x f32>
  kern.copy %t outs(%z) axis 1 from "8" to "0" size "8" : !p, !x
  return
}

// Another product reads the weight as a whole.
// CHECK-LABEL: func.func @keeps_slices_of_a_shared_weight(
// CHECK: kern.gemm
// CHECK-COUNT-2: kern.copy
func.func @keeps_slices_of_a_shared_weight(%x: !x, %y: !x, %z: !x, %whole: !p) {
  %w = kern.get_weight @shared : !w
  %t = kern.alloc : !p
  kern.gemm %x, %w outs(%t) : !x, !w, !p
  kern.copy %t outs(%y) axis 1 from "0" to "0" size "8" : !p, !x
  kern.copy %t outs(%z) axis 1 from "8" to "0" size "8" : !p, !x
  %v = kern.get_weight @shared : !w
  kern.gemm %x, %v outs(%whole) : !x, !w, !p
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!p = !kern.buffer<[rows, 16] x f32>
!w = !kern.weight<[16, 8] x f32, unset>

// CHECK-LABEL: func.func @keeps_slices_of_a_state_that_is_still_read(
// CHECK: kern.gemm
// CHECK-COUNT-2: kern.copy
func.func @keeps_slices_of_a_state_that_is_still_read(%state: !x, %x: !x, %y: !x, %z: !x, %w: !w) {
  %t = kern.alloc : !p
  kern.gemm %x, %w outs(%t) : !x, !w, !p
  kern.softmax %state outs(%y) : !x, !x
  kern.copy %t outs(%z) axis 1 from "0" to "0" size "8" : !p, !x
  kern.copy %t outs(%state) axis 1 from "8" to "0" size "8" : !p, !x
  return
}

// CHECK-LABEL: func.func @keeps_slices_behind_an_activation(
// CHECK: kern.gemm
// CHECK-COUNT-2: kern.copy
func.func @keeps_slices_behind_an_activation(%x: !x, %y: !x, %z: !x, %w: !w) {
  %t = kern.alloc : !p
  kern.gemm %x, %w outs(%t) epilogue <relu> : !x, !w, !p
  kern.copy %t outs(%y) axis 1 from "0" to "0" size "8" : !p, !x
  kern.copy %t outs(%z) axis 1 from "8" to "0" size "8" : !p, !x
  return
}

!square = !kern.weight<[8, 8] x f32, unset>
!keys = !kern.buffer<[keys, 8] x f32, key_panels>
!pair = !kern.weight<[16, 8] x f32, unset, splits [8, 8]>

// CHECK-LABEL: func.func @keeps_keys_behind_an_activation(
// CHECK: kern.pack_keys
func.func @keeps_keys_behind_an_activation(%x: !x, %w: !square, %s: !kern.ragged<0>) {
  %k = kern.alloc : !x
  kern.gemm %x, %w outs(%k) epilogue <relu> : !x, !square, !x
  %p = kern.alloc : !keys
  kern.pack_keys %k ragged %s outs(%p) : !x, !kern.ragged<0>, !keys
  return
}

// The GEMM already writes keys for one batch.
// CHECK-LABEL: func.func @keeps_keys_of_another_batch(
// CHECK: kern.gemm {{.*}} ragged %[[S:.*]] outs(
// CHECK: kern.pack_keys
func.func @keeps_keys_of_another_batch(%x: !x, %w: !pair, %s: !kern.ragged<0>, %r: !kern.ragged<1>) {
  %k = kern.alloc : !x
  %l = kern.alloc : !x
  kern.gemm %x, %w outs(%k, %l) : !x, !pair, !x, !x
  %p = kern.alloc : !keys
  kern.pack_keys %k ragged %s outs(%p) : !x, !kern.ragged<0>, !keys
  %q = kern.alloc : !keys
  kern.pack_keys %l ragged %r outs(%q) : !x, !kern.ragged<1>, !keys
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[16, 8] x f32, unset>
kern.weight @gate : !w = #weight.expr<file("gate")>

// CHECK-LABEL: func.func @a_gate_takes_nothing_else(
// CHECK: kern.gemm %{{.*}}, %{{.*}} outs(%[[T:.*]]) epilogue <glu silu>
// CHECK: kern.elementwise ins(%[[T]], %{{.*}})
// CHECK: kern.gemm %{{.*}}, %{{.*}} outs(%[[U:.*]]) epilogue <glu silu>
// CHECK: kern.elementwise ins(%[[U]])
func.func @a_gate_takes_nothing_else(%x: !x, %r: !x, %y: !x, %z: !x) {
  %w = kern.get_weight @gate : !w
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) epilogue <glu silu> : !x, !w, !x
  kern.elementwise ins(%t, %r) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    kern.yield %s : f32
  } : (!x, !x) -> !x
  %u = kern.alloc : !x
  kern.gemm %x, %w outs(%u) epilogue <glu silu> : !x, !w, !x
  kern.elementwise ins(%u) outs(%z) {
  ^bb0(%p: f32):
    %s = kern.apply <relu> %p
    kern.yield %s : f32
  } : (!x) -> !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!s = !kern.buffer<[rows, 1] x f32>

// A summary joins a product that has other readers. The residual is in before.
// CHECK-LABEL: func.func @summarizes_what_it_writes(
// CHECK-SAME: %[[X:[a-z0-9]*]]: !kern.buffer<[rows, 8] x f32>, %[[R:[a-z0-9]*]]: {{[^,]*, [^,]*}}, %[[Y:[a-z0-9]*]]: !kern.buffer<[rows, 8] x f32>,
// CHECK: %[[M:.*]] = kern.alloc : <[rows, 1] x f32>
// CHECK-NEXT: %[[S:.*]] = kern.alloc : <[rows, 1] x f32>
// CHECK-NEXT: kern.gemm %[[X]], %{{.*}} residual %[[R]] summary(%[[M]], %[[S]]) outs(%[[Y]])
// CHECK-NEXT: :
// CHECK-NEXT: kern.softmax %[[Y]]
// CHECK-NOT: kern.row_summary
// CHECK: return
func.func @summarizes_what_it_writes(%x: !x, %r: !x, %y: !x, %z: !x, %w: !w) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.elementwise ins(%r, %t) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    kern.yield %v : f32
  } : (!x, !x) -> !x
  kern.softmax %y outs(%z) : !x, !x
  %m = kern.alloc : !s
  %s = kern.alloc : !s
  kern.row_summary %y outs(%m, %s) : !x, !s, !s
  kern.softmax %y outs(%x) : !x, !x
  return
}

// CHECK-LABEL: func.func @does_not_summarize_what_was_overwritten(
// CHECK: kern.gemm
// CHECK: kern.row_summary
func.func @does_not_summarize_what_was_overwritten(%x: !x, %y: !x, %m: !s, %s: !s, %w: !w) {
  kern.gemm %x, %w outs(%y) : !x, !w, !x
  kern.softmax %y outs(%y) : !x, !x
  kern.row_summary %y outs(%m, %s) : !x, !s, !s
  return
}

// CHECK-LABEL: func.func @does_not_summarize_a_scaled_product(
// CHECK: kern.gemm
// CHECK: kern.elementwise
// CHECK: kern.row_summary
func.func @does_not_summarize_a_scaled_product(%x: !x, %y: !x, %m: !s, %s: !s, %w: !w) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.elementwise ins(%t) outs(%y) {
  ^bb0(%p: f32):
    %c = arith.constant 2.0 : f32
    %q = arith.mulf %p, %c : f32
    kern.yield %q : f32
  } : (!x) -> !x
  kern.row_summary %y outs(%m, %s) : !x, !s, !s
  return
}

// RUN: transom-opt %s --kern-fuse-glu --split-input-file | FileCheck %s
// RUN: transom-opt %s --kern-fuse-glu --split-input-file | FileCheck %s --check-prefix=REMARK

!x = !kern.buffer<[rows, 4] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 4] x f32, unset>
!b = !kern.weight<[8] x f32, unset>

// CHECK: kern.weight @g : !kern.weight<[16, 4] x f32, unset> = #weight.expr<interleave(8, file("g"), file("u"))>
kern.weight @g : !w = #weight.expr<file("g")>
kern.weight @u : !w = #weight.expr<file("u")>
// CHECK: kern.weight @gb : !kern.weight<[16] x f32, unset> = #weight.expr<interleave(8, file("gb"), file("ub"))>
kern.weight @gb : !b = #weight.expr<file("gb")>
kern.weight @ub : !b = #weight.expr<file("ub")>

// REMARK: args = {activation = "silu", columns = "8"}{{[^{}]*}}function = "two_products_become_one"{{[^{}]*}}name = "glu-joined-product"
// CHECK-LABEL: func.func @two_products_become_one(
// CHECK: %[[W:.*]] = kern.get_weight @g
// CHECK: %[[B:.*]] = kern.get_weight @gb
// CHECK-NEXT: kern.gemm %[[X:.*]], %[[W]] bias %[[B]] outs(%{{.*}}) epilogue <glu silu>
// CHECK-NEXT: :
// CHECK-NEXT: return
func.func @two_products_become_one(%x: !x, %y: !y) {
  %g = kern.get_weight @g : !w
  %gb = kern.get_weight @gb : !b
  %a = kern.alloc : !y
  kern.gemm %x, %g bias %gb outs(%a) : !x, !w, !b, !y
  %c = kern.alloc : !y
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!y) -> !y
  %u = kern.get_weight @u : !w
  %ub = kern.get_weight @ub : !b
  %d = kern.alloc : !y
  kern.gemm %x, %u bias %ub outs(%d) : !x, !w, !b, !y
  kern.elementwise ins(%d, %c) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!y, !y) -> !y
  return
}

// -----

!x = !kern.buffer<[rows, 4] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 4] x f32, unset>

// Each layer's weights are interleaved, and the body loses a parameter.
// CHECK: kern.weight @g0 : !kern.weight<[16, 4] x f32, unset> = #weight.expr<interleave(8, file("g0"), file("u0"))>
kern.weight @g0 : !w = #weight.expr<file("g0")>
kern.weight @u0 : !w = #weight.expr<file("u0")>
// CHECK: kern.weight @g1 : !kern.weight<[16, 4] x f32, unset> = #weight.expr<interleave(8, file("g1"), file("u1"))>
kern.weight @g1 : !w = #weight.expr<file("g1")>
kern.weight @u1 : !w = #weight.expr<file("u1")>
kern.weight @n : !kern.weight<[4] x f32, unset> = #weight.expr<file("n")>

// CHECK: kern.layers %{{.*}} [@layer(@g0, @n), @layer(@g1, @n)]
func.func @step(%x: !x, %y: !y) {
  kern.layers %x invariants(%y : !y) [@layer(@u0, @g0, @n), @layer(@u1, @g1, @n)] : !x
  return
}
// CHECK: func.func private @layer(%[[X:.*]]: {{.*}}, %[[Y:.*]]: {{.*}}, %[[W:.*]]: !kern.weight<[16, 4] x f32, unset>, %{{.*}}: !kern.weight<[4] x f32, unset>)
// CHECK-NEXT: kern.gemm %[[X]], %[[W]] outs(%[[Y]]) epilogue <glu gelu_tanh>
func.func private @layer(%x: !x, %y: !y, %u: !w, %g: !w, %n: !kern.weight<[4] x f32, unset>) {
  %a = kern.alloc : !y
  kern.gemm %x, %g outs(%a) : !x, !w, !y
  %d = kern.alloc : !y
  kern.gemm %x, %u outs(%d) : !x, !w, !y
  %c = kern.alloc : !y
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <gelu_tanh> %p
    kern.yield %q : f32
  } : (!y) -> !y
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!y, !y) -> !y
  return
}

// -----

!x = !kern.buffer<[rows, 4] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!t = !kern.buffer<[rows, 16] x f32>
!w = !kern.weight<[16, 4] x f32, unset>

// The second half is g here.
// CHECK: kern.weight @gu : !kern.weight<[16, 4] x f32, unset> = #weight.expr<interleave(8, slice(file("gu"), 0, 8, 8), slice(file("gu"), 0, 0, 8))>
kern.weight @gu : !w = #weight.expr<file("gu")>

// CHECK-LABEL: func.func @halves_of_one_product(
// CHECK: %[[W:.*]] = kern.get_weight @gu
// CHECK-NEXT: kern.gemm %{{.*}}, %[[W]] outs(%{{.*}}) epilogue <glu silu>
// CHECK-NEXT: :
// CHECK-NEXT: return
func.func @halves_of_one_product(%x: !x, %y: !y) {
  %w = kern.get_weight @gu : !w
  %t = kern.alloc : !t
  kern.gemm %x, %w outs(%t) : !x, !w, !t
  %a = kern.alloc : !y
  kern.copy %t outs(%a) axis 1 from "8" to "0" size "8" : !t, !y
  %d = kern.alloc : !y
  kern.copy %t outs(%d) axis 1 from "0" to "0" size "8" : !t, !y
  %c = kern.alloc : !y
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!y) -> !y
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!y, !y) -> !y
  return
}

// -----

!x = !kern.buffer<[rows, 4] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 4] x f32, unset>
kern.weight @g : !w = #weight.expr<file("g")>
kern.weight @u : !w = #weight.expr<file("u")>

// REMARK: args = {factor = "'kern.gemm'", readers = "'kern.softmax'"}{{[^{}]*}}name = "glu-factor-has-other-reader"
// CHECK-LABEL: func.func @a_factor_with_another_reader_stays(
// CHECK-COUNT-2: kern.gemm
func.func @a_factor_with_another_reader_stays(%x: !x, %y: !y, %z: !y) {
  %g = kern.get_weight @g : !w
  %u = kern.get_weight @u : !w
  %a = kern.alloc : !y
  kern.gemm %x, %g outs(%a) : !x, !w, !y
  %d = kern.alloc : !y
  kern.gemm %x, %u outs(%d) : !x, !w, !y
  %c = kern.alloc : !y
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!y) -> !y
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!y, !y) -> !y
  kern.softmax %d outs(%z) : !y, !y
  return
}

// REMARK: function = "factors_of_other_inputs_stay"{{[^{}]*}}name = "glu-inputs-differ"
// CHECK-LABEL: func.func @factors_of_other_inputs_stay(
// CHECK-COUNT-2: kern.gemm
func.func @factors_of_other_inputs_stay(%x: !x, %z: !x, %y: !y) {
  %g = kern.get_weight @g : !w
  %u = kern.get_weight @u : !w
  %a = kern.alloc : !y
  kern.gemm %x, %g outs(%a) : !x, !w, !y
  %d = kern.alloc : !y
  kern.gemm %z, %u outs(%d) : !x, !w, !y
  %c = kern.alloc : !y
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!y) -> !y
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!y, !y) -> !y
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>

// CHECK: attn.remarks = {{.*}}args = {factor = "gate", writer = "'kern.softmax'"}, category = "kern-fuse-glu"{{[^{}]*}}name = "glu-factor-is-not-a-product"
// CHECK-LABEL: func.func @factors_that_are_no_products_stay(
func.func @factors_that_are_no_products_stay(%x: !x, %z: !x, %y: !x) {
  %a = kern.alloc : !x
  kern.softmax %x outs(%a) : !x, !x
  %d = kern.alloc : !x
  kern.softmax %z outs(%d) : !x, !x
  %c = kern.alloc : !x
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!x) -> !x
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!x, !x) -> !x
  return
}

// -----

!x = !kern.buffer<[rows, 4] x f32>
!y = !kern.buffer<[rows, 12] x f32>
!w = !kern.weight<[12, 4] x f32, unset>
kern.weight @g : !w = #weight.expr<file("g")>
kern.weight @u : !w = #weight.expr<file("u")>

// REMARK: args = {gate = "12", multiple = "8", up = "12"}{{[^{}]*}}name = "glu-width-unsupported"
// CHECK-LABEL: func.func @odd_widths_stay(
// CHECK-COUNT-2: kern.gemm
func.func @odd_widths_stay(%x: !x, %y: !y) {
  %g = kern.get_weight @g : !w
  %u = kern.get_weight @u : !w
  %a = kern.alloc : !y
  kern.gemm %x, %g outs(%a) : !x, !w, !y
  %d = kern.alloc : !y
  kern.gemm %x, %u outs(%d) : !x, !w, !y
  %c = kern.alloc : !y
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!y) -> !y
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!y, !y) -> !y
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!b = !kern.weight<[8] x f32, unset>
kern.weight @g : !w = #weight.expr<file("g")>
kern.weight @u : !w = #weight.expr<file("u")>
kern.weight @b : !b = #weight.expr<file("b")>

// REMARK: function = "one_bias_stays"{{[^{}]*}}name = "glu-has-one-bias"
// REMARK-SAME: args = {product = "'kern.gemm'"}{{[^{}]*}}function = "result_in_the_input_s_place_stays"{{[^{}]*}}name = "glu-overwrites-input"
// REMARK-SAME: args = {product = "'kern.gemm'"}{{[^{}]*}}function = "one_weight_for_both_stays"{{[^{}]*}}name = "glu-weight-is-shared"
// CHECK-LABEL: func.func @one_bias_stays(
// CHECK-COUNT-2: kern.gemm
func.func @one_bias_stays(%x: !x, %y: !x) {
  %g = kern.get_weight @g : !w
  %u = kern.get_weight @u : !w
  %b = kern.get_weight @b : !b
  %a = kern.alloc : !x
  kern.gemm %x, %g bias %b outs(%a) : !x, !w, !b, !x
  %d = kern.alloc : !x
  kern.gemm %x, %u outs(%d) : !x, !w, !x
  %c = kern.alloc : !x
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!x) -> !x
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!x, !x) -> !x
  return
}

// CHECK-LABEL: func.func @one_weight_for_both_stays(
// CHECK-COUNT-2: kern.gemm
func.func @one_weight_for_both_stays(%x: !x, %y: !x) {
  %g = kern.get_weight @g : !w
  %a = kern.alloc : !x
  kern.gemm %x, %g outs(%a) : !x, !w, !x
  %d = kern.alloc : !x
  kern.gemm %x, %g outs(%d) : !x, !w, !x
  %c = kern.alloc : !x
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!x) -> !x
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!x, !x) -> !x
  return
}

kern.weight @g2 : !w = #weight.expr<file("g2")>
kern.weight @u2 : !w = #weight.expr<file("u2")>

// CHECK-LABEL: func.func @result_in_the_input_s_place_stays(
// CHECK-COUNT-2: kern.gemm
func.func @result_in_the_input_s_place_stays(%x: !x) {
  %g = kern.get_weight @g2 : !w
  %u = kern.get_weight @u2 : !w
  %a = kern.alloc : !x
  kern.gemm %x, %g outs(%a) : !x, !w, !x
  %d = kern.alloc : !x
  kern.gemm %x, %u outs(%d) : !x, !w, !x
  %c = kern.alloc : !x
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!x) -> !x
  kern.elementwise ins(%c, %d) outs(%x) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!x, !x) -> !x
  return
}

// -----

!x = !kern.buffer<[rows, 4104] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 4104] x f32, unset>
kern.weight @g : !w = #weight.expr<file("g")>
kern.weight @u : !w = #weight.expr<file("u")>

// REMARK: args = {k = "4104", limit = "4096"}{{[^{}]*}}name = "glu-of-long-k"
// CHECK-LABEL: func.func @sums_over_a_long_k_stay(
// CHECK-COUNT-2: kern.gemm
func.func @sums_over_a_long_k_stay(%x: !x, %y: !y) {
  %g = kern.get_weight @g : !w
  %u = kern.get_weight @u : !w
  %a = kern.alloc : !y
  kern.gemm %x, %g outs(%a) : !x, !w, !y
  %d = kern.alloc : !y
  kern.gemm %x, %u outs(%d) : !x, !w, !y
  %c = kern.alloc : !y
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!y) -> !y
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!y, !y) -> !y
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
kern.weight @g : !w = #weight.expr<file("g")>
kern.weight @u : !w = #weight.expr<file("u")>

// REMARK: args = {glu = "'kern.elementwise'"}{{[^{}]*}}name = "glu-is-in-another-layer"
// CHECK-LABEL: func.func @products_in_a_phase_stay(
// CHECK-COUNT-2: kern.gemm
func.func @products_in_a_phase_stay(%x: !x, %y: !x) {
  %g = kern.get_weight @g : !w
  %u = kern.get_weight @u : !w
  %a = kern.alloc : !x
  %d = kern.alloc : !x
  kern.phase "products" {
    kern.gemm %x, %g outs(%a) : !x, !w, !x
    kern.gemm %x, %u outs(%d) : !x, !w, !x
  }
  %c = kern.alloc : !x
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!x) -> !x
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!x, !x) -> !x
  return
}

// -----

!x = !kern.buffer<[rows, 16] x f32>
!y = !kern.buffer<[rows, 16] x f32>
!w = !kern.weight<[16, 16] x f32, unset>
kern.weight @g0 : !w = #weight.expr<file("g0")>
kern.weight @u0 : !w = #weight.expr<file("u0")>
kern.weight @g1 : !w = #weight.expr<file("g1")>
kern.weight @u1 : !w = #weight.expr<file("u1")>

// Two entries run the same layers, and a layer is repeated: each weight is interleaved once.
// CHECK-DAG: kern.weight @g0 : !{{.*}} = #weight.expr<interleave(8, file("g0"), file("u0"))>
// CHECK-DAG: kern.weight @g1 : !{{.*}} = #weight.expr<interleave(8, file("g1"), file("u1"))>
// CHECK-LABEL: func.func @encode(
// CHECK: kern.layers {{.*}} [@layer(@g0), @layer(@g1), @layer(@g0)]
func.func @encode(%x: !x, %y: !x) {
  kern.layers %x invariants(%y : !x) [@layer(@g0, @u0), @layer(@g1, @u1), @layer(@g0, @u0)] : !x
  return
}
// CHECK-LABEL: func.func @embed(
// CHECK: kern.layers {{.*}} [@layer_0(@g0), @layer_0(@g1), @layer_0(@g0)]
func.func @embed(%x: !x, %y: !x) {
  kern.layers %x invariants(%y : !x) [@layer_0(@g0, @u0), @layer_0(@g1, @u1), @layer_0(@g0, @u0)] : !x
  return
}
// CHECK-LABEL: func.func private @layer(
// CHECK: kern.gemm {{.*}} epilogue <glu silu>
// CHECK-NOT: kern.gemm
// CHECK-LABEL: func.func private @layer_0(
// CHECK: kern.gemm {{.*}} epilogue <glu silu>
// CHECK-NOT: kern.gemm
func.func private @layer(%x: !x, %y: !x, %g: !w, %u: !w) {
  %a = kern.alloc : !x
  kern.gemm %x, %g outs(%a) : !x, !w, !x
  %c = kern.alloc : !x
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!x) -> !x
  %d = kern.alloc : !x
  kern.gemm %x, %u outs(%d) : !x, !w, !x
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!x, !x) -> !x
  return
}
func.func private @layer_0(%x: !x, %y: !x, %g: !w, %u: !w) {
  %a = kern.alloc : !x
  kern.gemm %x, %g outs(%a) : !x, !w, !x
  %c = kern.alloc : !x
  kern.elementwise ins(%a) outs(%c) {
  ^bb0(%p: f32):
    %q = kern.apply <silu> %p
    kern.yield %q : f32
  } : (!x) -> !x
  %d = kern.alloc : !x
  kern.gemm %x, %u outs(%d) : !x, !w, !x
  kern.elementwise ins(%c, %d) outs(%y) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    kern.yield %r : f32
  } : (!x, !x) -> !x
  return
}

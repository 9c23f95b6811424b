// RUN: transom-opt %s --kern-fuse-cross-layer-norm --split-input-file | FileCheck %s
// RUN: transom-opt %s --kern-fuse-cross-layer-norm --split-input-file | FileCheck %s --check-prefix=REMARK

!x = !kern.buffer<[rows, 8] x f32>
!h = !kern.buffer<[rows, 8] x bf16>
!w = !kern.weight<[8, 8] x bf16, unset>
!g = !kern.weight<[8] x f32, unset>
!out = !kern.buffer<[wanted, 8] x f32>
!outh = !kern.buffer<[wanted, 8] x bf16>

kern.weight @n0 : !g = #weight.expr<file("n0")>
kern.weight @n1 : !g = #weight.expr<file("n1")>
kern.weight @n : !g = #weight.expr<file("n")>
kern.weight @w0 : !w = #weight.expr<file("w0")>
kern.weight @w1 : !w = #weight.expr<file("w1")>

// REMARK: args = {layers = "2"}{{[^{}]*}}function = "layer"{{[^{}]*}}name = "norm-joined-layer-before"
// REMARK-SAME: function = "step"{{[^{}]*}}name = "final-norm-joined-last-layer"
// Rows in the last layer are normalized as the requested rows were.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[rows, 8] x f32>, %[[I:.*]]: !kern.buffer<[wanted] x i64>, %[[Y:.*]]: !kern.buffer<[wanted, 8] x bf16>)
// CHECK: %[[N:.*]] = kern.alloc : <[rows, 8] x bf16>
// CHECK: %[[G:.*]] = kern.get_weight @n0
// CHECK: kern.norm %[[X]], %[[G]] outs(%[[N]]) eps 1.000000e-05 {rms}
// CHECK: kern.layers %[[X]] invariants(%[[N]] : !kern.buffer<[rows, 8] x bf16>) [@layer(@w0, @n1), @layer(@w1, @n)]
// CHECK: kern.gather %[[N]], %[[I]] outs(%[[Y]])
// CHECK-NOT: kern.norm
func.func @step(%x: !x, %i: !kern.buffer<[wanted] x i64>, %y: !outh) {
  kern.layers %x [@layer(@w0, @n0), @layer(@w1, @n1)] : !x
  %t = kern.alloc : !out
  kern.gather %x, %i outs(%t) : !x, !kern.buffer<[wanted] x i64>, !out
  %g = kern.get_weight @n : !g
  kern.norm %t, %g outs(%y) eps 1.0e-5 {rms} : !out, !g, !outh
  return
}
// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[rows, 8] x f32>, %[[N:.*]]: !kern.buffer<[rows, 8] x bf16>, %[[W:.*]]: !kern.weight<[8, 8] x bf16, unset>, %[[G:.*]]: !kern.weight<[8] x f32, unset>)
// CHECK: kern.elementwise ins() outs(%[[C:.*]]) {
// CHECK: kern.gemm %[[N]], %[[W]] outs(%[[T:.*]]){{$}}
// CHECK: kern.gemm %[[T]], %[[W]] residual %[[X]]
// CHECK-NEXT: norm %[[G]] norm_copy %[[N]] counters %[[C]] outs(%[[X]]) epilogue <rms_norm 1.0e-05>
func.func private @layer(%x: !x, %w: !w, %g: !g) {
  %n = kern.alloc : !h
  kern.norm %x, %g outs(%n) eps 1.0e-5 {rms} : !x, !g, !h
  %t = kern.alloc : !h
  kern.gemm %n, %w outs(%t) : !h, !w, !h
  kern.gemm %t, %w residual %x outs(%x) : !h, !w, !x, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!q = !kern.buffer<[rows, 8] x i8>
!s = !kern.buffer<[rows, 2] x f32>
!w = !kern.weight<[8, 8] x #kern.format<i8, group 32, scales f32, interleave 4>, unset>
!g = !kern.weight<[8] x f32, unset>
!out = !kern.buffer<[wanted, 8] x f32>
!outq = !kern.buffer<[wanted, 8] x i8>
!outs = !kern.buffer<[wanted, 2] x f32>

kern.weight @n0 : !g = #weight.expr<file("n0")>
kern.weight @n1 : !g = #weight.expr<file("n1")>
kern.weight @n : !g = #weight.expr<file("n")>
kern.weight @w0 : !w = #weight.expr<file("w0")>
kern.weight @w1 : !w = #weight.expr<file("w1")>

// Quantized values go through the layers with their scales.
// CHECK-LABEL: func.func @whole(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[rows, 8] x f32>, %[[I:.*]]: !kern.buffer<[wanted] x i64>, %[[Y:.*]]: !kern.buffer<[wanted, 8] x i8>, %[[Z:.*]]: !kern.buffer<[wanted, 2] x f32>)
// CHECK: kern.norm %[[X]], %{{.*}} outs(%[[N:.*]]) scales(%[[S:.*]]) eps 1.000000e-05 {rms}
// CHECK: kern.layers %[[X]] invariants(%[[N]], %[[S]] : !kern.buffer<[rows, 8] x i8>, !kern.buffer<[rows, 2] x f32>) [@layer(@w0, @n1), @layer(@w1, @n)]
// CHECK: kern.gather %[[N]], %[[I]] outs(%[[Y]])
// CHECK: kern.gather %[[S]], %[[I]] outs(%[[Z]])
// CHECK-NOT: kern.norm
func.func @whole(%x: !x, %i: !kern.buffer<[wanted] x i64>, %y: !outq, %z: !outs) {
  kern.layers %x [@layer(@w0, @n0), @layer(@w1, @n1)] : !x
  %t = kern.alloc : !out
  kern.gather %x, %i outs(%t) : !x, !kern.buffer<[wanted] x i64>, !out
  %g = kern.get_weight @n : !g
  kern.norm %t, %g outs(%y) scales(%z) eps 1.0e-5 {rms} : !out, !g, !outq, !outs
  return
}
// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[X:[a-z0-9]*]]: !kern.buffer<[rows, 8] x f32>, %[[N:[a-z0-9]*]]: !kern.buffer<[rows, 8] x i8>, %[[S:[a-z0-9]*]]: !kern.buffer<[rows, 2] x f32>, %[[W:[a-z0-9]*]]:
// CHECK: kern.gemm %[[N]], %[[W]] scales %[[S]] outs(%[[T:[a-z0-9]*]]) out_scales(%[[U:[a-z0-9]*]])
// CHECK: kern.gemm %[[T]], %[[W]] scales %[[U]] residual %[[X]]
// CHECK-NEXT: norm %{{.*}} norm_copy %[[N]] counters %{{.*}} outs(%[[X]]) out_scales(%[[S]]) epilogue <rms_norm 1.0e-05>
func.func private @layer(%x: !x, %w: !w, %g: !g) {
  %n = kern.alloc : !q
  %s = kern.alloc : !s
  kern.norm %x, %g outs(%n) scales(%s) eps 1.0e-5 {rms} : !x, !g, !q, !s
  %t = kern.alloc : !q
  %u = kern.alloc : !s
  kern.gemm %n, %w scales %s outs(%t) out_scales(%u) : !q, !w, !s, !s, !q
  kern.gemm %t, %w scales %u residual %x outs(%x) : !q, !w, !s, !x, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!g = !kern.weight<[8] x f32, unset>
kern.weight @n0 : !g = #weight.expr<file("n0")>
kern.weight @n1 : !g = #weight.expr<file("n1")>
kern.weight @b : !g = #weight.expr<file("b")>
kern.weight @w : !w = #weight.expr<file("w")>

// Two bodies in turn whose weights have other indices; the state is read
// after the layers, so that the last norm is for nobody.
// REMARK: args = {readers = "'kern.softmax'"}{{[^{}]*}}function = "bodies_in_turn"{{[^{}]*}}name = "final-norm-stays"
// CHECK-LABEL: func.func @bodies_in_turn(
// CHECK: kern.layers %{{.*}} invariants({{.*}}) [@even(@n1, @w, @n0), @odd(@w, @n0, @n0), @even(@n0, @w, @n0)]
// CHECK: kern.softmax
func.func @bodies_in_turn(%x: !x, %y: !x) {
  kern.layers %x [@even(@n0, @w, @n0), @odd(@w, @n0, @n1), @even(@n0, @w, @n0)] : !x
  kern.softmax %x outs(%y) : !x, !x
  return
}
// CHECK-LABEL: func.func private @even(
// CHECK: norm_out
func.func private @even(%x: !x, %g: !g, %w: !w, %o: !g) {
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-5 {rms} : !x, !g, !x
  %t = kern.alloc : !x
  kern.softmax %n outs(%t) : !x, !x
  kern.gemm %t, %w residual %x outs(%x) : !x, !w, !x, !x
  return
}
// CHECK-LABEL: func.func private @odd(
// CHECK: norm_out
func.func private @odd(%x: !x, %w: !w, %o: !g, %g: !g) {
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-5 {rms} : !x, !g, !x
  %t = kern.alloc : !x
  kern.softmax %n outs(%t) : !x, !x
  kern.gemm %t, %w residual %x outs(%x) : !x, !w, !x, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!g = !kern.weight<[8] x f32, unset>
kern.weight @g : !g = #weight.expr<file("g")>
kern.weight @w : !w = #weight.expr<file("w")>

// REMARK: args = {body = "one", other = "two"}{{[^{}]*}}name = "first-norms-differ"
// REMARK-SAME: args = {body = "post"}{{[^{}]*}}name = "layer-begins-without-norm"
// REMARK-SAME: args = {body = "viewed", last = "'kern.gemm'", norm = "'kern.norm'", readers = "'kern.gemm'"}{{[^{}]*}}name = "first-norm-is-read-late"
// REMARK-SAME: args = {body = "moved", last = "'kern.softmax'"}{{[^{}]*}}name = "layer-ends-without-product"
// REMARK-SAME: args = {body = "given", norm = "'kern.norm'"}{{[^{}]*}}name = "first-norm-has-other-results"
// REMARK-SAME: args = {body = "twice", norm = "'kern.norm'"}{{[^{}]*}}name = "first-norm-shares-weights"
// CHECK-LABEL: func.func @other_norms_stay(
// CHECK: kern.layers %{{.*}} [@one(@w, @g), @two(@w, @g)] :
func.func @other_norms_stay(%x: !x) {
  kern.layers %x [@one(@w, @g), @two(@w, @g)] : !x
  return
}
func.func private @one(%x: !x, %w: !w, %g: !g) {
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-5 {rms} : !x, !g, !x
  %t = kern.alloc : !x
  kern.softmax %n outs(%t) : !x, !x
  kern.gemm %t, %w residual %x outs(%x) : !x, !w, !x, !x
  return
}
func.func private @two(%x: !x, %w: !w, %g: !g) {
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-6 {rms} : !x, !g, !x
  %t = kern.alloc : !x
  kern.softmax %n outs(%t) : !x, !x
  kern.gemm %t, %w residual %x outs(%x) : !x, !w, !x, !x
  return
}

// CHECK-LABEL: func.func @a_layer_that_ends_with_a_norm_stays(
// CHECK: kern.layers %{{.*}} [@post(@w, @g), @post(@w, @g)] :
func.func @a_layer_that_ends_with_a_norm_stays(%x: !x) {
  kern.layers %x [@post(@w, @g), @post(@w, @g)] : !x
  return
}
func.func private @post(%x: !x, %w: !w, %g: !g) {
  %n = kern.alloc : !x
  kern.gemm %x, %w residual %x outs(%n) : !x, !w, !x, !x
  kern.norm %n, %g outs(%x) eps 1.0e-5 {rms} : !x, !g, !x
  return
}

// The last product reads the rows by another name while it would write them.
// CHECK-LABEL: func.func @a_norm_behind_a_view_stays(
// CHECK: kern.layers %{{.*}} [@viewed(@w, @g), @viewed(@w, @g)] :
func.func @a_norm_behind_a_view_stays(%x: !x) {
  kern.layers %x [@viewed(@w, @g), @viewed(@w, @g)] : !x
  return
}
func.func private @viewed(%x: !x, %w: !w, %g: !g) {
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-5 {rms} : !x, !g, !x
  %v = kern.view %n : !x -> !kern.buffer<[rows, 1, 8] x f32>
  kern.gemm %v, %w residual %x outs(%x) : !kern.buffer<[rows, 1, 8] x f32>, !w, !x, !x
  return
}

// CHECK-LABEL: func.func @a_layer_that_ends_with_a_softmax_stays(
// CHECK: kern.layers %{{.*}} [@moved(@w, @g), @moved(@w, @g)] :
func.func @a_layer_that_ends_with_a_softmax_stays(%x: !x) {
  kern.layers %x [@moved(@w, @g), @moved(@w, @g)] : !x
  return
}
func.func private @moved(%x: !x, %w: !w, %g: !g) {
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-5 {rms} : !x, !g, !x
  %t = kern.alloc : !x
  kern.gemm %n, %w outs(%t) : !x, !w, !x
  kern.softmax %t outs(%x) : !x, !x
  return
}

// CHECK-LABEL: func.func @a_norm_that_writes_an_invariant_stays(
// CHECK: kern.layers %{{.*}} [@given(@w, @g), @given(@w, @g)] :
func.func @a_norm_that_writes_an_invariant_stays(%x: !x, %n: !x) {
  kern.layers %x invariants(%n : !x) [@given(@w, @g), @given(@w, @g)] : !x
  return
}
func.func private @given(%x: !x, %n: !x, %w: !w, %g: !g) {
  kern.norm %x, %g outs(%n) eps 1.0e-5 {rms} : !x, !g, !x
  %t = kern.alloc : !x
  kern.softmax %n outs(%t) : !x, !x
  kern.gemm %t, %w residual %x outs(%x) : !x, !w, !x, !x
  return
}

// CHECK-LABEL: func.func @a_norm_whose_weight_is_read_twice_stays(
// CHECK: kern.layers %{{.*}} [@twice(@w, @g), @twice(@w, @g)] :
func.func @a_norm_whose_weight_is_read_twice_stays(%x: !x) {
  kern.layers %x [@twice(@w, @g), @twice(@w, @g)] : !x
  return
}
func.func private @twice(%x: !x, %w: !w, %g: !g) {
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-5 {rms} : !x, !g, !x
  %t = kern.alloc : !x
  kern.norm %n, %g outs(%t) eps 1.0e-5 {rms} : !x, !g, !x
  kern.gemm %t, %w residual %x outs(%x) : !x, !w, !x, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!g = !kern.weight<[8] x f32, unset>
!out = !kern.buffer<[wanted, 8] x f32>
!i = !kern.buffer<[wanted] x i64>
kern.weight @n : !g = #weight.expr<file("n")>
kern.weight @f : !g = #weight.expr<file("f")>
kern.weight @w : !w = #weight.expr<file("w")>

// Readers of the state after the layers other than a final norm alone: none, another operation together
// with the norm on gathered rows, before it and after it, a second gathering, gathered rows without a norm.
// REMARK: args = {readers = "none"}{{[^{}]*}}function = "nothing_after"{{[^{}]*}}name = "final-norm-stays"
// REMARK-SAME: function = "softmax_first"{{[^{}]*}}name = "final-norm-stays"
// REMARK-SAME: function = "softmax_last"{{[^{}]*}}name = "final-norm-stays"
// REMARK-SAME: function = "gathered_twice"{{[^{}]*}}name = "final-norm-stays"
// REMARK-SAME: function = "gathered_without_norm"{{[^{}]*}}name = "final-norm-stays"
// CHECK-LABEL: func.func @nothing_after(
// CHECK: kern.layers
func.func @nothing_after(%x: !x) {
  kern.layers %x [@nothing(@w, @n), @nothing(@w, @n)] : !x
  return
}
// CHECK-LABEL: func.func @softmax_first(
// CHECK: kern.layers
// CHECK: kern.norm
func.func @softmax_first(%x: !x, %i: !i, %y: !out, %z: !x) {
  kern.layers %x [@first(@w, @n), @first(@w, @n)] : !x
  kern.softmax %x outs(%z) : !x, !x
  %t = kern.alloc : !out
  kern.gather %x, %i outs(%t) : !x, !i, !out
  %g = kern.get_weight @f : !g
  kern.norm %t, %g outs(%y) eps 1.0e-5 {rms} : !out, !g, !out
  return
}
// CHECK-LABEL: func.func @softmax_last(
// CHECK: kern.layers
// CHECK: kern.norm
func.func @softmax_last(%x: !x, %i: !i, %y: !out, %z: !x) {
  kern.layers %x [@last(@w, @n), @last(@w, @n)] : !x
  %t = kern.alloc : !out
  kern.gather %x, %i outs(%t) : !x, !i, !out
  %g = kern.get_weight @f : !g
  kern.norm %t, %g outs(%y) eps 1.0e-5 {rms} : !out, !g, !out
  kern.softmax %x outs(%z) : !x, !x
  return
}
// CHECK-LABEL: func.func @gathered_twice(
// CHECK: kern.layers
// CHECK: kern.norm
func.func @gathered_twice(%x: !x, %i: !i, %y: !out, %z: !out) {
  kern.layers %x [@twice(@w, @n), @twice(@w, @n)] : !x
  kern.gather %x, %i outs(%z) : !x, !i, !out
  %t = kern.alloc : !out
  kern.gather %x, %i outs(%t) : !x, !i, !out
  %g = kern.get_weight @f : !g
  kern.norm %t, %g outs(%y) eps 1.0e-5 {rms} : !out, !g, !out
  return
}
// CHECK-LABEL: func.func @gathered_without_norm(
// CHECK: kern.layers
// CHECK: kern.softmax
func.func @gathered_without_norm(%x: !x, %i: !i, %y: !out) {
  kern.layers %x [@without(@w, @n), @without(@w, @n)] : !x
  %t = kern.alloc : !out
  kern.gather %x, %i outs(%t) : !x, !i, !out
  kern.softmax %t outs(%y) : !out, !out
  return
}
func.func private @nothing(%x: !x, %w: !w, %g: !g) {
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-5 {rms} : !x, !g, !x
  %t = kern.alloc : !x
  kern.softmax %n outs(%t) : !x, !x
  kern.gemm %t, %w residual %x outs(%x) : !x, !w, !x, !x
  return
}
func.func private @first(%x: !x, %w: !w, %g: !g) {
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-5 {rms} : !x, !g, !x
  %t = kern.alloc : !x
  kern.softmax %n outs(%t) : !x, !x
  kern.gemm %t, %w residual %x outs(%x) : !x, !w, !x, !x
  return
}
func.func private @last(%x: !x, %w: !w, %g: !g) {
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-5 {rms} : !x, !g, !x
  %t = kern.alloc : !x
  kern.softmax %n outs(%t) : !x, !x
  kern.gemm %t, %w residual %x outs(%x) : !x, !w, !x, !x
  return
}
func.func private @twice(%x: !x, %w: !w, %g: !g) {
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-5 {rms} : !x, !g, !x
  %t = kern.alloc : !x
  kern.softmax %n outs(%t) : !x, !x
  kern.gemm %t, %w residual %x outs(%x) : !x, !w, !x, !x
  return
}
func.func private @without(%x: !x, %w: !w, %g: !g) {
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-5 {rms} : !x, !g, !x
  %t = kern.alloc : !x
  kern.softmax %n outs(%t) : !x, !x
  kern.gemm %t, %w residual %x outs(%x) : !x, !w, !x, !x
  return
}

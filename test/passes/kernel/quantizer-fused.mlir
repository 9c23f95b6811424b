// RUN: transom-opt %s --kern-choose-precision --split-input-file | FileCheck %s
// RUN: transom-opt %s --kern-choose-precision --split-input-file | FileCheck %s --check-prefix=REMARK

!x = !kern.buffer<[rows, 192] x f32>
!y = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 192] x f32, unset>
!square = !kern.weight<[192, 192] x f32, unset>
!g = !kern.weight<[192] x f32, unset>

module attributes {transom.quantize = #kern.format<i8, group 128, scales f32, interleave 4>} {

// REMARK: args = {writer = "'kern.softmax'"}{{[^{}]*}}function = "others_stay"{{[^{}]*}}name = "cast-stays-with-writer"
// REMARK-SAME: function = "others_stay"{{[^{}]*}}name = "cast-reads-argument"
// REMARK-SAME: args = {readers = "'kern.softmax'", writer = "'kern.gemm'"}{{[^{}]*}}function = "others_stay"{{[^{}]*}}name = "cast-input-is-read-in-f32"
// REMARK-SAME: args = {writer = "'kern.gemm'"}{{[^{}]*}}function = "others_stay"{{[^{}]*}}name = "cast-of-one-of-several"

// A norm writes quantized values alone, or together with its f32.
// CHECK-LABEL: func.func @norms(
// CHECK-DAG: %[[Q:.*]] = kern.alloc : <[rows, 192] x i8>
// CHECK-DAG: %[[S:.*]] = kern.alloc : <[rows, 4] x f32>
// CHECK: kern.norm %{{.*}}, %{{.*}} outs(%[[Q]]) scales(%[[S]]) eps
// CHECK-NEXT: kern.gemm %[[Q]], %{{.*}} scales %[[S]]
// CHECK: kern.norm %{{.*}}, %{{.*}} outs(%[[N:.*]]) copy(%[[R:.*]]) scales(%[[T:.*]]) eps
// CHECK-NEXT: kern.gemm %[[R]], %{{.*}} scales %[[T]]
// CHECK: kern.softmax %[[N]]
// CHECK-NOT: kern.quantize
func.func @norms(%x: !x, %a: !y, %b: !y, %c: !x, %g: !g) {
  %w = kern.get_weight @w : !w
  %m = kern.alloc : !x
  kern.norm %x, %g outs(%m) eps 1.0e-5 : !x, !g, !x
  kern.gemm %m, %w outs(%a) : !x, !w, !y
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-5 : !x, !g, !x
  kern.gemm %n, %w outs(%b) : !x, !w, !y
  kern.softmax %n outs(%c) : !x, !x
  return
}
kern.weight @w : !w = #weight.expr<file("w")>

// GEMMs write quantized values in place of f32, or of norm results.
// CHECK-LABEL: func.func @products(
// CHECK: kern.gemm %{{.*}}, %{{.*}} scales %{{.*}} outs(%[[Q:.*]]) out_scales(%[[S:.*]]) epilogue <gelu>
// CHECK-NEXT: !kern.buffer<[rows, 4] x f32>, !kern.buffer<[rows, 192] x i8>
// CHECK: kern.gemm %[[Q]], %{{.*}} scales %[[S]]
// CHECK-NEXT: norm %{{.*}} norm_copy %[[R:.*]] counters %{{.*}} outs(%{{.*}}) out_scales(%[[T:.*]]) epilogue
// CHECK: kern.gemm %[[R]], %{{.*}} scales %[[T]]
func.func @products(%x: !x, %y: !y, %g: !g, %c: !kern.buffer<[rows] x i64>) {
  %w = kern.get_weight @w3 : !w
  %s = kern.get_weight @s : !square
  %m = kern.alloc : !x
  kern.gemm %x, %s outs(%m) epilogue <gelu> : !x, !square, !x
  %n = kern.alloc : !x
  %p = kern.alloc : !x
  kern.gemm %m, %s norm %g norm_out %n counters %c outs(%p) epilogue <rms_norm 1.0e-5> : !x, !square, !g, !x, !kern.buffer<[rows] x i64>, !x
  kern.gemm %n, %w outs(%y) : !x, !w, !y
  return
}
kern.weight @s : !square = #weight.expr<file("s")>
kern.weight @w3 : !w = #weight.expr<file("w")>

// CHECK-LABEL: func.func @others_stay(
// CHECK: kern.softmax
// CHECK: kern.quantize
// CHECK: kern.quantize
// CHECK: kern.quantize
// CHECK: kern.quantize
func.func @others_stay(%x: !x, %a: !y, %b: !y, %c: !y, %d: !y, %e: !x, %f: !x) {
  %w = kern.get_weight @w4 : !w
  %s = kern.get_weight @s4 : !square
  %t = kern.get_weight @t : !kern.weight<[384, 192] x f32, unset, splits [192, 192]>
  %m = kern.alloc : !x
  kern.softmax %x outs(%m) : !x, !x
  kern.gemm %m, %w outs(%a) : !x, !w, !y
  %n = kern.alloc : !x
  kern.gemm %x, %s outs(%n) : !x, !square, !x
  kern.gemm %n, %w outs(%b) : !x, !w, !y
  kern.softmax %n outs(%e) : !x, !x
  %u = kern.alloc : !x
  kern.gemm %x, %t outs(%u, %f) : !x, !kern.weight<[384, 192] x f32, unset, splits [192, 192]>, !x, !x
  kern.gemm %u, %w outs(%c) : !x, !w, !y
  return
}
kern.weight @w4 : !w = #weight.expr<file("w")>
kern.weight @s4 : !square = #weight.expr<file("s")>
kern.weight @t : !kern.weight<[384, 192] x f32, unset, splits [192, 192]> = #weight.expr<file("t")>

}

// -----

!x = !kern.buffer<[rows, 192] x f32>
!w = !kern.weight<[192, 192] x f32, unset>
!g = !kern.weight<[192] x f32, unset>

module attributes {transom.quantize = #kern.format<i8, group 64, scales f32, interleave 4>} {

// The layers' state is quantized by the norm that ends each, and by the norm
// before the first.
// CHECK-LABEL: func.func @state_is_carried(
// CHECK: kern.norm %{{.*}} outs(%[[S:.*]]) copy(%[[H:.*]]) scales(%[[T:.*]]) eps
// CHECK-NOT: kern.quantize
// CHECK: kern.layers %{{.*}} invariants(%[[H]], %[[T]] : !kern.buffer<[rows, 192] x i8>, !kern.buffer<[rows, 6] x f32>)
// CHECK-NEXT: kern.gemm %[[H]], %{{.*}} scales %[[T]]
func.func @state_is_carried(%x: !x, %y: !x) {
  %g = kern.get_weight @g : !g
  %w = kern.get_weight @w : !w
  %s = kern.alloc : !x
  kern.norm %x, %g outs(%s) eps 1.0e-5 : !x, !g, !x
  kern.layers %s [@layer(@w, @g)] : !x
  kern.gemm %s, %w outs(%y) : !x, !w, !x
  return
}
// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[S:[a-z0-9]*]]: !kern.buffer<[rows, 192] x f32>, %[[H:[a-z0-9]*]]: !kern.buffer<[rows, 192] x i8>, %[[T:[a-z0-9]*]]: !kern.buffer<[rows, 6] x f32>, %[[W:[a-z0-9]*]]:
// CHECK: kern.gemm %[[H]], %[[W]] scales %[[T]] outs(%[[U:[a-z0-9]*]]) out_scales(%[[V:[a-z0-9]*]])
// CHECK: kern.gemm %[[U]], %[[W]] scales %[[V]] residual %[[S]]
// CHECK-NEXT: norm %{{.*}} norm_out %[[S]] norm_copy %[[H]] counters %{{.*}} outs(%{{.*}}) out_scales(%[[T]])
func.func private @layer(%s: !x, %w: !w, %g: !g) {
  %t = kern.alloc : !x
  %u = kern.alloc : !x
  %c = kern.alloc : !kern.buffer<[rows] x i64>
  kern.gemm %s, %w outs(%u) : !x, !w, !x
  kern.gemm %u, %w residual %s norm %g norm_out %s counters %c outs(%t) epilogue <layer_norm 1.0e-12> : !x, !w, !x, !g, !x, !kern.buffer<[rows] x i64>, !x
  return
}
kern.weight @w : !w = #weight.expr<file("w")>
kern.weight @g : !g = #weight.expr<file("g")>

}

// -----

!x = !kern.buffer<[rows, 256] x f32>
!k = !kern.buffer<[keys, 256] x f32, key_panels>
!w = !kern.weight<[8, 256] x f32, unset>
!y = !kern.buffer<[rows, 8] x f32>
!ids = !kern.buffer<[batch, seq] x i64>

module attributes {transom.quantize = #kern.format<i8, group 128, scales f32, interleave 4>} {

// REMARK: args = {columns = "64", group = "128", writer = "'kern.attention'"}{{[^{}]*}}name = "cast-of-split-groups"

// Heads with whole groups are quantized together with their f32; others are not.
// CHECK-LABEL: func.func @attention(
// CHECK: kern.attention {{.*}} outs(%{{.*}}) copy(%[[Q:.*]]) scales(%[[S:.*]])
// CHECK: kern.gemm %[[Q]], %{{.*}} scales %[[S]]
// CHECK: kern.attention {{.*}} outs(%[[X:[0-9]*]]){{$}}
// CHECK: kern.quantize %[[X]]
func.func @attention(%q: !x, %k: !k, %v: !x, %t: !kern.buffer<[parts, 13248] x f32>, %u: !kern.buffer<[parts, 10176] x f32>, %a: !y, %b: !y, %i: !ids) {
  %s = kern.ragged_batch mask %i : !ids {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  %w = kern.get_weight @w : !w
  %x = kern.alloc : !x
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%x) heads 2 kv_heads 2 scale 1.0 : !x, !k, !x, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 13248] x f32>, !x
  kern.gemm %x, %w outs(%a) : !x, !w, !y
  %z = kern.alloc : !x
  kern.attention %q, %k, %v ragged %s, %s scratch %u outs(%z) heads 4 kv_heads 4 scale 1.0 : !x, !k, !x, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 10176] x f32>, !x
  kern.gemm %z, %w outs(%b) : !x, !w, !y
  return
}
kern.weight @w : !w = #weight.expr<file("w")>

}

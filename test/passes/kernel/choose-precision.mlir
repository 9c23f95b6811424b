// RUN: transom-opt %s --split-input-file --kern-choose-precision | FileCheck %s
// RUN: transom-opt %s --split-input-file --kern-choose-precision | FileCheck %s --check-prefix=REMARK

// REMARK: args = {dtype = "bf16", table = "'kern.get_weight'"}{{[^{}]*}}function = "tied_tables_are_bf16"{{[^{}]*}}name = "table-precision-chosen"
// REMARK-SAME: args = {dtype = "bf16"}{{[^{}]*}}function = "products_round_for_each_other"{{[^{}]*}}name = "product-precision-chosen"
// REMARK-SAME: args = {reader = "'kern.elementwise'"}{{[^{}]*}}function = "weights_that_are_read_in_f32_stay"{{[^{}]*}}name = "weight-is-read-in-f32"
// REMARK-SAME: function = "attention_reads_and_writes_bf16"{{[^{}]*}}name = "attention-precision-chosen"
// REMARK-SAME: args = {head_size = "3"}{{[^{}]*}}function = "heads_of_odd_size_stay"{{[^{}]*}}name = "attention-head-size-is-odd"
// REMARK-SAME: function = "products_round_for_each_other"{{[^{}]*}}name = "cast-reads-argument"
// REMARK-SAME: args = {writer = "'kern.softmax'"}{{[^{}]*}}function = "movement_is_followed_by_a_cast"{{[^{}]*}}name = "cast-stays-with-writer"
// REMARK: args = {layers = "1"}{{[^{}]*}}function = "state_is_carried", kind = "passed", name = "state-is-carried"
// REMARK: args = {dtype = "bf16"}{{[^{}]*}}name = "cache-precision-chosen"
// REMARK: args = {cache = "odd", head_size = "3", multiple = "2"}{{[^{}]*}}name = "cache-head-size-unsupported"

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!g = !kern.weight<[8] x f32, unset>
!keys = !kern.buffer<[keys, 8] x f32, key_panels>
!t = !kern.buffer<[parts, 10176] x f32>

module attributes {transom.dtype = "bf16"} {

// Inputs and results are in f32; intermediate values are bf16.
// CHECK-LABEL: func.func @products_round_for_each_other(
// CHECK-SAME: %[[X:.*]]: !kern.buffer<[rows, 8] x f32>, %[[Y:[a-z0-9]*]]: !kern.buffer<[rows, 8] x f32>)
// CHECK: %[[W:.*]] = kern.get_weight @w1 : <[8, 8] x bf16, unset>
// CHECK: %[[H:.*]] = kern.alloc : <[rows, 8] x bf16>
// CHECK: kern.cast %[[X]] outs(%[[H]])
// CHECK: kern.gemm %[[H]], %[[W]] outs(%[[T:.*]]) epilogue <gelu>
// CHECK-NEXT: : {{.*}}, !kern.buffer<[rows, 8] x bf16>
// CHECK: kern.gemm %[[T]], %[[W]] outs(%[[Y]])
// CHECK-NEXT: : {{.*}}, !kern.buffer<[rows, 8] x f32>
// CHECK-NOT: kern.cast
func.func @products_round_for_each_other(%x: !x, %y: !x) {
  %w = kern.get_weight @w1 : !w
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) epilogue <gelu> : !x, !w, !x
  kern.gemm %t, %w outs(%y) : !x, !w, !x
  return
}
kern.weight @w1 : !w = #weight.expr<file("w")>

// CHECK-LABEL: func.func @norm_writes_both(
// CHECK: kern.norm %{{.*}}, %{{.*}} outs(%[[N:.*]]) copy(%[[H:.*]]) eps
// CHECK-NEXT: kern.gemm %[[H]], %{{.*}} residual %[[N]] outs
func.func @norm_writes_both(%x: !x, %y: !x, %g: !g) {
  %w = kern.get_weight @w2 : !w
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-5 : !x, !g, !x
  kern.gemm %n, %w residual %n outs(%y) : !x, !w, !x, !x
  return
}
kern.weight @w2 : !w = #weight.expr<file("w")>

// CHECK-LABEL: func.func @norm_writes_bf16_alone(
// CHECK: kern.norm %{{.*}}, %{{.*}} outs(%[[H:.*]]) eps {{.*}}, !kern.buffer<[rows, 8] x bf16>
// CHECK: kern.gemm %[[H]]
func.func @norm_writes_bf16_alone(%x: !x, %y: !x, %g: !g) {
  %w = kern.get_weight @w3 : !w
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-5 : !x, !g, !x
  kern.gemm %n, %w outs(%y) : !x, !w, !x
  return
}
kern.weight @w3 : !w = #weight.expr<file("w")>

// CHECK-LABEL: func.func @norm_of_a_product_writes_both(
// CHECK: kern.gemm %{{.*}}
// CHECK-NEXT: norm {{.*}}norm_out %[[N:[a-z0-9]*]] norm_copy %[[H:[a-z0-9]*]] counters
// CHECK: kern.gemm %[[H]], %{{.*}} residual %[[N]]
// CHECK-NOT: kern.cast
func.func @norm_of_a_product_writes_both(%x: !x, %y: !x, %g: !g, %c: !kern.buffer<[rows] x i64>) {
  %w = kern.get_weight @w4 : !w
  %t = kern.alloc : !x
  %n = kern.alloc : !x
  kern.gemm %x, %w norm %g norm_out %n counters %c outs(%t) epilogue <layer_norm 1.0e-5> : !x, !w, !g, !x, !kern.buffer<[rows] x i64>, !x
  kern.gemm %n, %w residual %n outs(%y) : !x, !w, !x, !x
  return
}
kern.weight @w4 : !w = #weight.expr<file("w")>

// CHECK-LABEL: func.func @attention_reads_and_writes_bf16(
// CHECK: kern.gemm {{.*}} outs(%[[Q:.*]], %[[K:.*]], %[[V:.*]])
// CHECK-NEXT: : {{.*}}, !kern.buffer<[rows, 8] x bf16>, !kern.buffer<[keys, 8] x bf16, key_panels>, !kern.buffer<[rows, 8] x bf16>
// CHECK: kern.attention %[[Q]], %[[K]], %[[V]] {{.*}} outs(%[[O:.*]])
// CHECK-NEXT: heads
// CHECK: kern.gemm %[[O]]
// CHECK-NOT: kern.cast
func.func @attention_reads_and_writes_bf16(%x: !x, %y: !x, %s: !kern.ragged<0>) {
  %w = kern.get_weight @w5 : !w
  %qkv = kern.get_weight @qkv : !kern.weight<[24, 8] x f32, unset, splits [8, 8, 8]>
  %q = kern.alloc : !x
  %k = kern.alloc : !keys
  %v = kern.alloc : !x
  %t = kern.alloc : !t
  %o = kern.alloc : !x
  kern.gemm %x, %qkv ragged %s outs(%q, %k, %v) : !x, !kern.weight<[24, 8] x f32, unset, splits [8, 8, 8]>, !kern.ragged<0>, !x, !keys, !x
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%o) heads 2 kv_heads 2 scale 0.5 : !x, !keys, !x, !kern.ragged<0>, !kern.ragged<0>, !t, !x
  kern.gemm %o, %w outs(%y) : !x, !w, !x
  return
}
kern.weight @w5 : !w = #weight.expr<file("w")>
kern.weight @qkv : !kern.weight<[24, 8] x f32, unset, splits [8, 8, 8]> = #weight.expr<file("q")>

// CHECK-LABEL: func.func @heads_of_odd_size_stay(
// CHECK: kern.pack_keys {{.*}} !kern.buffer<[keys, 6] x f32, key_panels>
// CHECK: kern.attention
// CHECK-NEXT: heads
// CHECK-NEXT: !kern.buffer<[rows, 6] x f32>
func.func @heads_of_odd_size_stay(%x: !kern.buffer<[rows, 6] x f32>, %y: !kern.buffer<[rows, 6] x f32>, %s: !kern.ragged<0>) {
  %k = kern.alloc : !kern.buffer<[keys, 6] x f32, key_panels>
  %t = kern.alloc : !t
  kern.pack_keys %x ragged %s outs(%k) : !kern.buffer<[rows, 6] x f32>, !kern.ragged<0>, !kern.buffer<[keys, 6] x f32, key_panels>
  kern.attention %x, %k, %x ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 : !kern.buffer<[rows, 6] x f32>, !kern.buffer<[keys, 6] x f32, key_panels>, !kern.buffer<[rows, 6] x f32>, !kern.ragged<0>, !kern.ragged<0>, !t, !kern.buffer<[rows, 6] x f32>
  return
}

// CHECK-LABEL: func.func @elementwise_rounds(
// CHECK: arith.mulf
// CHECK-NEXT: %[[R:.*]] = arith.truncf
// CHECK-NEXT: kern.yield %[[R]] : bf16
// CHECK: kern.gemm
func.func @elementwise_rounds(%x: !x, %y: !x) {
  %w = kern.get_weight @w6 : !w
  %t = kern.alloc : !x
  kern.elementwise ins(%x) outs(%t) {
  ^bb0(%a: f32):
    %b = arith.mulf %a, %a : f32
    kern.yield %b : f32
  } : (!x) -> !x
  kern.gemm %t, %w outs(%y) : !x, !w, !x
  return
}
kern.weight @w6 : !w = #weight.expr<file("w")>

// CHECK-LABEL: func.func @pool_rounds(
// CHECK: kern.pool {{.*}} outs(%[[P:.*]]) : {{.*}}, !kern.buffer<[batch, 8] x bf16>
// CHECK: kern.gemm %[[P]]
func.func @pool_rounds(%x: !x, %y: !kern.buffer<[batch, 8] x f32>, %s: !kern.ragged<0>) {
  %w = kern.get_weight @w11 : !w
  %p = kern.alloc : !kern.buffer<[batch, 8] x f32>
  kern.pool <first> %x ragged %s outs(%p) : !x, !kern.ragged<0>, !kern.buffer<[batch, 8] x f32>
  kern.gemm %p, %w outs(%y) : !kern.buffer<[batch, 8] x f32>, !w, !kern.buffer<[batch, 8] x f32>
  return
}
kern.weight @w11 : !w = #weight.expr<file("w")>

// CHECK-LABEL: func.func @movement_is_followed_by_a_cast(
// CHECK: kern.softmax %{{.*}} outs(%[[T:.*]]) :
// CHECK: kern.cast %[[T]] outs(%[[H:.*]]) :
// CHECK: kern.gemm %[[H]]
// CHECK: kern.gemm %[[H]]
func.func @movement_is_followed_by_a_cast(%x: !x, %y: !x, %z: !x) {
  %w = kern.get_weight @w7 : !w
  %t = kern.alloc : !x
  kern.softmax %x outs(%t) : !x, !x
  kern.gemm %t, %w outs(%y) : !x, !w, !x
  kern.gemm %t, %w outs(%z) : !x, !w, !x
  return
}
kern.weight @w7 : !w = #weight.expr<file("w")>

// A buffer that is written again is rounded again.
// CHECK-LABEL: func.func @state_is_rounded_anew(
// CHECK: kern.cast %[[X:.*]] outs(%[[A:.*]]) :
// CHECK: kern.gemm %[[A]]
// CHECK: kern.softmax %{{.*}} outs(%[[X]]) :
// CHECK: kern.cast %[[X]] outs(%[[B:.*]]) :
// CHECK: kern.gemm %[[B]]
func.func @state_is_rounded_anew(%x: !x, %y: !x, %z: !x) {
  %w = kern.get_weight @w8 : !w
  kern.gemm %x, %w outs(%y) : !x, !w, !x
  kern.softmax %y outs(%x) : !x, !x
  kern.gemm %x, %w outs(%z) : !x, !w, !x
  return
}
kern.weight @w8 : !w = #weight.expr<file("w")>

// CHECK-LABEL: func.func @view_of_a_buffer(
// CHECK: kern.norm %{{.*}} outs(%[[H:.*]]) eps
// CHECK: %[[V:.*]] = kern.view %[[H]] : <[rows, 8] x bf16> -> <[rows, 2, 4] x bf16>
// CHECK: kern.gemm %[[V]]
func.func @view_of_a_buffer(%x: !x, %y: !kern.buffer<[rows, 2, 8] x f32>, %g: !g) {
  %w = kern.get_weight @w9 : !kern.weight<[8, 4] x f32, unset>
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-5 : !x, !g, !x
  %v = kern.view %n : !x -> !kern.buffer<[rows, 2, 4] x f32>
  kern.gemm %v, %w outs(%y) : !kern.buffer<[rows, 2, 4] x f32>, !kern.weight<[8, 4] x f32, unset>, !kern.buffer<[rows, 2, 8] x f32>
  return
}
kern.weight @w9 : !kern.weight<[8, 4] x f32, unset> = #weight.expr<file("w")>

// CHECK-LABEL: func.func @weights_that_are_read_in_f32_stay(
// CHECK: kern.gemm %{{.*}}, %{{.*}} outs(%{{.*}})
// CHECK-NEXT: : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, unset>
func.func @weights_that_are_read_in_f32_stay(%x: !x, %y: !x, %z: !kern.buffer<[8, 8] x f32>) {
  %w = kern.get_weight @w10 : !w
  kern.gemm %x, %w outs(%y) : !x, !w, !x
  kern.elementwise ins(%w) outs(%z) {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (!w) -> !kern.buffer<[8, 8] x f32>
  return
}
kern.weight @w10 : !w = #weight.expr<file("w")>

// CHECK-LABEL: func.func @tied_tables_are_bf16(
// CHECK: kern.embedding {{.*}} (!kern.weight<[100, 8] x bf16, unset>)
// CHECK: kern.gemm
// CHECK-NEXT: {{.*}}!kern.weight<[100, 8] x bf16, unset>
func.func @tied_tables_are_bf16(%i: !kern.buffer<[rows] x i64>, %x: !x, %y: !kern.buffer<[rows, 100] x f32>) {
  %t = kern.get_weight @table : !kern.weight<[100, 8] x f32, unset>
  kern.embedding ids(%i) tables(%t) outs(%x) {scales = array<f64: 1.0>} : (!kern.buffer<[rows] x i64>), (!kern.weight<[100, 8] x f32, unset>), !x
  %h = kern.get_weight @table : !kern.weight<[100, 8] x f32, unset>
  kern.gemm %x, %h outs(%y) : !x, !kern.weight<[100, 8] x f32, unset>, !kern.buffer<[rows, 100] x f32>
  return
}
kern.weight @table : !kern.weight<[100, 8] x f32, unset> = #weight.expr<file("t")>
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!g = !kern.weight<[8] x f32, unset>

module attributes {transom.dtype = "bf16"} {

// The layers' state is rounded by the norm that ends each, and by the norm
// before the first; no cast is left.
// CHECK-LABEL: func.func @state_is_carried(
// CHECK: %[[E:.*]] = kern.alloc : <[rows, 8] x f32>
// CHECK: kern.norm %{{.*}} outs(%[[E]]) copy(%[[H:.*]]) eps
// CHECK-NOT: kern.cast
// CHECK: kern.layers %[[S:.*]] invariants(%[[H]] : !kern.buffer<[rows, 8] x bf16>)
// CHECK-NEXT: kern.gemm %[[H]]
func.func @state_is_carried(%x: !x, %y: !x) {
  %g = kern.get_weight @g : !g
  %w = kern.get_weight @w : !w
  %e = kern.alloc : !x
  kern.norm %x, %g outs(%e) eps 1.0e-5 : !x, !g, !x
  %s = kern.alloc : !x
  kern.elementwise ins(%e) outs(%s) {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (!x) -> !x
  kern.layers %s [@layer(@w, @g)] : !x
  kern.gemm %s, %w outs(%y) : !x, !w, !x
  return
}

// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[S:[a-z0-9]*]]: !kern.buffer<[rows, 8] x f32>, %[[H:[a-z0-9]*]]: !kern.buffer<[rows, 8] x bf16>, %[[W:[a-z0-9]*]]:
// CHECK: kern.gemm %[[H]], %[[W]] outs(%[[U:[a-z0-9]*]])
// CHECK: kern.gemm %[[U]], %[[W]] residual %[[S]]
// CHECK-NEXT: norm %{{.*}} norm_out %[[S]] norm_copy %[[H]] counters
// CHECK-NOT: kern.cast
func.func private @layer(%s: !x, %w: !w, %g: !g) {
  %t = kern.alloc : !x
  %u = kern.alloc : !x
  %c = kern.alloc : !kern.buffer<[rows] x i64>
  kern.gemm %s, %w outs(%u) : !x, !w, !x
  kern.gemm %u, %w residual %s norm %g norm_out %s counters %c outs(%t) epilogue <layer_norm 1.0e-5> : !x, !w, !x, !g, !x, !kern.buffer<[rows] x i64>, !x
  return
}
kern.weight @w : !w = #weight.expr<file("w")>
kern.weight @g : !g = #weight.expr<file("g")>
}

// -----

// CHECK-LABEL: func.func @f32_is_the_default(
// CHECK: kern.gemm
// CHECK-NEXT: {{.*}}!kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, unset>, !kern.buffer<[rows, 8] x f32>
func.func @f32_is_the_default(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, unset>) {
  kern.gemm %x, %w outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, unset>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

!x = !kern.buffer<[rows, 16] x f32>
!k = !kern.buffer<[rows, 8] x f32>
!r = !kern.buffer<[rows, 4] x f32>
!cache = !kern.cache<heads 2, key 4, value 4, f32>
!t = !kern.buffer<[parts, 8640] x f32>

module attributes {transom.kv_dtype = "bf16"} {

// The rope rounds the query, and appended values are rounded there.
// CHECK-LABEL: func.func @bf16_caches(
// CHECK: kern.get_cache @c : <heads 2, key 4, value 4, bf16>
// CHECK: kern.rope %{{.*}}, %{{.*}} outs(%[[Q:.*]]) heads 4 : {{.*}}, !kern.buffer<[rows, 16] x bf16>
// CHECK: kern.append %{{.*}} : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
// CHECK: kern.attention %[[Q]]
// CHECK-NEXT: heads
// CHECK-NEXT: {{.*}}, !kern.buffer<[rows, 16] x f32>
// CHECK: kern.cache @c : !kern.cache<heads 2, key 4, value 4, bf16>
func.func @bf16_caches(%q: !x, %k: !k, %v: !k, %r: !r, %t: !t, %y: !x) {
  %s = kern.decode_batch {rows = "rows", keys = "keys"} : !kern.ragged<0>
  %c = kern.get_cache @c : !cache
  %p = kern.alloc : !x
  kern.rope %q, %r outs(%p) heads 4 : !x, !r, !x
  kern.append %k, %v ragged %s cache %c : !k, !k, !kern.ragged<0>, !cache
  kern.attention %p ragged %s, %s cache %c scratch %t outs(%y) heads 4 kv_heads 2 scale 0.5 {causal} : !x, !kern.ragged<0>, !kern.ragged<0>, !cache, !t, !x
  return
}
kern.cache @c : !cache
}

// -----

!cache = !kern.cache<heads 2, key 3, value 4, f32>

// bf16 keys are stored in pairs.
module attributes {transom.kv_dtype = "bf16"} {
// CHECK: kern.cache @odd : !kern.cache<heads 2, key 3, value 4, f32>
kern.cache @odd : !cache
}

// -----

!cache = !kern.cache<heads 2, key 3, value 4, window 7, f32>

module attributes {transom.kv_dtype = "int8", transom.dtype = "bf16"} {
// CHECK: kern.cache @bytes : !kern.cache<heads 2, key 3, value 4, window 7, i8>
kern.cache @bytes : !cache
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!g = !kern.weight<[8] x f32, unset>
!keys = !kern.buffer<[keys, 8] x f32, key_panels>
!t = !kern.buffer<[parts, 10176] x f32>
!long = !kern.buffer<[rows, 8200] x f32>
!wl = !kern.weight<[8, 8200] x f32, unset>
!one = !kern.buffer<[rows, 1] x f32>

module attributes {transom.dtype = "bf16"} {

// REMARK: args = {reader = "'kern.elementwise'", table = "'kern.get_weight'"}{{[^{}]*}}function = "tables_that_are_read_in_f32"{{[^{}]*}}name = "table-is-read-in-f32"
// REMARK-SAME: args = {readers = "'kern.attention'"}{{[^{}]*}}function = "keys_of_two_attentions_stay"{{[^{}]*}}name = "keys-have-other-reader"
// REMARK-SAME: args = {writer = "the caller"}{{[^{}]*}}function = "keys_of_the_caller_stay"{{[^{}]*}}name = "keys-come-from-elsewhere"
// REMARK-SAME: args = {k = "8200", limit = "8192", product = "'kern.gemm'"}{{[^{}]*}}function = "keys_of_a_long_k_stay"{{[^{}]*}}name = "keys-of-long-k"
// REMARK-SAME: args = {writer = "'kern.attention'"}{{[^{}]*}}function = "f32_attention_does_not_round"{{[^{}]*}}name = "cast-of-f32-attention"
// REMARK-SAME: args = {readers = "'kern.softmax'", writer = "'kern.elementwise'"}{{[^{}]*}}name = "cast-input-is-read-in-f32"
// REMARK-SAME: args = {writer = "'kern.gemm'"}{{[^{}]*}}function = "product_with_a_norm_does_not_round"{{[^{}]*}}name = "cast-of-another-result"
// REMARK-SAME: args = {k = "8200", limit = "8192", writer = "'kern.gemm'"}{{[^{}]*}}function = "long_sums_do_not_round"{{[^{}]*}}name = "cast-waits-for-long-k"
// REMARK-SAME: args = {writer = "'kern.gemm'"}{{[^{}]*}}function = "summarized_rows_are_not_rounded"{{[^{}]*}}name = "cast-of-summarized-rows"
// CHECK-LABEL: func.func @keys_of_two_attentions_stay(
// CHECK: kern.pack_keys {{.*}} !kern.buffer<[keys, 8] x f32, key_panels>
func.func @keys_of_two_attentions_stay(%x: !x, %y: !x, %z: !x, %s: !kern.ragged<0>) {
  %k = kern.alloc : !keys
  %t = kern.alloc : !t
  kern.pack_keys %x ragged %s outs(%k) : !x, !kern.ragged<0>, !keys
  kern.attention %x, %k, %x ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 : !x, !keys, !x, !kern.ragged<0>, !kern.ragged<0>, !t, !x
  kern.attention %x, %k, %x ragged %s, %s scratch %t outs(%z) heads 2 kv_heads 2 scale 0.5 : !x, !keys, !x, !kern.ragged<0>, !kern.ragged<0>, !t, !x
  return
}

func.func @keys_of_the_caller_stay(%x: !x, %k: !keys, %y: !x, %s: !kern.ragged<0>) {
  %t = kern.alloc : !t
  kern.attention %x, %k, %x ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 : !x, !keys, !x, !kern.ragged<0>, !kern.ragged<0>, !t, !x
  return
}

func.func @keys_of_a_long_k_stay(%l: !long, %x: !x, %y: !x, %s: !kern.ragged<0>) {
  %w = kern.get_weight @wl : !wl
  %k = kern.alloc : !keys
  %t = kern.alloc : !t
  kern.gemm %l, %w ragged %s outs(%k) : !long, !wl, !kern.ragged<0>, !keys
  kern.attention %x, %k, %x ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 : !x, !keys, !x, !kern.ragged<0>, !kern.ragged<0>, !t, !x
  return
}

func.func @f32_attention_does_not_round(%x: !x, %k: !keys, %y: !x, %s: !kern.ragged<0>) {
  %w = kern.get_weight @w : !w
  %t = kern.alloc : !t
  %o = kern.alloc : !x
  kern.attention %x, %k, %x ragged %s, %s scratch %t outs(%o) heads 2 kv_heads 2 scale 0.5 : !x, !keys, !x, !kern.ragged<0>, !kern.ragged<0>, !t, !x
  kern.gemm %o, %w outs(%y) : !x, !w, !x
  return
}

func.func @rows_that_are_read_in_f32(%x: !x, %y: !x, %z: !x) {
  %w = kern.get_weight @w : !w
  %t = kern.alloc : !x
  kern.elementwise ins(%x) outs(%t) {
  ^bb0(%a: f32):
    %b = arith.mulf %a, %a : f32
    kern.yield %b : f32
  } : (!x) -> !x
  kern.softmax %t outs(%z) : !x, !x
  kern.gemm %t, %w outs(%y) : !x, !w, !x
  return
}

func.func @product_with_a_norm_does_not_round(%x: !x, %y: !x, %z: !x, %g: !g, %c: !kern.buffer<[rows] x i64>) {
  %w = kern.get_weight @w : !w
  %t = kern.alloc : !x
  kern.gemm %x, %w norm %g norm_out %z counters %c outs(%t) epilogue <layer_norm 1.0e-5> : !x, !w, !g, !x, !kern.buffer<[rows] x i64>, !x
  kern.gemm %t, %w outs(%y) : !x, !w, !x
  return
}

func.func @long_sums_do_not_round(%l: !long, %y: !x) {
  %wl = kern.get_weight @wl : !wl
  %w = kern.get_weight @w : !w
  %t = kern.alloc : !x
  kern.gemm %l, %wl outs(%t) : !long, !wl, !x
  kern.gemm %t, %w outs(%y) : !x, !w, !x
  return
}

func.func @tables_that_are_read_in_f32(%i: !kern.buffer<[rows] x i64>, %x: !x, %z: !kern.buffer<[8, 8] x f32>) {
  %w = kern.get_weight @t : !w
  kern.embedding ids(%i) tables(%w) outs(%x) {scales = array<f64: 1.0>} : (!kern.buffer<[rows] x i64>), (!w), !x
  kern.elementwise ins(%w) outs(%z) {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (!w) -> !kern.buffer<[8, 8] x f32>
  return
}
kern.weight @t : !w = #weight.expr<file("t")>

func.func @summarized_rows_are_not_rounded(%x: !x, %m: !one, %s: !one, %y: !x) {
  %w = kern.get_weight @w : !w
  %t = kern.alloc : !x
  kern.gemm %x, %w summary(%m, %s) outs(%t) : !x, !w, !one, !one, !x
  kern.gemm %t, %w outs(%y) : !x, !w, !x
  return
}
kern.weight @w : !w = #weight.expr<file("w")>
kern.weight @wl : !wl = #weight.expr<file("wl")>
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>

// REMARK: args = {body = "layer", last = "'kern.gemm'"}{{[^{}]*}}function = "state_is_rounded_in_each_layer", kind = "missed", name = "state-is-not-carried"

module attributes {transom.dtype = "bf16"} {

// A GEMM with a residual ends the layer: each begins with a separate cast.
// CHECK-LABEL: func.func @state_is_rounded_in_each_layer(
// CHECK: kern.layers %{{[a-z0-9]*}} [@layer
func.func @state_is_rounded_in_each_layer(%s: !x) {
  kern.layers %s [@layer(@w)] : !x
  return
}

// CHECK-LABEL: func.func private @layer(
// CHECK: kern.cast
func.func private @layer(%s: !x, %w: !w) {
  %u = kern.alloc : !x
  kern.gemm %s, %w outs(%u) : !x, !w, !x
  kern.gemm %u, %w residual %s outs(%s) : !x, !w, !x, !x
  return
}
kern.weight @w : !w = #weight.expr<file("w")>
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!g = !kern.weight<[8] x f32, unset>

// One weight with two names: an f32 reader of one keeps both in f32.
// REMARK: function = "two_names"{{[^{}]*}}name = "weight-is-read-in-f32"
// REMARK-NOT: state-is-carried
// REMARK: args = {body = "late", last = "'kern.softmax'"}{{[^{}]*}}name = "state-is-not-carried"
// REMARK-SAME: args = {layers = "1"}{{[^{}]*}}function = "norm_at_the_end"{{[^{}]*}}name = "state-is-carried"
module attributes {transom.dtype = "bf16"} {
kern.weight @v : !w = #weight.expr<file("v")>
kern.weight @w : !w = #weight.expr<file("w")>
kern.weight @g : !g = #weight.expr<file("g")>

// CHECK-LABEL: func.func @two_names(
// CHECK: kern.gemm
// CHECK-NEXT: !kern.weight<[8, 8] x f32, unset>
func.func @two_names(%x: !x, %y: !x, %z: !kern.buffer<[8, 8] x f32>) {
  %w = kern.get_weight @v : !w
  %v = kern.get_weight @v : !w
  kern.gemm %x, %w outs(%y) : !x, !w, !x
  kern.elementwise ins(%v) outs(%z) {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (!w) -> !kern.buffer<[8, 8] x f32>
  return
}

// A body that does not round its state gets no rounded copy.
// CHECK-LABEL: func.func @state_in_f32(
// CHECK: kern.layers %{{.*}} [@unrounded(@g)] :
func.func @state_in_f32(%x: !x) {
  kern.layers %x [@unrounded(@g)] : !x
  return
}
func.func private @unrounded(%s: !x, %g: !g) {
  %t = kern.alloc : !x
  kern.softmax %s outs(%t) : !x, !x
  kern.norm %t, %g outs(%s) eps 1.0e-5 : !x, !g, !x
  return
}

// CHECK-LABEL: func.func @softmax_at_the_end(
// CHECK: kern.layers %{{.*}} [@late(@w)] :
func.func @softmax_at_the_end(%x: !x) {
  kern.layers %x [@late(@w)] : !x
  return
}
func.func private @late(%s: !x, %w: !w) {
  %t = kern.alloc : !x
  kern.gemm %s, %w outs(%t) : !x, !w, !x
  kern.softmax %t outs(%s) : !x, !x
  return
}

// The layers write a buffer that is read after them, and its cast is the last layer's.
// CHECK-LABEL: func.func @norm_at_the_end(
// CHECK: kern.layers %{{.*}} invariants(%[[H:.*]] : !kern.buffer<[rows, 8] x bf16>) [@early(@w, @g)] :
// CHECK-NEXT: kern.gemm %[[H]]
// CHECK: func.func private @early(
// CHECK: kern.norm {{.*}} outs(%[[S:.*]]) copy(%{{.*}}) eps
func.func @norm_at_the_end(%x: !x, %y: !x) {
  %w = kern.get_weight @w : !w
  kern.layers %x [@early(@w, @g)] : !x
  kern.gemm %x, %w outs(%y) : !x, !w, !x
  return
}
func.func private @early(%s: !x, %w: !w, %g: !g) {
  %t = kern.alloc : !x
  kern.gemm %s, %w outs(%t) : !x, !w, !x
  %u = kern.alloc : !x
  kern.softmax %t outs(%u) : !x, !x
  kern.norm %u, %g outs(%s) eps 1.0e-5 : !x, !g, !x
  return
}

// Layers that are given another buffer do not write this one: one rounding is for both products.
// CHECK-LABEL: func.func @other_layers_in_between(
// CHECK: kern.cast %[[X:.*]] outs(%[[H:.*]]) :
// CHECK: kern.gemm %[[H]]
// CHECK: kern.layers
// CHECK-NOT: kern.cast
// CHECK: kern.gemm %[[H]]
func.func @other_layers_in_between(%x: !x, %other: !x, %y: !x, %z: !x) {
  %w = kern.get_weight @w : !w
  kern.gemm %x, %w outs(%y) : !x, !w, !x
  kern.layers %other [@plain(@g)] : !x
  kern.gemm %x, %w outs(%z) : !x, !w, !x
  return
}
func.func private @plain(%s: !x, %g: !g) {
  kern.softmax %s outs(%s) : !x, !x
  return
}

// CHECK-LABEL: func.func @same_layers_in_between(
// CHECK: kern.cast %[[X:.*]] outs(%[[H:.*]]) :
// CHECK: kern.gemm %[[H]]
// CHECK: kern.layers %[[X]]
// CHECK: kern.cast %[[X]] outs(%[[I:.*]]) :
// CHECK: kern.gemm %[[I]]
func.func @same_layers_in_between(%x: !x, %y: !x, %z: !x) {
  %w = kern.get_weight @w : !w
  kern.gemm %x, %w outs(%y) : !x, !w, !x
  kern.layers %x [@plain2(@g)] : !x
  kern.gemm %x, %w outs(%z) : !x, !w, !x
  return
}
func.func private @plain2(%s: !x, %g: !g) {
  kern.softmax %s outs(%s) : !x, !x
  return
}
}

// -----

!x = !kern.buffer<[rows, 8192] x f32>
!k = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8192] x f32, unset>
!keys = !kern.buffer<[keys, 8] x f32, key_panels>
!t = !kern.buffer<[parts, 10176] x f32>

// Keys with the longest K that a bf16 GEMM finishes at once, and with a longer one.
// REMARK: function = "keys_of_the_longest_k"{{[^{}]*}}name = "attention-precision-chosen"
// REMARK-SAME: args = {k = "8200", limit = "8192", product = "'kern.gemm'"}{{[^{}]*}}function = "keys_of_a_longer_k"{{[^{}]*}}name = "keys-of-long-k"
module attributes {transom.dtype = "bf16"} {
kern.weight @w : !w = #weight.expr<file("w")>
kern.weight @v : !kern.weight<[8, 8200] x f32, unset> = #weight.expr<file("v")>

// CHECK-LABEL: func.func @keys_of_the_longest_k(
func.func @keys_of_the_longest_k(%x: !x, %q: !k, %y: !k, %s: !kern.ragged<0>) {
  %w = kern.get_weight @w : !w
  %k = kern.alloc : !keys
  %t = kern.alloc : !t
  kern.gemm %x, %w ragged %s outs(%k) : !x, !w, !kern.ragged<0>, !keys
  kern.attention %q, %k, %q ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 : !k, !keys, !k, !kern.ragged<0>, !kern.ragged<0>, !t, !k
  return
}

// CHECK-LABEL: func.func @keys_of_a_longer_k(
func.func @keys_of_a_longer_k(%x: !kern.buffer<[rows, 8200] x f32>, %q: !k, %y: !k, %s: !kern.ragged<0>) {
  %w = kern.get_weight @v : !kern.weight<[8, 8200] x f32, unset>
  %k = kern.alloc : !keys
  %t = kern.alloc : !t
  kern.gemm %x, %w ragged %s outs(%k) : !kern.buffer<[rows, 8200] x f32>, !kern.weight<[8, 8200] x f32, unset>, !kern.ragged<0>, !keys
  kern.attention %q, %k, %q ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 : !k, !keys, !k, !kern.ragged<0>, !kern.ragged<0>, !t, !k
  return
}
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!h = !kern.buffer<[rows, 8] x bf16>

// Without types in the module its casts stay as they are.
// CHECK-LABEL: func.func @casts_of_others(
// CHECK: kern.norm {{.*}} outs(%[[N:.*]]) eps
// CHECK-NEXT: kern.cast %[[N]]
func.func @casts_of_others(%x: !x, %y: !h, %g: !kern.weight<[8] x f32, unset>) {
  %n = kern.alloc : !x
  kern.norm %x, %g outs(%n) eps 1.0e-5 : !x, !kern.weight<[8] x f32, unset>, !x
  kern.cast %n outs(%y) : !x, !h
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!t = !kern.buffer<[parts, 10176] x f32>
!cache = !kern.cache<heads 2, key 4, value 4, f32>

// Keys in a cache have its type, whatever the weight type is.
// REMARK-NOT: function = "keys_in_a_cache"
module attributes {transom.dtype = "bf16"} {
kern.cache @cache : !cache

// CHECK-LABEL: func.func @keys_in_a_cache(
// CHECK: kern.attention {{.*}} cache
func.func @keys_in_a_cache(%x: !x, %y: !x, %s: !kern.ragged<0>) {
  %c = kern.get_cache @cache : !cache
  %t = kern.alloc : !t
  kern.attention %x ragged %s, %s cache %c scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 {causal} : !x, !kern.ragged<0>, !kern.ragged<0>, !cache, !t, !x
  return
}
}

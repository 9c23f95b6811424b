// RUN: transom-opt %s --attn-fuse-projections --split-input-file | FileCheck %s

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!v = tensor<?x?x4xf32, #attn.shape<[batch, seq, 4]>>
!w = tensor<8x8xf32>
!wv = tensor<4x8xf32>

// Values are narrower than queries, and only they have a bias.
// CHECK-DAG: attn.weight @"self.query+key+value.weight" : [20, 8] f32 = #weight.expr<concat(0, file("q"), file("k"), file("v"))>
// CHECK-DAG: attn.weight @"{{.*}}bias" : [20] f32 = #weight.expr<concat(0, fill([8], 0{{.*}}), fill([8], 0{{.*}}), file("b"))>
attn.weight @self.query.weight : !w = #weight.expr<file("q")>
attn.weight @self.key.weight : !w = #weight.expr<file("k")>
attn.weight @self.value.weight : !wv = #weight.expr<file("v")>
attn.weight @self.value.bias : [4] f32 = #weight.expr<file("b")>

// CHECK-LABEL: func.func @joins_query_key_and_value(
// CHECK: %[[W:.*]] = attn.get_weight @"self.query+key+value.weight"
// CHECK: %[[P:.*]] = attn.linear %{{.*}}, %[[W]], %{{.*}}
// CHECK: %[[Q:.*]] = attn.slice %[[P]] axis 2 from 0 size 8
// CHECK: %[[K:.*]] = attn.slice %[[P]] axis 2 from 8 size 8
// CHECK: %[[V:.*]] = attn.slice %[[P]] axis 2 from 16 size 4
// CHECK: attn.sdpa %[[Q]], %[[K]], %[[V]]
func.func @joins_query_key_and_value(%x: !x) -> !v {
  %wq = attn.get_weight @self.query.weight : !w
  %q = attn.linear %x, %wq : !x, !w
  %wk = attn.get_weight @self.key.weight : !w
  %k = attn.linear %x, %wk : !x, !w
  %wv = attn.get_weight @self.value.weight : !wv
  %b = attn.get_weight @self.value.bias : [4] f32
  %v = attn.linear %x, %wv, %b : !x, !wv, [4] f32
  %a = attn.sdpa %q, %k, %v heads 2 kv_heads 2 scale 1.0 <none> : !x, !x, !v
  return %a : !v
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!w = tensor<8x8xf32>
attn.weight @q : !w = #weight.expr<file("q")>
attn.weight @k : !w = #weight.expr<file("k")>
attn.weight @v : !w = #weight.expr<file("v")>

// Positions are added to query and key, not to value.
// CHECK: projections = "2"}{{[^{}]*}}name = "projections-joined"
// CHECK-SAME: args = {inputs = "{{.*}} and {{.*}}"}{{[^{}]*}}name = "projection-inputs-differ"
// CHECK-LABEL: func.func @value_has_another_input(
// CHECK-SAME: %[[X:.*]]: !{{[a-z0-9_]+}}, %{{.*}}: 
// CHECK: %[[S:.*]] = attn.add
// CHECK: %[[P:.*]] = attn.linear %[[S]]
// CHECK: %[[Q:.*]] = attn.slice %[[P]]
// CHECK: %[[K:.*]] = attn.slice %[[P]]
// CHECK: %[[V:.*]] = attn.linear %[[X]]
// CHECK: attn.sdpa %[[Q]], %[[K]], %[[V]]
func.func @value_has_another_input(%x: !x, %p: !x) -> !x {
  %s = attn.add %x, %p : !x
  %wq = attn.get_weight @q : !w
  %wk = attn.get_weight @k : !w
  %wv = attn.get_weight @v : !w
  %q = attn.linear %s, %wq : !x, !w
  %k = attn.linear %s, %wk : !x, !w
  %v = attn.linear %x, %wv : !x, !w
  %a = attn.sdpa %q, %k, %v heads 2 kv_heads 2 scale 1.0 <none> : !x
  return %a : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!w = tensor<8x8xf32>
attn.weight @q : !w = #weight.expr<file("q")>
attn.weight @k : !w = #weight.expr<file("k")>
attn.weight @v : !w = #weight.expr<file("v")>

// CHECK: reads = "2"{{[^{}]*}}}{{[^{}]*}}name = "projection-weight-is-shared"
// CHECK-SAME: readers = "{{.*}}, {{.*}}"{{[^{}]*}}}{{[^{}]*}}name = "projection-has-other-reader"
// CHECK-LABEL: func.func @tied_weights(
// CHECK-COUNT-3: attn.linear
// CHECK-NOT: attn.slice
func.func @tied_weights(%x: !x) -> !x {
  %wq = attn.get_weight @q : !w
  %wv = attn.get_weight @v : !w
  %q = attn.linear %x, %wq : !x, !w
  %k = attn.linear %x, %wq : !x, !w
  %v = attn.linear %x, %wv : !x, !w
  %a = attn.sdpa %q, %k, %v heads 2 kv_heads 2 scale 1.0 <none> : !x
  return %a : !x
}

// CHECK-LABEL: func.func @projections_with_other_users(
// CHECK-NOT: attn.slice
func.func @projections_with_other_users(%x: !x) -> (!x, !x) {
  %wk = attn.get_weight @k : !w
  %k = attn.linear %x, %wk : !x, !w
  %a = attn.sdpa %x, %k, %k heads 2 kv_heads 2 scale 1.0 <none> : !x
  return %a, %k : !x, !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!w = tensor<8x8xf32>
!b = tensor<8xf32>
attn.weight @q : !w = #weight.expr<file("q")>
attn.weight @k : !w = #weight.expr<file("k")>
attn.weight @b : !b = #weight.expr<file("b")>

// CHECK: args = {bias = "'attn.get_weight'", projection = "'attn.linear'", reads = "2"}{{[^{}]*}}name = "projection-bias-is-shared"
// CHECK-LABEL: func.func @tied_biases(
// CHECK-NOT: attn.slice
func.func @tied_biases(%x: !x) -> !x {
  %wq = attn.get_weight @q : !w
  %wk = attn.get_weight @k : !w
  %b = attn.get_weight @b : !b
  %q = attn.linear %x, %wq, %b : !x, !w, !b
  %k = attn.linear %x, %wk, %b : !x, !w, !b
  %a = attn.sdpa %q, %k, %x heads 2 kv_heads 2 scale 1.0 <none> : !x
  return %a : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!w = tensor<8x8xf32>
attn.weight @q : !w = #weight.expr<file("q")>
attn.weight @k : !w = #weight.expr<file("k")>
attn.weight @v : !w = #weight.expr<file("v")>
attn.weight @b : [8] f32 = #weight.expr<file("b")>

// One projection is no group. One is followed by operations on a weight and a constant.
// CHECK-NOT: projections = "1"
// CHECK-NOT: projection-inputs-differ
// CHECK: args = {operation = "'attn.mul'", projection = "'attn.linear'"}{{[^{}]*}}function = "weight_in_between"{{[^{}]*}}name = "projection-is-interrupted"
// CHECK-LABEL: func.func @one_projection(
// CHECK-NOT: attn.slice
func.func @one_projection(%x: !x) -> !x {
  %wq = attn.get_weight @q : !w
  %q = attn.linear %x, %wq : !x, !w
  %a = attn.sdpa %q, %x, %x heads 2 kv_heads 2 scale 1.0 <none> : !x
  return %a : !x
}

// CHECK-LABEL: func.func @weight_in_between(
func.func @weight_in_between(%x: !x) -> !x {
  %two = attn.constant dense<2.0> : tensor<1xf32>
  %b = attn.get_weight @b : [8] f32
  %wk = attn.get_weight @k : !w
  %wv = attn.get_weight @v : !w
  %k = attn.linear %x, %wk : !x, !w
  %v = attn.linear %x, %wv : !x, !w
  %c = attn.add %v, %b : !x, [8] f32
  %d = attn.mul %c, %two : !x, [1] f32
  %a = attn.sdpa %x, %k, %d heads 2 kv_heads 2 scale 1.0 <none> : !x
  return %a : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!w = tensor<8x8xf32>
attn.weight @k : !w = #weight.expr<file("k")>
attn.weight @v : !w = #weight.expr<file("v")>

// CHECK-NOT: projection-is-interrupted
// CHECK-LABEL: func.func @tensor_in_between(
func.func @tensor_in_between(%x: !x, %y: !x) -> !x {
  %wk = attn.get_weight @k : !w
  %wv = attn.get_weight @v : !w
  %k = attn.linear %x, %wk : !x, !w
  %v = attn.linear %x, %wv : !x, !w
  %c = attn.add %y, %v : !x
  %a = attn.sdpa %x, %k, %c heads 2 kv_heads 2 scale 1.0 <none> : !x
  return %a : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!w = tensor<8x8xf32>
attn.weight @k : !w = #weight.expr<file("k")>
attn.weight @v : !w = #weight.expr<file("v")>

// CHECK: function = "seven_operations"{{[^{}]*}}name = "projection-is-interrupted"
// CHECK-LABEL: func.func @seven_operations(
func.func @seven_operations(%x: !x) -> !x {
  %wk = attn.get_weight @k : !w
  %wv = attn.get_weight @v : !w
  %k = attn.linear %x, %wk : !x, !w
  %v = attn.linear %x, %wv : !x, !w
  %0 = attn.activation <tanh> %v : !x
  %1 = attn.activation <relu> %0 : !x
  %2 = attn.activation <relu> %1 : !x
  %3 = attn.activation <relu> %2 : !x
  %4 = attn.activation <relu> %3 : !x
  %5 = attn.activation <relu> %4 : !x
  %6 = attn.activation <relu> %5 : !x
  %a = attn.sdpa %x, %k, %6 heads 2 kv_heads 2 scale 1.0 <none> : !x
  return %a : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!w = tensor<8x8xf32>
attn.weight @k : !w = #weight.expr<file("k")>
attn.weight @v : !w = #weight.expr<file("v")>

// CHECK-NOT: projection-is-interrupted
// CHECK-LABEL: func.func @eight_operations(
func.func @eight_operations(%x: !x) -> !x {
  %wk = attn.get_weight @k : !w
  %wv = attn.get_weight @v : !w
  %k = attn.linear %x, %wk : !x, !w
  %v = attn.linear %x, %wv : !x, !w
  %0 = attn.activation <tanh> %v : !x
  %1 = attn.activation <relu> %0 : !x
  %2 = attn.activation <relu> %1 : !x
  %3 = attn.activation <relu> %2 : !x
  %4 = attn.activation <relu> %3 : !x
  %5 = attn.activation <relu> %4 : !x
  %6 = attn.activation <relu> %5 : !x
  %7 = attn.activation <relu> %6 : !x
  %a = attn.sdpa %x, %k, %7 heads 2 kv_heads 2 scale 1.0 <none> : !x
  return %a : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!w = tensor<8x8xf32>
attn.weight @k : !w = #weight.expr<file("k")>
attn.weight @v : !w = #weight.expr<file("v")>

// CHECK-LABEL: func.func @no_bias(
// CHECK: %[[W:.*]] = attn.get_weight @"k+v"
// CHECK-NEXT: attn.linear %{{.*}}, %[[W]] :
func.func @no_bias(%x: !x) -> !x {
  %wk = attn.get_weight @k : !w
  %wv = attn.get_weight @v : !w
  %k = attn.linear %x, %wk : !x, !w
  %v = attn.linear %x, %wv : !x, !w
  %a = attn.sdpa %x, %k, %v heads 2 kv_heads 2 scale 1.0 <none> : !x
  return %a : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!w = tensor<8x8xf32>
!b = tensor<8xf32>
attn.weight @a.q : !w = #weight.expr<file("q")>
attn.weight @a.k : !w = #weight.expr<file("k")>
attn.weight @a.v : !w = #weight.expr<file("v")>
attn.weight @a.b : !b = #weight.expr<file("b")>

// Layers in two entries have the same weights: they are joined once.
// CHECK: attn.weight @"a.q+k" : [16, 8] f32
// CHECK-NEXT: attn.weight @"a.q.zeros+a.b" : [16] f32
// CHECK-NOT: attn.weight @"a.q+k
// CHECK-LABEL: func.func @repeats_a_layer(
// CHECK-COUNT-2: attn.linear %{{.*}}, %{{.*}}, %{{.*}}
// CHECK-NOT: attn.linear
func.func @repeats_a_layer(%x: !x) -> !x {
  %wq = attn.get_weight @a.q : !w
  %wk = attn.get_weight @a.k : !w
  %b = attn.get_weight @a.b : !b
  %q = attn.linear %x, %wq : !x, !w
  %k = attn.linear %x, %wk, %b : !x, !w, !b
  %a = attn.sdpa %q, %k, %x heads 2 kv_heads 2 scale 1.0 <none> : !x
  %q2 = attn.linear %a, %wq : !x, !w
  %k2 = attn.linear %a, %wk, %b : !x, !w, !b
  %a2 = attn.sdpa %q2, %k2, %x heads 2 kv_heads 2 scale 1.0 <none> : !x
  return %a2 : !x
}
// CHECK-LABEL: func.func @has_the_same_weights(
// CHECK: attn.get_weight @"a.q+k"
// CHECK: attn.linear
// CHECK-NOT: attn.linear
// CHECK: return
func.func @has_the_same_weights(%x: !x) -> !x {
  %wq = attn.get_weight @a.q : !w
  %wk = attn.get_weight @a.k : !w
  %b = attn.get_weight @a.b : !b
  %q = attn.linear %x, %wq : !x, !w
  %k = attn.linear %x, %wk, %b : !x, !w, !b
  %a = attn.sdpa %q, %k, %x heads 2 kv_heads 2 scale 1.0 <none> : !x
  return %a : !x
}

// -----

!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!w = tensor<8x8xf32>
attn.weight @q : !w = #weight.expr<file("q")>
attn.weight @k : !w = #weight.expr<file("k")>
attn.weight @v : !w = #weight.expr<file("v")>

// The value has a separate weight in each group: only query and key would be equal.
// CHECK-LABEL: func.func @groups_differ(
// CHECK-NOT: attn.slice
func.func @groups_differ(%x: !x) -> !x {
  %wq = attn.get_weight @q : !w
  %wk = attn.get_weight @k : !w
  %wv = attn.get_weight @v : !w
  %q = attn.linear %x, %wq : !x, !w
  %k = attn.linear %x, %wk : !x, !w
  %a = attn.sdpa %q, %k, %x heads 2 kv_heads 2 scale 1.0 <none> : !x
  %q2 = attn.linear %a, %wq : !x, !w
  %k2 = attn.linear %a, %wk : !x, !w
  %v2 = attn.linear %a, %wv : !x, !w
  %a2 = attn.sdpa %q2, %k2, %v2 heads 2 kv_heads 2 scale 1.0 <none> : !x
  return %a2 : !x
}

// -----

!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!w = tensor<64x64xf32>
attn.weight @q : !w = #weight.expr<file("q", i8, 32, 64)>
attn.weight @k : !w = #weight.expr<file("k", i8, 32, 64)>
attn.weight @v : !w = #weight.expr<file("v", i8, 16, 64)>

// Joined with the value, query and key would be rounded.
// CHECK: args = {formats = "i8, group 32, scales f32, interleave 4 and rounded"}{{[^{}]*}}name = "projection-formats-differ"
// CHECK-SAME: projections = "2"}{{[^{}]*}}name = "projections-joined"
// CHECK-DAG: attn.weight @"q+k" : [128, 64] f32 = #weight.expr<concat(0, file("q", i8, 32, 64), file("k", i8, 32, 64))>
// CHECK-DAG: attn.weight @v : [64, 64] f32
// CHECK-LABEL: func.func @whole_numbers_of_two_formats(
func.func @whole_numbers_of_two_formats(%x: !x) -> !x {
  %wq = attn.get_weight @q : !w
  %q = attn.linear %x, %wq : !x, !w
  %wk = attn.get_weight @k : !w
  %k = attn.linear %x, %wk : !x, !w
  %wv = attn.get_weight @v : !w
  %v = attn.linear %x, %wv : !x, !w
  %a = attn.sdpa %q, %k, %v heads 2 kv_heads 2 scale 1.0 <none> : !x, !x, !x
  return %a : !x
}

// Every operation, attribute and type in the dialect survives printing and
// parsing, and so do the locations.
// RUN: transom-opt %s -split-input-file | transom-opt -split-input-file | FileCheck %s
// RUN: transom-opt %s -split-input-file -mlir-print-debuginfo | transom-opt -split-input-file -mlir-print-debuginfo | FileCheck %s --check-prefix=LOCATION
// RUN: transom-opt %s -split-input-file -mlir-print-op-generic | transom-opt -split-input-file | FileCheck %s

!hidden = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!mask = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!ids = tensor<?x?xi64, #attn.shape<[batch, seq]>>

// CHECK: attn.weight @q : [8, 8] f32 = #weight.expr<file("q.weight")>
attn.weight @q : [8, 8] f32 = #weight.expr<file("q.weight")>
attn.weight @bias : [8] f32 = #weight.expr<fill([8], 0.5)>

// CHECK-LABEL: func @products
func.func @products(%x: !hidden) -> tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>> {
  // CHECK: %[[W:.*]] = attn.get_weight @q : [8, 8] f32
  %w = attn.get_weight @q : [8, 8] f32
  %b = attn.get_weight @bias : [8] f32
  // CHECK: attn.linear %{{.*}}, %[[W]], %{{.*}} : [batch, seq, 8] f32, [8, 8] f32, [8] f32
  %y = attn.linear %x, %w, %b : !hidden, [8, 8] f32, [8] f32
  // CHECK: attn.linear %{{.*}}, %[[W]] : [batch, seq, 8] f32, [8, 8] f32{{$}}
  %z = attn.linear %y, %w : !hidden, [8, 8] f32
  %few = attn.constant dense<[5, 0]> : tensor<2xi64>
  // CHECK: attn.linear %{{.*}}, %[[W]], %{{.*}} columns(%{{.*}} : [2] i64) : [batch, seq, 8] f32, [8, 8] f32, [8] f32
  %l = attn.linear %y, %w, %b columns(%few : [2] i64) : !hidden, [8, 8] f32, [8] f32
  // CHECK: attn.matmul %{{.*}}, %{{.*}} {transpose_rhs} : [batch, seq, 8] f32{{$}}
  %s = attn.matmul %y, %x {transpose_rhs} : !hidden
  return %s : tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>
}

// CHECK-LABEL: func @elementwise
func.func @elementwise(%x: tensor<2x4xf32>, %m: tensor<4xi1>, %v: tensor<4xf32>, %i: tensor<2x4xi64>) {
  // CHECK: attn.constant dense<1.000000e+00> : tensor<1xf32>
  %c = attn.constant dense<1.0> : tensor<1xf32>
  // CHECK: attn.add %{{.*}}, %{{.*}} : [2, 4] f32, [4] f32
  %0 = attn.add %x, %v : [2, 4] f32, [4] f32
  // CHECK: attn.sub
  %1 = attn.sub %v, %x : [4] f32, [2, 4] f32
  // CHECK: attn.mul
  %2 = attn.mul %x, %c : [2, 4] f32, [1] f32
  // CHECK: attn.div
  %3 = attn.div %x, %x : [2, 4] f32
  // CHECK: attn.and
  %4 = attn.and %m, %m : [4] i1
  // CHECK: attn.or
  %5 = attn.or %m, %4 : [4] i1
  // CHECK: attn.not
  %6 = attn.not %5 : [4] i1
  // CHECK: attn.cast %{{.*}} to f32 : [2, 4] i64
  %7 = attn.cast %i to f32 : [2, 4] i64
  // CHECK: attn.scale %{{.*}} by 1.250000e-01 {offset = 1.000000e+00 : f64} : [2, 4] f32
  %8 = attn.scale %7 by 0.125 {offset = 1.0} : [2, 4] f32
  // CHECK: attn.activation <gelu_tanh> %{{.*}} : [2, 4] f32
  %9 = attn.activation <gelu_tanh> %8 : [2, 4] f32
  // CHECK: attn.where
  %10 = attn.where %m, %x, %c : [4] i1, [2, 4] f32, [1] f32
  // CHECK: attn.mask %{{.*}}, %{{.*}} with 0xFFF0000000000000 : [2, 4] f32, [4] i1
  %11 = attn.mask %x, %m with 0xFFF0000000000000 : [2, 4] f32, [4] i1
  // CHECK: attn.mask %{{.*}}, %{{.*}} with -1.000000e+09
  %12 = attn.mask %x, %m with -1.0e9 : [2, 4] f32, [4] i1
  return
}

// CHECK-LABEL: func @shapes
func.func @shapes(%arg: tensor<*xf32>, %x: !hidden, %t: tensor<9x4xf32>, %ids: !ids) {
  // CHECK: attn.reshape %{{.*}} to <[batch, seq, 2, 4]>
  %0 = attn.reshape %x to <[batch, seq, 2, 4]> : !hidden
  // CHECK: attn.transpose %{{.*}} [0, 2, 1, 3] : [batch, seq, 2, 4] f32
  %1 = attn.transpose %0 [0, 2, 1, 3] : [batch, seq, 2, 4] f32
  // CHECK: attn.concat %{{.*}}, %{{.*}} axis 1 : [batch, seq, 8] f32, [batch, seq, 8] f32
  %2 = attn.concat %x, %x axis 1 : !hidden, !hidden
  // CHECK: attn.slice %{{.*}} axis 1 from 1 size seq-1 : [batch, seq, 8] f32
  %3 = attn.slice %x axis 1 from 1 size seq-1 : !hidden
  // CHECK: attn.gather
  %4 = attn.gather %t, %ids : [9, 4] f32, !ids
  // CHECK: attn.embedding %{{.*}}, %{{.*}} {scale = 2.000000e+00 : f64}
  %5 = attn.embedding %ids, %t {scale = 2.0} : !ids, [9, 4] f32
  // CHECK: attn.position <nonpad_rank> %{{.*}} {pad = 1 : i64}
  %6 = attn.position <nonpad_rank> %ids {pad = 1 : i64} : !ids
  // CHECK: attn.reshape %{{.*}} to <[batch*seq*seq+31*batch-1*seq, 1]>
  %7 = attn.reshape %arg to <[batch*seq*seq+31*batch-1*seq, 1]> : tensor<*xf32>
  return
}

// CHECK-LABEL: func @norms
func.func @norms(%x: !hidden, %g: tensor<8xf32>, %m: !mask) {
  // CHECK: attn.softmax
  %0 = attn.softmax %x : !hidden
  // CHECK: attn.layer_norm %{{.*}}, %{{.*}}, %{{.*}} eps {{.*}} :
  %1 = attn.layer_norm %0, %g, %g eps 1.0e-12 : !hidden, [8] f32, [8] f32
  // CHECK: attn.rms_norm %{{.*}}, %{{.*}} eps
  %2 = attn.rms_norm %1, %g eps 1.0e-6 : !hidden, [8] f32
  // CHECK: attn.pool <mean> %{{.*}} mask(%{{.*}}) :
  %3 = attn.pool <mean> %2 mask(%m : !mask) : !hidden
  // CHECK: attn.pool <sum>
  %4 = attn.pool <sum> %2 mask(%m : !mask) : !hidden
  // CHECK: attn.pool <max>
  %5 = attn.pool <max> %2 mask(%m : !mask) : !hidden
  // CHECK: attn.pool <mean_sqrt>
  %6 = attn.pool <mean_sqrt> %2 mask(%m : !mask) : !hidden
  // CHECK: attn.pool <weighted_mean>
  %7 = attn.pool <weighted_mean> %2 mask(%m : !mask) : !hidden
  // CHECK: attn.pool <first_key>
  %8 = attn.pool <first_key> %2 mask(%m : !mask) : !hidden
  return
}

// CHECK-LABEL: func @attention
func.func @attention(%q: !hidden, %k: tensor<?x?x4xf32, #attn.shape<[batch, seq, 4]>>, %m: !mask) -> !hidden {
  // CHECK: attn.sdpa %{{.*}}, %{{.*}}, %{{.*}} mask(%{{.*}}) heads 2 kv_heads 1 scale 5.000000e-01 <keys> {causal, soft_cap = 3.000000e+01 : f64, window = 64 : i64}
  %0 = attn.sdpa %q, %k, %k mask(%m : !mask) heads 2 kv_heads 1 scale 0.5 <keys> {causal, soft_cap = 30.0, window = 64 : i64} : !hidden, [batch, seq, 4] f32, [batch, seq, 4] f32
  return %0 : !hidden
}

// CHECK-LABEL: func @ragged
func.func @ragged(%x: !hidden, %m: !mask) -> !hidden {
  // CHECK: %[[S:.*]] = attn.ragged_batch %{{.*}} {keep_first} : [batch, seq] i1 -> <rows, keys>
  %s = attn.ragged_batch %m {keep_first} : !mask -> <rows, keys>
  // CHECK: attn.gather_rows %{{.*}}, %[[S]]
  %r = attn.gather_rows %x, %s : !hidden, <rows, keys>
  // CHECK: attn.layers %{{.*}} invariants(%[[S]] : <rows, keys>) [@layer(@q), @layer(@q)] : [rows, 8] f32
  %l = attn.layers %r invariants(%s : <rows, keys>) [@layer(@q), @layer(@q)] : [rows, 8] f32
  // CHECK: attn.pool <first> %{{.*}} ragged(%[[S]] : {{[^)]*}}) batch batch : [rows, 8] f32
  %p = attn.pool <first> %l ragged(%s : <rows, keys>) batch batch : [rows, 8] f32
  // CHECK: attn.scatter_rows %{{.*}}, %[[S]] to batch x seq
  %y = attn.scatter_rows %l, %s to batch x seq : [rows, 8] f32, <rows, keys>
  return %y : !hidden
}
func.func private @layer(%x: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>, %w: tensor<8x8xf32>) -> tensor<?x8xf32, #attn.shape<[rows, 8]>> {
  %y = attn.linear %x, %w : [rows, 8] f32, [8, 8] f32
  // CHECK: attn.sdpa %{{.*}}, %{{.*}}, %{{.*}} ragged(%{{.*}}) heads 2 kv_heads 2 scale 5.000000e-01 <ragged> :
  %a = attn.sdpa %y, %y, %y ragged(%s : <rows, keys>) heads 2 kv_heads 2 scale 0.5 <ragged> : [rows, 8] f32
  return %a : tensor<?x8xf32, #attn.shape<[rows, 8]>>
}

// CHECK: attn.cache @h.0.attn : !attn.cache<heads 1, key 4, value 6, window 16>
attn.cache @h.0.attn : !attn.cache<heads 1, key 4, value 6, window 16>
// CHECK: attn.cache @h.1.attn : !attn.cache<heads 2, key 4, value 4>
attn.cache @h.1.attn : !attn.cache<heads 2, key 4, value 4>
attn.weight @slopes : [2] f32 = #weight.expr<values([2], [0.5, 0.25])>

!rows = tensor<?x8xf32, #attn.shape<[rows, 8]>>

// CHECK-LABEL: func @step
func.func @step(%tokens: tensor<?xi64, #attn.shape<[rows]>>, %x: !rows, %k: tensor<?x4xf32, #attn.shape<[rows, 4]>>, %v: tensor<?x6xf32, #attn.shape<[rows, 6]>>) -> !rows {
  // CHECK: %[[S:.*]] = attn.decode_batch : !attn.ragged<rows, keys>
  %s = attn.decode_batch : !attn.ragged<rows, keys>
  // CHECK: %[[P:.*]] = attn.position <column> %{{.*}} ragged(%[[S]] : {{[^)]*}})
  %p = attn.position <column> %tokens ragged(%s : <rows, keys>) : [rows] i64
  // CHECK: %[[R:.*]] = attn.rope_table %[[P]] {factor = 2.000000e+00 : f64, frequencies = array<f64: 1.000000e+00>, limit = 64 : i64} : [rows] i64
  %r = attn.rope_table %p {frequencies = array<f64: 1.0>, factor = 2.0, limit = 64 : i64} : [rows] i64
  // CHECK: %[[Q:.*]] = attn.rope %{{.*}}, %[[R]] heads 2 : [rows,
  %q = attn.rope %x, %r heads 2 : !rows, [rows, 2] f32
  // CHECK: attn.rope %{{.*}}, %[[R]] heads 1 {interleaved} : [rows, 4] f32, [rows, 2] f32
  %k2 = attn.rope %k, %r heads 1 {interleaved} : [rows, 4] f32, [rows, 2] f32
  // CHECK: %[[C:.*]] = attn.get_cache @h.0.attn : !attn.cache<heads 1, key 4, value 6, window 16>
  %c = attn.get_cache @h.0.attn : !attn.cache<heads 1, key 4, value 6, window 16>
  %al = attn.get_weight @slopes : [2] f32
  // CHECK: attn.sdpa %[[Q]], %{{.*}}, %{{.*}} ragged(%[[S]] : {{[^)]*}}) cache(%[[C]] : {{[^)]*}}) slopes(%{{.*}}) heads 2 kv_heads 1 scale 5.000000e-01 <ragged> {causal, window = 16 : i64} :
  %y = attn.sdpa %q, %k2, %v ragged(%s : <rows, keys>) cache(%c : !attn.cache<heads 1, key 4, value 6, window 16>) slopes(%al : [2] f32) heads 2 kv_heads 1 scale 0.5 <ragged> {causal, window = 16 : i64} : !rows, [rows, 4] f32, [rows, 6] f32
  // CHECK: attn.layers %{{.*}} invariants(%[[S]] : <rows, keys>) [@decoder(@h.1.attn)]
  %z = attn.layers %x invariants(%s : <rows, keys>) [@decoder(@h.1.attn)] : !rows
  return %z : !rows
}
func.func private @decoder(%x: !rows, %s: !attn.ragged<rows, keys>, %c: !attn.cache<heads 2, key 4, value 4>) -> !rows {
  %y = attn.sdpa %x, %x, %x ragged(%s : <rows, keys>) cache(%c : !attn.cache<heads 2, key 4, value 4>) heads 2 kv_heads 2 scale 0.5 <ragged> {causal} : !rows
  return %y : !rows
}

// CHECK: attn.cache @h.0.cross : !attn.cache<heads 1, key 4, value 6, read_only 96>
attn.cache @h.0.cross : !attn.cache<heads 1, key 4, value 6, read_only 96>

// CHECK-LABEL: func @source
func.func @source(%x: !hidden, %mask: tensor<?x?xi1, #attn.shape<[batch, seq]>>, %wk: tensor<4x8xf32>, %wv: tensor<6x8xf32>) {
  %s = attn.ragged_batch %mask : [batch, seq] i1 -> <rows, keys>
  %r = attn.gather_rows %x, %s : !hidden, <rows, keys>
  // CHECK: %[[K:.*]] = attn.linear
  %k = attn.linear %r, %wk : [rows, 8] f32, [4, 8] f32
  // CHECK: %[[V:.*]] = attn.linear
  %v = attn.linear %r, %wv : [rows, 8] f32, [6, 8] f32
  %c = attn.get_cache @h.0.cross : !attn.cache<heads 1, key 4, value 6, read_only 96>
  // CHECK: attn.append %{{.*}}, %[[K]], %[[V]] ragged(%{{.*}} : <rows, keys>) cache(%{{.*}} : !attn.cache<heads 1, key 4, value 6, read_only 96>) : [rows, 8] f32, [rows, 4] f32, [rows, 6] f32
  %y = attn.append %r, %k, %v ragged(%s : <rows, keys>) cache(%c : !attn.cache<heads 1, key 4, value 6, read_only 96>) : [rows, 8] f32, [rows, 4] f32, [rows, 6] f32
  return
}

// CHECK-LABEL: func @cross
func.func @cross(%x: !rows) -> tensor<?x12xf32, #attn.shape<[rows, 12]>> {
  %s = attn.decode_batch : !attn.ragged<rows, keys>
  %c = attn.get_cache @h.0.cross : !attn.cache<heads 1, key 4, value 6, read_only 96>
  // CHECK: attn.cross_sdpa %{{.*}} ragged(%{{.*}} : <rows, keys>) cache(%{{.*}} : !attn.cache<heads 1, key 4, value 6, read_only 96>) heads 2 scale 5.000000e-01 {soft_cap = 3.000000e+00 : f64} : [rows, 8] f32
  %y = attn.cross_sdpa %x ragged(%s : <rows, keys>) cache(%c : !attn.cache<heads 1, key 4, value 6, read_only 96>) heads 2 scale 0.5 {soft_cap = 3.0} : !rows
  return %y : tensor<?x12xf32, #attn.shape<[rows, 12]>>
}

// CHECK-LABEL: func @row_summary
func.func @row_summary(%x: tensor<?x130xf32, #attn.shape<[rows, 130]>>) -> tensor<?x3xf32, #attn.shape<[rows, 3]>> {
  // CHECK: %{{.*}}:2 = attn.row_summary %{{.*}} : [rows, 130] f32
  %m, %s = attn.row_summary %x : [rows, 130] f32
  %y = attn.add %m, %s : [rows, 3] f32, [rows, 3] f32
  return %y : tensor<?x3xf32, #attn.shape<[rows, 3]>>
}

// CHECK-LABEL: func @relative_bias
func.func @relative_bias(%x: tensor<2x4x8xf32>, %b: tensor<2x5xf32>) -> tensor<2x4x8xf32> {
  // CHECK: attn.sdpa %{{.*}}, %{{.*}}, %{{.*}} relative_bias(%{{.*}} : {{[^)]*}}) heads 2 kv_heads 2 scale 1.000000e+00 <none> :
  %y = attn.sdpa %x, %x, %x relative_bias(%b : [2, 5] f32) heads 2 kv_heads 2 scale 1.0 <none> : [2, 4, 8] f32
  return %y : tensor<2x4x8xf32>
}

// CHECK-LABEL: func @alibi
func.func @alibi(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %al = attn.get_weight @slopes : [2] f32
  // CHECK: attn.sdpa %{{.*}}, %{{.*}}, %{{.*}} slopes(%{{.*}}) heads 2 kv_heads 2 scale 5.000000e-01 <none> {causal} :
  %y = attn.sdpa %x, %x, %x slopes(%al : [2] f32) heads 2 kv_heads 2 scale 0.5 <none> {causal} : [2, 4, 8] f32
  return %y : tensor<2x4x8xf32>
}

// CHECK-LABEL: func @symmetric_alibi
func.func @symmetric_alibi(%x: tensor<2x4x8xf32>, %al: tensor<2x2xf32>) -> tensor<2x4x8xf32> {
  // CHECK: attn.sdpa %{{.*}}, %{{.*}}, %{{.*}} slopes(%{{.*}} : [2, 2] f32) heads 2 kv_heads 2 scale 5.000000e-01 <none> :
  %y = attn.sdpa %x, %x, %x slopes(%al : [2, 2] f32) heads 2 kv_heads 2 scale 0.5 <none> : [2, 4, 8] f32
  return %y : tensor<2x4x8xf32>
}

// -----

// LOCATION-LABEL: func @locations
func.func @locations(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // LOCATION: attn.softmax %{{.*}} loc(#[[ONE:.*]])
  %0 = attn.softmax %x : [2, 4] f32 loc(fused<"encoder.layer.0.attention">["/num_hidden_layers"("config.json":0:0)])
  return %0 : tensor<2x4xf32>
}
// LOCATION-DAG: #[[FILE:.*]] = loc("config.json":0:0)
// LOCATION-DAG: #[[NAME:.*]] = loc("/num_hidden_layers"(#[[FILE]]))
// LOCATION-DAG: #[[ONE]] = loc(fused<"encoder.layer.0.attention">[#[[NAME]]])

// CHECK-LABEL: func @disentangled
func.func @disentangled(%x: tensor<2x4x8xf32>, %p: tensor<12x4xf32>) -> tensor<2x4x8xf32> {
  // CHECK: attn.sdpa %{{.*}}, %{{.*}}, %{{.*}} position_keys(%{{.*}} : {{[^)]*}}) position_queries(%{{.*}} : {{[^)]*}}) heads 2 kv_heads 2 scale 1.000000e+00 <none> {max_distance = 9 : i64} :
  %y = attn.sdpa %x, %x, %x position_keys(%p : [12, 4] f32) position_queries(%p : [12, 4] f32) heads 2 kv_heads 2 scale 1.0 <none> {max_distance = 9 : i64} : [2, 4, 8] f32
  return %y : tensor<2x4x8xf32>
}

// CHECK-LABEL: func @neighbors
func.func @neighbors(%x: tensor<2x4x8xf32>, %m: tensor<2x4xi1>) -> tensor<2x4x24xf32> {
  // CHECK: attn.neighbors %{{.*}} mask(%{{.*}}) reach 1 : [2, 4, 8] f32
  %y = attn.neighbors %x mask(%m : [2, 4] i1) reach 1 : [2, 4, 8] f32
  return %y : tensor<2x4x24xf32>
}

// One case for each constraint on attention positions and on neighbors.
// RUN: transom-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<1x4x8xf32>, %p: tensor<10x4xf32>) {
  // expected-error @below {{'attn.sdpa' op (14) expects position keys [2 * an even number, 4] of the query's type, as many as others, got f32 [10, 4]}}
  %0 = attn.sdpa %x, %x, %x position_keys(%p : [10, 4] f32) heads 2 kv_heads 2 scale 1.0 <none> : [1, 4, 8] f32
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>, %p: tensor<12x3xf32>) {
  // expected-error @below {{'attn.sdpa' op (14) expects position keys [2 * an even number, 4] of the query's type, as many as others, got f32 [12, 3]}}
  %0 = attn.sdpa %x, %x, %x position_keys(%p : [12, 3] f32) heads 2 kv_heads 2 scale 1.0 <none> : [1, 4, 8] f32
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>, %p: tensor<12x4xf32>, %o: tensor<8x4xf32>) {
  // expected-error @below {{'attn.sdpa' op (14) expects position queries [2 * an even number, 4] of the query's type, as many as others, got f32 [8, 4]}}
  %0 = attn.sdpa %x, %x, %x position_keys(%p : [12, 4] f32) position_queries(%o : [8, 4] f32) heads 2 kv_heads 2 scale 1.0 <none> : [1, 4, 8] f32
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>, %p: tensor<12x4xf32>, %k: tensor<1x4x4xf32>) {
  // expected-error @below {{'attn.sdpa' op (15) expects positions with heads that are kv_heads, query and key of one length and no cache}}
  %0 = attn.sdpa %x, %k, %k position_keys(%p : [12, 4] f32) heads 2 kv_heads 1 scale 1.0 <none> : [1, 4, 8] f32, [1, 4, 4] f32, [1, 4, 4] f32
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>, %p: tensor<12x4xf32>, %k: tensor<1x3x8xf32>) {
  // expected-error @below {{'attn.sdpa' op (15) expects positions with heads that are kv_heads, query and key of one length and no cache}}
  %0 = attn.sdpa %x, %k, %k position_keys(%p : [12, 4] f32) heads 2 kv_heads 2 scale 1.0 <none> : [1, 4, 8] f32, [1, 3, 8] f32, [1, 3, 8] f32
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>) {
  // expected-error @below {{'attn.sdpa' op (16) expects 'max_distance' beside positions only, got 9}}
  %0 = attn.sdpa %x, %x, %x heads 2 kv_heads 2 scale 1.0 <none> {max_distance = 9 : i64} : [1, 4, 8] f32
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>, %p: tensor<12x4xf32>) {
  // expected-error @below {{'attn.sdpa' op (16) expects 'max_distance' 0, or from n / 4 + 2 to 65536 with n >= 4, got 2 with n = 6}}
  %0 = attn.sdpa %x, %x, %x position_keys(%p : [12, 4] f32) heads 2 kv_heads 2 scale 1.0 <none> {max_distance = 2 : i64} : [1, 4, 8] f32
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>, %p: tensor<4x4xf32>) {
  // expected-error @below {{'attn.sdpa' op (16) expects 'max_distance' 0, or from n / 4 + 2 to 65536 with n >= 4, got 9 with n = 2}}
  %0 = attn.sdpa %x, %x, %x position_keys(%p : [4, 4] f32) heads 2 kv_heads 2 scale 1.0 <none> {max_distance = 9 : i64} : [1, 4, 8] f32
  return
}

// -----

func.func @f(%a: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %m: tensor<2x3xi1>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{'attn.neighbors' op (1) expects [rows, d] and no mask with a ragged batch, got [rows, 8]}}
  %0 = attn.neighbors %a mask(%m : [2, 3] i1) ragged(%s : <rows, keys>) reach 1 : [rows, 8] f32
  return
}

// -----

func.func @f(%a: tensor<2x8xf32>) {
  // expected-error @below {{'attn.neighbors' op (2) expects [batch, seq, d], got [2, 8]}}
  %0 = attn.neighbors %a reach 1 : [2, 8] f32
  return
}

// -----

func.func @f(%a: tensor<2x3x8xf32>, %m: tensor<2x4xi1>) {
  // expected-error @below {{'attn.neighbors' op (2) expects a bool mask [2, 3], got i1 [2, 4]}}
  %0 = attn.neighbors %a mask(%m : [2, 4] i1) reach 1 : [2, 3, 8] f32
  return
}

// -----

func.func @f(%a: tensor<2x3x8xi64>) {
  // expected-error @below {{'attn.neighbors' op (3) expects a float input of rank 2 or more, got i64 [2, 3, 8]}}
  %0 = attn.neighbors %a reach 1 : [2, 3, 8] i64
  return
}

// -----

func.func @f(%a: tensor<2x3x?xf32, #attn.shape<[2, 3, n]>>) {
  // expected-error @below {{'attn.neighbors' op (3) expects a constant d, got 'n'}}
  %0 = attn.neighbors %a reach 1 : [2, 3, n] f32
  return
}

// -----

func.func @f(%a: tensor<2x3x8xf32>) {
  // expected-error @below {{'attn.neighbors' op (4) expects a reach from 0 to 127, got 128}}
  %0 = attn.neighbors %a reach 128 : [2, 3, 8] f32
  return
}

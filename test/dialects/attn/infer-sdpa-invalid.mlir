// One case for each constraint on attn.sdpa.
// RUN: transom-opt %s -split-input-file -verify-diagnostics
func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf64>, %c: tensor<1x4x8xf32>) {
  // expected-error @below {{'attn.sdpa' op (1) expects a key of rank 3 and one float type, got f64 [1, 4, 8]}}
  %0 = attn.sdpa %a, %b, %c heads 2 kv_heads 2 scale 0.5 <none> : [1, 4, 8] f32, [1, 4, 8] f64, [1, 4, 8] f32
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf32>, %c: tensor<1x4x8xf32>) {
  // expected-error @below {{'attn.sdpa' op (2) expects a mask and no ragged batch for mask kind 'keys'}}
  %0 = attn.sdpa %a, %b, %c heads 2 kv_heads 2 scale 0.5 <keys> : [1, 4, 8] f32
  return
}

// -----

func.func @f(%a: tensor<?x8xf32, #attn.shape<[rows, 8]>>) {
  // expected-error @below {{'attn.sdpa' op (2) expects no mask and a ragged batch for mask kind 'ragged'}}
  %0 = attn.sdpa %a, %a, %a heads 2 kv_heads 2 scale 0.5 <ragged> : [rows, 8] f32
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf32>, %c: tensor<1x4x8xf32>) {
  // expected-error @below {{'attn.sdpa' op (3) expects heads to be a positive multiple of kv_heads, got 3 and 2}}
  %0 = attn.sdpa %a, %b, %c heads 3 kv_heads 2 scale 0.5 <none> : [1, 4, 8] f32
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<1x4x6xf32>, %c: tensor<1x4x8xf32>) {
  // expected-error @below {{'attn.sdpa' op (4) expects query and key to be 2 and 2 heads of one size wide, got '8' and '6'}}
  %0 = attn.sdpa %a, %b, %c heads 2 kv_heads 2 scale 0.5 <none> : [1, 4, 8] f32, [1, 4, 6] f32, [1, 4, 8] f32
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf32>, %c: tensor<1x4x7xf32>) {
  // expected-error @below {{'attn.sdpa' op (5) expects value to be 2 heads wide, got '7'}}
  %0 = attn.sdpa %a, %b, %c heads 2 kv_heads 2 scale 0.5 <none> : [1, 4, 8] f32, [1, 4, 8] f32, [1, 4, 7] f32
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<1x128x8xf32>, %c: tensor<1x64x8xf32>) {
  // expected-error @below {{'attn.sdpa' op (6) expects key and value of one length, got '128' and '64'}}
  %0 = attn.sdpa %a, %b, %c heads 2 kv_heads 2 scale 0.5 <none> : [1, 4, 8] f32, [1, 128, 8] f32, [1, 64, 8] f32
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<2x4x8xf32>, %c: tensor<2x4x8xf32>) {
  // expected-error @below {{'attn.sdpa' op (7) expects query, key and value of one batch, got '1', '2' and '2'}}
  %0 = attn.sdpa %a, %b, %c heads 2 kv_heads 2 scale 0.5 <none> : [1, 4, 8] f32, [2, 4, 8] f32, [2, 4, 8] f32
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf32>, %c: tensor<1x4x8xf32>, %d: tensor<1x4xf32>) {
  // expected-error @below {{'attn.sdpa' op (8) expects a bool mask for mask kind 'keys', got f32 [1, 4]}}
  %0 = attn.sdpa %a, %b, %c mask(%d : [1, 4] f32) heads 2 kv_heads 2 scale 0.5 <keys> : [1, 4, 8] f32
  return
}

// -----

func.func @f(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf32>, %c: tensor<1x4x8xf32>, %d: tensor<3x4xf32>) {
  // expected-error @below {{'attn.sdpa' op (8) expects a mask that broadcasts to [1, 2, 4, 4], got [3, 4]}}
  %0 = attn.sdpa %a, %b, %c mask(%d : [3, 4] f32) heads 2 kv_heads 2 scale 0.5 <additive> : [1, 4, 8] f32
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>, %c: !attn.cache<heads 2, key 4, value 4>) {
  // expected-error @below {{'attn.sdpa' op (9) expects a ragged batch and 'causal' with a cache}}
  %0 = attn.sdpa %x, %x, %x ragged(%s : <rows, keys>) cache(%c : !attn.cache<heads 2, key 4, value 4>) heads 2 kv_heads 2 scale 1.0 <ragged>  : [rows, 8] f32
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>, %c: !attn.cache<heads 2, key 4, value 4>) {
  // expected-error @below {{'attn.sdpa' op (9) expects a cache of type '!attn.cache<heads 2, key 4, value 4, window 8>', got '!attn.cache<heads 2, key 4, value 4>'}}
  %0 = attn.sdpa %x, %x, %x ragged(%s : <rows, keys>) cache(%c : !attn.cache<heads 2, key 4, value 4>) heads 2 kv_heads 2 scale 1.0 <ragged> {causal, window = 8 : i64} : [rows, 8] f32
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>, %c: !attn.cache<heads 1, key 8, value 8>) {
  // expected-error @below {{'attn.sdpa' op (9) expects a cache of type '!attn.cache<heads 2, key 4, value 4>', got '!attn.cache<heads 1, key 8, value 8>'}}
  %0 = attn.sdpa %x, %x, %x ragged(%s : <rows, keys>) cache(%c : !attn.cache<heads 1, key 8, value 8>) heads 2 kv_heads 2 scale 1.0 <ragged> {causal} : [rows, 8] f32
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>, %a: tensor<3xf32>) {
  // expected-error @below {{'attn.sdpa' op (10) expects slopes of type 'f32' [2], got f32 [3]}}
  %0 = attn.sdpa %x, %x, %x slopes(%a : [3] f32) heads 2 kv_heads 2 scale 1.0 <none> : [1, 4, 8] f32
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>, %a: tensor<2x3xf32>) {
  // expected-error @below {{'attn.sdpa' op (10) expects slopes of type 'f32' [2], got f32 [2, 3]}}
  %0 = attn.sdpa %x, %x, %x slopes(%a : [2, 3] f32) heads 2 kv_heads 2 scale 1.0 <none> : [1, 4, 8] f32
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>, %b: tensor<2x4xf32>) {
  // expected-error @below {{'attn.sdpa' op (11) expects a relative bias [2, an odd number] of the query's type, got f32 [2, 4]}}
  %0 = attn.sdpa %x, %x, %x relative_bias(%b : [2, 4] f32) heads 2 kv_heads 2 scale 1.0 <none> : [1, 4, 8] f32
  return
}

// -----

func.func @f(%q: tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>, %x: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{'attn.sdpa' op (12) expects no 'causal', window, slopes, relative bias, positions and cache for a query of rank 3 with a ragged batch}}
  %0 = attn.sdpa %q, %x, %x ragged(%s : <rows, keys>) heads 2 kv_heads 2 scale 1.0 <ragged> {causal} : [batch, seq, 8] f32, [rows, 8] f32, [rows, 8] f32
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>) {
  // expected-error @below {{'attn.sdpa' op (13) expects a window and a soft cap that are not negative, got -1 and 0}}
  %0 = attn.sdpa %x, %x, %x heads 2 kv_heads 2 scale 1.0 <none> {window = -1 : i64} : [1, 4, 8] f32
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>) {
  // expected-error @below {{'attn.sdpa' op (13) expects a window and a soft cap that are not negative, got 0 and -2}}
  %0 = attn.sdpa %x, %x, %x heads 2 kv_heads 2 scale 1.0 <none> {soft_cap = -2.0 : f64} : [1, 4, 8] f32
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %v: tensor<?x12xf32, #attn.shape<[rows, 12]>>, %s: !attn.ragged<rows, keys>, %c: !attn.cache<heads 2, key 4, value 6>) {
  // expected-error @below {{'attn.append' op (1) expects a read-only cache, got '!attn.cache<heads 2, key 4, value 6>'}}
  %0 = attn.append %x, %x, %v ragged(%s : <rows, keys>) cache(%c : !attn.cache<heads 2, key 4, value 6>) : [rows, 8] f32, [rows, 8] f32, [rows, 12] f32
  return
}

// -----

!cross = !attn.cache<heads 2, key 4, value 6, read_only 96>
func.func @f(%x: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>, %c: !cross) {
  // expected-error @below {{'attn.append' op (2) expects a float value [rows, 12], got f32 [rows, 8]}}
  %0 = attn.append %x, %x, %x ragged(%s : <rows, keys>) cache(%c : !cross) : [rows, 8] f32
  return
}

// -----

!cross = !attn.cache<heads 2, key 4, value 6, read_only 96>
func.func @f(%x: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %v: tensor<?x12xf32, #attn.shape<[rows, 12]>>, %s: !attn.ragged<tokens, keys>, %c: !cross) {
  // expected-error @below {{'attn.append' op (2) expects a float key [tokens, 8], got f32 [rows, 8]}}
  %0 = attn.append %x, %x, %v ragged(%s : <tokens, keys>) cache(%c : !cross) : [rows, 8] f32, [rows, 8] f32, [rows, 12] f32
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>, %c: !attn.cache<heads 2, key 4, value 6>) {
  // expected-error @below {{'attn.cross_sdpa' op (1) expects a read-only cache, got '!attn.cache<heads 2, key 4, value 6>'}}
  %0 = attn.cross_sdpa %x ragged(%s : <rows, keys>) cache(%c : !attn.cache<heads 2, key 4, value 6>) heads 2 scale 1.0 : [rows, 8] f32
  return
}

// -----

!cross = !attn.cache<heads 2, key 4, value 6, read_only 96>
func.func @f(%x: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<tokens, keys>, %c: !cross) {
  // expected-error @below {{'attn.cross_sdpa' op (2) expects a float query ['tokens', ...], got f32 [rows, 8]}}
  %0 = attn.cross_sdpa %x ragged(%s : <tokens, keys>) cache(%c : !cross) heads 2 scale 1.0 : [rows, 8] f32
  return
}

// -----

!cross = !attn.cache<heads 2, key 4, value 6, read_only 96>
func.func @f(%x: tensor<?x12xf32, #attn.shape<[rows, 12]>>, %s: !attn.ragged<rows, keys>, %c: !cross) {
  // expected-error @below {{'attn.cross_sdpa' op (3) expects heads to be a positive multiple of the cache's 2, got 3}}
  %0 = attn.cross_sdpa %x ragged(%s : <rows, keys>) cache(%c : !cross) heads 3 scale 1.0 : [rows, 12] f32
  return
}

// -----

!cross = !attn.cache<heads 2, key 4, value 6, read_only 96>
func.func @f(%x: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>, %c: !cross) {
  // expected-error @below {{'attn.cross_sdpa' op (4) expects a query of 4 heads of 4, got '8'}}
  %0 = attn.cross_sdpa %x ragged(%s : <rows, keys>) cache(%c : !cross) heads 4 scale 1.0 : [rows, 8] f32
  return
}

// One case for each constraint on attention positions, head GEMMs and
// neighbors.
// RUN: transom-opt %s -split-input-file -verify-diagnostics

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<0>, %c: !kern.buffer<[2*rows, 6] x bf16>, %t: !kern.buffer<[parts, 8640] x f32>) {
  // expected-error @below {{'kern.attention' op (23) expects f32 as scores of positions, got 'bf16'}}
  kern.attention %q, %k, %v ragged %s, %u content_to_position %c scratch %t outs(%q) heads 2 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[2*rows, 6] x bf16>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<0>, %c: !kern.buffer<[2*rows, 5] x f32>, %t: !kern.buffer<[parts, 8640] x f32>) {
  // expected-error @below {{'kern.attention' op (23) expects scores of positions of [2 * rows of the query, an even number], got [2*rows, 5]}}
  kern.attention %q, %k, %v ragged %s, %u content_to_position %c scratch %t outs(%q) heads 2 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[2*rows, 5] x f32>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<0>, %c: !kern.buffer<[n, 6] x f32>, %t: !kern.buffer<[parts, 8640] x f32>) {
  // expected-error @below {{'kern.attention' op (23) expects scores of positions of [2 * rows of the query, an even number], got [n, 6]}}
  kern.attention %q, %k, %v ragged %s, %u content_to_position %c scratch %t outs(%q) heads 2 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[n, 6] x f32>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %c: !kern.buffer<[2*rows, 6] x f32>, %t: !kern.buffer<[parts, 8640] x f32>) {
  // expected-error @below {{'kern.attention' op (23) expects 'heads' that are 'kv_heads', ragged of one table and no cache beside scores of positions}}
  kern.attention %q, %k, %v ragged %s, %u content_to_position %c scratch %t outs(%q) heads 2 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<1>, !kern.buffer<[2*rows, 6] x f32>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %k: !kern.buffer<[keys, 4] x f32, key_panels>, %v: !kern.buffer<[rows, 4] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<0>, %c: !kern.buffer<[2*rows, 6] x f32>, %t: !kern.buffer<[parts, 8640] x f32>) {
  // expected-error @below {{'kern.attention' op (23) expects 'heads' that are 'kv_heads', ragged of one table and no cache beside scores of positions}}
  kern.attention %q, %k, %v ragged %s, %u content_to_position %c scratch %t outs(%q) heads 2 kv_heads 1 scale 1.0 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 4] x f32, key_panels>, !kern.buffer<[rows, 4] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[2*rows, 6] x f32>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<0>, %c: !kern.buffer<[2*rows, 6] x f32>, %t: !kern.buffer<[parts, 8640] x f32>) {
  // expected-error @below {{'kern.attention' op (24) expects 'max_distance' 0, or from n / 4 + 2 to 65536 with n >= 4, got 2 with n = 6}}
  kern.attention %q, %k, %v ragged %s, %u content_to_position %c scratch %t outs(%q) heads 2 kv_heads 2 scale 1.0 {max_distance = 2 : i64} : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[2*rows, 6] x f32>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<0>, %c: !kern.buffer<[2*rows, 6] x f32>, %t: !kern.buffer<[parts, 8640] x f32>) {
  // expected-error @below {{'kern.attention' op (24) expects 'max_distance' beside scores of positions only, got 9}}
  kern.attention %q, %k, %v ragged %s, %u scratch %t outs(%q) heads 2 kv_heads 2 scale 1.0 {max_distance = 9 : i64} : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 16] x f32>, %w: !kern.weight<[64, 8] x f32, unset>, %s: !kern.ragged<0>, %y: !kern.buffer<[2*rows, 32] x f32>) {
  // expected-error @below {{'kern.head_gemm' op (1) expects a weight [heads*n, k] of f32 for 3 heads, got}}
  kern.head_gemm %x, %w ragged %s outs(%y) heads 3 : !kern.buffer<[rows, 16] x f32>, !kern.weight<[64, 8] x f32, unset>, !kern.ragged<0>, !kern.buffer<[2*rows, 32] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 16] x f32>, %w: !kern.weight<[64, 8] x bf16, unset>, %s: !kern.ragged<0>, %y: !kern.buffer<[2*rows, 32] x f32>) {
  // expected-error @below {{'kern.head_gemm' op (1) expects a weight [heads*n, k] of f32 for 2 heads, got}}
  kern.head_gemm %x, %w ragged %s outs(%y) heads 2 : !kern.buffer<[rows, 16] x f32>, !kern.weight<[64, 8] x bf16, unset>, !kern.ragged<0>, !kern.buffer<[2*rows, 32] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 16] x f32>, %w: !kern.weight<[64, 8] x f32, rows>, %s: !kern.ragged<0>, %y: !kern.buffer<[2*rows, 32] x f32>) {
  // expected-error @below {{'kern.head_gemm' op (1) expects the weight in 'panels32', got 'rows'}}
  kern.head_gemm %x, %w ragged %s outs(%y) heads 2 : !kern.buffer<[rows, 16] x f32>, !kern.weight<[64, 8] x f32, rows>, !kern.ragged<0>, !kern.buffer<[2*rows, 32] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 16] x f32>, %w: !kern.weight<[64, 8] x f32, panels32>, %s: !kern.ragged<0>, %y: !kern.buffer<[2*rows, 32] x f32>) {
  // expected-error @below {{'kern.head_gemm' op (1) expects a split for each head in panels, none before, got}}
  kern.head_gemm %x, %w ragged %s outs(%y) heads 2 : !kern.buffer<[rows, 16] x f32>, !kern.weight<[64, 8] x f32, panels32>, !kern.ragged<0>, !kern.buffer<[2*rows, 32] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 16] x f32>, %w: !kern.weight<[64, 4097] x f32, unset>, %s: !kern.ragged<0>, %y: !kern.buffer<[2*rows, 32] x f32>) {
  // expected-error @below {{'kern.head_gemm' op (2) expects a k of at most 4096, got 4097}}
  kern.head_gemm %x, %w ragged %s outs(%y) heads 2 : !kern.buffer<[rows, 16] x f32>, !kern.weight<[64, 4097] x f32, unset>, !kern.ragged<0>, !kern.buffer<[2*rows, 32] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 12] x f32>, %w: !kern.weight<[64, 8] x f32, unset>, %s: !kern.ragged<0>, %y: !kern.buffer<[2*rows, 32] x f32>) {
  // expected-error @below {{'kern.head_gemm' op (3) expects an input [rows, 16] and outs [2*rows, 32], got [rows, 12] and [2*rows, 32]}}
  kern.head_gemm %x, %w ragged %s outs(%y) heads 2 : !kern.buffer<[rows, 12] x f32>, !kern.weight<[64, 8] x f32, unset>, !kern.ragged<0>, !kern.buffer<[2*rows, 32] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 16] x f32>, %w: !kern.weight<[64, 8] x f32, unset>, %s: !kern.ragged<0>, %y: !kern.buffer<[2*rows, 32] x bf16>) {
  // expected-error @below {{'kern.head_gemm' op (3) expects f32 as outs, got 'bf16'}}
  kern.head_gemm %x, %w ragged %s outs(%y) heads 2 : !kern.buffer<[rows, 16] x f32>, !kern.weight<[64, 8] x f32, unset>, !kern.ragged<0>, !kern.buffer<[2*rows, 32] x bf16>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, unset>, %s: !kern.ragged<0>) {
  // expected-error @below {{'kern.head_gemm' op (4) expects outs in other memory than the input}}
  kern.head_gemm %x, %w ragged %s outs(%x) heads 1 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, unset>, !kern.ragged<0>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 16] x f32>, %w: !kern.weight<[64, 8] x f32, unset>, %s: !kern.ragged<0>, %y: !kern.buffer<[2*rows, 32] x f32>) {
  // expected-error @below {{'kern.head_gemm' op (5) expects an even number of positions and 'max_distance' 0 or from n / 4 + 2 to 65536 with n >= 4, got 32 and 9}}
  kern.head_gemm %x, %w ragged %s outs(%y) heads 2 {max_distance = 9 : i64} : !kern.buffer<[rows, 16] x f32>, !kern.weight<[64, 8] x f32, unset>, !kern.ragged<0>, !kern.buffer<[2*rows, 32] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.neighbors' op (1) expects an input [rows, d] and outs [rows, 3*d], got [rows, 8] and [rows, 16]}}
  kern.neighbors %x ragged %s outs(%y) reach 1 : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x i64>, %s: !kern.ragged<0>, %y: !kern.buffer<[rows, 24] x f32>) {
  // expected-error @below {{'kern.neighbors' op (1) expects f32 as the input, got 'i64'}}
  kern.neighbors %x ragged %s outs(%y) reach 1 : !kern.buffer<[rows, 8] x i64>, !kern.ragged<0>, !kern.buffer<[rows, 24] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[rows, 24] x f32>) {
  // expected-error @below {{'kern.neighbors' op (2) expects a reach from 0 to 127, got -1}}
  kern.neighbors %x ragged %s outs(%y) reach -1 : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.buffer<[rows, 24] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[rows, 24] x f32>, %m: !kern.buffer<[rows] x i64>) {
  // expected-error @below {{'kern.neighbors' op (3) expects a bool mask, got 'i64'}}
  kern.neighbors %x ragged %s mask %m outs(%y) reach 1 : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.buffer<[rows] x i64>, !kern.buffer<[rows, 24] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[rows, 24] x f32>) {
  // expected-error @below {{'kern.neighbors' op (4) expects outs in other memory than the input}}
  kern.neighbors %x ragged %s outs(%x) reach 0 : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.buffer<[rows, 8] x f32>
  return
}

// Numbered constraints on attention and its key panels.
// RUN: transom-opt %s -split-input-file -verify-diagnostics

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{'kern.attention' op (1) expects 'heads' that are a multiple of 'kv_heads', got 3 and 2}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 3 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 15] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{'kern.attention' op (3) expects query of f32 or bf16 whose last size is a multiple of 2 heads, got '!kern.buffer<[rows, 15] x f32>'}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 : !kern.buffer<[rows, 15] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 4] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{'kern.attention' op (3) expects heads of one size in query and key, and in value and outs, got 8 and 4, 8 and 8}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 4] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{'kern.attention' op (4) expects the key in key panels}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[keys, 8] x f32, key_panels>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{'kern.attention' op (5) expects only the key in key panels}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[n, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{'kern.attention' op (9) expects query and outs of equal rows, got [rows, 16] and [n, 16]}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[n, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 100] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{'kern.attention' op (10) expects a scratch [parts, 8640] of 'f32', got '!kern.buffer<[parts, 100] x f32>'}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 100] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{'kern.attention' op (11) expects partials and counters for 'split_kv'}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 {schedule = #kern.schedule<split_kv>} : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %m: !kern.buffer<[batch, seq] x i64>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{'kern.attention' op (14) expects a mask of f32 or bool of rank 4 at most, got '!kern.buffer<[batch, seq] x i64>'}}
  kern.attention %q, %k, %v ragged %s, %s mask %m scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[batch, seq] x i64>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{'kern.attention' op (15) expects a bool mask beside 'mask_value'}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 {mask_value = -1.0} : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{'kern.attention' op (16) expects a window and a soft cap that are not negative, got -1 and 0.000000e+00}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 {window = -1 : i64} : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys", keep_first} : !kern.ragged<0>
  // expected-error @below {{'kern.attention' op (17) expects ragged without 'keep_first' beside 'causal' or 'window' that do not go by the column}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 {causal} : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.pack_keys' op (2) expects key panels as outs, got '!kern.buffer<[rows, 8] x f32>'}}
  kern.pack_keys %x ragged %s outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 16] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[keys, 8] x f32, key_panels>) {
  // expected-error @below {{'kern.pack_keys' op (3) expects input and outs of one last size, got [rows, 16] and [keys, 8]}}
  kern.pack_keys %x ragged %s outs(%y) : !kern.buffer<[rows, 16] x f32>, !kern.ragged<0>, !kern.buffer<[keys, 8] x f32, key_panels>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %k: !kern.buffer<[keys, 8] x bf16, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %s: !kern.ragged<0>) {
  // expected-error @below {{'kern.attention' op (6) expects query, key and value of one type, got 'f32', 'bf16' and 'f32'}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x bf16, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x bf16>, %k: !kern.buffer<[keys, 8] x bf16, key_panels>, %v: !kern.buffer<[rows, 8] x bf16>, %y: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %s: !kern.ragged<0>) {
  // expected-error @below {{'kern.attention' op (7) expects heads of an even size in bf16, got 1}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 8 kv_heads 8 scale 1.0 : !kern.buffer<[rows, 8] x bf16>, !kern.buffer<[keys, 8] x bf16, key_panels>, !kern.buffer<[rows, 8] x bf16>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x bf16>, %t: !kern.buffer<[parts, 8640] x f32>, %s: !kern.ragged<0>) {
  // expected-error @below {{'kern.attention' op (8) expects outs of f32 beside a query of f32}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x bf16>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x bf16>, %y: !kern.buffer<[keys, 8] x f32, key_panels>, %s: !kern.ragged<0>) {
  // expected-error @below {{'kern.pack_keys' op (4) expects outs of bf16 for an input of bf16}}
  kern.pack_keys %x ragged %s outs(%y) : !kern.buffer<[rows, 8] x bf16>, !kern.ragged<0>, !kern.buffer<[keys, 8] x f32, key_panels>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %b: !kern.weight<[2, 4] x f32, rows>, %t: !kern.buffer<[parts, 8640] x f32>) {
  // expected-error @below {{'kern.attention' op (21) expects a relative bias of f32 of size [2, an odd number], got '!kern.weight<[2, 4] x f32, rows>'}}
  kern.attention %q, %k, %q ragged %s, %s relative_bias %b scratch %t outs(%q) heads 2 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.weight<[2, 4] x f32, rows>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %b: !kern.weight<[2, 4] x f32, rows>, %t: !kern.buffer<[parts, 8640] x f32>) {
  // expected-error @below {{'kern.attention' op (22) expects ragged of one table and no cache beside 'by_column'}}
  kern.attention %q, %k, %q ragged %s, %u scratch %t outs(%q) heads 2 kv_heads 2 scale 1.0 {by_column} : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<1>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>, %s: !kern.buffer<[rows, 8] x f32>, %p: !kern.buffer<[parts, 8640] x f32>, %r: !kern.ragged<0>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %n: !kern.buffer<[parts, 10] x f32>, %c: !kern.buffer<[parts, 32] x i64>) {
  // expected-error @below {{'kern.attention' op (12) expects partials [parts, 26624] of 'f32', got '!kern.buffer<[parts, 10] x f32>'}}
  kern.attention %x, %k, %x ragged %r, %r scratch %p partials %n counters %c outs(%s) heads 2 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[parts, 10] x f32>, !kern.buffer<[parts, 32] x i64>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %s: !kern.buffer<[rows, 8] x f32>, %p: !kern.buffer<[parts, 8640] x f32>, %r: !kern.ragged<0>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %n: !kern.buffer<[parts, 100000] x f32>, %c: !kern.buffer<[parts, 32] x f32>) {
  // expected-error @below {{'kern.attention' op (13) expects counters [parts, 32] of 'i64', got '!kern.buffer<[parts, 32] x f32>'}}
  kern.attention %x, %k, %x ragged %r, %r scratch %p partials %n counters %c outs(%s) heads 2 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[parts, 100000] x f32>, !kern.buffer<[parts, 32] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[keys, 8] x f32, key_panels>) {
  // expected-error @below {{'kern.pack_keys' op (1) expects rows as the input, got key panels}}
  kern.pack_keys %y ragged %s outs(%y) : !kern.buffer<[keys, 8] x f32, key_panels>, !kern.ragged<0>, !kern.buffer<[keys, 8] x f32, key_panels>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %c: !kern.cache<heads 2, key 4, value 4, f32>, %l: !kern.weight<[3] x f32, rows>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %m: !kern.buffer<[rows] x i1>) {
  // expected-error @below {{'kern.attention' op (2) expects key and value, or a cache}}
  kern.attention %q ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0 {causal} : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %c: !kern.cache<heads 2, key 4, value 4, f32>, %l: !kern.weight<[3] x f32, rows>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %m: !kern.buffer<[rows] x i1>) {
  // expected-error @below {{'kern.attention' op (18) expects ragged of one table, 'causal' and no mask beside a cache}}
  kern.attention %q ragged %s, %u cache %c scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0 {causal} : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<1>, !kern.cache<heads 2, key 4, value 4, f32>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %c: !kern.cache<heads 2, key 4, value 4, f32>, %l: !kern.weight<[3] x f32, rows>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %m: !kern.buffer<[rows] x i1>) {
  // expected-error @below {{'kern.attention' op (18) expects ragged of one table, 'causal' and no mask beside a cache}}
  kern.attention %q ragged %s, %s cache %c scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0  : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.cache<heads 2, key 4, value 4, f32>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %c: !kern.cache<heads 2, key 4, value 4, f32>, %l: !kern.weight<[3] x f32, rows>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %m: !kern.buffer<[rows] x i1>) {
  // expected-error @below {{'kern.attention' op (19) expects the element type, 'kv_heads' and window of the cache, got 'f32', 2 and 7 beside '!kern.cache<heads 2, key 4, value 4, f32>'}}
  kern.attention %q ragged %s, %s cache %c scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0 {causal, window = 7 : i64} : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.cache<heads 2, key 4, value 4, f32>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %c: !kern.cache<heads 2, key 4, value 4, f32>, %l: !kern.weight<[3] x f32, rows>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %m: !kern.buffer<[rows] x i1>) {
  // expected-error @below {{'kern.attention' op (20) expects slopes of size [2], got [3]}}
  kern.attention %q ragged %s, %s cache %c slopes %l scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0 {causal} : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.cache<heads 2, key 4, value 4, f32>, !kern.weight<[3] x f32, rows>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %c: !kern.cache<heads 2, key 6, value 4, f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.attention' op (3) expects heads of one size in query and key, and in value and outs, got 4 and 6, 4 and 4}}
  kern.attention %q ragged %s, %s cache %c scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0 {causal} : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.cache<heads 2, key 6, value 4, f32>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %c: !kern.cache<heads 2, key 4, value 4, read_only 8, f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.attention' op (18) expects keys of a 'kern.cache_batch', no 'causal' and no mask beside a read-only cache}}
  kern.attention %q ragged %s, %u cache %c scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0 {causal} : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<1>, !kern.cache<heads 2, key 4, value 4, read_only 8, f32>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %c: !kern.cache<heads 2, key 4, value 4, read_only 8, f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  %d = kern.decode_batch {rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{'kern.attention' op (18) expects keys of a 'kern.cache_batch', no 'causal' and no mask beside a read-only cache}}
  kern.attention %q ragged %d, %d cache %c scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.cache<heads 2, key 4, value 4, read_only 8, f32>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 64] x f32>, %k: !kern.buffer<[keys, 64] x f32, key_panels>, %v: !kern.buffer<[rows, 64] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 64] x f32>, %c: !kern.buffer<[rows, 64] x bf16>, %z: !kern.buffer<[rows, 4] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{'kern.attention' op (25) expects 'copy' of i8 beside outs of f32, got '!kern.buffer<[rows, 64] x bf16>' and '!kern.buffer<[rows, 64] x f32>'}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) copy(%c) scales(%z) heads 2 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 64] x f32>, !kern.buffer<[keys, 64] x f32, key_panels>, !kern.buffer<[rows, 64] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 64] x f32>, !kern.buffer<[rows, 64] x bf16>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 64] x f32>, %k: !kern.buffer<[keys, 64] x f32, key_panels>, %v: !kern.buffer<[rows, 64] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 64] x f32>, %c: !kern.buffer<[rows, 64] x i8>, %z: !kern.buffer<[rows, 6] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{'kern.attention' op (25) expects scales of groups of 32, 64, 128, 256, 512, 1024 numbers of [rows, 64], got [rows, 6]}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) copy(%c) scales(%z) heads 2 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 64] x f32>, !kern.buffer<[keys, 64] x f32, key_panels>, !kern.buffer<[rows, 64] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 64] x f32>, !kern.buffer<[rows, 64] x i8>, !kern.buffer<[rows, 6] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 64] x f32>, %k: !kern.buffer<[keys, 64] x f32, key_panels>, %v: !kern.buffer<[rows, 64] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 64] x f32>, %c: !kern.buffer<[rows, 64] x i8>, %z: !kern.buffer<[rows, 2] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @below {{'kern.attention' op (26) expects heads of whole groups of 64 columns beside 'copy', got 32 columns}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) copy(%c) scales(%z) heads 2 kv_heads 2 scale 1.0 : !kern.buffer<[rows, 64] x f32>, !kern.buffer<[keys, 64] x f32, key_panels>, !kern.buffer<[rows, 64] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 64] x f32>, !kern.buffer<[rows, 64] x i8>, !kern.buffer<[rows, 2] x f32>
  return
}

// Numbered constraints on caches and rope.
// RUN: transom-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{'kern.cache' op attribute 'type' failed to satisfy constraint: type attribute of keys and values of a layer, in blocks of positions}}
kern.cache @kv : f32

// -----

// expected-error @below {{'kern.cache' op (1) expects 'group' and 'offset' together}}
kern.cache @kv : !kern.cache<heads 2, key 4, value 4, f32> {group = 0}

// -----

// expected-error @below {{'kern.cache' op (2) expects a group and an offset that is a multiple of 64, got 0 and 32}}
kern.cache @kv : !kern.cache<heads 2, key 4, value 4, f32> {group = 0, offset = 32}

// -----

func.func @f() {
  // expected-error @below {{'kern.get_cache' op (1) expects 'f' to be a 'kern.cache'}}
  %c = kern.get_cache @f : !kern.cache<heads 2, key 4, value 4, f32>
  return
}

// -----

kern.cache @kv : !kern.cache<heads 2, key 4, value 4, f32>
func.func @f() {
  // expected-error @below {{'kern.get_cache' op (2) expects the cache's type '!kern.cache<heads 2, key 4, value 4, f32>', got '!kern.cache<heads 2, key 4, value 4, bf16>'}}
  %c = kern.get_cache @kv : !kern.cache<heads 2, key 4, value 4, bf16>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'kern.decode_batch' op (1) expects names for 'rows' and 'keys'}}
  %s = kern.decode_batch {rows = "rows", keys = ""} : !kern.ragged<0>
  return
}

// -----

func.func @f(%k: !kern.buffer<[rows, 8] x bf16>, %v: !kern.buffer<[rows, 8] x bf16>, %s: !kern.ragged<0>, %c: !kern.cache<heads 2, key 4, value 4, f32>) {
  // expected-error @below {{'kern.append' op (1) expects key and value of f32, or of bf16 beside a cache of bf16, got 'bf16', 'bf16' and a cache of 'f32'}}
  kern.append %k, %v ragged %s cache %c : !kern.buffer<[rows, 8] x bf16>, !kern.buffer<[rows, 8] x bf16>, !kern.ragged<0>, !kern.cache<heads 2, key 4, value 4, f32>
  return
}

// -----

func.func @f(%k: !kern.buffer<[rows, 8] x f32>, %v: !kern.buffer<[rows, 8] x bf16>, %s: !kern.ragged<0>, %c: !kern.cache<heads 2, key 4, value 4, f32>) {
  // expected-error @below {{'kern.append' op (1) expects key and value of f32, or of bf16 beside a cache of bf16, got 'f32', 'bf16' and a cache of 'f32'}}
  kern.append %k, %v ragged %s cache %c : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x bf16>, !kern.ragged<0>, !kern.cache<heads 2, key 4, value 4, f32>
  return
}

// -----

func.func @f(%k: !kern.buffer<[rows, 9] x f32>, %v: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %c: !kern.cache<heads 2, key 4, value 4, f32>) {
  // expected-error @below {{'kern.append' op (2) expects the key in rows of 8 columns, got '!kern.buffer<[rows, 9] x f32>'}}
  kern.append %k, %v ragged %s cache %c : !kern.buffer<[rows, 9] x f32>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.cache<heads 2, key 4, value 4, f32>
  return
}

// -----

func.func @f(%k: !kern.buffer<[rows, 8] x f32>, %v: !kern.buffer<[n, 8] x f32>, %s: !kern.ragged<0>, %c: !kern.cache<heads 2, key 4, value 4, f32>) {
  // expected-error @below {{'kern.append' op (3) expects key and value of equal rows, got [rows, 8] and [n, 8]}}
  kern.append %k, %v ragged %s cache %c : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[n, 8] x f32>, !kern.ragged<0>, !kern.cache<heads 2, key 4, value 4, f32>
  return
}

// -----

func.func @f(%p: !kern.buffer<[n] x i64>, %a: !kern.weight<[258, 4] x f32, rows>, %r: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{'kern.rope_table' op (2) expects an i64 position for each row of outs, got '!kern.buffer<[n] x i64>'}}
  kern.rope_table %p, %a outs(%r) : !kern.buffer<[n] x i64>, !kern.weight<[258, 4] x f32, rows>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%p: !kern.buffer<[rows] x i64>, %a: !kern.weight<[256, 4] x f32, rows>, %r: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{'kern.rope_table' op (3) expects angles of f32 with more than 256 rows as wide as outs, an even width, got '!kern.weight<[256, 4] x f32, rows>' and [rows, 4]}}
  kern.rope_table %p, %a outs(%r) : !kern.buffer<[rows] x i64>, !kern.weight<[256, 4] x f32, rows>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %r: !kern.buffer<[rows, 4] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.rope' op (3) expects a last size that is a multiple of 3 heads, got [rows, 8]}}
  kern.rope %x, %r outs(%y) heads 3 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %r: !kern.buffer<[rows, 4] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.rope' op (4) expects a rope table with the input's rows and an even number of columns, at most 2, got [rows, 4]}}
  kern.rope %x, %r outs(%y) heads 4 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%p: !kern.buffer<[rows] x i64>, %a: !kern.weight<[258, 4] x f32, rows>, %r: !kern.buffer<[rows, 4] x i64>) {
  // expected-error @below {{'kern.rope_table' op (1) expects f32 as outs, got 'i64'}}
  kern.rope_table %p, %a outs(%r) : !kern.buffer<[rows] x i64>, !kern.weight<[258, 4] x f32, rows>, !kern.buffer<[rows, 4] x i64>
  return
}

// -----

func.func @f(%p: !kern.buffer<[rows] x i64>, %a: !kern.weight<[258, 4] x f32, panels32>, %r: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{'kern.rope_table' op (4) expects the angles in 'rows', got 'panels32'}}
  kern.rope_table %p, %a outs(%r) : !kern.buffer<[rows] x i64>, !kern.weight<[258, 4] x f32, panels32>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x i64>, %r: !kern.buffer<[rows, 4] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.rope' op (1) expects f32 as the input, got 'i64'}}
  kern.rope %x, %r outs(%y) heads 2 : !kern.buffer<[rows, 8] x i64>, !kern.buffer<[rows, 4] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %r: !kern.buffer<[rows, 4] x f32>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.rope' op (2) expects input and outs of equal sizes, got [rows, 8] and [rows, 16]}}
  kern.rope %x, %r outs(%y) heads 2 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

kern.cache @cross : !kern.cache<heads 2, key 4, value 4, read_only 8, f32>
func.func @f() {
  // expected-error @below {{'kern.cache_batch' op (1) expects a name for 'keys'}}
  %u = kern.cache_batch @cross {keys = ""} : !kern.ragged<1>
  return
}

// -----

kern.cache @kv : !kern.cache<heads 2, key 4, value 4, f32>
func.func @f() {
  // expected-error @below {{'kern.cache_batch' op (2) expects a read-only cache, got 'kv'}}
  %u = kern.cache_batch @kv {keys = "keys"} : !kern.ragged<1>
  return
}

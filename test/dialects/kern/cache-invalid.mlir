// One case for each rule of caches, rope and GLUs.
// RUN: transom-opt %s -split-input-file -verify-diagnostics
// expected-error @below {{cache of 0 heads with keys of 4 and values of 4, window 0}}
func.func private @f(!kern.cache<heads 0, key 4, value 4, f32>)

// -----

// expected-error @below {{cache of 2 heads with keys of 4 and values of 4, window -1}}
func.func private @f(!kern.cache<heads 2, key 4, value 4, window -1, f32>)

// -----

// expected-error @below {{cache of 65536 heads with keys of 32768 and values of 1, window 0}}
func.func private @f(!kern.cache<heads 65536, key 32768, value 1, f32>)

// -----

// expected-error @below {{cache of 'f16'; supported: f32, bf16, i8}}
func.func private @f(!kern.cache<heads 2, key 4, value 4, f16>)

// -----

// expected-error @below {{expects a cache type, got 'f32'}}
kern.cache @kv : f32

// -----

// expected-error @below {{expects 'group' and 'offset' together}}
kern.cache @kv : !kern.cache<heads 2, key 4, value 4, f32> {group = 0}

// -----

// expected-error @below {{expects a group and an offset that is a multiple of 64, got 0 and 32}}
kern.cache @kv : !kern.cache<heads 2, key 4, value 4, f32> {group = 0, offset = 32}

// -----

func.func @f() {
  // expected-error @below {{expects a cache, got 'f'}}
  %c = kern.get_cache @f : !kern.cache<heads 2, key 4, value 4, f32>
  return
}

// -----

kern.cache @kv : !kern.cache<heads 2, key 4, value 4, f32>
func.func @f() {
  // expected-error @below {{expects the cache's type '!kern.cache<heads 2, key 4, value 4, f32>', got '!kern.cache<heads 2, key 4, value 4, bf16>'}}
  %c = kern.get_cache @kv : !kern.cache<heads 2, key 4, value 4, bf16>
  return
}

// -----

func.func @f() {
  // expected-error @below {{expects names for 'rows' and 'keys'}}
  %s = kern.decode_batch {rows = "rows", keys = ""} : !kern.ragged<0>
  return
}

// -----

func.func @f(%k: !kern.buffer<[rows, 8] x bf16>, %v: !kern.buffer<[rows, 8] x bf16>, %s: !kern.ragged<0>, %c: !kern.cache<heads 2, key 4, value 4, f32>) {
  // expected-error @below {{expects key and value of f32, or of bf16 beside a cache of bf16, got 'bf16', 'bf16' and a cache of 'f32'}}
  kern.append %k, %v ragged %s cache %c : !kern.buffer<[rows, 8] x bf16>, !kern.buffer<[rows, 8] x bf16>, !kern.ragged<0>, !kern.cache<heads 2, key 4, value 4, f32>
  return
}

// -----

func.func @f(%k: !kern.buffer<[rows, 8] x f32>, %v: !kern.buffer<[rows, 8] x bf16>, %s: !kern.ragged<0>, %c: !kern.cache<heads 2, key 4, value 4, f32>) {
  // expected-error @below {{expects key and value of f32, or of bf16 beside a cache of bf16, got 'f32', 'bf16' and a cache of 'f32'}}
  kern.append %k, %v ragged %s cache %c : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x bf16>, !kern.ragged<0>, !kern.cache<heads 2, key 4, value 4, f32>
  return
}

// -----

func.func @f(%k: !kern.buffer<[rows, 9] x f32>, %v: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %c: !kern.cache<heads 2, key 4, value 4, f32>) {
  // expected-error @below {{expects the key in rows of 8 columns, got '!kern.buffer<[rows, 9] x f32>'}}
  kern.append %k, %v ragged %s cache %c : !kern.buffer<[rows, 9] x f32>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.cache<heads 2, key 4, value 4, f32>
  return
}

// -----

func.func @f(%k: !kern.buffer<[rows, 8] x f32>, %v: !kern.buffer<[n, 8] x f32>, %s: !kern.ragged<0>, %c: !kern.cache<heads 2, key 4, value 4, f32>) {
  // expected-error @below {{expects key and value of equal rows, got [rows, 8] and [n, 8]}}
  kern.append %k, %v ragged %s cache %c : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[n, 8] x f32>, !kern.ragged<0>, !kern.cache<heads 2, key 4, value 4, f32>
  return
}

// -----

func.func @f(%p: !kern.buffer<[n] x i64>, %a: !kern.weight<[258, 4] x f32, rows>, %r: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{expects an i64 position for each row of outs, got '!kern.buffer<[n] x i64>'}}
  kern.rope_table %p, %a outs(%r) : !kern.buffer<[n] x i64>, !kern.weight<[258, 4] x f32, rows>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%p: !kern.buffer<[rows] x i64>, %a: !kern.weight<[256, 4] x f32, rows>, %r: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{expects angles of f32 with more than 256 rows as wide as outs, an even width, got '!kern.weight<[256, 4] x f32, rows>' and [rows, 4]}}
  kern.rope_table %p, %a outs(%r) : !kern.buffer<[rows] x i64>, !kern.weight<[256, 4] x f32, rows>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %r: !kern.buffer<[rows, 4] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a last size that is a multiple of 3 heads, got [rows, 8]}}
  kern.rope %x, %r outs(%y) heads 3 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %r: !kern.buffer<[rows, 4] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a rope table with the input's rows and an even number of columns, at most 2, got [rows, 4]}}
  kern.rope %x, %r outs(%y) heads 4 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %c: !kern.cache<heads 2, key 4, value 4, f32>, %l: !kern.weight<[3] x f32, rows>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %m: !kern.buffer<[rows] x i1>) {
  // expected-error @below {{expects key and value, or a cache}}
  kern.attention %q ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0 {causal} : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %c: !kern.cache<heads 2, key 4, value 4, f32>, %l: !kern.weight<[3] x f32, rows>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %m: !kern.buffer<[rows] x i1>) {
  // expected-error @below {{expects ragged of one table, 'causal' and no mask beside a cache}}
  kern.attention %q ragged %s, %u cache %c scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0 {causal} : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<1>, !kern.cache<heads 2, key 4, value 4, f32>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %c: !kern.cache<heads 2, key 4, value 4, f32>, %l: !kern.weight<[3] x f32, rows>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %m: !kern.buffer<[rows] x i1>) {
  // expected-error @below {{expects ragged of one table, 'causal' and no mask beside a cache}}
  kern.attention %q ragged %s, %s cache %c scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0  : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.cache<heads 2, key 4, value 4, f32>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %c: !kern.cache<heads 2, key 4, value 4, f32>, %l: !kern.weight<[3] x f32, rows>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %m: !kern.buffer<[rows] x i1>) {
  // expected-error @below {{expects the element type, 'kv_heads' and window of the cache, got 'f32', 2 and 7 beside '!kern.cache<heads 2, key 4, value 4, f32>'}}
  kern.attention %q ragged %s, %s cache %c scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0 {causal, window = 7 : i64} : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.cache<heads 2, key 4, value 4, f32>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %u: !kern.ragged<1>, %c: !kern.cache<heads 2, key 4, value 4, f32>, %l: !kern.weight<[3] x f32, rows>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %m: !kern.buffer<[rows] x i1>) {
  // expected-error @below {{expects slopes of size [2], got [3]}}
  kern.attention %q ragged %s, %s cache %c slopes %l scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0 {causal} : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.cache<heads 2, key 4, value 4, f32>, !kern.weight<[3] x f32, rows>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %c: !kern.cache<heads 2, key 6, value 4, f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects heads of one size in query and key, and in value and outs, got 4 and 6, 4 and 4}}
  kern.attention %q ragged %s, %s cache %c scratch %t outs(%y) heads 2 kv_heads 2 scale 1.0 {causal} : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.cache<heads 2, key 6, value 4, f32>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{unsupported activation 'swish2'; supported: relu, gelu,}}
  kern.gemm %x, %w outs(%y) epilogue <glu swish2> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a single out in rows and no other epilogue beside a GLU}}
  kern.gemm %x, %w residual %x outs(%y) epilogue <glu silu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[24, 8] x f32, panels32>, %y: !kern.buffer<[rows, 12] x f32>) {
  // expected-error @below {{expects a multiple of 16 rows and k of at most 4096 beside a GLU, got [24, 8]}}
  kern.gemm %x, %w outs(%y) epilogue <glu silu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[24, 8] x f32, panels32>, !kern.buffer<[rows, 12] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{expects an out of f32 or bf16 with 8 columns, got '!kern.buffer<[rows, 16] x f32>'}}
  kern.gemm %x, %w outs(%y) epilogue <glu silu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>, %g: !kern.weight<[8] x f32, rows>, %z: !kern.buffer<[rows, 8] x f32>, %c: !kern.buffer<[rows] x i64>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects an 'rms_norm' without beta}}
  kern.gemm %x, %w norm %g beta %g norm_out %z counters %c outs(%y) epilogue <rms_norm 1.0e-5> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.weight<[8] x f32, rows>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows] x i64>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects 'norm_gamma', 'norm_out' or 'norm_out_bf16', 'norm_counters' and a norm in the epilogue together}}
  kern.gemm %x, %w outs(%y) epilogue <rms_norm 1.0e-5> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expects a norm with an epsilon that is not negative}}
  kern.gemm %x, %w outs(%y) epilogue <rms_norm -1.0e-5> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{unsupported activation 'glue'}}
  kern.gemm %x, %w outs(%y) epilogue <glue> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>
  return
}

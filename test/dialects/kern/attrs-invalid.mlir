// Attributes that do not parse, and numbered attribute constraints.
// RUN: transom-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{unsupported activation 'swish'; supported: relu, gelu,}}
  kern.gemm %x, %w  outs(%y) epilogue <swish> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %v: !kern.buffer<[rows, 8] x f32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %i: !kern.buffer<[batch, seq] x i64>) {
  %s = kern.ragged_batch mask %i : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", rows = "rows", keys = "keys"} : !kern.ragged<0>
  // expected-error @+1 {{'#kern.schedule' (1) expects 1 to 24 rows, got 25}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 1 scale 1.0 {schedule = #kern.schedule<two_pass, rows 25>} : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  kern.elementwise ins(%x) outs(%y) {
  ^bb0(%a: f32):
    // expected-error @below {{unsupported activation 'swish'; supported: relu, gelu,}}
    // expected-error @below {{failed to parse Kern_ActivationAttr parameter 'value'}}
    %c = kern.apply <swish> %a
    kern.yield %c : f32
  } : (!kern.buffer<[rows, 8] x f32>) -> !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%q: !kern.buffer<[rows, 8] x f32>, %k: !kern.buffer<[keys, 8] x f32, key_panels>, %s: !kern.ragged<0>, %t: !kern.buffer<[parts, 8640] x f32>) {
  // expected-error @below {{unsupported schedule 'two'; supported: auto, streaming, two_pass, split_kv}}
  kern.attention %q, %k, %q ragged %s, %s scratch %t outs(%q) heads 2 kv_heads 2 scale 1.0 {schedule = #kern.schedule<two>} : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[keys, 8] x f32, key_panels>, !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{unsupported activation 'swish2'; supported: relu, gelu,}}
  kern.gemm %x, %w outs(%y) epilogue <glu swish2> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'#kern.epilogue' (2) expects a norm with an epsilon that is not negative}}
  kern.gemm %x, %w outs(%y) epilogue <rms_norm -1.0e-5> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{unsupported activation 'glue'}}
  kern.gemm %x, %w outs(%y) epilogue <glue> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{expected valid keyword}}
  kern.gemm %x, %w outs(%y) epilogue <glu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'#kern.epilogue' (1) expects an activation or a norm}}
  kern.gemm %x, %w outs(%y) epilogue <> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

// expected-error @below {{unsupported storage type 'f8'; supported: f32, f16, bf16, i8, ui8, i4, ui4}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<f8>, panels32>)

// -----

// expected-error @below {{unknown field 'zeros' of a format; supported: group, scales, minimums, block, block_scales, interleave}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<f32, zeros f16>, panels32>)

// -----

// expected-error @below {{'#kern.format' (1) expects an interleave of 1, 2, 4 or 8 that makes whole bytes, got 1}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<i4, group 32, scales f16>, panels32>)

// -----

// expected-error @below {{'#kern.format' (1) expects an interleave of 1, 2, 4 or 8 that makes whole bytes, got 3}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<bf16, interleave 3>, panels32>)

// -----

// expected-error @below {{'#kern.format' (2) expects a group with scales for integers, and only for them}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<i8>, panels32>)

// -----

// expected-error @below {{'#kern.format' (2) expects a group with scales for integers, and only for them}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<f32, group 32, scales f16>, panels32>)

// -----

// expected-error @below {{'#kern.format' (3) expects a group that is a multiple of 8 and of the interleave, got 12}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<i8, group 12, scales f16>, panels32>)

// -----

// expected-error @below {{'#kern.format' (4) expects minimums beside scales only}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<bf16, minimums f16>, panels32>)

// -----

// expected-error @below {{'#kern.format' (5) expects a block that is a multiple of the group, with scales, got 48}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<i8, group 32, scales ui8, block 48, block_scales f16>, panels32>)

// -----

// expected-error @below {{'#kern.format' (6) expects scales of floats, got 'ui8'}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<i8, group 32, scales ui8>, panels32>)

// -----

// expected-error @below {{'#kern.format' (6) expects integers below block scales, got 'f16'}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<i8, group 32, scales ui8, minimums f16, block 256, block_scales f16>, panels32>)

// -----

// expected-error @below {{'#kern.format' (7) expects block scales of floats, got 'ui8'}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<i8, group 32, scales ui8, block 256, block_scales ui8>, panels32>)

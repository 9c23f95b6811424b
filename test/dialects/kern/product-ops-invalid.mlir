// Numbered constraints on GEMMs.
// RUN: transom-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: !kern.buffer<[rows, 7] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.gemm' op (2) expects a weight [n, k] and an input [.., k], got [16, 8] and [rows, 7]}}
  kern.gemm %x, %w  outs(%y) : !kern.buffer<[rows, 7] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, rows>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.gemm' op (3) expects the weight in 'panels32', got 'rows'}}
  kern.gemm %x, %w  outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, rows>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[rows, 16] x f32>, %z: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.gemm' op (7) expects an out for each of 1 splits of the weight, got 2}}
  kern.gemm %x, %w  outs(%y, %z) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 16] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[rows, 15] x f32>) {
  // expected-error @below {{'kern.gemm' op (8) expects an out of f32, bf16 or i8 with 16 columns, got '!kern.buffer<[rows, 15] x f32>'}}
  kern.gemm %x, %w  outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 15] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[n, 16] x f32>) {
  // expected-error @below {{'kern.gemm' op (9) expects outs with the rows of the input, got [n, 16] and [rows, 8]}}
  kern.gemm %x, %w  outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[n, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %b: !kern.weight<[15] x f32, padded32>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.gemm' op (5) expects a bias of size [16], got [15]}}
  kern.gemm %x, %w bias %b outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.weight<[15] x f32, padded32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %b: !kern.weight<[16] x f32, rows>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.gemm' op (5) expects a bias in 'padded32', got 'rows'}}
  kern.gemm %x, %w bias %b outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.weight<[16] x f32, rows>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32, splits [8, 8]>, %b: !kern.weight<[16] x f32, padded32>, %y: !kern.buffer<[rows, 8] x f32>, %z: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.gemm' op (6) expects weight and bias with equal splits}}
  kern.gemm %x, %w bias %b outs(%y, %z) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32, splits [8, 8]>, !kern.weight<[16] x f32, padded32>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[keys, 16] x f32, key_panels>) {
  // expected-error @below {{'kern.gemm' op (11) expects ragged exactly where an out is key panels}}
  kern.gemm %x, %w  outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[keys, 16] x f32, key_panels>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %s: !kern.ragged<0>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.gemm' op (11) expects ragged exactly where an out is key panels}}
  kern.gemm %x, %w ragged %s outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.ragged<0>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %s: !kern.ragged<0>, %y: !kern.buffer<[keys, 16] x f32, key_panels>) {
  // expected-error @below {{'kern.gemm' op (12) expects no activation, residual or norm beside key panels}}
  kern.gemm %x, %w ragged %s outs(%y) epilogue <relu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.ragged<0>, !kern.buffer<[keys, 16] x f32, key_panels>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %r: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.gemm' op (13) expects out and residual of equal sizes, got [rows, 16] and [rows, 8]}}
  kern.gemm %x, %w residual %r outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32, splits [8, 8]>, %r: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %z: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.gemm' op (13) expects a single out beside a residual, got 2}}
  kern.gemm %x, %w residual %r outs(%y, %z) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32, splits [8, 8]>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %g: !kern.weight<[16] x f32, rows>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.gemm' op (14) expects 'norm_gamma', 'norm_out' or 'norm_copy', 'norm_counters' and a norm in the epilogue together}}
  kern.gemm %x, %w norm %g outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.weight<[16] x f32, rows>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %g: !kern.weight<[16] x f32, rows>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.gemm' op (14) expects no beta without a norm}}
  kern.gemm %x, %w beta %g outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.weight<[16] x f32, rows>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %g: !kern.weight<[8] x f32, rows>, %z: !kern.buffer<[rows, 16] x f32>, %c: !kern.buffer<[rows] x i64>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.gemm' op (16) expects gamma of size [16], got [8]}}
  kern.gemm %x, %w norm %g norm_out %z counters %c outs(%y) epilogue <layer_norm 0.1> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 16] x f32>, !kern.buffer<[rows] x i64>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %g: !kern.weight<[16] x f32, rows>, %z: !kern.buffer<[rows, 8] x f32>, %c: !kern.buffer<[rows] x i64>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.gemm' op (18) expects out and 'norm_out' of equal sizes, got [rows, 16] and [rows, 8]}}
  kern.gemm %x, %w norm %g norm_out %z counters %c outs(%y) epilogue <layer_norm 0.1> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.weight<[16] x f32, rows>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows] x i64>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %g: !kern.weight<[16] x f32, rows>, %z: !kern.buffer<[rows, 16] x f32>, %c: !kern.buffer<[rows] x f32>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.gemm' op (19) expects an i64 counter for each row, got '!kern.buffer<[rows] x f32>'}}
  kern.gemm %x, %w norm %g norm_out %z counters %c outs(%y) epilogue <layer_norm 0.1> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.weight<[16] x f32, rows>, !kern.buffer<[rows, 16] x f32>, !kern.buffer<[rows] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>) {
  // expected-error @below {{'kern.gemm' op (20) expects outs in other memory than the input}}
  kern.gemm %x, %w outs(%x) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.gemm' op (21) expects a residual in other memory than the out with an activation or k above 4096}}
  kern.gemm %x, %w residual %y outs(%y) epilogue <relu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 4100] x f32>, %w: !kern.weight<[8, 4100] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.gemm' op (21) expects a residual in other memory than the out with an activation or k above 4096}}
  kern.gemm %x, %w residual %y outs(%y) : !kern.buffer<[rows, 4100] x f32>, !kern.weight<[8, 4100] x f32, panels32>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%a: !kern.buffer<[n] x f32>, %b: !kern.buffer<[n, 4] x f32>, %y: !kern.buffer<[n, 4] x f32>) {
  // expected-error @below {{'kern.batch_matmul' op (1) expects operands of rank 2 at least, got '!kern.buffer<[n] x f32>'}}
  kern.batch_matmul %a, %b outs(%y) : !kern.buffer<[n] x f32>, !kern.buffer<[n, 4] x f32>, !kern.buffer<[n, 4] x f32>
  return
}

// -----

func.func @f(%a: !kern.buffer<[rows, 8] x f32>, %b: !kern.buffer<[7, 4] x f32>, %y: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{'kern.batch_matmul' op (2) expects operands that share k, got [rows, 8] and [7, 4]}}
  kern.batch_matmul %a, %b outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[7, 4] x f32>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%a: !kern.buffer<[rows, 8] x f32>, %b: !kern.buffer<[8, 4] x f32>, %y: !kern.buffer<[rows, 5] x f32>) {
  // expected-error @below {{'kern.batch_matmul' op (3) expects outs [.., m, n] of [rows, 8] and [8, 4], got [rows, 5]}}
  kern.batch_matmul %a, %b outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[8, 4] x f32>, !kern.buffer<[rows, 5] x f32>
  return
}

// -----

func.func @f(%a: !kern.buffer<[3, rows, 8] x f32>, %b: !kern.buffer<[8, 4] x f32>, %y: !kern.buffer<[2, rows, 4] x f32>) {
  // expected-error @below {{'kern.batch_matmul' op (4) expects leading sizes that broadcast to [2, rows, 4], got [3, rows, 8]}}
  kern.batch_matmul %a, %b outs(%y) : !kern.buffer<[3, rows, 8] x f32>, !kern.buffer<[8, 4] x f32>, !kern.buffer<[2, rows, 4] x f32>
  return
}

// -----

kern.weight @w : !kern.weight<[8, 8] x bf16, panels32> = #weight.expr<file("w")>
func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  %w = kern.get_weight @w : !kern.weight<[8, 8] x bf16, panels32>
  // expected-error @below {{'kern.gemm' op (4) expects input and weight of one type, got 'f32' and 'bf16'}}
  kern.gemm %x, %w outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x bf16, panels32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

kern.weight @w : !kern.weight<[8, 9000] x bf16, panels32> = #weight.expr<file("w")>
func.func @f(%x: !kern.buffer<[rows, 9000] x bf16>, %y: !kern.buffer<[rows, 8] x bf16>) {
  %w = kern.get_weight @w : !kern.weight<[8, 9000] x bf16, panels32>
  // expected-error @below {{'kern.gemm' op (10) expects no outs of bf16 with k above 8192}}
  kern.gemm %x, %w outs(%y) : !kern.buffer<[rows, 9000] x bf16>, !kern.weight<[8, 9000] x bf16, panels32>, !kern.buffer<[rows, 8] x bf16>
  return
}

// -----

kern.weight @w : !kern.weight<[8, 8] x f32, panels32> = #weight.expr<file("w")>
kern.weight @g : !kern.weight<[8] x f32, rows> = #weight.expr<file("g")>
func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x bf16>, %z: !kern.buffer<[rows, 8] x f32>, %c: !kern.buffer<[rows] x i64>) {
  %w = kern.get_weight @w : !kern.weight<[8, 8] x f32, panels32>
  %g = kern.get_weight @g : !kern.weight<[8] x f32, rows>
  // expected-error @below {{'kern.gemm' op (15) expects f32 as the out beside a norm, got 'bf16'}}
  kern.gemm %x, %w norm %g norm_out %z counters %c outs(%y) epilogue <layer_norm 0.1> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows] x i64>, !kern.buffer<[rows, 8] x bf16>
  return
}

// -----

kern.weight @w : !kern.weight<[8, 8] x f32, panels32> = #weight.expr<file("w")>
kern.weight @g : !kern.weight<[8] x f32, rows> = #weight.expr<file("g")>
func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %z: !kern.buffer<[rows, 8] x f32>, %c: !kern.buffer<[rows] x i64>) {
  %w = kern.get_weight @w : !kern.weight<[8, 8] x f32, panels32>
  %g = kern.get_weight @g : !kern.weight<[8] x f32, rows>
  // expected-error @below {{'kern.gemm' op (18) expects rows of bf16 or i8 as 'norm_copy', got '!kern.buffer<[rows, 8] x f32>'}}
  kern.gemm %x, %w norm %g norm_copy %z counters %c outs(%y) epilogue <layer_norm 0.1> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows] x i64>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>, %g: !kern.weight<[8] x f32, rows>, %c: !kern.buffer<[rows] x i64>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.gemm' op (20) expects a norm in other memory than the input}}
  kern.gemm %x, %w norm %g norm_out %x counters %c outs(%y) epilogue <rms_norm 1.0e-5> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows] x i64>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[keys, 16] x f32, key_panels>) {
  // expected-error @below {{'kern.gemm' op (1) expects rows as the input, got key panels}}
  kern.gemm %y, %w outs(%x) : !kern.buffer<[keys, 16] x f32, key_panels>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.gemm' op (22) expects a single out in rows and no other epilogue beside a GLU}}
  kern.gemm %x, %w residual %x outs(%y) epilogue <glu silu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 4104] x f32>, %w: !kern.weight<[16, 4104] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.gemm' op (23) expects a multiple of 16 rows and k of at most 4096 beside a GLU, got [16, 4104]}}
  kern.gemm %x, %w outs(%y) epilogue <glu silu> : !kern.buffer<[rows, 4104] x f32>, !kern.weight<[16, 4104] x f32, panels32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8200] x f32>, %w: !kern.weight<[16, 8200] x f32, unset>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.gemm' op (23) expects a multiple of 16 rows and k of at most 8192 beside a GLU, got [16, 8200]}}
  kern.gemm %x, %w outs(%y) epilogue <glu silu> : !kern.buffer<[rows, 8200] x f32>, !kern.weight<[16, 8200] x f32, unset>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[24, 8] x f32, panels32>, %y: !kern.buffer<[rows, 12] x f32>) {
  // expected-error @below {{'kern.gemm' op (23) expects a multiple of 16 rows and k of at most 4096 beside a GLU, got [24, 8]}}
  kern.gemm %x, %w outs(%y) epilogue <glu silu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[24, 8] x f32, panels32>, !kern.buffer<[rows, 12] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.gemm' op (8) expects an out of f32, bf16 or i8 with 8 columns, got '!kern.buffer<[rows, 16] x f32>'}}
  kern.gemm %x, %w outs(%y) epilogue <glu silu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[16, 8] x f32, panels32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>, %g: !kern.weight<[8] x f32, rows>, %z: !kern.buffer<[rows, 8] x f32>, %c: !kern.buffer<[rows] x i64>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.gemm' op (17) expects an 'rms_norm' without beta}}
  kern.gemm %x, %w norm %g beta %g norm_out %z counters %c outs(%y) epilogue <rms_norm 1.0e-5> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.weight<[8] x f32, rows>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows] x i64>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[8, 8] x f32, panels32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.gemm' op (14) expects 'norm_gamma', 'norm_out' or 'norm_copy', 'norm_counters' and a norm in the epilogue together}}
  kern.gemm %x, %w outs(%y) epilogue <rms_norm 1.0e-5> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8, 8] x f32, panels32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[130, 8] x f32, panels32>, %u: !kern.buffer<[rows, 2] x f32>, %y: !kern.buffer<[rows, 130] x f32>) {
  // expected-error @below {{'kern.gemm' op (24) expects a summary [rows, 3], got [rows, 2]}}
  kern.gemm %x, %w summary(%u, %u) outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[130, 8] x f32, panels32>, !kern.buffer<[rows, 2] x f32>, !kern.buffer<[rows, 2] x f32>, !kern.buffer<[rows, 130] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[32, 8] x f32, panels32>, %u: !kern.buffer<[rows, 1] x f32>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.gemm' op (24) expects a single out, no norm and no GLU beside a summary}}
  kern.gemm %x, %w summary(%u, %u) outs(%y) epilogue <glu silu> : !kern.buffer<[rows, 8] x f32>, !kern.weight<[32, 8] x f32, panels32>, !kern.buffer<[rows, 1] x f32>, !kern.buffer<[rows, 1] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[64, 8] x f32, panels32>, %u: !kern.buffer<[rows, 1] x f32>, %y: !kern.buffer<[rows, 64] x bf16>) {
  // expected-error @below {{'kern.gemm' op (24) expects f32 as the out beside a summary, got 'bf16'}}
  kern.gemm %x, %w summary(%u, %u) outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[64, 8] x f32, panels32>, !kern.buffer<[rows, 1] x f32>, !kern.buffer<[rows, 1] x f32>, !kern.buffer<[rows, 64] x bf16>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x i8>, %w: !kern.weight<[32, 8] x #kern.format<i8, group 32, scales f32, interleave 4>, panels32>, %y: !kern.buffer<[rows, 32] x f32>) {
  // expected-error @below {{'kern.gemm' op (25) expects 'scales' exactly with an input of i8}}
  kern.gemm %x, %w outs(%y) : !kern.buffer<[rows, 8] x i8>, !kern.weight<[32, 8] x #kern.format<i8, group 32, scales f32, interleave 4>, panels32>, !kern.buffer<[rows, 32] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x i8>, %w: !kern.weight<[32, 8] x #kern.format<i8, group 32, scales f32, interleave 4>, panels32>, %s: !kern.buffer<[rows, 4] x f32>, %y: !kern.buffer<[rows, 32] x f32>) {
  // expected-error @below {{'kern.gemm' op (25) expects 'scales' [rows, 2], got [rows, 4]}}
  kern.gemm %x, %w scales %s outs(%y) : !kern.buffer<[rows, 8] x i8>, !kern.weight<[32, 8] x #kern.format<i8, group 32, scales f32, interleave 4>, panels32>, !kern.buffer<[rows, 4] x f32>, !kern.buffer<[rows, 32] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x bf16>, %w: !kern.weight<[32, 8] x #kern.format<i8, group 32, scales f32, interleave 4>, panels32>, %y: !kern.buffer<[rows, 32] x f32>) {
  // expected-error @below {{'kern.gemm' op (4) expects input and weight of one type, got 'bf16' and 'i8'}}
  kern.gemm %x, %w outs(%y) : !kern.buffer<[rows, 8] x bf16>, !kern.weight<[32, 8] x #kern.format<i8, group 32, scales f32, interleave 4>, panels32>, !kern.buffer<[rows, 32] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[32, 8] x #kern.format<i8, group 32, scales f32, interleave 4>, panels32>, %s: !kern.buffer<[rows, 2] x f32>, %y: !kern.buffer<[rows, 32] x f32>) {
  // expected-error @below {{'kern.gemm' op (25) expects 'scales' exactly with an input of i8}}
  kern.gemm %x, %w scales %s outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[32, 8] x #kern.format<i8, group 32, scales f32, interleave 4>, panels32>, !kern.buffer<[rows, 2] x f32>, !kern.buffer<[rows, 32] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 12] x f32>, %w: !kern.weight<[32, 12] x #kern.format<i4, group 32, scales f16, interleave 8>, panels32>, %y: !kern.buffer<[rows, 32] x f32>) {
  // expected-error @below {{'kern.gemm' op (28) expects a k that is a multiple of 8, got 12}}
  kern.gemm %x, %w outs(%y) : !kern.buffer<[rows, 12] x f32>, !kern.weight<[32, 12] x #kern.format<i4, group 32, scales f16, interleave 8>, panels32>, !kern.buffer<[rows, 32] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[64, 8] x f32, panels32>, %y: !kern.buffer<[rows, 64] x i8>) {
  // expected-error @below {{'kern.gemm' op (26) expects scales exactly beside numbers of i8}}
  kern.gemm %x, %w outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[64, 8] x f32, panels32>, !kern.buffer<[rows, 64] x i8>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[64, 8] x f32, panels32>, %s: !kern.buffer<[rows, 2] x f32>, %y: !kern.buffer<[rows, 64] x f32>) {
  // expected-error @below {{'kern.gemm' op (26) expects scales exactly beside numbers of i8}}
  kern.gemm %x, %w outs(%y) out_scales(%s) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[64, 8] x f32, panels32>, !kern.buffer<[rows, 2] x f32>, !kern.buffer<[rows, 64] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[64, 8] x f32, panels32>, %s: !kern.buffer<[rows, 6] x f32>, %y: !kern.buffer<[rows, 64] x i8>) {
  // expected-error @below {{'kern.gemm' op (26) expects scales of groups of 32, 64, 128, 256, 512, 1024 numbers of [rows, 64], got [rows, 6]}}
  kern.gemm %x, %w outs(%y) out_scales(%s) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[64, 8] x f32, panels32>, !kern.buffer<[rows, 6] x f32>, !kern.buffer<[rows, 64] x i8>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[64, 8] x f32, panels32>, %s: !kern.buffer<[rows, 2] x bf16>, %y: !kern.buffer<[rows, 64] x i8>) {
  // expected-error @below {{'kern.gemm' op (26) expects f32 as scales, got 'bf16'}}
  kern.gemm %x, %w outs(%y) out_scales(%s) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[64, 8] x f32, panels32>, !kern.buffer<[rows, 2] x bf16>, !kern.buffer<[rows, 64] x i8>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[62, 8] x f32, panels32>, %s: !kern.buffer<[rows, 2] x f32>, %y: !kern.buffer<[rows, 62] x i8>) {
  // expected-error @below {{'kern.gemm' op (26) expects a constant last size of numbers of i8 that is a multiple of 4, got [rows, 62]}}
  kern.gemm %x, %w outs(%y) out_scales(%s) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[62, 8] x f32, panels32>, !kern.buffer<[rows, 2] x f32>, !kern.buffer<[rows, 62] x i8>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %w: !kern.weight<[64, 8] x f32, panels32, splits [32, 32]>, %s: !kern.buffer<[rows, 2] x f32>, %y: !kern.buffer<[rows, 32] x i8>, %z: !kern.buffer<[rows, 32] x f32>) {
  // expected-error @below {{'kern.gemm' op (27) expects a single out of i8, got 2 outs}}
  kern.gemm %x, %w outs(%y, %z) out_scales(%s) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[64, 8] x f32, panels32, splits [32, 32]>, !kern.buffer<[rows, 2] x f32>, !kern.buffer<[rows, 32] x i8>, !kern.buffer<[rows, 32] x f32>
  return
}

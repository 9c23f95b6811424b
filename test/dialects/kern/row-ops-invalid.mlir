// Numbered constraints on row operations.
// RUN: transom-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %g: !kern.weight<[8] x f32, rows>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.norm' op (2) expects input and outs of equal sizes, got [rows, 8] and [rows, 16]}}
  kern.norm %x, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, seq] x f32>, %g: !kern.weight<[8] x f32, rows>, %y: !kern.buffer<[rows, seq] x f32>) {
  // expected-error @below {{'kern.norm' op (3) expects a constant last size, got [rows, seq]}}
  kern.norm %x, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, seq] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, seq] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %g: !kern.weight<[7] x f32, rows>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.norm' op (4) expects gamma of size [8], got [7]}}
  kern.norm %x, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[7] x f32, rows>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %g: !kern.weight<[8] x f32, padded32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.norm' op (4) expects gamma in 'rows', got 'padded32'}}
  kern.norm %x, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, padded32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %g: !kern.weight<[8] x f32, rows>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.norm' op (5) expects 'eps' that is not negative, got -1.000000e+00}}
  kern.norm %x, %g outs(%y) eps -1.0 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x i64>) {
  // expected-error @below {{'kern.softmax' op (1) expects f32 as outs, got 'i64'}}
  kern.softmax %x outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x i64>
  return
}

// -----

func.func @f(%i: !kern.buffer<[rows] x i64>, %t: !kern.weight<[100, 8] x f32, rows>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.embedding' op (1) expects an id and a scale for each table, got 1 ids, 1 tables, 2 scales}}
  kern.embedding ids(%i) tables(%t) outs(%y) {scales = array<f64: 1.0, 2.0>} : (!kern.buffer<[rows] x i64>), (!kern.weight<[100, 8] x f32, rows>), !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%i: !kern.buffer<[n] x i64>, %t: !kern.weight<[100, 8] x f32, rows>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.embedding' op (3) expects an i64 id for each row of outs, got '!kern.buffer<[n] x i64>'}}
  kern.embedding ids(%i) tables(%t) outs(%y) {scales = array<f64: 1.0>} : (!kern.buffer<[n] x i64>), (!kern.weight<[100, 8] x f32, rows>), !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%i: !kern.buffer<[rows] x i64>, %t: !kern.weight<[100, 7] x f32, rows>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.embedding' op (4) expects a table with the width of outs, got [100, 7] and [rows, 8]}}
  kern.embedding ids(%i) tables(%t) outs(%y) {scales = array<f64: 1.0>} : (!kern.buffer<[rows] x i64>), (!kern.weight<[100, 7] x f32, rows>), !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%i: !kern.buffer<[rows] x i64>, %t: !kern.weight<[100, 8] x f32, panels32, splits [40, 60]>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.embedding' op (5) expects a table in panels without splits}}
  kern.embedding ids(%i) tables(%t) outs(%y) {scales = array<f64: 1.0>} : (!kern.buffer<[rows] x i64>), (!kern.weight<[100, 8] x f32, panels32, splits [40, 60]>), !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.weight<[8] x f32, padded32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.elementwise' op (1) expects buffers or weights in rows as inputs, got '!kern.weight<[8] x f32, padded32>'}}
  kern.elementwise ins(%x) outs(%y) {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (!kern.weight<[8] x f32, padded32>) -> !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[n, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.elementwise' op (2) expects inputs that broadcast to [rows, 8], got [n, 8]}}
  kern.elementwise ins(%x) outs(%y) {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (!kern.buffer<[n, 8] x f32>) -> !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.elementwise' op (3) expects a region argument for each input, got 2 and 1}}
  kern.elementwise ins(%x) outs(%y) {
  ^bb0(%a: f32, %b: f32):
    kern.yield %a : f32
  } : (!kern.buffer<[rows, 8] x f32>) -> !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.elementwise' op (3) expects a region argument of 'f32', got 'i64'}}
  kern.elementwise ins(%x) outs(%y) {
  ^bb0(%a: i64):
    %c = arith.constant 1.0 : f32
    kern.yield %c : f32
  } : (!kern.buffer<[rows, 8] x f32>) -> !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.elementwise' op (4) expects a region that yields 'f32'}}
  kern.elementwise ins(%x) outs(%y) {
  ^bb0(%a: f32):
    %c = arith.constant 1 : i64
    kern.yield %c : i64
  } : (!kern.buffer<[rows, 8] x f32>) -> !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  kern.elementwise ins(%x) outs(%y) {
  ^bb0(%a: f32):
    // expected-error @below {{'kern.elementwise' op (5) expects arith operations and 'kern.apply' in its region, got 'kern.alloc'}}
    %c = kern.alloc : !kern.buffer<[rows, 8] x f32>
    kern.yield %a : f32
  } : (!kern.buffer<[rows, 8] x f32>) -> !kern.buffer<[rows, 8] x f32>
  return
}

// -----

kern.weight @g : !kern.weight<[8] x bf16, rows> = #weight.expr<file("g")>
func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  %g = kern.get_weight @g : !kern.weight<[8] x bf16, rows>
  // expected-error @below {{'kern.norm' op (4) expects gamma of f32, got bf16}}
  kern.norm %x, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x bf16, rows>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

kern.weight @g : !kern.weight<[8] x f32, rows> = #weight.expr<file("g")>
func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  %g = kern.get_weight @g : !kern.weight<[8] x f32, rows>
  // expected-error @below {{'kern.norm' op (6) expects 'copy' in rows of bf16 or i8 beside outs of f32, got '!kern.buffer<[rows, 8] x f32>' and '!kern.buffer<[rows, 8] x f32>'}}
  kern.norm %x, %g outs(%y) copy(%x) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

kern.weight @g : !kern.weight<[8] x f32, rows> = #weight.expr<file("g")>
func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x i8>) {
  %g = kern.get_weight @g : !kern.weight<[8] x f32, rows>
  // expected-error @below {{'kern.norm' op (7) expects scales exactly beside numbers of i8}}
  kern.norm %x, %g outs(%x) copy(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x i8>
  return
}

// -----

kern.weight @g : !kern.weight<[8] x f32, rows> = #weight.expr<file("g")>
func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x bf16>, %s: !kern.buffer<[rows, 2] x f32>) {
  %g = kern.get_weight @g : !kern.weight<[8] x f32, rows>
  // expected-error @below {{'kern.norm' op (7) expects scales exactly beside numbers of i8}}
  kern.norm %x, %g outs(%y) scales(%s) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x bf16>, !kern.buffer<[rows, 2] x f32>
  return
}

// -----

kern.weight @g : !kern.weight<[8] x f32, rows> = #weight.expr<file("g")>
func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x i8>, %s: !kern.buffer<[rows, 4] x f32>) {
  %g = kern.get_weight @g : !kern.weight<[8] x f32, rows>
  // expected-error @below {{'kern.norm' op (7) expects scales of groups of 32, 64, 128, 256, 512, 1024 numbers of [rows, 8], got [rows, 4]}}
  kern.norm %x, %g outs(%y) scales(%s) eps 1.0e-5 : !kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x i8>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

kern.weight @g : !kern.weight<[6] x f32, rows> = #weight.expr<file("g")>
func.func @f(%x: !kern.buffer<[rows, 6] x f32>, %y: !kern.buffer<[rows, 6] x i8>, %s: !kern.buffer<[rows, 2] x f32>) {
  %g = kern.get_weight @g : !kern.weight<[6] x f32, rows>
  // expected-error @below {{'kern.norm' op (7) expects a constant last size of numbers of i8 that is a multiple of 4, got [rows, 6]}}
  kern.norm %x, %g outs(%y) scales(%s) eps 1.0e-5 : !kern.buffer<[rows, 6] x f32>, !kern.weight<[6] x f32, rows>, !kern.buffer<[rows, 6] x i8>, !kern.buffer<[rows, 2] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x bf16>, %y: !kern.buffer<[rows, 8] x bf16>) {
  // expected-error @below {{'kern.cast' op (1) expects f32 as the input, got 'bf16'}}
  kern.cast %x outs(%y) : !kern.buffer<[rows, 8] x bf16>, !kern.buffer<[rows, 8] x bf16>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.cast' op (1) expects rows of bf16 as outs, got '!kern.buffer<[rows, 8] x f32>'}}
  kern.cast %x outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 4] x bf16>) {
  // expected-error @below {{'kern.cast' op (2) expects input and outs of equal sizes, got [rows, 8] and [rows, 4]}}
  kern.cast %x outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x bf16>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x i64>, %g: !kern.weight<[8] x f32, rows>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.norm' op (1) expects f32 as the input, got 'i64'}}
  kern.norm %x, %g outs(%y) eps 1.0e-5 : !kern.buffer<[rows, 8] x i64>, !kern.weight<[8] x f32, rows>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{'kern.softmax' op (2) expects input and outs of equal sizes, got [rows, 8] and [rows, 4]}}
  kern.softmax %x outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%i: !kern.buffer<[rows] x i64>, %t: !kern.weight<[100, 8] x f32, rows>, %y: !kern.buffer<[rows, 8] x i64>) {
  // expected-error @below {{'kern.embedding' op (2) expects f32 as outs, got 'i64'}}
  kern.embedding ids(%i) tables(%t) outs(%y) {scales = array<f64: 1.0>} : (!kern.buffer<[rows] x i64>), (!kern.weight<[100, 8] x f32, rows>), !kern.buffer<[rows, 8] x i64>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 64] x bf16>, %y: !kern.buffer<[rows, 1] x f32>) {
  // expected-error @below {{'kern.row_summary' op (1) expects f32 as the input, got 'bf16'}}
  kern.row_summary %x outs(%y, %y) : !kern.buffer<[rows, 64] x bf16>, !kern.buffer<[rows, 1] x f32>, !kern.buffer<[rows, 1] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, n] x f32>, %y: !kern.buffer<[rows, 1] x f32>) {
  // expected-error @below {{'kern.row_summary' op (2) expects a constant last size of what is summarized, got [rows, n]}}
  kern.row_summary %x outs(%y, %y) : !kern.buffer<[rows, n] x f32>, !kern.buffer<[rows, 1] x f32>, !kern.buffer<[rows, 1] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 65] x f32>, %y: !kern.buffer<[rows, 1] x f32>) {
  // expected-error @below {{'kern.row_summary' op (2) expects a summary [rows, 2], got [rows, 1]}}
  kern.row_summary %x outs(%y, %y) : !kern.buffer<[rows, 65] x f32>, !kern.buffer<[rows, 1] x f32>, !kern.buffer<[rows, 1] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 65] x f32>, %y: !kern.buffer<[rows, 2] x f32>) {
  // expected-error @below {{'kern.row_summary' op (2) expects maxima and sums as a summary, got 1 buffers}}
  kern.row_summary %x outs(%y) : !kern.buffer<[rows, 65] x f32>, !kern.buffer<[rows, 2] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x i8>, %y: !kern.buffer<[rows, 8] x i8>, %s: !kern.buffer<[rows, 2] x f32>) {
  // expected-error @below {{'kern.quantize' op (1) expects f32 as the input, got 'i8'}}
  kern.quantize %x outs(%y) scales(%s) group 128 : !kern.buffer<[rows, 8] x i8>, !kern.buffer<[rows, 8] x i8>, !kern.buffer<[rows, 2] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>, %s: !kern.buffer<[rows, 2] x f32>) {
  // expected-error @below {{'kern.quantize' op (1) expects rows of i8 as outs, got '!kern.buffer<[rows, 8] x f32>'}}
  kern.quantize %x outs(%y) scales(%s) group 128 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 2] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 4] x i8>, %s: !kern.buffer<[rows, 2] x f32>) {
  // expected-error @below {{'kern.quantize' op (2) expects input and outs of equal sizes, got [rows, 8] and [rows, 4]}}
  kern.quantize %x outs(%y) scales(%s) group 128 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x i8>, !kern.buffer<[rows, 2] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 6] x f32>, %y: !kern.buffer<[rows, 6] x i8>, %s: !kern.buffer<[rows, 2] x f32>) {
  // expected-error @below {{'kern.quantize' op (3) expects a constant last size that is a multiple of 4, got [rows, 6]}}
  kern.quantize %x outs(%y) scales(%s) group 128 : !kern.buffer<[rows, 6] x f32>, !kern.buffer<[rows, 6] x i8>, !kern.buffer<[rows, 2] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x i8>, %s: !kern.buffer<[rows, 2] x f32>) {
  // expected-error @below {{'kern.quantize' op (4) expects a group of one of the sizes 32, 64, 128, 256, 512, 1024, got 16}}
  kern.quantize %x outs(%y) scales(%s) group 16 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x i8>, !kern.buffer<[rows, 2] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x i8>, %s: !kern.buffer<[rows, 1] x f32>) {
  // expected-error @below {{'kern.quantize' op (5) expects 'scales' [rows, 2], got [rows, 1]}}
  kern.quantize %x outs(%y) scales(%s) group 128 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x i8>, !kern.buffer<[rows, 1] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x i8>, %s: !kern.buffer<[rows, 2] x bf16>) {
  // expected-error @below {{'kern.quantize' op (5) expects f32 as 'scales', got 'bf16'}}
  kern.quantize %x outs(%y) scales(%s) group 128 : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x i8>, !kern.buffer<[rows, 2] x bf16>
  return
}

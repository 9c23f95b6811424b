// Numbered constraints on operations that define weights, buffers and ragged
// batches.
// RUN: transom-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{'kern.weight' op attribute 'type' failed to satisfy constraint: type attribute of a weight in the artifact, in a layout}}
kern.weight @w : f32 = #weight.expr<file("w")>

// -----

// expected-error @below {{'#weight.expr' (1) expects a weight expression: }}
kern.weight @w : !kern.weight<[8] x f32, rows> = #weight.expr<fill([])>

// -----

// expected-error @below {{'kern.weight' op (1) expects an offset that is a multiple of 4, got 6}}
kern.weight @w : !kern.weight<[8] x f32, rows> = #weight.expr<file("w")> {offset = 6 : i64}

// -----

func.func @f() {
  // expected-error @below {{'kern.get_weight' op (1) expects 'f' to be a 'kern.weight'}}
  %w = kern.get_weight @f : !kern.weight<[8] x f32, rows>
  return
}

// -----

kern.weight @w : !kern.weight<[8] x f32, rows> = #weight.expr<file("w")>
func.func @f() {
  // expected-error @below {{'kern.get_weight' op (2) expects the weight's type '!kern.weight<[8] x f32, rows>', got '!kern.weight<[8] x f32, unset>'}}
  %w = kern.get_weight @w : !kern.weight<[8] x f32, unset>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'kern.alloc' op (1) expects a slot that is not negative, got -1}}
  %a = kern.alloc {slot = -1 : i64} : !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.view' op (1) expects source and result of one element type, got 'f32' and 'i64'}}
  %v = kern.view %x : !kern.buffer<[rows, 8] x f32> -> !kern.buffer<[rows, 8] x i64>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.view' op (2) expects equally many elements, got [rows, 8] and [rows, 2, 3]}}
  %v = kern.view %x : !kern.buffer<[rows, 8] x f32> -> !kern.buffer<[rows, 2, 3] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32, stride 24>) {
  // expected-error @below {{'kern.view' op (3) expects dense buffers}}
  %v = kern.view %x : !kern.buffer<[rows, 8] x f32, stride 24> -> !kern.buffer<[rows, 2, 4] x f32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'kern.ragged_batch' op (1) expects a size as 'batch', got 'batch*'}}
  %s = kern.ragged_batch {batch = "batch*", columns = "seq", rows = "r", keys = "k"} : !kern.ragged<0>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'kern.ragged_batch' op (2) expects a mask beside 'keep_first'}}
  %s = kern.ragged_batch {batch = "batch", columns = "seq", rows = "r", keys = "k", keep_first} : !kern.ragged<0>
  return
}

// -----

func.func @f(%m: !kern.buffer<[batch, seq] x f32>) {
  // expected-error @below {{'kern.ragged_batch' op (3) expects a mask [batch, columns] of i64 or i1, got '!kern.buffer<[batch, seq] x f32>'}}
  %s = kern.ragged_batch mask %m : !kern.buffer<[batch, seq] x f32> {batch = "", columns = "", rows = "r", keys = "k"} : !kern.ragged<0>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'kern.ragged_batch' op (4) expects names for 'rows' and 'keys'}}
  %s = kern.ragged_batch {batch = "batch", columns = "seq", rows = "", keys = "k"} : !kern.ragged<0>
  return
}

// Constraints of buffers and weights, of the operations that define them, and of
// phases, by their numbers.
// RUN: transom-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{'!kern.buffer' (1) expects elements of i1, or integers or floats of whole bytes, got 'i4'}}
func.func private @f(!kern.buffer<[4] x i4>)

// -----

// expected-error @below {{'!kern.buffer' (2) expects a stride of at least the last size, got 4 and '8'}}
func.func private @f(!kern.buffer<[rows, 8] x f32, stride 4>)

// -----

// expected-error @below {{'!kern.buffer' (2) expects a stride of at least the last size, got 16 and 'seq'}}
func.func private @f(!kern.buffer<[rows, seq] x f32, stride 16>)

// -----

// expected-error @below {{'!kern.buffer' (3) expects key panels of f32 or bf16, of rank 2 and without a stride}}
func.func private @f(!kern.buffer<[rows, 2, 8] x f32, key_panels>)

// -----

// expected-error @below {{unknown layout 'tiles'; supported: unset, rows, panels32, padded32}}
func.func private @f(!kern.weight<[8] x f32, tiles>)

// -----

// expected-error @below {{'!kern.buffer' (4) expects an even, constant number of columns in key panels of bf16, got '7'}}
func.func private @f(!kern.buffer<[keys, 7] x bf16, key_panels>)

// -----

// expected-error @below {{weight of 'f16'; supported: f32, bf16}}
func.func private @f(!kern.weight<[8] x f16, rows>)

// -----

// expected-error @below {{'!kern.weight' (6) expects f32 in layout 'padded32', got 'bf16'}}
func.func private @f(!kern.weight<[8] x bf16, padded32>)

// -----

// expected-error @below {{'!kern.weight' (2) expects sizes that are not negative, got -8}}
func.func private @f(!kern.weight<[-8] x f32, rows>)

// -----

// expected-error @below {{'!kern.weight' (3) expects positive splits, got 0}}
func.func private @f(!kern.weight<[8, 8] x f32, rows, splits [8, 0]>)

// -----

// expected-error @below {{'!kern.weight' (4) expects splits that add up to the first size, got 12 and 8}}
func.func private @f(!kern.weight<[8, 8] x f32, rows, splits [8, 4]>)

// -----

// expected-error @below {{'!kern.weight' (5) expects rank 2 in layout 'panels32', got 1}}
func.func private @f(!kern.weight<[8] x f32, panels32>)

// -----

// expected-error @below {{'!kern.weight' (5) expects rank 1 in layout 'padded32', got 2}}
func.func private @f(!kern.weight<[8, 8] x f32, padded32>)

// -----

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

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.phase' op (1) expects a name}}
  kern.phase "" {
    kern.softmax %x outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  }
  return
}

// -----

func.func @f() {
  kern.phase "f.0" {
    // expected-error @below {{'kern.phase' op (2) expects operations on buffers, got 'kern.alloc'}}
    %a = kern.alloc : !kern.buffer<[rows, 8] x f32>
  }
  return
}

// -----

// expected-error @below {{'!kern.weight' (1) expects f32 or bf16 in layout 'rows', got 'i8'}}
func.func private @f(!kern.weight<[8, 32] x #kern.format<i8, group 32, scales f16>, rows>)

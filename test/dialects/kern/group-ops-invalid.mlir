// One case for each rule on sizes written during a call and on groups.
// RUN: transom-opt %s -split-input-file -verify-diagnostics
// expected-error @below {{'kern.bounded_size' op (1) expects a size as 'bound', got '2*'}}
kern.bounded_size @n bound "2*"

// -----

// expected-error @below {{'kern.bounded_size' op (1) expects a bound without negative terms, got '2*rows-1'}}
kern.bounded_size @n bound "2*rows-1"

// -----

kern.bounded_size @m bound "rows"
// expected-error @below {{'kern.bounded_size' op (2) expects a bound without bounded sizes, got 'm'}}
kern.bounded_size @n bound "2*m"

// -----

kern.bounded_size @n bound "2*rows"
func.func @f(%g: !kern.buffer<[rows, 2] x f32>, %t: !kern.buffer<[n] x i64>, %o: !kern.buffer<[9] x i64>, %p: !kern.buffer<[rows, 2] x i64>) {
  // expected-error @below {{'kern.group_tokens' op (1) expects a dense buffer of i32 or i64 of rank 2 as groups, got '!kern.buffer<[rows, 2] x f32>'}}
  kern.group_tokens %g outs(%t, %o, %p) size @n : !kern.buffer<[rows, 2] x f32>, !kern.buffer<[n] x i64>, !kern.buffer<[9] x i64>, !kern.buffer<[rows, 2] x i64>
  return
}

// -----

kern.bounded_size @n bound "2*rows"
func.func @f(%g: !kern.buffer<[rows, 2] x i64>, %t: !kern.buffer<[n] x i32>, %o: !kern.buffer<[9] x i64>, %p: !kern.buffer<[rows, 2] x i64>) {
  // expected-error @below {{'kern.group_tokens' op (2) expects a dense buffer of i64 as tokens, got '!kern.buffer<[n] x i32>'}}
  kern.group_tokens %g outs(%t, %o, %p) size @n : !kern.buffer<[rows, 2] x i64>, !kern.buffer<[n] x i32>, !kern.buffer<[9] x i64>, !kern.buffer<[rows, 2] x i64>
  return
}

// -----

kern.bounded_size @n bound "2*rows"
func.func @f(%g: !kern.buffer<[rows, 2] x i64>, %t: !kern.buffer<[2*rows] x i64>, %o: !kern.buffer<[9] x i64>, %p: !kern.buffer<[rows, 2] x i64>) {
  // expected-error @below {{'kern.group_tokens' op (2) expects tokens of size [n], got [2*rows]}}
  kern.group_tokens %g outs(%t, %o, %p) size @n : !kern.buffer<[rows, 2] x i64>, !kern.buffer<[2*rows] x i64>, !kern.buffer<[9] x i64>, !kern.buffer<[rows, 2] x i64>
  return
}

// -----

kern.bounded_size @n bound "2*rows"
func.func @f(%g: !kern.buffer<[rows, 2] x i64>, %t: !kern.buffer<[n] x i64>, %o: !kern.buffer<[1] x i64>, %p: !kern.buffer<[rows, 2] x i64>) {
  // expected-error @below {{'kern.group_tokens' op (3) expects offsets of a constant size of at least 2, got [1]}}
  kern.group_tokens %g outs(%t, %o, %p) size @n : !kern.buffer<[rows, 2] x i64>, !kern.buffer<[n] x i64>, !kern.buffer<[1] x i64>, !kern.buffer<[rows, 2] x i64>
  return
}

// -----

kern.bounded_size @n bound "2*rows"
func.func @f(%g: !kern.buffer<[rows, 2] x i64>, %t: !kern.buffer<[n] x i64>, %o: !kern.buffer<[9] x i64>, %p: !kern.buffer<[2*rows] x i64>) {
  // expected-error @below {{'kern.group_tokens' op (4) expects groups and positions of equal sizes, got [rows, 2] and [2*rows]}}
  kern.group_tokens %g outs(%t, %o, %p) size @n : !kern.buffer<[rows, 2] x i64>, !kern.buffer<[n] x i64>, !kern.buffer<[9] x i64>, !kern.buffer<[2*rows] x i64>
  return
}

// -----

func.func @f(%g: !kern.buffer<[rows, 2] x i64>, %t: !kern.buffer<[n] x i64>, %o: !kern.buffer<[9] x i64>, %p: !kern.buffer<[rows, 2] x i64>) {
  // expected-error @below {{'kern.group_tokens' op (5) expects a bounded size, got 'n'}}
  kern.group_tokens %g outs(%t, %o, %p) size @n : !kern.buffer<[rows, 2] x i64>, !kern.buffer<[n] x i64>, !kern.buffer<[9] x i64>, !kern.buffer<[rows, 2] x i64>
  return
}

// -----

kern.bounded_size @n bound "rows+7"
func.func @f(%g: !kern.buffer<[rows, 2] x i64>, %t: !kern.buffer<[n] x i64>, %o: !kern.buffer<[9] x i64>, %p: !kern.buffer<[rows, 2] x i64>) {
  // expected-error @below {{'kern.group_tokens' op (6) expects a bound of at least '2*rows' for 'n', got 'rows+7'}}
  kern.group_tokens %g outs(%t, %o, %p) size @n : !kern.buffer<[rows, 2] x i64>, !kern.buffer<[n] x i64>, !kern.buffer<[9] x i64>, !kern.buffer<[rows, 2] x i64>
  return
}

// -----

func.func @f(%x: !kern.buffer<[n, 8] x f32>, %p: !kern.buffer<[rows, 2] x i64>, %s: !kern.buffer<[rows, 2] x f32>, %y: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{'kern.combine_groups' op (1) expects input and outs of rank 2 with equal last sizes, got [n, 8] and [rows, 4]}}
  kern.combine_groups %x, %p, %s outs(%y) : !kern.buffer<[n, 8] x f32>, !kern.buffer<[rows, 2] x i64>, !kern.buffer<[rows, 2] x f32>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[n, 8] x f32>, %p: !kern.buffer<[n, 2] x i64>, %s: !kern.buffer<[rows, 2] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.combine_groups' op (2) expects positions with the rows of outs and a constant number of columns, got [n, 2]}}
  kern.combine_groups %x, %p, %s outs(%y) : !kern.buffer<[n, 8] x f32>, !kern.buffer<[n, 2] x i64>, !kern.buffer<[rows, 2] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[n, 8] x f32>, %p: !kern.buffer<[rows, 2] x i64>, %s: !kern.buffer<[rows, 4] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.combine_groups' op (3) expects positions and scales of equal sizes, got [rows, 2] and [rows, 4]}}
  kern.combine_groups %x, %p, %s outs(%y) : !kern.buffer<[n, 8] x f32>, !kern.buffer<[rows, 2] x i64>, !kern.buffer<[rows, 4] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

kern.bounded_size @n bound "2*rows"
func.func @f(%g: !kern.buffer<[rows, 2] x i64>, %t: !kern.buffer<[n] x i64>, %o: !kern.buffer<[9] x i64>, %p: !kern.buffer<[rows, 2] x i64>, %x: !kern.buffer<[n, 8] x f32>) {
  kern.phase "0" {
    kern.group_tokens %g outs(%t, %o, %p) size @n : !kern.buffer<[rows, 2] x i64>, !kern.buffer<[n] x i64>, !kern.buffer<[9] x i64>, !kern.buffer<[rows, 2] x i64>
    // expected-error @below {{'kern.phase' op (4) expects no use of the size 'n', which the phase writes}}
    kern.softmax %x outs(%x) : !kern.buffer<[n, 8] x f32>, !kern.buffer<[n, 8] x f32>
  }
  return
}

// -----

func.func @f(%x: !kern.buffer<[n, 8] x f32>, %w: !kern.weight<[32, 8] x f32, panels32, splits [20, 12]>, %b: !kern.weight<[32] x f32, padded32, splits [16, 16]>, %o: !kern.buffer<[3] x i64>, %y: !kern.buffer<[n, 16] x f32>) {
  // expected-error @below {{'kern.group_gemm' op (1) expects a weight [groups*n, k] with equal splits, got}}
  kern.group_gemm %x, %w bias %b offsets %o outs(%y) : !kern.buffer<[n, 8] x f32>, !kern.weight<[32, 8] x f32, panels32, splits [20, 12]>, !kern.weight<[32] x f32, padded32, splits [16, 16]>, !kern.buffer<[3] x i64>, !kern.buffer<[n, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[n, 8] x f32>, %w: !kern.weight<[32, 8] x f32, panels32>, %b: !kern.weight<[32] x f32, padded32, splits [16, 16]>, %o: !kern.buffer<[3] x i64>, %y: !kern.buffer<[n, 16] x f32>) {
  // expected-error @below {{'kern.group_gemm' op (1) expects a weight [groups*n, k] with equal splits, got}}
  kern.group_gemm %x, %w bias %b offsets %o outs(%y) : !kern.buffer<[n, 8] x f32>, !kern.weight<[32, 8] x f32, panels32>, !kern.weight<[32] x f32, padded32, splits [16, 16]>, !kern.buffer<[3] x i64>, !kern.buffer<[n, 16] x f32>
  return
}

// -----

!w = !kern.weight<[32, 32] x #kern.format<i8, group 32, scales f16, interleave 4>, panels32, splits [16, 16]>
func.func @f(%x: !kern.buffer<[n, 32] x bf16>, %w: !w, %o: !kern.buffer<[3] x i64>, %y: !kern.buffer<[n, 16] x f32>) {
  // expected-error @below {{'kern.group_gemm' op (4) expects input and weight of one type, got 'bf16' and 'i8'}}
  kern.group_gemm %x, %w offsets %o outs(%y) : !kern.buffer<[n, 32] x bf16>, !w, !kern.buffer<[3] x i64>, !kern.buffer<[n, 16] x f32>
  return
}

// -----

!w = !kern.weight<[32, 32] x #kern.format<i8, group 32, scales f16, interleave 4>, panels32, splits [16, 16]>
func.func @f(%x: !kern.buffer<[n, 32] x i8>, %w: !w, %o: !kern.buffer<[3] x i64>, %y: !kern.buffer<[n, 16] x f32>) {
  // expected-error @below {{'kern.group_gemm' op (8) expects 'scales' exactly with an input of i8}}
  kern.group_gemm %x, %w offsets %o outs(%y) : !kern.buffer<[n, 32] x i8>, !w, !kern.buffer<[3] x i64>, !kern.buffer<[n, 16] x f32>
  return
}

// -----

!w = !kern.weight<[32, 96] x #kern.format<i8, group 64, scales f16, interleave 4>, panels32, splits [16, 16]>
func.func @f(%x: !kern.buffer<[n, 96] x i8>, %s: !kern.buffer<[n, 3] x f32>, %w: !w, %o: !kern.buffer<[3] x i64>, %y: !kern.buffer<[n, 16] x f32>) {
  // expected-error @below {{'kern.group_gemm' op (8) expects 'scales' [n, 4], got [n, 3]}}
  kern.group_gemm %x, %w scales %s offsets %o outs(%y) : !kern.buffer<[n, 96] x i8>, !w, !kern.buffer<[n, 3] x f32>, !kern.buffer<[3] x i64>, !kern.buffer<[n, 16] x f32>
  return
}

// -----

!w = !kern.weight<[32, 30] x #kern.format<i8, group 32, scales f16, interleave 4>, panels32, splits [16, 16]>
func.func @f(%x: !kern.buffer<[n, 30] x f32>, %w: !w, %o: !kern.buffer<[3] x i64>, %y: !kern.buffer<[n, 16] x f32>) {
  // expected-error @below {{'kern.group_gemm' op (9) expects a k that is a multiple of 4, got 30}}
  kern.group_gemm %x, %w offsets %o outs(%y) : !kern.buffer<[n, 30] x f32>, !w, !kern.buffer<[3] x i64>, !kern.buffer<[n, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[n, 8] x f32>, %w: !kern.weight<[32, 8] x f32, rows, splits [16, 16]>, %b: !kern.weight<[32] x f32, padded32, splits [16, 16]>, %o: !kern.buffer<[3] x i64>, %y: !kern.buffer<[n, 16] x f32>) {
  // expected-error @below {{'kern.group_gemm' op (1) expects the weight in 'panels32', got 'rows'}}
  kern.group_gemm %x, %w bias %b offsets %o outs(%y) : !kern.buffer<[n, 8] x f32>, !kern.weight<[32, 8] x f32, rows, splits [16, 16]>, !kern.weight<[32] x f32, padded32, splits [16, 16]>, !kern.buffer<[3] x i64>, !kern.buffer<[n, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[n, 8] x f32>, %w: !kern.weight<[32, 4097] x f32, panels32, splits [16, 16]>, %b: !kern.weight<[32] x f32, padded32, splits [16, 16]>, %o: !kern.buffer<[3] x i64>, %y: !kern.buffer<[n, 16] x f32>) {
  // expected-error @below {{'kern.group_gemm' op (2) expects a k of at most 4096, got 4097}}
  kern.group_gemm %x, %w bias %b offsets %o outs(%y) : !kern.buffer<[n, 8] x f32>, !kern.weight<[32, 4097] x f32, panels32, splits [16, 16]>, !kern.weight<[32] x f32, padded32, splits [16, 16]>, !kern.buffer<[3] x i64>, !kern.buffer<[n, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[n, 8] x f32>, %w: !kern.weight<[32, 8] x f32, panels32, splits [16, 16]>, %b: !kern.weight<[32] x f32, padded32, splits [16, 16]>, %o: !kern.buffer<[3] x i64>, %y: !kern.buffer<[m, 16] x f32>) {
  // expected-error @below {{'kern.group_gemm' op (3) expects an input [rows, 8] and outs [rows, 16], got [n, 8] and [m, 16]}}
  kern.group_gemm %x, %w bias %b offsets %o outs(%y) : !kern.buffer<[n, 8] x f32>, !kern.weight<[32, 8] x f32, panels32, splits [16, 16]>, !kern.weight<[32] x f32, padded32, splits [16, 16]>, !kern.buffer<[3] x i64>, !kern.buffer<[m, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[n, 8] x bf16>, %w: !kern.weight<[32, 8] x f32, panels32, splits [16, 16]>, %b: !kern.weight<[32] x f32, padded32, splits [16, 16]>, %o: !kern.buffer<[3] x i64>, %y: !kern.buffer<[n, 16] x f32>) {
  // expected-error @below {{'kern.group_gemm' op (4) expects input and weight of one type, got 'bf16' and 'f32'}}
  kern.group_gemm %x, %w bias %b offsets %o outs(%y) : !kern.buffer<[n, 8] x bf16>, !kern.weight<[32, 8] x f32, panels32, splits [16, 16]>, !kern.weight<[32] x f32, padded32, splits [16, 16]>, !kern.buffer<[3] x i64>, !kern.buffer<[n, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[n, 8] x f32>, %w: !kern.weight<[32, 8] x f32, panels32, splits [16, 16]>, %b: !kern.weight<[32] x f32, padded32>, %o: !kern.buffer<[3] x i64>, %y: !kern.buffer<[n, 16] x f32>) {
  // expected-error @below {{'kern.group_gemm' op (5) expects weight and bias with equal splits}}
  kern.group_gemm %x, %w bias %b offsets %o outs(%y) : !kern.buffer<[n, 8] x f32>, !kern.weight<[32, 8] x f32, panels32, splits [16, 16]>, !kern.weight<[32] x f32, padded32>, !kern.buffer<[3] x i64>, !kern.buffer<[n, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[n, 8] x f32>, %w: !kern.weight<[32, 8] x f32, panels32, splits [16, 16]>, %b: !kern.weight<[32] x f32, padded32, splits [16, 16]>, %o: !kern.buffer<[5] x i64>, %y: !kern.buffer<[n, 16] x f32>) {
  // expected-error @below {{'kern.group_gemm' op (6) expects offsets of size [3], got [5]}}
  kern.group_gemm %x, %w bias %b offsets %o outs(%y) : !kern.buffer<[n, 8] x f32>, !kern.weight<[32, 8] x f32, panels32, splits [16, 16]>, !kern.weight<[32] x f32, padded32, splits [16, 16]>, !kern.buffer<[5] x i64>, !kern.buffer<[n, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[n, 8] x f32>, %w: !kern.weight<[16, 8] x f32, panels32, splits [8, 8]>, %b: !kern.weight<[16] x f32, padded32, splits [8, 8]>, %o: !kern.buffer<[3] x i64>, %y: !kern.buffer<[n, 16] x f32>) {
  // expected-error @below {{'kern.group_gemm' op (7) expects outs in other memory than the input}}
  kern.group_gemm %x, %w bias %b offsets %o outs(%x) : !kern.buffer<[n, 8] x f32>, !kern.weight<[16, 8] x f32, panels32, splits [8, 8]>, !kern.weight<[16] x f32, padded32, splits [8, 8]>, !kern.buffer<[3] x i64>, !kern.buffer<[n, 8] x f32>
  return
}

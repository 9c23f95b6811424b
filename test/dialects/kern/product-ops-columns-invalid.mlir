// Numbered constraints on GEMMs with selected columns.
// RUN: transom-opt %s -split-input-file -verify-diagnostics

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[40, 8] x f32, panels32>
func.func @f(%x: !x, %w: !w, %i: !kern.buffer<[c] x i32>, %y: !kern.buffer<[rows, c] x f32>) {
  // expected-error @below {{'kern.gemm' op (29) expects columns of dense i64 [c], got '!kern.buffer<[c] x i32>'}}
  kern.gemm %x, %w outs(%y) columns(%i) : !x, !w, !kern.buffer<[rows, c] x f32>, !kern.buffer<[c] x i32>
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[40, 8] x f32, panels32>
func.func @f(%x: !x, %w: !w, %i: !kern.buffer<[c] x i64>, %y: !kern.buffer<[rows, 40] x f32>) {
  // expected-error @below {{'kern.gemm' op (29) expects an out with the columns [c], got [rows, 40]}}
  kern.gemm %x, %w outs(%y) columns(%i) : !x, !w, !kern.buffer<[rows, 40] x f32>, !kern.buffer<[c] x i64>
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[40, 8] x f32, panels32>
func.func @f(%x: !x, %w: !w, %i: !kern.buffer<[c] x i64>, %y: !kern.buffer<[n, c] x f32>) {
  // expected-error @below {{'kern.gemm' op (9) expects outs with the rows of the input, got [n, c] and [rows, 8]}}
  kern.gemm %x, %w outs(%y) columns(%i) : !x, !w, !kern.buffer<[n, c] x f32>, !kern.buffer<[c] x i64>
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[40, 8] x f32, panels32>
func.func @f(%x: !x, %w: !w, %i: !kern.buffer<[c] x i64>, %y: !kern.buffer<[rows, c] x f32>) {
  // expected-error @below {{'kern.gemm' op (30) expects a single out and no epilogue, residual, summary or splits beside columns}}
  kern.gemm %x, %w outs(%y) columns(%i) epilogue <gelu> : !x, !w, !kern.buffer<[rows, c] x f32>, !kern.buffer<[c] x i64>
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[40, 8] x f32, panels32>
func.func @f(%x: !x, %w: !w, %i: !kern.buffer<[c] x i64>, %y: !kern.buffer<[rows, c] x bf16>) {
  // expected-error @below {{'kern.gemm' op (30) expects f32 as the out beside columns, got 'bf16'}}
  kern.gemm %x, %w outs(%y) columns(%i) : !x, !w, !kern.buffer<[rows, c] x bf16>, !kern.buffer<[c] x i64>
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[40, 8] x f32, unset>
func.func @f(%x: !x, %w: !w, %i: !kern.buffer<[c] x i64>, %y: !kern.buffer<[rows, c] x f32>, %p: !kern.buffer<[2, 1280] x i8>) {
  // expected-error @below {{'kern.gemm' op (31) expects 'panels' beside columns of a weight with a layout only}}
  kern.gemm %x, %w outs(%y) columns(%i) panels(%p) : !x, !w, !kern.buffer<[rows, c] x f32>, !kern.buffer<[c] x i64>, !kern.buffer<[2, 1280] x i8>
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[40, 8] x f32, panels32>
func.func @f(%x: !x, %w: !w, %y: !kern.buffer<[rows, 40] x f32>, %p: !kern.buffer<[2, 1280] x i8>) {
  // expected-error @below {{'kern.gemm' op (31) expects 'panels' beside columns of a weight with a layout only}}
  kern.gemm %x, %w outs(%y) panels(%p) : !x, !w, !kern.buffer<[rows, 40] x f32>, !kern.buffer<[2, 1280] x i8>
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[40, 8] x f32, panels32>
func.func @f(%x: !x, %w: !w, %i: !kern.buffer<[c] x i64>, %y: !kern.buffer<[rows, c] x f32>, %p: !kern.buffer<[2, 1024] x i8>) {
  // expected-error @below {{'kern.gemm' op (31) expects 'panels' of i8 [p, 1280], got '!kern.buffer<[2, 1024] x i8>'}}
  kern.gemm %x, %w outs(%y) columns(%i) panels(%p) : !x, !w, !kern.buffer<[rows, c] x f32>, !kern.buffer<[c] x i64>, !kern.buffer<[2, 1024] x i8>
  return
}

// One case for each constraint on attn.rope_table and attn.rope.
// RUN: transom-opt %s -split-input-file -verify-diagnostics
func.func @f(%p: tensor<5xf32>) {
  // expected-error @below {{'attn.rope_table' op (1) expects i64 positions of rank 1 or more, got f32 [5]}}
  %0 = attn.rope_table %p {frequencies = array<f64: 1.0>, limit = 4 : i64} : [5] f32
  return
}

// -----

func.func @f(%p: tensor<5xi64>) {
  // expected-error @below {{'attn.rope_table' op (2) expects at least one frequency}}
  %0 = attn.rope_table %p {frequencies = array<f64>, limit = 4 : i64} : [5] i64
  return
}

// -----

func.func @f(%p: tensor<5xi64>) {
  // expected-error @below {{'attn.rope_table' op (2) expects finite frequencies, got}}
  %0 = attn.rope_table %p {frequencies = array<f64: 0x7FF0000000000000>, limit = 4 : i64} : [5] i64
  return
}

// -----

func.func @f(%p: tensor<5xi64>) {
  // expected-error @below {{'attn.rope_table' op (3) expects a finite factor, got}}
  %0 = attn.rope_table %p {frequencies = array<f64: 1.0>, factor = 0x7FF0000000000000 : f64, limit = 4 : i64} : [5] i64
  return
}

// -----

func.func @f(%p: tensor<5xi64>) {
  // expected-error @below {{'attn.rope_table' op (4) expects a limit between 1 and 2147483647, got 0}}
  %0 = attn.rope_table %p {frequencies = array<f64: 1.0>, limit = 0 : i64} : [5] i64
  return
}

// -----

func.func @f(%x: tensor<5x8xf32>, %r: tensor<5x2xf64>) {
  // expected-error @below {{'attn.rope' op (1) expects input and rope table of one element type, got 'f32' and 'f64'}}
  %0 = attn.rope %x, %r heads 2 : [5, 8] f32, [5, 2] f64
  return
}

// -----

func.func @f(%x: tensor<5x8xf32>, %r: tensor<4x2xf32>) {
  // expected-error @below {{'attn.rope' op (1) expects input and rope table of equal leading sizes, got [5, 8] and [4, 2]}}
  %0 = attn.rope %x, %r heads 2 : [5, 8] f32, [4, 2] f32
  return
}

// -----

func.func @f(%x: tensor<5x8xf32>, %r: tensor<5x2xf32>) {
  // expected-error @below {{'attn.rope' op (2) expects heads that divide the width '8', got 3}}
  %0 = attn.rope %x, %r heads 3 : [5, 8] f32, [5, 2] f32
  return
}

// -----

func.func @f(%x: tensor<5x8xf32>, %r: tensor<5x6xf32>) {
  // expected-error @below {{'attn.rope' op (3) expects a rope table of even width up to the head's 4, got '6'}}
  %0 = attn.rope %x, %r heads 2 : [5, 8] f32, [5, 6] f32
  return
}

// -----

func.func @f(%x: tensor<5x8xf32>, %r: tensor<5x3xf32>) {
  // expected-error @below {{'attn.rope' op (3) expects a rope table of even width up to the head's 4, got '3'}}
  %0 = attn.rope %x, %r heads 2 : [5, 8] f32, [5, 3] f32
  return
}

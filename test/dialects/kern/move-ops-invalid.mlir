// Numbered constraints on movements.
// RUN: transom-opt %s -split-input-file -verify-diagnostics

func.func @f(%i: !kern.buffer<[batch, seq] x i64>, %j: !kern.buffer<[batch, seq] x f32>) {
  // expected-error @below {{'kern.positions' op (1) expects i64, got 'f32'}}
  kern.positions %i outs(%j) pad 1 : !kern.buffer<[batch, seq] x i64>, !kern.buffer<[batch, seq] x f32>
  return
}

// -----

func.func @f(%i: !kern.buffer<[batch, seq] x i64>, %j: !kern.buffer<[batch, n] x i64>) {
  // expected-error @below {{'kern.positions' op (2) expects ids and outs of equal sizes, got [batch, seq] and [batch, n]}}
  kern.positions %i outs(%j) pad 1 : !kern.buffer<[batch, seq] x i64>, !kern.buffer<[batch, n] x i64>
  return
}

// -----

func.func @f(%s: !kern.ragged<0>, %y: !kern.buffer<[rows] x f32>) {
  // expected-error @below {{'kern.columns' op (1) expects i64, got 'f32'}}
  kern.columns %s outs(%y) : !kern.ragged<0>, !kern.buffer<[rows] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[batch, seq, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[rows, 8] x i64>) {
  // expected-error @below {{'kern.gather_rows' op (1) expects input and outs of one element type, got 'f32' and 'i64'}}
  kern.gather_rows %x ragged %s outs(%y) : !kern.buffer<[batch, seq, 8] x f32>, !kern.ragged<0>, !kern.buffer<[rows, 8] x i64>
  return
}

// -----

func.func @f(%x: !kern.buffer<[batch, seq, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[rows, 16] x f32>) {
  // expected-error @below {{'kern.gather_rows' op (2) expects [batch, columns, ...] and [rows, ...] with equal rests, got [batch, seq, 8] and [rows, 16]}}
  kern.gather_rows %x ragged %s outs(%y) : !kern.buffer<[batch, seq, 8] x f32>, !kern.ragged<0>, !kern.buffer<[rows, 16] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[batch, seq, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[rows, 8] x f32, stride 24>) {
  // expected-error @below {{'kern.gather_rows' op (3) expects dense buffers}}
  kern.gather_rows %x ragged %s outs(%y) : !kern.buffer<[batch, seq, 8] x f32>, !kern.ragged<0>, !kern.buffer<[rows, 8] x f32, stride 24>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x i64>, %s: !kern.ragged<0>, %y: !kern.buffer<[batch, seq, 8] x f32>) {
  // expected-error @below {{'kern.scatter_rows' op (1) expects input and outs of one element type, got 'f32' and 'i64'}}
  kern.scatter_rows %x ragged %s outs(%y) : !kern.buffer<[rows, 8] x i64>, !kern.ragged<0>, !kern.buffer<[batch, seq, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 16] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[batch, seq, 8] x f32>) {
  // expected-error @below {{'kern.scatter_rows' op (2) expects [batch, columns, ...] and [rows, ...] with equal rests, got [batch, seq, 8] and [rows, 16]}}
  kern.scatter_rows %x ragged %s outs(%y) : !kern.buffer<[rows, 16] x f32>, !kern.ragged<0>, !kern.buffer<[batch, seq, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[batch, seq, 8] x f32, stride 24>) {
  // expected-error @below {{'kern.scatter_rows' op (3) expects dense buffers}}
  kern.scatter_rows %x ragged %s outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.buffer<[batch, seq, 8] x f32, stride 24>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[batch, 8] x f32>) {
  // expected-error @below {{expected ::transom::kern::PoolKind to be one of: first, last, mean, sum, max, mean_sqrt, weighted_mean, first_key}}
  // expected-error @below {{failed to parse Kern_PoolKindAttr parameter 'value'}}
  kern.pool <min> %x ragged %s outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.buffer<[batch, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %y: !kern.buffer<[batch, 7] x f32>) {
  // expected-error @below {{'kern.pool' op (2) expects outs [batch, d] of an input [.., d], got [batch, 7] and [rows, 8]}}
  kern.pool <mean> %x ragged %s outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.buffer<[batch, 7] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %s: !kern.ragged<0>, %m: !kern.buffer<[rows] x i64>, %y: !kern.buffer<[batch, 8] x f32>) {
  // expected-error @below {{'kern.pool' op (3) expects a bool mask, got 'i64'}}
  kern.pool <mean> %x ragged %s mask %m outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.ragged<0>, !kern.buffer<[rows] x i64>, !kern.buffer<[batch, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[8, rows] x f32>) {
  // expected-error @below {{'kern.transpose' op (1) expects a permutation of 2 dimensions, got [1, 1]}}
  kern.transpose %x outs(%y) [1, 1] : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[8, rows] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.transpose' op (2) expects outs [8, rows], got [rows, 8]}}
  kern.transpose %x outs(%y) [1, 0] : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[8, rows] x i64>) {
  // expected-error @below {{'kern.transpose' op (3) expects input and outs of one element type, got 'f32' and 'i64'}}
  kern.transpose %x outs(%y) [1, 0] : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[8, rows] x i64>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{'kern.copy' op (1) expects an axis of both buffers, got 2 of [rows, 8] and [rows, 4]}}
  kern.copy %x outs(%y) axis 2 from "4" to "0" size "4" : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{'kern.copy' op (2) expects a size as 'to', got 'seq*'}}
  kern.copy %x outs(%y) axis 1 from "4" to "seq*" size "4" : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[n, 4] x f32>) {
  // expected-error @below {{'kern.copy' op (3) expects equal sizes but of axis 1, got [rows, 8] and [n, 4]}}
  kern.copy %x outs(%y) axis 1 from "4" to "0" size "4" : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[n, 4] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{'kern.copy' op (4) expects a block within the input, got 4 from 5 of 8}}
  kern.copy %x outs(%y) axis 1 from "5" to "0" size "4" : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 4] x f32>) {
  // expected-error @below {{'kern.copy' op (4) expects a block within outs, got 4 from 1 of 4}}
  kern.copy %x outs(%y) axis 1 from "4" to "1" size "4" : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x f32>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 4] x i64>) {
  // expected-error @below {{'kern.copy' op (5) expects input and outs of one element type, got 'f32' and 'i64'}}
  kern.copy %x outs(%y) axis 1 from "4" to "0" size "4" : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 4] x i64>
  return
}

// -----

func.func @f(%t: !kern.buffer<[rows, 8] x f32>, %i: !kern.buffer<[n] x f32>, %y: !kern.buffer<[n, 8] x f32>) {
  // expected-error @below {{'kern.gather' op (1) expects i64 indices, got 'f32'}}
  kern.gather %t, %i outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[n] x f32>, !kern.buffer<[n, 8] x f32>
  return
}

// -----

func.func @f(%t: !kern.buffer<[rows, 8] x f32>, %i: !kern.buffer<[n] x i64>, %y: !kern.buffer<[n, 7] x f32>) {
  // expected-error @below {{'kern.gather' op (2) expects outs [n, 8], got [n, 7]}}
  kern.gather %t, %i outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[n] x i64>, !kern.buffer<[n, 7] x f32>
  return
}

// -----

func.func @f(%t: !kern.buffer<[rows, 8] x f32>, %i: !kern.buffer<[n] x i64>, %y: !kern.buffer<[n, 8] x i64>) {
  // expected-error @below {{'kern.gather' op (3) expects table and outs of one element type, got 'f32' and 'i64'}}
  kern.gather %t, %i outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[n] x i64>, !kern.buffer<[n, 8] x i64>
  return
}

// -----

func.func @f(%t: !kern.buffer<[rows] x f32>, %i: !kern.buffer<[n, 8] x i64>, %y: !kern.buffer<[n, 8] x f32, stride 24>) {
  // expected-error @below {{'kern.gather' op (4) expects dense buffers}}
  kern.gather %t, %i outs(%y) : !kern.buffer<[rows] x f32>, !kern.buffer<[n, 8] x i64>, !kern.buffer<[n, 8] x f32, stride 24>
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x i64>, %s: !kern.ragged<0>, %y: !kern.buffer<[batch, 8] x f32>) {
  // expected-error @below {{'kern.pool' op (1) expects f32 as the input, got 'i64'}}
  kern.pool <mean> %x ragged %s outs(%y) : !kern.buffer<[rows, 8] x i64>, !kern.ragged<0>, !kern.buffer<[batch, 8] x f32>
  return
}

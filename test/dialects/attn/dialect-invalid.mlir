// Sizes, shapes and cache types that do not parse or do not verify.
// RUN: transom-opt %s -split-input-file -verify-diagnostics
func.func @f(%x: tensor<*xf32>) {
  // expected-error @below {{size '-3' is negative}}
  %0 = attn.reshape %x to <[-3]> : tensor<*xf32>
  return
}

// -----

func.func @f(%x: tensor<*xf32>) {
  // expected-error @below {{expects a symbol or integer in a size}}
  %0 = attn.reshape %x to <[batch*]> : tensor<*xf32>
  return
}

// -----

// expected-error @below {{tensor of rank 2 has 1 named sizes}}
func.func @f(%x: tensor<?x4xf32, #attn.shape<[batch]>>) {
  return
}

// -----

// expected-error @below {{dimension 0 is '?' but its size is the constant '4'}}
func.func @f(%x: tensor<?x4xf32, #attn.shape<[4, 4]>>) {
  return
}

// -----

// expected-error @below {{dimension 1 is 4 but its size is 'seq'}}
func.func @f(%x: tensor<?x4xf32, #attn.shape<[batch, seq]>>) {
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @below {{expects a symbol or integer in a size}}
  %0 = attn.slice %a axis 1 from 0 size 1+ : [2, 3] f32
  return
}

// -----

func.func @f(%a: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{expects a symbol or integer in a size}}
  %0 = attn.pool <first> %a ragged(%s : <rows, keys>) batch + : [rows, 8] f32
  return
}

// -----

func.func @f(%a: tensor<?x8xf32, #attn.shape<[rows, 8]>>, %s: !attn.ragged<rows, keys>) {
  // expected-error @below {{expects a symbol or integer in a size}}
  %0 = attn.scatter_rows %a, %s to + x 2 : [rows, 8] f32, <rows, keys>
  return
}

// -----

// expected-error @below {{'!attn.cache' (1) expects heads between 1 and 2147483647, got 0}}
attn.cache @c : !attn.cache<heads 0, key 4, value 4>

// -----

// expected-error @below {{'!attn.cache' (1) expects value between 1 and 2147483647, got 2147483648}}
attn.cache @c : !attn.cache<heads 1, key 4, value 2147483648>

// -----

// expected-error @below {{'!attn.cache' (2) expects at most 2147483647 numbers a position, got 65536 heads of 32768 and 1}}
attn.cache @c : !attn.cache<heads 65536, key 32768, value 1>

// -----

// expected-error @below {{'!attn.cache' (3) expects window between 0 and 2147483647, got -1}}
attn.cache @c : !attn.cache<heads 1, key 4, value 4, window -1>

// -----

// expected-error @below {{'!attn.cache' (4) expects positions between 0 and 2147483647 and no window in a read-only cache, got -1 and the window 0}}
attn.cache @c : !attn.cache<heads 1, key 4, value 4, read_only -1>

// -----

// expected-error @below {{'!attn.cache' (4) expects positions between 0 and 2147483647 and no window in a read-only cache, got 96 and the window 8}}
attn.cache @c : !attn.cache<heads 1, key 4, value 4, window 8, read_only 96>

// Numbered constraints on buffers, weights and caches.
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

// expected-error @below {{'!kern.weight' (1) expects f32 or bf16 in layout 'rows', got 'i8'}}
func.func private @f(!kern.weight<[8, 32] x #kern.format<i8, group 32, scales f16>, rows>)

// -----

// expected-error @below {{'!kern.cache' (1) expects positive sizes and at most 2147483647 numbers a position, got 0 heads with keys of 4 and values of 4}}
func.func private @f(!kern.cache<heads 0, key 4, value 4, f32>)

// -----

// expected-error @below {{'!kern.cache' (2) expects a window that is not negative, got -1}}
func.func private @f(!kern.cache<heads 2, key 4, value 4, window -1, f32>)

// -----

// expected-error @below {{'!kern.cache' (1) expects positive sizes and at most 2147483647 numbers a position, got 65536 heads with keys of 32768 and values of 1}}
func.func private @f(!kern.cache<heads 65536, key 32768, value 1, f32>)

// -----

// expected-error @below {{'!kern.cache' (3) expects elements of f32, bf16, i8, got 'f16'}}
func.func private @f(!kern.cache<heads 2, key 4, value 4, f16>)

// -----

// expected-error @below {{'!kern.cache' (4) expects positions that are not negative and no window in a read-only cache, got -1 and the window 0}}
func.func private @f(!kern.cache<heads 2, key 4, value 4, read_only -1, f32>)

// -----

// expected-error @below {{'!kern.cache' (4) expects positions that are not negative and no window in a read-only cache, got 8 and the window 3}}
func.func private @f(!kern.cache<heads 2, key 4, value 4, window 3, read_only 8, f32>)

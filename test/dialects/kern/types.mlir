// The kern types, printed and read again; sizes are printed in their canonical form.
// RUN: transom-opt %s | transom-opt | FileCheck %s

// CHECK: func.func private @buffers(!kern.buffer<[rows, 768] x f32>, !kern.buffer<[rows, 3072] x f32, stride 3088>, !kern.buffer<[keys, 768] x bf16, key_panels>, !kern.buffer<[batch*seq+1] x i1>)
func.func private @buffers(!kern.buffer<[rows, 768] x f32>, !kern.buffer<[rows, 3072] x f32, stride 3088>, !kern.buffer<[keys, 768] x bf16, key_panels>, !kern.buffer<[1+seq*batch] x i1>)

// CHECK: func.func private @weights(!kern.weight<[8] x f32, unset>, !kern.weight<[8, 4] x bf16, rows>, !kern.weight<[24, 8] x f32, panels32, splits [8, 16]>, !kern.weight<[8] x f32, padded32>)
func.func private @weights(!kern.weight<[8] x f32, unset>, !kern.weight<[8, 4] x bf16, rows>, !kern.weight<[24, 8] x f32, panels32, splits [8, 16]>, !kern.weight<[8] x f32, padded32>)

// CHECK: func.func private @ragged(!kern.ragged<0>, !kern.ragged<7>)
func.func private @ragged(!kern.ragged<0>, !kern.ragged<7>)

// CHECK: func.func private @caches(!kern.cache<heads 4, key 64, value 32, f32>, !kern.cache<heads 1, key 8, value 8, window 4096, bf16>, !kern.cache<heads 2, key 8, value 8, i8>)
func.func private @caches(!kern.cache<heads 4, key 64, value 32, f32>, !kern.cache<heads 1, key 8, value 8, window 4096, bf16>, !kern.cache<heads 2, key 8, value 8, window 0, i8>)

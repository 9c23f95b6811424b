// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512 | FileCheck %s

// The score kernel scales scores, hides lanes after the last key and updates
// the row maxima. The value kernel divides by the sum.
// CHECK-DAG: llvm.func internal @"transom.k.[[ISA:[a-z0-9]+]].f32.1x{{[0-9]+}}.k8.lda16.ldb32.zero_scores7.21347511e-01_prefetch"(
// CHECK-DAG: llvm.func internal @transom.k.{{.*}}.f32.1x{{[0-9]+}}.lda272.ldb16{{.*}}.zero_normalize{{.*}}_prefetch(
func.func @f(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 16] x f32, key_panels>, %v: !kern.buffer<[rows, 16] x f32>,
             %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>) attributes {kern.symbols = ["batch", "keys", "parts", "rows", "seq"]} {
  %s = kern.ragged_batch {batch = "batch", columns = "seq", rows = "rows", keys = "keys"} : !kern.ragged<0>
  kern.phase "attention" {
    kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 :
        !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 16] x f32, key_panels>, !kern.buffer<[rows, 16] x f32>, !kern.ragged<0>, !kern.ragged<0>,
        !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  }
  return
}

// Scales that differ in their last bits have separate kernels.
// CHECK-DAG: .zero_scores6.45192862e-01_prefetch"(
// CHECK-DAG: .zero_scores6.45192802e-01_prefetch"(
func.func @near_scales(%q: !kern.buffer<[rows, 16] x f32>, %k: !kern.buffer<[keys, 16] x f32, key_panels>, %v: !kern.buffer<[rows, 16] x f32>,
                       %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %z: !kern.buffer<[rows, 16] x f32>) attributes {kern.symbols = ["batch", "keys", "parts", "rows", "seq"]} {
  %s = kern.ragged_batch {batch = "batch", columns = "seq", rows = "rows", keys = "keys"} : !kern.ragged<0>
  kern.phase "first" {
    kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.44721359549995793 :
        !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 16] x f32, key_panels>, !kern.buffer<[rows, 16] x f32>, !kern.ragged<0>, !kern.ragged<0>,
        !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  }
  kern.phase "second" {
    kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%z) heads 2 kv_heads 2 scale 0.44721358893387592 :
        !kern.buffer<[rows, 16] x f32>, !kern.buffer<[keys, 16] x f32, key_panels>, !kern.buffer<[rows, 16] x f32>, !kern.ragged<0>, !kern.ragged<0>,
        !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  }
  return
}

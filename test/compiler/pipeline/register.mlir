// RUN: transom-opt %s --transom-llvm-ir=isa=avx512 | FileCheck %s

// Each stage with passes is a pipeline with the name of `--emit`, here from kern
// to the LLVM dialect.

// CHECK: llvm.func @transom.p.avx512.softmax(
// CHECK-NOT: kern.
// CHECK-NOT: scf.
func.func @f(%x: !kern.buffer<[n, 16] x f32>) attributes {kern.symbols = ["n"]} {
  kern.phase "softmax" {
    kern.softmax %x outs(%x) : !kern.buffer<[n, 16] x f32>, !kern.buffer<[n, 16] x f32>
  }
  return
}

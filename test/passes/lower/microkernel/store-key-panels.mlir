// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s --check-prefix=WORDS
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512 | FileCheck %s --check-prefix=TRANSPOSED

// The GEMM writes key panels: word by word with AVX2, transposed and in runs
// with consecutive positions with AVX-512.
// WORDS: llvm.func internal @transom.k.avx2.f32.1x16.k32.lda32.ldb32.zero_keys_prefetch(
// WORDS: vector.extract
// WORDS: llvm.store {{.*}} : i32
// WORDS-NOT: llvm.intr.masked.store
// TRANSPOSED: llvm.func internal @transom.k.avx512.f32.1x32.k32.lda32.ldb32.zero_keys_prefetch(
// TRANSPOSED: vector.shuffle
// TRANSPOSED: scf.for {{.*}} -> (i64)
// TRANSPOSED: llvm.intr.masked.store
func.func @f(%x: !kern.buffer<[rows, 32] x f32>, %k: !kern.buffer<[keys, 32] x f32, key_panels>) attributes {kern.symbols = ["batch", "keys", "rows", "seq"]} {
  %s = kern.ragged_batch {batch = "batch", columns = "seq", rows = "rows", keys = "keys"} : !kern.ragged<0>
  %w = kern.get_weight @w : !kern.weight<[32, 32] x f32, panels32>
  kern.phase "keys" {
    kern.gemm %x, %w ragged %s outs(%k) : !kern.buffer<[rows, 32] x f32>, !kern.weight<[32, 32] x f32, panels32>, !kern.ragged<0>,
        !kern.buffer<[keys, 32] x f32, key_panels>
  }
  return
}
kern.weight @w : !kern.weight<[32, 32] x f32, panels32> = #weight.expr<file("w")> {offset = 0}

// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s --check-prefixes=CHECK
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512 | FileCheck %s --check-prefixes=CHECK

// Row chunks are small if weights stay in the last-level cache, and still
// smaller with a norm, so that the rows are in the cache when they are read.
// CHECK: args = {chunk = "85"{{[^{}]*}}}{{[^{}]*}}name = "product-tiled"
// CHECK-SAME: args = {chunk = "42"{{[^{}]*}}}{{[^{}]*}}name = "product-tiled"

// A GLU: the tile is staged on the stack, activated columns and values are separated by
// shuffles.
// CHECK: llvm.func @transom.p.{{.*}}.glu(
// CHECK: llvm.func internal @transom.k.{{.*}}_glu_silu_prefetch(
// CHECK: llvm.alloca
// CHECK: vector.shuffle
// CHECK: vector.shuffle

// A fused norm: each tile prefetches the columns that the norm will write. The
// worker that counts the last tile in a row block resets the counter and
// normalizes.
// CHECK: llvm.func @transom.p.{{.*}}.norm(
// CHECK: llvm.intr.prefetch
// CHECK: llvm.call
// CHECK: %[[BEFORE:.*]] = llvm.atomicrmw add %[[COUNTER:.*]], %[[DONE:.*]] acq_rel
// CHECK: %[[ALL:.*]] = arith.addi %[[BEFORE]], %[[DONE]]
// CHECK: arith.cmpi eq, %[[ALL]]
// CHECK: scf.if
// CHECK: llvm.store %{{.*}}, %[[COUNTER]]
// CHECK: llvm.intr.sqrt
func.func @f(%x: !kern.buffer<[rows, 32] x f32>, %a: !kern.buffer<[rows, 32] x f32>, %y: !kern.buffer<[rows, 32] x f32>,
             %z: !kern.buffer<[rows, 32] x f32>, %c: !kern.buffer<[rows] x i64>) attributes {kern.symbols = ["rows"]} {
  %gu = kern.get_weight @gu : !kern.weight<[64, 32] x f32, panels32>
  kern.phase "glu" {
    kern.gemm %x, %gu outs(%a) epilogue <glu silu> : !kern.buffer<[rows, 32] x f32>, !kern.weight<[64, 32] x f32, panels32>, !kern.buffer<[rows, 32] x f32>
  }
  %w = kern.get_weight @w : !kern.weight<[32, 32] x f32, panels32>
  %g = kern.get_weight @g : !kern.weight<[32] x f32, rows>
  kern.phase "norm" {
    kern.gemm %a, %w norm %g norm_out %z counters %c outs(%y) epilogue <rms_norm 1.0e-5> : !kern.buffer<[rows, 32] x f32>,
        !kern.weight<[32, 32] x f32, panels32>, !kern.weight<[32] x f32, rows>, !kern.buffer<[rows, 32] x f32>, !kern.buffer<[rows] x i64>,
        !kern.buffer<[rows, 32] x f32>
  }
  return
}
kern.weight @gu : !kern.weight<[64, 32] x f32, panels32> = #weight.expr<file("gu")> {offset = 0}
kern.weight @w : !kern.weight<[32, 32] x f32, panels32> = #weight.expr<file("w")> {offset = 8192}
kern.weight @g : !kern.weight<[32] x f32, rows> = #weight.expr<file("g")> {offset = 12288}

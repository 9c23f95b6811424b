// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 --canonicalize --cse | FileCheck %s

// A layer body reads its weights at the offsets in the layer's table, an entry
// at constant offsets. Body buffers are the call site's buffers.

kern.weight @a : !kern.weight<[16] x f32, rows> = #weight.expr<file("a")> {offset = 64}
kern.weight @b : !kern.weight<[16] x f32, rows> = #weight.expr<file("b")> {offset = 128}

// CHECK-LABEL: llvm.func @transom.p.avx2.entry(
// CHECK-SAME: %[[FRAME:.*]]: !llvm.ptr, %[[OFFSETS:.*]]: !llvm.ptr
// CHECK: arith.constant 64 : i64
// CHECK-NOT: llvm.load %[[OFFSETS]]
// CHECK: llvm.return
func.func @f(%x: !kern.buffer<[n, 16] x f32>) attributes {kern.symbols = ["n"]} {
  %g = kern.get_weight @a : !kern.weight<[16] x f32, rows>
  kern.phase "entry" {
    kern.norm %x, %g outs(%x) eps 1.0e-5 {rms} : !kern.buffer<[n, 16] x f32>, !kern.weight<[16] x f32, rows>, !kern.buffer<[n, 16] x f32>
  }
  kern.layers %x [@body(@a), @body(@b)] : !kern.buffer<[n, 16] x f32>
  return
}

// CHECK-LABEL: llvm.func @transom.p.avx2.body(
// CHECK-SAME: %[[FRAME:.*]]: !llvm.ptr, %[[OFFSETS:.*]]: !llvm.ptr
// CHECK: llvm.load %[[OFFSETS]] {{.*}} -> i64
// CHECK: llvm.return
func.func private @body(%x: !kern.buffer<[n, 16] x f32>, %g: !kern.weight<[16] x f32, rows>) {
  kern.phase "body" {
    kern.norm %x, %g outs(%x) eps 1.0e-5 {rms} : !kern.buffer<[n, 16] x f32>, !kern.weight<[16] x f32, rows>, !kern.buffer<[n, 16] x f32>
  }
  return
}

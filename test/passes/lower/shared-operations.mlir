// RUN: transom-opt %s --convert-kern-to-llvm="isa=avx2 share-from=6" --canonicalize --cse | FileCheck %s
// RUN: transom-opt %s --convert-kern-to-llvm="isa=avx2 share-from=7" | FileCheck %s --check-prefix=INLINE

// From a certain operation count on, phases call a function for each operation.
// Operations that differ only in their buffers and weights share one.

// CHECK: args = {functions = "4", isa = "avx2", operations = "6"}{{[^{}]*}}kind = "passed"{{[^{}]*}}name = "operations-share-code"
// INLINE: args = {isa = "avx2", limit = "7", operations = "6"}{{[^{}]*}}name = "operations-have-own-code"
// INLINE-NOT: transom.o.

kern.weight @a : !kern.weight<[16] x f32, rows> = #weight.expr<file("a")> {offset = 64}
kern.weight @b : !kern.weight<[16] x f32, rows> = #weight.expr<file("b")> {offset = 128}

!x = !kern.buffer<[n, 16] x f32>
!w = !kern.weight<[16] x f32, rows>

// CHECK-LABEL: llvm.func @transom.p.avx2.norms(
// CHECK-SAME: %[[FRAME:.*]]: !llvm.ptr, %[[OFFSETS:.*]]: !llvm.ptr, %[[WORKER:.*]]: i64, %[[WORKERS:.*]]: i64)
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : i64
// CHECK-DAG: %[[C4:.*]] = arith.constant 4 : i64
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : i64
// CHECK-DAG: %[[C128:.*]] = arith.constant 128 : i64
// CHECK: llvm.call @transom.o.avx2.0.norm(%[[FRAME]], %[[OFFSETS]], %[[WORKER]], %[[WORKERS]], %[[C3]], %[[C64]], %[[C4]])
// CHECK-NEXT: llvm.call @transom.o.avx2.0.norm(%[[FRAME]], %[[OFFSETS]], %[[WORKER]], %[[WORKERS]], %[[C4]], %[[C128]], %[[C3]])
// Another epsilon, or an output that is the input, is another function.
// CHECK-NEXT: llvm.call @transom.o.avx2.1.norm(
// CHECK-NEXT: llvm.call @transom.o.avx2.2.norm({{.*}}, %[[C3]], %[[C64]]) :
// Entry arguments are not passed as numbers.
// CHECK-NEXT: llvm.call @transom.o.avx2.3.norm({{.*}}, %[[C64]], %[[C3]]) :
// CHECK-NEXT: llvm.return

// The slots and the offset are function arguments.
// CHECK: llvm.func internal @transom.o.avx2.0.norm(
// CHECK-SAME: %[[FRAME:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %[[IN:.*]]: i64, %[[WEIGHT:.*]]: i64, %[[OUT:.*]]: i64)
// CHECK-SAME: no_inline
// CHECK: llvm.getelementptr inbounds %{{.*}}[%[[WEIGHT]]]
// CHECK: llvm.return

// A layer body calls the same function with its layer's offset.
// CHECK-LABEL: llvm.func @transom.p.avx2.body(
// CHECK-SAME: %[[FRAME:.*]]: !llvm.ptr, %[[OFFSETS:.*]]: !llvm.ptr
// CHECK: %[[OFFSET:.*]] = llvm.load %[[OFFSETS]] {{.*}} -> i64
// CHECK: llvm.call @transom.o.avx2.0.norm(%[[FRAME]], %[[OFFSETS]], %{{.*}}, %{{.*}}, %{{.*}}, %[[OFFSET]], %{{.*}})

func.func @f(%x: !x) attributes {kern.symbols = ["n"]} {
  %g = kern.get_weight @a : !w
  %h = kern.get_weight @b : !w
  %y = kern.alloc {slot = 3} : !x
  %z = kern.alloc {slot = 4} : !x
  kern.phase "norms" {
    kern.norm %y, %g outs(%z) eps 1.0e-5 {rms} : !x, !w, !x
    kern.norm %z, %h outs(%y) eps 1.0e-5 {rms} : !x, !w, !x
    kern.norm %y, %g outs(%z) eps 1.0e-6 {rms} : !x, !w, !x
    kern.norm %y, %g outs(%y) eps 1.0e-5 {rms} : !x, !w, !x
    kern.norm %x, %g outs(%y) eps 1.0e-5 {rms} : !x, !w, !x
  }
  kern.layers %y invariants(%z : !x) [@body(@a), @body(@b)] : !x
  return
}

func.func private @body(%y: !x, %z: !x, %g: !w) {
  kern.phase "body" {
    kern.norm %y, %g outs(%z) eps 1.0e-5 {rms} : !x, !w, !x
  }
  return
}

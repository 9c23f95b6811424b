// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s
// RUN: transom-opt %s --transom-llvm-ir=isa=neon | FileCheck %s --check-prefix=LLVM

!x = !kern.buffer<[rows, 8] x f32>

// A slice with contiguous rows is copied by vectors, a transposition element by
// element.
// CHECK-NOT: 'kern.copy'
// CHECK: args = {operation = "'kern.transpose'"}{{[^{}]*}}kind = "missed"{{[^{}]*}}name = "copied-by-element"
// CHECK: llvm.func @transom.p.avx2.slice(
// CHECK: llvm.store {{.*}} : vector<16xf32>
// CHECK: llvm.func @transom.p.avx2.transpose(
// CHECK-NOT: vector<16xf32>
// CHECK: llvm.store {{.*}} : f32
// LLVM: llvm.func @transom.p.neon.slice(
func.func @f(%x: !x, %t: !kern.buffer<[8, rows] x f32>, %h: !kern.buffer<[rows, 4] x f32>) attributes {kern.symbols = ["rows"]} {
  kern.phase "slice" { kern.copy %x outs(%h) axis 1 from "4" to "0" size "4" : !x, !kern.buffer<[rows, 4] x f32> }
  kern.phase "transpose" { kern.transpose %x outs(%t) [1, 0] : !x, !kern.buffer<[8, rows] x f32> }
  return
}

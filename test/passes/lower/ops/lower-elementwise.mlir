// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 | FileCheck %s
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512bf16 | FileCheck %s
// RUN: transom-opt %s --transom-llvm-ir=isa=neon | FileCheck %s --check-prefix=LLVM

!x = !kern.buffer<[rows, 20] x f32>

// The region runs on 16-column vectors; a weight is broadcast over rows.
// CHECK: llvm.func @transom.p.{{.*}}.add(
// CHECK: %[[X:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: %[[G:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: %[[SUM:.*]] = arith.addf %[[X]], %[[G]] : vector<16xf32>
// CHECK: arith.cmpf olt
// CHECK: llvm.store {{.*}} : vector<16xf32>
// CHECK: llvm.intr.masked.load

// Division by zero must not trap, in disabled lanes neither.
// CHECK: llvm.func @transom.p.{{.*}}.divide(
// CHECK: arith.ori
// CHECK: %[[SAFE:.*]] = arith.select
// CHECK: arith.divsi %{{.*}}, %[[SAFE]] : vector<16xi64>

// LLVM: llvm.func @transom.p.neon.add(
func.func @f(%x: !x, %y: !x, %i: !kern.buffer<[rows, 20] x i64>) attributes {kern.symbols = ["rows"]} {
  %g = kern.get_weight @g : !kern.weight<[20] x f32, rows>
  kern.phase "add" {
    kern.elementwise ins(%x, %g) outs(%y) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      %d = kern.apply <relu> %c
      kern.yield %d : f32
    } : (!x, !kern.weight<[20] x f32, rows>) -> !x
  }
  kern.phase "divide" {
    kern.elementwise ins(%i, %i) outs(%i) {
    ^bb0(%a: i64, %b: i64):
      %c = arith.divsi %a, %b : i64
      kern.yield %c : i64
    } : (!kern.buffer<[rows, 20] x i64>, !kern.buffer<[rows, 20] x i64>) -> !kern.buffer<[rows, 20] x i64>
  }
  return
}
kern.weight @g : !kern.weight<[20] x f32, rows> = #weight.expr<file("g")> {offset = 0}

// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx2 --canonicalize --cse | FileCheck %s
// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512 --canonicalize --cse | FileCheck %s
// RUN: transom-opt %s --transom-llvm-ir=isa=neon | FileCheck %s --check-prefix=LLVM

!x = !kern.buffer<[n, 8] x f32>
!y = !kern.buffer<[n, 48] x f32>
!w = !kern.weight<[144, 8] x f32, panels32, splits [48, 48, 48]>
!b = !kern.weight<[144] x f32, padded32, splits [48, 48, 48]>
kern.weight @w : !w = #weight.expr<file("w")> {offset = 64 : i64}
kern.weight @b : !b = #weight.expr<file("b")> {offset = 8192 : i64}

// CHECK: args = {columns = "{{16|32}}", computed = "{{48|64}}", groups = "3", isa = "{{[a-z0-9]+}}", rows = "{{6|14}}", used = "48", waste = "{{0|25}}"}{{[^{}]*}}name = "group-product-tiled"
// A loop over three groups: its rows are between two offsets, and the workers
// share its tiles. The kernel is from the table by rows.
// CHECK: llvm.func @transom.p.{{.*}}.experts(
// CHECK: scf.for %[[GROUP:.*]] = %{{.*}} to %c3_i64
// CHECK: %[[FIRST:.*]] = llvm.load {{.*}} -> i64
// CHECK: %[[END:.*]] = llvm.load {{.*}} -> i64
// CHECK: arith.subi %[[END]], %[[FIRST]]
// CHECK: scf.for
// CHECK: llvm.call
// LLVM: llvm.func @transom.p.neon.experts(
func.func @f(%x: !x, %o: !kern.buffer<[4] x i64>, %y: !y) attributes {kern.symbols = ["n"]} {
  %w = kern.get_weight @w : !w
  %b = kern.get_weight @b : !b
  kern.phase "experts" { kern.group_gemm %x, %w bias %b offsets %o outs(%y) : !x, !w, !b, !kern.buffer<[4] x i64>, !y }
  return
}

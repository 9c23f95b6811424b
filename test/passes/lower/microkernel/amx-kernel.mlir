// RUN: transom-opt %s --convert-kern-to-llvm=isa=amx | FileCheck %s

!x = !kern.buffer<[rows, 64] x bf16>
!y = !kern.buffer<[rows, 40] x f32>
!w = !kern.weight<[40, 64] x bf16, panels32>

// A kernel loops over row blocks, and configures the tiles if a block has another row count
// than the previous one. A block's epilogue is between the next one's steps, the last epilogue
// after the loop. The second panel has 8 columns, for which the loop stores with masks.
// CHECK-LABEL: llvm.func internal @transom.k.amx.bf16.32x32.k64.lda64.ldb32.zero_relu_prefetch_amx(
// CHECK: scf.if
// CHECK: scf.for
// CHECK: arith.cmpi eq
// CHECK: scf.if
// CHECK: "llvm.x86.ldtilecfg"
// CHECK: scf.for %{{.*}} to %c2_i64
// CHECK: "llvm.x86.tdpbf16ps"
// CHECK: scf.for
// CHECK: arith.cmpf
// CHECK: llvm.store {{.*}} : vector<16xf32>, !llvm.ptr
// CHECK: "llvm.x86.tilestored64"
// CHECK: scf.for
// CHECK: arith.cmpf
// CHECK: llvm.store {{.*}} : vector<16xf32>, !llvm.ptr
// CHECK: else
// CHECK: "llvm.x86.tdpbf16ps"
// CHECK: llvm.intr.masked.store
func.func @f(%x: !x, %y: !y) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !w
  kern.phase "gemm" {
    kern.gemm %x, %w outs(%y) epilogue <relu> : !x, !w, !y
  }
  return
}
kern.weight @w : !w = #weight.expr<file("w")> {offset = 0}

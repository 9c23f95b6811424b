// RUN: transom-opt %s --convert-kern-to-llvm=isa=avx512 | FileCheck %s

// CHECK: args = {isa = "avx512"}{{[^{}]*}}kind = "analysis"{{[^{}]*}}name = "weight-is-dequantized"
// CHECK-NOT: int8-is-widened

!x = !kern.buffer<[rows, 128] x f32>
!w = !kern.weight<[32, 128] x #kern.format<i8, group 128, scales f16, interleave 4>, panels32>
!y = !kern.buffer<[rows, 32] x f32>

// Rows stay f32. The four elements in a word are shifted out, converted, and
// multiplied with their column's scale.
// CHECK-LABEL: llvm.func internal @transom.k.{{.*}}.f32.1x
// CHECK: arith.extf
// CHECK: arith.shrsi
// CHECK: arith.sitofp
// CHECK: fma
func.func @product(%x: !x, %y: !y) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !w
  kern.phase "product" {
    kern.gemm %x, %w outs(%y) : !x, !w, !y
  }
  return
}
kern.weight @w : !w = #weight.expr<file("w")> {offset = 0}

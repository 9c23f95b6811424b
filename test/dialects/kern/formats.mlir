// Operand formats: type names, scales and offsets by group, scales in two levels.
// RUN: transom-opt %s | transom-opt | FileCheck %s

// CHECK: kern.weight @f32 : !kern.weight<[64, 256] x f32, panels32>
kern.weight @f32 : !kern.weight<[64, 256] x #kern.format<f32>, panels32> = #weight.expr<file("w")>

// CHECK: kern.weight @bf16 : !kern.weight<[64, 256] x bf16, panels32>
kern.weight @bf16 : !kern.weight<[64, 256] x #kern.format<bf16, interleave 2>, panels32> = #weight.expr<file("w")>

// CHECK: kern.weight @int8 : !kern.weight<[64, 256] x #kern.format<i8, group 32, scales f16, interleave 4>, panels32>
kern.weight @int8 : !kern.weight<[64, 256] x #kern.format<i8, group 32, scales f16, interleave 4>, panels32> = #weight.expr<file("w")>

// CHECK-LABEL: kern.weight @minimum_of_each_group
// CHECK-SAME: #kern.format<ui4, group 32, scales f16, minimums f16, interleave 2>
kern.weight @minimum_of_each_group : !kern.weight<[64, 256] x #kern.format<ui4, interleave 2, group 32, minimums f16, scales f16>, panels32> = #weight.expr<file("w")>

// CHECK-LABEL: kern.weight @scales_in_two_levels
// CHECK-SAME: #kern.format<ui4, group 32, scales ui8, minimums ui8, block 256, block_scales f16, interleave 2>
kern.weight @scales_in_two_levels : !kern.weight<[64, 256] x #kern.format<ui4, group 32, scales ui8, minimums ui8, block 256, block_scales f16, interleave 2>, panels32> = #weight.expr<file("w")>

// A quantized GEMM has scales, two columns for each group.
// CHECK-LABEL: func.func @product
func.func @product(%x: !kern.buffer<[rows, 256] x i8>, %s: !kern.buffer<[rows, 16] x f32>, %y: !kern.buffer<[rows, 64] x f32>) {
  %w = kern.get_weight @int8 : !kern.weight<[64, 256] x #kern.format<i8, group 32, scales f16, interleave 4>, panels32>
  // CHECK: kern.gemm %{{.*}}, %{{.*}} scales %{{.*}} outs
  kern.gemm %x, %w scales %s outs(%y) : !kern.buffer<[rows, 256] x i8>,
      !kern.weight<[64, 256] x #kern.format<i8, group 32, scales f16, interleave 4>, panels32>, !kern.buffer<[rows, 16] x f32>,
      !kern.buffer<[rows, 64] x f32>
  return
}

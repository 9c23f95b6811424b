// RUN: transom-opt %s --verify-diagnostics --convert-kern-to-llvm=isa=avx2

// A format that has no lowering is refused, not read as another one.
func.func @f(%x: !kern.buffer<[rows, 256] x i8>, %s: !kern.buffer<[rows, 16] x f32>, %y: !kern.buffer<[rows, 64] x f32>) attributes {kern.symbols = ["rows"]} {
  %w = kern.get_weight @w : !kern.weight<[64, 256] x #kern.format<i8, group 32, scales bf16, interleave 4>, panels32>
  kern.phase "gemm" {
    // expected-error @+1 {{weight in format 'i8, group 32, scales bf16, interleave 4' is not supported; supported: 'f32', 'bf16, interleave 2', 'bf16', 'i8, group 32, scales f32, interleave 4', 'i8, group 64, scales f32, interleave 4', 'i8, group 128, scales f32, interleave 4', 'i8, group 256, scales f32, interleave 4', 'i8, group 512, scales f32, interleave 4', 'i8, group 1024, scales f32, interleave 4', 'i4, group 32, scales f16, interleave 8', 'i4, group 64, scales f16, interleave 8', 'i4, group 128, scales f16, interleave 8', 'i4, group 256, scales f16, interleave 8', 'i4, group 512, scales f16, interleave 8', 'i4, group 1024, scales f16, interleave 8', 'ui4, group 32, scales f16, minimums f16, interleave 8', 'ui4, group 64, scales f16, minimums f16, interleave 8', 'ui4, group 128, scales f16, minimums f16, interleave 8', 'ui4, group 256, scales f16, minimums f16, interleave 8', 'ui4, group 512, scales f16, minimums f16, interleave 8', 'ui4, group 1024, scales f16, minimums f16, interleave 8', 'i8, group 32, scales f16, interleave 4', 'i8, group 64, scales f16, interleave 4', 'i8, group 128, scales f16, interleave 4', 'i8, group 256, scales f16, interleave 4', 'i8, group 512, scales f16, interleave 4', 'i8, group 1024, scales f16, interleave 4', 'ui4, group 64, scales f32, minimums f32, interleave 8', 'ui4, group 128, scales f32, minimums f32, interleave 8'}}
    kern.gemm %x, %w scales %s outs(%y) : !kern.buffer<[rows, 256] x i8>,
        !kern.weight<[64, 256] x #kern.format<i8, group 32, scales bf16, interleave 4>, panels32>, !kern.buffer<[rows, 16] x f32>, !kern.buffer<[rows, 64] x f32>
  }
  return
}
kern.weight @w : !kern.weight<[64, 256] x #kern.format<i8, group 32, scales bf16, interleave 4>, panels32> = #weight.expr<file("w")> {offset = 0}

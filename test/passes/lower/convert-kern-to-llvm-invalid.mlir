// RUN: transom-opt %s --verify-diagnostics --convert-kern-to-llvm=isa=sse2

// expected-error @+1 {{unsupported instruction set 'sse2'; supported: avx2, avxvnni, avx512, avx512vnni, avx512bf16, amx, neon}}
module {}

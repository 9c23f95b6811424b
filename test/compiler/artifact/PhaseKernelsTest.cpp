// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Phase kernels: through tables, through code that phases share, and the
// largest among kernels that differ in rows.
#include "compiler/artifact/PhaseKernels.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

constexpr const char *text = R"mlir(
llvm.mlir.global internal constant @table() : !llvm.array<2 x ptr> {
  %0 = llvm.mlir.undef : !llvm.array<2 x ptr>
  %1 = llvm.mlir.addressof @transom.k.avx2.f32.1x16.k8.zero : !llvm.ptr
  %2 = llvm.insertvalue %1, %0[0] : !llvm.array<2 x ptr>
  %3 = llvm.mlir.addressof @transom.k.avx2.f32.12x16.k8.zero : !llvm.ptr
  %4 = llvm.insertvalue %3, %2[1] : !llvm.array<2 x ptr>
  llvm.return %4 : !llvm.array<2 x ptr>
}
llvm.func internal @transom.k.avx2.f32.1x16.k8.zero() { llvm.return }
llvm.func internal @transom.k.avx2.f32.12x16.k8.zero() { llvm.return }
llvm.func internal @transom.k.avx2.f32.2x16.k8.bias() { llvm.return }
llvm.func internal @transom.k.avx2.f32.9x16.k8.bias() { llvm.return }
llvm.func internal @transom.o.avx2.0.gemm() {
  %0 = llvm.mlir.addressof @table : !llvm.ptr
  llvm.return
}
llvm.func @transom.p.avx2.f.0.gemm() {
  llvm.call @transom.o.avx2.0.gemm() : () -> ()
  llvm.call @transom.k.avx2.f32.9x16.k8.bias() : () -> ()
  llvm.call @transom.k.avx2.f32.2x16.k8.bias() : () -> ()
  llvm.return
}
llvm.func @transom.p.avx2.f.1.norm() { llvm.return }
)mlir";

} // namespace

TEST(PhaseKernels, areThoseThatThePhaseReaches) {
  MLIRContext context;
  context.loadDialect<LLVM::LLVMDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  const std::vector<PhaseKernels> phases = findPhaseKernels(*module);
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].symbol, "transom.p.avx2.f.0.gemm");
  EXPECT_EQ(phases[0].kernels,
            (std::vector<std::string>{"transom.k.avx2.f32.12x16.k8.zero",
                                      "transom.k.avx2.f32.9x16.k8.bias"}));
  EXPECT_EQ(phases[1].symbol, "transom.p.avx2.f.1.norm");
  EXPECT_TRUE(phases[1].kernels.empty());
}

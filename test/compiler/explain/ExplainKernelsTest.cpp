// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which micro-kernels phases reach.
#include "compiler/explain/ExplainKernels.h"
#include "test/compiler/explain/ExplainModule.h"

using namespace transom;
using transom::test::ExplainModule;

namespace {

const char code[] = R"mlir(
  llvm.func @transom.k.avx2.f32.1x16.k8.zero() { llvm.return }
  llvm.func @transom.k.avx2.f32.6x16.k8.zero() { llvm.return }
  llvm.func @transom.k.avx2.f32.6x16.k99.unused() { llvm.return }
  llvm.mlir.global internal constant @table() : !llvm.array<2 x ptr> {
    %0 = llvm.mlir.addressof @transom.k.avx2.f32.1x16.k8.zero : !llvm.ptr
    %1 = llvm.mlir.addressof @transom.k.avx2.f32.6x16.k8.zero : !llvm.ptr
    %2 = llvm.mlir.undef : !llvm.array<2 x ptr>
    llvm.return %2 : !llvm.array<2 x ptr>
  }
  llvm.func @shared() {
    %0 = llvm.mlir.addressof @table : !llvm.ptr
    llvm.return
  }
  llvm.func @"transom.p.avx2.f.0.gemm"() {
    llvm.call @shared() : () -> ()
    llvm.return
  }
  llvm.func @"transom.p.avx2.f.1.norm"() { llvm.return }
)mlir";

TEST(ExplainKernels, throughTablesAndSharedCode) {
  Manifest manifest;
  ManifestEntry &entry = manifest.entries.emplace_back();
  for (const char *phase : {"f.0.gemm", "f.1.norm"})
    entry.dispatches.emplace_back().phase = phase;
  ExplainModule module(code);
  const std::vector<ExplainedKernel> kernels =
      explainKernels(module.get(), "avx2", manifest);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].isa, "avx2");
  EXPECT_EQ(kernels[0].symbol, "transom.k.avx2.f32.6x16.k8.zero");
  EXPECT_EQ(kernels[0].rows, 6);
  EXPECT_EQ(kernels[0].columns, 16);
  EXPECT_EQ(kernels[0].phases, (std::vector<std::string>{"f.0.gemm"}));
}

} // namespace

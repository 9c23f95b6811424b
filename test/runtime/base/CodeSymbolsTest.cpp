// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generated function names.
#include "runtime/base/CodeSymbols.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

TEST(CodeSymbols, aPhaseIsNamedAfterItsLocation) {
  EXPECT_EQ(getPhaseSymbol("avx2", "encode.3.gemm",
                           "encoder.layer.{0-2,5}.attention.{query,key}"),
            "transom.p.avx2.encode.3.gemm.encoder.layer.{0-2+5}.attention."
            "{query+key}");
  EXPECT_EQ(getPhaseSymbol("neon", "step.0.norm", ""),
            "transom.p.neon.step.0.norm");
}

TEST(CodeSymbols, aLocationOfAnyTextMakesAPlainName) {
  EXPECT_EQ(getPhaseSymbol("avx2", "run.0.gemm", "a b@1\n\"\xc3\xa4"),
            "transom.p.avx2.run.0.gemm.a_b_1____");
}

TEST(CodeSymbols, theMiddleOfALongLocationIsLeftOut) {
  const std::string first(100, 'a'), last(100, 'b');
  EXPECT_EQ(getPhaseSymbol("avx2", "run.0.gemm", first + "." + last),
            "transom.p.avx2.run.0.gemm." + first.substr(0, 64) + ".." +
                last.substr(0, 64));
  EXPECT_EQ(getPhaseSymbol("avx2", "run.0.gemm", std::string(128, 'a')),
            "transom.p.avx2.run.0.gemm." + std::string(128, 'a'));
}

TEST(CodeSymbols, theTileOfAKernelIsInItsName) {
  auto tile = parseKernelTile("transom.k.avx2.f32.6x16.k768.zero_gelu");
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->rows, 6);
  EXPECT_EQ(tile->columns, 16);
  EXPECT_EQ(tile->family, "transom.k.avx2.f32.x16.k768.zero_gelu");
}

TEST(CodeSymbols, kernelsThatDifferInRowsAreOneFamily) {
  EXPECT_EQ(parseKernelTile("transom.k.avx512.bf16.14x32")->family,
            parseKernelTile("transom.k.avx512.bf16.1x32")->family);
}

TEST(CodeSymbols, otherNamesHaveNoTile) {
  for (const char *name :
       {"", "transom.p.avx2.encode.0.gemm", "transom.k.", "transom.k.avx2",
        "transom.k.avx2.f32", "transom.k.avx2.f32.x16", "transom.k.avx2.f32.6x",
        "transom.k.avx2.f32.0x16", "transom.k.avx2.f32.6.16"})
    EXPECT_FALSE(parseKernelTile(name)) << name;
}

} // namespace

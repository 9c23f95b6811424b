// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of generated functions.
#include "runtime/base/CodeSymbols.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

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

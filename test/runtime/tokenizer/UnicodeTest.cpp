// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Character properties for which Unicode versions differ.
#include "runtime/tokenizer/Unicode.h"
#include <gtest/gtest.h>

namespace transom::tokenizer {
namespace {

TEST(Unicode, Properties) {
  EXPECT_TRUE(unicode::isWhitespace(0x85));
  EXPECT_TRUE(unicode::isWhitespace(0x3000));
  EXPECT_FALSE(unicode::isWhitespace(0x200B));
  EXPECT_TRUE(unicode::isPunctuation('$'));
  EXPECT_TRUE(unicode::isPunctuation(0x3002));
  EXPECT_FALSE(unicode::isPunctuation(0x20AC));
  // Assigned after the Unicode version in the reference's categories.
  EXPECT_FALSE(unicode::isPunctuation(0x2E5D));
  EXPECT_TRUE(unicode::isWord('_'));
  EXPECT_TRUE(unicode::isWord(0x200D));
  EXPECT_FALSE(unicode::isWord('-'));
  EXPECT_TRUE(unicode::isChinese(0x4E00));
  EXPECT_FALSE(unicode::isChinese(0x3042));
  EXPECT_FALSE(unicode::isWord(0x7FFFFFFF));
}

} // namespace
} // namespace transom::tokenizer

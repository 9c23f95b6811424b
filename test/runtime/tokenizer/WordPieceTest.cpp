// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words as tokens in a WordPiece vocabulary.
#include "test/runtime/tokenizer/Fixture.h"

namespace transom::test {
namespace {

using Ids = std::vector<int64_t>;

TEST(WordPiece, CutsWords) {
  Loaded loaded = load(smallJson());
  auto encoding = loaded->encode("Unaffable, the unk");
  ASSERT_TRUE(encoding);
  EXPECT_EQ(encoding->ids, (Ids{1, 2, 3, 4, 6, 8, 0}));
  EXPECT_EQ(encoding->offsets[3].begin, 5u);
  EXPECT_EQ(encoding->offsets[3].end, 9u);
  EXPECT_EQ(encoding->sequence, (std::vector<uint8_t>{2, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(encoding->specialMask[0], 1);
}

} // namespace
} // namespace transom::test

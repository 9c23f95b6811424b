// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Malformed tables: for any bytes, opening and using them stays inside them.
// Most useful under AddressSanitizer.
#include "test/runtime/tokenizer/Fixture.h"
#include <algorithm>
#include <random>

namespace transom::test {
namespace {

using namespace tokenizer;

/// Opens a copy with exactly these bytes and uses all its parts.
bool use(std::string_view bytes) {
  auto copy = std::make_unique<char[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  auto opened = Tokenizer::open({copy.get(), bytes.size()});
  if (!opened) {
    EXPECT_EQ(opened.error().status, Status::Rejected);
    return false;
  }
  for (const char *text : {"", "unaffable, the [CLS] New xnewx a", "\u00c9"}) {
    auto encoding = opened->encode(text, std::string_view("a, the"), {});
    if (encoding)
      (void)opened->decode(encoding->ids, false);
    (void)opened->encode(text, {true, 3});
    (void)opened->getId(text);
  }
  for (int64_t id = -1; id < 12; ++id)
    (void)opened->token(id);
  return true;
}

/// Each table byte changed in several ways.
void changeEveryByte(const std::string &tables) {
  ASSERT_TRUE(use(tables));
  for (size_t i = 0; i < tables.size(); ++i)
    for (unsigned char flip : {0x01, 0x80, 0xff}) {
      std::string changed = tables;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      (void)use(changed);
    }
}

TEST(TokenizerTables, EveryByteChanged) {
  changeEveryByte(*load(smallJson()).tables);
  changeEveryByte(*load(smallBpeJson()).tables);
  changeEveryByte(*load(smallUnigramJson()).tables);
}

TEST(TokenizerTables, CutShortIsRejected) {
  std::string tables = *load(smallJson()).tables;
  for (size_t length = 0; length < tables.size();
       length += length < 300 ? 1 : 37)
    EXPECT_FALSE(use(std::string_view(tables).substr(0, length))) << length;
  EXPECT_FALSE(use(tables + std::string(8, '\0')));
}

void changeRandomBytes(const std::string &tables) {
  size_t start = sizeof(TablesHeader) + sectionCount * sizeof(SectionEntry);
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string changed = tables;
    for (int i = 0; i < 40; ++i)
      changed[start + random() % (tables.size() - start)] =
          static_cast<char>(random());
    (void)use(changed);
  }
}

TEST(TokenizerTables, RandomBytesBehindAGoodHeader) {
  for (const std::string &json :
       {smallJson(), smallBpeJson(), smallUnigramJson()})
    changeRandomBytes(*load(json).tables);
}

TEST(TokenizerTables, HeaderIsChecked) {
  std::string tables = *load(smallJson()).tables;
  auto getMessage = [&](size_t at, char value) {
    std::string changed = tables;
    changed[at] = value;
    auto opened = Tokenizer::open(changed);
    return opened ? std::string() : opened.error().message;
  };
  EXPECT_EQ(getMessage(0, 'x'),
            "tokenizer tables: do not start with 'trnsmtok'");
  EXPECT_EQ(getMessage(8, 10), "tokenizer tables: version 10 with 20 sections; "
                               "supported: 9 with 20");
  EXPECT_NE(getMessage(16, 1), "");
  EXPECT_NE(getMessage(24, 1), "");
}

TEST(TokenizerTables, WorkAtAnyAlignment) {
  std::string shifted = "x" + *load(smallJson()).tables;
  auto opened = Tokenizer::open(std::string_view(shifted).substr(1));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->encode("the")->ids, (std::vector<int64_t>{1, 8}));
}

} // namespace
} // namespace transom::test

// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keep in step with tools/dev/goldens/make-tokenizer-goldens.py, draw by draw.
#include "test/runtime/tokenizer/Corpus.h"
#include "runtime/base/Utf8.h"
#include <cstdint>
#include <vector>

namespace transom::test {

namespace {
struct Range {
  char32_t low, high;
};
using Ranges = std::vector<Range>;

const std::vector<const char *> onsets = {
    "",  "b", "c", "d", "f", "g", "h",  "k",  "l",  "m", "n",
    "p", "r", "s", "t", "v", "w", "st", "tr", "qu", "sh"};
const std::vector<const char *> vowels = {"a", "e", "i",  "o",
                                          "u", "y", "ea", "ou"};
const std::vector<const char *> codas = {"",  "",   "",   "n",  "r", "s",
                                         "t", "ng", "ck", "ll", "x", "z"};
const std::vector<const char *> added = {"[CLS]",
                                         "[SEP]",
                                         "[MASK]",
                                         "[UNK]",
                                         "[PAD]",
                                         "[MAS",
                                         "[mask]",
                                         "[ MASK ]",
                                         "MASK]",
                                         "[CLS][SEP]",
                                         "NewTok",
                                         "newtok",
                                         "NEWTOK",
                                         "new",
                                         "Tok",
                                         "solo",
                                         "Solo",
                                         "solos",
                                         "_solo",
                                         "<left>",
                                         "<right>",
                                         "<both>",
                                         "<BOTH>",
                                         "caf\xc3"
                                         "\xa9"
                                         "+",
                                         "cafe+",
                                         "CAFE\xcc"
                                         "\x81"
                                         "+",
                                         "<a",
                                         "<a>",
                                         "<a>b",
                                         "<a>bc",
                                         "##ing",
                                         "##",
                                         "\xe4"
                                         "\xb8"
                                         "\xad"
                                         "\xe6"
                                         "\x96"
                                         "\x87"
                                         "",
                                         "two words"};
const Ranges scripts = {
    {0x41, 0x5A},       {0x61, 0x7A},       {0xC0, 0xFF},
    {0x100, 0x17F},     {0x180, 0x24F},     {0x250, 0x2AF},
    {0x370, 0x3FF},     {0x400, 0x4FF},     {0x531, 0x587},
    {0x5D0, 0x5EA},     {0x620, 0x64A},     {0x904, 0x939},
    {0x985, 0x9B9},     {0xE01, 0xE5B},     {0x10A0, 0x10FF},
    {0x1100, 0x11FF},   {0x13A0, 0x13FD},   {0x1780, 0x17B3},
    {0x1E00, 0x1EFF},   {0x1F00, 0x1FFF},   {0x2C00, 0x2C5F},
    {0x3041, 0x30FF},   {0x3105, 0x312F},   {0x3400, 0x34FF},
    {0x4E00, 0x9FFF},   {0x4E00, 0x4EFF},   {0xA640, 0xA69F},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFB00, 0xFB4F},
    {0xFF00, 0xFFEF},   {0x10400, 0x1044F}, {0x11100, 0x1114F},
    {0x1D100, 0x1D1FF}, {0x1D400, 0x1D7FF}, {0x1E900, 0x1E95F},
    {0x20000, 0x200FF}, {0x2B820, 0x2B9FF}, {0x2F800, 0x2FA1F},
    {0x300, 0x36F},     {0x900, 0x963},     {0x1AB0, 0x1AFF},
    {0x11930, 0x11946}};
const Ranges marks = {{0x300, 0x36F},   {0x300, 0x36F},     {0x483, 0x489},
                      {0x591, 0x5C7},   {0x610, 0x61A},     {0x64B, 0x65F},
                      {0x6D6, 0x6ED},   {0x93C, 0x94D},     {0xE31, 0xE3A},
                      {0xF71, 0xF84},   {0x1DC0, 0x1DFF},   {0x20D0, 0x20F0},
                      {0x302A, 0x302F}, {0x3099, 0x309A},   {0xFE00, 0xFE0F},
                      {0xFE20, 0xFE2F}, {0x1D165, 0x1D172}, {0x898, 0x8E1}};
const Ranges controls = {
    {0x0, 0x1F},      {0x7F, 0x9F},       {0xAD, 0xAD},     {0x200B, 0x200F},
    {0x202A, 0x202E}, {0x2060, 0x206F},   {0xFFF9, 0xFFFD}, {0xFEFF, 0xFEFF},
    {0xE000, 0xE0FF}, {0xE0001, 0xE007F}, {0x600, 0x605},   {0x378, 0x379},
    {0xFDD0, 0xFDEF}, {0xF0000, 0xF00FF}};
const Ranges punctuation = {
    {0x21, 0x2F},     {0x3A, 0x40},     {0x5B, 0x60},     {0x7B, 0x7E},
    {0xA1, 0xBF},     {0x2010, 0x2027}, {0x2030, 0x205E}, {0x3000, 0x303F},
    {0xFE30, 0xFE6B}, {0xFF01, 0xFF20}, {0x20A0, 0x20BF}, {0x2190, 0x22FF},
    {0x2E2E, 0x2E5D}, {0x55A, 0x58A}};
const Ranges emoji = {{0x1F300, 0x1F5FF}, {0x1F600, 0x1F64F},
                      {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF},
                      {0x2600, 0x27BF},   {0x1F1E6, 0x1F1FF}};
const std::vector<char32_t> spaces = {
    0x20, 0x20, 0x20,   0x20,   0x9,    0xA,    0xD,    0xB,    0xC,
    0x85, 0xA0, 0x1680, 0x2003, 0x2009, 0x2028, 0x202F, 0x3000, 0x200B};

/// SplitMix64.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint32_t below(uint32_t limit) {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<uint32_t>((((z ^ (z >> 31)) >> 32) * limit) >> 32);
  }
  template <typename T> const T &pick(const std::vector<T> &values) {
    return values[below(static_cast<uint32_t>(values.size()))];
  }
  char32_t in(Range range) {
    return range.low + below(range.high - range.low + 1);
  }
  void appendChar(std::string &text, const Ranges &ranges) {
    utf8::append(text, in(pick(ranges)));
  }

private:
  uint64_t state;
};
} // namespace

static std::string word(Random &random) {
  std::string text;
  for (uint32_t i = 1 + random.below(4); i > 0; --i) {
    text += random.pick(onsets);
    text += random.pick(vowels);
    text += random.pick(codas);
  }
  uint32_t which = random.below(16);
  if (which <= 2)
    for (size_t i = 0; i < (which < 2 ? 1 : text.size()); ++i)
      text[i] = static_cast<char>(text[i] - 'a' + 'A');
  return text;
}

static std::string accented(Random &random) {
  std::string text;
  for (char c : word(random)) {
    text += c;
    uint32_t marked = random.below(3);
    for (uint32_t i = marked == 0 ? random.below(3) : 0; i > 0; --i)
      random.appendChar(text, marks);
  }
  return text;
}

static std::string script(Random &random) {
  Range range = random.pick(scripts);
  std::string text;
  for (uint32_t i = 1 + random.below(8); i > 0; --i)
    utf8::append(text, random.in(range));
  return text;
}

static std::string emojiSequence(Random &random) {
  std::string text;
  random.appendChar(text, emoji);
  if (random.below(4) == 0)
    utf8::append(text, 0x1F3FB + random.below(5));
  if (random.below(4) == 0) {
    utf8::append(text, 0x200D);
    random.appendChar(text, emoji);
  }
  if (random.below(4) == 0)
    utf8::append(text, 0xFE0F);
  return text;
}

static std::string longWord(Random &random) {
  uint32_t length = random.below(64) == 0 ? 3000 : 90 + random.below(30);
  std::string text;
  for (uint32_t i = 0; i < length; ++i)
    text += static_cast<char>('a' + random.below(26));
  return text;
}

static std::string pickCharacter(Random &random, const Ranges &ranges) {
  std::string text;
  random.appendChar(text, ranges);
  return text;
}

static std::string anyCharacter(Random &random) {
  char32_t code = random.below(0x110000 - 0x800);
  std::string text;
  utf8::append(text, code >= 0xD800 ? code + 0x800 : code);
  return text;
}

static std::string digits(Random &random) {
  std::string text;
  for (uint32_t i = 1 + random.below(6); i > 0; --i)
    text += static_cast<char>('0' + random.below(10));
  return text;
}

static std::string spaceRun(Random &random) {
  char32_t space = random.pick(spaces);
  std::string text;
  for (uint32_t i = 1 + random.below(3); i > 0; --i)
    utf8::append(text, space);
  return text;
}

static std::string element(Random &random) {
  uint32_t kind = random.below(32);
  if (kind < 13)
    return word(random);
  if (kind < 16)
    return accented(random);
  if (kind < 21)
    return script(random);
  if (kind < 23)
    return pickCharacter(random, punctuation);
  if (kind == 23)
    return emojiSequence(random);
  if (kind == 24)
    return pickCharacter(random, controls);
  if (kind < 27)
    return random.pick(added);
  if (kind == 27)
    return digits(random);
  if (kind == 28) {
    std::string first = pickCharacter(random, marks);
    return first + pickCharacter(random, marks);
  }
  if (kind == 29)
    return anyCharacter(random);
  if (kind == 30)
    return random.below(8) == 0 ? longWord(random)
                                : pickCharacter(random, punctuation);
  return spaceRun(random);
}

static std::string randomString(size_t index) {
  Random random(index * 0xD1342543DE82EF95 + 1);
  std::string text;
  for (uint32_t i = random.below(14); i > 0; --i) {
    text += element(random);
    uint32_t separator = random.below(8);
    if (separator < 4)
      text += ' ';
    else if (separator == 4)
      utf8::append(text, random.pick(spaces));
  }
  return text;
}

/// Every character in a block, between letters or between combining marks.
static std::string blockString(size_t index) {
  constexpr size_t blocks = 0x110000 / 1024;
  bool betweenMarks = index >= blocks;
  char32_t first = static_cast<char32_t>(index % blocks * 1024);
  std::string text;
  for (char32_t code = first; code < first + 1024; ++code) {
    if (code >= 0xD800 && code < 0xE000)
      continue;
    text += betweenMarks ? "a\xcc\x81" : "a";
    utf8::append(text, code);
    text += betweenMarks ? "\xcc\x96"
                           "b "
                         : "b ";
  }
  return text;
}

std::string corpusString(size_t index) {
  return index < randomStrings ? randomString(index)
                               : blockString(index - randomStrings);
}

} // namespace transom::test

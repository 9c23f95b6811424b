// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared helpers for corpora with malformed files: the required error form, and
// ways to damage bytes that are the same in every run.
#pragma once
#include "runtime/base/Error.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace transom::test {

/// A byte copy in an allocation with exactly its size, so that a sanitizer sees
/// each read beyond it.
class ExactBytes {
public:
  explicit ExactBytes(std::string_view bytes)
      : size(bytes.size()), data(new char[bytes.size()]) {
    std::copy(bytes.begin(), bytes.end(), data.get());
  }
  operator std::string_view() const { return {data.get(), size}; }

private:
  size_t size;
  std::unique_ptr<char[]> data;
};

/// An error that input caused: one line that names the file.
inline void expectInputError(const Error &error, const std::string &fileName) {
  EXPECT_TRUE(error.status == Status::Rejected ||
              error.status == Status::Unavailable)
      << error.message;
  EXPECT_NE(error.message.find(fileName), std::string::npos) << error.message;
  EXPECT_LT(error.message.size(), 2000u) << error.message.substr(0, 300);
  EXPECT_GT(error.message.size(), fileName.size() + 5);
  EXPECT_NE(error.message.back(), '.') << error.message;
  for (unsigned char c : error.message)
    EXPECT_GE(c, 0x20) << error.message;
}

/// Several damage kinds: flipped bits, replaced bytes, bytes with a meaning to
/// a parser, removed and repeated ranges, a truncated end.
inline std::string damaged(std::string bytes, Random &random) {
  static const char telling[] = "{}[]\",:\\0123456789-+.eEtfn \n\0\x7f\x80\xff";
  for (int64_t n = random.between(1, 3); n > 0 && !bytes.empty(); --n) {
    size_t at = random.next() % bytes.size();
    size_t length = 1 + random.next() % std::min<size_t>(bytes.size() - at, 20);
    switch (random.between(0, 5)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << random.between(0, 7));
      break;
    case 1:
      bytes[at] = static_cast<char>(random.next());
      break;
    case 2:
      bytes[at] = telling[random.next() % (sizeof telling - 1)];
      break;
    case 3:
      bytes.erase(at, length);
      break;
    case 4:
      bytes.insert(at, bytes.substr(at, length));
      break;
    default:
      if (random.between(0, 9) == 0)
        bytes.resize(at);
      else
        bytes.insert(at, 1, telling[random.next() % (sizeof telling - 1)]);
    }
  }
  return bytes;
}

} // namespace transom::test

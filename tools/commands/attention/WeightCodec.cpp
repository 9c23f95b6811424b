// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/commands/attention/WeightCodec.h"
#include "tools/commands/attention/Deflate.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

using namespace transom;
using namespace transom::tools;

constexpr int kFirstKept = 248, kLargestCode = 247;
constexpr float kCodeScale = 741;

static char getCode(float weight) {
  const long code = std::lround(kCodeScale * std::sqrt(weight));
  return static_cast<char>(std::clamp<long>(code, 0, kLargestCode));
}

/// Finds the indices of the largest nonzero weights in a row, in descending
/// order. `found` has room for `keptWeights`; returns their count.
static size_t findLargest(const float *row, size_t keys,
                          std::array<size_t, keptWeights> &found) {
  size_t count = 0;
  for (size_t key = 0; key < keys; ++key) {
    const float weight = row[key];
    if (weight == 0 ||
        (count == keptWeights && weight <= row[found[count - 1]]))
      continue;
    size_t place = count < keptWeights ? count++ : count - 1;
    for (; place > 0 && row[found[place - 1]] < weight; --place)
      found[place] = found[place - 1];
    found[place] = key;
  }
  return count;
}

std::string tools::encodeWeights(const float *weights, size_t queries,
                                 size_t keys) {
  const size_t kept = std::min(keptWeights, keys);
  std::string bytes(queries * keys, '\0');
  std::vector<float> largest(queries * kept, 0.0f);
  for (size_t query = 0; query < queries; ++query) {
    const float *row = weights + query * keys;
    char *codes = &bytes[query * keys];
    std::transform(row, row + keys, codes, getCode);
    std::array<size_t, keptWeights> found{};
    const size_t count = findLargest(row, keys, found);
    for (size_t rank = 0; rank < count; ++rank) {
      codes[found[rank]] = static_cast<char>(kFirstKept + int(rank));
      largest[query * kept + rank] = row[found[rank]];
    }
  }
  for (int shift = 24; shift >= 0; shift -= 8)
    for (float weight : largest) {
      uint32_t bits = 0;
      std::memcpy(&bits, &weight, sizeof bits);
      bytes += static_cast<char>(bits >> shift & 0xff);
    }
  return bytes;
}

std::string tools::packWeights(const float *weights, size_t queries,
                               size_t keys) {
  // Codes and planes have different frequencies, but separate Huffman codes
  // cost more than they save in small matrices.
  const std::string bytes = encodeWeights(weights, queries, keys);
  const size_t codes = queries * keys, plane = (bytes.size() - codes) / 4;
  const std::string together = deflate(bytes),
                    apart = deflate(bytes,
                                    {codes, codes + plane, codes + 2 * plane});
  return encodeText(apart.size() < together.size() ? apart : together);
}

std::string tools::encodeText(const std::string &bytes) {
  // Digits without HTML special characters.
  static constexpr char digits[] =
      "!\"#$%'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
      "abcdefghijklmnopqrstuvwxyz{|}~";
  static_assert(sizeof digits == 91 + 1);
  std::string text;
  text.reserve(bytes.size() * 16 / 13 + 2);
  // Two digits encode 13 bits.
  uint32_t bits = 0;
  unsigned count = 0;
  auto put = [&](uint32_t number) {
    text += digits[number / 91];
    text += digits[number % 91];
  };
  for (char byte : bytes) {
    bits |= uint32_t(static_cast<uint8_t>(byte)) << count;
    count += 8;
    if (count < 13)
      continue;
    put(bits & 0x1fff);
    bits >>= 13;
    count -= 13;
  }
  // Encode the remaining bits.
  if (count > 6)
    put(bits);
  else if (count > 0)
    text += digits[bits];
  return text;
}

std::string tools::encodeBase64(const std::string &bytes) {
  static constexpr char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (j < count ? static_cast<uint8_t>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j)
      text += j <= count ? digits[bits >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

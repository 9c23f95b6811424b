// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/commands/attention/Deflate.h"
#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <queue>
#include <vector>

using namespace transom;

namespace {

/// Appends bits to bytes, lowest bit first.
class BitWriter {
public:
  explicit BitWriter(std::string &out) : out(out) {}
  void put(uint32_t bits, unsigned count) {
    pending |= uint64_t(bits) << filled;
    for (filled += count; filled >= 8; filled -= 8, pending >>= 8)
      out += static_cast<char>(pending & 0xff);
  }
  /// Fills the last byte with zeros.
  void finish() { put(0, (8 - filled % 8) % 8); }

private:
  std::string &out;
  uint64_t pending = 0;
  unsigned filled = 0;
};

/// A Huffman code: the code length for each symbol, 0 for unused symbols, and
/// the codes with their first bit lowest.
struct HuffmanCode {
  std::vector<uint8_t> lengths;
  std::vector<uint16_t> codes;

  HuffmanCode(std::vector<uint32_t> counts, unsigned longest);
  void put(BitWriter &bits, size_t symbol) const {
    bits.put(codes[symbol], lengths[symbol]);
  }

private:
  void assignCodes();
};

/// A byte, or a run that repeats the byte before it.
struct Token {
  uint16_t symbol; ///< a byte, or a length code
  uint8_t extraBits, extra;
};

} // namespace

/// Returns code lengths in an optimal prefix code for the used symbols.
static std::vector<uint8_t> getLengths(const std::vector<uint32_t> &counts) {
  // Join the two rarest trees until one is left.
  using Entry = std::pair<uint64_t, uint32_t>; // count, node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<uint32_t> parents(counts.size(), 0);
  for (uint32_t symbol = 0; symbol < counts.size(); ++symbol)
    if (counts[symbol])
      queue.push({counts[symbol], symbol});
  while (queue.size() > 1) {
    const Entry first = queue.top();
    queue.pop();
    const Entry second = queue.top();
    queue.pop();
    const auto node = static_cast<uint32_t>(parents.size());
    parents.push_back(0);
    parents[first.second] = parents[second.second] = node;
    queue.push({first.first + second.first, node});
  }

  // A code length is the depth of its leaf; parents come after their children.
  std::vector<uint32_t> depths(parents.size(), 0);
  for (size_t node = parents.size(); node-- > 0;)
    if (parents[node])
      depths[node] = depths[parents[node]] + 1;
  std::vector<uint8_t> lengths(counts.size(), 0);
  for (size_t symbol = 0; symbol < counts.size(); ++symbol)
    if (counts[symbol])
      lengths[symbol] = uint8_t(std::max<uint32_t>(1, depths[symbol]));
  return lengths;
}

HuffmanCode::HuffmanCode(std::vector<uint32_t> counts, unsigned longest) {
  // Increase the counts of rare symbols until all codes are short enough.
  for (lengths = getLengths(counts);
       *std::max_element(lengths.begin(), lengths.end()) > longest;
       lengths = getLengths(counts))
    for (uint32_t &count : counts)
      count = (count + 1) / 2;
  assignCodes();
}

void HuffmanCode::assignCodes() {
  // Codes with equal length are consecutive in symbol order.
  codes.resize(lengths.size());
  uint32_t next = 0;
  for (unsigned length = 1; length <= 15; ++length, next <<= 1)
    for (size_t symbol = 0; symbol < lengths.size(); ++symbol) {
      if (lengths[symbol] != length)
        continue;
      uint32_t reversed = 0;
      for (unsigned bit = 0; bit < length; ++bit)
        reversed |= ((next >> bit) & 1) << (length - 1 - bit);
      codes[symbol] = static_cast<uint16_t>(reversed);
      ++next;
    }
}

constexpr unsigned kEndOfBlock = 256;
constexpr size_t kShortestRun = 3, kLongestRun = 258;
constexpr size_t kBlockBytes = (1 << 16) - 1;

/// Returns the symbol for a run length (RFC 1951, 3.2.5).
static Token getRunToken(size_t length) {
  if (length == kLongestRun)
    return {285, 0, 0};
  if (length <= 10)
    return {static_cast<uint16_t>(254 + length), 0, 0};
  unsigned bits = 1;
  while (length - 3 >= size_t(8) << bits)
    ++bits;
  const size_t above = length - 3 - (size_t(4) << bits);
  return {static_cast<uint16_t>(261 + 4 * bits + (above >> bits)),
          static_cast<uint8_t>(bits),
          static_cast<uint8_t>(above & ((1u << bits) - 1))};
}

static std::vector<Token> getTokens(std::string_view bytes) {
  std::vector<Token> tokens;
  tokens.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    tokens.push_back({static_cast<uint8_t>(bytes[i]), 0, 0});
    size_t end = i + 1;
    while (end < bytes.size() && bytes[end] == bytes[i])
      ++end;
    size_t left = end - i - 1;
    for (; left >= kShortestRun;) {
      const size_t length = std::min(left, kLongestRun);
      tokens.push_back(getRunToken(length));
      left -= length;
    }
    for (; left > 0; --left)
      tokens.push_back({static_cast<uint8_t>(bytes[i]), 0, 0});
    i = end;
  }
  return tokens;
}

/// Writes the lengths of both codes, Huffman-coded themselves.
static void putLengths(BitWriter &bits, const HuffmanCode &symbols) {
  // The only distance with a code is 1; its code has one bit.
  std::vector<uint8_t> lengths = symbols.lengths;
  lengths.push_back(1);
  std::vector<uint32_t> counts(19, 0);
  for (uint8_t length : lengths)
    ++counts[length];
  const HuffmanCode code(counts, 7);

  // The header: length counts, then the code for the lengths.
  static constexpr std::array<uint8_t, 19> order = {
      16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  bits.put(static_cast<uint32_t>(symbols.lengths.size() - 257), 5);
  bits.put(0, 5);
  bits.put(19 - 4, 4);
  for (uint8_t symbol : order)
    bits.put(code.lengths[symbol], 3);
  for (uint8_t length : lengths)
    code.put(bits, length);
}

/// Writes a stored block: its byte count, the complement, the bytes.
static void putStoredBlock(BitWriter &bits, std::string_view bytes, bool last) {
  bits.put(last, 1);
  bits.put(0, 2);
  bits.finish();
  const auto count = static_cast<uint32_t>(bytes.size());
  bits.put(count, 16);
  bits.put(~count & 0xffff, 16);
  for (char byte : bytes)
    bits.put(static_cast<uint8_t>(byte), 8);
}

static void putBlock(BitWriter &bits, std::string_view bytes, bool last) {
  const std::vector<Token> tokens = getTokens(bytes);
  std::vector<uint32_t> counts(286, 0);
  for (const Token &token : tokens)
    ++counts[token.symbol];
  ++counts[kEndOfBlock];
  const HuffmanCode symbols(counts, 15);

  // Uniform bytes take fewer bits in a stored block, because the code lengths
  // alone take about two bits per symbol.
  size_t size = 2 * counts.size();
  for (size_t symbol = 0; symbol < counts.size(); ++symbol)
    size += size_t(counts[symbol]) * symbols.lengths[symbol];
  if (size >= 8 * bytes.size())
    return putStoredBlock(bits, bytes, last);

  bits.put(last, 1);
  bits.put(2, 2); // dynamic Huffman codes
  putLengths(bits, symbols);
  for (const Token &token : tokens) {
    symbols.put(bits, token.symbol);
    bits.put(token.extra, token.extraBits);
    if (token.symbol > kEndOfBlock)
      bits.put(0, 1); // the distance 1
  }
  symbols.put(bits, kEndOfBlock);
}

std::string tools::deflate(std::string_view bytes,
                           const std::vector<size_t> &ends) {
  std::string out;
  BitWriter bits(out);
  size_t begin = 0;
  do {
    const auto end = std::upper_bound(ends.begin(), ends.end(), begin);
    const size_t limit = end == ends.end() ? bytes.size() : *end,
                 count = std::min(kBlockBytes, limit - begin);
    putBlock(bits, bytes.substr(begin, count), begin + count == bytes.size());
    begin += count;
  } while (begin < bytes.size());
  bits.finish();
  return out;
}

static void appendBigEndian(std::string &out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift & 0xff);
}

std::string tools::deflateZlib(std::string_view bytes) {
  // The Adler-32 checksum of the input comes last.
  uint32_t low = 1, high = 0;
  for (char byte : bytes) {
    low = (low + static_cast<uint8_t>(byte)) % 65521;
    high = (high + low) % 65521;
  }
  std::string out = "\x78\x01" + deflate(bytes);
  appendBigEndian(out, high << 16 | low);
  return out;
}

uint32_t tools::getCrc32(std::string_view bytes) {
  uint32_t crc = ~uint32_t(0);
  for (char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

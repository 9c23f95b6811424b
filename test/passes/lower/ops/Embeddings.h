// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embeddings from a table in rows and a table in panels, with any type.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace transom::test {

/// The table height in `checkEmbeddings`: a panel and a part of one.
constexpr int64_t kEmbeddingWords = 45;

/// Two tables with `kEmbeddingWords` rows.
struct EmbeddingTables {
  std::string type; ///< of the stored elements
  int64_t width;
  std::vector<float> first, second; ///< the element values
  std::vector<char> rows;           ///< the first table in its storage format
  std::vector<char> panels;         ///< the second one
};

/// Checks first[i] + 0.3 second[j] for different id counts, all bits.
void checkEmbeddings(const EmbeddingTables &tables);

/// The bytes for some values.
template <typename T>
std::vector<char> getBytes(const std::vector<T> &numbers) {
  const char *begin = reinterpret_cast<const char *>(numbers.data());
  return std::vector<char>(begin, begin + numbers.size() * sizeof(T));
}

} // namespace transom::test

// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embeddings from a table in rows and a table in panels, of any type.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace transom::test {

/// Words of the tables of `checkEmbeddings`: a panel and a part of one.
constexpr int64_t kEmbeddingWords = 45;

/// Two tables of `kEmbeddingWords` rows.
struct EmbeddingTables {
  std::string type; ///< of the stored numbers
  int64_t width;
  std::vector<float> first, second; ///< the numbers that the tables hold
  std::vector<char> rows;           ///< the first table as it is stored
  std::vector<char> panels;         ///< the second one
};

/// Checks first[i] + 0.3 second[j] for different numbers of ids, all bits.
void checkEmbeddings(const EmbeddingTables &tables);

/// The bytes of some numbers.
template <typename T>
std::vector<char> getBytes(const std::vector<T> &numbers) {
  const char *begin = reinterpret_cast<const char *>(numbers.data());
  return std::vector<char>(begin, begin + numbers.size() * sizeof(T));
}

} // namespace transom::test

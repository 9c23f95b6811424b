// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GGUF file bytes for tests, valid and invalid.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace transom::test {

/// Returns a number's bytes.
template <typename T> std::string ggufNumber(T number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

/// A length and a string.
inline std::string ggufString(const std::string &text) {
  return ggufNumber<uint64_t>(text.size()) + text;
}

/// A metadata value after its key: a type and bytes.
inline std::string ggufValue(uint32_t type, const std::string &bytes) {
  return ggufNumber(type) + bytes;
}
inline std::string ggufValue(const std::string &text) {
  return ggufValue(8, ggufString(text));
}
inline std::string ggufValue(const char *text) {
  return ggufValue(std::string(text));
}
inline std::string ggufValue(uint32_t number) {
  return ggufValue(4, ggufNumber(number));
}
inline std::string ggufValue(float number) {
  return ggufValue(6, ggufNumber(number));
}
inline std::string ggufValue(bool flag) {
  return ggufValue(7, std::string(1, static_cast<char>(flag)));
}
inline std::string ggufArray(uint32_t type, uint64_t count,
                             const std::string &elements) {
  return ggufValue(9, ggufNumber(type) + ggufNumber(count) + elements);
}
inline std::string ggufValue(const std::vector<std::string> &texts) {
  std::string elements;
  for (const std::string &text : texts)
    elements += ggufString(text);
  return ggufArray(8, texts.size(), elements);
}

/// A file built in memory. Its counts may be wrong.
struct GgufWriter {
  uint32_t version = 3;
  uint64_t alignment = 32;
  std::vector<std::pair<std::string, std::string>> metadata; ///< ggufValue
  std::string table, data;
  uint64_t tensors = 0;
  int64_t moreTensors = 0, moreMetadata = 0; ///< than there are

  template <typename T> void set(const std::string &key, const T &value) {
    metadata.emplace_back(key, ggufValue(value));
  }
  void setBytes(const std::string &key, const std::string &value) {
    metadata.emplace_back(key, value);
  }
  /// Adds a tensor with a shape in file order, fastest dimension first.
  void add(const std::string &name, const std::vector<uint64_t> &reversed,
           uint32_t type, uint64_t offset, const std::string &bytes) {
    table +=
        ggufString(name) + ggufNumber(static_cast<uint32_t>(reversed.size()));
    for (uint64_t size : reversed)
      table += ggufNumber(size);
    table += ggufNumber(type) + ggufNumber(offset);
    data += bytes;
    ++tensors;
  }
  /// The same after those that are there.
  void append(const std::string &name, const std::vector<uint64_t> &reversed,
              uint32_t type, const std::string &bytes) {
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    add(name, reversed, type, data.size(), bytes);
  }
  std::string head() const {
    std::string bytes = "GGUF" + ggufNumber(version) +
                        ggufNumber(tensors + moreTensors) +
                        ggufNumber<uint64_t>(metadata.size() + moreMetadata);
    for (const auto &[key, value] : metadata)
      bytes += ggufString(key) + value;
    return bytes + table;
  }
  std::string bytes() const {
    std::string all = head();
    all.resize((all.size() + alignment - 1) / alignment * alignment);
    return all + data;
  }
};

} // namespace transom::test

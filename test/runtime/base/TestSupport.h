// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared helpers for the runtime's unit tests: a temporary folder, a random
// number generator that is the same on all hosts, error messages, and
// safetensors bytes.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace transom::test {

/// A folder that is removed with its contents.
class TempFolder {
public:
  TempFolder() {
    const char *base = std::getenv("TMPDIR");
    name = std::string(base ? base : "/tmp") + "/transom-test-XXXXXX";
    if (!mkdtemp(name.data()))
      std::abort();
  }
  TempFolder(const TempFolder &) = delete;
  ~TempFolder() {
    std::string command = "rm -rf '" + name + "'";
    if (std::system(command.c_str()) != 0)
      std::abort();
  }
  const std::string &path() const { return name; }
  std::string operator/(const std::string &file) const {
    return name + "/" + file;
  }
  /// Writes a file and returns its path.
  std::string write(const std::string &file, std::string_view bytes) const {
    std::ofstream(*this / file, std::ios::binary) << bytes;
    return *this / file;
  }

private:
  std::string name;
};

/// The message in a failed result.
template <typename T> std::string getError(const Result<T> &result) {
  return result ? "no error" : result.error().message;
}

inline std::string readAll(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Random numbers from a seed (splitmix64).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  /// A number in [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low +
           static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }

private:
  uint64_t state;
};

/// An eight-byte length, a header and data.
inline std::string safetensorsBytes(const std::string &header,
                                    const std::string &data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += static_cast<char>(static_cast<uint64_t>(header.size()) >> (8 * i));
  return bytes + header + data;
}

/// An entry in a safetensors header.
inline std::string safetensorsEntry(const std::string &name,
                                    const std::string &dtype,
                                    const std::string &shape,
                                    const std::string &offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

} // namespace transom::test

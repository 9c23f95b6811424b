// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules of the LLVM dialect in the page. Their functions repeat each other
// but for the numbers of values, so a line is stored with the distance of each
// number from the largest one before it, and equal lines once.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/json/Json.h"
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace transom::tools {

class PageCode {
public:
  /// `most`: characters that all modules may take; functions that do not fit
  /// are left out.
  explicit PageCode(size_t most) : left(most) {}

  /// Takes the modules of an explanation, the value of its key `code`.
  Result<void> add(JsonValue code);

  /// Writes the array `code` with a list of modules for each explanation, and
  /// the array `code_lines`.
  void write(JsonWriter &json) const;

private:
  struct Module {
    std::string isa;
    /// What is at the outermost level, such as a function: first line in
    /// `lines` and number of lines, in pairs.
    std::vector<std::vector<int64_t>> items;
    std::vector<std::string> leftOut; ///< first lines
  };

  void addItem(const std::vector<std::string_view> &item, Module &module);
  int64_t getLine(std::string line);

  size_t left;
  std::unordered_map<std::string, int64_t> indices;
  std::vector<const std::string *> lines;
  std::vector<std::vector<Module>> explanations;
};

/// A line with its numbers of values, such as `%12`, relative to `largest`:
/// `%~3` is 3 below it, `%+1` is 1 above it. `largest` becomes the largest
/// number so far. A line with a text in quotes keeps its numbers.
std::string encodeValues(std::string_view line, int64_t &largest);

} // namespace transom::tools

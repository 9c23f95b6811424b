// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM dialect modules in the page. Functions differ mostly in value numbers,
// so a line stores each number as its distance from the largest one before it,
// and equal lines are stored once.
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
  /// `most`: character limit for all modules; functions beyond it are omitted.
  explicit PageCode(size_t most) : left(most) {}

  /// Adds the modules in an explanation, the value for its key `code`.
  Result<void> add(JsonValue code);

  /// Writes the array `code` with a module list for each explanation, and the
  /// array `code_lines`.
  void write(JsonWriter &json) const;

private:
  struct Module {
    std::string isa;
    /// Top-level items, such as functions: pairs with the first line in `lines`
    /// and the line count.
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

/// Rewrites value numbers in a line, such as `%12`, relative to `largest`:
/// `%~3` is 3 below it, `%+1` is 1 above it. `largest` becomes the largest
/// number so far. A line that contains a quoted string keeps its numbers.
std::string encodeValues(std::string_view line, int64_t &largest);

} // namespace transom::tools

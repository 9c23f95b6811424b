// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model's small files, such as tokenizer files: in its folder, or in memory
// if the model is a single file in another format.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace transom {

/// File contents by name.
using FileTexts = std::map<std::string, std::string>;

/// A model's small files.
class SmallFiles {
public:
  /// Files in a folder.
  SmallFiles(std::string folder) : where(std::move(folder)) {}
  /// Contents made from the single model file `source`.
  SmallFiles(std::string source, FileTexts texts)
      : where(std::move(source)), texts(std::move(texts)) {}

  /// True for files in a folder.
  bool areInFolder() const { return !texts; }
  /// The folder, or the path of the single model file.
  const std::string &getSource() const { return where; }
  bool has(const std::string &name) const;
  /// Returns a file's contents, at most `cap` bytes.
  Result<std::string> read(const std::string &name, uint64_t cap) const;
  /// The name for errors: the path, or `SOURCE (as NAME)`.
  std::string getPath(const std::string &name) const;

private:
  std::string where;
  std::optional<FileTexts> texts;
};

} // namespace transom

// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The small files of a model, such as those of its tokenizer: in its folder, or
// in memory where a model is one file of another format.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace transom {

/// Texts of files by their names.
using FileTexts = std::map<std::string, std::string>;

/// The small files of a model.
class SmallFiles {
public:
  /// The files of a folder.
  SmallFiles(std::string folder) : where(std::move(folder)) {}
  /// Texts that were made from the file `source`, which has all of the model.
  SmallFiles(std::string source, FileTexts texts)
      : where(std::move(source)), texts(std::move(texts)) {}

  /// True for files of a folder.
  bool areInFolder() const { return !texts; }
  /// The folder, or the path of the file that texts were made from.
  const std::string &getSource() const { return where; }
  bool has(const std::string &name) const;
  /// The contents of a file of at most `cap` bytes.
  Result<std::string> read(const std::string &name, uint64_t cap) const;
  /// What errors call it: its path, or `SOURCE (as NAME)`.
  std::string getPath(const std::string &name) const;

private:
  std::string where;
  std::optional<FileTexts> texts;
};

} // namespace transom

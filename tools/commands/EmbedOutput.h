// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where embeddings go: lines of JSON on stdout or in a file, or one array in a
// file of NumPy or safetensors. A file is written from front to back and is
// whole after each batch of texts, so that an interrupted one can be continued.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace transom::tools {

/// The rows of an array.
struct EmbeddingRows {
  std::string_view type; ///< F32, I8 or U8, as safetensors names it
  size_t size = 0;       ///< elements of a row
  size_t bytes = 0;      ///< of a row
};

class EmbedOutput {
public:
  /// Opens what a path names: nothing is stdout, `.npy` and `.safetensors` are
  /// arrays of `rows`, other files have lines. With `resume` a file that is
  /// there is continued; without, it is replaced. `Rejected` where it holds
  /// other rows.
  static Result<std::unique_ptr<EmbedOutput>>
  open(const std::string &path, const EmbeddingRows &rows, bool resume);
  ~EmbedOutput();
  EmbedOutput(const EmbedOutput &) = delete;
  EmbedOutput &operator=(const EmbedOutput &) = delete;

  /// True where a path names an array.
  static bool isArray(const std::string &path);
  bool isArray() const { return kind != Kind::Lines; }

  /// Texts that the file had when it was opened.
  size_t getCount() const { return start; }
  /// Compares the last of them with a text of the input: `Rejected` where the
  /// file has a line of another text.
  Result<void> checkLast(const std::string &text) const;

  /// Appends lines or rows of `count` texts.
  Result<void> append(std::string_view bytes, size_t count);

private:
  enum class Kind { Lines, Numpy, Safetensors };
  EmbedOutput(std::string path, Kind kind, const EmbeddingRows &rows)
      : path(std::move(path)), kind(kind), rows(rows) {}
  Result<void> openFile(bool resume);
  Result<void> resumeLines(uint64_t size);
  Result<void> resumeArray(uint64_t size);
  /// The bytes before the rows of an array of `count` rows.
  std::string makeHeader(size_t count) const;
  Result<void> writeAt(uint64_t offset, std::string_view bytes);

  std::string path; ///< empty: stdout
  Kind kind;
  EmbeddingRows rows;
  int fd = -1;
  uint64_t end = 0;                ///< bytes of the file
  size_t start = 0, count = 0;     ///< texts at first, and now
  std::optional<std::string> last; ///< text of the last line
};

} // namespace transom::tools

// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embedding output: JSON lines on stdout or in a file, or one NumPy or
// safetensors array in a file. A file is written sequentially, as FILE.partial
// until all texts are embedded. Interrupted runs can be continued, and an older
// file remains until then.
#pragma once
#include "runtime/base/OutputFile.h"
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace transom::tools {

/// Array rows.
struct EmbeddingRows {
  std::string_view type; ///< F32, I8 or U8, as in safetensors
  size_t size = 0;       ///< elements per row
  size_t bytes = 0;      ///< bytes per row
};

class EmbedOutput {
public:
  /// Opens an output: an empty path is stdout, `.npy` and `.safetensors`
  /// contain arrays of `rows`, other files contain lines. With `resume`,
  /// continues the partial file from an interrupted run, or else an existing
  /// file. Fails with `Rejected` if its rows differ.
  static Result<std::unique_ptr<EmbedOutput>>
  open(const std::string &path, const EmbeddingRows &rows, bool resume);

  /// Returns true if a path names an array.
  static bool isArray(const std::string &path);
  bool isArray() const { return kind != Kind::Lines; }

  /// Returns the number of texts in the file when it was opened.
  size_t getCount() const { return start; }
  /// Compares the last of these texts with an input text. Fails with `Rejected`
  /// if the file's line has another text.
  Result<void> checkLast(const std::string &text) const;

  /// Appends lines or rows for `count` texts. From then on an interrupted run
  /// leaves the partial file.
  Result<void> append(std::string_view bytes, size_t count);
  /// Completes the file and renames it to its final name.
  Result<void> commit();
  /// Completes the partial file after a failed run. Returns a note on how to
  /// continue it, or nullopt if it has no new text.
  std::optional<std::string> suspend();

private:
  enum class Kind { Lines, Numpy, Safetensors };
  EmbedOutput(std::string path, Kind kind, const EmbeddingRows &rows)
      : path(std::move(path)), kind(kind), rows(rows) {}
  Result<void> openFile(bool resume);
  Result<void> resumeLines(uint64_t size);
  Result<void> resumeArray(uint64_t size);
  /// Returns the bytes before the rows in an array with `count` rows.
  std::string makeHeader(size_t count) const;
  /// Flushes the texts to disk, then counts them in an array's header.
  Result<void> checkpoint();

  std::string path; ///< empty: stdout
  Kind kind;
  EmbeddingRows rows;
  OutputFile file;
  uint64_t end = 0;                ///< file size in bytes when it was opened
  size_t start = 0, count = 0;     ///< initial and current text count
  std::optional<std::string> last; ///< text in the last line
  std::chrono::steady_clock::time_point flushed;
};

} // namespace transom::tools

// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where embeddings go: lines of JSON on stdout or in a file, or one array in a
// file of NumPy or safetensors. A file is written from front to back, as
// FILE.partial until all texts are embedded, so that an interrupted run can be
// continued and an older file stays until then.
#pragma once
#include "runtime/base/OutputFile.h"
#include <chrono>
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
  /// Opens an output: an empty path is stdout, `.npy` and `.safetensors` are
  /// arrays of `rows`, other files have lines. With `resume` the partial file
  /// of an interrupted run, or else an existing file, is continued. `Rejected`
  /// if it holds other rows.
  static Result<std::unique_ptr<EmbedOutput>>
  open(const std::string &path, const EmbeddingRows &rows, bool resume);

  /// True where a path names an array.
  static bool isArray(const std::string &path);
  bool isArray() const { return kind != Kind::Lines; }

  /// Texts that the file had when it was opened.
  size_t getCount() const { return start; }
  /// Compares the last of them with a text of the input: `Rejected` where the
  /// file has a line of another text.
  Result<void> checkLast(const std::string &text) const;

  /// Appends lines or rows of `count` texts. From then on an interrupted run
  /// leaves the partial file.
  Result<void> append(std::string_view bytes, size_t count);
  /// Completes the file and gives it its name.
  Result<void> commit();
  /// Completes the partial file of a failed run. Returns a note on how to
  /// continue it, or nothing if it has no new text.
  std::optional<std::string> suspend();

private:
  enum class Kind { Lines, Numpy, Safetensors };
  EmbedOutput(std::string path, Kind kind, const EmbeddingRows &rows)
      : path(std::move(path)), kind(kind), rows(rows) {}
  Result<void> openFile(bool resume);
  Result<void> resumeLines(uint64_t size);
  Result<void> resumeArray(uint64_t size);
  /// The bytes before the rows of an array of `count` rows.
  std::string makeHeader(size_t count) const;
  /// Flushes the texts to disk, and counts them in an array's header then.
  Result<void> checkpoint();

  std::string path; ///< empty: stdout
  Kind kind;
  EmbeddingRows rows;
  OutputFile file;
  uint64_t end = 0;                ///< bytes of the file when it was opened
  size_t start = 0, count = 0;     ///< texts at first, and now
  std::optional<std::string> last; ///< text of the last line
  std::chrono::steady_clock::time_point flushed;
};

} // namespace transom::tools

// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads lines from a file or stdin without waiting for more than is available,
// and reports a command's progress through them.
#pragma once
#include "runtime/base/Error.h"
#include <chrono>
#include <optional>
#include <string>

namespace transom::tools {

/// Reads lines from a file or, for `-`, from stdin.
class LineReader {
public:
  LineReader() = default;
  LineReader(const LineReader &) = delete;
  LineReader &operator=(const LineReader &) = delete;
  ~LineReader();

  Result<void> open(const std::string &path);
  /// Returns the next line without its line end, or nullopt at the end of the
  /// input. Without `wait`, also returns nullopt if reading would block.
  Result<std::optional<std::string>> next(bool wait);
  /// Returns the consumed lines' share in the file's bytes, in (0, 1]; nullopt
  /// for a pipe or terminal.
  std::optional<double> getShare() const;

private:
  void findSize();
  Result<void> fill();
  bool canRead() const;

  std::string name;
  int fd = -1;
  bool owned = false; ///< closed by the destructor
  bool ended = false;
  std::string buffer;
  size_t position = 0; ///< next line in `buffer`
  size_t searched = 0; ///< where the search for a line end continues
  uint64_t size = 0;   ///< bytes in a regular file; 0: unknown
  uint64_t read = 0;   ///< bytes read into `buffer` so far
};

/// The lines in a second file, one for each input line.
class LinePartner {
public:
  Result<void> open(const std::string &path);
  /// Returns the next line. Fails with `Rejected` after the last one.
  Result<std::string> next();
  /// Fails if there are more lines.
  Result<void> checkEnd();

private:
  LineReader reader;
  std::string path;
  size_t count = 0; ///< lines read so far
};

/// Prints texts per second to stderr, at most once per second, and the
/// remaining time if the input size is known: a line that changes on a
/// terminal, or JSON lines.
class TextProgress {
public:
  /// `mode` is `auto`, `none` or `json`.
  TextProgress(const std::string &mode, bool quiet);
  TextProgress(const TextProgress &) = delete;
  TextProgress &operator=(const TextProgress &) = delete;
  /// Prints the last JSON line, or clears the line on the terminal.
  ~TextProgress();

  /// Counts texts that were read. `share` is the share of the input that all
  /// texts so far make up, if known.
  void expect(size_t texts, std::optional<double> share);
  /// Counts finished texts.
  void add(size_t texts);

private:
  using Clock = std::chrono::steady_clock;
  void print(Clock::time_point now);
  std::optional<double> getSecondsLeft(double seconds) const;

  bool json = false, terminal = false;
  size_t expected = 0, count = 0; ///< texts read, texts finished
  std::optional<double> share;    ///< of the input in the texts read
  Clock::time_point begin = Clock::now(), printed = begin;
};

} // namespace transom::tools

// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines of a file or of stdin, read without waiting for more than is there, and
// the progress of a command that works through them.
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
  /// The next line without its end. Nothing at the end of the input; without
  /// `wait` also nothing if reading further would block.
  Result<std::optional<std::string>> next(bool wait);
  /// The share of a file's bytes in the lines that were taken, in (0, 1];
  /// nothing for a pipe or terminal.
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
  size_t position = 0; ///< of the next line in `buffer`
  size_t searched = 0; ///< where `buffer` was searched for an end of line
  uint64_t size = 0;   ///< bytes of a regular file; 0: unknown
  uint64_t read = 0;   ///< bytes that `buffer` was filled with so far
};

/// The lines of a second file, one for each line of an input.
class LinePartner {
public:
  Result<void> open(const std::string &path);
  /// The next line. `Rejected` after the last one.
  Result<std::string> next();
  /// An error if there are more lines.
  Result<void> checkEnd();

private:
  LineReader reader;
  std::string path;
  size_t count = 0; ///< lines that were read
};

/// Prints texts per second to stderr, at most once a second, and the time that
/// is left where the size of the input is known: a line that changes on a
/// terminal, or lines of JSON.
class TextProgress {
public:
  /// `mode` is `auto`, `none` or `json`.
  TextProgress(const std::string &mode, bool quiet);
  TextProgress(const TextProgress &) = delete;
  TextProgress &operator=(const TextProgress &) = delete;
  /// Prints the last line of JSON, or clears the line on the terminal.
  ~TextProgress();

  /// Counts texts that were read. `share` is that of the input in all that were
  /// read so far, if it is known.
  void expect(size_t texts, std::optional<double> share);
  /// Counts texts that are done.
  void add(size_t texts);

private:
  using Clock = std::chrono::steady_clock;
  void print(Clock::time_point now);
  std::optional<double> getSecondsLeft(double seconds) const;

  bool json = false, terminal = false;
  size_t expected = 0, count = 0; ///< texts that were read, and that are done
  std::optional<double> share;    ///< of the input in those that were read
  Clock::time_point begin = Clock::now(), printed = begin;
};

} // namespace transom::tools

// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads with read(2) and poll(2), since stdio would wait for a full buffer.
#include "tools/commands/text/Lines.h"
#include "runtime/base/File.h"
#include "runtime/base/FileUse.h"
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace transom;
using namespace transom::tools;

//===----------------------------------------------------------------------===//
// LineReader
//===----------------------------------------------------------------------===//

LineReader::~LineReader() {
  if (owned)
    close(fd);
}

Result<void> LineReader::open(const std::string &path) {
  if (path == "-") {
    name = "stdin";
    fd = STDIN_FILENO;
    findSize();
    return FileUse::addInput(fd, name);
  }
  name = path;
  if (isFolder(path))
    return systemError("cannot read", path, EISDIR);
  fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return systemError("cannot read", path, errno);
  owned = true;
  findSize();
  return FileUse::addInput(fd, path);
}

/// Sets `size` for a regular file.
void LineReader::findSize() {
  struct stat status;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
    size = uint64_t(status.st_size);
}

std::optional<double> LineReader::getShare() const {
  const uint64_t taken = read - (buffer.size() - position);
  if (size == 0 || taken == 0)
    return std::nullopt;
  return std::min(1.0, double(taken) / double(size));
}

bool LineReader::canRead() const {
  pollfd request = {fd, POLLIN, 0};
  return poll(&request, 1, 0) > 0;
}

/// Appends the bytes from one read call.
Result<void> LineReader::fill() {
  // Drop consumed lines.
  buffer.erase(0, position);
  searched -= position;
  position = 0;
  const size_t kept = buffer.size(), room = size_t(1) << 16;
  buffer.resize(kept + room);
  ssize_t count = -1;
  do
    count = ::read(fd, buffer.data() + kept, room);
  while (count < 0 && errno == EINTR);
  const size_t added = static_cast<size_t>(std::max<ssize_t>(count, 0));
  buffer.resize(kept + added);
  read += added;
  if (count < 0)
    return systemError("cannot read", name, errno);
  ended = count == 0;
  return {};
}

Result<std::optional<std::string>> LineReader::next(bool wait) {
  while (true) {
    size_t end = buffer.find('\n', searched);
    const bool complete = end != std::string::npos;
    if (!complete && ended)
      end = buffer.size();
    if (complete || (ended && position < buffer.size())) {
      std::string line = buffer.substr(position, end - position);
      position = searched = complete ? end + 1 : end;
      if (!line.empty() && line.back() == '\r')
        line.pop_back();
      return std::optional<std::string>(std::move(line));
    }
    searched = buffer.size();
    if (ended || (!wait && !canRead()))
      return std::optional<std::string>();
    TRANSOM_TRY(fill());
  }
}

//===----------------------------------------------------------------------===//
// LinePartner
//===----------------------------------------------------------------------===//

Result<void> LinePartner::open(const std::string &file) {
  path = file;
  return reader.open(file);
}

Result<std::string> LinePartner::next() {
  TRANSOM_ASSIGN(std::optional<std::string> line, reader.next(/*wait=*/true));
  if (!line)
    return rejected(path + ": there " + (count == 1 ? "is " : "are ") +
                    std::to_string(count) + (count == 1 ? " line" : " lines") +
                    ", fewer than those of the input");
  ++count;
  return std::move(*line);
}

Result<void> LinePartner::checkEnd() {
  TRANSOM_ASSIGN(std::optional<std::string> line, reader.next(/*wait=*/true));
  if (line)
    return rejected(path + ": there are more than " + std::to_string(count) +
                    (count == 1 ? " line" : " lines") +
                    ", as many as the input has");
  return {};
}

//===----------------------------------------------------------------------===//
// TextProgress
//===----------------------------------------------------------------------===//

TextProgress::TextProgress(const std::string &mode, bool quiet)
    : json(mode == "json"),
      terminal(mode == "auto" && !quiet && isatty(STDERR_FILENO) &&
               !isatty(STDOUT_FILENO)) {}

TextProgress::~TextProgress() {
  if (json && count > 0)
    print(Clock::now());
  if (terminal && printed != begin)
    fprintf(stderr, "\r\033[K");
}

void TextProgress::expect(size_t texts, std::optional<double> read) {
  expected += texts;
  share = read;
}

void TextProgress::add(size_t texts) {
  count += texts;
  const Clock::time_point now = Clock::now();
  if ((json || terminal) && now - printed >= std::chrono::seconds(1)) {
    print(now);
    printed = now;
  }
}

/// Extrapolates the remaining time from the texts so far.
std::optional<double> TextProgress::getSecondsLeft(double seconds) const {
  if (!share || count == 0)
    return std::nullopt;
  const double done = *share * double(count) / double(expected);
  return std::max(0.0, seconds / done - seconds);
}

void TextProgress::print(Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - begin).count();
  const double rate = seconds > 0 ? static_cast<double>(count) / seconds : 0;
  char left[64] = "";
  if (const std::optional<double> rest = getSecondsLeft(seconds))
    snprintf(left, sizeof left,
             json ? ",\"seconds_left\":%.0f" : ", %.0f s left", *rest);
  fprintf(stderr,
          json ? "{\"texts\":%zu,\"texts_per_s\":%.1f%s}\n"
               : "\r\033[K%zu texts, %.1f texts/s%s",
          count, rate, left);
  fflush(stderr);
}

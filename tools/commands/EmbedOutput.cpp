// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The header of an array has a fixed size and is written again after each
// batch, with the rows that are there then. What an interrupted run wrote
// after its last whole row or line is cut off.
#include "tools/commands/EmbedOutput.h"
#include "runtime/base/File.h"
#include "runtime/json/JsonParser.h"
#include "tools/commands/Command.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace transom;
using namespace transom::tools;

static bool endsWith(const std::string &path, std::string_view end) {
  return path.size() > end.size() &&
         path.compare(path.size() - end.size(), end.size(), end) == 0;
}

bool EmbedOutput::isArray(const std::string &path) {
  return endsWith(path, ".npy") || endsWith(path, ".safetensors");
}

EmbedOutput::~EmbedOutput() {
  if (fd >= 0)
    close(fd);
}

Result<std::unique_ptr<EmbedOutput>>
EmbedOutput::open(const std::string &path, const EmbeddingRows &rows,
                  bool resume) {
  const Kind kind = endsWith(path, ".npy")           ? Kind::Numpy
                    : endsWith(path, ".safetensors") ? Kind::Safetensors
                                                     : Kind::Lines;
  std::unique_ptr<EmbedOutput> output(new EmbedOutput(path, kind, rows));
  if (!path.empty())
    TRANSOM_TRY(output->openFile(resume));
  return output;
}

Result<void> EmbedOutput::openFile(bool resume) {
  if (isFolder(path))
    return systemError("cannot write", path, EISDIR);
  fd = ::open(path.c_str(),
              O_RDWR | O_CREAT | O_CLOEXEC | (resume ? 0 : O_TRUNC), 0666);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0)
    return systemError("cannot write", path, errno);
  const auto size = uint64_t(status.st_size);
  if (kind == Kind::Lines)
    TRANSOM_TRY(resumeLines(size));
  else
    TRANSOM_TRY(resumeArray(size));
  if (ftruncate(fd, off_t(end)) != 0)
    return systemError("cannot write", path, errno);
  count = start;
  return kind == Kind::Lines ? Result<void>() : writeAt(0, makeHeader(count));
}

/// Counts the lines and keeps the text of the last whole one.
Result<void> EmbedOutput::resumeLines(uint64_t size) {
  std::string block(size_t(1) << 16, '\0'), line, whole;
  for (uint64_t at = 0; at < size;) {
    const ssize_t got = pread(fd, block.data(), block.size(), off_t(at));
    if (got <= 0)
      return systemError("cannot read", path, got ? errno : EIO);
    for (const char *from = block.data(), *stop = from + got; from != stop;) {
      const void *newline = std::memchr(from, '\n', size_t(stop - from));
      const char *to = newline ? static_cast<const char *>(newline) : stop;
      line.append(from, to);
      if (!newline)
        break;
      from = to + 1;
      ++start;
      end = at + uint64_t(from - block.data());
      whole.swap(line);
      line.clear();
    }
    at += uint64_t(got);
  }
  if (!start)
    return {};
  const std::string name = path + ":" + std::to_string(start);
  TRANSOM_ASSIGN(JsonDocument document, parseJson(whole, name));
  TRANSOM_ASSIGN(JsonValue text, document.root().get("text"));
  TRANSOM_ASSIGN(std::string_view view, text.asString());
  last = std::string(view);
  if (auto embedding = document.root().find("embedding");
      embedding && embedding->size() != rows.size)
    return rejected(name + ": an embedding of " +
                    std::to_string(embedding->size()) + " numbers, not of " +
                    std::to_string(rows.size) +
                    "; continue with the flags that the file was begun with");
  return {};
}

Result<void> EmbedOutput::resumeArray(uint64_t size) {
  const uint64_t headerSize = makeHeader(0).size();
  end = headerSize;
  if (size < headerSize) // nothing, or cut within the header
    return {};
  std::string header(headerSize, '\0');
  if (pread(fd, header.data(), header.size(), 0) != ssize_t(header.size()))
    return systemError("cannot read", path, errno);
  const std::string_view key =
      kind == Kind::Numpy ? "'shape': (" : "\"shape\":[";
  size_t written = 0;
  if (const size_t at = header.find(key); at != std::string::npos)
    written = std::strtoull(header.c_str() + at + key.size(), nullptr, 10);
  // The header that this run would write for as many rows.
  if (header != makeHeader(written))
    return rejected(path + ": not an array of rows of " +
                    std::to_string(rows.size) + " " + std::string(rows.type) +
                    "; continue with the flags that the file was begun with");
  start = size_t((size - headerSize) / rows.bytes);
  end = headerSize + start * rows.bytes;
  return {};
}

std::string EmbedOutput::makeHeader(size_t number) const {
  const std::string shape = std::to_string(number) +
                            (kind == Kind::Numpy ? ", " : ",") +
                            std::to_string(rows.size);
  if (kind == Kind::Numpy) {
    const char *type = rows.type == "F32"  ? "<f4"
                       : rows.type == "I8" ? "|i1"
                                           : "|u1";
    std::string text = std::string("{'descr': '") + type +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
    constexpr size_t size = 128, prefix = 10;
    text.resize(size - prefix - 1, ' ');
    text += '\n';
    std::string header("\x93NUMPY\x01\x00", 8);
    header += char((size - prefix) & 0xff);
    header += char((size - prefix) >> 8);
    return header + text;
  }
  constexpr size_t size = 192;
  std::string text = "{\"embeddings\":{\"dtype\":\"" + std::string(rows.type) +
                     "\",\"shape\":[" + shape + "],\"data_offsets\":[0," +
                     std::to_string(number * rows.bytes) + "]}}";
  text.resize(size - 8, ' ');
  std::string header(8, '\0');
  header[0] = char(size - 8);
  return header + text;
}

Result<void> EmbedOutput::checkLast(const std::string &text) const {
  if (last && *last != text)
    return rejected(path + ":" + std::to_string(start) + ": the text " +
                    quote(*last) + " is not that of the input, " + quote(text) +
                    "; continue with the input that the file was begun with");
  return {};
}

Result<void> EmbedOutput::writeAt(uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = pwrite(fd, bytes.data(), bytes.size(), off_t(offset));
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return systemError("cannot write", path, errno);
    offset += uint64_t(done);
    bytes.remove_prefix(size_t(done));
  }
  return {};
}

Result<void> EmbedOutput::append(std::string_view bytes, size_t texts) {
  count += texts;
  if (path.empty())
    return writeOut(std::string(bytes));
  TRANSOM_TRY(writeAt(end, bytes));
  end += bytes.size();
  return isArray() ? writeAt(0, makeHeader(count)) : Result<void>();
}

// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An array's header has a fixed size. It is rewritten once per second, after
// the rows that it counts are on disk, so that a power failure cannot leave
// zero rows. When a file is continued, bytes after the counted rows or after
// the last complete line are dropped.
#include "tools/commands/text/EmbedOutput.h"
#include "runtime/base/File.h"
#include "runtime/json/JsonParser.h"
#include "tools/commands/Command.h"
#include <algorithm>
#include <cstring>

using namespace transom;
using namespace transom::tools;

static bool endsWith(const std::string &path, std::string_view end) {
  return path.size() > end.size() &&
         path.compare(path.size() - end.size(), end.size(), end) == 0;
}

bool EmbedOutput::isArray(const std::string &path) {
  return endsWith(path, ".npy") || endsWith(path, ".safetensors");
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
  if (resume && OutputFile::isStream(path))
    return usageError("'--resume' continues a file; " + quote(path) +
                      " is a pipe or a device");
  OutputOptions options;
  options.randomAccess = isArray();
  options.resume = resume;
  TRANSOM_ASSIGN(file, OutputFile::create(path, options));
  flushed = std::chrono::steady_clock::now();
  if (resume) {
    TRANSOM_ASSIGN(const uint64_t size, file.getSize());
    TRANSOM_TRY(isArray() ? resumeArray(size) : resumeLines(size));
    TRANSOM_TRY(file.resumeAt(end));
  }
  count = start;
  if (!isArray())
    return {};
  const std::string header = makeHeader(count);
  return resume ? file.writeAt(0, header) : file.append(header);
}

/// Counts the lines and stores the text in the last complete one. Zero bytes
/// are not JSON, but left by a power failure.
Result<void> EmbedOutput::resumeLines(uint64_t size) {
  std::string block(size_t(1) << 16, '\0'), line, whole;
  for (uint64_t at = 0; at < size;) {
    TRANSOM_ASSIGN(size_t got, file.readAt(at, block.data(), block.size()));
    if (const void *zero = std::memchr(block.data(), '\0', got)) {
      got = size_t(static_cast<const char *>(zero) - block.data());
      size = at + got;
    }
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
    if (got == 0)
      break;
    at += got;
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
  if (size < headerSize) // empty, or truncated within the header
    return {};
  std::string header(headerSize, '\0');
  TRANSOM_TRY(file.readAt(0, header.data(), header.size()));
  const std::string_view key =
      kind == Kind::Numpy ? "'shape': (" : "\"shape\":[";
  size_t written = 0;
  if (const size_t at = header.find(key); at != std::string::npos)
    written = std::strtoull(header.c_str() + at + key.size(), nullptr, 10);
  // Compare with the header that this run would write for the same row count.
  if (header != makeHeader(written))
    return rejected(path + ": not an array of rows of " +
                    std::to_string(rows.size) + " " + std::string(rows.type) +
                    "; continue with the flags that the file was begun with");
  start = std::min(written, size_t((size - headerSize) / rows.bytes));
  end = headerSize + start * rows.bytes;
  return {};
}

std::string EmbedOutput::makeHeader(size_t number) const {
  const std::string shape = std::to_string(number) +
                            (kind == Kind::Numpy ? ", " : ",") +
                            std::to_string(rows.size);
  // NumPy: a dictionary literal, padded to a fixed size.
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
  // Safetensors: a JSON object, padded to a fixed size.
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

Result<void> EmbedOutput::append(std::string_view bytes, size_t texts) {
  count += texts;
  if (path.empty())
    return writeOut(std::string(bytes));
  TRANSOM_TRY(file.append(bytes));
  file.keepPartial();
  constexpr auto interval = std::chrono::seconds(1);
  if (const auto now = std::chrono::steady_clock::now();
      now - flushed >= interval) {
    flushed = now;
    return checkpoint();
  }
  return {};
}

Result<void> EmbedOutput::checkpoint() {
  TRANSOM_TRY(file.sync());
  return isArray() ? file.writeAt(0, makeHeader(count)) : Result<void>();
}

Result<void> EmbedOutput::commit() {
  if (path.empty())
    return {};
  if (isArray())
    TRANSOM_TRY(file.writeAt(0, makeHeader(count)));
  return file.commit();
}

std::optional<std::string> EmbedOutput::suspend() {
  if (!file.isOpen() || file.partialPath().empty() || count == start ||
      !checkpoint())
    return std::nullopt;
  return quote(file.partialPath()) + " has the embeddings of " +
         std::to_string(count) + (count == 1 ? " text" : " texts") +
         "; '--resume' continues it";
}

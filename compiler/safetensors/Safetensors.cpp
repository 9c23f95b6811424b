// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and checks one safetensors file. Every format rule has its own error;
// no memory is reserved by header values, and data is not read.
#include "compiler/safetensors/Safetensors.h"
#include "runtime/base/Checked.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/Json.h"
#include <algorithm>
#include <tuple>

namespace transom {
namespace {

/// Parses and checks one file's header.
class HeaderReader {
public:
  HeaderReader(std::string_view file, const std::string &fileName)
      : file(file), fileName(fileName) {}

  Result<SafetensorsHeader> read() {
    TRANSOM_ASSIGN(std::string_view text, headerText());
    dataBegin = 8 + text.size();
    TRANSOM_ASSIGN(JsonDocument json, parseJson(text, fileName + ": header"));
    SafetensorsHeader header;
    for (JsonValue::Member member : json.root().members()) {
      TRANSOM_TRY(member.key == "__metadata__"
                      ? readMetadata(member.value, header)
                      : readTensor(member, header));
    }
    TRANSOM_TRY(checkTiling(header));
    return header;
  }

private:
  Error fail(const std::string &text) const {
    return rejected(fileName + ": " + text);
  }
  Error failTensor(std::string_view name, const std::string &text) const {
    return fail("tensor '" + utf8::printable(name) + "': " + text);
  }

  /// The JSON text, by the length before it.
  Result<std::string_view> headerText() const {
    if (file.size() < 8)
      return fail("file of " + std::to_string(file.size()) +
                  " bytes is too short for safetensors; expected at least 8");
    // Check that the little-endian length is within the limit and the file.
    uint64_t size = 0;
    for (int i = 7; i >= 0; --i)
      size = size << 8 | static_cast<unsigned char>(file[i]);
    if (size > safetensorsMaxHeader)
      return fail("header length " + std::to_string(size) +
                  " is over the limit of " +
                  std::to_string(safetensorsMaxHeader));
    if (size > file.size() - 8)
      return fail("header length " + std::to_string(size) +
                  " reaches beyond the file, which has " +
                  std::to_string(file.size() - 8) + " bytes after the length");
    // Check that an object is followed only by spaces.
    std::string_view text = file.substr(8, size);
    if (text.empty())
      return fail("header is empty; expected a JSON object");
    if (text.front() != '{')
      return fail("header begins with '" + utf8::printable(text.substr(0, 1)) +
                  "'; expected '{'");
    size_t last = text.find_last_not_of(' ');
    if (text[last] == '\n' || text[last] == '\t' || text[last] == '\r')
      return fail("header ends with '" + utf8::printable(text.substr(last, 1)) +
                  "'; expected only spaces after '}'");
    return text;
  }

  Result<void> readMetadata(JsonValue value, SafetensorsHeader &header) const {
    if (Result<void> isList = value.expectObject(); !isList)
      return isList;
    for (JsonValue::Member member : value.members()) {
      TRANSOM_ASSIGN(std::string_view text, member.value.asString());
      header.metadata.emplace_back(member.key, text);
    }
    return {};
  }

  Result<void> readTensor(JsonValue::Member member,
                          SafetensorsHeader &header) const {
    SafetensorsTensor tensor;
    tensor.name = member.key;
    if (Result<void> keys =
            member.value.expectOnlyKeys({"dtype", "shape", "data_offsets"});
        !keys)
      return keys;
    TRANSOM_ASSIGN(JsonValue dtype, member.value.get("dtype"));
    TRANSOM_ASSIGN(JsonValue shape, member.value.get("shape"));
    TRANSOM_ASSIGN(JsonValue offsets, member.value.get("data_offsets"));
    if (Result<void> read = readDType(dtype, tensor); !read)
      return read;
    TRANSOM_ASSIGN(std::vector<int64_t> dims, shape.asIntArray(0, INT64_MAX));
    tensor.shape = std::move(dims);
    if (Result<void> read = readOffsets(offsets, tensor); !read)
      return read;
    header.tensors.push_back(std::move(tensor));
    return {};
  }

  Result<void> readDType(JsonValue value, SafetensorsTensor &tensor) const {
    TRANSOM_ASSIGN(std::string_view name, value.asString());
    std::optional<DType> type = dtypeFromSafetensors(name);
    if (!type) {
      std::vector<std::string> known;
      for (int i = 0; i < dtypeCount; ++i)
        known.emplace_back(safetensorsName(static_cast<DType>(i)));
      return failTensor(tensor.name, "unknown dtype '" + utf8::printable(name) +
                                         "'; known: " + joinNames(known));
    }
    tensor.dtype = *type;
    return {};
  }

  Result<void> readOffsets(JsonValue value, SafetensorsTensor &tensor) const {
    TRANSOM_ASSIGN(std::vector<int64_t> pair, value.asIntArray(0, INT64_MAX));
    if (pair.size() != 2)
      return failTensor(tensor.name, "data_offsets has " +
                                         std::to_string(pair.size()) +
                                         " numbers; expected 2");
    // Check that the range is inside the data.
    uint64_t begin = pair[0], end = pair[1];
    std::string text = "data_offsets " + shapeText(pair);
    if (begin > end)
      return failTensor(tensor.name, text + " end before they begin");
    uint64_t dataSize = file.size() - dataBegin;
    if (end > dataSize)
      return failTensor(tensor.name, text + " reach beyond the " +
                                         std::to_string(dataSize) +
                                         " bytes of data in the file");
    // Check that its size matches the shape.
    std::optional<uint64_t> bytes = tensorBytes(tensor.dtype, tensor.shape);
    std::string what = "shape " + utf8::printable(shapeText(tensor.shape)) +
                       " of " + std::string(safetensorsName(tensor.dtype));
    if (!bytes)
      return failTensor(tensor.name,
                        what + " has no size of whole bytes within 64 bits");
    if (*bytes != end - begin)
      return failTensor(tensor.name, what + " takes " + std::to_string(*bytes) +
                                         " bytes, " + text + " hold " +
                                         std::to_string(end - begin));
    tensor.begin = dataBegin + begin;
    tensor.end = dataBegin + end;
    return {};
  }

  /// Sorts the tensors by offset and checks that they cover the data.
  Result<void> checkTiling(SafetensorsHeader &header) const {
    std::sort(header.tensors.begin(), header.tensors.end(),
              [](const SafetensorsTensor &a, const SafetensorsTensor &b) {
                return std::tie(a.begin, a.end, a.name) <
                       std::tie(b.begin, b.end, b.name);
              });
    uint64_t expected = dataBegin;
    std::string before = "the data begins";
    for (const SafetensorsTensor &tensor : header.tensors) {
      if (tensor.begin != expected)
        return failTensor(
            tensor.name,
            "begins at " + std::to_string(tensor.begin - dataBegin) + ", " +
                (tensor.begin > expected ? "after a hole" : "overlapping") +
                "; expected " + std::to_string(expected - dataBegin) +
                ", where " + before);
      expected = tensor.end;
      before = "tensor '" + utf8::printable(tensor.name) + "' ends";
    }
    if (expected != file.size())
      return fail("the last tensor ends at " +
                  std::to_string(expected - dataBegin) + ", the file has " +
                  std::to_string(file.size() - dataBegin) + " bytes of data");
    return {};
  }

  std::string_view file;
  const std::string &fileName;
  uint64_t dataBegin = 0;
};

} // namespace

Result<SafetensorsHeader> parseSafetensors(std::string_view file,
                                           const std::string &fileName) {
  return HeaderReader(file, utf8::printable(fileName, 400)).read();
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  TRANSOM_ASSIGN(MappedFile mapped, MappedFile::open(path));
  TRANSOM_ASSIGN(SafetensorsHeader header,
                 parseSafetensors(mapped.bytes(), path));
  SafetensorsFile file;
  file.file = std::move(mapped);
  file.header = std::move(header);
  file.indexNames();
  return file;
}

SafetensorsFile
SafetensorsFile::ofTensors(MappedFile file,
                           std::vector<SafetensorsTensor> tensors) {
  SafetensorsFile result;
  result.file = std::move(file);
  result.header.tensors = std::move(tensors);
  result.indexNames();
  return result;
}

void SafetensorsFile::indexNames() {
  byName.reserve(header.tensors.size());
  for (size_t i = 0; i < header.tensors.size(); ++i)
    byName.emplace(header.tensors[i].name, i);
}

const SafetensorsTensor *SafetensorsFile::find(std::string_view name) const {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : &header.tensors[found->second];
}

} // namespace transom

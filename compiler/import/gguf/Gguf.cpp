// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and checks a GGUF header, front to back.
#include "compiler/import/gguf/Gguf.h"
#include "compiler/import/gguf/GgufBytes.h"
#include "runtime/base/Checked.h"
#include "runtime/base/Utf8.h"
#include <algorithm>
#include <unordered_set>

namespace transom::gguf {
namespace {

/// Default alignment for tensor data, unless a key specifies another one.
constexpr uint64_t defaultAlignment = 32;
/// Min entry sizes: metadata, and tensor table.
constexpr uint64_t leastEntryBytes = 8 + 4 + 1, leastTensorBytes = 8 + 4 + 12;

/// Reads and checks one file's header.
class HeadReader {
public:
  HeadReader(std::string_view file, const std::string &fileName)
      : file(file), fileName(fileName),
        limit(std::min<uint64_t>(file.size(), maxHeadBytes)) {}

  Result<Header> read() {
    TRANSOM_TRY(readVersion());
    TRANSOM_ASSIGN(const uint64_t tensors,
                   readCount("tensors", leastTensorBytes));
    TRANSOM_ASSIGN(const uint64_t entries,
                   readCount("metadata values", leastEntryBytes));
    for (uint64_t i = 0; i < entries; ++i)
      TRANSOM_TRY(readEntry());
    for (uint64_t i = 0; i < tensors; ++i)
      TRANSOM_TRY(readTensor());
    TRANSOM_TRY(placeTensors());
    return std::move(header);
  }

private:
  Error failAt(uint64_t offset, const std::string &text,
               Status status = Status::Rejected) const {
    return {status,
            fileName + ": byte " + std::to_string(offset) + ": " + text,
            {}};
  }
  uint64_t remaining() const { return limit - at; }
  /// Describes the end that a read exceeds, for errors.
  std::string describeRest() const {
    return limit < file.size()
               ? "limit of " + std::to_string(maxHeadBytes) + " bytes of a head"
               : "file";
  }

  //===--- Bytes ---------------------------------------------------------===//

  template <typename T> Result<T> readNumber(const std::string &what) {
    if (remaining() < sizeof(T))
      return failAt(at, what + " takes " + std::to_string(sizeof(T)) +
                            " bytes, but the " + describeRest() +
                            " ends after " + std::to_string(remaining()));
    const T number = load<T>(file.substr(at));
    at += sizeof(T);
    return number;
  }

  /// Reads the count of subsequent objects, each at least `least` bytes.
  Result<uint64_t> readCount(const std::string &what, uint64_t least) {
    const uint64_t start = at;
    TRANSOM_ASSIGN(const uint64_t count,
                   readNumber<uint64_t>("the number of " + what));
    if (count > remaining() / least)
      return failAt(start, std::to_string(count) + " " + what +
                               " do not fit into the " +
                               std::to_string(remaining()) +
                               " bytes up to the end of the " + describeRest());
    return count;
  }

  Result<std::string_view> readString(const std::string &what) {
    const uint64_t start = at;
    TRANSOM_ASSIGN(const uint64_t length,
                   readNumber<uint64_t>("the length of " + what));
    if (length > remaining())
      return failAt(start, what + " of " + std::to_string(length) +
                               " bytes does not fit into the " +
                               std::to_string(remaining()) +
                               " bytes up to the end of the " + describeRest());
    const std::string_view text = file.substr(at, length);
    if (size_t wrong = utf8::firstInvalid(text); wrong != text.npos)
      return failAt(at + wrong, what + " is not valid UTF-8");
    at += length;
    return text;
  }

  Result<ValueType> readType(const std::string &what) {
    const uint64_t start = at;
    TRANSOM_ASSIGN(const uint32_t number,
                   readNumber<uint32_t>("the type of " + what));
    const auto type = static_cast<ValueType>(number);
    if (getLeastBytes(type) == 0)
      return failAt(start, what + " has the unknown type " +
                               std::to_string(number) + "; known: 0 to 12");
    return type;
  }

  //===--- The head ------------------------------------------------------===//

  Result<void> readVersion() {
    if (file.size() < 4 || file.substr(0, 4) != "GGUF")
      return failAt(0, "the file does not begin with 'GGUF'");
    at = 4;
    TRANSOM_ASSIGN(header.version, readNumber<uint32_t>("the version"));
    // A small integer in the other byte order.
    if (header.version != 0 && (header.version & 0xffff) == 0)
      return failAt(4, "the file is big-endian; supported: little-endian",
                    Status::Unsupported);
    if (header.version != 2 && header.version != 3)
      return failAt(4,
                    "GGUF version " + std::to_string(header.version) +
                        "; supported: 2, 3",
                    Status::Unsupported);
    return {};
  }

  Result<void> readEntry() {
    const uint64_t start = at;
    TRANSOM_ASSIGN(const std::string_view key, readString("a metadata key"));
    if (key.empty())
      return failAt(start, "a metadata key is empty");
    if (!keys.insert(key).second)
      return failAt(start, "metadata key '" + utf8::printable(key) +
                               "' is there twice");
    const std::string what = "value of '" + utf8::printable(key) + "'";
    TRANSOM_ASSIGN(const ValueType type, readType(what));
    TRANSOM_ASSIGN(Value value, readValue(type, what, 0));
    if (key == "general.alignment")
      TRANSOM_TRY(setAlignment(value));
    header.metadata.push_back({key, value});
    return {};
  }

  Result<Value> readValue(ValueType type, const std::string &what,
                          unsigned depth) {
    const uint64_t start = at;
    if (type == ValueType::Array)
      return readArray(what, depth);
    if (type == ValueType::String) {
      TRANSOM_TRY(readString(what));
      return Value(type, start, file.substr(start, at - start));
    }
    const uint64_t size = getFixedBytes(type);
    if (remaining() < size)
      return failAt(start, what + " takes " + std::to_string(size) +
                               " bytes, but the " + describeRest() +
                               " ends after " + std::to_string(remaining()));
    TRANSOM_TRY(checkBools(type, start, size, what));
    at += size;
    return Value(type, start, file.substr(start, size));
  }

  Result<Value> readArray(const std::string &what, unsigned depth) {
    if (depth == maxArrayDepth)
      return failAt(at, what + ": arrays nest deeper than " +
                            std::to_string(maxArrayDepth));
    TRANSOM_ASSIGN(const ValueType type, readType("elements of the " + what));
    TRANSOM_ASSIGN(const uint64_t count,
                   readCount("elements of the " + what, getLeastBytes(type)));
    const uint64_t start = at;
    if (const uint64_t each = getFixedBytes(type)) {
      at += count * each;
      TRANSOM_TRY(checkBools(type, start, count, what));
    } else {
      for (uint64_t i = 0; i < count; ++i)
        TRANSOM_TRY(readValue(type, what, depth + 1));
    }
    return Value(type, count, start, file.substr(start, at - start));
  }

  Result<void> checkBools(ValueType type, uint64_t start, uint64_t count,
                          const std::string &what) const {
    for (uint64_t i = start; type == ValueType::Bool && i < start + count; ++i)
      if (static_cast<unsigned char>(file[i]) > 1)
        return failAt(i, what + " is a bool of the value " +
                             std::to_string(static_cast<uint8_t>(file[i])) +
                             "; expected 0 or 1");
    return {};
  }

  Result<void> setAlignment(const Value &value) {
    const std::optional<int64_t> given = value.asInt();
    if (!given || *given < 8 || *given > (1 << 30) ||
        (*given & (*given - 1)) != 0)
      return failAt(value.offset(),
                    "value of 'general.alignment' is " +
                        (given ? std::to_string(*given)
                               : std::string(describe(value.type()))) +
                        "; expected a power of two from 8 to 1073741824");
    alignment = *given;
    return {};
  }

  //===--- Tensors -------------------------------------------------------===//

  Result<void> readTensor() {
    Tensor tensor;
    tensor.entry = at;
    // The name must be unique.
    TRANSOM_ASSIGN(tensor.name, readString("the name of a tensor"));
    if (!names.insert(tensor.name).second)
      return failTensor(tensor, "is there twice");
    // Read the rank and sizes; GGUF stores them in reverse order.
    const uint64_t rankAt = at;
    TRANSOM_ASSIGN(const uint32_t rank,
                   readNumber<uint32_t>("the rank of a tensor"));
    if (rank > maxRank)
      return failAt(rankAt, getName(tensor) + " has " + std::to_string(rank) +
                                " dimensions; supported: up to " +
                                std::to_string(maxRank));
    for (uint32_t i = 0; i < rank; ++i) {
      const uint64_t start = at;
      TRANSOM_ASSIGN(const uint64_t size,
                     readNumber<uint64_t>("a size of a tensor"));
      if (size > static_cast<uint64_t>(INT64_MAX))
        return failAt(start, getName(tensor) + " has the size " +
                                 std::to_string(size) +
                                 "; expected at most 2^63 - 1");
      tensor.shape.push_back(static_cast<int64_t>(size));
    }
    std::reverse(tensor.shape.begin(), tensor.shape.end());
    // Read the type and the data offset.
    const uint64_t typeAt = at;
    TRANSOM_ASSIGN(const uint32_t type,
                   readNumber<uint32_t>("the type of a tensor"));
    tensor.type = findTensorType(type);
    if (!tensor.type)
      return failAt(typeAt,
                    getName(tensor) + " has the unknown type " +
                        std::to_string(type),
                    Status::Unsupported);
    TRANSOM_ASSIGN(tensor.begin,
                   readNumber<uint64_t>("the offset of a tensor"));
    header.tensors.push_back(std::move(tensor));
    return {};
  }

  static std::string getName(const Tensor &tensor) {
    return "tensor '" + utf8::printable(tensor.name) + "'";
  }
  Error failTensor(const Tensor &tensor, const std::string &text) const {
    return failAt(tensor.entry, getName(tensor) + " " + text);
  }

  /// Returns the tensor data size in bytes; nullopt if it exceeds 64 bits or
  /// rows are not multiples of the block size.
  static std::optional<uint64_t> getBytes(const Tensor &tensor) {
    const uint32_t block = tensor.type->blockElements;
    const int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
    if (row % block != 0)
      return std::nullopt;
    CheckedSize blocks(1);
    for (int64_t size : tensor.shape)
      blocks *= CheckedSize::fromSigned(size);
    // Checks the total size, so that the division below is exact.
    if (blocks.overflowed())
      return std::nullopt;
    return (CheckedSize(*blocks.value() / block) *
            CheckedSize(tensor.type->blockBytes))
        .value();
  }

  /// Converts offsets to file offsets, and checks that tensors are inside the
  /// file and do not overlap.
  Result<void> placeTensors() {
    const std::optional<uint64_t> data =
        CheckedSize(at).alignUp(alignment).value();
    // Check each tensor's size, alignment and end, and set its file offsets.
    for (Tensor &tensor : header.tensors) {
      const std::optional<uint64_t> bytes = getBytes(tensor);
      if (!bytes)
        return failTensor(
            tensor, "of shape " + utf8::printable(shapeText(tensor.shape)) +
                        " has no whole blocks of " +
                        std::to_string(tensor.type->blockElements) +
                        " elements within 64 bits, which " + tensor.type->name +
                        " has");
      if (tensor.begin % alignment != 0)
        return failTensor(tensor, "is at the offset " +
                                      std::to_string(tensor.begin) +
                                      ", no multiple of the alignment " +
                                      std::to_string(alignment));
      const uint64_t offset = tensor.begin;
      const CheckedSize begin = CheckedSize(*data) + CheckedSize(offset);
      const std::optional<uint64_t> end = (begin + CheckedSize(*bytes)).value();
      if (!end || *end > file.size())
        return failTensor(
            tensor,
            "of " + std::to_string(*bytes) + " bytes at the offset " +
                std::to_string(offset) +
                " reaches beyond the file, which has " +
                std::to_string(file.size() - std::min(*data, file.size())) +
                " bytes of data");
      tensor.begin = *begin.value();
      tensor.end = *end;
    }
    return checkOverlaps();
  }

  Result<void> checkOverlaps() const {
    std::vector<const Tensor *> sorted;
    for (const Tensor &tensor : header.tensors)
      if (tensor.begin != tensor.end)
        sorted.push_back(&tensor);
    std::sort(sorted.begin(), sorted.end(),
              [](const Tensor *a, const Tensor *b) {
                return a->begin != b->begin ? a->begin < b->begin
                                            : a->entry < b->entry;
              });
    for (size_t i = 1; i < sorted.size(); ++i)
      if (sorted[i]->begin < sorted[i - 1]->end)
        return failTensor(*sorted[i],
                          "begins at byte " + std::to_string(sorted[i]->begin) +
                              ", before the end of " + getName(*sorted[i - 1]) +
                              " at byte " + std::to_string(sorted[i - 1]->end));
    return {};
  }

  std::string_view file;
  const std::string fileName;
  const uint64_t limit; ///< max header end
  uint64_t at = 0, alignment = defaultAlignment;
  Header header;
  std::unordered_set<std::string_view> keys, names;
};

} // namespace

Result<Header> parseGguf(std::string_view file, const std::string &fileName) {
  return HeadReader(file, utf8::printable(fileName, 400)).read();
}

Result<File> File::open(const std::string &path) {
  File file;
  TRANSOM_ASSIGN(file.mapped, MappedFile::open(path));
  TRANSOM_ASSIGN(file.header, parseGguf(file.mapped.bytes(), path));
  for (size_t i = 0; i < file.header.metadata.size(); ++i)
    file.keys.emplace(file.header.metadata[i].key, i);
  for (size_t i = 0; i < file.header.tensors.size(); ++i)
    file.names.emplace(file.header.tensors[i].name, i);
  return file;
}

const Value *File::find(std::string_view key) const {
  auto found = keys.find(key);
  return found == keys.end() ? nullptr : &header.metadata[found->second].value;
}

const Tensor *File::findTensor(std::string_view name) const {
  auto found = names.find(name);
  return found == names.end() ? nullptr : &header.tensors[found->second];
}

Error File::error(uint64_t offset, const std::string &text,
                  Status status) const {
  return {status,
          utf8::printable(path(), 400) + ": byte " + std::to_string(offset) +
              ": " + text,
          {}};
}

} // namespace transom::gguf
